//! The prefix cache: which leading blocks of a prompt were computed before.

use std::collections::{HashMap, VecDeque};

/// Tokens in a block; only whole blocks are shared.
pub const BLOCK_TOKENS: u32 = 16;

/// Hash of a block and of everything before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BlockHash(pub u64);

/// Least recently used blocks make room for new ones.
#[derive(Debug)]
pub struct PrefixCache {
    capacity: usize,
    used_at: HashMap<BlockHash, u64>,
    order: VecDeque<(BlockHash, u64)>,
    tick: u64,
}

impl PrefixCache {
    /// A cache of so many tokens.
    pub fn new(capacity_tokens: u64) -> Self {
        let capacity =
            usize::try_from(capacity_tokens / u64::from(BLOCK_TOKENS)).unwrap_or(usize::MAX).max(1);
        Self { capacity, used_at: HashMap::new(), order: VecDeque::new(), tick: 0 }
    }

    /// Leading tokens of a prompt that need no computing. The last token always does: it yields the answer's
    /// first.
    pub fn cached_tokens(&self, blocks: &[BlockHash], prompt_tokens: u32) -> u32 {
        let hits = blocks.iter().take_while(|block| self.used_at.contains_key(block)).count();
        let last_block = prompt_tokens.saturating_sub(1) / BLOCK_TOKENS;
        (u32::try_from(hits).unwrap_or(u32::MAX).min(last_block)) * BLOCK_TOKENS
    }

    /// Remembers a computed prompt.
    pub fn insert(&mut self, blocks: &[BlockHash]) {
        for &block in blocks {
            self.tick += 1;
            self.used_at.insert(block, self.tick);
            self.order.push_back((block, self.tick));
        }
        while self.used_at.len() > self.capacity || self.order.len() > 4 * self.capacity {
            let Some((block, tick)) = self.order.pop_front() else { break };
            if self.used_at.get(&block) == Some(&tick) {
                self.used_at.remove(&block);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(numbers: &[u64]) -> Vec<BlockHash> {
        numbers.iter().copied().map(BlockHash).collect()
    }

    #[test]
    fn repeated_prompt_is_cached_but_for_its_last_block() {
        let mut cache = PrefixCache::new(1600);
        let prompt = blocks(&[1, 2, 3, 4]);
        assert_eq!(cache.cached_tokens(&prompt, 64), 0);
        cache.insert(&prompt);
        assert_eq!(cache.cached_tokens(&prompt, 64), 48);
        assert_eq!(cache.cached_tokens(&prompt, 70), 64);
    }

    #[test]
    fn prompt_that_differs_at_its_start_hits_nothing() {
        let mut cache = PrefixCache::new(1600);
        cache.insert(&blocks(&[1, 2, 3]));
        assert_eq!(cache.cached_tokens(&blocks(&[9, 2, 3]), 48), 0);
    }

    #[test]
    fn least_recently_used_blocks_leave_first() {
        let mut cache = PrefixCache::new(32);
        cache.insert(&blocks(&[1]));
        cache.insert(&blocks(&[2]));
        cache.insert(&blocks(&[1]));
        cache.insert(&blocks(&[3]));
        assert_eq!(cache.cached_tokens(&blocks(&[1]), 20), 16);
        assert_eq!(cache.cached_tokens(&blocks(&[2]), 20), 0);
    }
}
