//! Prose for the engine to say, in two languages.

use oorandom::Rand64;

use super::text::{is_cjk, tokens};

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

/// Writes an answer token by token, the same for the same seed.
#[derive(Debug)]
pub struct Writer {
    random: Rand64,
    chinese: bool,
    /// Words of the sentence under way, last first.
    ahead: Vec<String>,
    begun: bool,
}

impl Writer {
    /// Answers in Chinese when the prompt is mostly so.
    pub fn new(prompt: &str, seed: u64) -> Self {
        let cjk = prompt.chars().filter(|&c| is_cjk(c)).count();
        let chinese = cjk * 4 > prompt.chars().filter(|c| !c.is_whitespace()).count();
        Self { random: Rand64::new(u128::from(seed)), chinese, ahead: Vec::new(), begun: false }
    }

    /// The text of the next token; the last one ends a sentence.
    pub fn next_token(&mut self, last: bool) -> String {
        if last && self.begun {
            return if self.chinese { "。".to_owned() } else { ".".to_owned() };
        }
        if self.ahead.is_empty() {
            self.compose_sentence();
        }
        let token = self.ahead.pop().unwrap_or_default();
        if std::mem::replace(&mut self.begun, true) { token } else { token.trim_start().to_owned() }
    }

    fn compose_sentence(&mut self) {
        let sentence = if self.chinese { self.chinese_sentence() } else { self.english_sentence() };
        self.ahead = tokens(&sentence).map(str::to_owned).collect();
        self.ahead.reverse();
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
}
