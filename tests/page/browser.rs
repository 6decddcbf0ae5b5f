//! Chromium without a window, without a network and without a memory.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

/// What to do about a browser that is missing.
const REMEDY: &str =
    "run tests/run.sh, which installs what the tests need (Debian: apt-get install chromium)";

/// Every name leads to an address where nobody is.
const OFFLINE: [&str; 2] = ["--host-resolver-rules=MAP * 127.0.0.1:9", "--proxy-server=127.0.0.1:9"];

#[derive(Debug, Clone, Copy)]
pub enum Scheme {
    Light,
    Dark,
}

impl Scheme {
    pub fn name(self) -> &'static str {
        match self {
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }

    /// As the engine numbers them.
    fn setting(self) -> &'static str {
        match self {
            Self::Light => "--blink-settings=preferredColorScheme=1",
            Self::Dark => "--blink-settings=preferredColorScheme=0",
        }
    }
}

#[derive(Debug)]
pub struct Browser {
    page: PathBuf,
}

impl Browser {
    pub fn of(page: &Path) -> Self {
        Self { page: page.to_owned() }
    }

    /// The document as the browser understood it.
    pub fn dump(&self) -> String {
        let output = self.open(&["--dump-dom"]);
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    pub fn picture(&self, to: &Path, scheme: Scheme) {
        let screenshot = format!("--screenshot={}", to.display());
        self.open(&[&screenshot, "--window-size=1100,2400", "--hide-scrollbars", scheme.setting()]);
    }

    pub fn print(&self, to: &Path) {
        self.open(&[&format!("--print-to-pdf={}", to.display()), "--no-pdf-header-footer"]);
    }

    /// Opens the page; the browser must end well and the page must give it nothing to complain about.
    fn open(&self, args: &[&str]) -> Output {
        let profile = TempDir::new().expect("a folder for the profile");
        let usual =
            ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"];
        let output = Command::new("chromium")
            .args(usual)
            .args(OFFLINE)
            .args(["--enable-logging=stderr", "--v=0"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .args(args)
            .arg(format!("file://{}", self.page.display()))
            .output()
            .unwrap_or_else(|error| panic!("chromium cannot be started: {error}\n    {REMEDY}"));
        let log = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{args:?}: {}\n{log}", output.status);
        let complaints: Vec<&str> = log.lines().filter(|line| line.contains("CONSOLE")).collect();
        assert!(complaints.is_empty(), "{args:?}: {complaints:#?}");
        output
    }
}
