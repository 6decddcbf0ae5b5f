//! How long to wait, where the file does not say: longer prompts and longer answers get more time.

use std::time::Duration;

use super::keys;
use super::reader::{Node, Table};
use super::value::{self, LONGEST_WAIT};
use crate::domain::Timeouts;

/// A prompt is prefilled faster than this, or something is wrong.
const SLOW_PREFILL_TOKENS_PER_SECOND: u32 = 500;

/// A stream slower than 10 tokens a second is slower than people read.
const SLOW_TOKEN: Duration = Duration::from_millis(100);

/// The waits that the file gives; the others follow from them and from the lengths.
#[derive(Default)]
struct Given {
    connect: Option<Duration>,
    first_token: Option<Duration>,
    stall: Option<Duration>,
    total: Option<Duration>,
}

/// The waits of a workload: `None` when one of them is wrong.
pub(super) fn read(node: Option<Node<'_>>, input_tokens: u32, output_tokens: u32) -> Option<Timeouts> {
    let given = match node {
        Some(node) => Given::read(&node.table(&keys::TIMEOUTS)?)?,
        None => Given::default(),
    };
    Some(given.complete(input_tokens, output_tokens))
}

impl Given {
    fn read(table: &Table<'_>) -> Option<Self> {
        let wait = |key| table.or(key, None, |node| value::wait(&node).map(Some));
        let (connect, first_token, stall, total) =
            (wait("connect"), wait("first_token"), wait("stall"), wait("total"));
        let mut fits = Some(());
        for (key, part) in [("connect", connect), ("first_token", first_token), ("stall", stall)] {
            let (Some(node), Some(part), Some(total)) = (table.get(key), part.flatten(), total.flatten())
            else {
                continue;
            };
            if part > total {
                let total = humantime::format_duration(total);
                let what = format!("longer than total, which is {total}");
                fits = node.refuse(what, format!("write \"{total}\" or less, or raise total"));
            }
        }
        fits?;
        Some(Self { connect: connect?, first_token: first_token?, stall: stall?, total: total? })
    }

    /// Without a `total`: time to connect, to the first token, and 100 ms for each further one; at least the
    /// usual 2 minutes, at most 1 hour. Without a `first_token`: 1 s for every 500 tokens of the prompt, at
    /// least the usual 30 s. A wait that the file does not give never exceeds a `total` that it does give.
    fn complete(self, input_tokens: u32, output_tokens: u32) -> Timeouts {
        let usual = Timeouts::default();
        let prefill = Duration::from_secs((input_tokens / SLOW_PREFILL_TOKENS_PER_SECOND).into());
        let longest = self.total.unwrap_or(LONGEST_WAIT);
        let connect = self.connect.unwrap_or(usual.connect.min(longest));
        let first_token = self.first_token.unwrap_or(usual.first_token.max(prefill).min(longest));
        let stall = self.stall.unwrap_or(usual.stall.min(longest));
        let total = self.total.unwrap_or_else(|| {
            let whole = connect + first_token + SLOW_TOKEN * output_tokens;
            whole.max(usual.total).max(stall).min(LONGEST_WAIT)
        });
        Timeouts { connect, first_token, stall, total }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn secs(secs: u64) -> Duration {
        Duration::from_secs(secs)
    }

    #[test]
    fn a_short_chat_gets_the_usual_waits() {
        assert_eq!(Given::default().complete(60, 128), Timeouts::default());
    }

    #[test]
    fn a_long_answer_gets_a_longer_total() {
        assert_eq!(Given::default().complete(200, 1500).total, secs(5 + 30 + 150));
        assert_eq!(Given::default().complete(200, 100_000).total, LONGEST_WAIT);
    }

    #[test]
    fn a_long_prompt_gets_a_longer_wait_for_its_first_token() {
        assert_eq!(Given::default().complete(100_000, 100).first_token, secs(200));
        assert_eq!(Given::default().complete(2_000_000, 100).first_token, LONGEST_WAIT);
    }

    #[test]
    fn waits_left_out_bow_to_a_total_that_is_given() {
        let waits = Given { total: Some(secs(3)), ..Given::default() }.complete(6000, 256);
        assert_eq!(
            waits,
            Timeouts { connect: secs(3), first_token: secs(3), stall: secs(3), total: secs(3) }
        );
    }

    #[test]
    fn a_total_left_out_covers_the_waits_that_are_given() {
        let given = Given { stall: Some(secs(600)), ..Given::default() };
        assert_eq!(given.complete(60, 128).total, secs(600));
    }
}
