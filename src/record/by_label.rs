//! One family's values of a place, by a label with a closed set of values.

use std::sync::Mutex;
use std::time::SystemTime;

use super::lock;
use super::page::Page;
use crate::catalogue::Label;
use crate::series::{Counter, Exemplar, Stated};

#[derive(Debug)]
pub(super) struct ByLabel<T> {
    name: &'static str,
    values: Vec<(&'static str, T)>,
}

/// A counter that remembers the newest probe that it counted.
#[derive(Debug, Default)]
pub(super) struct Traced {
    count: Counter,
    newest: Mutex<Option<Box<Exemplar>>>,
}

impl<T: Default> ByLabel<T> {
    pub(super) fn new(label: Label) -> Self {
        let values = label.values().into_iter().map(|value| (value, T::default())).collect();
        Self { name: label.name().unwrap_or_default(), values }
    }
}

impl<T> ByLabel<T> {
    /// The label and each of its values, with what it has.
    pub(super) fn iter(&self) -> impl Iterator<Item = ((&'static str, &'static str), &T)> {
        self.values.iter().map(|(value, of)| ((self.name, *value), of))
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.values.iter_mut().map(|(_, of)| of)
    }

    pub(super) fn get(&self, value: &str) -> Option<&T> {
        self.values.iter().find(|(known, _)| *known == value).map(|(_, of)| of)
    }

    pub(super) fn get_mut(&mut self, value: &str) -> Option<&mut T> {
        self.values.iter_mut().find(|(known, _)| *known == value).map(|(_, of)| of)
    }
}

impl ByLabel<Counter> {
    pub(super) fn add(&self, value: &str, count: u64) {
        if let Some(counter) = self.get(value) {
            counter.add(count);
        }
    }

    pub(super) fn show(&self, page: &mut Page<'_>) {
        for (label, counter) in self.iter() {
            page.counter(&[label], counter.get(), None);
        }
    }
}

impl ByLabel<Traced> {
    /// Counts a probe.
    pub(super) fn add(&self, value: &str, probe: Exemplar) {
        if let Some(counter) = self.get(value) {
            counter.count.add(1);
            *lock(&counter.newest) = Some(Box::new(probe));
        }
    }

    pub(super) fn show(&self, page: &mut Page<'_>) {
        for (label, counter) in self.iter() {
            page.counter(&[label], counter.count.get(), lock(&counter.newest).as_deref());
        }
    }
}

impl ByLabel<Stated> {
    pub(super) fn add(&self, value: &str, count: u64) {
        if let Some(counter) = self.get(value) {
            counter.add(count);
        }
    }

    pub(super) fn show(&self, page: &mut Page<'_>) {
        for (label, counter) in self.iter() {
            if let Some(count) = counter.get() {
                page.counter(&[label], count, None);
            }
        }
    }
}

/// An exemplar that says which probe it was, and counts one.
pub(super) fn one(report: &crate::domain::Report, at: SystemTime) -> Exemplar {
    Exemplar::of(report, 1.0, at)
}
