//! One probe, found by its id.

use std::time::{Duration, SystemTime};

use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use rusqlite::{OptionalExtension as _, Row, params};

use super::row::{outcome, token_source, verdict};
use super::units::{micros_of, time_of};
use super::{Error, Reader};
use crate::domain::{
    Depth, Failure, ProbeId, Quantiles, Release, ReleaseId, Sample, Seed, ServerTimes, Speculation,
    TokenSource, Tokens, TraceId, Verdict,
};

/// Files of earlier versions numbered their probes from 1. No id with a time in it is smaller than this.
const SMALLEST_TIMED: u64 = 1 << 40;

/// A target is looked up for one millisecond: its neighbours in the key.
const FIND: &str = "
SELECT p.*, t.name AS target_name, w.name AS workload_name, g.histogram, x.detail, x.text, x.thought
FROM targets t
CROSS JOIN probes p ON p.target = t.id AND p.at BETWEEN ?2 AND ?3 AND p.id = ?1
JOIN workloads w ON w.id = p.workload
LEFT JOIN gaps g ON g.probe = p.id
LEFT JOIN texts x ON x.probe = p.id";

/// All that the history keeps of one probe.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredProbe {
    pub id: ProbeId,
    pub at: SystemTime,
    pub target: String,
    pub workload: String,
    /// What the target ran; none if the history does not know it any more.
    pub release: Option<Release>,
    /// Two releases answered in turn.
    pub mixed: bool,
    pub suspect: bool,
    /// `None` is success.
    pub failure: Option<Failure>,
    pub verdict: Option<Verdict>,
    /// Durations; each gap by itself is not kept.
    pub sample: Sample,
    /// Of the gaps between tokens: p50 and p99 exactly, the others within 1 %.
    pub gaps: Option<Quantiles>,
    pub tokens: Tokens,
    pub times: ServerTimes,
    pub seed: Seed,
    pub depth: Option<Depth>,
    /// Of the answer and its reasoning.
    pub characters: u64,
    /// The answer ended at its limit.
    pub cut: bool,
    /// Why it failed.
    pub detail: Option<String>,
    /// The answer and its reasoning, of a probe that failed or whose answer was bad.
    pub text: Option<String>,
    pub thought: Option<String>,
    /// The trace that was sent along.
    pub trace: Option<TraceId>,
}

impl Reader {
    /// The probe of this id, if it is still kept.
    pub fn find(&self, id: ProbeId) -> Result<Option<StoredProbe>, Error> {
        let number = id.number().cast_signed();
        let (from, to) = if id.number() < SMALLEST_TIMED {
            (i64::MIN, i64::MAX)
        } else {
            let from = micros_of(id.started());
            (from, from + 999)
        };
        let mut select = self.connection.prepare(FIND)?;
        let found = select.query_row(params![number, from, to], |row| stored(row, id)).optional()?;
        let Some((mut probe, release)) = found else { return Ok(None) };
        let mut releases = self.releases(&probe.target)?;
        releases.retain(|known| known.id == release);
        probe.release = releases.pop();
        Ok(Some(probe))
    }
}

fn stored(row: &Row<'_>, id: ProbeId) -> rusqlite::Result<(StoredProbe, ReleaseId)> {
    let (failed, judged): (i64, Option<i64>) = (row.get("outcome")?, row.get("verdict")?);
    let probe = StoredProbe {
        id,
        at: time_of(row.get("at")?),
        target: row.get("target_name")?,
        workload: row.get("workload_name")?,
        release: None,
        mixed: row.get("mixed")?,
        suspect: row.get("suspect")?,
        failure: Failure::ALL.into_iter().find(|failure| outcome(*failure) == failed),
        verdict: Verdict::ALL.into_iter().find(|known| Some(verdict(*known)) == judged),
        sample: sample(row)?,
        gaps: gaps(row)?,
        tokens: tokens(row)?,
        times: ServerTimes {
            queue: duration(row, "queue")?,
            prefill: duration(row, "prefill")?,
            decode: duration(row, "decode")?,
            load: duration(row, "load")?,
        },
        seed: Seed {
            random: row.get::<_, i64>("seed")?.cast_unsigned(),
            step: row.get("step")?,
            size: row.get("size")?,
        },
        depth: row.get::<_, Option<u8>>("depth")?.map(Depth),
        characters: row.get("characters")?,
        cut: row.get("cut")?,
        detail: row.get("detail")?,
        text: row.get("text")?,
        thought: row.get("thought")?,
        trace: row.get::<_, Option<[u8; 16]>>("trace")?.and_then(TraceId::from_bytes),
    };
    Ok((probe, ReleaseId(row.get("release")?)))
}

fn duration(row: &Row<'_>, column: &str) -> rusqlite::Result<Option<Duration>> {
    Ok(row.get::<_, Option<u64>>(column)?.map(Duration::from_micros))
}

fn sample(row: &Row<'_>) -> rusqlite::Result<Sample> {
    Ok(Sample {
        lag: duration(row, "lag")?.unwrap_or_default(),
        resolve: duration(row, "resolve")?,
        connect: duration(row, "connect")?,
        tls: duration(row, "tls")?,
        wait: duration(row, "wait")?,
        ttft: duration(row, "ttft")?,
        answer_ttft: duration(row, "answer_ttft")?,
        tpot: duration(row, "tpot")?,
        stall: duration(row, "stall")?,
        latency: duration(row, "latency")?,
        tokens_per_arrival: row.get("tokens_per_arrival")?,
        ..Sample::default()
    })
}

fn tokens(row: &Row<'_>) -> rusqlite::Result<Tokens> {
    let source: Option<i64> = row.get("token_source")?;
    Ok(Tokens {
        prompt: row.get("prompt_tokens")?,
        cached: row.get("cached_tokens")?,
        reasoning: row.get("reasoning_tokens")?,
        hidden: row.get("hidden_tokens")?,
        output: row.get("output_tokens")?,
        source: TokenSource::ALL.into_iter().find(|known| Some(token_source(*known)) == source),
        speculation: Speculation::stated(row.get("drafted_tokens")?, row.get("accepted_tokens")?),
    })
}

/// None without gaps, or if the histogram cannot be read.
fn gaps(row: &Row<'_>) -> rusqlite::Result<Option<Quantiles>> {
    let (Some(p50), Some(p99)) = (duration(row, "itl_p50")?, duration(row, "itl_p99")?) else {
        return Ok(None);
    };
    let Some(bytes): Option<Vec<u8>> = row.get("histogram")? else { return Ok(None) };
    let histogram: Option<Histogram<u64>> = Deserializer::new().deserialize(&mut bytes.as_slice()).ok();
    Ok(histogram.map(|histogram| {
        // What is read within 1 % must not stand below a smaller quantile that is exact.
        let at = |share| Duration::from_micros(histogram.value_at_quantile(share));
        let (p90, p95) = (at(0.90).clamp(p50, p99), at(0.95).clamp(p50, p99));
        Quantiles { p50, p90, p95, p99, max: at(1.0).max(p99) }
    }))
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::*;
    use crate::domain::Makeup;
    use crate::history::schema::{self, STEPS};
    use crate::history::tests::{at, in_folder, report};
    use crate::history::{History, Settings};

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn a_probe_is_found_by_its_id_with_all_that_was_kept() {
        let history = History::open(&Settings::default()).unwrap();
        let release = history.begin_release("a", &Makeup::default(), at(0));
        let mut good = report("a", 1, None);
        good.wall += Duration::from_nanos(999_999_999);
        good.id = ProbeId::next(good.wall);
        good.tokens = Tokens {
            prompt: Some(300),
            hidden: Some(4),
            output: Some(60),
            speculation: Some(Speculation { drafted: 9, accepted: 5 }),
            source: Some(TokenSource::TokenIds),
            ..Tokens::default()
        };
        good.times.queue = Some(7 * MS);
        good.depth = Some(Depth(40));
        good.trace = TraceId::from_bytes([7; 16]);
        let failed = report("b", 1, Some(Failure::Truncated));
        history.keep(&good, release, true);
        history.keep(&failed, ReleaseId(99), false);
        history.flush().unwrap();
        let reader = history.reader().unwrap();

        let found = reader.find(good.id).unwrap().unwrap();
        let wanted = StoredProbe {
            id: good.id,
            at: at(1) + Duration::from_micros(999_999),
            target: "a".into(),
            workload: "w".into(),
            release: reader.releases("a").unwrap().pop(),
            mixed: true,
            suspect: false,
            failure: None,
            verdict: good.verdict,
            sample: Sample { itl: Vec::new(), ..good.sample.clone() },
            gaps: found.gaps,
            tokens: good.tokens,
            times: good.times,
            seed: good.seed,
            depth: good.depth,
            characters: 0,
            cut: false,
            detail: None,
            text: None,
            thought: None,
            trace: good.trace,
        };
        assert_eq!(found, wanted);
        assert_eq!(wanted.release.unwrap().id, release);
        let (kept, exact) = (found.gaps.unwrap(), Quantiles::of_gaps(&good.sample).unwrap());
        assert_eq!((kept.p50, kept.p99), (exact.p50, exact.p99));
        for (kept, exact) in [(kept.p90, exact.p90), (kept.p95, exact.p95), (kept.max, exact.max)] {
            assert!((kept.as_secs_f64() / exact.as_secs_f64() - 1.0).abs() < 0.01, "{kept:?}, {exact:?}");
        }

        let found = reader.find(failed.id).unwrap().unwrap();
        assert_eq!((&*found.target, found.failure), ("b", Some(Failure::Truncated)));
        assert_eq!((found.detail.as_deref(), found.release, found.gaps), (Some("it said no"), None, None));
        assert_eq!(found.trace, None);
        let other = ProbeId::from_number(good.id.number() ^ 1 << 19);
        assert_eq!(reader.find(other).unwrap(), None);
    }

    #[test]
    fn a_probe_is_found_without_reading_others() {
        let history = History::open(&Settings::default()).unwrap();
        let reader = history.reader().unwrap();
        let mut explain = reader.connection.prepare(&format!("EXPLAIN QUERY PLAN {FIND}")).unwrap();
        let steps = explain.query_map(params![1, 2, 3], |row| row.get(3)).unwrap();
        let plan: Vec<String> = steps.map(Result::unwrap).collect();
        let probes = plan.iter().find(|step| step.contains(" p ")).unwrap();
        assert!(probes.contains("SEARCH p USING PRIMARY KEY (target=? AND at>? AND at<?)"), "{plan:?}");
    }

    #[test]
    fn an_id_that_comes_twice_costs_no_other_probe() {
        let history = History::open(&Settings::default()).unwrap();
        let [mut first, other, mut second] = ["a", "b", "a"].map(|target| report(target, 1, None));
        second.id = first.id;
        first.verdict = Some(Verdict::Wrong);
        second.verdict = Some(Verdict::Degenerate);
        for report in [&mut first, &mut second] {
            report.answer.text = report.verdict.unwrap().label().to_owned();
        }
        for report in [&first, &other, &second] {
            history.keep(report, ReleaseId(1), false);
        }
        history.flush().unwrap();
        assert_eq!((history.state().written, history.state().lost), (3, 0));
        let reader = history.reader().unwrap();
        assert_eq!(reader.find(first.id).unwrap().unwrap().text.as_deref(), Some("degenerate"));
        assert!(reader.find(other.id).unwrap().is_some());
    }

    #[test]
    fn probes_that_were_numbered_by_an_earlier_version_are_found_too() {
        let folder = tempfile::tempdir().unwrap();
        let settings = in_folder(folder.path());
        let mut old = Connection::open(settings.path.as_ref().unwrap()).unwrap();
        schema::prepare(&old).unwrap();
        schema::migrate(&mut old, &STEPS[..3]).unwrap();
        let filled = "INSERT INTO targets VALUES (1, 'a'); INSERT INTO workloads VALUES (1, 'w');
            INSERT INTO probes (target, at, id, workload, release, mixed, suspect, outcome, ttft, lag, characters, cut,
              seed, step, size) VALUES (1, 1763180001000000, 17, 1, 1, 0, 0, 10, 90000, 0, 0, 0, 1, 2, 3);
            INSERT INTO texts VALUES (17, NULL, NULL, 'it said no');";
        old.execute_batch(filled).unwrap();
        drop(old);

        let history = History::open(&settings).unwrap();
        history.keep(&report("a", 2, None), ReleaseId(1), false);
        history.flush().unwrap();
        let found = history.reader().unwrap().find("0000000000000011".parse().unwrap()).unwrap().unwrap();
        assert_eq!((found.at, found.sample.ttft), (at(1), Some(90 * MS)));
        assert_eq!(
            (found.failure, found.detail.as_deref()),
            (Some(Failure::ServerError), Some("it said no"))
        );
        let file = Connection::open(settings.path.unwrap()).unwrap();
        let sql = "SELECT target || detail || ifnull(trace_id, '-') FROM probe WHERE id = '0000000000000011'";
        assert_eq!(file.query_row(sql, [], |row| row.get::<_, String>(0)).unwrap(), "ait said no-");
    }
}
