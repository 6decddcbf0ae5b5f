//! One probe as one span: its phases are events, its attributes follow the GenAI conventions.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::trace::v1::span::{Event, SpanKind};
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use opentelemetry_proto::tonic::trace::v1::{Span, Status};
use tokio::time::Instant;

use super::conventions::{common, flag, number, operation, text, whole};
use crate::domain::{Channel, Report, Timeline};

/// The W3C flag that this trace is recorded.
const SAMPLED: u32 = 1;

/// `None` for a probe that is no trace.
pub(super) fn of(report: &Report) -> Option<Span> {
    let clock = Clock { wall: report.wall, started: report.timeline.started };
    let Timeline { started, finished, closed, .. } = report.timeline;
    Some(Span {
        trace_id: report.trace?.bytes().to_vec(),
        span_id: report.id.number().to_be_bytes().to_vec(),
        flags: SAMPLED,
        name: format!("{} {}", operation(report.target.api), report.target.model),
        kind: SpanKind::Client.into(),
        start_time_unix_nano: clock.nanos(started),
        end_time_unix_nano: clock.nanos(closed.or(finished).unwrap_or(started)),
        attributes: attributes(report),
        events: events(&report.timeline, clock),
        status: Some(status(report)),
        ..Span::default()
    })
}

/// Instants in wall time: one reading of the wall clock, and durations of the monotonic one.
#[derive(Debug, Clone, Copy)]
struct Clock {
    wall: SystemTime,
    started: Instant,
}

impl Clock {
    fn nanos(self, at: Instant) -> u64 {
        unix_nanos(self.wall + at.saturating_duration_since(self.started))
    }
}

/// As OTLP writes times.
pub(super) fn unix_nanos(at: SystemTime) -> u64 {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

fn attributes(report: &Report) -> Vec<KeyValue> {
    let mut attributes = common(&report.target);
    attributes.extend([
        whole("gen_ai.request.max_tokens", u64::from(report.max_tokens)),
        text("sloprobe.target", &*report.target.name),
        text("sloprobe.workload", &*report.workload.name),
        text("sloprobe.probe_id", report.id.to_string()),
        flag("sloprobe.suspect", report.suspect),
    ]);
    attributes.extend(report.model.as_ref().map(|model| text("gen_ai.response.model", model)));
    let tokens = &report.tokens;
    let counts = [
        ("gen_ai.usage.input_tokens", tokens.prompt),
        ("gen_ai.usage.output_tokens", tokens.output),
        ("gen_ai.usage.cache_read.input_tokens", tokens.cached),
        ("gen_ai.usage.reasoning.output_tokens", tokens.reasoning),
    ];
    attributes.extend(counts.into_iter().filter_map(|(key, count)| Some(whole(key, count?))));
    if report.target.stream {
        attributes.push(flag("gen_ai.request.stream", true));
        let ttft = report.sample.ttft.map(|ttft| ttft.as_secs_f64());
        attributes.extend(ttft.map(|ttft| number("gen_ai.response.time_to_first_chunk", ttft)));
    }
    attributes.extend(report.verdict.map(|verdict| text("sloprobe.verdict", verdict.label())));
    attributes.extend(report.fault.as_ref().map(|fault| text("error.type", fault.failure.label())));
    attributes
}

/// The phases that this probe reached, in the order of time.
fn events(timeline: &Timeline, clock: Clock) -> Vec<Event> {
    let first_answer = timeline.deltas.iter().find(|delta| delta.channel == Channel::Answer);
    let phases = [
        ("resolved", timeline.resolved),
        ("connected", timeline.connected),
        ("secured", timeline.secured),
        ("sent", timeline.sent),
        ("headers", timeline.headers),
        ("first_token", timeline.deltas.first().map(|delta| delta.at)),
        ("first_answer_token", first_answer.map(|delta| delta.at)),
        ("finished", timeline.finished),
    ];
    let event = |(name, at): (&str, Option<Instant>)| {
        Some(Event { time_unix_nano: clock.nanos(at?), name: name.to_owned(), ..Event::default() })
    };
    phases.into_iter().filter_map(event).collect()
}

/// Success is left unset, as the convention asks of instrumentation.
fn status(report: &Report) -> Status {
    match &report.fault {
        Some(fault) => Status { code: StatusCode::Error.into(), message: fault.detail.clone() },
        None => Status { code: StatusCode::Unset.into(), message: String::new() },
    }
}

#[cfg(test)]
mod tests {
    use opentelemetry_proto::tonic::common::v1::any_value::Value;

    use super::*;
    use crate::domain::{Delta, Failure, Fault, Sample, Tokens, TraceId, fixture};

    const MS: Duration = Duration::from_millis(1);

    fn report(fault: Option<Fault>) -> Report {
        let mut report = fixture::report(&fixture::target("t", &["w"]), Sample::default(), fault);
        report.trace = TraceId::from_bytes([7; 16]);
        report.wall = UNIX_EPOCH + Duration::from_secs(1_789_000_000);
        report
    }

    fn value(span: &Span, key: &str) -> Option<Value> {
        let attribute = span.attributes.iter().find(|attribute| attribute.key == key)?;
        attribute.value.clone()?.value
    }

    #[test]
    fn a_probe_without_a_trace_has_no_span() {
        assert_eq!(of(&Report { trace: None, ..report(None) }), None);
    }

    #[test]
    fn a_span_lasts_as_long_as_the_probe_and_has_its_phases() {
        let mut report = report(None);
        let start = report.timeline.started;
        report.timeline.due = start - 5 * MS;
        report.timeline.connected = Some(start + MS);
        report.timeline.sent = Some(start + 2 * MS);
        report.timeline.headers = Some(start + 100 * MS);
        report.timeline.deltas = vec![
            Delta::new(start + 120 * MS, Channel::Reasoning),
            Delta::new(start + 150 * MS, Channel::Answer),
        ];
        report.timeline.finished = Some(start + 200 * MS);
        report.timeline.closed = Some(start + 210 * MS);
        let span = of(&report).unwrap();
        let begin = 1_789_000_000_000_000_000;
        assert_eq!((span.start_time_unix_nano, span.end_time_unix_nano), (begin, begin + 210_000_000));
        let events: Vec<_> = span
            .events
            .iter()
            .map(|event| (event.name.as_str(), (event.time_unix_nano - begin) / 1_000_000))
            .collect();
        let expected = [
            ("connected", 1),
            ("sent", 2),
            ("headers", 100),
            ("first_token", 120),
            ("first_answer_token", 150),
            ("finished", 200),
        ];
        assert_eq!(events, expected);
        assert_eq!(span.span_id, report.id.number().to_be_bytes());
        assert_eq!((span.name.as_str(), span.kind), ("chat tiny", 3));
        assert_eq!(span.status.unwrap().code, 0);
    }

    #[test]
    fn counts_that_the_server_did_not_state_are_absent() {
        let mut report = report(None);
        report.tokens = Tokens { prompt: Some(312), cached: Some(0), ..Tokens::default() };
        let span = of(&report).unwrap();
        assert_eq!(value(&span, "gen_ai.usage.input_tokens"), Some(Value::IntValue(312)));
        assert_eq!(value(&span, "gen_ai.usage.cache_read.input_tokens"), Some(Value::IntValue(0)));
        assert_eq!(value(&span, "gen_ai.usage.output_tokens"), None);
        assert_eq!(value(&span, "gen_ai.usage.reasoning.output_tokens"), None);
        assert_eq!(value(&span, "server.port"), Some(Value::IntValue(1)));
        assert_eq!(value(&span, "error.type"), None);
    }

    #[test]
    fn a_failed_probe_is_an_error_of_its_kind() {
        let span = of(&report(Some(Failure::TimeoutStall.because("nothing came for 15s")))).unwrap();
        assert_eq!(value(&span, "error.type"), Some(Value::StringValue("timeout_stall".into())));
        assert_eq!(value(&span, "sloprobe.verdict"), None);
        let status = span.status.unwrap();
        assert_eq!((status.code, status.message.as_str()), (2, "nothing came for 15s"));
    }
}
