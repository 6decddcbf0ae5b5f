//! One target: what its users feel, and where the time goes.

use serde_json::json;

use super::expr::{self, of, part, rate};
use super::frame::{Board, Section, Variable, repeated, section};
use super::look::{self, BAD, BETTER, GOOD, NEUTRAL, QUANTILES, WARN};
use super::overview;
use super::panel::{Panel, heat, lines, now, promises, range, stacked, stat, timeline};
use crate::catalogue::{self as cat, Family, Label};

pub(super) const BOARD: Board = Board {
    name: "target",
    title: "sloprobe / Target",
    description: "One target: what its users feel, and where the time goes. A section for each workload.",
    from: "now-6h",
    refresh: "30s",
    variables: &[Variable::Target, Variable::Workloads],
    sections,
};

fn sections() -> Vec<Section> {
    vec![
        section("$target", [numbers(), vec![budgets(), overview::failures()]].concat()),
        repeated("$workload", "workload", workload()),
    ]
}

fn numbers() -> Vec<Panel> {
    let info = format!("max by (engine, version) ({})", of(&cat::TARGET_INFO));
    let age = format!("time() - max({} > 0)", of(&cat::LAST_SUCCESS));
    let success = format!("1 - {} / {}", expr::grown(&cat::FAILURES, ""), expr::grown(&cat::PROBES, ""));
    let expiry = format!("min({}) - time()", of(&cat::CERTIFICATE_EXPIRY));
    vec![
        stat("Answers", "Whether the newest probe succeeded. Down: see the failures by reason below, then the runbook of SloprobeTargetDown.", "none")
            .ask(now(format!("min by (target) ({})", of(&cat::UP)), "{{target}}"))
            .option("textMode", json!("value"))
            .mapped(&[look::words(&[("1", "up", GOOD), ("0", "DOWN", BAD)])])
            .when_empty("not probed")
            .steps(BAD, &[(1.0, GOOD)]),
        stat("Last success", "How long ago a probe of a chosen workload last succeeded. Compare it with the interval between probes: much longer means that they fail or are skipped.", "s")
            .ask(now(age, "ago"))
            .when_empty("never yet")
            .default("decimals", json!(0)),
        stat("Succeeded", "The share of probes that succeeded in the time shown.", "percentunit")
            .ask(now(success, "succeeded"))
            .when_empty("no probes yet")
            .steps(BAD, &[(0.95, WARN), (0.99, GOOD)]),
        stat("Budget left", "The least that is left of an error budget of this target. Below a tenth: no risky change until it has recovered; below 0 the promise of its window is broken.", "percentunit")
            .ask(now(format!("min({})", expr::budget_left()), "left"))
            .when_empty("no objectives")
            .default("decimals", json!(1))
            .steps(BAD, &[(0.1, WARN), (0.5, GOOD)]),
        stat("Runs", "The engine and its version, as the server says; two while a rolling upgrade is under way. What the last change did is on the dashboard Releases.", "none")
            .ask(now(info, "{{engine}} {{version}}"))
            .when_empty("not known yet")
            .option("textMode", json!("name")),
        stat("Certificate ends in", "How long the certificates that the target presents are still valid. Renew them at two weeks; from three days on an alert is critical.", "s")
            .ask(now(expiry, "left"))
            .when_empty("no certificate: plain http")
            .steps(BAD, &[(3.0 * 86400.0, WARN), (14.0 * 86400.0, GOOD)]),
    ]
}

fn budgets() -> Panel {
    timeline("Error budgets burning, by objective", "How fast each error budget of this target was spent, over an hour: 1 just lasts for its window. The left edge of a coloured stretch is when users began to notice.", "none")
        .ask(range(format!("max by (workload, slo) ({}) >= 0", expr::burn()), "{{workload}}: {{slo}}"))
        .when_empty("no objectives: promise something under [[slos]]")
        .steps(GOOD, &[(1.0, WARN), (6.0, BAD)])
        .default("decimals", json!(1))
        .size(12, 8)
}

/// A duration, twice: all of it, and what of it matters.
struct Told {
    family: &'static Family,
    name: &'static str,
    /// As objectives name it.
    metric: &'static str,
    what: &'static str,
    advice: &'static str,
}

const TOLD: [Told; 5] = [
    Told {
        family: &cat::TTFT,
        name: "TTFT",
        metric: "ttft",
        what: "Time to first token, from the request being sent: queueing and prefill.",
        advice: "Two bands mean two kinds of requests, often cache hits and misses, or a queue that comes and goes. All of it rising with the load is a queue: add capacity, or look for who sends it.",
    },
    Told {
        family: &cat::TPOT,
        name: "TPOT",
        metric: "tpot",
        what: "Time per output token after the first, one value for each answer: the speed at which text appears.",
        advice: "It rises with the size of the batches: compare with the engine's running requests. A step at a release line is the release.",
    },
    Told {
        family: &cat::ITL,
        name: "ITL",
        metric: "itl_p99",
        what: "The time between two tokens, one value for each token.",
        advice: "A second band far above the first is prefill of others that interrupts decoding: chunked prefill, or its budget of tokens, is what to change.",
    },
    Told {
        family: &cat::STALL,
        name: "Longest stall",
        metric: "stall",
        what: "The longest pause within each answer.",
        advice: "Seconds here, while TPOT is calm, are preemptions, a proxy that buffers, or a network that loses packets.",
    },
    Told {
        family: &cat::LATENCY,
        name: "Latency",
        metric: "latency",
        what: "From the start of a probe, connection included, to the end of its answer.",
        advice: "It depends on the length of the answer: compare like with like, and see below where the time goes.",
    },
];

impl Told {
    fn panels(&self) -> [Panel; 2] {
        let Self { family, name, metric, what, advice } = self;
        let heat = heat(
            &format!("{name}: all of it"),
            &format!("{what} Cells that stand out from the background hold more. {advice}"),
            "s",
            family,
        )
        .size(12, 8);
        let promised = part(&cat::SLO_THRESHOLD, "", &format!("metric=\"{metric}\""));
        let quantiles = [("p50", "0.5"), ("p95", "0.95"), ("p99", "0.99")];
        let mut lines = lines(
            &format!("{name}: p50, p95, p99"),
            &format!("{what} Half of the values stay below p50, one in a hundred exceeds p99. A dashed line is what an objective promises: where p95 or p99 crosses it, its budget burns."),
            "s",
        )
        .coloured(&[("p50", QUANTILES[0]), ("p95", QUANTILES[1]), ("p99", QUANTILES[2])])
        .over(promises());
        for (legend, quantile) in quantiles {
            lines = lines.ask(range(expr::quantile(quantile, family, ""), legend));
        }
        let lines = lines.ask(range(format!("max by (slo) ({promised})"), "promised: {{slo}}"));
        [heat, lines]
    }
}

fn workload() -> Vec<Panel> {
    let mut panels: Vec<_> = TOLD.iter().flat_map(Told::panels).collect();
    panels.extend([
        where_time_goes(),
        where_the_server_says(),
        verdicts(),
        facts(),
        speed(),
        tokens(),
        cached(),
    ]);
    panels
}

/// Means, because only means add up.
fn where_time_goes() -> Panel {
    // Failed probes connect, too: where all of them fail there is no mean of those that succeed.
    let probes = format!("({} > 0)", expr::count_rate(&cat::LATENCY, "", ""));
    let opening = |phase: &str| {
        format!("{} / {probes}", expr::sum_rate(&cat::CONNECTION, &format!("phase=\"{phase}\""), ""))
    };
    let wait = expr::mean(&cat::CONNECTION, "phase=\"wait\"", "");
    let [ttft, latency] = [&cat::TTFT, &cat::LATENCY].map(|family| expr::mean(family, "", ""));
    let opened =
        format!("({} / {probes})", expr::sum_rate(&cat::CONNECTION, "phase=~\"resolve|connect|tls\"", ""));
    stacked("Where the time goes", "The mean time of a probe, taken apart: finding and opening a connection (0 for one that is reused), waiting for the head of the answer, then for the first token, then the stream. The widest part is where to look first: resolve, connect and tls belong to the network; head and first token to the gateway, the queue and prefill; the stream to decoding.", "s")
        .ask(range(opening("resolve"), "resolve"))
        .ask(range(opening("connect"), "connect"))
        .ask(range(opening("tls"), "tls"))
        .ask(range(wait.clone(), "head"))
        .ask(range(format!("clamp_min({ttft} - {wait}, 0)"), "first token"))
        .ask(range(format!("clamp_min({latency} - {ttft} - {opened}, 0)"), "stream"))
        .when_empty("no probes yet")
        .coloured(&look::colours_of(&["resolve", "connect", "tls", "head", "first token", "stream"]))
}

fn where_the_server_says() -> Panel {
    stacked("Where the server says it goes", "The mean time of each phase as the server itself reports it, for servers that do. Queue is waiting for a place in the batch; load is a model being loaded. What users feel beyond this sum is on the way: the network or a gateway.", "s")
        .ask(range(expr::mean(&cat::SERVER, "", "phase"), "{{phase}}"))
        .when_empty("this server does not tell")
        .coloured(&look::colours_of(&Label::ServerPhase.values()))
}

fn verdicts() -> Panel {
    let share =
        format!("{} / scalar({})", rate(&cat::ANSWERS, "", "", "verdict"), rate(&cat::ANSWERS, "", "", ""));
    stacked("Answers by verdict", "What the answers were worth: right, wrong, degenerate (one phrase over and over, or unreadable), short, or impossible to check. A rise of wrong or degenerate at a release line is a broken quantisation, template or kernel: fast and wrong is still broken.", "percentunit")
        .ask(range(share, "{{verdict}}"))
        .share()
        .coloured(&[("right", GOOD), ("wrong", BAD), ("degenerate", look::PALETTE[9]), ("short", WARN), ("unchecked", NEUTRAL)])
}

fn facts() -> Panel {
    let found =
        format!("{} / {}", rate(&cat::FACTS_FOUND, "", "", "depth"), rate(&cat::FACTS, "", "", "depth"));
    lines("Facts found, by depth", "Of workloads with planted facts: how many were found, by where in the prompt they lay. A dip in the middle is a context that is longer than the model can use; a dip at the beginning is a prompt that was cut.", "percentunit")
        .ask(range(found, "{{depth}} %"))
        .share()
        .when_empty("this workload plants no facts")
        .coloured(&[
            ("0-20 %", look::PALETTE[0]), ("20-40 %", look::PALETTE[4]), ("40-60 %", look::PALETTE[5]),
            ("60-80 %", look::PALETTE[6]), ("80-100 %", look::PALETTE[2]),
        ])
}

fn speed() -> Panel {
    lines("Tokens per second", "The speed of one answer after its first token: p50, and p10, which nine of ten exceed. People read at 5 to 10 tokens a second; below that they wait.", "none")
        .ask(range(expr::quantile("0.5", &cat::TOKENS_PER_SECOND, ""), "p50"))
        .ask(range(expr::quantile("0.1", &cat::TOKENS_PER_SECOND, ""), "p10"))
        .coloured(&[("p50", QUANTILES[0]), ("p10", QUANTILES[2])])
        .size(8, 8)
}

fn tokens() -> Panel {
    let minute = format!("60 * {}", rate(&cat::TOKENS, "", "", "direction"));
    lines("Tokens per minute", "What these probes use, as the target counts it. Prompt contains cached_prompt, and output contains reasoning. A step without a change of the configuration is another tokenizer, or answers of another length.", "none")
        .ask(range(minute, "{{direction}}"))
        .coloured(&look::colours_of(&Label::Direction.values()))
        .size(8, 8)
}

fn cached() -> Panel {
    let of_direction = |direction: &str| rate(&cat::TOKENS, "", &format!("direction=\"{direction}\""), "");
    let cold = format!("{} / {}", rate(&cat::COLD_CACHED, "", "", ""), rate(&cat::PROBES, "", "", ""));
    lines("Cached share", "How much of the prompts came from the server's prefix cache, and how many prompts that were new from their first word it says it had cached. The first belongs near 0 for a cold workload and near 1 for a warm one; the second above 0 means that TTFT is flattered: something answers from a cache that should not.", "percentunit")
        .ask(range(format!("{} / {}", of_direction("cached_prompt"), of_direction("prompt")), "cached tokens"))
        .ask(range(cold, "cold prompts cached"))
        .share()
        .coloured(&[("cached tokens", BETTER), ("cold prompts cached", BAD)])
        .size(8, 8)
}
