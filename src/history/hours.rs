//! The sums of whole hours, so that nobody has to read a million probes to see a month.
//!
//! They are made of the probes, a little at a time, when an hour has ended; what is asked about an hour without sums
//! is read from its probes. So they may be missing, but never wrong: with the first probe of an hour that comes late,
//! and with the first that goes, the sums of that hour go as well.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, SystemTime};

use hdrhistogram::serialization::Deserializer;
use rusqlite::types::Value;
use rusqlite::{Connection, Params, Row, Transaction, TransactionBehavior, params_from_iter};

use super::tally::{Figure, Measured, Spread, Tally, TokenSums};
use super::units::{micros, micros_of};
use crate::domain::{Failure, Verdict};

pub(super) const HOUR: i64 = 3_600_000_000;

/// So long after its end an hour may still get probes, as they are written when they have ended.
const GRACE: Duration = Duration::from_secs(300);

/// So many probes are added up in one round, or a few more.
pub(super) const ROUND: usize = 40_000;

/// What is summed apart within one hour of one target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Group {
    pub(super) workload: i64,
    pub(super) release: i64,
    pub(super) mixed: bool,
}

/// What is to be summed next.
pub(super) struct Sums {
    /// Of each target, the hour before which all sums are made that can be.
    done: HashMap<i64, i64>,
}

impl Sums {
    /// Nothing is known to be done: the first round finds out.
    pub(super) fn new() -> Self {
        Self { done: HashMap::new() }
    }

    /// A probe of this time comes: if its hour was summed, it is to be summed anew.
    pub(super) fn note(
        &mut self,
        transaction: &Transaction<'_>,
        target: i64,
        hour: i64,
    ) -> rusqlite::Result<()> {
        let mut delete = transaction.prepare_cached("DELETE FROM hours WHERE target = ?1 AND hour = ?2")?;
        delete.execute([target, hour])?;
        self.done.entry(target).and_modify(|done| *done = hour.min(*done));
        Ok(())
    }

    /// One round, the oldest hours first; whether all is done.
    pub(super) fn make(
        &mut self,
        connection: &mut Connection,
        now: SystemTime,
        most: usize,
    ) -> rusqlite::Result<bool> {
        let end = micros_of(now).saturating_sub(micros(GRACE));
        let targets: Vec<i64> = connection
            .prepare_cached("SELECT id FROM targets")?
            .query_map([], |row| row.get(0))?
            .collect::<Result<_, _>>()?;
        let mut due = Vec::new();
        for target in targets {
            due.extend(self.next(connection, target, end)?.map(|hour| (hour, target)));
        }
        let mut added = 0;
        while let Some(place) = (0..due.len()).min_by_key(|place| due[*place]) {
            if added >= most {
                return Ok(false);
            }
            let (hour, target) = due.swap_remove(place);
            added += sum(connection, target, hour)?;
            self.done.insert(target, hour + HOUR);
            due.extend(self.next(connection, target, end)?.map(|hour| (hour, target)));
        }
        Ok(true)
    }

    /// The oldest hour of a target that has ended, has probes and has no sums.
    fn next(&mut self, connection: &Connection, target: i64, end: i64) -> rusqlite::Result<Option<i64>> {
        let mut first =
            connection.prepare_cached("SELECT min(at) FROM probes WHERE target = ?1 AND at >= ?2")?;
        let mut is_summed = connection
            .prepare_cached("SELECT EXISTS (SELECT 1 FROM hours WHERE target = ?1 AND hour = ?2)")?;
        let done = self.done.entry(target).or_insert(0);
        loop {
            let at: Option<i64> = first.query_row([target, *done], |row| row.get(0))?;
            let Some(hour) = at.map(hour_of).filter(|hour| hour + HOUR <= end) else { return Ok(None) };
            *done = hour;
            if !is_summed.query_row([target, hour], |row| row.get(0))? {
                return Ok(Some(hour));
            }
            *done = hour + HOUR;
        }
    }
}

/// The beginning of the hour that a time is in.
pub(super) fn hour_of(at: i64) -> i64 {
    at - at.rem_euclid(HOUR)
}

/// Probes of an hour and before it go: so do the sums.
pub(super) fn forget(transaction: &Transaction<'_>, target: i64, at: i64) -> rusqlite::Result<()> {
    let mut delete = transaction.prepare_cached("DELETE FROM hours WHERE target = ?1 AND hour <= ?2")?;
    delete.execute([target, at]).map(drop)
}

/// Adds one hour of one target up; how many probes it had.
fn sum(connection: &mut Connection, target: i64, hour: i64) -> rusqlite::Result<usize> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut tallies: HashMap<Group, Tally> = HashMap::new();
    let mut gaps = Deserializer::new();
    let mut count = 0;
    let condition = "target = ?1 AND at >= ?2 AND at < ?3";
    for_each(&transaction, condition, [target, hour, hour + HOUR], |group, probe| {
        tallies.entry(group).or_default().add(probe, &mut gaps);
        count += 1;
    })?;
    for (group, tally) in &tallies {
        insert(&transaction, target, hour, *group, tally)?;
    }
    transaction.commit()?;
    Ok(count)
}

/// Gives each probe that meets a condition, in the order of time.
pub(super) fn for_each(
    connection: &Connection,
    condition: &str,
    values: impl Params,
    mut take: impl FnMut(Group, &Measured<'_>),
) -> rusqlite::Result<()> {
    let mut select = connection.prepare_cached(&format!(
        "SELECT workload, release, mixed, at, suspect, outcome, verdict,
           prompt_tokens, cached_tokens, output_tokens,
           ttft, answer_ttft, tpot, NULL, itl_p99, stall, latency, histogram, characters
         FROM probes LEFT JOIN gaps ON gaps.probe = probes.id WHERE {condition} ORDER BY at"
    ))?;
    let mut rows = select.query(values)?;
    while let Some(row) = rows.next()? {
        let group = Group { workload: row.get(0)?, release: row.get(1)?, mixed: row.get(2)? };
        let mut durations = [None; Figure::ALL.len()];
        for (place, duration) in durations.iter_mut().enumerate() {
            *duration = row.get(10 + place)?;
        }
        let probe = Measured {
            at: row.get(3)?,
            suspect: row.get(4)?,
            outcome: row.get(5)?,
            verdict: row.get(6)?,
            tokens: [row.get(7)?, row.get(8)?, row.get(9)?],
            characters: row.get(18)?,
            durations,
            gaps: row.get_ref(17)?.as_blob_or_null()?,
        };
        take(group, &probe);
    }
    Ok(())
}

fn insert(
    transaction: &Transaction<'_>,
    target: i64,
    hour: i64,
    group: Group,
    tally: &Tally,
) -> rusqlite::Result<()> {
    let (first, last) = tally.ends.unwrap_or((hour, hour));
    let Group { workload, release, mixed } = group;
    let TokenSums { input, cached, output, characters } = tally.tokens;
    let failures = words(Failure::ALL.map(Failure::label), &tally.failures);
    let verdicts = words(Verdict::ALL.map(Verdict::label), &tally.verdicts);
    let count = |count: u64| Value::Integer(i64::try_from(count).unwrap_or(i64::MAX));
    let mut values =
        [target, hour, workload, release, i64::from(mixed), first, last].map(Value::Integer).to_vec();
    values.extend([tally.probes, tally.suspects, input, cached, output, characters].map(count));
    values.extend([failures, verdicts].map(Value::Text));
    for spread in &tally.spreads {
        values.extend([spread.count, spread.sum, spread.max].map(count));
        values.push(Value::Blob(spread.buckets.pack()));
    }
    let places = vec!["?"; values.len()].join(", ");
    let sql = format!(
        "INSERT OR REPLACE INTO hours (target, hour, workload, release, mixed, {}) VALUES ({places})",
        columns()
    );
    transaction.prepare_cached(&sql)?.execute(params_from_iter(values)).map(drop)
}

/// Of the sums that meet a condition, the workload and the tally.
pub(super) fn tallies(
    connection: &Connection,
    condition: &str,
    values: impl Params,
    mut take: impl FnMut(i64, &Stored<'_>) -> rusqlite::Result<()>,
) -> rusqlite::Result<()> {
    let sql = format!("SELECT {}, workload FROM hours WHERE {condition}", columns());
    let mut select = connection.prepare_cached(&sql)?;
    let mut rows = select.query(values)?;
    while let Some(row) = rows.next()? {
        take(row.get("workload")?, &Stored { row })?;
    }
    Ok(())
}

/// The sums of an hour as they lie in the file.
pub(super) struct Stored<'a> {
    row: &'a Row<'a>,
}

impl Stored<'_> {
    /// Adds them to a tally.
    pub(super) fn add_to(&self, tally: &mut Tally) -> rusqlite::Result<()> {
        let row = self.row;
        let count = |column: usize| row.get::<_, i64>(column).map(|count| u64::try_from(count).unwrap_or(0));
        let mut part = Tally {
            ends: Some((row.get(0)?, row.get(1)?)),
            probes: count(2)?,
            suspects: count(3)?,
            tokens: TokenSums {
                input: count(4)?,
                cached: count(5)?,
                output: count(6)?,
                characters: count(7)?,
            },
            ..Tally::default()
        };
        counts(row, 8, Failure::ALL.map(Failure::label), &mut part.failures)?;
        counts(row, 9, Verdict::ALL.map(Verdict::label), &mut part.verdicts)?;
        tally.merge(&part);
        for (place, spread) in tally.spreads.iter_mut().enumerate() {
            let column = 10 + 4 * place;
            let Spread { count: sum_of_counts, sum, max, buckets } = spread;
            *sum_of_counts += count(column)?;
            *sum = sum.saturating_add(count(column + 1)?);
            *max = (*max).max(count(column + 2)?);
            let packed = row.get_ref(column + 3)?.as_blob()?;
            buckets
                .add_packed(packed)
                .ok_or_else(|| unreadable(column + 3, "it is no histogram of sloprobe"))?;
        }
        Ok(())
    }
}

/// All but the key, in the order of the table.
fn columns() -> String {
    let figures =
        Figure::ALL.map(Figure::name).map(|name| format!("{name}_count, {name}_sum, {name}_max, {name}"));
    let counts = "first, last, probes, suspects, input_tokens, cached_tokens, output_tokens, characters, failures, verdicts";
    format!("{counts}, {}", figures.join(", "))
}

/// A JSON object of the counts that are not 0.
fn words<const N: usize>(names: [&str; N], counts: &[u64; N]) -> String {
    let some: BTreeMap<&str, u64> = names.into_iter().zip(*counts).filter(|(_, count)| *count > 0).collect();
    serde_json::to_string(&some).unwrap_or_else(|_| "{}".to_owned())
}

fn counts<const N: usize>(
    row: &Row<'_>,
    column: usize,
    names: [&str; N],
    counts: &mut [u64; N],
) -> rusqlite::Result<()> {
    let text = row.get_ref(column)?.as_str()?;
    let found: HashMap<&str, u64> =
        serde_json::from_str(text).map_err(|error| unreadable(column, error.to_string()))?;
    for (name, count) in names.into_iter().zip(counts) {
        *count = found.get(name).copied().unwrap_or(0);
    }
    Ok(())
}

fn unreadable(column: usize, why: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Blob, why.into())
}
