//! Words and numbers of a text, and how one text is found in another.

use super::plain;

/// What is looked for.
#[derive(Debug)]
pub(super) struct Needle {
    tokens: Vec<Token>,
    /// For what has neither words nor numbers.
    signs: String,
}

/// How the expected words stand in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// All of them, in order.
    Whole,
    /// The first of them, in order, and no other.
    Begun,
    Other,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Token {
    value: String,
    negative: bool,
    link: Link,
}

/// What stands between a token and the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Link {
    /// The two are parts of one word or number.
    Joined,
    Dash,
    /// A dash with space around it, as between the terms of a sum.
    LooseDash,
    Apart,
}

/// Signs that may stand within a large number; a space may part two numbers as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Grouping {
    None,
    Commas,
    CommasAndSpaces,
}

impl Needle {
    pub(super) fn of(text: &str) -> Self {
        Self {
            tokens: tokens(&plain::of(text), Grouping::Commas),
            signs: plain::of(text.trim()).into_iter().collect(),
        }
    }

    /// As a word of its own.
    pub(super) fn is_in(&self, text: &str) -> bool {
        let plain = plain::of(text);
        if self.tokens.is_empty() {
            return !self.signs.is_empty() && plain.iter().collect::<String>().contains(&self.signs);
        }
        [Grouping::Commas, Grouping::CommasAndSpaces].into_iter().any(|grouping| {
            let text = tokens(&plain, grouping);
            (0..text.len()).any(|at| self.is_at(&text, at))
        })
    }

    /// The text breaks off within it.
    pub(super) fn begins_at_the_end_of(&self, text: &str) -> bool {
        let text = tokens(&plain::of(text), Grouping::Commas);
        (1..=self.tokens.len().min(text.len())).any(|length| {
            let end = &text[text.len() - length..];
            let (whole, part) = (&end[..length - 1], &end[length - 1]);
            let same = whole.iter().zip(&self.tokens).all(|(a, b)| a.value == b.value);
            same && self.tokens[length - 1].value.starts_with(&part.value)
        })
    }

    fn is_at(&self, text: &[Token], at: usize) -> bool {
        let Some(found) = text.get(at..at + self.tokens.len()) else { return false };
        let within = |token: &Token| matches!(token.link, Link::Joined | Link::Dash);
        let alone = !within(&found[0]) && !text.get(at + self.tokens.len()).is_some_and(within);
        alone
            && found[0].negative == self.tokens[0].negative
            && found.iter().zip(&self.tokens).all(|(found, wanted)| found.value == wanted.value)
            && found.iter().zip(&self.tokens).skip(1).all(|(found, wanted)| found.follows_like(wanted))
    }
}

impl Token {
    fn follows_like(&self, wanted: &Self) -> bool {
        match wanted.link {
            // Also "3 -8", where the dash looks like a minus.
            Link::Dash | Link::LooseDash => matches!(self.link, Link::Dash | Link::LooseDash),
            Link::Joined | Link::Apart => {
                self.negative == wanted.negative && !matches!(self.link, Link::Dash | Link::LooseDash)
            }
        }
    }
}

/// In which order a text has the words; where one comes again later, its first place counts.
pub(super) fn order(text: &str, words: &[String]) -> Order {
    let groupings = [Grouping::Commas, Grouping::CommasAndSpaces, Grouping::None];
    let orders = groupings.map(|grouping| order_by(text, words, grouping));
    let has = |order| orders.contains(&order);
    if has(Order::Whole) {
        Order::Whole
    } else if has(Order::Begun) {
        Order::Begun
    } else {
        Order::Other
    }
}

fn order_by(text: &str, words: &[String], grouping: Grouping) -> Order {
    let needles: Vec<_> = words.iter().map(|word| Needle::of(word)).collect();
    let twice = (1..words.len()).any(|at| words[..at].contains(&words[at]));
    let text = tokens(&plain::of(text), grouping);
    let mut seen: Vec<usize> = Vec::new();
    let mut at = 0;
    while at < text.len() {
        // The longest, because one may be the beginning of another.
        let found = (0..needles.len())
            .filter(|&index| !needles[index].tokens.is_empty() && needles[index].is_at(&text, at))
            .max_by_key(|&index| (needles[index].tokens.len(), std::cmp::Reverse(index)));
        if let Some(index) = found
            && (twice || !seen.contains(&index))
        {
            seen.push(index);
        }
        at += found.map_or(1, |index| needles[index].tokens.len());
    }
    let same = seen.iter().zip(words).all(|(&index, word)| words[index] == *word);
    match seen.len() {
        0 => Order::Other,
        _ if !same => Order::Other,
        found if found < words.len() => Order::Begun,
        _ => Order::Whole,
    }
}

fn tokens(chars: &[char], grouping: Grouping) -> Vec<Token> {
    let mut found: Vec<Token> = Vec::new();
    let (mut at, mut end) = (0, 0);
    while at < chars.len() {
        let length = token_length(chars, at, grouping);
        if length == 0 {
            at += 1;
            continue;
        }
        let gap = &chars[end..at];
        let before = (!found.is_empty()).then(|| chars[end - 1]);
        let value = value(&chars[at..at + length], gap);
        let negative = chars[at].is_ascii_digit() && is_minus(gap, before);
        let link = link(before, gap, chars[at], grouping);
        found.push(Token { value, negative, link });
        at += length;
        end = at;
    }
    found
}

/// How many characters from here make a word or a number, or none.
fn token_length(chars: &[char], at: usize, grouping: Grouping) -> usize {
    let first = chars[at];
    let count = |from: usize, is: &dyn Fn(char) -> bool| chars[from..].iter().take_while(|&&c| is(c)).count();
    if first.is_ascii_digit() {
        return number_length(&chars[at..], grouping);
    }
    if plain::is_unspaced(first) || matches!(first, '\u{2190}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}') {
        return 1;
    }
    let letters = count(at, &|c| c.is_alphanumeric() && !c.is_ascii_digit() && !plain::is_unspaced(c));
    if letters == 0 {
        return 0;
    }
    // Names such as C++ and C#.
    let signs = count(at + letters, &|c| matches!(c, '+' | '#'));
    let ends = !chars.get(at + letters + signs).is_some_and(|c| c.is_alphanumeric());
    if ends { letters + signs } else { letters }
}

fn number_length(chars: &[char], grouping: Grouping) -> usize {
    let digits = |from: usize| chars[from..].iter().take_while(|c| c.is_ascii_digit()).count();
    let parts = |c: char| match grouping {
        Grouping::None => false,
        Grouping::Commas => matches!(c, ',' | '\''),
        Grouping::CommasAndSpaces => matches!(c, ',' | '\'' | ' ' | '\u{ff0c}'),
    };
    let mut length = digits(0);
    if length <= 3 {
        while chars.get(length).is_some_and(|&c| parts(c)) && digits(length + 1) == 3 {
            length += 4;
        }
    }
    match chars.get(length) {
        Some('.') if digits(length + 1) > 0 => length + 1 + digits(length + 1),
        _ => length,
    }
}

/// A number without what does not change it.
fn value(chars: &[char], gap: &[char]) -> String {
    if !chars[0].is_ascii_digit() {
        return chars.iter().collect();
    }
    let plain: String = chars.iter().filter(|c| c.is_ascii_digit() || **c == '.').collect();
    // ".5", but not the end of a sentence.
    let bare_fraction = matches!(gap, ['.'] | [.., ' ' | '\n' | '-' | '(', '.']) && !plain.contains('.');
    let plain = if bare_fraction { format!("0.{plain}") } else { plain };
    match plain.split_once('.') {
        Some((whole, fraction)) => match fraction.trim_end_matches('0') {
            "" => whole.into(),
            fraction => format!("{whole}.{fraction}"),
        },
        None => plain,
    }
}

/// A minus stands right before its number, and not right behind something else, where it is a dash.
fn is_minus(gap: &[char], before: Option<char>) -> bool {
    let gap = match gap {
        [rest @ .., '$' | '€' | '£' | '¥' | '.'] => rest,
        gap => gap,
    };
    match (gap, before) {
        (['-'], None) | ([.., _, '-'], _) => true,
        ([], Some(before)) => before == '负',
        _ => false,
    }
}

fn link(before: Option<char>, gap: &[char], next: char, grouping: Grouping) -> Link {
    let Some(before) = before else { return Link::Apart };
    let numbers = before.is_ascii_digit() && next.is_ascii_digit();
    match gap {
        [] if plain::is_unspaced(before) || plain::is_unspaced(next) => Link::Apart,
        [] | ['_'] => Link::Joined,
        [',' | '\''] if numbers && grouping != Grouping::None => Link::Joined,
        ['.' | ':' | '/' | '*' | '^'] if numbers => Link::Joined,
        ['-'] => Link::Dash,
        ['—'] if numbers => Link::Dash,
        gap if gap.contains(&'-') && gap.iter().all(|c| matches!(c, ' ' | '-')) => Link::LooseDash,
        _ => Link::Apart,
    }
}

#[cfg(test)]
mod tests;
