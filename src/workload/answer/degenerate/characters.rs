//! Characters that no text has in number: broken ones, and the wreck of a wrong decoding.

use super::{both, share};

/// One or two may be a character that the limit on tokens cut in half.
const BROKEN_AT_LEAST: f64 = 3.0;
/// A text about broken characters shows a few of them among many others.
const BROKEN_SHARE: f64 = 0.03;
/// More than any text about them shows, however long it is.
const BROKEN_MANY: f64 = 24.0;

/// A German quotation may end in what looks like one ("groß“"), and a text about them has a few.
const MOJIBAKE_AT_LEAST: f64 = 4.0;
/// Where only quotation marks and apostrophes were broken, about one character in thirty is.
const MOJIBAKE_SHARE: f64 = 0.02;

/// Replacement characters, control characters, private use, and code points that never have a meaning.
pub(super) fn broken(text: &str) -> f64 {
    let count = text.chars().filter(|&c| is_broken(c)).count();
    let many = (share(count, text.chars().count()) / BROKEN_SHARE).max(count as f64 / BROKEN_MANY);
    both(count as f64 / BROKEN_AT_LEAST, many)
}

fn is_broken(c: char) -> bool {
    match c {
        '\n' | '\r' | '\t' | '\u{c}' => false,
        '\u{fffd}' | '\u{e000}'..='\u{f8ff}' | '\u{fdd0}'..='\u{fdef}' | '\u{f0000}'.. => true,
        c => c.is_control(),
    }
}

/// UTF-8 that was read as another encoding.
pub(super) fn mojibake(text: &str) -> f64 {
    let chars: Vec<char> = text.chars().collect();
    let (mut sequences, mut covered, mut at) = (0, 0, 0);
    while at < chars.len() {
        let length = western(&chars[at..]).max(usize::from(is_chinese_wreck(chars[at])));
        sequences += usize::from(length > 0);
        covered += length;
        at += length.max(1);
    }
    both(sequences as f64 / MOJIBAKE_AT_LEAST, share(covered, chars.len()) / MOJIBAKE_SHARE)
}

/// How many characters from here are the bytes of one character, read as Windows-1252 or Latin-1.
fn western(chars: &[char]) -> usize {
    let following = match chars[0] {
        '\u{c2}'..='\u{df}' => 1,
        '\u{e0}'..='\u{ef}' => 2,
        '\u{f0}'..='\u{f4}' => 3,
        _ => return 0,
    };
    let whole = chars.len() > following && chars[1..=following].iter().all(|&c| is_continuation(c));
    if whole { following + 1 } else { 0 }
}

/// What the bytes 0x80 to 0xBF are in those encodings.
fn is_continuation(c: char) -> bool {
    matches!(c, '\u{80}'..='\u{bf}') || "€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ".contains(c)
}

/// What Chinese punctuation and the commonest words become when read as GBK; hardly ever written otherwise.
fn is_chinese_wreck(c: char) -> bool {
    matches!(c, '锛' | '銆' | '鈥' | '鐨' | '锟' | '鍦' | '鏄' | '浜')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broken_characters_in_number_are_found() {
        assert!(broken("\u{fffd}\u{fffd}\u{fffd}\u{fffd} is what I \u{fffd} say") >= 1.0);
        assert!(broken(&"\u{e001}\u{e002} and ".repeat(9)) >= 1.0);
        assert!(broken("\u{1}\u{2}\u{3}\u{4}") >= 1.0);
        assert!(broken(&("word ".repeat(2000) + &"\u{fffd} and ".repeat(30))) >= 1.0);
    }

    #[test]
    fn a_cut_character_and_a_text_about_them_are_healthy() {
        assert!(broken("A long enough answer that was cut within a character \u{fffd}\u{fffd}") < 0.8);
        let about = "The sign \u{fffd} stands for bytes that are no text. ".to_string();
        assert!(
            broken(&(about + &"If you see it in a file, the encoding is wrong. ".repeat(3) + "\u{fffd}"))
                < 0.8
        );
        assert!(broken("tabs\tand\nlines\r\nare no control characters in this sense\t\t\t\n") == 0.0);
    }

    #[test]
    fn wrongly_decoded_text_is_found() {
        let wreck = |text: &str| text.bytes().map(char::from).collect::<String>();
        assert!(mojibake(&wreck("你好，世界。这是一段话。")) >= 1.0);
        assert!(mojibake(&wreck("Élève à l’école, où l’été est déjà très âgé.")) >= 1.0);
        assert!(
            mojibake("It doesnâ€™t matter, itâ€™s â€œfineâ€\u{9d} and weâ€™re happy that youâ€™re here.")
                >= 1.0
        );
        assert!(mojibake("浣犲ソ锛屼笘鐣屻€傝繖鏄竴娈佃瘽锛岀敤鏉ヨ瘯楠屻€傚畠鐨勭紪鐮侀敊浜嗐€?") >= 1.0);
    }

    #[test]
    fn other_languages_and_an_example_are_healthy() {
        assert!(mojibake("Élève à l’école, où l’été est déjà très âgé, « naïve » et cætera…") < 0.8);
        assert!(mojibake("„Das ist groß“, sagte er. „Ein Fuß“, sagte sie. „Süß“, dachten alle.") < 0.8);
        assert!(
            mojibake("If you read Ã© in place of é, the text was decoded twice; set the encoding to UTF-8.")
                < 0.8
        );
    }
}
