//! About how many tokens a text has, by a count of our own.
//!
//! Today's tokenizers part a text at spaces, digits and punctuation before they do anything else, and have a
//! token of its own for a common word together with the space before it. So this counts words and marks
//! rather than characters. What it gets wrong for one tokenizer is nearly the same for all prompts of a
//! workload, and is learned: see `length`.

/// Letters of an English word that fit into one token.
const COMMON_WORD: usize = 7;
/// Letters of a longer word that make one token more.
const PIECE: f64 = 5.0;
/// Some tokenizers take every digit apart, some three together.
const DIGIT: f64 = 0.7;
/// Two Han characters in three begin a token.
const HAN: f64 = 0.67;

pub(super) fn weigh(text: &str) -> f64 {
    let mut weight = 0.0;
    let mut letters = 0;
    let mut after_break = false;
    for c in text.chars() {
        if c.is_ascii_alphabetic() {
            letters += 1;
            after_break = false;
            continue;
        }
        weight += word(letters);
        letters = 0;
        weight += match c {
            // It belongs to the word that follows.
            ' ' => 0.0,
            // Several together are one.
            '\n' if after_break => 0.0,
            '0'..='9' => DIGIT,
            _ if is_han(c) => HAN,
            _ => 1.0,
        };
        after_break = c == '\n';
    }
    weight + word(letters)
}

pub(super) fn is_han(c: char) -> bool {
    matches!(c, '\u{4e00}'..='\u{9fff}')
}

fn word(letters: usize) -> f64 {
    match letters {
        0 => 0.0,
        _ => 1.0 + letters.saturating_sub(COMMON_WORD) as f64 / PIECE,
    }
}

/// The longest beginning of a text that weighs no more than this, ending at the end of a word.
pub(super) fn beginning(text: &str, most: f64) -> &str {
    let mut end = 0;
    let mut weight = 0.0;
    for piece in pieces(text) {
        weight += weigh(piece);
        if weight > most {
            break;
        }
        end += piece.len();
    }
    &text[..end]
}

/// Words with the space before them, and single Han characters.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let length = if is_han(first) {
            first.len_utf8()
        } else {
            let tail = &rest[first.len_utf8()..];
            first.len_utf8() + tail.find(|c: char| c == ' ' || is_han(c)).unwrap_or(tail.len())
        };
        let (piece, tail) = rest.split_at(length);
        rest = tail;
        Some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(left: f64, right: f64) -> bool {
        (left - right).abs() < 1e-9
    }

    #[test]
    fn words_marks_digits_and_han_are_counted() {
        assert!(close(weigh(""), 0.0));
        assert!(close(weigh("The old boat, at noon."), 7.0));
        assert!(close(weigh("photographed"), 2.0));
        assert!(close(weigh("417"), 2.1));
        assert!(close(weigh("渡船。"), 2.0 * HAN + 1.0));
    }

    #[test]
    fn a_beginning_ends_with_a_word_and_weighs_no_more_than_asked() {
        assert_eq!(beginning("The old boat, at noon.", 4.0), "The old boat,");
        assert_eq!(beginning("The old boat, at noon.", 3.9), "The old");
        assert_eq!(beginning("The old boat.", 99.0), "The old boat.");
        assert_eq!(beginning("渡船到了。", 1.4), "渡船");
        assert_eq!(beginning("photographed it", 0.5), "");
    }

    #[test]
    fn the_weight_of_a_text_is_that_of_its_pieces() {
        for text in ["The old boat, 417 of them | at noon.", "渡船 (417) 到了,the end。"] {
            assert!(close(pieces(text).map(weigh).sum(), weigh(text)), "{text}");
            assert_eq!(pieces(text).collect::<String>(), text);
        }
    }
}
