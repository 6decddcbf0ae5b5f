//! Sends one prompt and returns one [`Report`]; a failed probe is a value, never an error.

mod certificate;
#[cfg(test)]
mod corpus;
mod count;
mod identify;
mod knowledge;
mod patience;
mod phases;
mod read;
mod tls;
mod transport;

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::domain::{
    Failure, Fault, Fields, Lesson, ProbeId, Prompt, Report, Sample, Target, Timeline, Verdict, Workload,
    clock,
};
use crate::protocol::{Dialect, Request};
pub use count::{Counted, count_tokens};
pub use identify::{Page, hear, identify};
pub use knowledge::Knowledge;
use patience::{Limit, Patience};
use read::{Read, Reading};
pub use tls::Trust;
use transport::{Answer, Broken, Lane};
pub use transport::{Transport, Unusable};

/// How much of a refusal is read for the log.
const MAX_REFUSAL_BYTES: usize = 16 << 10;

/// How long a finished answer's connection may take to close before it is left alone.
const LINGER: Duration = Duration::from_secs(2);

/// What one probe is to do.
#[derive(Debug)]
pub struct Job {
    pub target: Arc<Target>,
    pub workload: Arc<Workload>,
    pub prompt: Prompt,
    pub due: Instant,
}

/// One request under way.
struct Exchange<'a> {
    transport: &'a Transport,
    lane: &'a Lane,
    job: &'a Job,
    reading: Reading,
    patience: Patience,
    retry_after: Option<Duration>,
    refused: Fields,
}

/// How an answer that is not a failure came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// The body ended: the connection can be used again.
    Closed,
    /// The answer is finished, but the server holds the connection open.
    Held,
}

/// So often a limit of the answer is raised because the target demands it.
const MOST_RAISES: u32 = 2;

/// Sends a prompt; once more, without them, if the target refuses optional fields of the request, or with a higher
/// limit of the answer if it demands one. Each time there are fewer of them, and limits are raised twice at most, so it
/// ends.
pub async fn run(transport: &Transport, mut job: Job) -> Report {
    let dialect = Dialect::of(job.target.api);
    let mut allowed = transport.knowledge().fields();
    let first = Instant::now();
    let mut again = first;
    let mut tries = 0;
    loop {
        job.prompt.max_tokens = transport.knowledge().output_limit(job.prompt.max_tokens);
        let request = dialect.request(&job.target, &job.prompt, allowed);
        // The time that a refusal took is not the daemon's lateness.
        let due = job.due + (again - first);
        let attempt = attempt(transport, &job, request, due).await;
        let raised = transport.knowledge().heed(attempt.lesson, job.prompt.max_tokens);
        if raised && tries < MOST_RAISES {
            tries += 1;
            let (target, output_tokens) = (&*job.target.name, attempt.lesson.least_output);
            tracing::info!(
                target,
                output_tokens,
                "the target demands a higher limit of the answer; it is met"
            );
        } else if attempt.refused.is_empty() {
            return report(transport, job, attempt);
        }
        allowed = allowed.without(attempt.refused);
        let fault = attempt.fault.map(|fault| fault.made_quotable(|detail| job.target.redact(detail)));
        let detail = fault.map(|fault| fault.detail);
        for field in transport.knowledge().refuse(attempt.refused) {
            let (target, field) = (&*job.target.name, field.name());
            tracing::warn!(target, field, detail, "the target refuses a field; it is not sent any more");
        }
        again = Instant::now();
    }
}

/// What came of one request.
struct Attempt {
    id: ProbeId,
    wall: std::time::SystemTime,
    reading: Reading,
    fault: Option<Fault>,
    retry_after: Option<Duration>,
    /// Optional fields because of which it was refused.
    refused: Fields,
    /// What a refusal said about lengths.
    lesson: Lesson,
}

async fn attempt(transport: &Transport, job: &Job, request: Request, due: Instant) -> Attempt {
    let dialect = Dialect::of(job.target.api);
    let lane = transport.take_lane();
    let wall = clock::wall_now();
    let id = ProbeId::next(wall);
    let started = Instant::now();
    let reading = Reading::new(dialect, job.target.stream, Timeline::new(due, started));
    let lane = match lane {
        Ok(lane) => lane,
        Err(broken) => {
            let fault = Some(Failure::Connect.because(broken.detail));
            let (refused, lesson) = (Fields::NONE, Lesson::default());
            return Attempt { id, wall, reading, fault, retry_after: None, refused, lesson };
        }
    };
    lane.phases.reset();
    let mut exchange = Exchange {
        transport,
        lane: &lane,
        job,
        reading,
        patience: Patience::new(started, job.workload.timeouts),
        retry_after: None,
        refused: Fields::NONE,
    };
    let outcome = exchange.run(request).await.map_err(|fault| with_address(fault, &job.target));
    let Exchange { mut reading, retry_after, refused, .. } = exchange;

    let timeline = reading.timeline();
    lane.phases.copy_to(timeline);
    if outcome != Ok(End::Held) {
        timeline.closed.get_or_insert_with(Instant::now);
    }
    if outcome == Ok(End::Closed) {
        transport.return_lane(lane);
    }
    let fault = outcome.err();
    let lesson = fault.as_ref().map(lesson).unwrap_or_default();
    Attempt { id, wall, reading, fault, retry_after, refused, lesson }
}

/// What a refusal says about lengths, with a status or inside a stream.
fn lesson(fault: &Fault) -> Lesson {
    match fault.failure {
        Failure::Rejected | Failure::InBand | Failure::ServerError => Dialect::lesson(&fault.detail),
        _ => Lesson::default(),
    }
}

fn report(transport: &Transport, job: Job, attempt: Attempt) -> Report {
    let Attempt { id, wall, reading, fault, retry_after, lesson, .. } = attempt;
    let Read { timeline, tokens, times, fingerprint, answer } = reading.finish();
    let sample = Sample::derive(&timeline, &tokens);
    let fault = fault.map(|fault| fault.made_quotable(|detail| job.target.redact(detail)));
    let answer = answer.redacted(|text| job.target.redact(text));
    Report {
        verdict: fault.is_none().then_some(Verdict::Unchecked),
        target: job.target,
        workload: job.workload,
        id,
        wall,
        seed: job.prompt.seed,
        depth: job.prompt.depth,
        answer,
        timeline,
        sample,
        tokens,
        times,
        fingerprint,
        fault,
        suspect: false,
        retry_after,
        certificate_expiry: transport.knowledge().certificate_expiry(),
        lesson,
    }
}

impl Exchange<'_> {
    async fn run(&mut self, request: Request) -> Result<End, Fault> {
        let phases = &self.lane.phases;
        let reading = &self.reading;
        let timeouts = self.job.workload.timeouts;
        let fields = request.fields;
        let sending = self.transport.send(self.lane, request);
        let answer = self.patience.wait(sending, || Limit::before_answer(timeouts, reading, phases)).await?;
        let mut answer = answer.map_err(|broken| self.broken_before_answer(broken))?;
        self.reading.timeline().headers = Some(Instant::now());
        if (200..300).contains(&answer.status()) {
            self.read_stream(&mut answer).await
        } else {
            self.retry_after = answer.retry_after();
            Err(self.refusal(&mut answer, fields).await)
        }
    }

    async fn read_stream(&mut self, answer: &mut Answer) -> Result<End, Fault> {
        let (timeouts, sent) = (self.job.workload.timeouts, self.lane.phases.sent_at());
        loop {
            let reading = &self.reading;
            let read =
                self.patience.wait(answer.read(), || Limit::within_answer(timeouts, reading, sent)).await;
            let at = Instant::now();
            match read {
                Ok(Ok(Some(bytes))) => {
                    self.reading.take(at, &bytes)?;
                    // Patience looks at its clock only when nothing comes; a flood always comes.
                    if self.reading.finished().is_some_and(|finished| finished + LINGER < at) {
                        return self.reading.complete().map(|()| End::Held);
                    }
                }
                Ok(Ok(None)) => {
                    self.reading.timeline().closed = Some(at);
                    if !self.reading.has_body() {
                        return Err(no_body(answer.status()));
                    }
                    return self.reading.end(at).map(|()| End::Closed);
                }
                Ok(Err(_)) | Err(_) if self.reading.finished().is_some() => {
                    return self.reading.complete().map(|()| End::Held);
                }
                Ok(Err(Broken { detail, nonsense: true, .. })) => {
                    return Err(Failure::Malformed.because(detail));
                }
                Ok(Err(broken)) => {
                    let when = format!("in the middle of the answer, {}", self.reading.progress());
                    return Err(Failure::Truncated.because(broken.told(&when)));
                }
                Err(fault) => return Err(fault),
            }
        }
    }

    /// The connection could not be made, or broke before a status line came.
    fn broken_before_answer(&self, broken: Broken) -> Fault {
        match self.lane.phases.unfinished() {
            Some(phase) => phase.because(broken.detail),
            None if broken.tls => Failure::Tls.because(broken.detail),
            None if broken.nonsense => Failure::Malformed.because(broken.detail),
            None => Failure::Truncated.because(broken.told("before it answered")),
        }
    }

    /// A status that is no success, with what the body says about it.
    async fn refusal(&mut self, answer: &mut Answer, sent: Fields) -> Fault {
        let (timeouts, sent_at) = (self.job.workload.timeouts, self.lane.phases.sent_at());
        let mut body = Vec::new();
        while body.len() < MAX_REFUSAL_BYTES {
            let reading = &self.reading;
            match self.patience.wait(answer.read(), || Limit::within_answer(timeouts, reading, sent_at)).await
            {
                Ok(Ok(Some(bytes))) => body.extend_from_slice(&bytes),
                _ => break,
            }
        }
        if matches!(answer.status(), 400 | 422) {
            self.refused = Dialect::objections(&body, sent);
        }
        let failure = failure_of(answer.status(), answer.has_retry_after());
        let says = match answer.location() {
            Some(location) => format!("redirects to {location}; write that address into the configuration"),
            None => self.said(answer, &body),
        };
        failure.because(format!("HTTP {}: {says}", answer.status()))
    }

    /// What the body of a refusal says. Where that is no more than the status, or a page of a server that
    /// knows no such path, the path is said as well: it tells a wrong address from a wrong model.
    fn said(&self, answer: &Answer, body: &[u8]) -> String {
        let says = Dialect::explain(body);
        let says = says.trim();
        let is_bare = says.is_empty() || says.eq_ignore_ascii_case(answer.reason());
        let is_page =
            matches!(answer.status(), 404 | 405) && !matches!(body.trim_ascii().first(), Some(b'{' | b'['));
        if !is_bare && !is_page {
            return says.to_owned();
        }
        let says: String = if says.is_empty() { answer.reason() } else { says }.chars().take(100).collect();
        let url = Dialect::of(self.job.target.api).url(&self.job.target);
        format!("{says} (POST {})", url.path())
    }
}

/// A connection that cannot be made is the business of whoever runs the other end: it must be named.
fn with_address(fault: Fault, target: &Target) -> Fault {
    match fault.failure {
        Failure::Dns | Failure::Connect | Failure::Tls => {
            let detail = format!("cannot connect to {}: {}", target.address(), fault.detail);
            Fault { detail, ..fault }
        }
        _ => fault,
    }
}

/// A good status, and not one byte after it. This is not `Empty`: an answer that ends properly says so, in its
/// format, and here nothing was said at all.
fn no_body(status: u16) -> Fault {
    Failure::Truncated.because(format!("the answer is empty: status {status} without a body"))
}

fn failure_of(status: u16, has_retry_after: bool) -> Failure {
    match status {
        401 | 403 => Failure::Auth,
        429 => Failure::RateLimited,
        503 if has_retry_after => Failure::RateLimited,
        500.. => Failure::ServerError,
        _ => Failure::Rejected,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_is_one_failure() {
        for (status, retry_after, expected) in [
            (301, false, Failure::Rejected),
            (400, false, Failure::Rejected),
            (401, false, Failure::Auth),
            (403, false, Failure::Auth),
            (404, false, Failure::Rejected),
            (408, false, Failure::Rejected),
            (422, true, Failure::Rejected),
            (429, false, Failure::RateLimited),
            (500, false, Failure::ServerError),
            (503, false, Failure::ServerError),
            (503, true, Failure::RateLimited),
            (529, false, Failure::ServerError),
        ] {
            assert_eq!(failure_of(status, retry_after), expected, "{status}");
        }
    }
}
