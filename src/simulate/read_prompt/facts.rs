//! Facts planted among passages, and the questions that ask for one of them.

use super::{Solution, leading_digits};
use crate::domain::Language;
use crate::simulate::text::is_cjk;

/// What the facts of a prompt are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Family {
    /// The access code of a depot, in a sentence.
    Code,
    /// The extension of an office, in a sentence that begins with the number.
    Extension,
    /// The key number of a store room, in a table.
    Key,
}

/// What is asked.
#[derive(Debug)]
struct Question<'a> {
    family: Family,
    language: Language,
    name: &'a str,
}

#[derive(Debug)]
struct Fact<'a> {
    name: &'a str,
    number: &'a str,
    /// Where it stands, in bytes.
    at: usize,
}

/// Answers a sentence that asks for a fact of the prompt.
pub fn solve(prompt: &str, sentence: &str) -> Option<Solution> {
    let question = english(sentence).or_else(|| chinese(sentence))?;
    let facts = facts(prompt, &question);
    let found = find(&facts, question.name)?;
    let mistakes =
        facts.iter().map(|fact| fact.number.to_owned()).chain([off_by_one(found.number)]).collect();
    let mut solution =
        Solution::new(question.language, found.number.to_owned(), explain(&question, found), mistakes);
    solution.depth = Some(found.at as f64 / prompt.len() as f64);
    Some(solution)
}

fn english(sentence: &str) -> Option<Question<'_>> {
    let (family, name) = if let Some((_, name)) = sentence.rsplit_once("What is the access code of depot ") {
        (Family::Code, name)
    } else if let Some((_, rest)) = sentence.rsplit_once("Which extension reaches the ") {
        (Family::Extension, rest.strip_suffix(" office")?)
    } else {
        (Family::Key, sentence.rsplit_once("What is the key number of store room ")?.1)
    };
    Some(Question { family, language: Language::En, name: name.trim() })
}

fn chinese(sentence: &str) -> Option<Question<'_>> {
    let (family, name) = if let Some(before) = sentence.strip_suffix("仓库的门禁码是多少") {
        (Family::Code, last_word(before))
    } else if let Some(before) = sentence.strip_suffix("办公室要拨哪个分机") {
        (Family::Extension, before.rsplit_once("接通")?.1)
    } else {
        (Family::Key, last_word(sentence.strip_suffix("库房的钥匙号是多少")?))
    };
    Some(Question { family, language: Language::Zh, name })
}

/// Up to the sign before it.
fn last_word(text: &str) -> &str {
    text.rsplit(|c| !is_cjk(c)).next().unwrap_or_default()
}

/// All facts of the family that is asked for.
fn facts<'a>(prompt: &'a str, question: &Question) -> Vec<Fact<'a>> {
    match (question.family, question.language) {
        (Family::Code, Language::En) => sentences(prompt, "access code of depot ", |_, after| {
            let (name, rest) = after.split_once(" is ")?;
            Some((name, leading_digits(rest)?.0))
        }),
        (Family::Code, Language::Zh) => sentences(prompt, "仓库的门禁码是", |before, after| {
            Some((last_word(before), leading_digits(after)?.0))
        }),
        (Family::Extension, Language::En) => sentences(prompt, "Extension ", |_, after| {
            let (number, rest) = leading_digits(after)?;
            Some((rest.strip_prefix(" reaches the ")?.split_once(" office")?.0, number))
        }),
        (Family::Extension, Language::Zh) => sentences(prompt, "拨分机", |_, after| {
            let (number, rest) = leading_digits(after)?;
            Some((rest.strip_prefix("可以接通")?.split_once("办公室")?.0, number))
        }),
        (Family::Key, language) => rows(prompt, language),
    }
}

/// Reads name and number from what stands before the words and, on the same line, after them.
fn sentences<'a>(
    prompt: &'a str,
    words: &str,
    read: fn(&'a str, &'a str) -> Option<(&'a str, &'a str)>,
) -> Vec<Fact<'a>> {
    let places = prompt.match_indices(words);
    let facts = places.filter_map(|(at, _)| {
        let after = prompt[at + words.len()..].lines().next()?;
        let (name, number) = read(&prompt[..at], after)?;
        Some(Fact { name, number, at })
    });
    facts.collect()
}

/// The rows of every table that has the two columns; other tables stand beside it.
fn rows(prompt: &str, language: Language) -> Vec<Fact<'_>> {
    let (room, key) = match language {
        Language::En => ("Store room", "Key number"),
        Language::Zh => ("库房", "钥匙号"),
    };
    let mut found = Vec::new();
    let mut columns = None;
    let mut at = 0;
    for line in prompt.split_inclusive('\n') {
        let cells = cells(line);
        let place = |title| cells.iter().position(|cell| *cell == title);
        if let (Some(room), Some(key)) = (place(room), place(key)) {
            columns = Some((room, key));
        } else if cells.is_empty() {
            columns = None;
        } else if let Some((room, key)) = columns
            && let (Some(name), Some(number)) = (cells.get(room), cells.get(key))
            && leading_digits(number).is_some_and(|(_, rest)| rest.is_empty())
        {
            found.push(Fact { name, number, at });
        }
        at += line.len();
    }
    found
}

/// None if the line is no row.
fn cells(line: &str) -> Vec<&str> {
    let inner = line.trim().strip_prefix('|').and_then(|line| line.strip_suffix('|'));
    inner.map(|inner| inner.split('|').map(str::trim).collect()).unwrap_or_default()
}

/// Chinese words run into one another: what stands before a name may look like a part of it, in the question or in
/// the fact. Two numbers for one name are no answer.
fn find<'a>(facts: &'a [Fact<'a>], name: &str) -> Option<&'a Fact<'a>> {
    let fits: [fn(&str, &str) -> bool; 3] = [
        |known, asked| known == asked,
        |known, asked| !known.is_empty() && known.chars().all(is_cjk) && asked.ends_with(known),
        |known, asked| !asked.is_empty() && asked.chars().all(is_cjk) && known.ends_with(asked),
    ];
    let found = fits.into_iter().find_map(|fits| {
        let found: Vec<_> = facts.iter().filter(|fact| fits(fact.name, name)).collect();
        (!found.is_empty()).then_some(found)
    })?;
    found.iter().all(|fact| fact.number == found[0].number).then_some(found[0])
}

/// As many digits, only the last one another.
fn off_by_one(number: &str) -> String {
    let (start, last) = number.split_at(number.len() - 1);
    format!("{start}{}", last.parse().map_or(0, |digit: u32| (digit + 1) % 10))
}

fn explain(question: &Question, fact: &Fact) -> String {
    let Fact { name, number, .. } = fact;
    match (question.language, question.family) {
        (Language::En, Family::Code) => {
            format!(
                "One passage says that the access code of depot {name} is {number}. The others name other depots."
            )
        }
        (Language::En, Family::Extension) => {
            format!(
                "One passage says that extension {number} reaches the {name} office. The others name other offices."
            )
        }
        (Language::En, Family::Key) => {
            format!(
                "A table lists store room {name} with key number {number}. The other rows name other rooms."
            )
        }
        (Language::Zh, Family::Code) => {
            format!("资料中写明{name}仓库的门禁码是{number}。其他内容说的是别的仓库。")
        }
        (Language::Zh, Family::Extension) => {
            format!("资料中写明拨分机{number}可以接通{name}办公室。其他内容说的是别的办公室。")
        }
        (Language::Zh, Family::Key) => {
            format!("表格中{name}库房的钥匙号是{number}。其他各行说的是别的库房。")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::solve;

    const ENGLISH: &str = "\u{1}system\nUse the 5 passages.\u{2}\n\u{1}user\n90210 4711\n\n[1] Harbour news (page 48213)\n\
        In 1912 the port had 2500 ships. The access code of depot Kestrel is 48213. Rain fell on 40 days.\n\n\
        | Store room | Key number |\n|---|---|\n| Otter | 11111 |\n| Sea Otter | 00732 |\n\n\
        [2] Telephones (annex 7)\nExtension 36500 reaches the Heron office. Extension 36501 reaches the Night \
        Heron office.\nThe access code of depot Merlin is 50977.\n\n| Ship | Crew |\n|---|---|\n| Otter | 99 |\n\n\
        [3] Keys (annex 8)\n| Floor | Store room | Key number |\n| :-- | --- | --: |\n| 2 | Badger | 62084 |\n\
        The access code of depot Falcon is being changed.\nThe access code of depot King Merlin is 71717.\n\n";
    const CHINESE: &str = "\u{1}system\n请使用5段资料。\u{2}\n\u{1}user\n90210 4711\n\n[1] 港口消息（第48213页）\n\
        1912年港口有2500艘船。红隼仓库的门禁码是48213。雨下了40天。另外，灰隼仓库的门禁码是50977。\n\n\
        | 库房 | 钥匙号 |\n|---|---|\n| 水獭 | 11111 |\n| 海獭 | 00732 |\n\n[2] 电话（附件7）\n\
        拨分机36500可以接通白鹭办公室。拨分机36501可以接通夜鹭办公室。\n\n| 船名 | 人数 |\n|---|---|\n| 水獭 | 99 |\n\n\
        [3] 钥匙（附件8）\n| 楼层 | 库房 | 钥匙号 |\n|---|---|---|\n| 2 | 獾 | 62084 |\n猎隼仓库的门禁码是保密的。\n\n";

    fn check(start: &str, end: &str, cases: &[(&str, &str)]) {
        for (question, answer) in cases {
            let prompt = format!("{start}{question}{end}\u{2}\n\u{1}assistant\n");
            let solution = solve(&prompt).unwrap_or_else(|| panic!("no answer: {question}"));
            assert_eq!(&solution.answer, answer, "{question}");
            assert!(solution.sentence.contains(answer), "{}", solution.sentence);
            assert_eq!(solution.sentence.matches(['.', '。']).count(), 2, "{}", solution.sentence);
            assert!(solution.mistakes.len() > 1 && !solution.mistakes.contains(&solution.answer));
            let fact = prompt.match_indices(answer).map(|(at, _)| at as f64 / prompt.len() as f64);
            let depth = solution.depth.expect("a fact has a place");
            assert!(fact.into_iter().any(|at| (at - depth).abs() < 0.08), "{question} {depth}");
        }
    }

    #[test]
    fn english_facts_are_found_among_others() {
        let cases = [
            ("What is the access code of depot Kestrel?", "48213"),
            ("What is the access code of depot Merlin?", "50977"),
            ("Question: What is the access code of depot King Merlin?", "71717"),
            ("Which extension reaches the Heron office?", "36500"),
            ("Which extension reaches the Night Heron office?", "36501"),
            ("What is the key number of store room Otter?", "11111"),
            ("What is the key number of store room Sea Otter?", "00732"),
            ("What is the key number of store room Badger?", "62084"),
        ];
        check(ENGLISH, " Start with \"Answer:\", then explain in two sentences.", &cases);
    }

    #[test]
    fn chinese_facts_are_found_among_others() {
        let cases = [
            ("红隼仓库的门禁码是多少？", "48213"),
            ("请问灰隼仓库的门禁码是多少?", "50977"),
            ("接通白鹭办公室要拨哪个分机？", "36500"),
            ("问题：接通夜鹭办公室要拨哪个分机?", "36501"),
            ("水獭库房的钥匙号是多少？", "11111"),
            ("请问海獭库房的钥匙号是多少？", "00732"),
            ("獾库房的钥匙号是多少?", "62084"),
        ];
        check(CHINESE, "请先写“答案：”，再用两句话说明。", &cases);
    }

    #[test]
    fn what_is_not_told_or_told_in_two_ways_is_not_answered() {
        for question in [
            "What is the access code of depot Falcon?",
            "What is the access code of depot Kes?",
            "What is the access code of depot trel?",
            "What is the key number of store room Great Otter?",
            "Which extension reaches the Kestrel office?",
            "What is the key number of store room Heron?",
        ] {
            assert_eq!(solve(&format!("{ENGLISH}{question}")), None, "{question}");
        }
        assert_eq!(solve(&format!("{CHINESE}猎隼仓库的门禁码是多少？")), None);
        let twice = "The access code of depot Kestrel is 1. The access code of depot Kestrel is";
        let question = "What is the access code of depot Kestrel?";
        assert_eq!(solve(&format!("{twice} 2. {question}")), None);
        assert_eq!(
            solve(&format!("{twice} 1. {question}")).map(|solution| solution.answer),
            Some("1".into())
        );
    }

    #[test]
    fn depth_is_the_share_of_the_prompt_before_the_fact() {
        let prompt = |before: usize, after: usize| {
            let fact = "The access code of depot Kestrel is 48213.";
            let (before, after) = ("word ".repeat(before), " word".repeat(after));
            format!("{before}{fact}{after}. What is the access code of depot Kestrel?")
        };
        for (before, after, share) in [(0, 1000, 0.0), (500, 500, 0.5), (1000, 0, 0.97)] {
            let depth = solve(&prompt(before, after)).and_then(|solution| solution.depth).expect("a fact");
            assert!((depth - share).abs() < 0.02, "{before} {depth}");
        }
    }

    #[test]
    fn mistakes_are_numbers_of_other_facts_first() {
        let solution = solve(&format!("{ENGLISH}Which extension reaches the Heron office?")).expect("a fact");
        assert_eq!(solution.mistakes, ["36501", "36501"]);
        let solution = solve(&format!("{ENGLISH}What is the access code of depot Merlin?")).expect("a fact");
        assert_eq!(solution.mistakes, ["48213", "71717", "50978"]);
    }
}
