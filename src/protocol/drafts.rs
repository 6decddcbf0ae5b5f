//! What engines say of speculative decoding: how many tokens a draft proposed for one answer, and how many were taken.
//!
//! | engine | where | when |
//! |---|---|---|
//! | vLLM | `metrics.speculative_decoding` | started with `--per-request-spec-decode-metrics` |
//! | SGLang | `sglext.spec_tokens_details`, or `meta_info` of a choice | the request asks for it |
//! | llama.cpp | `timings.draft_n`, `timings.draft_n_accepted` | always, at the end |
//! | TensorRT-LLM under Triton | `total_draft_tokens`, `total_accepted_draft_tokens` | the request asks for performance metrics |
//! | gateways | `completion_tokens_details` of the usage, as accepted and rejected predictions | where they know |
//!
//! TensorRT-LLM's own server tells a mean (`avg_decoded_tokens_per_iter`) and no counts.

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess};

use super::look::{Look, Number, look};
use crate::domain::Speculation;

/// An object with two counts, whichever engine's; a value of another shape says nothing.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Drafts {
    drafted: Option<u64>,
    accepted: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum Name {
    #[serde(rename = "num_draft_tokens", alias = "spec_num_proposed_drafts", alias = "spec_draft_token_num")]
    Drafted,
    #[serde(
        rename = "num_accepted_draft_tokens",
        alias = "spec_num_correct_drafts",
        alias = "spec_accept_token_num"
    )]
    Accepted,
    /// SGLang's, one level further in.
    SpecTokensDetails,
    #[serde(other)]
    Other,
}

impl Drafts {
    pub(super) fn speculation(self) -> Option<Speculation> {
        Speculation::stated(self.drafted, self.accepted)
    }
}

impl<'de> Look<'de> for Drafts {
    fn object<A: MapAccess<'de>>(mut entries: A) -> Result<Self, A::Error> {
        let mut drafts = Self::default();
        while let Some(name) = entries.next_key()? {
            match name {
                Name::Drafted => drafts.drafted = entries.next_value::<Number>()?.0.or(drafts.drafted),
                Name::Accepted => drafts.accepted = entries.next_value::<Number>()?.0.or(drafts.accepted),
                Name::SpecTokensDetails => drafts = entries.next_value()?,
                Name::Other => {
                    entries.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(drafts)
    }
}

impl<'de> Deserialize<'de> for Drafts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        look(deserializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Option<Speculation> {
        serde_json::from_str::<Drafts>(json).unwrap().speculation()
    }

    #[test]
    fn every_engine_s_names_are_known() {
        let taken = Some(Speculation { drafted: 129, accepted: 10 });
        for json in [
            r#"{"mean_acceptance_length":1.2,"num_accepted_draft_tokens":10,"num_draft_tokens":129}"#,
            r#"{"spec_tokens_details":{"spec_accept_rate":0.1,"spec_num_correct_drafts":10,"spec_num_proposed_drafts":129}}"#,
            r#"{"spec_verify_ct":43,"spec_accept_token_num":10,"spec_draft_token_num":129}"#,
        ] {
            assert_eq!(read(json), taken, "{json}");
        }
    }

    #[test]
    fn what_has_another_shape_says_nothing_and_breaks_nothing() {
        for json in [
            "null",
            "[]",
            "7",
            r#""a""#,
            "{}",
            r#"{"num_draft_tokens":12}"#,
            r#"{"num_draft_tokens":"12","num_accepted_draft_tokens":[3]}"#,
            r#"{"num_draft_tokens":-1,"num_accepted_draft_tokens":-1}"#,
            r#"{"spec_tokens_details":[{"spec_num_correct_drafts":10,"spec_num_proposed_drafts":129}]}"#,
        ] {
            assert_eq!(read(json), None, "{json}");
        }
    }
}
