//! Words for the engine to say: prose in two languages, a given text, or the same thing for ever.

use std::collections::VecDeque;

use oorandom::Rand64;

use super::text::{count, is_cjk, tokens};
use crate::domain::Language;

const SUBJECTS: &[&str] = &[
    "the service",
    "a reader",
    "this method",
    "the river",
    "our team",
    "the market",
    "each layer",
    "the teacher",
    "a small change",
    "the old bridge",
    "the first version",
    "the garden",
    "every user",
    "the committee",
];
const VERBS: &[&str] = &[
    "explains",
    "changes",
    "supports",
    "follows",
    "improves",
    "describes",
    "crosses",
    "keeps",
    "needs",
    "shows",
    "protects",
    "remembers",
    "replaces",
    "measures",
];
const OBJECTS: &[&str] = &[
    "the result",
    "a longer path",
    "the whole picture",
    "many details",
    "the next step",
    "a quiet place",
    "the main idea",
    "useful habits",
    "clear rules",
    "the daily work",
    "an open question",
    "simple tools",
    "the reasons",
    "new evidence",
];
const LINKS: &[&str] =
    &["because", "while", "so that", "although", "and then", "even when", "after which", "unless", "before"];
const CHINESE_SUBJECTS: &[&str] = &[
    "我们",
    "这个系统",
    "新的方法",
    "每位用户",
    "研究团队",
    "城市",
    "老师",
    "整个过程",
    "市场",
    "这种设计",
    "河流",
    "数据",
    "第一个版本",
    "大家",
];
const CHINESE_VERBS: &[&str] = &[
    "需要",
    "可以改善",
    "逐步说明",
    "影响着",
    "保持",
    "重新考虑",
    "支持",
    "带来",
    "提供",
    "记录了",
    "比较",
    "取决于",
];
const CHINESE_OBJECTS: &[&str] = &[
    "稳定的服务",
    "不同的看法",
    "更清楚的规则",
    "日常工作",
    "长期的结果",
    "实际情况",
    "许多细节",
    "良好的体验",
    "合理的成本",
    "下一步计划",
    "简单的工具",
    "可靠的证据",
];
const CHINESE_LINKS: &[&str] = &["，因此", "，同时", "，但是", "，并且", "，因为", "，所以"];

/// What an engine repeats that has lost its way.
const LOOPS: &[&str] = &["!", " and then it goes on,"];
const CHINESE_LOOPS: &[&str] = &["！", "然后我们继续，"];

/// A story ends with the sentence that brings it this near to its length; half a sentence, in words.
const NEAR_ENOUGH: usize = 6;

/// Writes an answer token by token, the same for the same seed.
#[derive(Debug)]
pub struct Writer {
    random: Rand64,
    language: Language,
    /// Tokens that come before any prose.
    script: VecDeque<String>,
    /// The script comes again and again.
    endless: bool,
    /// Words of the sentence under way, last first.
    ahead: Vec<String>,
    begun: bool,
}

impl Writer {
    /// Answers in Chinese when the prompt is mostly so.
    pub fn new(prompt: &str, seed: u64) -> Self {
        let cjk = prompt.chars().filter(|&c| is_cjk(c)).count();
        let chinese = cjk * 4 > prompt.chars().filter(|c| !c.is_whitespace()).count();
        let language = if chinese { Language::Zh } else { Language::En };
        Self {
            random: Rand64::new(u128::from(seed)),
            language,
            script: VecDeque::new(),
            endless: false,
            ahead: Vec::new(),
            begun: false,
        }
    }

    /// Whatever the prompt is mostly written in.
    pub fn speak(&mut self, language: Language) {
        self.language = language;
    }

    /// Says this first; gives its tokens.
    pub fn say(&mut self, text: &str) -> u32 {
        self.script = tokens(text).map(str::to_owned).collect();
        u32::try_from(self.script.len()).unwrap_or(u32::MAX)
    }

    /// Says the same short thing as long as it may.
    pub fn repeat(&mut self) {
        let phrase = self.pick(match self.language {
            Language::En => LOOPS,
            Language::Zh => CHINESE_LOOPS,
        });
        self.say(phrase);
        self.endless = true;
    }

    /// Whole sentences, at least one, of about so many words or Chinese characters; none begins after so many tokens.
    pub fn prose(&mut self, length: u32, most_tokens: u32) -> String {
        let mut text = String::new();
        let (mut words, mut tokens) = (0, 0);
        while text.is_empty() || (words + NEAR_ENOUGH < length as usize && tokens < most_tokens) {
            let sentence = self.sentence();
            words += match self.language {
                Language::En => sentence.split_whitespace().count(),
                Language::Zh => sentence.chars().filter(|&c| is_cjk(c)).count(),
            };
            tokens += count(&sentence);
            text.push_str(&sentence);
        }
        text.trim_start().to_owned()
    }

    /// The text of the next token; the last one ends a sentence.
    pub fn next_token(&mut self, last: bool) -> String {
        let token = if let Some(token) = self.script.pop_front() {
            if self.endless {
                self.script.push_back(token.clone());
            }
            token
        } else if last && self.begun {
            match self.language {
                Language::En => ".".to_owned(),
                Language::Zh => "。".to_owned(),
            }
        } else {
            self.next_of_prose()
        };
        if std::mem::replace(&mut self.begun, true) { token } else { token.trim_start().to_owned() }
    }

    fn next_of_prose(&mut self) -> String {
        if self.ahead.is_empty() {
            self.ahead = tokens(&self.sentence()).map(str::to_owned).collect();
            self.ahead.reverse();
        }
        self.ahead.pop().unwrap_or_default()
    }

    fn sentence(&mut self) -> String {
        match self.language {
            Language::En => self.english_sentence(),
            Language::Zh => self.chinese_sentence(),
        }
    }

    fn chinese_sentence(&mut self) -> String {
        let mut sentence = String::new();
        for clause in 0..=self.random.rand_range(0..3) {
            if clause > 0 {
                sentence.push_str(self.pick(CHINESE_LINKS));
            }
            for words in [CHINESE_SUBJECTS, CHINESE_VERBS, CHINESE_OBJECTS] {
                sentence.push_str(self.pick(words));
            }
        }
        sentence.push('。');
        sentence
    }

    fn english_sentence(&mut self) -> String {
        let mut sentence = String::from(" ");
        let opening = self.pick(SUBJECTS);
        sentence.push_str(&opening[..1].to_uppercase());
        sentence.push_str(&opening[1..]);
        for clause in 0..=self.random.rand_range(0..3) {
            if clause > 0 {
                for words in [LINKS, SUBJECTS] {
                    sentence.push(' ');
                    sentence.push_str(self.pick(words));
                }
            }
            for words in [VERBS, OBJECTS] {
                sentence.push(' ');
                sentence.push_str(self.pick(words));
            }
        }
        sentence.push('.');
        sentence
    }

    fn pick(&mut self, words: &'static [&'static str]) -> &'static str {
        words[self.random.rand_range(0..words.len() as u64) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answer_repeats_with_its_seed_and_is_not_degenerate() {
        let write = |seed| {
            let mut writer = Writer::new("Tell me more.", seed);
            (0..200).map(|n| writer.next_token(n == 199)).collect::<String>()
        };
        assert_eq!(write(5), write(5));
        assert_ne!(write(5), write(6));
        let text = write(5);
        let distinct: std::collections::HashSet<&str> = text.split_whitespace().collect();
        assert!(distinct.len() > 30, "{text}");
        assert!(text.ends_with('.'));
    }

    #[test]
    fn given_text_comes_first_and_whole_then_prose() {
        let mut writer = Writer::new("Tell me more.", 5);
        let length = writer.say("Answer: 42\nSo it is.");
        let text: String = (1..=length).map(|n| writer.next_token(n == length)).collect();
        assert_eq!(text, "Answer: 42\nSo it is.");
        let more: String = (0..40).map(|n| writer.next_token(n == 39)).collect();
        assert!(more.starts_with(' ') && more.ends_with('.'), "{more}");
    }

    #[test]
    fn prose_has_about_the_length_asked_for() {
        for seed in 0..50 {
            let mut writer = Writer::new("", seed);
            for words in [1, 40, 300, 2000] {
                let written = writer.prose(words, u32::MAX).split_whitespace().count();
                assert!(written.abs_diff(words as usize) <= 22, "{words}: {written}");
            }
            writer.speak(Language::Zh);
            for characters in [1, 40, 300, 2000] {
                let text = writer.prose(characters, u32::MAX);
                let written = text.chars().filter(|&c| is_cjk(c)).count();
                assert!(written.abs_diff(characters as usize) <= 60, "{characters}: {written}");
            }
            assert!(count(&writer.prose(u32::MAX, 100)) < 160);
        }
    }

    #[test]
    fn repeating_writer_never_says_anything_new() {
        let said: std::collections::HashSet<String> = (0..20)
            .map(|seed| {
                let mut writer = Writer::new("", seed);
                writer.repeat();
                (0..60).map(|_| writer.next_token(false)).collect()
            })
            .collect();
        let expected = ["!".repeat(60), "and then it goes on, ".repeat(10).trim_end().to_owned()];
        assert_eq!(said, expected.into());
    }
}
