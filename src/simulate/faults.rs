//! What can go wrong on purpose, and how often.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use oorandom::Rand64;
use serde::{Deserialize, Serialize};

use super::cost::Slowdown;
use super::model::Stall;

mod kind;

pub use kind::{FaultKind, HttpError, KNOWN};

/// A fault with how often it strikes.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "Written")]
pub struct Fault {
    /// What happens.
    pub kind: FaultKind,
    /// Share of requests that it strikes, 0 to 1.
    pub share: f64,
    /// It ends after so many requests.
    pub count: Option<u64>,
}

/// A fault that cannot be understood; the message says what to write instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadFault(String);

impl BadFault {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl From<FaultKind> for Fault {
    fn from(kind: FaultKind) -> Self {
        Self { kind, share: 1.0, count: None }
    }
}

/// `NAME[=VALUE][,share=0..1][,count=N]`
impl FromStr for Fault {
    type Err = BadFault;

    fn from_str(text: &str) -> Result<Self, BadFault> {
        let mut parts = text.split(',');
        let kind: FaultKind = parts.next().unwrap_or_default().trim().parse()?;
        let mut fault = Self::from(kind);
        for part in parts {
            match part.trim().split_once('=') {
                Some(("share", share)) => fault.share = share.parse().unwrap_or(-1.0),
                Some(("count", count)) => {
                    let count = count.parse().map_err(|_| {
                        BadFault::new(format!("count must be a whole number, not \"{count}\": write count=3"))
                    })?;
                    fault.count = Some(count);
                }
                _ => {
                    return Err(BadFault::new(format!(
                        "\"{part}\" is not understood: after the fault only share=0..1 and count=N may follow"
                    )));
                }
            }
        }
        fault.check()
    }
}

impl Fault {
    fn check(self) -> Result<Self, BadFault> {
        if !(0.0..=1.0).contains(&self.share) {
            return Err(BadFault::new("share must be between 0 and 1: write share=0.1 for one in ten"));
        }
        let partial = self.share < 1.0 || self.count.is_some();
        if partial && self.kind.is_engine_wide() {
            return Err(BadFault::new(format!(
                "{} changes the whole engine: it takes no share and no count",
                self.kind.name()
            )));
        }
        Ok(self)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.kind)?;
        if self.share < 1.0 {
            write!(f, ",share={}", self.share)?;
        }
        self.count.map_or(Ok(()), |count| write!(f, ",count={count}"))
    }
}

impl Serialize for Fault {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A fault as JSON: the line of the command line, or its parts.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Written {
    Line(String),
    Parts { fault: String, share: Option<f64>, count: Option<u64> },
}

impl TryFrom<Written> for Fault {
    type Error = BadFault;

    fn try_from(written: Written) -> Result<Self, BadFault> {
        match written {
            Written::Line(line) => line.parse(),
            Written::Parts { fault, share, count } => {
                let fault: Self = fault.parse()?;
                Self { share: share.unwrap_or(fault.share), count: count.or(fault.count), ..fault }.check()
            }
        }
    }
}

/// The faults in force.
#[derive(Debug)]
pub struct Faults {
    all: Vec<Fault>,
    random: Rand64,
}

impl Faults {
    /// These, drawn with this seed.
    pub fn new(all: Vec<Fault>, seed: u64) -> Self {
        Self { all, random: Rand64::new(u128::from(seed) ^ 0xfa17) }
    }

    /// Replaces all.
    pub fn set(&mut self, all: Vec<Fault>) {
        self.all = all;
    }

    /// Those in force now.
    pub fn all(&self) -> &[Fault] {
        &self.all
    }

    /// What the engine suffers.
    pub fn slowdown(&self) -> Slowdown {
        let mut slow = Slowdown::default();
        for fault in &self.all {
            match fault.kind {
                FaultKind::SlowPrefill(factor) => slow.prefill *= factor,
                FaultKind::SlowDecode(factor) => slow.decode *= factor,
                _ => {}
            }
        }
        slow
    }

    /// The version that a fault claims.
    pub fn version(&self) -> Option<&str> {
        self.all.iter().rev().find_map(|fault| match &fault.kind {
            FaultKind::Version(version) | FaultKind::Upgrade(version) => Some(version.as_str()),
            _ => None,
        })
    }

    /// Whether the connection just accepted is to be closed at once.
    pub fn strikes_connection(&mut self) -> bool {
        !self.draw(|kind| *kind == FaultKind::RefuseConnection).is_empty()
    }

    /// What strikes the request that just came.
    pub fn strike_request(&mut self) -> Strikes {
        // An upgrade is engine-wide, but its delay is each request's own.
        Strikes(self.draw(|kind| {
            matches!(kind, FaultKind::Upgrade(_))
                || (!kind.is_engine_wide() && *kind != FaultKind::RefuseConnection)
        }))
    }

    fn draw(&mut self, eligible: impl Fn(&FaultKind) -> bool) -> Vec<FaultKind> {
        let mut struck = Vec::new();
        for fault in &mut self.all {
            let exhausted = fault.count == Some(0);
            let spared = |random: &mut Rand64| fault.share < 1.0 && random.rand_float() >= fault.share;
            if !eligible(&fault.kind) || exhausted || spared(&mut self.random) {
                continue;
            }
            fault.count = fault.count.map(|left| left - 1);
            struck.push(fault.kind.clone());
        }
        struck
    }
}

/// The faults that strike one request.
#[derive(Debug, Clone, Default)]
pub struct Strikes(Vec<FaultKind>);

/// How much later the first token of an upgraded engine comes.
const UPGRADE_FACTOR: f64 = 1.4;

impl Strikes {
    /// All of them.
    pub fn all(&self) -> &[FaultKind] {
        &self.0
    }

    /// Whether this one is among them.
    pub fn has(&self, kind: &FaultKind) -> bool {
        self.0.contains(kind)
    }

    /// The factor on the time to the first token.
    pub fn first_token_factor(&self) -> f64 {
        let factors = self.0.iter().map(|kind| match kind {
            FaultKind::SlowFirstToken(factor) => *factor,
            FaultKind::Upgrade(_) => UPGRADE_FACTOR,
            _ => 1.0,
        });
        factors.product()
    }

    /// The pause of this answer.
    pub fn stall(&self) -> Option<Stall> {
        self.0.iter().find_map(|kind| match *kind {
            FaultKind::Stall { lasting, after_tokens } => Some(Stall { after_tokens, lasting }),
            _ => None,
        })
    }

    /// The HTTP error that this request gets instead of an answer.
    pub fn http_error(&self) -> Option<(HttpError, Option<Duration>)> {
        self.0.iter().find_map(|kind| match *kind {
            FaultKind::Http { error, retry_after } => Some((error, retry_after)),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fault_reads_back_as_it_was_written() {
        for text in
            ["slow-prefill=1.4", "stall=2s@20,share=0.1", "http-503=30,count=3", "upgrade=0.33.0", "html"]
        {
            let fault: Fault = text.parse().expect("a known fault");
            assert_eq!(fault.to_string(), text);
        }
    }

    #[test]
    fn count_ends_a_fault_and_share_thins_it() {
        let parse = |text: &str| text.parse::<Fault>().expect("a known fault");
        let mut faults = Faults::new(vec![parse("html,count=2"), parse("http-500,share=0.2")], 1);
        let struck: Vec<Strikes> = (0..1000).map(|_| faults.strike_request()).collect();
        assert_eq!(struck.iter().filter(|strikes| strikes.has(&FaultKind::Html)).count(), 2);
        let errors = struck.iter().filter(|strikes| strikes.http_error().is_some()).count();
        assert!((150..250).contains(&errors), "{errors}");
    }

    #[test]
    fn share_on_an_engine_wide_fault_is_refused() {
        let error = "slow-decode=2,share=0.5".parse::<Fault>().expect_err("no share").to_string();
        assert_eq!(error, "slow-decode changes the whole engine: it takes no share and no count");
    }
}
