//! The tables of a history, and how an older file gets them.
//!
//! | table | one row for | key |
//! |---|---|---|
//! | `targets`, `workloads` | each name | `id` |
//! | `outcomes`, `verdicts`, `token_sources` | each word of a closed set | `id` |
//! | `releases` | what a target ran for a while | `id`; unique by `target`, `began` |
//! | `marks` | each word that a person said about a target | by `target`, `at` |
//! | `probes` | each probe, numbers alone | `target`, `at`, `id` |
//! | `gaps` | the gaps between the tokens of an answer | `probe` = `probes.id` |
//! | `texts` | what came of a probe that failed or whose answer was bad | `probe` = `probes.id` |
//! | `hours` | what the probes of an hour add up to | `target`, `hour`, `workload`, `release`, `mixed` |
//!
//! `probes.id` is the probe's [`ProbeId`](crate::domain::ProbeId): the millisecond in which it started, shifted by 20 bits,
//! and a count. So a probe is found by its id alone: `at` lies in that millisecond, which is a small range of the key for
//! each target. Files of earlier versions have probes that were numbered from 1; those keep their numbers.
//!
//! Points in time are microseconds since 1970, durations are microseconds, and absent is NULL. Of a failed probe there
//! are the phases of the connection and the latency, and no other duration: what broke off is no measurement.
//! `gaps.histogram` is an HDR histogram of microseconds per token, in the compressed format V2 of the HdrHistogram
//! libraries.
//!
//! `hours` is made of `probes` and can be made anew: each whole hour that has ended gets its sums, some minutes later; an
//! hour without them has to be read from its probes. Of each duration there are how many, their sum, the longest, and a
//! histogram as in `gaps`, with three digits; `itl` is of all gaps, the others have one value a probe. `failures` and
//! `verdicts` are JSON objects of counts, tokens are of all probes that told.
//!
//! `probes` lies on the disk in the order of its key: what is asked is one target over a range of time, and that is one
//! walk over neighbouring pages. What is wide is in tables of its own, so that the walk does not pass it. They are in the
//! order in which the probes started, which is nearly that in which they are written, and fills their pages well.
//!
//! People ask the view `probe`: names instead of numbers, seconds instead of microseconds. Some questions:
//!
//! ```sql
//! -- Each hour of a target: how many probes, how many failed, the mean time to the first token.
//! SELECT strftime('%Y-%m-%d %H:00', at, 'unixepoch') AS hour, count(*) AS probes,
//!        sum(outcome <> 'ok') AS failed, avg(ttft) AS ttft
//! FROM probe WHERE target = 'chat' GROUP BY hour ORDER BY hour;
//!
//! -- What the failures of the last day said.
//! SELECT id, time, target, workload, outcome, detail
//! FROM probe WHERE outcome <> 'ok' AND at > unixepoch('now', '-1 day') ORDER BY at;
//!
//! -- Each release of a target beside the others.
//! SELECT r.id, r.engine, r.version, count(*) AS probes, avg(p.ttft) AS ttft, avg(p.tpot) AS tpot
//! FROM probe p JOIN releases r ON r.id = p.release
//! WHERE p.target = 'chat' AND NOT p.mixed GROUP BY r.id ORDER BY r.began;
//! ```
//!
//! `deploy/history.md` tells more of it to people.

use rusqlite::{Connection, TransactionBehavior};

/// "SLOP": by this a history is told from other SQLite files.
pub(super) const APPLICATION_ID: i32 = 0x534c_4f50;

/// Each step makes of a file with one step less what the next version reads. A step that was released never changes.
pub(super) const STEPS: &[&str] = &[FIRST, SECOND, THIRD, FOURTH];

/// How many steps this version knows.
pub(super) const VERSION: u32 = STEPS.len() as u32;

const FIRST: &str = "
CREATE TABLE targets (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE workloads (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);

CREATE TABLE outcomes (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
INSERT INTO outcomes VALUES
  (0, 'ok'), (1, 'dns'), (2, 'connect'), (3, 'tls'), (4, 'timeout_first_token'), (5, 'timeout_stall'),
  (6, 'timeout_total'), (7, 'auth'), (8, 'rate_limited'), (9, 'rejected'), (10, 'server_error'),
  (11, 'in_band'), (12, 'truncated'), (13, 'empty'), (14, 'malformed');

CREATE TABLE verdicts (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
INSERT INTO verdicts VALUES (0, 'right'), (1, 'wrong'), (2, 'degenerate'), (3, 'short'), (4, 'unchecked');

CREATE TABLE token_sources (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
INSERT INTO token_sources VALUES (0, 'chunk_usage'), (1, 'token_ids'), (2, 'final_usage'), (3, 'deltas');

CREATE TABLE releases (
  id INTEGER PRIMARY KEY, target INTEGER NOT NULL, began INTEGER NOT NULL, settled INTEGER,
  engine TEXT NOT NULL, version TEXT, model TEXT, fingerprint TEXT,
  labels TEXT NOT NULL, mark TEXT
);
CREATE INDEX releases_of_target ON releases (target, began);

CREATE TABLE marks (id INTEGER PRIMARY KEY, target INTEGER NOT NULL, at INTEGER NOT NULL, text TEXT NOT NULL);
CREATE INDEX marks_of_target ON marks (target, at);

CREATE TABLE probes (
  target INTEGER NOT NULL, at INTEGER NOT NULL, id INTEGER NOT NULL,
  workload INTEGER NOT NULL, release INTEGER NOT NULL,
  mixed INTEGER NOT NULL, suspect INTEGER NOT NULL, outcome INTEGER NOT NULL, verdict INTEGER,
  ttft INTEGER, answer_ttft INTEGER, tpot INTEGER, itl_p99 INTEGER, stall INTEGER, latency INTEGER,
  itl_p50 INTEGER, wait INTEGER, lag INTEGER NOT NULL, resolve INTEGER, connect INTEGER, tls INTEGER,
  prompt_tokens INTEGER, cached_tokens INTEGER, reasoning_tokens INTEGER, output_tokens INTEGER,
  token_source INTEGER, characters INTEGER NOT NULL, cut INTEGER NOT NULL, depth INTEGER,
  seed INTEGER NOT NULL, step INTEGER NOT NULL, size INTEGER NOT NULL,
  queue INTEGER, prefill INTEGER, decode INTEGER, load INTEGER,
  PRIMARY KEY (target, at, id)
) WITHOUT ROWID;

CREATE TABLE gaps (probe INTEGER PRIMARY KEY, histogram BLOB NOT NULL);
CREATE TABLE texts (probe INTEGER PRIMARY KEY, text TEXT, thought TEXT, detail TEXT);

CREATE TABLE counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO counters VALUES ('next_probe', 1);

CREATE VIEW probe AS SELECT
  p.id, strftime('%Y-%m-%dT%H:%M:%fZ', p.at / 1e6, 'unixepoch') AS time, p.at / 1e6 AS at, p.at AS at_us,
  t.name AS target, w.name AS workload, p.release, p.mixed, p.suspect, o.name AS outcome, v.name AS verdict,
  p.ttft / 1e6 AS ttft, p.answer_ttft / 1e6 AS answer_ttft, p.tpot / 1e6 AS tpot,
  p.itl_p50 / 1e6 AS itl_p50, p.itl_p99 / 1e6 AS itl_p99, p.stall / 1e6 AS stall, p.latency / 1e6 AS latency,
  p.lag / 1e6 AS lag, p.resolve / 1e6 AS resolve, p.connect / 1e6 AS connect, p.tls / 1e6 AS tls,
  p.wait / 1e6 AS wait,
  p.prompt_tokens, p.cached_tokens, p.reasoning_tokens, p.output_tokens, s.name AS token_source,
  p.characters, p.cut, p.depth, printf('%016x-%d-%d', p.seed, p.step, p.size) AS seed,
  p.queue / 1e6 AS queue, p.prefill / 1e6 AS prefill, p.decode / 1e6 AS decode, p.load / 1e6 AS load
FROM probes p
JOIN targets t ON t.id = p.target
JOIN workloads w ON w.id = p.workload
JOIN outcomes o ON o.id = p.outcome
LEFT JOIN verdicts v ON v.id = p.verdict
LEFT JOIN token_sources s ON s.id = p.token_source;
";

const SECOND: &str = "
CREATE TABLE hours (
  target INTEGER NOT NULL, hour INTEGER NOT NULL,
  workload INTEGER NOT NULL, release INTEGER NOT NULL, mixed INTEGER NOT NULL,
  first INTEGER NOT NULL, last INTEGER NOT NULL, probes INTEGER NOT NULL, suspects INTEGER NOT NULL,
  input_tokens INTEGER NOT NULL, cached_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL,
  characters INTEGER NOT NULL,
  failures TEXT NOT NULL, verdicts TEXT NOT NULL,
  ttft_count INTEGER NOT NULL, ttft_sum INTEGER NOT NULL, ttft_max INTEGER NOT NULL, ttft BLOB NOT NULL,
  answer_ttft_count INTEGER NOT NULL, answer_ttft_sum INTEGER NOT NULL, answer_ttft_max INTEGER NOT NULL, answer_ttft BLOB NOT NULL,
  tpot_count INTEGER NOT NULL, tpot_sum INTEGER NOT NULL, tpot_max INTEGER NOT NULL, tpot BLOB NOT NULL,
  itl_count INTEGER NOT NULL, itl_sum INTEGER NOT NULL, itl_max INTEGER NOT NULL, itl BLOB NOT NULL,
  itl_p99_count INTEGER NOT NULL, itl_p99_sum INTEGER NOT NULL, itl_p99_max INTEGER NOT NULL, itl_p99 BLOB NOT NULL,
  stall_count INTEGER NOT NULL, stall_sum INTEGER NOT NULL, stall_max INTEGER NOT NULL, stall BLOB NOT NULL,
  latency_count INTEGER NOT NULL, latency_sum INTEGER NOT NULL, latency_max INTEGER NOT NULL, latency BLOB NOT NULL
);
CREATE UNIQUE INDEX hours_of_target ON hours (target, hour, workload, release, mixed);
";

const THIRD: &str = "
ALTER TABLE probes ADD COLUMN hidden_tokens INTEGER;
ALTER TABLE probes ADD COLUMN tokens_per_arrival REAL;
ALTER TABLE probes ADD COLUMN drafted_tokens INTEGER;
ALTER TABLE probes ADD COLUMN accepted_tokens INTEGER;
DROP VIEW probe;
CREATE VIEW probe AS SELECT
  p.id, strftime('%Y-%m-%dT%H:%M:%fZ', p.at / 1e6, 'unixepoch') AS time, p.at / 1e6 AS at, p.at AS at_us,
  t.name AS target, w.name AS workload, p.release, p.mixed, p.suspect, o.name AS outcome, v.name AS verdict,
  p.ttft / 1e6 AS ttft, p.answer_ttft / 1e6 AS answer_ttft, p.tpot / 1e6 AS tpot,
  p.itl_p50 / 1e6 AS itl_p50, p.itl_p99 / 1e6 AS itl_p99, p.stall / 1e6 AS stall, p.latency / 1e6 AS latency,
  p.lag / 1e6 AS lag, p.resolve / 1e6 AS resolve, p.connect / 1e6 AS connect, p.tls / 1e6 AS tls,
  p.wait / 1e6 AS wait,
  p.prompt_tokens, p.cached_tokens, p.reasoning_tokens, p.hidden_tokens, p.output_tokens, s.name AS token_source,
  p.tokens_per_arrival, p.drafted_tokens, p.accepted_tokens,
  p.characters, p.cut, p.depth, printf('%016x-%d-%d', p.seed, p.step, p.size) AS seed,
  p.queue / 1e6 AS queue, p.prefill / 1e6 AS prefill, p.decode / 1e6 AS decode, p.load / 1e6 AS load
FROM probes p
JOIN targets t ON t.id = p.target
JOIN workloads w ON w.id = p.workload
JOIN outcomes o ON o.id = p.outcome
LEFT JOIN verdicts v ON v.id = p.verdict
LEFT JOIN token_sources s ON s.id = p.token_source;
";

const FOURTH: &str = "
DROP TABLE counters;
ALTER TABLE probes ADD COLUMN trace BLOB;
DROP VIEW probe;
CREATE VIEW probe AS SELECT
  printf('%016x', p.id) AS id, p.id AS number,
  strftime('%Y-%m-%dT%H:%M:%fZ', p.at / 1e6, 'unixepoch') AS time, p.at / 1e6 AS at, p.at AS at_us,
  t.name AS target, w.name AS workload, p.release, p.mixed, p.suspect, o.name AS outcome, v.name AS verdict,
  x.detail, x.text, x.thought,
  p.ttft / 1e6 AS ttft, p.answer_ttft / 1e6 AS answer_ttft, p.tpot / 1e6 AS tpot,
  p.itl_p50 / 1e6 AS itl_p50, p.itl_p99 / 1e6 AS itl_p99, p.stall / 1e6 AS stall, p.latency / 1e6 AS latency,
  p.lag / 1e6 AS lag, p.resolve / 1e6 AS resolve, p.connect / 1e6 AS connect, p.tls / 1e6 AS tls,
  p.wait / 1e6 AS wait,
  p.prompt_tokens, p.cached_tokens, p.reasoning_tokens, p.hidden_tokens, p.output_tokens, s.name AS token_source,
  p.tokens_per_arrival, p.drafted_tokens, p.accepted_tokens,
  p.characters, p.cut, p.depth, printf('%016x-%d-%d', p.seed, p.step, p.size) AS seed,
  p.queue / 1e6 AS queue, p.prefill / 1e6 AS prefill, p.decode / 1e6 AS decode, p.load / 1e6 AS load,
  CASE WHEN p.trace IS NOT NULL THEN lower(hex(p.trace)) END AS trace_id
FROM probes p
JOIN targets t ON t.id = p.target
JOIN workloads w ON w.id = p.workload
JOIN outcomes o ON o.id = p.outcome
LEFT JOIN verdicts v ON v.id = p.verdict
LEFT JOIN token_sources s ON s.id = p.token_source
LEFT JOIN texts x ON x.probe = p.id;
";

/// Makes an empty file a history; what has tables already stays as it is.
pub(super) fn prepare(connection: &Connection) -> rusqlite::Result<()> {
    // Both must come before the first table.
    connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    connection.pragma_update(None, "application_id", APPLICATION_ID)
}

/// Takes the steps that a file lacks, all or none.
pub(super) fn migrate(connection: &mut Connection, steps: &[&str]) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let taken = version(&transaction)? as usize;
    for step in steps.iter().skip(taken) {
        transaction.execute_batch(step)?;
    }
    if taken < steps.len() {
        transaction.pragma_update(None, "user_version", steps.len() as u32)?;
    }
    transaction.commit()
}

/// How many steps a file has taken.
pub(super) fn version(connection: &Connection) -> rusqlite::Result<u32> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Failure, TokenSource, Verdict};
    use crate::history::row::{OK, outcome, token_source, verdict};

    #[test]
    fn an_older_file_takes_only_the_steps_that_it_lacks_and_all_or_none_of_them() {
        let mut file = Connection::open_in_memory().unwrap();
        let first = "CREATE TABLE old (x); INSERT INTO old VALUES (7);";
        let second = "CREATE TABLE young (y); INSERT INTO young SELECT x + 1 FROM old;";
        migrate(&mut file, &[first]).unwrap();
        assert_eq!(version(&file).unwrap(), 1);
        assert!(migrate(&mut file, &[first, second, "nonsense"]).is_err());
        assert_eq!(version(&file).unwrap(), 1);
        assert!(!file.table_exists(None, "young").unwrap());
        for _ in 0..2 {
            migrate(&mut file, &[first, second]).unwrap();
            assert_eq!(version(&file).unwrap(), 2);
        }
        let rows: (i64, i64) = file
            .query_row("SELECT count(*), sum(y) FROM young", [], |row| Ok((row.get(0)?, row.get(1)?)))
            .unwrap();
        assert_eq!(rows, (1, 8));
    }

    #[test]
    fn every_number_of_a_closed_set_has_its_word() {
        let mut file = Connection::open_in_memory().unwrap();
        migrate(&mut file, STEPS).unwrap();
        let words = |table: &str| -> Vec<(i64, String)> {
            let mut select = file.prepare(&format!("SELECT id, name FROM {table} ORDER BY id")).unwrap();
            let rows = select.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
            rows.map(Result::unwrap).collect()
        };
        let failures = Failure::ALL.map(|failure| (outcome(failure), failure.label().to_owned()));
        assert_eq!(words("outcomes"), [vec![(OK, "ok".to_owned())], failures.to_vec()].concat());
        assert_eq!(words("verdicts"), Verdict::ALL.map(|v| (verdict(v), v.label().to_owned())));
        assert_eq!(words("token_sources"), TokenSource::ALL.map(|s| (token_source(s), s.label().to_owned())));
    }
}
