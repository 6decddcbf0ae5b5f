//! Reading a history: beside the one who writes it, or long after.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension as _, Row, params_from_iter};

use super::Error;
use super::pick::Pick;
use super::row::{OK, outcome, verdict};
use super::store::Store;
use super::units::{micros_of, seconds, time_of};
use crate::domain::{Failure, Kept, Makeup, Release, ReleaseId, Verdict};

/// A connection that only reads.
#[derive(Debug)]
pub struct Reader {
    pub(super) connection: Connection,
}

/// What a person said about a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    pub at: SystemTime,
    pub text: String,
}

/// What the file is asked about the probes of one target.
pub(super) struct Question {
    pub(super) condition: String,
    pub(super) values: Vec<Value>,
}

impl Reader {
    pub fn open(path: &Path) -> Result<Self, Error> {
        Self::of(&Store::File(path.to_owned()))
    }

    pub(super) fn of(store: &Store) -> Result<Self, Error> {
        Ok(Self { connection: store.read()? })
    }

    /// In the order of their names.
    pub fn targets(&self) -> Result<Vec<String>, Error> {
        let mut select = self.connection.prepare("SELECT name FROM targets ORDER BY name")?;
        let names = select.query_map([], |row| row.get(0))?;
        Ok(names.collect::<Result<_, _>>()?)
    }

    /// In the order of their names.
    pub fn workloads(&self) -> Result<Vec<String>, Error> {
        let mut names: Vec<String> =
            self.names("workloads")?.into_iter().map(|(_, name)| name.to_string()).collect();
        names.sort();
        Ok(names)
    }

    /// Oldest first.
    pub fn releases(&self, target: &str) -> Result<Vec<Release>, Error> {
        let mut select = self.connection.prepare(
            "SELECT r.id, began, settled, engine, version, model, fingerprint, labels, mark
             FROM releases r JOIN targets t ON t.id = r.target WHERE t.name = ?1 ORDER BY began, r.id",
        )?;
        let target: Arc<str> = target.into();
        let releases = select.query_map([&*target], |row| release(row, &target))?;
        Ok(releases.collect::<Result<_, _>>()?)
    }

    /// Oldest first.
    pub fn marks(&self, target: &str) -> Result<Vec<Mark>, Error> {
        let mut select = self.connection.prepare(
            "SELECT at, text FROM marks m JOIN targets t ON t.id = m.target WHERE t.name = ?1 ORDER BY at, m.id",
        )?;
        let mark = |row: &Row<'_>| Ok(Mark { at: time_of(row.get(0)?), text: row.get(1)? });
        let marks = select.query_map([target], mark)?;
        Ok(marks.collect::<Result<_, _>>()?)
    }

    /// In the order of time.
    pub fn probes(&self, pick: &Pick) -> Result<Vec<Kept>, Error> {
        let workloads: HashMap<i64, Arc<str>> = self.names("workloads")?.into_iter().collect();
        let mut all = Vec::new();
        let targets = self.targets_of(pick)?;
        for (id, target) in &targets {
            let Some(question) = self.question(pick, *id, "at")? else { continue };
            let mut select = self.connection.prepare(&format!(
                "SELECT at, workload, release, mixed, suspect, outcome, verdict,
                   ttft, answer_ttft, tpot, itl_p99, stall, latency
                 FROM probes WHERE {} ORDER BY at, id",
                question.condition
            ))?;
            let mut rows = select.query(params_from_iter(question.values))?;
            while let Some(row) = rows.next()? {
                all.push(kept(row, target, &workloads)?);
            }
        }
        if targets.len() > 1 {
            all.sort_by(|a, b| a.at.total_cmp(&b.at));
        }
        Ok(all)
    }

    /// The one that the newest probe of a target belongs to.
    pub fn newest_release(&self, target: &str) -> Result<Option<ReleaseId>, Error> {
        let sql = "SELECT release FROM probes WHERE target = (SELECT id FROM targets WHERE name = ?1) ORDER BY at DESC LIMIT 1";
        let id = self.connection.query_row(sql, [target], |row| row.get(0).map(ReleaseId)).optional()?;
        Ok(id)
    }

    /// How many there are.
    pub fn count(&self, pick: &Pick) -> Result<usize, Error> {
        let mut all = 0;
        for (id, _) in self.targets_of(pick)? {
            let Some(question) = self.question(pick, id, "at")? else { continue };
            let sql = format!("SELECT count(*) FROM probes WHERE {}", question.condition);
            all += self
                .connection
                .query_row(&sql, params_from_iter(question.values), |row| row.get::<_, usize>(0))?;
        }
        Ok(all)
    }

    /// When the first and the last of these probes started; none, if there are none or they cannot be read.
    pub fn span(&self, pick: &Pick) -> Option<(SystemTime, SystemTime)> {
        let ends = |(id, _): (i64, Arc<str>)| -> Result<Option<(i64, i64)>, Error> {
            let Some(question) = self.question(pick, id, "at")? else { return Ok(None) };
            let end = |order: &str| {
                let sql =
                    format!("SELECT at FROM probes WHERE {} ORDER BY at {order} LIMIT 1", question.condition);
                let values = params_from_iter(&question.values);
                self.connection.query_row(&sql, values, |row| row.get(0)).optional()
            };
            Ok(end("ASC")?.zip(end("DESC")?))
        };
        let spans: Vec<(i64, i64)> =
            self.targets_of(pick).ok()?.into_iter().filter_map(|target| ends(target).ok()?).collect();
        let first = spans.iter().map(|span| span.0).min()?;
        let last = spans.iter().map(|span| span.1).max()?;
        Some((time_of(first), time_of(last)))
    }

    /// By the column that has the time. None if there can be no answer: the file does not know the workload.
    pub(super) fn question(&self, pick: &Pick, target: i64, time: &str) -> Result<Option<Question>, Error> {
        let mut condition = "target = ?".to_owned();
        let mut values = vec![Value::Integer(target)];
        for (relation, at) in [(" >= ?", pick.from), (" < ?", pick.to)] {
            if let Some(at) = at {
                condition.extend([" AND ", time, relation]);
                values.push(Value::Integer(micros_of(at)));
            }
        }
        if let Some(workload) = &pick.workload {
            let Some((id, _)) = self.names("workloads")?.into_iter().find(|(_, name)| **name == **workload)
            else {
                return Ok(None);
            };
            condition.push_str(" AND workload = ?");
            values.push(Value::Integer(id));
        }
        if !pick.with_mixed {
            condition.push_str(" AND mixed = 0");
        }
        if !pick.releases.is_empty() {
            let ids: Vec<String> = pick.releases.iter().map(|id| id.0.to_string()).collect();
            condition.extend([" AND release IN (", &ids.join(", "), ")"]);
        }
        Ok(Some(Question { condition, values }))
    }

    pub(super) fn targets_of(&self, pick: &Pick) -> Result<Vec<(i64, Arc<str>)>, Error> {
        let mut targets = self.names("targets")?;
        targets.retain(|(_, name)| pick.target.as_ref().is_none_or(|wanted| **wanted == **name));
        Ok(targets)
    }

    pub(super) fn names(&self, table: &str) -> Result<Vec<(i64, Arc<str>)>, Error> {
        let mut select = self.connection.prepare(&format!("SELECT id, name FROM {table}"))?;
        let names = select.query_map([], |row| Ok((row.get(0)?, row.get::<_, String>(1)?.into())))?;
        Ok(names.collect::<Result<_, _>>()?)
    }
}

fn release(row: &Row<'_>, target: &Arc<str>) -> rusqlite::Result<Release> {
    let labels: String = row.get(7)?;
    Ok(Release {
        id: ReleaseId(row.get(0)?),
        target: Arc::clone(target),
        began: time_of(row.get(1)?),
        settled: row.get::<_, Option<i64>>(2)?.map(time_of),
        makeup: Makeup {
            engine: row.get(3)?,
            version: row.get(4)?,
            model: row.get(5)?,
            fingerprint: row.get(6)?,
            labels: serde_json::from_str(&labels).unwrap_or_default(),
            mark: row.get(8)?,
        },
    })
}

/// The durations of a failed probe are none, its latency included: how long a failure took is no answer's time.
fn kept(row: &Row<'_>, target: &Arc<str>, workloads: &HashMap<i64, Arc<str>>) -> rusqlite::Result<Kept> {
    let workload = workloads.get(&row.get(1)?).cloned().unwrap_or_else(|| "".into());
    let number: i64 = row.get(5)?;
    let failure = Failure::ALL.into_iter().find(|failure| outcome(*failure) == number);
    let judged: Option<i64> = row.get(6)?;
    let duration = |column: usize| -> rusqlite::Result<Option<f64>> {
        Ok(row.get::<_, Option<i64>>(column)?.filter(|_| number == OK).map(seconds))
    };
    Ok(Kept {
        at: seconds(row.get(0)?),
        target: Arc::clone(target),
        workload,
        release: ReleaseId(row.get(2)?),
        mixed: row.get(3)?,
        suspect: row.get(4)?,
        failure,
        verdict: Verdict::ALL.into_iter().find(|known| Some(verdict(*known)) == judged),
        ttft: duration(7)?,
        answer_ttft: duration(8)?,
        tpot: duration(9)?,
        itl_p99: duration(10)?,
        stall: duration(11)?,
        latency: duration(12)?,
    })
}
