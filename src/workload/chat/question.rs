//! What is asked about a list, and the answer.

use super::Entry;
use crate::domain::{Expect, Language};
use crate::workload::draw::Draw;

#[derive(Debug)]
pub(super) struct Asked {
    pub(super) text: String,
    pub(super) expect: Expect,
}

#[derive(Debug, Clone, Copy)]
enum Question {
    Sum,
    Difference,
    Most,
    Fewest,
    Order,
    Above,
    CountOfThing,
    OwnerOfThing,
    Dashes,
}

const ALL: [Question; 9] = [
    Question::Sum,
    Question::Difference,
    Question::Most,
    Question::Fewest,
    Question::Order,
    Question::Above,
    Question::CountOfThing,
    Question::OwnerOfThing,
    Question::Dashes,
];

/// Draws which question is asked; the first thing that is drawn.
pub(super) fn index(draw: &mut Draw) -> usize {
    draw.index(ALL.len())
}

/// Draws a question about a list of at least two.
pub(super) fn ask(list: &[Entry], language: Language, draw: &mut Draw) -> Asked {
    let question = ALL[index(draw)];
    let one = &list[draw.index(list.len())];
    match question {
        Question::Sum => sum(list, language, draw),
        Question::Difference => difference(list, language, draw),
        Question::Most | Question::Fewest => extreme(list, language, matches!(question, Question::Most)),
        Question::Order => order(list, language),
        Question::Above => above(list, language, 100 * draw.number(2, 9)),
        Question::CountOfThing => count_of_thing(one, language),
        Question::OwnerOfThing => owner_of_thing(one, language),
        Question::Dashes => dashes(one, language),
    }
}

fn asked(language: Language, en: String, zh: String, expect: &impl ToString) -> Asked {
    let text = match language {
        Language::En => en,
        Language::Zh => zh,
    };
    Asked { text, expect: Expect::Text(expect.to_string()) }
}

/// The first of a pair has more than the second, and what comes out is not itself on the list: who only
/// repeats the list must not be right.
fn pairs(list: &[Entry], result: fn(u64, u64) -> u64) -> Vec<(&'static str, &'static str, u64)> {
    let both = list.iter().flat_map(|a| list.iter().map(move |b| (a, b)));
    let both = both.filter(|(a, b)| a.number > b.number);
    let results = both.map(|(a, b)| (a.name, b.name, result(a.number, b.number)));
    results.filter(|(.., value)| list.iter().all(|entry| entry.number != *value)).collect()
}

/// The two largest have more together than anybody has: there is always a pair.
fn sum(list: &[Entry], language: Language, draw: &mut Draw) -> Asked {
    let (a, b, sum) = draw.pick(&pairs(list, |a, b| a + b));
    asked(
        language,
        format!("How many things do {a} and {b} have together?"),
        format!("{a}和{b}一共有多少件东西？"),
        &sum,
    )
}

fn difference(list: &[Entry], language: Language, draw: &mut Draw) -> Asked {
    let pairs = pairs(list, |a, b| a - b);
    if pairs.is_empty() {
        return sum(list, language, draw);
    }
    let (a, b, difference) = draw.pick(&pairs);
    asked(
        language,
        format!("How many more things does {a} have than {b}?"),
        format!("{a}比{b}多多少件东西？"),
        &difference,
    )
}

fn extreme(list: &[Entry], language: Language, most: bool) -> Asked {
    let found = if most {
        list.iter().max_by_key(|entry| entry.number)
    } else {
        list.iter().min_by_key(|entry| entry.number)
    };
    let (en, zh) = if most {
        ("Who has the most things?", "谁的东西最多？")
    } else {
        ("Who has the fewest things?", "谁的东西最少？")
    };
    asked(language, en.to_owned(), zh.to_owned(), &found.map_or("", |entry| entry.name))
}

fn order(list: &[Entry], language: Language) -> Asked {
    let mut sorted = list.to_vec();
    sorted.sort_by_key(|entry| entry.number);
    let text = match language {
        Language::En => "Write the names in order of their numbers, smallest first, separated by commas.",
        Language::Zh => "请按数量从少到多写出所有人的名字，用逗号分隔。",
    };
    let names = sorted.iter().map(|entry| entry.name.to_owned()).collect();
    Asked { text: text.to_owned(), expect: Expect::Sequence(names) }
}

fn above(list: &[Entry], language: Language, bound: u64) -> Asked {
    let count = list.iter().filter(|entry| entry.number > bound).count();
    asked(
        language,
        format!("How many people have more than {bound} things?"),
        format!("有几个人的东西超过{bound}件？"),
        &count,
    )
}

fn count_of_thing(entry: &Entry, language: Language) -> Asked {
    let thing = entry.thing;
    asked(
        language,
        format!("How many {} are on the list?", thing.name),
        format!("名单上有多少{}{}？", thing.measure, thing.name),
        &entry.number,
    )
}

fn owner_of_thing(entry: &Entry, language: Language) -> Asked {
    let thing = entry.thing.name;
    asked(language, format!("Who has the {thing}?"), format!("{thing}在谁那里？"), &entry.name)
}

fn dashes(entry: &Entry, language: Language) -> Asked {
    let name = entry.name;
    let digits: Vec<_> = entry.number.to_string().chars().map(String::from).collect();
    asked(
        language,
        format!("Write {name}'s number with a dash between its digits."),
        format!("请写出{name}的数量，各位数字之间加短横线。"),
        &digits.join("-"),
    )
}
