//! Reads a prompt as a model would: finds what is asked, and the answer in the text around it.
//!
//! Only the words count. Where they allow two answers there is none, so that a prompt which can be read in two
//! ways is noticed by whoever solves it.

mod facts;
mod list;
mod reckon;

use crate::domain::Language;

/// What is asked, with its answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Solution {
    /// Alone, for example `799`.
    pub answer: String,
    /// Two short ones that explain it.
    pub sentence: String,
    /// Of the question.
    pub language: Language,
    /// What the answer is to begin with, for example `Answer:`.
    pub lead: String,
    /// Answers that would look right and are not.
    pub mistakes: Vec<String>,
    /// Where in the prompt the fact lies that answers, 0 to 1; a list has no such place.
    pub depth: Option<f64>,
}

/// A story to go on with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Story {
    /// In words, or in characters where words are not parted.
    pub length: u32,
    /// Of the request.
    pub language: Language,
}

/// What a prompt wants.
#[derive(Debug, Clone, PartialEq)]
pub enum Reading {
    /// An answer.
    Solved(Solution),
    /// Prose.
    Story(Story),
}

/// The answer to the last question that the prompt itself answers.
pub fn solve(prompt: &str) -> Option<Solution> {
    match read(prompt)? {
        Reading::Solved(solution) => Some(solution),
        Reading::Story(_) => None,
    }
}

/// What the prompt wants last.
pub fn read(prompt: &str) -> Option<Reading> {
    let list = list::last_list(prompt);
    sentences_from_the_end(prompt).find_map(|(before, sentence)| {
        if let Some(story) = story(sentence) {
            return Some(Reading::Story(story));
        }
        let mut solution = facts::solve(prompt, sentence).or_else(|| reckon::solve(&list, sentence))?;
        let after = &prompt[before.len()..];
        solution.lead = lead(after, solution.language);
        Some(Reading::Solved(solution))
    })
}

impl Solution {
    fn new(language: Language, answer: String, sentence: String, mut mistakes: Vec<String>) -> Self {
        // Whoever looks for the right answer must not find it within a wrong one.
        mistakes.retain(|mistake| !mistake.contains(&answer));
        Self { answer, sentence, language, lead: String::new(), mistakes, depth: None }
    }

    /// The answer in the form that was asked for.
    pub fn text(&self) -> String {
        self.form(&self.answer, &self.sentence)
    }

    /// The same with a mistake, and words that do not give the right answer away.
    pub fn wrong_text(&self, choice: u64) -> String {
        let (unknown, sentence) = match self.language {
            Language::En => ("unknown", "This follows from the text above. It needs no further steps."),
            Language::Zh => ("不知道", "这是根据上面的内容得出的。不需要其他步骤。"),
        };
        let count = self.mistakes.len().max(1) as u64;
        let mistake = self.mistakes.get((choice % count) as usize).map_or(unknown, String::as_str);
        self.form(mistake, sentence)
    }

    fn form(&self, answer: &str, sentence: &str) -> String {
        match self.language {
            Language::En => format!("{} {answer}\n{sentence}", self.lead),
            Language::Zh => format!("{}{answer}\n{sentence}", self.lead),
        }
    }
}

/// What stands between the ends of sentences and lines, last first, each with the text before it.
fn sentences_from_the_end(prompt: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut rest = Some(prompt);
    std::iter::from_fn(move || {
        let text = rest?;
        let end = text.char_indices().rev().find(|(_, c)| matches!(c, '.' | '?' | '。' | '？' | '\n'));
        let start = end.map_or(0, |(at, c)| at + c.len_utf8());
        rest = end.map(|(at, _)| &text[..at]);
        Some((&text[..start], text[start..].trim()))
    })
}

fn story(sentence: &str) -> Option<Story> {
    let (language, rest, unit) =
        if let Some((_, rest)) = sentence.split_once("Go on with this story for about ") {
            (Language::En, rest, " words")
        } else {
            let (_, rest) = sentence.split_once("故事接着写下去")?;
            (Language::Zh, rest.split_once("大约")?.1, "字")
        };
    let (number, after) = leading_number(rest)?;
    after.starts_with(unit).then_some(Story { length: u32::try_from(number).ok()?, language })
}

/// What the request that follows the question wants the answer to begin with.
fn lead(after: &str, language: Language) -> String {
    let (opening, closing, usual) = match language {
        Language::En => ("Start with \"", '"', "Answer:"),
        Language::Zh => ("请先写“", '”', "答案："),
    };
    let asked = after.split_once(opening).and_then(|(_, rest)| rest.split_once(closing));
    asked.map_or(usual, |(lead, _)| lead).to_owned()
}

/// The digits that a text begins with, as a number, and what follows them.
fn leading_number(text: &str) -> Option<(u64, &str)> {
    let (digits, rest) = leading_digits(text)?;
    Some((digits.parse().ok()?, rest))
}

/// The digits that a text begins with, and what follows them.
fn leading_digits(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    (end > 0).then(|| text.split_at(end))
}

/// What a sentence that ends with `closing` has after the last `opening`.
fn between<'a>(sentence: &'a str, opening: &str, closing: &str) -> Option<&'a str> {
    sentence.rsplit_once(opening)?.1.strip_suffix(closing)
}

/// Nothing if there is none or more than one.
fn the_only<T>(mut found: impl Iterator<Item = T>) -> Option<T> {
    let first = found.next()?;
    found.next().is_none().then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_come_last_first_and_join_to_the_prompt() {
        let prompt = "One. Two?\n三。Four";
        let sentences: Vec<_> = sentences_from_the_end(prompt).collect();
        assert_eq!(
            sentences.iter().map(|(_, sentence)| *sentence).collect::<Vec<_>>(),
            ["Four", "三", "", "Two", "One"]
        );
        assert_eq!(sentences[0].0, "One. Two?\n三。");
        assert_eq!(sentences.last().map(|(before, _)| *before), Some(""));
    }

    #[test]
    fn story_is_read_in_both_languages_and_has_no_solution() {
        let english = "It rained for 40 days. Go on with this story for about 300 words.\u{2}\n";
        let chinese = "雨下了40天。请把这个故事接着写下去，大约500字。";
        let ascii = "雨下了40天。请把这个故事接着写下去,大约500字。";
        for (prompt, length, language) in
            [(english, 300, Language::En), (chinese, 500, Language::Zh), (ascii, 500, Language::Zh)]
        {
            assert_eq!(read(prompt), Some(Reading::Story(Story { length, language })));
            assert_eq!(solve(prompt), None);
        }
    }

    #[test]
    fn nothing_is_read_into_other_prompts() {
        for prompt in [
            "",
            "Tell me about bridges and rivers, please.",
            "How many roads must a man walk down?",
            "Who has the ropes?",
            "Go on with this story for about a while.",
            "王芳和李强一共有多少件东西？",
            "红隼仓库的门禁码是多少？",
            "What is the access code of depot Kestrel?",
        ] {
            assert_eq!(read(prompt), None, "{prompt}");
        }
    }

    const LIST: &str = "Here is the list:\n- Ada: 417 lamps\n- Ben: 382 ropes\n- Cid: 90 bells\n";

    #[test]
    fn last_question_counts_whatever_its_kind() {
        let first = format!("{LIST}\nWho has the ropes? Start with \"Answer:\", then explain.");
        assert_eq!(solve(&first).map(|solution| solution.answer), Some("Ben".into()));
        let second = format!("{first}\nAnswer: Ben\n\n{LIST}\nWho has the bells?");
        assert_eq!(solve(&second).map(|solution| solution.answer), Some("Cid".into()));
        let third = format!(
            "{second}\nThe access code of depot Kestrel is 48213. What is the access code of depot Kestrel?"
        );
        assert_eq!(solve(&third).map(|solution| solution.answer), Some("48213".into()));
        let fourth = format!("{third}\nGo on with this story for about 20 words.");
        assert!(matches!(read(&fourth), Some(Reading::Story(_))));
    }

    #[test]
    fn answer_has_the_form_that_was_asked_for() {
        let text = |prompt: String| solve(&prompt).expect("a question with an answer").text();
        let english =
            text(format!("{LIST}Who has the ropes? Start with \"Answer:\", then explain in two sentences."));
        assert_eq!(english, "Answer: Ben\nThe list gives 382 ropes to Ben. Nobody else has any ropes.");
        assert!(
            text(format!("{LIST}Who has the ropes? Start with \"Result =\".")).starts_with("Result = Ben\n")
        );
        assert!(text(format!("{LIST}Who has the ropes?")).starts_with("Answer: Ben\n"));
        let list = "名单如下：\n- 王芳：417盏灯\n- 李强：382根绳子\n";
        let chinese = text(format!("{list}绳子在谁那里？请先写“答案：”，再用两句话说明。"));
        assert!(chinese.starts_with("答案：李强\n"), "{chinese}");
        let chinese = text(format!("{list}绳子在谁那里?请先写“答案:”,再用两句话说明。"));
        assert!(chinese.starts_with("答案:李强\n"), "{chinese}");
    }

    #[test]
    fn wrong_text_never_holds_the_right_answer() {
        for question in [
            "How many things do Ada and Ben have together?",
            "How many more things does Ada have than Ben?",
            "Who has the most things?",
            "Who has the fewest things?",
            "Write the names in order of their numbers, smallest first, separated by commas.",
            "How many people have more than 100 things?",
            "How many ropes are on the list?",
            "Who has the ropes?",
            "Write Ben's number with a dash between its digits.",
        ] {
            let solution = solve(&format!("{LIST}{question}")).expect("a question with an answer");
            assert!(!solution.mistakes.is_empty(), "{question}");
            for choice in 0..10 {
                let wrong = solution.wrong_text(choice);
                assert!(!wrong.contains(&solution.answer) && wrong.starts_with("Answer: "), "{wrong}");
            }
        }
    }

    #[test]
    fn who_knows_no_mistake_says_so() {
        let solution = solve("- Ada: 4 lamps\nWho has the lamps?").expect("a question with an answer");
        assert!(solution.wrong_text(3).starts_with("Answer: unknown\n"));
    }
}
