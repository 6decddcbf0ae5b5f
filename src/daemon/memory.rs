//! What was learned, kept in a small file between two runs.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::domain::Target;
use crate::workload::{Learner, Ruler};

/// A file that is larger is another one, named by mistake.
const MAX_BYTES: u64 = 16 << 20;

const VERSION: u32 = 1;

/// What is learned in less than this may be lost.
const EVERY: Duration = Duration::from_secs(60);

/// Who learns, with the names of the targets.
pub(super) type Learners = Vec<(String, Learner)>;

/// The lengths learned, by target and workload.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Memory {
    version: u32,
    lengths: BTreeMap<String, BTreeMap<String, Ruler>>,
}

impl Memory {
    /// What the file says. From a file that cannot be understood nothing is taken, and all is learned anew: a
    /// daemon that does not start watches nothing. The file itself is left as it is.
    pub fn load(path: Option<&Path>) -> Self {
        let Some(path) = path else { return Self::default() };
        match read(path) {
            Ok(memory) => memory,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Self::default(),
            Err(error) => {
                let path = path.display();
                tracing::warn!(%path, %error, "what was learned before cannot be read; it is learned anew");
                Self::default()
            }
        }
    }

    pub fn ruler(&self, target: &Target, workload: &str) -> Ruler {
        let known = self.lengths.get(&*target.name).and_then(|lengths| lengths.get(workload));
        known.cloned().unwrap_or_default()
    }

    /// What the learners of these targets know now.
    pub(super) fn of(learners: &[(String, Learner)]) -> Self {
        let mut lengths: BTreeMap<String, BTreeMap<String, Ruler>> = BTreeMap::new();
        for (target, learner) in learners {
            let name = learner.workload().name.to_string();
            lengths.entry(target.clone()).or_default().insert(name, learner.ruler());
        }
        Self { version: VERSION, lengths }
    }

    /// Replaces the file in one step: whoever reads it, or stops us, finds the old one or the new one. What stands
    /// there and is not ours is put aside: it may have been named by mistake.
    pub(super) fn save(&self, path: &Path) -> io::Result<()> {
        if read(path).is_err_and(|error| error.kind() != io::ErrorKind::NotFound) {
            let aside = beside(path, "bad");
            fs::rename(path, &aside)?;
            tracing::warn!(path = %path.display(), aside = %aside.display(), "another file stood there; it is put aside");
        }
        let draft = beside(path, "new");
        let mut file = fs::File::create(&draft)?;
        file.write_all(&serde_json::to_vec(self)?)?;
        file.sync_all()?;
        fs::rename(&draft, path)
    }
}

/// Writes what is learned, now and then and at the end, until `stop` becomes true.
pub(super) async fn keep(
    path: PathBuf,
    learners: watch::Receiver<Learners>,
    mut stop: watch::Receiver<bool>,
) {
    let mut kept = Memory::of(&learners.borrow());
    let mut told = false;
    loop {
        let last = timeout(EVERY, stop.wait_for(|&stop| stop)).await.is_ok();
        let memory = Memory::of(&learners.borrow());
        if memory != kept {
            let (draft, to) = (memory.clone(), path.clone());
            // A slow disk must not make the event loop late.
            let saved =
                spawn_blocking(move || draft.save(&to)).await.unwrap_or_else(|e| Err(io::Error::other(e)));
            match saved {
                Ok(()) => (kept, told) = (memory, false),
                Err(error) if !std::mem::replace(&mut told, true) => {
                    tracing::warn!(path = %path.display(), %error, "what was learned cannot be kept");
                }
                Err(_) => {}
            }
        }
        if last {
            return;
        }
    }
}

fn read(path: &Path) -> io::Result<Memory> {
    if fs::metadata(path)?.len() > MAX_BYTES {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    let memory: Memory = serde_json::from_slice(&fs::read(path)?)?;
    if memory.version == VERSION {
        Ok(memory)
    } else {
        Err(io::Error::other(format!("it is of version {}, not {VERSION}", memory.version)))
    }
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".");
    name.push(ending);
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::domain::fixture;
    use crate::workload::Source;

    fn learned() -> (Arc<Target>, Memory) {
        let target = fixture::target("t", &["w"]);
        let mut source = Source::new(&target.mix[0].workload, 1, Ruler::default());
        let learner = source.learner();
        learner.learn(source.next_prompt().seed, 77);
        let memory = Memory::of(&[("t".into(), learner)]);
        (target, memory)
    }

    #[test]
    fn what_was_learned_survives() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state");
        assert_eq!(Memory::load(Some(&path)), Memory::default());
        let (target, memory) = learned();
        memory.save(&path).unwrap();
        memory.save(&path).unwrap();
        let loaded = Memory::load(Some(&path));
        assert_eq!(loaded, memory);
        assert_ne!(loaded.ruler(&target, "w"), Ruler::default());
        assert_eq!(loaded.ruler(&target, "other"), Ruler::default());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no draft is left behind");
    }

    #[test]
    fn a_file_that_is_not_understood_is_left_alone_and_put_aside_before_it_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state");
        for bad in ["", "{", r#"{"version":2,"lengths":{}}"#, "\u{0}\u{1}"] {
            fs::write(&path, bad).unwrap();
            assert_eq!(Memory::load(Some(&path)), Memory::default());
            assert_eq!(fs::read_to_string(&path).unwrap(), bad, "to read it changes nothing");
            let (_, memory) = learned();
            memory.save(&path).unwrap();
            assert_eq!(fs::read_to_string(folder.path().join("state.bad")).unwrap(), bad);
            assert_eq!(Memory::load(Some(&path)), memory);
        }
    }
}
