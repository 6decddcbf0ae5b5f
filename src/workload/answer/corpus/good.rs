//! Good texts: those under `tests/answers/good`, very short ones, and variations.

use std::fmt::Write as _;

use super::writer::Writer;
use super::*;

const SHORT: &[&str] = &[
    "42",
    "Ada",
    "3-8-2",
    "是",
    "否。",
    "Yes.",
    "no no no",
    "ha ha ha",
    "Ha ha ha ha ha ha!",
    "-----",
    "=====",
    "...",
    "!!!",
    "111",
    "0000",
    "1000000000000",
    "aaa",
    "A A A",
    "哈哈哈哈哈",
    "对对对",
    "好的，好的，好的。",
    "谢谢，谢谢！",
    "Bora Bora",
    "New York, New York",
    "that that is is that that is not is not",
    "Buffalo buffalo Buffalo buffalo buffalo buffalo Buffalo buffalo",
    "Tick, tock, tick, tock, tick, tock.",
    "👍👍👍",
    "★★★★★",
    "Nooooooooo!",
    "Nooooooooooooooooo!",
    "no no no no no no no no no no",
    "Zzzzzzzzzz…",
    "1, 2, 1, 2, 1, 2",
    "0.333333333333",
    "3.14159265358979323846264338327950288419716939937510",
    "10101010",
    "ACGTACGTTGCAACGT",
    "la la la la la",
    "```\n```",
    "{}",
    "[[0, 0, 0], [0, 0, 0], [0, 0, 0]]",
    "| | |\n|-|-|\n| | |",
    "石室诗士施氏，嗜狮，誓食十狮。",
    "Answer: 799",
    "答案：北门",
    "OK OK, I get it.",
    "\u{fffd}",
    "Ünïcödé",
    "café, naïve, façade",
];

pub(super) fn texts() -> Vec<Text> {
    let files = files("good");
    let mut texts: Vec<_> = SHORT.iter().map(|text| Text::new("short", None, *text)).collect();
    texts.extend(joined(&files));
    texts.extend(cut(&files));
    texts.extend(files);
    for language in [Language::En, Language::Zh] {
        texts.push(Text::new("long prose", Some(language), Writer::new(language, 0).sentences(60_000)));
    }
    for seed in 0..12 {
        for language in [Language::En, Language::Zh] {
            let mut writer = Writer::new(language, seed);
            texts.push(Text::new("prose", Some(language), writer.sentences(40 << (seed % 9))));
            texts.push(Text::new("numbered", Some(language), numbered(&mut writer, 3 + seed)));
            texts.push(Text::new("dialogue", Some(language), dialogue(&mut writer, 4 + seed)));
            texts.push(Text::new("table", Some(language), table(&mut writer, 4 + seed)));
        }
        let mut random = Rand32::new(seed);
        texts.push(Text::new("log", Some(Language::En), log(&mut random, 10 + seed * 9)));
        texts.push(Text::new("records", Some(Language::En), records(&mut random, 5 + seed * 4)));
        texts.push(Text::new("program", Some(Language::Zh), program(&mut random, 3 + seed)));
        texts.push(Text::new("capitals", Some(Language::En), capitals(&mut random, 6 + seed)));
        texts.push(Text::new("products", None, products(2 + seed)));
        texts.push(Text::new("grid", None, grid(&mut random, 4 + seed)));
    }
    texts
}

/// Several of a language one after the other, as a long answer has parts of several kinds.
fn joined(files: &[Text]) -> Vec<Text> {
    let mut random = Rand32::new(1);
    let mut joined = Vec::new();
    for language in [Language::En, Language::Zh] {
        let of: Vec<_> = files.iter().filter(|file| file.language == Some(language)).collect();
        for parts in 2..12 {
            let text: String = (0..parts).map(|_| pick(&mut random, &of).body.clone() + "\n").collect();
            joined.push(Text::new(format!("{parts} joined"), Some(language), text));
        }
    }
    joined
}

/// As the limit on tokens would cut them.
fn cut(files: &[Text]) -> Vec<Text> {
    let mut random = Rand32::new(2);
    let beginning = |file: &Text| {
        let length = random.rand_range(20..file.body.chars().count() as u32) as usize;
        let text: String = file.body.chars().take(length).collect();
        Text::new(format!("beginning of {}", file.name), file.language, text)
    };
    files.iter().map(beginning).collect()
}

fn numbered(writer: &mut Writer, count: u64) -> String {
    let item = |n| format!("{n}. {}\n", writer.sentence().trim());
    (1..=count).map(item).collect()
}

fn dialogue(writer: &mut Writer, turns: u64) -> String {
    let turn = |n| {
        let (who, sentence) = (if n % 2 == 0 { "A" } else { "B" }, writer.sentence());
        format!("{who}: {}\n\n", sentence.trim())
    };
    (0..turns).map(turn).collect()
}

fn table(writer: &mut Writer, rows: u64) -> String {
    let mut text = String::from("| # | note | checked | stored |\n|---|---|---|---|\n");
    for row in 1..=rows {
        let yes = |is: bool| if is { "yes" } else { "no" };
        let (checked, stored) = (yes(writer.number(0, 2) == 0), yes(writer.number(0, 3) == 0));
        writeln!(text, "| {row} | {} | {checked} | {stored} |", writer.sentence().trim()).unwrap();
    }
    text
}

fn log(random: &mut Rand32, lines: u64) -> String {
    let events = [
        "INFO request served from the cache in",
        "INFO connection accepted from the load balancer after",
        "WARN queue of the worker is longer than",
        "ERROR write to the replica failed, trying again in",
    ];
    let mut seconds = 0;
    let line = |_| {
        seconds += random.rand_range(0..9);
        let (minute, second) = (seconds / 60 % 60, seconds % 60);
        let (event, figure) = (pick(random, &events), random.rand_range(1..900));
        format!("2025-06-01 11:{minute:02}:{second:02} {event} {figure} ms\n")
    };
    (0..lines).map(line).collect()
}

fn records(random: &mut Rand32, count: u64) -> String {
    let names = ["lamp", "chair", "desk", "shelf", "rug", "vase", "clock", "mirror", "bench"];
    let record = |id: u64| {
        let (name, stock) = (pick(random, &names), random.rand_range(0..500));
        format!(
            "  {{\n    \"id\": {id},\n    \"name\": \"{name}\",\n    \"stock\": {stock},\n    \"unit\": \"piece\",\n    \"currency\": \"EUR\",\n    \"active\": true\n  }}"
        )
    };
    format!("[\n{}\n]\n", (1..=count).map(record).collect::<Vec<_>>().join(",\n"))
}

fn program(random: &mut Rand32, functions: u64) -> String {
    let nouns = ["order", "user", "book", "ticket", "route", "invoice", "station", "letter"];
    let function = |n| {
        let noun = pick(random, &nouns);
        format!(
            "def load_{noun}_{n}(connection, key):\n    row = connection.fetch(\"{noun}\", key)\n    if row is None:\n        raise KeyError(key)\n    return row\n\n\n"
        )
    };
    (0..functions).map(function).collect()
}

fn capitals(random: &mut Rand32, count: u64) -> String {
    let pairs = [
        ("France", "Paris"),
        ("Norway", "Oslo"),
        ("Kenya", "Nairobi"),
        ("Japan", "Tokyo"),
        ("Peru", "Lima"),
        ("Egypt", "Cairo"),
        ("Canada", "Ottawa"),
        ("Vietnam", "Hanoi"),
        ("Chile", "Santiago"),
        ("Ghana", "Accra"),
        ("Poland", "Warsaw"),
        ("Iran", "Tehran"),
        ("Cuba", "Havana"),
        ("Nepal", "Kathmandu"),
        ("Spain", "Madrid"),
        ("Latvia", "Riga"),
        ("Qatar", "Doha"),
        ("Fiji", "Suva"),
    ];
    let start = random.rand_range(0..18) as usize;
    let line = |(country, city): &(&str, &str)| format!("- The capital of {country} is {city}.\n");
    pairs.iter().cycle().skip(start).take(count as usize).map(line).collect()
}

fn products(of: u64) -> String {
    let line = |n| format!("{of} times {n} is {}\n", of * n);
    (1..=20).map(line).collect()
}

fn grid(random: &mut Rand32, size: u64) -> String {
    let mut row =
        || (0..size).map(|_| if random.rand_range(0..4) == 0 { "1 " } else { "0 " }).collect::<String>();
    (0..size).map(|_| row() + "\n").collect()
}
