//! `chat`: a short list and a question about it, whose right answer is worked out here.

mod question;

use super::draw::{Draw, scramble};
use super::length::Form;
use super::prose::{between, reordered, sentences};
use super::weigh::weigh;
use super::{Sheet, Written};
use crate::domain::Language;
use question::{Asked, ask};

/// Entries of the list, by the room that there is.
const MANY: usize = 5;
const FEW: usize = 3;
const FEWEST: usize = 2;

/// With less room than this not even a few words ask for an explanation, though they make the answer long enough to
/// measure its pace.
const UNEXPLAINED: f64 = 30.0;

/// One line of the list.
#[derive(Debug, Clone, Copy)]
struct Entry {
    name: &'static str,
    number: u64,
    thing: Thing,
}

/// What somebody has so many of; Chinese counts each thing by a word of its own.
#[derive(Debug, Clone, Copy)]
struct Thing {
    measure: &'static str,
    name: &'static str,
}

pub(super) fn write(sheet: &Sheet) -> Written {
    let entries = if sheet.is_tiny() {
        FEWEST
    } else if sheet.is_short() {
        FEW
    } else {
        MANY
    };
    Frame::new(sheet, entries).filled(sheet)
}

pub(super) fn form(sheet: &Sheet) -> Form {
    Form(question::index(&mut Draw::new(sheet.own)) as u8)
}

/// All but the sentences before it.
struct Frame {
    list: String,
    asked: Asked,
}

impl Frame {
    fn new(sheet: &Sheet, entries: usize) -> Self {
        let list = draw_list(sheet, entries);
        let mut asked = ask(&list, sheet.language, &mut Draw::new(sheet.own));
        asked.text.push_str(explanation(sheet));
        Self { list: list_text(&list, sheet), asked }
    }

    fn weight(&self) -> f64 {
        weigh(&self.list) + weigh(&self.asked.text)
    }

    fn filled(self, sheet: &Sheet) -> Written {
        let before = sentences(sheet.fixed, sheet.language, sheet.weight - self.weight() - 2.0);
        let before = reordered(before, &mut Draw::new(scramble(sheet.changing())));
        let gap = if before.is_empty() { "" } else { "\n\n" };
        let text = [&before.join(between(sheet.language)), gap, &self.list, "\n", &self.asked.text].concat();
        Written::new(text, self.asked.expect)
    }
}

/// Who and what is the same for all prompts of a workload, in another order and with other numbers: so their
/// lengths are nearly the same, whatever the tokenizer makes of a name.
fn draw_list(sheet: &Sheet, entries: usize) -> Vec<Entry> {
    let mut fixed = Draw::new(sheet.fixed);
    let (names, things): (&[&str], &[Thing]) = match sheet.language {
        Language::En => (&NAMES_EN, &THINGS_EN),
        Language::Zh => (&NAMES_ZH, &THINGS_ZH),
    };
    let (mut names, mut things) = (fixed.some(names, entries), fixed.some(things, entries));
    let mut draw = Draw::new(sheet.changing());
    draw.shuffle(&mut names);
    draw.shuffle(&mut things);
    let mut list: Vec<Entry> = Vec::new();
    for (name, thing) in names.into_iter().zip(things) {
        let number = loop {
            let number = draw.number(101, 1000);
            // A round number would stand on the border of a question about more and less.
            if !number.is_multiple_of(100) && list.iter().all(|entry| entry.number != number) {
                break number;
            }
        };
        list.push(Entry { name, number, thing });
    }
    list
}

fn list_text(list: &[Entry], sheet: &Sheet) -> String {
    let line = |entry: &Entry| {
        let Entry { name, number, thing: Thing { measure, name: thing } } = entry;
        match sheet.language {
            Language::En => format!("- {name}: {number} {thing}\n"),
            Language::Zh => format!("- {name}：{number}{measure}{thing}\n"),
        }
    };
    let head = match sheet.language {
        _ if sheet.is_tiny() => "",
        Language::En => "Here is the list:\n",
        Language::Zh => "名单如下：\n",
    };
    std::iter::once(head.to_owned()).chain(list.iter().map(line)).collect()
}

/// So that the answer is found, and is long enough to measure its pace; in few words where few are wanted.
pub(super) fn explanation(sheet: &Sheet) -> &'static str {
    match (sheet.language, sheet.is_short()) {
        _ if sheet.weight < UNEXPLAINED => "",
        (Language::En, false) => " Start with \"Answer:\", then explain in two sentences.",
        (Language::En, true) => " Explain briefly.",
        (Language::Zh, false) => "请先写“答案：”，再用两句话说明。",
        (Language::Zh, true) => "请简要说明。",
    }
}

const NAMES_EN: [&str; 12] =
    ["Adam", "Ben", "Carl", "Dan", "Eva", "Frank", "George", "Helen", "Ivan", "June", "Kate", "Laura"];

const THINGS_EN: [Thing; 12] = [
    Thing { measure: "", name: "lamps" },
    Thing { measure: "", name: "ropes" },
    Thing { measure: "", name: "books" },
    Thing { measure: "", name: "plates" },
    Thing { measure: "", name: "chairs" },
    Thing { measure: "", name: "boxes" },
    Thing { measure: "", name: "bells" },
    Thing { measure: "", name: "coats" },
    Thing { measure: "", name: "keys" },
    Thing { measure: "", name: "maps" },
    Thing { measure: "", name: "pens" },
    Thing { measure: "", name: "cups" },
];

const NAMES_ZH: [&str; 12] =
    ["王芳", "李强", "张敏", "刘洋", "陈静", "杨帆", "赵磊", "黄丽", "周杰", "吴霞", "徐明", "孙红"];

const THINGS_ZH: [Thing; 12] = [
    Thing { measure: "盏", name: "灯" },
    Thing { measure: "根", name: "绳子" },
    Thing { measure: "本", name: "书" },
    Thing { measure: "个", name: "盘子" },
    Thing { measure: "把", name: "椅子" },
    Thing { measure: "只", name: "箱子" },
    Thing { measure: "口", name: "钟" },
    Thing { measure: "件", name: "大衣" },
    Thing { measure: "串", name: "钥匙" },
    Thing { measure: "张", name: "地图" },
    Thing { measure: "支", name: "钢笔" },
    Thing { measure: "套", name: "茶具" },
];
