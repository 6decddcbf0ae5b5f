//! Degenerate texts: those under `tests/answers/degenerate`, and every sort alone and after a good beginning.

use super::writer::Writer;
use super::*;

const EN: Option<Language> = Some(Language::En);
const ZH: Option<Language> = Some(Language::Zh);

/// What is repeated, from one character to a paragraph.
const ROUNDS: &[(&str, Option<Language>)] = &[
    ("!", EN),
    ("0", EN),
    ("a", EN),
    ("。", ZH),
    ("的", ZH),
    ("？", ZH),
    ("😀", EN),
    ("! ", EN),
    ("0 ", EN),
    ("1, ", EN),
    ("?!", EN),
    ("。\n", ZH),
    ("the ", EN),
    ("and ", EN),
    ("\n- ", EN),
    ("</div>", EN),
    ("好的", ZH),
    ("是的，", ZH),
    ("答案", ZH),
    ("ha ha, ", EN),
    ("I am sorry. ", EN),
    ("I know, I know, ", EN),
    ("and so on and so on and ", EN),
    ("Answer: 42\n", EN),
    ("我不知道。", ZH),
    ("对不起，", ZH),
    ("谢谢您的提问！", ZH),
    ("As an assistant, I cannot answer that question. ", EN),
    ("Please let me know if you have any other questions.\n\n", EN),
    ("Wait, let me check that again. The total is 412. ", EN),
    ("如果您还有其他问题，请随时告诉我。", ZH),
    ("等一下，我再检查一遍。总数是412。\n", ZH),
    ("    value = value + 1\n", EN),
    ("| yes | no | yes |\n", EN),
    ("{\"name\": \"value\", \"count\": 1},\n", EN),
    ("2025-01-01 00:00:00 ERROR out of memory\n", EN),
    ("1\n2\n3\n", EN),
    ("A: Hello.\nB: Hello. How are you?\n", EN),
    ("问：你好吗？\n答：我很好。\n", ZH),
];

const COUNTED: &[(&str, Option<Language>)] = &[
    ("#. I am sorry.\n", EN),
    ("#. I am sorry. ", EN),
    ("Step #: Repeat the previous step.\n", EN),
    ("Chapter #. The night crew counted the lanterns again. ", EN),
    ("#) It is important to note that this is important.\n", EN),
    ("第#条：对不起，我不能回答这个问题。\n", ZH),
    ("#、我们要继续努力。", ZH),
    ("第#步：重复上一步的操作。\n", ZH),
];

const FEW_WORDS: &[(&[&str], &str, Option<Language>)] = &[
    (&["the", "of", "and", "time", "people"], " ", EN),
    (&["is", "not", "what", "it", "is,", "but", "it"], " ", EN),
    (&["yes", "no", "maybe"], ", ", EN),
    (&["lantern", "lanterns", "the", "a", "old", "station"], " ", EN),
    (&["我们", "的", "是", "了", "时间"], "", ZH),
    (&["可以", "不可以", "什么", "这个", "那个"], "", ZH),
    (&["I like apples.", "I like pears.", "You like plums.", "We like apples."], " ", EN),
    (&["天是蓝的。", "草是绿的。", "我们回家了。", "雨下了一夜。"], "", ZH),
    (&["!", "?", "!!", "?!"], "", EN),
    (&["a", "b", "ab", "ba"], "", EN),
];

const FOREIGN: &[(&str, Option<Language>)] = &[
    ("值夜班的工人在旧车站后面清点了四百一十二件灯笼，后来博物馆卖掉了其中的十二件。", EN),
    ("После бури портовая контора открылась снова, и ночная смена пересчитала все фонари.", EN),
    ("بعد العاصفة فتح مكتب الميناء أبوابه من جديد وقام العمال بعد المصابيح المتبقية", EN),
    ("嵐のあと、港の事務所はふたたび開き、夜勤の人たちは残ったランタンを数えました。", EN),
    ("폭풍이 지나간 뒤 항구 사무소가 다시 문을 열었고 야간 근무자들은 남은 등불을 세었다.", EN),
    ("तूफान के बाद बंदरगाह का दफ्तर फिर से खुला और रात के कर्मचारियों ने लालटेन गिने।", EN),
    (
        "After the storm the harbour office opened again, and the night crew counted the lanterns that were left.",
        ZH,
    ),
    (
        "Nach dem Sturm wurde das Hafenamt wieder geöffnet, und die Nachtschicht zählte alle übrigen Laternen.",
        ZH,
    ),
    ("После бури портовая контора открылась снова, и ночная смена пересчитала все фонари.", ZH),
    ("嵐のあと、港の事務所はふたたび開き、夜勤の人たちは残ったランタンを数えました。", ZH),
    ("폭풍이 지나간 뒤 항구 사무소가 다시 문을 열었고 야간 근무자들은 남은 등불을 세었다.", ZH),
    ("theприветом สวัสดีfrom и的عربيx нет데이터 आपkor иthe สx 灯кorb", None),
    ("fonction обратновал_的值ةreturn สำหunderй क्षtheبا दsubй", None),
];

pub(super) fn texts() -> Vec<Text> {
    let mut random = Rand32::new(3);
    let mut texts = files("degenerate");
    for length in [40, 150, 600, 3000] {
        for &(round, language) in ROUNDS {
            if let Some(text) = looped(round, length) {
                // A few figures at the end of a text may be a figure.
                if length > 100 || !round.contains(char::is_numeric) {
                    texts.push(after_a_beginning(&mut random, &text, language));
                }
                texts.push(Text::new(format!("{length} of {round:?}"), language, text));
            }
        }
    }
    for count in [8, 20, 90] {
        for &(line, language) in COUNTED {
            let text: String = (1..=count).map(|n| line.replace('#', &n.to_string())).collect();
            if count > 8 {
                texts.push(after_a_beginning(&mut random, &text, language));
            }
            texts.push(Text::new(format!("{count} times {line:?}"), language, text));
        }
        for &(words, between, language) in FEW_WORDS {
            let words: Vec<_> = (0..count * 9).map(|_| *pick(&mut random, words)).collect();
            let text = words.join(between);
            texts.push(after_a_beginning(&mut random, &text, language));
            texts.push(Text::new(format!("few words {:?}", words[0]), language, text));
        }
    }
    for seed in 0..6 {
        for language in [Language::En, Language::Zh] {
            texts.extend(of_prose(language, seed, &mut random));
        }
    }
    texts.extend(FOREIGN.iter().map(|&(text, language)| Text::new("foreign", language, text)));
    texts.extend(space().into_iter().map(|text| Text::new("space", EN, text)));
    texts
}

/// At least so many characters, and more rounds than anyone would say on purpose; or nothing where that is too long.
fn looped(round: &str, length: usize) -> Option<String> {
    let characters = round.chars().count();
    let rounds = length / characters;
    let figures = !round.contains(char::is_alphabetic) && !round.contains(['!', '?', '。', '\u{ff1f}', '😀']);
    let enough = match characters {
        1 => 40,
        _ if figures => 25,
        2 => 20,
        3..6 => 12,
        6..16 => 9,
        _ => 7,
    };
    (rounds >= enough).then(|| round.chars().cycle().take(length).collect())
}

/// The bad part is a third of the whole at least.
fn after_a_beginning(random: &mut Rand32, bad: &str, language: Option<Language>) -> Text {
    let most = (bad.chars().count() * 19 / 10).max(2) as u32;
    let length = random.rand_range(1..most) as usize;
    let seed = u64::from(random.rand_u32());
    let beginning = Writer::new(language.unwrap_or(Language::En), seed).sentences(length);
    let beginning: String = beginning.chars().take(length).collect();
    let name: String = bad.chars().take(20).collect();
    Text::new(format!("{length} good, then {name:?}"), language, format!("{beginning} {bad}"))
}

/// Prose that was spoiled.
fn of_prose(language: Language, seed: u64, random: &mut Rand32) -> Vec<Text> {
    let mut writer = Writer::new(language, 100 + seed);
    let paragraph = writer.sentences(120 + 150 * seed as usize);
    let looped = paragraph.repeat(6);
    let other = writer.sentences(900);
    let mut spoil = |every: u32, with: &str| -> String {
        let spoiled =
            |c: char| if random.rand_range(0..every) == 0 { format!("{c}{with}") } else { c.into() };
        other.chars().map(spoiled).collect()
    };
    let texts = [
        ("paragraphs", looped),
        ("replacement characters", spoil(16, "\u{fffd}")),
        ("private use", spoil(12, "\u{e123}")),
        ("control characters", spoil(12, "\u{3}")),
        ("broken quotation marks", spoil(20, "â€™")),
        ("broken accents", spoil(20, "Ã©")),
        ("flood", format!("{other}{}", "!".repeat(450))),
        ("endless lines", format!("{other}{}", "\n".repeat(60 + seed as usize))),
        ("changed names", (0..12 + seed).map(|_| changed(&mut writer)).collect()),
    ];
    let mut texts: Vec<_> =
        texts.into_iter().map(|(name, text)| Text::new(name, Some(language), text)).collect();
    if language == Language::Zh {
        // As if its bytes had been letters.
        let wreck: String = other.bytes().map(char::from).collect();
        texts.push(Text::new("wrong encoding", None, wreck));
    }
    texts
}

/// The same sentence with another name and another number.
fn changed(writer: &mut Writer) -> String {
    let names = ["Anna", "Boris", "Chloe", "David", "Emma", "Farid", "Greta", "Hugo", "Irina", "Jamal"];
    let (name, chinese) = (writer.pick(&names), writer.pick(&["小王", "老李", "阿强", "小芳", "老赵"]));
    match writer.language() {
        Language::En => format!("{name} went to the market by the river and bought a loaf of fresh bread. "),
        Language::Zh => format!("{chinese}一早就去河边的集市上买了一个刚出炉的新鲜面包。"),
    }
}

fn space() -> [String; 6] {
    [
        " ".repeat(300),
        "\n".repeat(80),
        "\t".repeat(200),
        format!("{{\n  \"answer\":{}", " ".repeat(200)),
        format!("{{\"answer\": 1,{}", "\n  ".repeat(60)),
        format!("The answer is{}", " \u{3000}".repeat(100)),
    ]
}
