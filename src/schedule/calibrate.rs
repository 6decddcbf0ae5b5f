//! Learns how long prompts are by a target's tokenizer before the first of them are sent, where it can be asked, and
//! how long they may be.

use crate::probe::{self, Transport};
use crate::workload::Learner;

/// So much is asked of a target at most, for each of its workloads.
const MOST_QUESTIONS: u32 = 40;
const MOST_TOKENS: u64 = 400_000;

/// Asks about prompts such as will be sent. A target that does not answer is left alone.
pub async fn calibrate(transport: &Transport, learners: &[Learner]) {
    let target = &*transport.target().name;
    for learner in learners {
        learner.fit(target, transport.knowledge().room());
    }
    for learner in learners.iter().filter(|learner| learner.is_new()) {
        let mut tokens = 0;
        for nth in 0..learner.trials().min(MOST_QUESTIONS) {
            let prompt = learner.trial(nth);
            let Some(counted) = probe::count_tokens(transport, &prompt).await else { return };
            learner.learn(prompt.seed, counted.tokens);
            if !counted.is_whole {
                // The first probe tells what the chat template adds.
                learner.doubt();
            }
            tokens += counted.tokens;
            if tokens > MOST_TOKENS {
                break;
            }
        }
    }
}
