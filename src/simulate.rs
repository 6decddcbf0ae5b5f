//! The simulated engine: an OpenAI-compatible server whose timing comes from a model of continuous batching.
//!
//! ```text
//! server -> answer -> driver -> model -> cost, prefix      the engine and its network face
//!           answer -> speech -> read_prompt, writer         what is said
//!           answer -> compose -> writer, wire, faults       in which form
//!           body   -> log                                   when it was said
//! profiles -> published -> load -> model                    does the model behave as real engines did
//! ```
//!
//! The model knows no clock: the driver plays it in real time, [`load`] as fast as it computes.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

use crate::domain::Secret;

mod answer;
mod body;
mod compose;
pub mod control;
pub mod cost;
mod driver;
pub mod faults;
pub mod load;
pub mod log;
pub mod model;
pub mod prefix;
mod problem;
pub mod profiles;
pub mod published;
pub mod read_prompt;
mod server;
mod speech;
mod text;
mod whole;
mod wire;
mod writer;

pub use control::Control;
pub use log::Log;
pub use profiles::Profile;

/// After this, open connections are dropped as they are.
const STOP_PATIENCE: Duration = Duration::from_millis(800);

/// What a simulated server is started with.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Limits and costs of the engine.
    pub engine: model::EngineSettings,
    /// How long answers are that may stop where they like.
    pub answer: load::Lengths,
    /// The one model that is served.
    pub model: String,
    /// What `/version` says.
    pub version: String,
    /// Without it, all are welcome.
    pub api_key: Option<Secret>,
    /// What goes wrong from the start.
    pub faults: Vec<faults::Fault>,
    /// Seed of texts, lengths and faults.
    pub seed: u64,
}

impl Settings {
    /// A server that behaves as this profile.
    pub fn of(profile: Profile) -> Self {
        let engine = profile.engine();
        let seed = engine.seed;
        Self {
            engine,
            answer: profile.answer(),
            model: profile.model().to_owned(),
            version: "0.32.0".to_owned(),
            api_key: None,
            faults: Vec::new(),
            seed,
        }
    }
}

/// A running server. Dropping the handle stops it too, but only [`stop`](Handle::stop) waits for the end.
#[derive(Debug)]
pub struct Handle {
    address: SocketAddr,
    control: Control,
    log: Log,
    stop: watch::Sender<bool>,
    commands: mpsc::UnboundedSender<driver::Command>,
    driver: JoinHandle<()>,
    server: JoinHandle<io::Result<()>>,
}

/// Serves on a listener that is already bound.
pub fn start(listener: TcpListener, settings: Settings) -> io::Result<Handle> {
    let address = listener.local_addr()?;
    let control = Control::new(settings.version.clone(), settings.faults.clone(), settings.seed);
    let log = Log::default();
    let epoch = Instant::now();
    let (commands, inbox) = mpsc::unbounded_channel();
    let (stop, stopped) = watch::channel(false);
    let engine = model::Engine::new(settings.engine.clone());
    let driver = tokio::spawn(driver::Driver::new(engine, inbox, control.clone(), epoch).run());
    let app = Arc::new(server::App {
        settings,
        control: control.clone(),
        log: log.clone(),
        commands: commands.clone(),
        stop: stopped,
        epoch,
        requests: AtomicU64::new(0),
    });
    let stopping = app.stopping();
    let door = server::Door { listener, control: control.clone() };
    let serve = axum::serve(door, server::router(app)).with_graceful_shutdown(stopping);
    let server = tokio::spawn(async move { serve.await });
    Ok(Handle { address, control, log, stop, commands, driver, server })
}

impl Handle {
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `http://…/v1`, for clients.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Changes faults and version.
    pub fn control(&self) -> &Control {
        &self.control
    }

    /// What was sent when.
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// Breaks off open answers and ends within a second.
    pub async fn stop(self) {
        self.stop.send_replace(true);
        // The driver may have ended by itself.
        let _ = self.commands.send(driver::Command::Stop);
        let server_abort = self.server.abort_handle();
        let driver_abort = self.driver.abort_handle();
        let both = async { (self.server.await, self.driver.await) };
        if timeout(STOP_PATIENCE, both).await.is_err() {
            server_abort.abort();
            driver_abort.abort();
        }
    }
}
