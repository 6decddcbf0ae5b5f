//! What the model said, and what it should have said.

use regex::Regex;

/// So much is kept of an answer at most, and as much of the reasoning: 256 KiB together.
pub const MOST_BYTES: usize = 128 << 10;

/// So much of each is kept for a person to look at, of which the last bytes are the end.
const SHORT_BYTES: usize = 2 << 10;
const END_BYTES: usize = 512;
const GAP: &str = " … ";

/// What may be told of an answer beforehand.
#[derive(Debug, Clone)]
pub enum Expect {
    /// Nothing: only whether it is a text at all can be judged.
    Anything,
    /// This, as a word of its own.
    Text(String),
    /// These words, in this order, whatever stands between them.
    Sequence(Vec<String>),
    /// A match, given by the user.
    Pattern(Regex),
    /// About so many words, or characters in a language that does not part words.
    Length(u32),
}

/// What came.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    /// On the answer's channel; the beginning of it, if there was very much.
    pub text: String,
    /// On the channel of reasoning.
    pub thought: String,
    /// It ended because of the limit on its length.
    pub cut: bool,
    /// How many characters both had as they came, whatever is kept of them.
    pub characters: u64,
}

impl Answer {
    /// Takes out the secrets that a server quotes; it may not become longer than it may be.
    #[must_use]
    pub fn redacted(self, redact: impl Fn(&str) -> String) -> Self {
        let clean = |text: String| if text.is_empty() { text } else { bounded(redact(&text)) };
        Self { text: clean(self.text), thought: clean(self.thought), ..self }
    }

    /// Drops the texts.
    pub fn forget(&mut self) {
        (self.text, self.thought) = (String::new(), String::new());
    }

    /// Keeps of each text the beginning and the end.
    pub fn shorten(&mut self) {
        for text in [&mut self.text, &mut self.thought] {
            if text.len() > SHORT_BYTES {
                let start = beginning(text, SHORT_BYTES - GAP.len() - END_BYTES);
                *text = [start, GAP, ending(text, END_BYTES)].concat();
            }
        }
    }
}

fn bounded(text: String) -> String {
    if text.len() <= MOST_BYTES { text } else { beginning(&text, MOST_BYTES).to_owned() }
}

/// As many whole characters from the start as fit into so many bytes.
pub fn beginning(text: &str, most: usize) -> &str {
    let mut end = most.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

fn ending(text: &str, most: usize) -> &str {
    let mut start = text.len().saturating_sub(most);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    &text[start..]
}

impl PartialEq for Expect {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Anything, Self::Anything) => true,
            (Self::Text(a), Self::Text(b)) => a == b,
            (Self::Sequence(a), Self::Sequence(b)) => a == b,
            (Self::Pattern(a), Self::Pattern(b)) => a.as_str() == b.as_str(),
            (Self::Length(a), Self::Length(b)) => a == b,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: impl Into<String>) -> Answer {
        Answer { text: text.into(), thought: "why".into(), cut: true, characters: 3 }
    }

    #[test]
    fn texts_are_cut_between_characters() {
        for (most, start, end) in
            [(0, "", ""), (1, "a", ""), (2, "a", "é"), (3, "aé", "é"), (9, "aéé", "aéé")]
        {
            assert_eq!((beginning("aéé", most), ending("aéé", most)), (start, end), "{most}");
        }
    }

    #[test]
    fn a_long_text_is_shortened_to_its_start_and_its_end() {
        let mut answer = of(format!("start{}end", "é".repeat(2000)));
        answer.shorten();
        let text = &answer.text;
        assert!(text.len() <= SHORT_BYTES && text.len() > SHORT_BYTES - 4, "{}", text.len());
        assert!(text.starts_with("starté") && text.ends_with("éend"));
        assert_eq!(text.find(GAP).map(|at| text.len() - at - GAP.len()), Some(END_BYTES - 1));
        assert_eq!((&*answer.thought, answer.cut), ("why", true));
    }

    #[test]
    fn a_text_that_is_short_enough_stays_however_often_it_is_shortened() {
        for text in ["a".repeat(SHORT_BYTES), "a".repeat(SHORT_BYTES + 1)] {
            let mut once = of(text);
            once.shorten();
            let mut twice = once.clone();
            twice.shorten();
            assert_eq!((&once, once.text.len()), (&twice, SHORT_BYTES));
        }
    }

    #[test]
    fn secrets_are_taken_out_of_both_texts_within_the_bound() {
        let clean = |text: &str| text.replace('k', "[redacted]");
        let answer = Answer { text: "a k".into(), thought: "k".into(), ..Answer::default() }.redacted(clean);
        assert_eq!((&*answer.text, &*answer.thought), ("a [redacted]", "[redacted]"));
        assert_eq!(of("k".repeat(MOST_BYTES)).redacted(clean).text.len(), MOST_BYTES);
    }
}
