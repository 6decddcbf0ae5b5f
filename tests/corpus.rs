//! Every recorded exchange, played back over a socket as fast as it goes, must give the expected report.
//!
//! What to expect was worked out from the recordings by another reader than the one under test, and stands in
//! each file.

mod support;

use std::path::PathBuf;

use serde_json::Value;
use support::{Prober, Server, Step, plan};

const TIMEOUTS: &str = "connect = '2s'\nfirst_token = '2s'\nstall = '700ms'\ntotal = '20s'";

fn recordings() -> Vec<(String, Value)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/wire");
    let mut found: Vec<_> = std::fs::read_dir(folder)
        .expect("tests/wire is there")
        .map(|entry| entry.expect("a file").path())
        .filter(|path| path.extension().is_some_and(|end| end == "json"))
        .map(|path| {
            let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
            let text = std::fs::read_to_string(&path).expect("readable");
            (name, serde_json::from_str(&text).expect("JSON"))
        })
        .filter(|(_, recorded): &(_, Value)| recorded["expect"].is_object())
        .collect();
    found.sort_by(|a, b| a.0.cmp(&b.0));
    found
}

/// The steps of a recording, without its pauses.
fn script(recorded: &Value) -> Vec<Step> {
    let reads = recorded["reads"].as_array().expect("reads").iter();
    let mut script: Vec<_> =
        reads.map(|read| Step::Send(read[1]["utf8"].as_str().expect("text").to_owned())).collect();
    match recorded["response"]["end"].as_str().expect("how it ended") {
        "eof" => script.push(Step::Close),
        "timeout" => script.push(Step::Hang),
        _ => {}
    }
    script
}

#[tokio::test]
async fn every_recording_gives_the_expected_report() {
    let recordings = recordings();
    assert!(recordings.len() >= 150, "{} recordings", recordings.len());
    for (name, recorded) in recordings {
        let server = Server::start(script(&recorded)).await;
        let path = recorded["request"]["path"].as_str().expect("a path");
        let api = if path == "/v1/completions" { "openai-completions" } else { "openai-chat" };
        let stream = recorded["request"]["body"]["stream"] == true;
        let more = format!("api = '{api}'\nstream = {stream}");
        let prober = Prober::new(plan(&format!("http://{}", server.address), &more, TIMEOUTS));
        let report = prober.probe().await;

        let expected = &recorded["expect"];
        assert_eq!(expected["outcome"], report.outcome(), "{name}: {:?}", report.fault);
        if report.succeeded() {
            assert_eq!(expected["deltas"], report.timeline.deltas.len(), "{name}");
            assert_eq!(expected["prompt"].as_u64(), report.tokens.prompt, "{name}");
            assert_eq!(expected["output"].as_u64(), report.tokens.output, "{name}");
            assert_eq!(report.sample.ttft.is_some(), stream, "{name}");
            assert!(stream || report.sample.tokens_per_second.is_some(), "{name}");
        } else {
            assert!(!report.fault.expect("a fault").detail.is_empty(), "{name}");
        }
    }
}
