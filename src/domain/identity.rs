//! What a target turned out to run.

use std::fmt;

use super::Engine;

/// This much of a text that a server says about itself is kept: it becomes a label and a line in the log.
const MAX_CHARS: usize = 64;

/// What is known of a target beyond its configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// As configured, else as found; `Auto` while nobody knows.
    pub engine: Engine,
    pub version: Option<String>,
    /// The model behind the name that the configuration uses.
    pub model: Option<String>,
    /// How many tokens prompt and answer may have together.
    pub context_tokens: Option<u32>,
}

impl Identity {
    /// Nothing but the engine.
    pub fn of(engine: Engine) -> Self {
        Self { engine, version: None, model: None, context_tokens: None }
    }

    /// Whether there is anything to tell.
    pub fn is_known(&self) -> bool {
        self.version.is_some() || !matches!(self.engine, Engine::Auto | Engine::Other)
    }
}

/// Such as "vllm 0.32.0".
impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.engine, &self.version) {
            (Engine::Auto | Engine::Other, None) => f.write_str("an engine that is not known"),
            // A version that is known without an engine is that of the server before it, and names it.
            (Engine::Auto | Engine::Other, Some(version)) => f.write_str(version),
            (engine, None) => f.write_str(engine.name()),
            (engine, Some(version)) => write!(f, "{} {version}", engine.name()),
        }
    }
}

/// A text from a server in a form that may be shown: short, without control characters. None if nothing is
/// left.
pub fn presentable(text: &str) -> Option<String> {
    let text: String = text.chars().filter(|c| !c.is_control()).collect();
    let text: String = text.trim().chars().take(MAX_CHARS).collect();
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_servers_are_short_and_without_control_characters() {
        assert_eq!(presentable(" 0.3\n2\u{1b}.0 ").as_deref(), Some("0.32.0"));
        assert_eq!(presentable(&"é".repeat(100)).map(|text| text.chars().count()), Some(MAX_CHARS));
        assert_eq!(presentable(" \t\n"), None);
    }

    #[test]
    fn an_identity_reads_like_a_name() {
        let known = Identity { version: Some("0.32.0".into()), ..Identity::of(Engine::Vllm) };
        assert_eq!(known.to_string(), "vllm 0.32.0");
        assert_eq!(Identity::of(Engine::Sglang).to_string(), "sglang");
        let server = Identity { version: Some("triton 2.51.0".into()), ..Identity::of(Engine::Auto) };
        assert_eq!(server.to_string(), "triton 2.51.0");
        assert_eq!(Identity::of(Engine::Auto).to_string(), "an engine that is not known");
        assert!(known.is_known() && !Identity::of(Engine::Auto).is_known());
    }
}
