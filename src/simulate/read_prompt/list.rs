//! A list of who has how many of what, and the questions about it.

use super::{between, leading_number, the_only};
use crate::domain::Language;

/// A line of the list.
#[derive(Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    pub name: &'a str,
    pub number: u64,
    /// In Chinese with its measure word, as `根绳子`.
    pub item: &'a str,
}

/// What is asked about a list.
#[derive(Debug, PartialEq, Eq)]
pub enum Question<'a> {
    Together(&'a Entry<'a>, &'a Entry<'a>),
    More(&'a Entry<'a>, &'a Entry<'a>),
    Most,
    Fewest,
    Order,
    Above(u64),
    AmountOf(&'a Entry<'a>),
    HolderOf(&'a Entry<'a>),
    Dashed(&'a Entry<'a>),
}

/// What announces a list.
const HEADINGS: [&str; 2] = ["Here is the list", "名单如下"];

/// The list announced last; where none is announced, the last lines that look like one.
pub fn last_list(text: &str) -> Vec<Entry<'_>> {
    if let Some(heading) = HEADINGS.iter().filter_map(|heading| text.rfind(heading)).max() {
        let lines = text[heading..].lines().skip(1);
        return lines.skip_while(|line| line.trim().is_empty()).map_while(entry).collect();
    }
    let lines = text.lines().rev().map(entry).skip_while(Option::is_none);
    let mut entries: Vec<_> = lines.map_while(|entry| entry).collect();
    entries.reverse();
    entries
}

/// `- Ada: 417 lamps` or `- 王芳：417盏灯`
fn entry(line: &str) -> Option<Entry<'_>> {
    let (name, rest) = line.trim().strip_prefix("- ")?.split_once([':', '：'])?;
    let (number, item) = leading_number(rest.trim_start())?;
    let (name, item) = (name.trim(), item.trim());
    (!name.is_empty() && !item.is_empty()).then_some(Entry { name, number, item })
}

/// What a sentence asks about the list, if it does.
pub fn question<'a>(sentence: &str, list: &'a [Entry<'a>]) -> Option<(Language, Question<'a>)> {
    let english = english(sentence, list).map(|question| (Language::En, question));
    english.or_else(|| chinese(sentence, list).map(|question| (Language::Zh, question)))
}

fn english<'a>(sentence: &str, list: &'a [Entry<'a>]) -> Option<Question<'a>> {
    let named = |name: &str| the_only(list.iter().filter(|entry| entry.name == name));
    let with = |item: &str| the_only(list.iter().filter(|entry| entry.item == item));
    if let Some(names) = between(sentence, "How many things do ", " have together") {
        let (one, other) = names.split_once(" and ")?;
        return Some(Question::Together(named(one)?, named(other)?));
    }
    if let Some((_, names)) = sentence.rsplit_once("How many more things does ") {
        let (one, other) = names.split_once(" have than ")?;
        return Some(Question::More(named(one)?, named(other)?));
    }
    if let Some(bound) = between(sentence, "How many people have more than ", " things") {
        return bound.parse().ok().map(Question::Above);
    }
    if let Some(item) = between(sentence, "How many ", " are on the list") {
        return with(item).map(Question::AmountOf);
    }
    if let Some((_, what)) = sentence.rsplit_once("Who has the ") {
        return match what {
            "most things" => Some(Question::Most),
            "fewest things" => Some(Question::Fewest),
            item => with(item).map(Question::HolderOf),
        };
    }
    if sentence.contains("Write the names in order of their numbers, smallest first") {
        return Some(Question::Order);
    }
    let name = between(sentence, "Write ", " number with a dash between its digits")?;
    named(name.strip_suffix("'s").or_else(|| name.strip_suffix("’s"))?).map(Question::Dashed)
}

fn chinese<'a>(sentence: &str, list: &'a [Entry<'a>]) -> Option<Question<'a>> {
    if let Some(names) = sentence.strip_suffix("一共有多少件东西") {
        return pair(names, "和", list).map(|(one, other)| Question::Together(one, other));
    }
    if let Some(names) = sentence.strip_suffix("多多少件东西") {
        return pair(names, "比", list).map(|(one, other)| Question::More(one, other));
    }
    if sentence.ends_with("谁的东西最多") {
        return Some(Question::Most);
    }
    if sentence.ends_with("谁的东西最少") {
        return Some(Question::Fewest);
    }
    if sentence.contains("从少到多写出所有人的名字") {
        return Some(Question::Order);
    }
    if let Some(bound) = between(sentence, "有几个人的东西超过", "件") {
        return bound.parse().ok().map(Question::Above);
    }
    if let Some((_, item)) = sentence.rsplit_once("名单上有多少") {
        return the_only(list.iter().filter(|entry| entry.item == item)).map(Question::AmountOf);
    }
    if let Some(item) = sentence.strip_suffix("在谁那里") {
        return longest(list, |entry| bare(entry.item), item).map(Question::HolderOf);
    }
    let (name, dashes) = sentence.rsplit_once("的数量")?;
    longest(list, |entry| entry.name, name).filter(|_| dashes.contains("短横线")).map(Question::Dashed)
}

/// The item without its measure word, which is one character.
fn bare(item: &str) -> &str {
    let mut characters = item.chars();
    characters.next();
    characters.as_str()
}

/// Chinese does not part words: a name ends where the words after it begin, and its entry says where it begins.
fn pair<'a>(names: &str, link: &str, list: &'a [Entry<'a>]) -> Option<(&'a Entry<'a>, &'a Entry<'a>)> {
    let second = longest(list, |entry| entry.name, names)?;
    let first = longest(list, |entry| entry.name, names.strip_suffix(second.name)?.strip_suffix(link)?)?;
    Some((first, second))
}

/// The one entry whose `part` the text ends with; of two parts the longer.
fn longest<'a>(list: &'a [Entry<'a>], part: fn(&Entry<'a>) -> &'a str, text: &str) -> Option<&'a Entry<'a>> {
    let fits = |entry: &&Entry<'a>| !part(entry).is_empty() && text.ends_with(part(entry));
    let length = list.iter().filter(fits).map(|entry| part(entry).len()).max()?;
    the_only(list.iter().filter(fits).filter(|entry| part(entry).len() == length))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str) -> Vec<(&str, u64, &str)> {
        last_list(text).iter().map(|entry| (entry.name, entry.number, entry.item)).collect()
    }

    #[test]
    fn last_list_is_taken_and_other_lines_are_not() {
        let list = "- Ada: 417 red lamps\r\n  - Ben: 382 ropes\n";
        let expected = [("Ada", 417, "red lamps"), ("Ben", 382, "ropes")];
        assert_eq!(plain(&format!("- Old: 1 thing\n\n{list}\nAt 7: 30 men.\n- Note: none\n")), expected);
        assert_eq!(plain(&format!("Here is the list:\n\n{list}\n- Limit: 20 words\n")), expected);
        assert_eq!(
            plain(&format!("Here is the list:\n- Old: 1 thing\n\nHere is the list:\n{list}")),
            expected
        );
        assert!(last_list("No list at all.").is_empty());
    }

    #[test]
    fn names_within_names_and_items_within_items_are_told_apart() {
        let list = last_list("- 芳：1盏灯\n- 王芳：2盏台灯\n- 李和：3根绳子");
        let asked = |sentence| question(sentence, &list).map(|(_, question)| question);
        assert_eq!(asked("请问王芳和李和一共有多少件东西"), Some(Question::Together(&list[1], &list[2])));
        assert_eq!(asked("李和和芳一共有多少件东西"), Some(Question::Together(&list[2], &list[0])));
        assert_eq!(asked("台灯在谁那里"), Some(Question::HolderOf(&list[1])));
        assert_eq!(asked("灯在谁那里"), Some(Question::HolderOf(&list[0])));
        assert_eq!(asked("钟在谁那里"), None);
    }

    #[test]
    fn item_that_two_have_makes_no_question() {
        let list = last_list("- Ada: 1 lamps\n- Ben: 2 lamps");
        assert_eq!(question("Who has the lamps", &list), None);
        assert_eq!(question("How many lamps are on the list", &list), None);
        let list = last_list("- 王芳：1盏灯\n- 李强：2盏灯");
        assert_eq!(question("灯在谁那里", &list), None);
    }
}
