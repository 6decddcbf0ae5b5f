//! The files of the configuration: when they change, what is to be read again.

use std::path::PathBuf;
use std::sync::Arc;

use crate::config::{Input, Loaded, Reading, Role};

/// The configuration in use, and what came of the attempts since.
#[derive(Debug)]
pub struct Files {
    path: PathBuf,
    /// Whether a change of the configuration or of a file of questions is followed; one of a credential always is.
    watch: bool,
    loaded: Arc<Loaded>,
    /// What the newest attempt to read the file looked at, if it failed.
    failed: Option<Vec<Input>>,
    /// Likewise of the newest attempt to read the credentials alone.
    refused: Option<Vec<Input>>,
}

/// What is to be read again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Again {
    /// The file, and all that it names.
    All,
    /// The text in use, with new credentials.
    Credentials,
}

impl Files {
    pub fn new(path: PathBuf, loaded: Loaded, watch: bool) -> Self {
        Self { path, watch, loaded: Arc::new(loaded), failed: None, refused: None }
    }

    /// Whether the newest attempt to read the file failed.
    pub(super) fn is_behind(&self) -> bool {
        self.failed.is_some()
    }

    /// Those whose change is followed, as they looked when they were read.
    pub(super) fn followed(&self) -> Vec<(Again, Input)> {
        let all = match &self.failed {
            _ if !self.watch => Vec::new(),
            Some(inputs) => inputs.clone(),
            None => {
                self.loaded.inputs.iter().filter(|input| input.role != Role::Credential).cloned().collect()
            }
        };
        let credentials = self.refused.as_ref().unwrap_or(&self.loaded.inputs).iter();
        let credentials = credentials.filter(|input| input.role == Role::Credential).cloned();
        let all = all.into_iter().map(|input| (Again::All, input));
        all.chain(credentials.map(|input| (Again::Credentials, input))).collect()
    }

    /// Reads it; to be called where it is no harm to wait for a disk.
    pub(super) fn reader(&self, again: Again) -> impl FnOnce() -> Reading + Send + 'static {
        let (path, loaded) = (self.path.clone(), Arc::clone(&self.loaded));
        move || match again {
            Again::All => Reading::of(&path),
            Again::Credentials => loaded.with_new_credentials(),
        }
    }

    /// This one is in use now.
    pub(super) fn adopted(&mut self, loaded: Loaded, again: Again) {
        self.loaded = Arc::new(loaded);
        self.refused = None;
        if again == Again::All {
            self.failed = None;
        }
    }

    /// Nothing came of it: it is tried again when one of these files changes.
    pub(super) fn rejected(&mut self, inputs: Vec<Input>, again: Again) {
        match again {
            Again::All => self.failed = Some(inputs),
            Again::Credentials => self.refused = Some(inputs),
        }
    }
}

/// What has to be read again by now; the whole goes before a part of it.
pub(super) fn changed(followed: &[(Again, Input)], now: &[Input]) -> Option<Again> {
    let changed = followed.iter().zip(now).filter(|((_, was), is)| was != *is).map(|((again, _), _)| *again);
    let changed: Vec<_> = changed.collect();
    let all = changed.contains(&Again::All).then_some(Again::All);
    all.or_else(|| changed.first().copied())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use tempfile::TempDir;

    use super::*;

    const TEXT: &str =
        "[[targets]]\nname = 't'\nurl = 'http://127.0.0.1:1'\nmodel = 'm'\napi_key = { file = 'key' }\n";

    /// A configuration and a key in a folder of their own.
    struct Desk {
        folder: TempDir,
        files: Files,
    }

    impl Desk {
        fn new(watch: bool) -> Self {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("c.toml");
            fs::write(&path, TEXT).unwrap();
            fs::write(folder.path().join("key"), "sk-1").unwrap();
            let loaded = Reading::of(&path).outcome.unwrap();
            Self { files: Files::new(path, loaded, watch), folder }
        }

        fn at(&self, name: &str) -> impl AsRef<Path> {
            self.folder.path().join(name)
        }

        fn write(&self, name: &str, text: &str) {
            fs::write(self.at(name), text).unwrap();
        }

        fn changed(&self) -> Option<Again> {
            let followed = self.files.followed();
            let now: Vec<_> = followed.iter().map(|(_, input)| input.again()).collect();
            changed(&followed, &now)
        }

        /// Reads it as it is now; whether it could be used.
        fn read(&mut self, again: Again) -> bool {
            let Reading { outcome, inputs } = self.files.reader(again)();
            let is_usable = outcome.is_ok();
            match outcome.ok() {
                Some(loaded) => self.files.adopted(loaded, again),
                None => self.files.rejected(inputs, again),
            }
            is_usable
        }
    }

    #[test]
    fn a_new_key_is_followed_always_and_a_new_text_only_if_wanted() {
        for watch in [false, true] {
            let desk = Desk::new(watch);
            assert_eq!(desk.changed(), None);
            desk.write("key", "sk-22");
            assert_eq!(desk.changed(), Some(Again::Credentials));
            desk.write("c.toml", "# other\n");
            assert_eq!(desk.changed(), Some(if watch { Again::All } else { Again::Credentials }));
        }
    }

    #[test]
    fn a_bad_file_is_tried_again_when_it_changes_and_not_before() {
        let mut desk = Desk::new(true);
        desk.write("c.toml", "bad");
        assert_eq!(desk.changed(), Some(Again::All));
        assert!(!desk.read(Again::All));
        assert_eq!(desk.changed(), None);
        assert!(desk.files.is_behind());
        desk.write("c.toml", TEXT);
        assert_eq!(desk.changed(), Some(Again::All));
        assert!(desk.read(Again::All) && !desk.files.is_behind());
        assert_eq!(desk.changed(), None);
    }

    #[test]
    fn a_key_is_renewed_though_the_file_is_bad() {
        let mut desk = Desk::new(true);
        desk.write("c.toml", "bad");
        assert!(!desk.read(Again::All));
        desk.write("key", "sk-22");
        assert_eq!(desk.changed(), Some(Again::Credentials));
        assert!(desk.read(Again::Credentials));
        assert!(desk.files.is_behind(), "the file is as bad as before");
        assert_eq!(desk.changed(), None);
    }

    #[test]
    fn a_key_that_is_gone_is_read_as_soon_as_it_is_back() {
        let mut desk = Desk::new(false);
        fs::remove_file(desk.at("key")).unwrap();
        assert_eq!(desk.changed(), Some(Again::Credentials));
        assert!(!desk.read(Again::Credentials));
        assert_eq!(desk.changed(), None);
        desk.write("key", "sk-22");
        assert_eq!(desk.changed(), Some(Again::Credentials));
    }
}
