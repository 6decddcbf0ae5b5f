//! Spelling that does not matter, taken away: width, case, kinds of dashes and spaces, marks of emphasis.

pub(super) fn is_han(c: char) -> bool {
    matches!(c,
        '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{323af}'
        | '〇')
}

/// Writing that does not part words: Han, kana, Hangul with its endings, Thai and its neighbours.
pub(super) fn is_unspaced(c: char) -> bool {
    is_han(c)
        || matches!(c, '\u{3041}'..='\u{30ff}' | '\u{ac00}'..='\u{d7a3}' | '\u{0e00}'..='\u{0eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}')
}

pub(super) fn of(text: &str) -> Vec<char> {
    // Formulas write the thousands apart like this.
    let text = text.replace("{,}", ",").replace("\\,", ",");
    without_emphasis(&text.chars().flat_map(|c| folded(c).to_lowercase()).collect::<Vec<_>>())
}

fn folded(c: char) -> char {
    match c {
        '\u{ff10}'..='\u{ff19}' | '\u{ff21}'..='\u{ff3a}' | '\u{ff41}'..='\u{ff5a}' | '\u{ff0e}' => {
            char::from_u32(u32::from(c) - 0xfee0).unwrap_or(c)
        }
        // Not the em dash, which parts sentences.
        '\u{2010}'..='\u{2013}' | '\u{2212}' | '\u{fe63}' | '\u{ff0d}' => '-',
        '\u{2018}' | '\u{2019}' => '\'',
        '\n' => '\n',
        c if c.is_whitespace() => ' ',
        c => c,
    }
}

fn without_emphasis(chars: &[char]) -> Vec<char> {
    let mut kept = Vec::with_capacity(chars.len());
    for (at, &c) in chars.iter().enumerate() {
        let inside = at > 0 && chars[at - 1].is_ascii_alphanumeric() && joins(chars.get(at + 1));
        match c {
            '`' | '\u{200b}' | '\u{feff}' => {}
            // Between two letters or digits it is part of a name, or a sign of arithmetic.
            '*' | '_' | '~' if !inside => {}
            c => kept.push(c),
        }
    }
    kept
}

fn joins(next: Option<&char>) -> bool {
    next.is_some_and(char::is_ascii_alphanumeric)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str) -> String {
        of(text).into_iter().collect()
    }

    #[test]
    fn width_case_dashes_and_emphasis_do_not_matter() {
        assert_eq!(plain("**799** `Ada` _so_ ~~no~~"), "799 ada so no");
        assert_eq!(plain("3–8−2 \u{ff13}\u{ff0d}\u{ff18}"), "3-8-2 3-8");
        assert_eq!(plain("1\u{202f}234\u{3000}x 1{,}234 7\\,000"), "1 234 x 1,234 7,000");
    }

    #[test]
    fn names_and_sums_keep_their_signs() {
        assert_eq!(plain("snake_case 2*3 a\u{200b}b"), "snake_case 2*3 ab");
        assert_eq!(plain("是**799**件"), "是799件");
    }
}
