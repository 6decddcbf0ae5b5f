//! From tokens to an expression, by precedence.

use std::iter::Peekable;
use std::vec::IntoIter;

use super::token::{Token, tokens};
use super::{Expr, Grouping, Matcher, Selector};

/// From the loosest to the tightest.
const PRECEDENCE: [&[&str]; 6] = [
    &["or"],
    &["and", "unless"],
    &["==", "!=", "<=", "<", ">=", ">"],
    &["+", "-"],
    &["*", "/", "%", "atan2"],
    &["^"],
];

pub const COMPARISONS: &[&str] = PRECEDENCE[2];

const AGGREGATIONS: [&str; 12] = [
    "sum",
    "avg",
    "min",
    "max",
    "count",
    "group",
    "stddev",
    "stdvar",
    "topk",
    "bottomk",
    "quantile",
    "count_values",
];

/// The expression that a text is, all of it.
pub(super) fn parse(text: &str) -> Result<Expr, String> {
    let mut parser = Parser { tokens: tokens(text)?.into_iter().peekable() };
    let expr = parser.binary(0)?;
    match parser.tokens.next() {
        None => Ok(expr),
        Some(token) => Err(format!("{token:?} is left over")),
    }
}

struct Parser {
    tokens: Peekable<IntoIter<Token>>,
}

impl Parser {
    /// The operator that comes next, if it binds exactly so tightly.
    fn operator(&mut self, level: usize) -> Option<String> {
        let (Token::Word(text) | Token::Sign(text)) = self.tokens.peek()? else { return None };
        PRECEDENCE[level].contains(&text.as_str()).then(|| text.clone())
    }

    fn binary(&mut self, level: usize) -> Result<Expr, String> {
        if level == PRECEDENCE.len() {
            return self.unary();
        }
        let mut left = self.binary(level + 1)?;
        while let Some(operator) = self.operator(level) {
            self.tokens.next();
            let is_bool = self.takes_word("bool");
            for modifier in ["on", "ignoring", "group_left", "group_right"] {
                if self.takes_word(modifier) && self.tokens.peek() == Some(&sign("(")) {
                    self.labels()?;
                }
            }
            let right = self.binary(level + 1)?;
            left = Expr::Binary { operator, is_bool, sides: Box::new([left, right]) };
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Expr, String> {
        if self.takes_sign("-") || self.takes_sign("+") {
            return self.unary();
        }
        let mut expr = self.primary()?;
        loop {
            if let Some(Token::Range(text)) = self.tokens.next_if(|token| matches!(token, Token::Range(_))) {
                expr = ranged(expr, text)?;
            } else if self.takes_word("offset") {
                self.takes_sign("-");
                self.tokens.next();
            } else if self.takes_sign("@") {
                self.unary()?;
            } else {
                return Ok(expr);
            }
        }
    }

    fn primary(&mut self) -> Result<Expr, String> {
        match self.tokens.next() {
            Some(Token::Text(text)) => Ok(Expr::Literal(text)),
            Some(Token::Sign(open)) if open == "(" => {
                let inner = self.binary(0)?;
                self.needs(")")?;
                Ok(inner)
            }
            Some(Token::Sign(open)) if open == "{" => self.selector(String::new()),
            Some(Token::Word(word)) => self.word(word),
            other => Err(format!("an expression was expected, not {other:?}")),
        }
    }

    fn word(&mut self, word: String) -> Result<Expr, String> {
        if AGGREGATIONS.contains(&word.as_str()) {
            return self.aggregate(word);
        }
        if word.starts_with(|c: char| c.is_ascii_digit() || c == '$') || ["NaN", "Inf"].contains(&&*word) {
            return Ok(Expr::Literal(word));
        }
        match self.tokens.peek() {
            Some(token) if *token == sign("(") => Ok(Expr::Call { name: word, args: self.args()? }),
            Some(token) if *token == sign("{") => {
                self.tokens.next();
                self.selector(word)
            }
            _ => Ok(Expr::Selector(Selector { metric: word, matchers: Vec::new(), range: None })),
        }
    }

    fn aggregate(&mut self, name: String) -> Result<Expr, String> {
        let before = self.grouping()?;
        let args = self.args()?;
        let after = self.grouping()?;
        Ok(Expr::Aggregate { name, grouping: before.or(after), args })
    }

    fn grouping(&mut self) -> Result<Option<Grouping>, String> {
        for (word, is_without) in [("by", false), ("without", true)] {
            if self.takes_word(word) {
                return Ok(Some(Grouping { is_without, labels: self.labels()? }));
            }
        }
        Ok(None)
    }

    fn args(&mut self) -> Result<Vec<Expr>, String> {
        self.needs("(")?;
        let mut args = Vec::new();
        while !self.takes_sign(")") {
            args.push(self.binary(0)?);
            if !self.takes_sign(",") {
                self.needs(")")?;
                break;
            }
        }
        Ok(args)
    }

    /// `(a, b)`
    fn labels(&mut self) -> Result<Vec<String>, String> {
        self.needs("(")?;
        let mut labels = Vec::new();
        while !self.takes_sign(")") {
            match self.tokens.next() {
                Some(Token::Word(label)) => labels.push(label),
                Some(Token::Sign(comma)) if comma == "," => {}
                other => return Err(format!("a label was expected, not {other:?}")),
            }
        }
        Ok(labels)
    }

    /// What follows after `{`.
    fn selector(&mut self, metric: String) -> Result<Expr, String> {
        let mut matchers = Vec::new();
        while !self.takes_sign("}") {
            match (self.tokens.next(), self.tokens.next(), self.tokens.next()) {
                (Some(Token::Word(label)), Some(Token::Sign(operator)), Some(Token::Text(value))) => {
                    matchers.push(Matcher { label, operator, value });
                }
                other => return Err(format!("a matcher was expected, not {other:?}")),
            }
            self.takes_sign(",");
        }
        let named = matchers.iter().find(|matcher| matcher.label == "__name__" && matcher.operator == "=");
        let metric = named.map_or(metric, |matcher| matcher.value.clone());
        Ok(Expr::Selector(Selector { metric, matchers, range: None }))
    }

    fn takes_word(&mut self, word: &str) -> bool {
        self.tokens.next_if(|token| *token == Token::Word(word.to_owned())).is_some()
    }

    fn takes_sign(&mut self, text: &str) -> bool {
        self.tokens.next_if(|token| *token == sign(text)).is_some()
    }

    fn needs(&mut self, text: &str) -> Result<(), String> {
        if self.takes_sign(text) {
            Ok(())
        } else {
            Err(format!("{text} was expected, not {:?}", self.tokens.peek()))
        }
    }
}

fn sign(text: &str) -> Token {
    Token::Sign(text.to_owned())
}

fn ranged(expr: Expr, text: String) -> Result<Expr, String> {
    match (expr, text.split_once(':')) {
        (of, Some((range, _))) => Ok(Expr::Subquery { of: Box::new(of), range: range.trim().to_owned() }),
        (Expr::Selector(selector), None) if selector.range.is_none() => {
            Ok(Expr::Selector(Selector { range: Some(text), ..selector }))
        }
        (other, None) => Err(format!("[{text}] after {other:?}")),
    }
}
