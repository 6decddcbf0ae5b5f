//! The words that every other module speaks: plain values, no I/O, no clock of their own.

pub mod answer;
pub mod clock;
pub mod extra;
pub mod failure;
pub mod field;
#[cfg(test)]
pub(crate) mod fixture;
pub mod identity;
pub mod kept;
pub mod lengths;
pub mod prompt;
pub mod release;
pub mod report;
pub mod room;
pub mod sample;
pub mod secret;
pub mod seed;
pub mod skip;
pub mod slo;
pub mod target;
pub mod timeline;
pub mod times;
pub mod tokens;
pub mod workload;

pub use answer::{Answer, Expect};
pub use extra::{Extra, Reasoning};
pub use failure::{Failure, Fault};
pub use field::{Field, Fields};
pub use identity::Identity;
pub use kept::Kept;
pub use lengths::Lengths;
pub use prompt::{Depth, Prompt, Role, Turn};
pub use release::{Makeup, Release, ReleaseId};
pub use report::{Report, Verdict};
pub use room::{Lesson, Room};
pub use sample::Sample;
pub use secret::Secret;
pub use seed::Seed;
pub use skip::Skip;
pub use slo::{Goal, Measure, Objective, Slo};
pub use target::{Api, Connection, Engine, Header, HeaderValue, Limits, Price, Rate, Share, Target};
pub use timeline::{Channel, Delta, Timeline};
pub use times::ServerTimes;
pub use tokens::{TokenSource, Tokens};
pub use workload::{Cache, Kind, Language, Question, Timeouts, Workload};
