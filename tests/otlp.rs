//! Traces and metrics that are pushed to an OpenTelemetry collector.

mod support;

use support::{PATIENT, Prober, Server, end, head, plan, text};

use support::Step;

#[tokio::test]
async fn each_probe_tells_the_target_a_trace_of_its_own_if_it_is_to() {
    let server = Server::start(vec![head(), Step::Send(text("a")), end(1)]).await;
    let url = format!("http://{}", server.address);
    for (more, count) in [("traceparent = true", 2), ("", 0)] {
        let prober = Prober::new(plan(&url, more, PATIENT));
        let before = server.requests().len();
        let reports = [prober.probe().await, prober.probe().await];
        let sent: Vec<String> = server.requests()[before..]
            .iter()
            .flat_map(|request| request.lines().filter_map(|line| line.strip_prefix("traceparent: ")))
            .map(str::to_owned)
            .collect();
        let told: Vec<String> = reports
            .iter()
            .filter_map(|report| Some(format!("00-{}-{}-01", report.trace?, report.id)))
            .collect();
        assert_eq!(sent, told);
        assert_eq!(sent.len(), count);
        assert!(sent.iter().all(|header| header.len() == 55), "{sent:?}");
        assert_ne!(sent.first(), sent.get(1).or(Some(&String::new())), "each probe is another trace");
    }
}
