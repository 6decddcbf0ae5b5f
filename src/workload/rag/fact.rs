//! Facts that can be asked for: a sentence or a row of a table with a code in it.

use crate::domain::Language;
use crate::workload::Sheet;
use crate::workload::draw::Draw;

#[derive(Debug, Clone)]
pub(super) struct Fact {
    family: Family,
    name: &'static str,
    pub(super) code: String,
    pub(super) text: String,
    /// It stands below the paragraph rather than in it.
    pub(super) is_table: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Family {
    Depot,
    Office,
    Room,
}

/// The table last.
const FAMILIES: [Family; 3] = [Family::Depot, Family::Office, Family::Room];

/// Tokens of a prompt that has room for tables.
const ROOMY: u32 = 200;

/// Who is spoken of is the same for all prompts of a workload; the codes are not, unless the text before the
/// question must stay as it is.
pub(super) fn draw(sheet: &Sheet, count: usize) -> Vec<Fact> {
    let names: &[&str] = match sheet.language {
        Language::En => &NAMES_EN,
        Language::Zh => &NAMES_ZH,
    };
    // A table has a second row, of a room that nobody asks for.
    let spare = usize::from(sheet.wanted >= ROOMY);
    let mut names = Draw::new(sheet.fixed).some(names, count + spare);
    let mut draw = Draw::new(sheet.changing());
    draw.shuffle(&mut names);
    let other = names[names.len() - 1];
    names.truncate(count);
    let mut codes: Vec<u64> = Vec::new();
    while codes.len() < count + 1 {
        let code = draw.number(10_000, 100_000);
        if !codes.contains(&code) {
            codes.push(code);
        }
    }
    let other = (other, codes.pop().unwrap_or_default().to_string());
    let facts = names.into_iter().zip(codes).enumerate().map(|(index, (name, code))| {
        let family = FAMILIES[family_index(sheet, index)];
        Fact::new(family, name, code.to_string(), &other, sheet.language)
    });
    facts.collect()
}

/// The families take turns; there is no room for a table in a short prompt.
pub(super) fn family_index(sheet: &Sheet, index: usize) -> usize {
    let families = if sheet.wanted < ROOMY { FAMILIES.len() - 1 } else { FAMILIES.len() };
    (Draw::new(sheet.fixed).index(families) + index) % families
}

impl Fact {
    fn new(
        family: Family,
        name: &'static str,
        code: String,
        other: &(&str, String),
        language: Language,
    ) -> Self {
        let (second, its) = other;
        let text = match (family, language) {
            (Family::Depot, Language::En) => format!("The access code of depot {name} is {code}."),
            (Family::Depot, Language::Zh) => format!("{name}仓库的门禁码是{code}。"),
            (Family::Office, Language::En) => format!("Extension {code} reaches the {name} office."),
            (Family::Office, Language::Zh) => format!("拨分机{code}可以接通{name}办公室。"),
            (Family::Room, Language::En) => {
                format!("| Store room | Key number |\n|---|---|\n| {name} | {code} |\n| {second} | {its} |")
            }
            (Family::Room, Language::Zh) => {
                format!("| 库房 | 钥匙号 |\n|---|---|\n| {name} | {code} |\n| {second} | {its} |")
            }
        };
        Self { family, name, code, text, is_table: family == Family::Room }
    }

    pub(super) fn question(&self, language: Language) -> String {
        let name = self.name;
        match (self.family, language) {
            (Family::Depot, Language::En) => format!("What is the access code of depot {name}?"),
            (Family::Depot, Language::Zh) => format!("{name}仓库的门禁码是多少？"),
            (Family::Office, Language::En) => format!("Which extension reaches the {name} office?"),
            (Family::Office, Language::Zh) => format!("接通{name}办公室要拨哪个分机？"),
            (Family::Room, Language::En) => format!("What is the key number of store room {name}?"),
            (Family::Room, Language::Zh) => format!("{name}库房的钥匙号是多少？"),
        }
    }
}

const NAMES_EN: [&str; 12] = [
    "Falcon", "Raven", "Swift", "Otter", "Tiger", "Eagle", "Wolf", "Robin", "Bear", "Salmon", "Dolphin",
    "Panther",
];

const NAMES_ZH: [&str; 12] =
    ["红隼", "白鹭", "苍鹰", "水獭", "猞猁", "渡鸦", "雨燕", "紫貂", "鱼鹰", "沙鸥", "青鸟", "云雀"];
