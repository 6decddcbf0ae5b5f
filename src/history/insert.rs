//! The statements that write.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::SystemTime;

use rusqlite::{Connection, OptionalExtension as _, Transaction, TransactionBehavior, params};

use super::gaps::{Packer, quantile};
use super::hours::{Sums, hour_of};
use super::queue::Entry;
use super::row::Row;
use super::units::micros_of;
use crate::domain::Makeup;

/// An id may come twice if the clock is set back. The newer probe then takes the place of the older one: a refused row
/// would take the whole transaction with it.
const PROBE: &str = "INSERT OR REPLACE INTO probes (
  target, at, id, workload, release, mixed, suspect, outcome, verdict,
  ttft, answer_ttft, tpot, itl_p99, stall, latency, itl_p50, wait, lag, resolve, connect, tls,
  prompt_tokens, cached_tokens, reasoning_tokens, output_tokens, token_source, characters, cut, depth, seed, step, size,
  queue, prefill, decode, load, hidden_tokens, tokens_per_arrival, drafted_tokens, accepted_tokens, trace
) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22,
  ?23, ?24, ?25, ?26, ?27, ?28, ?29, ?30, ?31, ?32, ?33, ?34, ?35, ?36, ?37, ?38, ?39, ?40, ?41)";

/// Nothing is lost if the number is there already: the newest that is said of it counts.
const BEGIN: &str =
    "INSERT OR REPLACE INTO releases (id, engine, version, model, fingerprint, labels, mark, target, began)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";

const AMEND: &str =
    "UPDATE releases SET engine = ?2, version = ?3, model = ?4, fingerprint = ?5, labels = ?6, mark = ?7
WHERE id = ?1";

/// Writes entries through one connection.
pub(super) struct Inserter {
    pub(super) connection: Connection,
    targets: HashMap<Arc<str>, i64>,
    workloads: HashMap<Arc<str>, i64>,
    packer: Packer,
    sums: Sums,
}

impl Inserter {
    pub(super) fn new(connection: Connection) -> Self {
        connection.set_prepared_statement_cache_capacity(32);
        let (targets, workloads) = (HashMap::new(), HashMap::new());
        Self { connection, targets, workloads, packer: Packer::new(), sums: Sums::new() }
    }

    /// All of them or none.
    pub(super) fn write(&mut self, entries: &mut [Entry]) -> rusqlite::Result<()> {
        let Self { connection, targets, workloads, packer, sums } = self;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let written = write(&transaction, entries, targets, workloads, packer);
        let done = written.and_then(|hours| {
            hours.into_iter().try_for_each(|(target, hour)| sums.note(&transaction, target, hour))?;
            transaction.commit()
        });
        if done.is_err() {
            // Names that were new are not in the file, after all.
            self.targets.clear();
            self.workloads.clear();
        }
        done
    }

    /// Adds hours up that have ended, about so many probes of them; whether all is done.
    pub(super) fn sum(&mut self, now: SystemTime, most: usize) -> rusqlite::Result<bool> {
        self.sums.make(&mut self.connection, now, most)
    }
}

/// The targets and hours of the probes.
fn write(
    transaction: &Transaction<'_>,
    entries: &mut [Entry],
    targets: &mut HashMap<Arc<str>, i64>,
    workloads: &mut HashMap<Arc<str>, i64>,
    packer: &mut Packer,
) -> rusqlite::Result<HashSet<(i64, i64)>> {
    let mut hours = HashSet::new();
    for entry in entries {
        match entry {
            Entry::Probe(row) => {
                let target = known(transaction, "targets", &row.target, targets)?;
                let workload = known(transaction, "workloads", &row.workload, workloads)?;
                probe(transaction, row, [target, workload], packer)?;
                hours.insert((target, hour_of(row.at)));
            }
            Entry::Begin { id, target, makeup, began } => {
                let target = number(transaction, "targets", target)?;
                let Makeup { engine, version, model, fingerprint, mark, .. } = &*makeup;
                let values = params![
                    id.0,
                    engine,
                    version,
                    model,
                    fingerprint,
                    labels(makeup),
                    mark,
                    target,
                    micros_of(*began)
                ];
                transaction.prepare_cached(BEGIN)?.execute(values)?;
            }
            Entry::Amend { id, makeup } => {
                let Makeup { engine, version, model, fingerprint, mark, .. } = &*makeup;
                let values = params![id.0, engine, version, model, fingerprint, labels(makeup), mark];
                transaction.prepare_cached(AMEND)?.execute(values)?;
            }
            Entry::Settle { id, at } => {
                let mut update =
                    transaction.prepare_cached("UPDATE releases SET settled = ?2 WHERE id = ?1")?;
                update.execute(params![id.0, micros_of(*at)])?;
            }
            Entry::Mark { target, text, at } => {
                let target = number(transaction, "targets", target)?;
                let mut insert =
                    transaction.prepare_cached("INSERT INTO marks (target, at, text) VALUES (?1, ?2, ?3)")?;
                insert.execute(params![target, micros_of(*at), &*text])?;
            }
        }
    }
    Ok(hours)
}

/// The number of the release that begins next.
pub(super) fn next_release(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("SELECT coalesce(max(id), 0) + 1 FROM releases", [], |row| row.get(0))
}

fn labels(makeup: &Makeup) -> String {
    serde_json::to_string(&makeup.labels).unwrap_or_else(|_| "{}".to_owned())
}

fn probe(
    transaction: &Transaction<'_>,
    row: &mut Row,
    [target, workload]: [i64; 2],
    packer: &mut Packer,
) -> rusqlite::Result<()> {
    row.gaps.sort_unstable();
    let [p50, p99] = [50, 99].map(|percent| quantile(&row.gaps, percent));
    let d = &row.durations;
    let [prompt, cached, reasoning, hidden, output, drafted, accepted] = row.tokens;
    let [seed, step, size] = row.seed;
    let values = params![
        target,
        row.at,
        row.id,
        workload,
        row.release,
        row.mixed,
        row.suspect,
        row.outcome,
        row.verdict,
        d.ttft,
        d.answer_ttft,
        d.tpot,
        p99,
        d.stall,
        d.latency,
        p50,
        d.wait,
        d.lag,
        d.resolve,
        d.connect,
        d.tls,
        prompt,
        cached,
        reasoning,
        output,
        row.token_source,
        row.characters,
        row.cut,
        row.depth,
        seed,
        step,
        size,
        d.queue,
        d.prefill,
        d.decode,
        d.load,
        hidden,
        row.tokens_per_arrival,
        drafted,
        accepted,
        row.trace,
    ];
    transaction.prepare_cached(PROBE)?.execute(values)?;
    keep_wide_parts(transaction, row, packer)
}

/// The gaps, and what there is to read.
fn keep_wide_parts(transaction: &Transaction<'_>, row: &Row, packer: &mut Packer) -> rusqlite::Result<()> {
    if let Some(histogram) = packer.pack(&row.gaps) {
        transaction
            .prepare_cached("INSERT OR REPLACE INTO gaps VALUES (?1, ?2)")?
            .execute(params![row.id, histogram])?;
    }
    if let Some(texts) = &row.texts {
        let some = |text: &'_ String| (!text.is_empty()).then(|| text.clone());
        let values = params![row.id, some(&texts.text), some(&texts.thought), some(&texts.detail)];
        transaction
            .prepare_cached("INSERT OR REPLACE INTO texts VALUES (?1, ?2, ?3, ?4)")?
            .execute(values)?;
    }
    Ok(())
}

fn known(
    transaction: &Transaction<'_>,
    table: &str,
    name: &Arc<str>,
    numbers: &mut HashMap<Arc<str>, i64>,
) -> rusqlite::Result<i64> {
    if let Some(id) = numbers.get(name) {
        return Ok(*id);
    }
    let id = number(transaction, table, name)?;
    numbers.insert(Arc::clone(name), id);
    Ok(id)
}

/// The number of a name, which is new to the table or not.
fn number(transaction: &Transaction<'_>, table: &str, name: &str) -> rusqlite::Result<i64> {
    let mut select = transaction.prepare_cached(&format!("SELECT id FROM {table} WHERE name = ?1"))?;
    if let Some(id) = select.query_row([name], |row| row.get(0)).optional()? {
        return Ok(id);
    }
    transaction.prepare_cached(&format!("INSERT INTO {table} (name) VALUES (?1)"))?.execute([name])?;
    Ok(transaction.last_insert_rowid())
}
