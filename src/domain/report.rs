//! What came of one probe: plain data between the probe and everything that shows it.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::{
    Answer, Cache, Depth, Fault, Lesson, ProbeId, Sample, Seed, ServerTimes, Target, Timeline, Tokens,
    Workload,
};

/// No chat template has more before the user's words, as far as is known.
const TEMPLATE_TOKENS: u64 = 128;

/// Every probe ends in exactly one of these, whatever happened.
#[derive(Debug, Clone)]
pub struct Report {
    pub id: ProbeId,
    pub target: Arc<Target>,
    pub workload: Arc<Workload>,
    /// When it started, by the wall clock.
    pub wall: SystemTime,
    pub seed: Seed,
    /// Where the fact lay that answers the question.
    pub depth: Option<Depth>,
    pub timeline: Timeline,
    pub sample: Sample,
    pub tokens: Tokens,
    /// What the server itself says about its time.
    pub times: ServerTimes,
    /// What the server calls its present self in the answer.
    pub fingerprint: Option<String>,
    /// `None` is success.
    pub fault: Option<Fault>,
    /// A judgement of the answer; only a successful probe has one.
    pub verdict: Option<Verdict>,
    /// What came; once it is judged, only what a bad answer says, for a person to look at.
    pub answer: Answer,
    /// The probe's own event loop was late while this was measured.
    pub suspect: bool,
    /// How long the server asked us to stay away.
    pub retry_after: Option<Duration>,
    /// When the certificates end that the target presented last, trusted or not: the earliest of the chain. An
    /// earlier handshake than this probe's may have shown them.
    pub certificate_expiry: Option<SystemTime>,
    /// What a refusal says about lengths.
    pub lesson: Lesson,
}

/// Whether the answer was any good: apart from whether it came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Right,
    Wrong,
    Degenerate,
    Short,
    Unchecked,
}

impl Report {
    pub fn succeeded(&self) -> bool {
        self.fault.is_none()
    }

    /// `ok`, or the label of the failure.
    pub fn outcome(&self) -> &'static str {
        self.fault.as_ref().map_or("ok", |fault| fault.failure.label())
    }

    /// The server had much of a prompt in its cache that was new from its first word. The chat template comes
    /// before that word, and may well be there.
    pub fn was_cold_but_cached(&self) -> bool {
        let cached = self.tokens.cached.unwrap_or_default();
        let most = self.tokens.prompt.map_or(TEMPLATE_TOKENS, |prompt| TEMPLATE_TOKENS.min(prompt / 2));
        self.workload.cache == Cache::Cold && cached > most
    }

    /// Takes the judgement of the answer, and keeps no more of the answer than a person needs to see why. What
    /// came of a failed probe is nothing to judge.
    pub fn judged(&mut self, verdict: Verdict) {
        self.verdict = self.succeeded().then_some(verdict);
        match self.verdict {
            Some(verdict) if !verdict.is_bad() => self.answer.forget(),
            _ => self.answer.shorten(),
        }
    }
}

impl Verdict {
    pub const ALL: [Self; 5] = [Self::Right, Self::Wrong, Self::Degenerate, Self::Short, Self::Unchecked];

    /// Whether a person should look at the answer.
    pub fn is_bad(self) -> bool {
        matches!(self, Self::Wrong | Self::Degenerate | Self::Short)
    }

    pub fn label(self) -> &'static str {
        match self {
            Self::Right => "right",
            Self::Wrong => "wrong",
            Self::Degenerate => "degenerate",
            Self::Short => "short",
            Self::Unchecked => "unchecked",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Failure, fixture};

    fn judged(verdict: Verdict, fault: Option<Fault>) -> Report {
        let mut report = fixture::report(&fixture::target("t", &["w"]), Sample::default(), fault);
        report.answer =
            Answer { text: "a".repeat(5000), thought: "b".repeat(100), cut: true, characters: 5100 };
        report.judged(verdict);
        report
    }

    #[test]
    fn a_cold_prompt_was_cached_if_more_than_a_template_was() {
        let cached = |cache, prompt, cached| {
            let mut report = judged(Verdict::Right, None);
            report.workload = Arc::new(Workload { cache, ..(*report.workload).clone() });
            report.tokens = Tokens { prompt, cached, ..Tokens::default() };
            report.was_cold_but_cached()
        };
        assert!(cached(Cache::Cold, Some(2000), Some(1920)) && cached(Cache::Cold, Some(100), Some(64)));
        assert!(!cached(Cache::Cold, Some(2000), Some(128)) && !cached(Cache::Cold, Some(100), Some(48)));
        assert!(!cached(Cache::Cold, Some(2000), None) && !cached(Cache::Warm, Some(2000), Some(1920)));
    }

    #[test]
    fn a_good_answer_is_forgotten_and_a_bad_one_is_shortened() {
        for verdict in Verdict::ALL {
            let report = judged(verdict, None);
            let Answer { text, thought, cut, characters } = report.answer;
            assert_eq!(characters, 5100, "they are counted for ever");
            assert_eq!((report.verdict, cut), (Some(verdict), true), "{verdict:?}");
            let kept = (text.len(), thought.len());
            match verdict {
                Verdict::Right | Verdict::Unchecked => assert_eq!(kept, (0, 0), "{verdict:?}"),
                _ => assert_eq!(kept, (2048, 100), "{verdict:?}"),
            }
        }
    }

    #[test]
    fn a_failed_probe_has_no_verdict_but_what_came_is_kept() {
        for verdict in Verdict::ALL {
            let report = judged(verdict, Some(Failure::Truncated.because("x")));
            assert_eq!(report.verdict, None, "{verdict:?}");
            assert_eq!((report.answer.text.len(), report.answer.thought.len()), (2048, 100), "{verdict:?}");
        }
    }
}
