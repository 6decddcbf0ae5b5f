//! The closed set of ways in which a probe fails.

/// Exactly one of these describes a failed probe: the first that applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Failure {
    Dns,
    Connect,
    Tls,
    TimeoutFirstToken,
    TimeoutStall,
    TimeoutTotal,
    Auth,
    RateLimited,
    Rejected,
    ServerError,
    InBand,
    Truncated,
    Empty,
    Malformed,
}

/// A failure with what the log says about it; the detail never becomes a label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub failure: Failure,
    pub detail: String,
    /// The probe waited in vain. Nobody stated this failure: a host that stands still runs out of patience by itself.
    pub timed_out: bool,
}

impl Failure {
    pub const ALL: [Self; 14] = [
        Self::Dns,
        Self::Connect,
        Self::Tls,
        Self::TimeoutFirstToken,
        Self::TimeoutStall,
        Self::TimeoutTotal,
        Self::Auth,
        Self::RateLimited,
        Self::Rejected,
        Self::ServerError,
        Self::InBand,
        Self::Truncated,
        Self::Empty,
        Self::Malformed,
    ];

    pub fn label(self) -> &'static str {
        match self {
            Self::Dns => "dns",
            Self::Connect => "connect",
            Self::Tls => "tls",
            Self::TimeoutFirstToken => "timeout_first_token",
            Self::TimeoutStall => "timeout_stall",
            Self::TimeoutTotal => "timeout_total",
            Self::Auth => "auth",
            Self::RateLimited => "rate_limited",
            Self::Rejected => "rejected",
            Self::ServerError => "server_error",
            Self::InBand => "in_band",
            Self::Truncated => "truncated",
            Self::Empty => "empty",
            Self::Malformed => "malformed",
        }
    }

    /// A fault of this kind, with whatever the server said.
    pub fn because(self, detail: impl Into<String>) -> Fault {
        Fault { failure: self, detail: detail.into(), timed_out: false }
    }
}

impl Fault {
    /// The same, because the probe waited in vain.
    #[must_use]
    pub fn after_waiting(self) -> Self {
        Self { timed_out: true, ..self }
    }

    /// Makes the detail fit for a log line. Secrets are taken out first: after the cut, half of one that
    /// was quoted at its place would stay.
    #[must_use]
    pub fn made_quotable(self, redact: impl FnOnce(&str) -> String) -> Self {
        Self { detail: quotable(&redact(&self.detail)), ..self }
    }
}

/// The longest detail kept of what a server said.
const MAX_DETAIL_CHARS: usize = 300;

/// One bounded line: white space of any length and kind is one space, control characters are escaped, the
/// rest is cut with an ellipsis.
fn quotable(text: &str) -> String {
    let mut line = String::new();
    let mut count = 0;
    for (index, word) in text.split_whitespace().enumerate() {
        let space = (index > 0).then_some(' ');
        for c in space.into_iter().chain(word.chars()) {
            if count == MAX_DETAIL_CHARS {
                line.push('…');
                return line;
            }
            count += 1;
            if c.is_control() { line.extend(c.escape_default()) } else { line.push(c) }
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_distinct_and_all_are_listed() {
        let labels: std::collections::BTreeSet<_> = Failure::ALL.iter().map(|f| f.label()).collect();
        assert_eq!(labels.len(), Failure::ALL.len());
    }

    #[test]
    fn details_are_one_bounded_line_without_control_characters() {
        let fault = Failure::InBand.because(format!("\na\r\n\t b\u{1b}[31m{}", "x".repeat(1000)));
        let fault = fault.made_quotable(str::to_owned);
        assert!(fault.detail.starts_with("a b\\u{1b}[31mxxx"), "{}", fault.detail);
        assert!(fault.detail.ends_with('…'));
        assert!(fault.detail.chars().count() < 320);
    }

    #[test]
    fn a_secret_at_the_cut_is_redacted_whole() {
        let fault = Failure::Auth.because(format!("{}hunter2", "x".repeat(MAX_DETAIL_CHARS - 4)));
        let fault = fault.made_quotable(|text| text.replace("hunter2", "***"));
        assert!(fault.detail.ends_with("x***"), "{}", fault.detail);
    }
}
