//! What was asked, kept until the answer has come.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::answer::{Asked, judge};
use crate::domain::{Expect, Kind, Language, Prompt, Report, Verdict, Workload};

#[derive(Debug)]
pub struct Posed {
    expect: Expect,
    /// A file's questions are in whatever language they are.
    language: Option<Language>,
    max_tokens: u32,
}

impl Posed {
    pub fn of(workload: &Workload, prompt: &Prompt) -> Self {
        Self {
            expect: prompt.expect.clone(),
            language: (workload.kind != Kind::File).then_some(workload.language),
            max_tokens: prompt.max_tokens,
        }
    }

    /// Judges what came of it; `forced` if the engine was told to go on past the end of the text. A long answer
    /// takes milliseconds to judge.
    pub fn judge(self, report: &mut Report, forced: bool) {
        let tokens = report.tokens.output;
        // Not every server says that the limit ended its answer.
        report.answer.cut |= tokens.is_some_and(|tokens| tokens >= u64::from(self.max_tokens));
        let Self { expect, language, max_tokens } = &self;
        let asked = Asked { expect, language: *language, max_tokens: *max_tokens, forced };
        // What a server wrote must not be able to lose the report.
        let verdict = catch_unwind(AssertUnwindSafe(|| judge(&asked, &report.answer, tokens)));
        report.judged(verdict.unwrap_or_else(|_| {
            tracing::error!(seed = %report.seed, "an answer could not be judged; please report it");
            Verdict::Unchecked
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Answer, Failure, Sample, Tokens, fixture};

    fn judged(said: &str, output: u64, fault: Option<crate::domain::Fault>) -> Report {
        let target = fixture::target("t", &["w"]);
        let prompt = Prompt { expect: Expect::Text("799".into()), ..Prompt::of_user("how many?", 20) };
        let mut report = fixture::report(&target, Sample::default(), fault);
        report.answer = Answer { text: said.into(), ..Answer::default() };
        report.tokens = Tokens { output: Some(output), ..Tokens::default() };
        Posed::of(&target.mix[0].workload, &prompt).judge(&mut report, false);
        report
    }

    #[test]
    fn a_report_gets_its_verdict_and_keeps_what_is_bad() {
        let right = judged("Answer: 799", 5, None);
        assert_eq!((right.verdict, &*right.answer.text), (Some(Verdict::Right), ""));
        let wrong = judged("Answer: 798", 5, None);
        assert_eq!((wrong.verdict, &*wrong.answer.text), (Some(Verdict::Wrong), "Answer: 798"));
        let cut = judged("Let me think about the list", 20, None);
        assert_eq!(cut.verdict, Some(Verdict::Unchecked));
        let failed = judged("Ans", 1, Some(Failure::Truncated.because("cut")));
        assert_eq!(failed.verdict, None);
    }
}
