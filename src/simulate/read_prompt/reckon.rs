//! The answers to questions about a list, with words that explain them.

use super::Solution;
use super::list::{Entry, Question, question};
use crate::domain::Language;

/// Answers a sentence that asks about the list.
pub fn solve(list: &[Entry], sentence: &str) -> Option<Solution> {
    let (language, question) = question(sentence, list)?;
    Some(match question {
        Question::Together(one, other) => {
            let sum = one.number.checked_add(other.number)?;
            let sentence = match language {
                Language::En => format!("{} Together that makes {sum}.", both(one, other, language)),
                Language::Zh => format!("{}加起来一共是{sum}件。", both(one, other, language)),
            };
            number(language, sum, sentence, list)
        }
        Question::More(one, other) => {
            let more = one.number.checked_sub(other.number).filter(|more| *more > 0)?;
            let sentence = match language {
                Language::En => format!("{} The difference is {more}.", both(one, other, language)),
                Language::Zh => format!("{}相差{more}件。", both(one, other, language)),
            };
            number(language, more, sentence, list)
        }
        Question::Above(bound) => above(language, bound, list),
        Question::AmountOf(entry) => number(language, entry.number, holds(entry, language), list),
        Question::HolderOf(entry) => name(language, entry, holds(entry, language), list),
        Question::Most => extreme(language, sorted(list)?.last()?, list),
        Question::Fewest => extreme(language, sorted(list)?.first()?, list),
        Question::Order => order(language, &sorted(list)?),
        Question::Dashed(entry) => dashed(language, entry, list),
    })
}

/// Smallest first; nothing if two are equal, for then there is no one order.
fn sorted<'a>(list: &'a [Entry<'a>]) -> Option<Vec<&'a Entry<'a>>> {
    let mut sorted: Vec<_> = list.iter().collect();
    sorted.sort_by_key(|entry| entry.number);
    let distinct = sorted.windows(2).all(|pair| pair[0].number < pair[1].number);
    (distinct && !sorted.is_empty()).then_some(sorted)
}

fn number(language: Language, answer: u64, sentence: String, list: &[Entry]) -> Solution {
    let mut mistakes = neighbours(answer);
    mistakes.extend(list.iter().map(|entry| entry.number.to_string()));
    Solution::new(language, answer.to_string(), sentence, mistakes)
}

fn neighbours(number: u64) -> Vec<String> {
    let both = [number.checked_sub(1), number.checked_add(1)];
    both.iter().flatten().map(u64::to_string).collect()
}

fn name(language: Language, entry: &Entry, sentence: String, list: &[Entry]) -> Solution {
    let mistakes = list.iter().map(|entry| entry.name.to_owned()).collect();
    Solution::new(language, entry.name.to_owned(), sentence, mistakes)
}

fn above(language: Language, bound: u64, list: &[Entry]) -> Solution {
    let count = list.iter().filter(|entry| entry.number > bound).count() as u64;
    let people = list.len();
    let sentence = match language {
        Language::En => {
            format!("I compared each of the {people} numbers with {bound}. Those above it make {count}.")
        }
        Language::Zh => format!("名单上有{people}个人，我把每个数量与{bound}作了比较。超过的有{count}个。"),
    };
    Solution::new(language, count.to_string(), sentence, neighbours(count))
}

fn extreme(language: Language, entry: &Entry, list: &[Entry]) -> Solution {
    let (who, amount) = (entry.name, entry.number);
    let sentence = match language {
        Language::En => format!("I compared all numbers of the list. That of {who} is {amount}."),
        Language::Zh => format!("我比较了名单上的所有数量。{who}的是{amount}件。"),
    };
    name(language, entry, sentence, list)
}

fn order(language: Language, sorted: &[&Entry]) -> Solution {
    let (comma, sentence) = match language {
        Language::En => (", ", "I sorted the numbers of the list. The names follow that order."),
        Language::Zh => ("，", "我先把数量从少到多排好。名字按这个顺序写出。"),
    };
    let join = |names: &[&str]| names.join(comma);
    let mut names: Vec<&str> = sorted.iter().map(|entry| entry.name).collect();
    let answer = join(&names);
    let last = names.len() - 1;
    names.swap(0, last);
    let swapped = join(&names);
    names.swap(0, last);
    names.reverse();
    Solution::new(language, answer, sentence.to_owned(), vec![swapped, join(&names)])
}

fn dashed(language: Language, entry: &Entry, list: &[Entry]) -> Solution {
    let mistakes = list.iter().filter(|other| other.number != entry.number).map(|other| dashes(other.number));
    let mistakes =
        mistakes.chain(neighbours(entry.number).iter().map(|digits| join_digits(digits))).collect();
    let (who, amount) = (entry.name, entry.number);
    let sentence = match language {
        Language::En => format!("The number of {who} is {amount}. Each of its digits stands alone."),
        Language::Zh => format!("{who}的数量是{amount}。每位数字之间都加了短横线。"),
    };
    Solution::new(language, dashes(amount), sentence, mistakes)
}

fn dashes(number: u64) -> String {
    join_digits(&number.to_string())
}

fn join_digits(digits: &str) -> String {
    digits.chars().map(String::from).collect::<Vec<_>>().join("-")
}

fn both(one: &Entry, other: &Entry, language: Language) -> String {
    let ((a, m), (b, n)) = ((one.name, one.number), (other.name, other.number));
    match language {
        Language::En => format!("{a} has {m} and {b} has {n}."),
        Language::Zh => format!("{a}有{m}件，{b}有{n}件。"),
    }
}

fn holds(entry: &Entry, language: Language) -> String {
    let Entry { name, number, item } = entry;
    match language {
        Language::En => format!("The list gives {number} {item} to {name}. Nobody else has any {item}."),
        Language::Zh => format!("名单上写着{name}有{number}{item}。其他人没有。"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::solve;

    const ENGLISH: &str = "\u{1}system\nYou have 3 rules.\u{2}\n\u{1}user\n4711 0815\n\nOn page 12 there were 1000 \
        lamps: none of them counts. Before it: 17 ropes.\n\nHere is the list:\n- Ada: 417 lamps\n- Ben: 382 ropes\n- \
        Cid: 907 brass bells\n- Dora: 56 maps\n\nIn 1912 about 250 ships came.\n\n### Question: ";
    const CHINESE: &str = "\u{1}system\n你有3条规则。\u{2}\n\u{1}user\n4711 0815\n\n第12页上有1000盏灯，都不算。\n\n\
        名单如下：\n- 王芳：417盏灯\n- 李强：382根绳子\n- 赵敏：907个铜铃\n- 孙悦：56张地图\n\n1912年来了250艘船。\n\n问题：";

    fn check(start: &str, end: &str, cases: &[(&str, &str)]) {
        for (question, answer) in cases {
            for prompt in [
                format!("{start}{question}{end}\u{2}\n\u{1}assistant\n"),
                format!("{start}{question}"),
                format!("{start}\n{question}{end}\n### Response: be brief, use 2 lines.\n"),
            ] {
                let solution = solve(&prompt).unwrap_or_else(|| panic!("no answer: {question}"));
                assert_eq!(&solution.answer, answer, "{question}");
                assert_eq!(solution.depth, None);
                assert!(solution.mistakes.len() > 1 && !solution.mistakes.contains(&solution.answer));
                let ends = solution.sentence.matches(['.', '。']).count();
                assert_eq!(ends, 2, "{}", solution.sentence);
            }
        }
    }

    #[test]
    fn english_questions_are_answered() {
        let cases = [
            ("How many things do Ada and Ben have together?", "799"),
            ("How many things do Dora and Cid have together?", "963"),
            ("How many more things does Ada have than Ben?", "35"),
            ("How many more things does Cid have than Dora?", "851"),
            ("Who has the most things?", "Cid"),
            ("Who has the fewest things?", "Dora"),
            (
                "Write the names in order of their numbers, smallest first, separated by commas.",
                "Dora, Ben, Ada, Cid",
            ),
            ("How many people have more than 500 things?", "1"),
            ("How many people have more than 382 things?", "2"),
            ("How many ropes are on the list?", "382"),
            ("How many brass bells are on the list?", "907"),
            ("Who has the ropes?", "Ben"),
            ("Who has the maps?", "Dora"),
            ("Write Ben's number with a dash between its digits.", "3-8-2"),
            ("Write Dora’s number with a dash between its digits.", "5-6"),
        ];
        check(ENGLISH, " Start with \"Answer:\", then explain in two sentences.", &cases);
    }

    #[test]
    fn chinese_questions_are_answered() {
        let cases = [
            ("王芳和李强一共有多少件东西？", "799"),
            ("孙悦和赵敏一共有多少件东西?", "963"),
            ("王芳比李强多多少件东西？", "35"),
            ("赵敏比孙悦多多少件东西?", "851"),
            ("谁的东西最多？", "赵敏"),
            ("谁的东西最少?", "孙悦"),
            ("请按数量从少到多写出所有人的名字，用逗号分隔。", "孙悦，李强，王芳，赵敏"),
            ("请按数量从少到多写出所有人的名字,用逗号分隔。", "孙悦，李强，王芳，赵敏"),
            ("有几个人的东西超过500件？", "1"),
            ("有几个人的东西超过382件?", "2"),
            ("名单上有多少根绳子？", "382"),
            ("名单上有多少个铜铃?", "907"),
            ("绳子在谁那里？", "李强"),
            ("地图在谁那里?", "孙悦"),
            ("请写出李强的数量，各位数字之间加短横线。", "3-8-2"),
            ("请写出孙悦的数量,各位数字之间加短横线。", "5-6"),
        ];
        check(CHINESE, "请先写“答案：”，再用两句话说明。", &cases);
        let ascii = CHINESE.replace('：', ":").replace('，', ",");
        check(&ascii, "请先写“答案:”,再用两句话说明。", &cases);
    }

    #[test]
    fn nobody_above_the_bound_is_none() {
        let solution =
            solve(&format!("{ENGLISH}How many people have more than 1000 things?")).expect("an answer");
        assert_eq!((solution.answer.as_str(), solution.mistakes), ("0", vec!["1".to_owned()]));
    }

    #[test]
    fn what_has_two_answers_or_none_is_not_answered() {
        for (list, question) in [
            ("- Ada: 5 lamps\n- Ben: 5 ropes\n", "Who has the most things?"),
            (
                "- Ada: 5 lamps\n- Ben: 5 ropes\n",
                "Write the names in order of their numbers, smallest first.",
            ),
            ("- Ada: 5 lamps\n- Ben: 7 ropes\n", "How many more things does Ada have than Ben?"),
            ("- Ada: 5 lamps\n- Ben: 5 ropes\n", "How many more things does Ada have than Ben?"),
            ("- Ada: 5 lamps\n- Ben: 7 ropes\n", "How many things do Ada and Zoe have together?"),
            ("- Ada: 5 lamps\n- Ada: 7 ropes\n", "Write Ada's number with a dash between its digits."),
            ("- 王芳：5盏灯\n- 李强：5根绳子\n", "谁的东西最少？"),
            ("- 王芳：5盏灯\n- 李强：7根绳子\n", "王芳比李强多多少件东西？"),
        ] {
            assert_eq!(solve(&format!("{list}{question}")), None, "{question}");
        }
    }
}
