//! Words, texts, ranges and signs.

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    /// A name, a number, a duration or a variable.
    Word(String),
    Text(String),
    /// What stands between `[` and `]`.
    Range(String),
    Sign(String),
}

const SIGNS: [&str; 23] = [
    "==", "!=", "=~", "!~", ">=", "<=", "(", ")", "{", "}", ",", "+", "-", "*", "/", "%", "^", ">", "<", "=",
    "@", ":", ";",
];

pub(super) fn tokens(text: &str) -> Result<Vec<Token>, String> {
    let mut found = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '"' | '\'' | '`' => {
                let end = end_of_text(rest, first).ok_or_else(|| format!("a text without end: {rest}"))?;
                found.push(Token::Text(unescaped(&rest[1..end], first)));
                end + 1
            }
            '[' => {
                let end = rest.find(']').ok_or_else(|| format!("a range without end: {rest}"))?;
                found.push(Token::Range(rest[1..end].trim().to_owned()));
                end + 1
            }
            '#' => rest.find('\n').unwrap_or(rest.len()),
            _ => {
                let token = word_or_sign(rest).ok_or_else(|| format!("not understood: {rest}"))?;
                let length = match &token {
                    Token::Word(text) | Token::Sign(text) | Token::Text(text) | Token::Range(text) => {
                        text.len()
                    }
                };
                found.push(token);
                length
            }
        };
        rest = rest[length..].trim_start();
    }
    Ok(found)
}

fn word_or_sign(rest: &str) -> Option<Token> {
    let braced = rest.strip_prefix("${").and_then(|inner| inner.find('}')).map(|end| end + 3);
    let is_part = |c: char| c.is_alphanumeric() || "_:.$".contains(c);
    let length = braced.unwrap_or_else(|| rest.find(|c| !is_part(c)).unwrap_or(rest.len()));
    if length > 0 && !rest.starts_with(':') {
        return Some(Token::Word(rest[..length].to_owned()));
    }
    SIGNS.iter().find(|sign| rest.starts_with(**sign)).map(|sign| Token::Sign((*sign).to_owned()))
}

fn end_of_text(text: &str, quote: char) -> Option<usize> {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        if c == quote && !escaped {
            return Some(at);
        }
        escaped = c == '\\' && !escaped && quote != '`';
    }
    None
}

fn unescaped(text: &str, quote: char) -> String {
    if quote == '`' {
        return text.to_owned();
    }
    text.replace("\\\"", "\"").replace("\\'", "'").replace("\\\\", "\\")
}
