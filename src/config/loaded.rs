//! A configuration together with what it was read from, so that it can be read again when that changes.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use super::inputs::{Input, Role};
use super::{Outside, Plan, Problems, context, open, parse};

/// A plan and the text that it came from.
#[derive(Debug)]
pub struct Loaded {
    pub plan: Plan,
    pub inputs: Vec<Input>,
    name: String,
    text: String,
    folder: PathBuf,
    /// What the files of questions held, by the path in the text: a new secret must not bring new questions with it.
    prompts: BTreeMap<PathBuf, String>,
}

/// What came of reading a configuration.
#[derive(Debug)]
pub struct Reading {
    pub outcome: Result<Loaded, Problems>,
    /// Every file that was looked at, also by a reading that failed: a change of any may mend it.
    pub inputs: Vec<Input>,
}

/// Notes the files while they are read.
#[derive(Default)]
struct Noted {
    inputs: RefCell<Vec<Input>>,
    prompts: RefCell<BTreeMap<PathBuf, String>>,
}

impl Reading {
    /// Reads a file and all that it names.
    pub fn of(path: &Path) -> Self {
        let noted = Noted::default();
        noted.note(path.to_owned(), Role::Configuration);
        let outcome = open(path).and_then(|(name, text, folder)| noted.read(&name, &text, folder));
        noted.finish(outcome)
    }

    /// Reads a text that is at hand, and all that it names.
    pub(super) fn of_text(name: &str, text: &str, folder: &Path) -> Self {
        let noted = Noted::default();
        let outcome = noted.read(name, text, folder);
        noted.finish(outcome)
    }
}

impl Loaded {
    /// The same text, with the secrets and certificates as they are now.
    pub fn with_new_credentials(&self) -> Reading {
        let noted = Noted::default();
        for input in self.inputs.iter().filter(|input| input.role != Role::Credential) {
            noted.inputs.borrow_mut().push(input.clone());
        }
        let prompts = |path: &Path| self.prompts.get(path).cloned().ok_or(io::ErrorKind::NotFound.into());
        let plan = noted.parse(&self.name, &self.text, &self.folder, &prompts);
        let outcome = plan.map(|plan| Self {
            plan,
            inputs: Vec::new(),
            name: self.name.clone(),
            text: self.text.clone(),
            folder: self.folder.clone(),
            prompts: self.prompts.clone(),
        });
        noted.finish(outcome)
    }
}

impl Noted {
    /// Before the file is read: whatever is written meanwhile is noticed later.
    fn note(&self, path: PathBuf, role: Role) {
        let mut inputs = self.inputs.borrow_mut();
        if !inputs.iter().any(|known| known.path == path) {
            inputs.push(Input::at(path, role));
        }
    }

    fn read(&self, name: &str, text: &str, folder: &Path) -> Result<Loaded, Problems> {
        let prompts = |path: &Path| self.read_prompts(folder, path);
        let plan = self.parse(name, text, folder, &prompts)?;
        let (name, text, folder) = (name.to_owned(), text.to_owned(), folder.to_owned());
        Ok(Loaded { plan, inputs: Vec::new(), name, text, folder, prompts: self.prompts.take() })
    }

    fn parse(
        &self,
        name: &str,
        text: &str,
        folder: &Path,
        prompts: &dyn Fn(&Path) -> io::Result<String>,
    ) -> Result<Plan, Problems> {
        let env = |name: &str| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned());
        let file = |path: &Path| {
            let path = folder.join(path);
            self.note(path.clone(), Role::Credential);
            context::read_secret(&path)
        };
        parse(name, text, &Outside { env: &env, file: &file, text: prompts })
    }

    fn read_prompts(&self, folder: &Path, path: &Path) -> io::Result<String> {
        let whole = folder.join(path);
        self.note(whole.clone(), Role::Prompts);
        let text = context::read_prompts(&whole)?;
        self.prompts.borrow_mut().insert(path.to_owned(), text.clone());
        Ok(text)
    }

    fn finish(self, outcome: Result<Loaded, Problems>) -> Reading {
        let inputs = self.inputs.into_inner();
        let outcome = outcome.map(|loaded| Loaded { inputs: inputs.clone(), ..loaded });
        Reading { outcome, inputs }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::*;

    const TEXT: &str = "[[targets]]\nname = 't'\nurl = 'http://127.0.0.1:1'\nmodel = 'm'\napi_key = { file = 'key' }\n\
                        [[workloads]]\nname = 'w'\nkind = 'file'\nprompts = 'asked.jsonl'\n";

    fn folder() -> TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in [("c.toml", TEXT), ("key", "sk-1\n"), ("asked.jsonl", "{\"question\": \"a?\"}\n")]
        {
            fs::write(folder.path().join(name), text).unwrap();
        }
        folder
    }

    fn read(folder: &TempDir) -> Reading {
        Reading::of(&folder.path().join("c.toml"))
    }

    fn names(inputs: &[Input]) -> Vec<(String, Role)> {
        let name = |input: &Input| input.path.file_name().unwrap().to_string_lossy().into_owned();
        let mut names: Vec<_> = inputs.iter().map(|input| (name(input), input.role)).collect();
        names.sort_by(|a, b| a.0.cmp(&b.0));
        names
    }

    fn key(loaded: &Loaded) -> &str {
        loaded.plan.targets[0].api_key.as_ref().unwrap().expose()
    }

    #[test]
    fn a_plan_knows_its_files_and_what_they_are_for() {
        let loaded = read(&folder()).outcome.unwrap();
        let expected =
            [("asked.jsonl", Role::Prompts), ("c.toml", Role::Configuration), ("key", Role::Credential)];
        assert_eq!(names(&loaded.inputs), expected.map(|(name, role)| (name.to_owned(), role)));
    }

    #[test]
    fn a_reading_that_failed_knows_the_file_that_may_mend_it() {
        let folder = folder();
        fs::remove_file(folder.path().join("key")).unwrap();
        let reading = read(&folder);
        assert!(reading.outcome.is_err());
        assert!(reading.inputs.iter().any(|input| input.role == Role::Credential && input.stamp.is_none()));
    }

    #[test]
    fn new_credentials_bring_neither_a_new_text_nor_new_questions() {
        let folder = folder();
        let before = read(&folder).outcome.unwrap();
        fs::write(folder.path().join("key"), "sk-2").unwrap();
        fs::write(folder.path().join("c.toml"), "broken").unwrap();
        fs::write(folder.path().join("asked.jsonl"), "broken").unwrap();
        let after = before.with_new_credentials().outcome.unwrap();
        assert_eq!((key(&before), key(&after)), ("sk-1", "sk-2"));
        assert_eq!(before.plan.workloads, after.plan.workloads);
        let stays = |loaded: &Loaded| -> Vec<Input> {
            loaded.inputs.iter().filter(|input| input.role != Role::Credential).cloned().collect()
        };
        assert_eq!(stays(&before), stays(&after), "the files are those that the text was read from");
        assert_ne!(before.inputs, after.inputs);
    }
}
