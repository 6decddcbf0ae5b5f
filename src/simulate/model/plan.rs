//! Which sequences work in the next step.

use super::{Engine, Memory};
use crate::simulate::cost::Work;

/// What is left to give in the step being planned.
struct Left {
    budget: u32,
    memory: u64,
    prefills: usize,
}

impl Engine {
    /// Gives out the next step's work; all zero when nothing can run.
    pub(super) fn plan(&mut self) -> Work {
        let used: u64 = self.running.iter().map(super::Sequence::footprint).sum();
        let mut left = Left {
            budget: self.settings.max_num_batched_tokens,
            memory: self.settings.kv_tokens.saturating_sub(used),
            prefills: self.settings.max_prefills_per_step.unwrap_or(usize::MAX),
        };
        self.unpark(&mut left);
        let mut work = Work::default();
        if self.settings.chunked_prefill {
            let preempted = self.plan_decoding(&mut left, &mut work);
            self.plan_started_prompts(&mut left, &mut work);
            if !preempted {
                self.admit(&mut left, &mut work);
            }
        } else {
            self.admit(&mut left, &mut work);
            if work.prefill_tokens == 0 {
                self.plan_decoding(&mut left, &mut work);
            }
        }
        work
    }

    /// Parked sequences go on in their order, each once its whole length fits.
    fn unpark(&mut self, left: &mut Left) {
        while let Some(first) = self.parked.front() {
            let need = first.whole_length();
            if need > left.memory && !self.running.is_empty() {
                return;
            }
            left.memory = left.memory.saturating_sub(need);
            if let Some(mut sequence) = self.parked.pop_front() {
                sequence.reserved = true;
                self.running.push(sequence);
            }
        }
    }

    /// One token for each that decodes, oldest first. True when memory ran out and a sequence had to go.
    fn plan_decoding(&mut self, left: &mut Left, work: &mut Work) -> bool {
        let mut preempted = false;
        let mut index = 0;
        while index < self.running.len() && left.budget > 0 {
            if !self.running[index].decodes() {
                index += 1;
                continue;
            }
            while left.memory == 0 && !self.running[index].reserved {
                preempted = true;
                if self.preempt_newest(left) == index {
                    break;
                }
            }
            let Some(sequence) = self.running.get_mut(index) else { break };
            if !sequence.reserved {
                left.memory -= 1;
            }
            sequence.planned = 1;
            left.budget -= 1;
            work.decoding += 1;
            work.context_tokens += u64::from(sequence.context);
            index += 1;
        }
        preempted
    }

    /// Takes the newest sequence out of the batch and to the head of the queue; answers where it was.
    ///
    /// The last one running keeps its place even beyond the memory: without it nothing would ever end.
    fn preempt_newest(&mut self, left: &mut Left) -> usize {
        let index = self.running.len() - 1;
        if index == 0 {
            left.memory += 1;
            return usize::MAX;
        }
        let mut sequence = self.running.remove(index);
        left.memory += sequence.footprint();
        sequence.forget_context();
        self.waiting.push_front(sequence);
        index
    }

    fn plan_started_prompts(&mut self, left: &mut Left, work: &mut Work) {
        for sequence in self.running.iter_mut().filter(|sequence| sequence.to_prefill > 0) {
            if left.budget == 0 {
                return;
            }
            sequence.planned = sequence.to_prefill.min(left.budget);
            left.budget -= sequence.planned;
            work.prefill_tokens += sequence.planned;
        }
    }

    /// Takes requests from the queue, in order, while budget, places and memory last.
    fn admit(&mut self, left: &mut Left, work: &mut Work) {
        // A little memory stays free, or a request would be admitted only to be preempted by the next token.
        let margin = if self.settings.memory == Memory::OnDemand { self.settings.kv_tokens / 100 } else { 0 };
        while self.running.len() < self.settings.max_num_seqs && left.budget > 0 && left.prefills > 0 {
            let Some(first) = self.waiting.front() else { return };
            let need = u64::from(first.to_prefill);
            if need + margin > left.memory && !self.running.is_empty() {
                return;
            }
            let cached = self
                .prefixes
                .as_ref()
                .map_or(0, |prefixes| prefixes.cached_tokens(&first.prefix, first.prompt_tokens));
            let compute = first.to_prefill - cached;
            if !self.settings.chunked_prefill && compute > left.budget {
                return;
            }
            let Some(mut sequence) = self.waiting.pop_front() else { return };
            if sequence.produced == 0 {
                sequence.cached_tokens = cached;
            }
            sequence.context = cached;
            sequence.to_prefill = compute;
            sequence.planned = compute.min(left.budget);
            left.budget -= sequence.planned;
            left.memory = left.memory.saturating_sub(need);
            left.prefills -= 1;
            work.prefill_tokens += sequence.planned;
            self.running.push(sequence);
        }
    }
}
