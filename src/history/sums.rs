//! Reading sums: whole hours as they were added up, and the rest from the probes.

use std::collections::HashMap;

use hdrhistogram::serialization::Deserializer;
use rusqlite::params_from_iter;

use super::Error;
use super::hours::{self, HOUR};
use super::pick::Pick;
use super::read::Reader;
use super::tally::Tally;
use super::units::{micros_of, time_of};

/// Microseconds since 1970: not before, and before.
type Range = (i64, i64);

impl Reader {
    /// What the probes add up to, of each target and workload, in the order of their names.
    pub fn tallies(&self, pick: &Pick) -> Result<Vec<(String, String, Tally)>, Error> {
        // All questions are about one moment: meanwhile hours are summed and old probes go.
        let _moment = self.connection.unchecked_transaction()?;
        let names: HashMap<i64, _> = self.names("workloads")?.into_iter().collect();
        let mut all = Vec::new();
        for (id, target) in self.targets_of(pick)? {
            for (workload, tally) in self.tallies_of(pick, id)? {
                let workload = names.get(&workload).map_or_else(String::new, ToString::to_string);
                all.push((target.to_string(), workload, tally));
            }
        }
        all.sort_by(|a, b| (&a.0, &a.1).cmp(&(&b.0, &b.1)));
        Ok(all)
    }

    fn tallies_of(&self, pick: &Pick, target: i64) -> Result<HashMap<i64, Tally>, Error> {
        let mut tallies: HashMap<i64, Tally> = HashMap::new();
        let window = (pick.from.map_or(0, micros_of), pick.to.map_or(i64::MAX, micros_of));
        let whole = self.summed_hours(target, window)?;
        if let (Some(first), Some(last)) = (whole.first(), whole.last()) {
            let within =
                Pick { from: Some(time_of(*first)), to: Some(time_of(*last + HOUR)), ..pick.clone() };
            let Some(question) = self.question(&within, target, "hour")? else { return Ok(tallies) };
            let values = params_from_iter(question.values);
            hours::tallies(&self.connection, &question.condition, values, |workload, sums| {
                sums.add_to(tallies.entry(workload).or_default())
            })?;
        }
        let mut gaps = Deserializer::new();
        for (from, to) in rest(window, &whole) {
            let part = Pick { from: Some(time_of(from)), to: Some(time_of(to)), ..pick.clone() };
            let Some(question) = self.question(&part, target, "at")? else { return Ok(tallies) };
            let values = params_from_iter(question.values);
            hours::for_each(&self.connection, &question.condition, values, |group, probe| {
                tallies.entry(group.workload).or_default().add(probe, &mut gaps);
            })?;
        }
        Ok(tallies)
    }

    /// The hours that have sums and lie wholly within the window, oldest first.
    fn summed_hours(&self, target: i64, (from, to): Range) -> Result<Vec<i64>, Error> {
        let mut select = self.connection.prepare_cached(
            "SELECT DISTINCT hour FROM hours WHERE target = ?1 AND hour >= ?2 AND hour <= ?3 ORDER BY hour",
        )?;
        let hours = select.query_map([target, from, to.saturating_sub(HOUR)], |row| row.get(0))?;
        Ok(hours.collect::<Result<_, _>>()?)
    }
}

/// What is left of a window without these hours.
fn rest((from, to): Range, hours: &[i64]) -> Vec<Range> {
    let mut parts = Vec::new();
    let mut start = from;
    for hour in hours {
        parts.push((start, *hour));
        start = hour + HOUR;
    }
    parts.push((start, to));
    parts.retain(|(from, to)| from < to);
    parts
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use oorandom::Rand64;
    use rusqlite::Connection;

    use super::*;
    use crate::domain::{Failure, ReleaseId, Report, Verdict};
    use crate::history::tally::Figure;
    use crate::history::tests::{at, in_folder, report};
    use crate::history::upkeep::Bounds;
    use crate::history::{History, Settings};

    const ALL: Pick =
        Pick { target: None, workload: None, from: None, to: None, releases: Vec::new(), with_mixed: true };

    /// The n-th of a made-up lot: two targets, two workloads, three releases, a probe every 20 seconds.
    fn made_up(n: u64, random: &mut Rand64) -> (Report, ReleaseId, bool) {
        let failure = random.rand_u64().is_multiple_of(9).then(|| Failure::ALL[(n % 14) as usize]);
        let mut report = report(if n.is_multiple_of(2) { "a" } else { "b" }, 20 * n, failure);
        let mut wild = |ms: f64| Some(Duration::from_secs_f64(ms / 1e3 * (0.5 + random.rand_float())));
        (report.sample.ttft, report.sample.tpot) = (wild(90.0), wild(20.0));
        (report.sample.stall, report.sample.latency) = (wild(60.0), wild(1500.0));
        report.sample.answer_ttft = report.sample.ttft.filter(|_| !n.is_multiple_of(3));
        report.sample.itl.truncate((n % 50) as usize);
        report.verdict = failure.is_none().then(|| Verdict::ALL[(n % 5) as usize]);
        report.suspect = n.is_multiple_of(13);
        (report.tokens.cached, report.tokens.output) =
            (Some(n % 7), (!n.is_multiple_of(4)).then_some(n % 60));
        if n % 5 < 2 {
            let mut workload = (*report.workload).clone();
            workload.name = "v".into();
            report.workload = Arc::new(workload);
        }
        (report, ReleaseId((n / 400).cast_signed()), n % 400 < 20)
    }

    fn fill(history: &History, count: u64) {
        let mut random = Rand64::new(1);
        for n in 0..count {
            let (report, release, mixed) = made_up(n, &mut random);
            history.keep(&report, release, mixed);
        }
        history.flush().unwrap();
    }

    fn count(settings: &Settings, sql: &str) -> i64 {
        let file = Connection::open(settings.path.as_ref().unwrap()).unwrap();
        file.query_row(sql, [], |row| row.get(0)).unwrap()
    }

    /// Whole hours, cut hours, less than an hour, nothing, and all that else can be picked.
    fn picks() -> Vec<Pick> {
        let hour = |n: u64| at(0) - Duration::from_secs(13 * 60 + 20) + Duration::from_secs(3600 * n);
        let windows = [
            (None, None),
            (Some(hour(1)), Some(hour(3))),
            (Some(at(5000)), Some(at(15_000))),
            (Some(at(5000)), Some(at(5300))),
            (None, Some(hour(2) + Duration::from_micros(1))),
            (Some(hour(2) - Duration::from_micros(1)), None),
            (Some(at(900_000)), None),
            (Some(hour(3)), Some(hour(2))),
        ];
        let plain = windows.map(|(from, to)| Pick { from, to, ..ALL });
        let mut picks: Vec<Pick> = plain.to_vec();
        for pick in plain {
            picks.push(Pick { target: Some("b".into()), workload: Some("v".into()), ..pick.clone() });
            picks.push(Pick { releases: vec![ReleaseId(1), ReleaseId(2)], ..pick.clone() });
            picks.push(Pick { with_mixed: false, ..pick });
        }
        picks.push(Pick { workload: Some("unknown".into()), ..ALL });
        picks
    }

    #[test]
    fn sums_are_what_the_probes_add_up_to_whatever_is_asked() {
        let folder = tempfile::tempdir().unwrap();
        for settings in [in_folder(folder.path()), Settings::default()] {
            let history = History::open(&settings).unwrap();
            fill(&history, 1000);
            let reader = history.reader().unwrap();
            let before: Vec<_> = picks().iter().map(|pick| reader.tallies(pick).unwrap()).collect();
            history.sum_up().unwrap();
            for (pick, before) in picks().iter().zip(before) {
                assert_eq!(reader.tallies(pick).unwrap(), before, "{pick:?}");
                let probes = reader.probes(pick).unwrap();
                let sum: u64 = before.iter().map(|(.., tally)| tally.probes).sum();
                assert_eq!(sum, probes.len() as u64, "{pick:?}");
                for (target, workload, tally) in before {
                    let of =
                        probes.iter().filter(|kept| *kept.target == target && *kept.workload == workload);
                    let ttft: Vec<f64> = of.filter_map(|kept| kept.ttft).collect();
                    let spread = tally.spread(Figure::Ttft);
                    assert_eq!(spread.count(), ttft.len() as u64);
                    let mean = ttft.iter().sum::<f64>() / ttft.len() as f64;
                    assert!(spread.mean().is_none_or(|found| (found - mean).abs() < 1e-9), "{pick:?}");
                }
            }
        }
    }

    #[test]
    fn whole_hours_are_not_read_from_the_probes() {
        let folder = tempfile::tempdir().unwrap();
        let settings = in_folder(folder.path());
        let history = History::open(&settings).unwrap();
        fill(&history, 1000);
        history.sum_up().unwrap();
        let file = Connection::open(settings.path.as_ref().unwrap()).unwrap();
        let gone = file.execute("DELETE FROM probes", []).unwrap();
        let sums = history.reader().unwrap().tallies(&ALL).unwrap();
        assert_eq!(sums.iter().map(|(.., tally)| tally.probes).sum::<u64>(), gone as u64);
    }

    #[test]
    fn a_probe_that_comes_late_takes_the_sums_of_its_hour_along_until_they_are_made_anew() {
        let folder = tempfile::tempdir().unwrap();
        let settings = in_folder(folder.path());
        let history = History::open(&settings).unwrap();
        fill(&history, 1000);
        history.sum_up().unwrap();
        let hours = "SELECT count(DISTINCT hour) FROM hours WHERE target = 1";
        assert_eq!(count(&settings, hours), 6);
        history.keep(&report("a", 7000, None), ReleaseId(0), false);
        history.flush().unwrap();
        assert_eq!(count(&settings, hours), 5);
        for _ in 0..2 {
            let sums = history.reader().unwrap().tallies(&ALL).unwrap();
            assert_eq!(sums.iter().map(|(.., tally)| tally.probes).sum::<u64>(), 1001);
            history.sum_up().unwrap();
            assert_eq!(count(&settings, hours), 6);
        }
    }

    #[test]
    fn an_old_file_gets_its_sums_after_it_was_brought_up_to_date() {
        let folder = tempfile::tempdir().unwrap();
        let settings = in_folder(folder.path());
        fill(&History::open(&settings).unwrap(), 500);
        let old = Connection::open(settings.path.as_ref().unwrap()).unwrap();
        let back =
            "DROP VIEW probe; CREATE VIEW probe AS SELECT 1; CREATE TABLE counters (x); DROP TABLE hours;
            PRAGMA user_version = 1;";
        old.execute_batch(back).unwrap();
        for column in ["hidden_tokens", "tokens_per_arrival", "drafted_tokens", "accepted_tokens", "trace"] {
            old.execute_batch(&format!("ALTER TABLE probes DROP COLUMN {column}")).unwrap();
        }
        drop(old);
        let history = History::open(&settings).unwrap();
        let before = history.reader().unwrap().tallies(&ALL).unwrap();
        history.sum_up().unwrap();
        assert_eq!(count(&settings, "SELECT sum(probes) FROM hours"), 500);
        assert_eq!(history.reader().unwrap().tallies(&ALL).unwrap(), before);
    }

    #[test]
    fn each_round_sums_a_little_the_oldest_first_and_nothing_that_may_still_get_probes() {
        let folder = tempfile::tempdir().unwrap();
        let settings = in_folder(folder.path());
        drop(History::open(&settings).map(|history| fill(&history, 1000)));
        let mut file = Connection::open(settings.path.as_ref().unwrap()).unwrap();
        let mut sums = hours::Sums::new();
        // In the fifth hour, four minutes and one second after the end of the fourth: that one has to wait.
        let now = at(4 * 3600 - 800 + 241);
        let mut done = Vec::new();
        while !sums.make(&mut file, now, 100).unwrap() {
            let sql = "SELECT count(DISTINCT hour), count(DISTINCT target) FROM hours";
            let found: (i64, i64) = file.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
            done.push(found);
        }
        assert_eq!(done, [(1, 2), (2, 2)]);
        assert_eq!(count(&settings, "SELECT count(DISTINCT hour) FROM hours"), 3);
        assert!(sums.make(&mut file, now + Duration::from_secs(60), 100).unwrap());
        assert_eq!(count(&settings, "SELECT count(DISTINCT hour) FROM hours"), 4);
    }

    #[test]
    fn sums_go_with_the_first_of_their_probes_and_are_not_made_anew_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let settings = in_folder(folder.path());
        drop(History::open(&settings).map(|history| fill(&history, 1000)));
        let mut file = Connection::open(settings.path.as_ref().unwrap()).unwrap();
        let mut sums = hours::Sums::new();
        let now = at(100_000);
        assert!(sums.make(&mut file, now, usize::MAX).unwrap());
        let keep = Duration::from_secs(100_000 - 4000);
        let bounds = Bounds::of(&Settings { keep, max_bytes: u64::MAX, ..Settings::default() });
        bounds.enforce(&mut file, now, 10_000).unwrap();
        assert!(sums.make(&mut file, now, usize::MAX).unwrap());
        // The second hour began 2800 seconds after the first probe.
        let oldest = "SELECT min(hour) / 1000000 - 1763180000 FROM hours";
        assert_eq!(count(&settings, oldest), 2800 + 3600);
        let reader = Reader::open(settings.path.as_ref().unwrap()).unwrap();
        let left = reader.probes(&ALL).unwrap().len() as u64;
        let sum: u64 = reader.tallies(&ALL).unwrap().iter().map(|(.., tally)| tally.probes).sum();
        assert_eq!((sum, left), (800, 800));
    }

    #[test]
    fn what_is_left_of_a_window_is_what_no_hour_covers() {
        assert_eq!(rest((5, 3 * HOUR), &[HOUR]), [(5, HOUR), (2 * HOUR, 3 * HOUR)]);
        assert_eq!(rest((HOUR, 3 * HOUR), &[HOUR, 2 * HOUR]), []);
        assert_eq!(rest((7, 9), &[]), [(7, 9)]);
        assert_eq!(rest((9, 7), &[]), []);
    }
}
