//! `rag`: passages as a retriever would return them, and a question that one planted fact answers.

mod fact;

use super::chat::explanation;
use super::draw::{Draw, scramble};
use super::length::Form;
use super::prose::{between, reordered, sentences};
use super::weigh::weigh;
use super::{Sheet, Written};
use crate::domain::{Cache, Depth, Expect, Language};
use fact::Fact;

/// Tokens of one passage, as retrievers commonly cut them.
const PASSAGE: u32 = 230;

/// A passage has a heading: a prompt that had to be written much shorter than it is wanted has fewer passages, or it
/// would be headings alone. No usual tokenizer makes so many tokens of a unit of weight.
const ROOMIEST: u32 = 4;

/// A fact is planted for so many tokens: the others are there to be confused with it.
const TOKENS_PER_FACT: u32 = 120;
const MOST_FACTS: u32 = 9;

pub(super) fn write(sheet: &Sheet) -> Written {
    let count = (sheet.wanted.min(ROOMIEST * sheet.weight.max(0.0) as u32) / PASSAGE).max(1) as usize;
    let facts = fact::draw(sheet, fact_count(sheet));
    let (places, asked) = places(sheet, facts.len(), count);
    let question = facts[asked].question(sheet.language) + explanation(sheet);

    let mut passages = frames(sheet, count);
    let planted =
        facts.iter().map(|fact| weigh(&fact.text) + f64::from(u8::from(fact.is_table))).sum::<f64>();
    let heads = passages.iter().map(|passage| weigh(&passage.head) + 2.0).sum::<f64>();
    spread(&mut passages, sheet, sheet.weight - planted - heads - weigh(&question));
    for (index, (fact, place)) in facts.iter().zip(places).enumerate() {
        passages[place].facts.push(Planted { fact, is_asked: index == asked });
    }
    let mut page = Page::default();
    for passage in &passages {
        page.add(passage, sheet.language);
    }
    page.finish(&question, &facts[asked])
}

pub(super) fn form(sheet: &Sheet) -> Form {
    let (_, asked) = places(sheet, fact_count(sheet), 1);
    Form(fact::family_index(sheet, asked) as u8)
}

fn fact_count(sheet: &Sheet) -> usize {
    (sheet.wanted / TOKENS_PER_FACT).clamp(1, MOST_FACTS) as usize
}

/// One passage; what it says is filled in step by step.
struct Passage<'a> {
    head: String,
    sentences: Vec<String>,
    facts: Vec<Planted<'a>>,
}

struct Planted<'a> {
    fact: &'a Fact,
    is_asked: bool,
}

/// Which passage each fact is planted in, and which fact is asked for: the one nearest to the wanted depth.
/// Where the text before the question may differ, it is moved to that depth.
fn places(sheet: &Sheet, facts: usize, passages: usize) -> (Vec<usize>, usize) {
    let at = |part: f64, count: usize| (part * (count - 1) as f64).round() as usize;
    let mut places: Vec<_> =
        (0..facts).map(|index| at(index as f64 / (facts - 1).max(1) as f64, passages)).collect();
    let wanted = f64::from(sheet.depth.0) / 100.0;
    let asked = at(wanted, facts);
    if sheet.cache == Cache::Cold {
        places[asked] = at(wanted, passages);
    }
    (places, asked)
}

/// Empty passages with their headings.
fn frames<'a>(sheet: &Sheet, count: usize) -> Vec<Passage<'a>> {
    let mut fixed = Draw::new(scramble(sheet.fixed));
    let mut titles: Vec<_> = (0..count).map(|_| title(&mut fixed, sheet)).collect();
    Draw::new(scramble(sheet.changing())).shuffle(&mut titles);
    let headed = titles.into_iter().zip(1..).map(|(title, number)| Passage {
        head: if sheet.is_tiny() { format!("[{number}]") } else { format!("[{number}] {title}") },
        sentences: Vec::new(),
        facts: Vec::new(),
    });
    headed.collect()
}

/// Gives each passage its share of the sentences.
fn spread(passages: &mut [Passage<'_>], sheet: &Sheet, weight: f64) {
    let all = sentences(sheet.fixed, sheet.language, weight);
    let all = reordered(all, &mut Draw::new(scramble(sheet.changing() ^ 1)));
    let (count, total) = (passages.len(), all.len());
    let mut all = all.into_iter();
    for (index, passage) in passages.iter_mut().enumerate() {
        let share = total * (index + 1) / count - total * index / count;
        passage.sentences.extend(all.by_ref().take(share));
    }
}

/// The text as it grows.
#[derive(Default)]
struct Page {
    text: String,
    /// Where the fact begins that is asked for.
    found: usize,
}

impl Page {
    /// A heading, a paragraph with the facts in its middle, and the tables below it.
    fn add(&mut self, passage: &Passage<'_>, language: Language) {
        let gap = between(language);
        self.text.push_str(&passage.head);
        self.text.push('\n');
        let (before, after) = passage.sentences.split_at(passage.sentences.len() / 2);
        for sentence in before {
            self.say(sentence, gap);
        }
        for planted in passage.facts.iter().filter(|planted| !planted.fact.is_table) {
            self.plant(planted, gap);
        }
        for sentence in after {
            self.say(sentence, gap);
        }
        for planted in passage.facts.iter().filter(|planted| planted.fact.is_table) {
            self.text.truncate(self.text.trim_end().len());
            self.text.push('\n');
            self.plant(planted, "");
        }
        self.text.truncate(self.text.trim_end().len());
        self.text.push_str("\n\n");
    }

    fn plant(&mut self, planted: &Planted<'_>, gap: &str) {
        if planted.is_asked {
            self.found = self.text.len();
        }
        self.say(&planted.fact.text, gap);
    }

    fn say(&mut self, text: &str, gap: &str) {
        self.text.push_str(text);
        self.text.push_str(gap);
    }

    fn finish(mut self, question: &str, asked: &Fact) -> Written {
        let depth = Depth((100 * self.found / self.text.len().max(1)) as u8);
        self.text.push_str(question);
        Written { depth: Some(depth), ..Written::new(self.text, Expect::Text(asked.code.clone())) }
    }
}

/// As a retriever tells where a passage is from; a short prompt has no room for the name of a file.
fn title(draw: &mut Draw, sheet: &Sheet) -> String {
    let (page, index) = (draw.number(10, 99), draw.index(TITLES.len()));
    let Title { en, zh, file } = TITLES[index];
    match (sheet.language, sheet.is_short()) {
        (Language::En, true) => format!("{en} (page {page})"),
        (Language::En, false) => format!("{en} ({file}.pdf, page {page})"),
        (Language::Zh, true) => format!("{zh}（第{page}页）"),
        (Language::Zh, false) => format!("{zh}（{file}.pdf，第{page}页）"),
    }
}

#[derive(Clone, Copy)]
struct Title {
    en: &'static str,
    zh: &'static str,
    file: &'static str,
}

const TITLES: [Title; 10] = [
    Title { en: "Harbour notes", zh: "港口记事", file: "harbour" },
    Title { en: "Town records", zh: "镇志摘录", file: "town" },
    Title { en: "Repair log", zh: "维修记录", file: "repairs" },
    Title { en: "Visitor guide", zh: "游客指南", file: "guide" },
    Title { en: "Council minutes", zh: "会议纪要", file: "council" },
    Title { en: "Store list", zh: "库存清单", file: "stores" },
    Title { en: "Winter report", zh: "冬季报告", file: "winter" },
    Title { en: "School paper", zh: "校刊", file: "school" },
    Title { en: "Station diary", zh: "车站日志", file: "station" },
    Title { en: "Market news", zh: "集市消息", file: "market" },
];
