//! Plain sentences in two languages, drawn from a seed.

use oorandom::Rand64;

use crate::domain::Language;

pub(super) struct Writer {
    language: Language,
    random: Rand64,
}

impl Writer {
    pub(super) fn new(language: Language, seed: u64) -> Self {
        Self { language, random: Rand64::new(u128::from(seed)) }
    }

    pub(super) fn language(&self) -> Language {
        self.language
    }

    /// A whole number of `low..high`.
    pub(super) fn number(&mut self, low: u64, high: u64) -> u64 {
        self.random.rand_range(low..high)
    }

    pub(super) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.random.rand_range(0..from.len() as u64) as usize]
    }

    pub(super) fn sentence(&mut self) -> String {
        match self.language {
            Language::En => {
                let (who, what, thing) = (self.pick(&WHO_EN), self.pick(&WHAT_EN), self.pick(&THING_EN));
                let (place, when, count) = (self.pick(&PLACE_EN), self.pick(&WHEN_EN), self.number(2, 980));
                match self.number(0, 3) {
                    0 => format!("{when}, {who} {what} {count} {thing} {place}. "),
                    1 => format!("{} {what} the {thing} {place} {}. ", capital(who), when.to_lowercase()),
                    _ => format!("Of the {count} {thing} {place}, {who} {what} only a few. "),
                }
            }
            Language::Zh => {
                let (who, what, thing) = (self.pick(&WHO_ZH), self.pick(&WHAT_ZH), self.pick(&THING_ZH));
                let (place, when, count) = (self.pick(&PLACE_ZH), self.pick(&WHEN_ZH), self.number(2, 980));
                match self.number(0, 3) {
                    0 => format!("{when},{who}在{place}{what}了{count}件{thing}。"),
                    1 => format!("{who}{when}把{thing}从{place}取出,重新{what}了一遍。"),
                    _ => format!("{place}的{count}件{thing}当中,{who}只{what}了其中几件。"),
                }
            }
        }
    }

    /// Sentences of about the given number of characters: the last one may be left out or stand alone.
    pub(super) fn sentences(&mut self, characters: usize) -> String {
        let mut text = String::new();
        let mut written = 0;
        while written < characters {
            let sentence = self.sentence();
            let longer = sentence.chars().count();
            if written > 0 && written + longer / 2 > characters {
                break;
            }
            written += longer;
            text.push_str(&sentence);
        }
        text
    }
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

const WHO_EN: [&str; 12] = [
    "the night crew",
    "a visiting surveyor",
    "the harbour office",
    "our second team",
    "the archivist",
    "a young engineer",
    "the ferry captain",
    "the repair shop",
    "an old gardener",
    "the council",
    "her brother",
    "the museum",
];
const WHAT_EN: [&str; 12] = [
    "counted",
    "repaired",
    "moved",
    "described",
    "labelled",
    "inspected",
    "sold",
    "measured",
    "painted",
    "stored",
    "compared",
    "photographed",
];
const THING_EN: [&str; 14] = [
    "lanterns",
    "copper pipes",
    "maps",
    "seed boxes",
    "letters",
    "clocks",
    "wooden crates",
    "pumps",
    "signal flags",
    "bridges",
    "water samples",
    "bicycles",
    "ledgers",
    "windows",
];
const PLACE_EN: [&str; 12] = [
    "behind the old station",
    "near the river mouth",
    "in the upper valley",
    "along the canal",
    "at the northern gate",
    "under the market hall",
    "on the third floor",
    "by the lighthouse",
    "in the east wing",
    "across the bay",
    "beside the quarry",
    "at the end of the road",
];
const WHEN_EN: [&str; 10] = [
    "In early spring",
    "Last Tuesday",
    "After the storm",
    "Two years ago",
    "Before the harvest",
    "That evening",
    "During the strike",
    "Toward the end of June",
    "On the first frosty morning",
    "Once the roads were open",
];
const WHO_ZH: [&str; 10] = [
    "值夜班的工人",
    "新来的测绘员",
    "港务处",
    "第二小组",
    "档案管理员",
    "年轻的工程师",
    "渡船船长",
    "修理铺的师傅",
    "老园丁",
    "博物馆",
];
const WHAT_ZH: [&str; 10] = ["清点", "修理", "搬运", "描述", "登记", "检查", "出售", "测量", "整理", "拍摄"];
const THING_ZH: [&str; 12] =
    ["灯笼", "铜管", "地图", "种子箱", "信件", "座钟", "木箱", "水泵", "信号旗", "水样", "自行车", "账本"];
const PLACE_ZH: [&str; 10] = [
    "旧车站后面",
    "河口附近",
    "上游山谷里",
    "运河沿岸",
    "北门旁边",
    "集市大厅下面",
    "三楼走廊",
    "灯塔脚下",
    "东侧厢房",
    "采石场边上",
];
const WHEN_ZH: [&str; 10] = [
    "初春时节",
    "上个星期二",
    "暴风雨过后",
    "两年以前",
    "秋收之前",
    "那天傍晚",
    "停工期间",
    "六月底",
    "第一个霜冻的早晨",
    "道路开通以后",
];
