//! What a writer of a format is told: families, and after each its series.

use std::time::SystemTime;

use super::{Exemplar, Histogram, Labels};
use crate::catalogue::{Family, Kind};

/// A family as its header tells it.
#[derive(Debug, Clone, Copy)]
pub struct Meta<'a> {
    pub name: &'a str,
    pub kind: Kind,
    pub help: &'a str,
}

impl From<&Family> for Meta<'static> {
    fn from(family: &Family) -> Self {
        Self { name: family.name, kind: family.kind, help: family.help }
    }
}

/// What one series shows.
#[derive(Debug, Clone, Copy)]
pub enum Value<'a> {
    Counter {
        count: f64,
        /// When it was 0; not known of what others count.
        created: Option<SystemTime>,
        exemplar: Option<&'a Exemplar>,
    },
    Gauge(f64),
    Histogram(&'a Histogram),
}

pub trait Writer {
    /// What follows belongs to this family. One that no series follows is not written.
    fn family(&mut self, family: Meta<'_>);

    /// A series: its own labels come before those that it shares with others.
    fn series(&mut self, own: &[(&str, &str)], shared: &Labels, value: Value<'_>);
}
