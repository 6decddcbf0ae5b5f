//! Tokens without a tokenizer: counting prompts, hashing their blocks.

use super::prefix::{BLOCK_TOKENS, BlockHash};

/// Longest piece of a word that counts as one token.
const WORD_PIECE_CHARS: usize = 7;

/// The tokens of a text, near enough: word pieces with the space before them, each sign and digit alone,
/// two tokens for three Chinese characters.
pub fn tokens(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    let mut cjk_run = 0_usize;
    std::iter::from_fn(move || {
        let length = next_token_bytes(rest, &mut cjk_run)?;
        let (token, after) = rest.split_at(length);
        rest = after;
        Some(token)
    })
}

/// How many tokens a text has.
pub fn count(text: &str) -> u32 {
    u32::try_from(tokens(text).count()).unwrap_or(u32::MAX)
}

/// A chained hash for each whole block of tokens: equal only where all before is equal too.
pub fn block_hashes(text: &str) -> Vec<BlockHash> {
    let mut hashes = Vec::new();
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for (index, token) in (1u32..).zip(tokens(text)) {
        for byte in token.bytes().chain([0]) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        if index % BLOCK_TOKENS == 0 {
            hashes.push(BlockHash(hash));
        }
    }
    hashes
}

fn next_token_bytes(text: &str, cjk_run: &mut usize) -> Option<usize> {
    let first = text.chars().next()?;
    if is_cjk(first) {
        *cjk_run += 1;
        let wanted = if *cjk_run % 2 == 1 { 2 } else { 1 };
        return Some(text.chars().take(wanted).take_while(|&c| is_cjk(c)).map(char::len_utf8).sum());
    }
    *cjk_run = 0;
    let space = usize::from(first == ' ');
    let word: usize = text[space..]
        .chars()
        .take(WORD_PIECE_CHARS)
        .take_while(|&c| c.is_alphabetic() && !is_cjk(c))
        .map(char::len_utf8)
        .sum();
    if word > 0 { Some(space + word) } else { Some(first.len_utf8()) }
}

/// Whether a character belongs to a script that does not part words.
pub fn is_cjk(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn english_counts_about_a_token_and_a_third_per_word() {
        let text =
            "Explain how a continuously batching inference engine schedules its work, in three sentences.";
        let words = text.split_whitespace().count() as f64;
        let ratio = f64::from(count(text)) / words;
        assert!((1.1..1.9).contains(&ratio), "{ratio}");
    }

    #[test]
    fn chinese_counts_two_tokens_for_three_characters() {
        assert_eq!(count(&"推理服务性能".repeat(10)), 40);
    }

    #[test]
    fn tokens_join_to_the_text_they_came_from() {
        let text = "Mixed 文本, with  two spaces\nand 42 numbers…";
        assert_eq!(tokens(text).collect::<String>(), text);
    }

    #[test]
    fn texts_that_differ_at_their_start_share_no_block() {
        let tail = " and so on and on".repeat(40);
        let one = block_hashes(&format!("a{tail}"));
        let other = block_hashes(&format!("b{tail}"));
        assert!(one.len() > 5);
        assert!(one.iter().zip(&other).all(|(a, b)| a != b));
    }
}
