//! Fields of a request that not every server takes.

use super::{Api, Engine};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// Asks for token counts at the end of a stream.
    StreamOptions,
    /// Asks for token counts with every chunk.
    ContinuousUsage,
    /// Asks to go on past the end of the text.
    IgnoreEos,
    /// Asks not to end before so many tokens.
    MinTokens,
    /// Bounds the answer. Some models of OpenAI take only its later name, which others ignore.
    MaxTokens,
    /// Asks not to keep what was said: the Responses API keeps it for a month unless told not to.
    Store,
    /// Asks for less reasoning, by the name that the API has for it.
    Reasoning,
    /// Turns reasoning off in the chat template, where the engine lets a request do that.
    TemplateSwitch,
}

/// A set of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Fields(u16);

impl Field {
    pub const ALL: [Self; 8] = [
        Self::StreamOptions,
        Self::ContinuousUsage,
        Self::IgnoreEos,
        Self::MinTokens,
        Self::MaxTokens,
        Self::Store,
        Self::Reasoning,
        Self::TemplateSwitch,
    ];

    /// As on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::StreamOptions => "stream_options",
            Self::ContinuousUsage => "continuous_usage_stats",
            Self::IgnoreEos => "ignore_eos",
            Self::MinTokens => "min_tokens",
            Self::MaxTokens => "max_tokens",
            Self::Store => "store",
            Self::Reasoning => "reasoning",
            Self::TemplateSwitch => "chat_template_kwargs",
        }
    }

    const fn bit(self) -> u16 {
        1 << self as u8
    }
}

impl Fields {
    pub const NONE: Self = Self(0);

    /// In OpenAI's own formats, and the reasoning of every API that knows any.
    pub const COMMON: Self = Self(
        Field::StreamOptions.bit() | Field::MaxTokens.bit() | Field::Store.bit() | Field::Reasoning.bit(),
    );

    pub fn of(fields: &[Field]) -> Self {
        Self(fields.iter().fold(0, |bits, field| bits | field.bit()))
    }

    /// What an engine is known to take, beside what is tried everywhere: OpenAI's own format has it, and
    /// without `stream_options` most servers count no tokens.
    pub fn known_to(engine: Engine, api: Api) -> Self {
        use Field::{ContinuousUsage, IgnoreEos, MinTokens, TemplateSwitch};
        let more: &[Field] = match engine {
            // This API has no lower bound for the length, and of the engines only this one is known to take
            // the other field there.
            Engine::Vllm if api == Api::OpenAiResponses => &[IgnoreEos],
            _ if api == Api::OpenAiResponses => &[],
            Engine::Vllm => &[ContinuousUsage, IgnoreEos, MinTokens, TemplateSwitch],
            // Counts come at the end only.
            Engine::Sglang => &[IgnoreEos, MinTokens, TemplateSwitch],
            // Has no lower bound for the length; ignoring the end of the text is enough for an exact one.
            Engine::LlamaCpp => &[IgnoreEos, TemplateSwitch],
            Engine::Xinference | Engine::Mindie => &[TemplateSwitch],
            // The first two hand fields on to whatever runs behind them, which is not known here. The rest
            // have no such fields in their OpenAI-like API, or it is not known that they do.
            Engine::Litellm | Engine::Tgi | Engine::Ollama | Engine::Auto | Engine::Other => &[],
        };
        more.iter().copied().fold(Self::COMMON, Self::with)
    }

    pub fn has(self, field: Field) -> bool {
        self.0 & field.bit() != 0
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    #[must_use]
    pub fn with(self, field: Field) -> Self {
        Self(self.0 | field.bit())
    }

    #[must_use]
    pub fn and(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    #[must_use]
    pub fn without(self, others: Self) -> Self {
        Self(self.0 & !others.0)
    }

    #[must_use]
    pub fn only(self, others: Self) -> Self {
        Self(self.0 & others.0)
    }

    pub fn iter(self) -> impl Iterator<Item = Field> {
        Field::ALL.into_iter().filter(move |&field| self.has(field))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_engine_is_sent_the_common_fields_and_only_some_are_sent_more() {
        for (_, engine) in Engine::NAMES {
            for (_, api) in Api::NAMES {
                assert!(Fields::COMMON.without(Fields::known_to(engine, api)).is_empty(), "{engine:?}");
            }
        }
        let more = |engine| Fields::known_to(engine, Api::OpenAiChat).without(Fields::COMMON).iter().count();
        assert_eq!((more(Engine::Vllm), more(Engine::Sglang), more(Engine::LlamaCpp)), (4, 3, 2));
        assert_eq!((more(Engine::Auto), more(Engine::Other), more(Engine::Litellm)), (0, 0, 0));
    }

    #[test]
    fn the_responses_api_takes_less() {
        let more = |engine| Fields::known_to(engine, Api::OpenAiResponses).without(Fields::COMMON);
        assert_eq!(more(Engine::Vllm), Fields::of(&[Field::IgnoreEos]));
        assert_eq!(more(Engine::Sglang), Fields::NONE);
    }

    #[test]
    fn sets_add_and_remove() {
        let two = Fields::of(&[Field::IgnoreEos, Field::MinTokens]);
        assert_eq!(two.without(Fields::of(&[Field::IgnoreEos])), Fields::of(&[Field::MinTokens]));
        assert_eq!(Fields::NONE.with(Field::IgnoreEos).with(Field::MinTokens), two);
        assert!(two.without(two).is_empty());
    }
}
