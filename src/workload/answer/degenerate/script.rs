//! Another writing than the one that was asked in.

use super::super::plain::is_han;
use super::{both, share};
use crate::domain::Language;

/// Half of the letters in a foreign writing is no quotation any more.
const FOREIGN: f64 = 0.5;
/// Japanese is written with Han for the lesser half.
const FOREIGN_TO_CHINESE: f64 = 0.4;
/// Fewer foreign letters may be a name, a title or a greeting.
const FOREIGN_AT_LEAST: f64 = 24.0;
/// A Chinese character says about as much as two letters.
const HAN_WEIGHT: usize = 2;

/// Chinese prose about technical things is up to three quarters Latin letters; a foreign answer has next to no Han.
const LATIN: f64 = 0.85;
/// Fewer words may be the title of a book.
const LATIN_WORDS: f64 = 14.0;
/// A line with fewer words in a row is a name, a term or an address.
const WORDS_IN_A_LINE: usize = 5;

/// Words that change their writing midway: no language has them, a model with broken weights has them everywhere.
const MIXED_WORDS: f64 = 4.0;
const MIXED_SCRIPTS: f64 = 3.0;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Script {
    Latin,
    Han,
    /// Kana and Hangul, which stand beside Han and Latin letters in one word.
    Neighbour,
    /// Units and formulas have Greek letters beside Latin ones.
    Greek,
    Cyrillic,
    Arabic,
    Hebrew,
    Indic,
    SouthEastAsian,
    Other,
}

pub(super) fn score(text: &str, language: Option<Language>) -> f64 {
    let asked = match language {
        Some(Language::En) => foreign_to_english(text),
        Some(Language::Zh) => foreign_to_chinese(text),
        None => 0.0,
    };
    asked.max(mixed(text))
}

fn foreign_to_english(text: &str) -> f64 {
    let mut foreign = 0;
    let mut latin = 0;
    for script in text.chars().filter_map(script) {
        match script {
            Script::Latin => latin += 1,
            Script::Han | Script::Neighbour => foreign += HAN_WEIGHT,
            _ => foreign += 1,
        }
    }
    both(foreign as f64 / FOREIGN_AT_LEAST, share(foreign, foreign + latin) / FOREIGN)
}

fn foreign_to_chinese(text: &str) -> f64 {
    let scripts = || text.chars().filter_map(script);
    let han = scripts().filter(|script| *script == Script::Han).count();
    let others = scripts().filter(|script| !matches!(script, Script::Han | Script::Latin)).count();
    let other = both(others as f64 / FOREIGN_AT_LEAST, share(others, others + han) / FOREIGN_TO_CHINESE);
    let (words, letters) = latin_prose(text);
    let latin = both(words as f64 / LATIN_WORDS, share(letters, letters + han * HAN_WEIGHT) / LATIN);
    other.max(latin)
}

/// Words and letters of the lines that are sentences in Latin letters: neither a program nor a table nor an address.
fn latin_prose(text: &str) -> (usize, usize) {
    let (mut words, mut letters, mut fenced) = (0, 0, false);
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced && !line.contains(['{', '}', ';', '=', '<', '>', '|', '_', '\\', '`', '$']) {
            let plain =
                |word: &&str| word.trim_matches(|c: char| c.is_ascii_punctuation()).chars().all(is_latin);
            let found: Vec<_> = line.split_whitespace().filter(plain).collect();
            if found.len() >= WORDS_IN_A_LINE {
                words += found.len();
                letters += found.iter().map(|word| word.chars().count()).sum::<usize>();
            }
        }
    }
    (words, letters)
}

fn is_latin(c: char) -> bool {
    script(c) == Some(Script::Latin) || matches!(c, '\'' | '’' | '-')
}

fn mixed(text: &str) -> f64 {
    let mut joints = 0;
    let mut seen: Vec<Script> = Vec::new();
    let mut before = None;
    for c in text.chars() {
        let now = script(c);
        if let (Some(before), Some(now)) = (before, now)
            && clash(before, now)
        {
            joints += 1;
            seen.extend([before, now]);
        }
        before = now;
    }
    seen.sort_unstable_by_key(|script| *script as u8);
    seen.dedup();
    both(f64::from(joints) / MIXED_WORDS, seen.len() as f64 / MIXED_SCRIPTS)
}

fn clash(a: Script, b: Script) -> bool {
    let mild = |script| {
        matches!(script, Script::Latin | Script::Han | Script::Neighbour | Script::Greek | Script::Other)
    };
    a != b && !(mild(a) && mild(b))
}

fn script(c: char) -> Option<Script> {
    if !c.is_alphabetic() {
        return None;
    }
    Some(match c {
        '\0'..='\u{24f}' | '\u{1e00}'..='\u{1eff}' | '\u{ff21}'..='\u{ff5a}' => Script::Latin,
        c if is_han(c) => Script::Han,
        '\u{3041}'..='\u{30ff}' | '\u{ac00}'..='\u{d7a3}' | '\u{1100}'..='\u{11ff}' => Script::Neighbour,
        '\u{370}'..='\u{3ff}' | '\u{1f00}'..='\u{1fff}' => Script::Greek,
        '\u{400}'..='\u{52f}' => Script::Cyrillic,
        '\u{590}'..='\u{5ff}' => Script::Hebrew,
        '\u{600}'..='\u{77f}' | '\u{fb50}'..='\u{fdff}' | '\u{fe70}'..='\u{feff}' => Script::Arabic,
        '\u{900}'..='\u{dff}' => Script::Indic,
        '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' => Script::SouthEastAsian,
        _ => Script::Other,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const EN: Option<Language> = Some(Language::En);
    const ZH: Option<Language> = Some(Language::Zh);
    const CHINESE: &str =
        "港务处在暴风雨过后重新开放，值夜班的工人清点了剩下的灯笼，没有人想到还有这么多完好无损。";
    const ENGLISH: &str = "The harbour office opened again after the storm, and the night crew counted the lanterns that were left.";
    const RUSSIAN: &str = "После бури портовая контора открылась снова, и ночная смена пересчитала фонари.";

    #[test]
    fn another_writing_is_found() {
        assert!(score(CHINESE, EN) >= 1.0);
        assert!(score(RUSSIAN, EN) >= 1.0);
        assert!(score("بعد العاصفة فتح مكتب الميناء أبوابه من جديد وعد العمال المصابيح", EN) >= 1.0);
        assert!(score(ENGLISH, ZH) >= 1.0);
        assert!(score(RUSSIAN, ZH) >= 1.0);
        assert!(
            score("嵐のあと、港の事務所はふたたび開き、夜勤の人たちは残ったランタンを数えました。", ZH)
                >= 1.0
        );
    }

    #[test]
    fn the_right_writing_is_healthy_with_quotations_names_and_code() {
        assert!(score(ENGLISH, EN) < 0.8);
        assert!(score(CHINESE, ZH) < 0.8);
        assert!(score(&format!("{ENGLISH} In Chinese that is “{}”.", &CHINESE[..45]), EN) < 0.8);
        assert!(score("答案是 The Lord of the Rings: The Fellowship of the Ring。", ZH) < 0.8);
        assert!(
            score("使用 Kubernetes 的 HorizontalPodAutoscaler 配合 Prometheus Adapter 即可实现。", ZH) < 0.8
        );
        assert!(
            score("def add(a, b):\n    return a + b\n\nfor x in range(10):\n    print(add(x, 1))\n", ZH)
                < 0.8
        );
        assert!(score(&format!("{CHINESE}\n```text\n{ENGLISH}\n{ENGLISH}\n```\n"), ZH) < 0.8);
        assert!(score(RUSSIAN, None) < 0.8);
    }

    #[test]
    fn short_answers_are_healthy_in_any_writing() {
        for text in ["是", "42", "Ada", "你好,世界", "Привет", ""] {
            assert!(score(text, EN) < 0.8 && score(text, ZH) < 0.8, "{text}");
        }
    }

    #[test]
    fn words_of_several_writings_are_found() {
        assert!(score("theприветом สวัสดีfrom и的عربيx нет데이터 आपkor иthe สx", None) >= 1.0);
        assert!(
            score("Hello is Привет in Russian, สวัสดี in Thai, مرحبا in Arabic and 你好 in Chinese.", EN) < 0.8
        );
        assert!(score("The wave has λ = 5 μm and Δx is small; 用API调用αβ算法", None) < 0.8);
    }
}
