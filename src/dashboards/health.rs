//! Can the probe be trusted, and what does it cost?

use serde_json::json;

use super::columns::Columns;
use super::expr::{self, of, rate};
use super::frame::{Board, Section, Variable, section};
use super::look::{self, BAD, GOOD, QUANTILES, WARN};
use super::panel::{Panel, column, heat, lines, now, range, stacked, stat, table};
use crate::catalogue::{self as cat, Family, Kind, Label};

pub(super) const BOARD: Board = Board {
    name: "health",
    title: "sloprobe / Probe health",
    description: "Can the probe be trusted, and what does it cost? Look here before blaming a target.",
    from: "now-6h",
    refresh: "1m",
    variables: &[Variable::Instances],
    sections,
};

fn sections() -> Vec<Section> {
    vec![
        section(
            "Can its numbers be trusted?",
            [numbers(), vec![lag(), loop_lag(), doubtful(), skipped()]].concat(),
        ),
        section("Does it do what it was told?", vec![kept_pace(), in_flight(), daemons()]),
        section("What does it cost?", vec![tokens(), held_back(), cpu(), memory(), descriptors(), scrape()]),
        section("Does it remember?", vec![history_size(), history_written(), history_lost()]),
    ]
}

/// A family's series of the chosen daemons, whatever they watch.
fn all(family: &Family, matcher: &str) -> String {
    let own = r#"instance=~"$instance""#;
    let matchers = if matcher.is_empty() { own.to_owned() } else { format!("{matcher},{own}") };
    format!("{}{{{matchers}}}", family.name)
}

fn rate_of_all(family: &Family, matcher: &str, by: &str) -> String {
    assert!(family.kind == Kind::Counter, "{} is no counter", family.name);
    expr::sum(by, &format!("rate({}[$window])", all(family, matcher)))
}

/// What Prometheus, or the library of a process, tells of every instance, of the chosen daemons alone: they are asked for
/// by name, as a large Prometheus has thousands of others.
fn of_daemons(metric: &str) -> String {
    format!(r#"{metric}{{instance=~"$instance"}} * {DAEMONS} {}"#, of(&cat::BUILD_INFO))
}

/// What makes a daemon: two places may call their instances alike.
const DAEMON: &str = "instance, region, cluster";
const DAEMON_NAME: &str = "{{instance}} {{region}} {{cluster}}";
const DAEMONS: &str = "on (instance, job, region, cluster) group_left ()";

fn numbers() -> Vec<Panel> {
    let doubtful = format!("{} / {}", rate_of_all(&cat::SUSPECT, "", ""), rate_of_all(&cat::PROBES, "", ""));
    let history = format!(
        "max({}) + 2 * (sum(increase({}[$__range])) > bool 0)",
        of(&cat::HISTORY_FAILING),
        of(&cat::HISTORY_LOST)
    );
    let reload = format!("min({})", of(&cat::RELOAD_OK));
    let restarts = format!(
        "sum(changes(process_start_time_seconds{{instance=~\"$instance\"}}[$__range]) * {DAEMONS} {})",
        of(&cat::BUILD_INFO)
    );
    vec![
        stat("Daemons", "How many of the chosen daemons were scraped last. Fewer than you run: see Prometheus' page of targets, and the alert SloprobeAbsent.", "none")
            .ask(now(format!("count({})", of(&cat::BUILD_INFO)), "daemons"))
            .steps(BAD, &[(1.0, GOOD)])
            .when_empty("none is scraped"),
        stat("Doubtful measurements", "The share of probes during which the daemon's own event loop was late. Above 1 %: give it more CPU, or a calmer machine, before you believe a tail.", "percentunit")
            .ask(now(doubtful, "doubtful"))
            .when_empty("no probes yet")
            .steps(GOOD, &[(0.01, WARN), (0.05, BAD)]),
        stat("Loop lag p99", "How late the event loop runs a timer, one time in a hundred. Every duration may be too long by this much. Above 10 ms the machine is too busy: see the runbook of SloprobeHostLate.", "s")
            .ask(now(expr::quantile("0.99", &cat::LOOP_LAG, ""), "p99"))
            .when_empty("not known yet")
            .steps(GOOD, &[(0.01, WARN), (0.05, BAD)]),
        stat("Configuration", "Whether the newest attempt to load the configuration succeeded. If not, the daemon goes on with the old one: `sloprobe check` says what is wrong with the new one.", "none")
            .ask(now(reload, "configuration"))
            .mapped(&[look::words(&[("1", "loaded", GOOD), ("0", "REFUSED", BAD)])])
            .when_empty("none is scraped")
            .steps(BAD, &[(1.0, GOOD)]),
        stat("History", "Whether every probe could be written into the history in the time shown. If not, probing goes on, but comparisons lack what was lost: look at the disk.", "none")
            .ask(now(history, "history"))
            .mapped(&[look::words(&[("0", "kept", GOOD), ("1", "FAILING", BAD), ("2", "lost some", WARN), ("3", "FAILING", BAD)])])
            .when_empty("none is scraped")
            .steps(GOOD, &[(1.0, BAD)]),
        stat("Restarts", "How often the chosen daemons started anew in the time shown. More than your own restarts: see the log, and whether memory ran out.", "none")
            .ask(now(restarts, "restarts"))
            .when_empty("none is scraped")
            .steps(GOOD, &[(1.0, WARN)]),
    ]
}

fn quantiles(panel: Panel, family: &Family) -> Panel {
    panel
        .ask(range(expr::quantile("0.5", family, ""), "p50"))
        .ask(range(expr::quantile("0.99", family, ""), "p99"))
        .coloured(&[("p50", QUANTILES[0]), ("p99", QUANTILES[2])])
}

fn lag() -> Panel {
    let panel = lines(
        "Lateness of probes",
        "How long after their due time probes started. It is not part of any measurement, but a schedule that slips measures other moments than it should. Above a tenth of a second: too little CPU.",
        "s",
    );
    quantiles(panel, &cat::LAG)
}

fn loop_lag() -> Panel {
    heat(
        "Lateness of the event loop",
        "How late timers ran, many times a second: the error of every duration that was measured then. Cells that stand out above 10 ms are a machine that is too busy, throttled or paused.",
        "s",
        &cat::LOOP_LAG,
    )
}

fn doubtful() -> Panel {
    let share =
        format!("{} / {}", rate_of_all(&cat::SUSPECT, "", DAEMON), rate_of_all(&cat::PROBES, "", DAEMON));
    lines("Doubtful measurements, by daemon", "The share of probes during which the daemon itself was late. One daemon alone: its machine. All at once: something that they share, or a clock.", "percentunit")
        .ask(range(share, DAEMON_NAME))
}

fn skipped() -> Panel {
    let minute = format!("60 * {}", rate_of_all(&cat::SKIPPED, "", "reason"));
    stacked("Skipped probes per minute", "Due times that were not served. in_flight: the target is so slow that too many probes are open; budget: the token budget of the hour is spent; back_off: the target asked for fewer; late: the daemon could not keep up. Nothing here is normal; a skipped probe is in no graph.", "none")
        .ask(range(minute, "{{reason}}"))
        .coloured(&look::colours_of(&Label::Skip.values()))
}

fn kept_pace() -> Panel {
    let sent = rate_of_all(&cat::PROBES, "", "");
    let due = format!("sum(1 / {})", all(&cat::INTERVAL, ""));
    lines("Probes per minute, sent and due", "What was sent beside what the configuration asks for. A lasting gap is skipped probes: the panel beside says why.", "none")
        .ask(range(format!("60 * {sent}"), "sent"))
        .ask(range(format!("60 * {due}"), "due"))
        .coloured(&[("sent", QUANTILES[0]), ("due", look::PROMISE)])
}

fn in_flight() -> Panel {
    lines("Probes in flight", "Probes under way, by target. A line that climbs is a target that gets slower than it is probed; the limit in_flight of the configuration keeps it from being harmed.", "none")
        .ask(range(format!("sum by (target) ({})", all(&cat::IN_FLIGHT, "")), "{{target}}"))
}

fn daemons() -> Panel {
    let info = format!("max by (instance, region, cluster, version, revision) ({})", of(&cat::BUILD_INFO));
    let since = format!(
        "{info} * on (instance, region, cluster) group_left () (max by (instance, region, cluster) (process_start_time_seconds{{instance=~\"$instance\"}}) * 1000)"
    );
    let loaded = format!(
        "{info} * on (instance, region, cluster) group_left () (max by (instance, region, cluster) ({}) * 1000)",
        of(&cat::RELOAD_TIME)
    );
    Columns::new(&["instance", "region", "cluster", "version", "revision"])
        .add(since, column("Running since", "dateTimeAsLocal"))
        .add(loaded, column("Configuration of", "dateTimeAsLocal"))
        .fill(table("Daemons, their versions and ages", "Which daemons there are. Different versions measure alike unless the changelog says otherwise, but upgrade them together.").size(24, 5).when_empty("none is scraped"))
}

fn tokens() -> Panel {
    let hour =
        format!("3600 * {}", rate_of_all(&cat::TOKENS, "direction=~\"prompt|output\"", "target, direction"));
    lines("Tokens per hour", "What probing costs each target, as it counts tokens itself; multiply by your price, or let `sloprobe check` do it. Too much: lower rate, or shorten input_tokens of the largest workload.", "none")
        .ask(range(hour, "{{target}} {{direction}}"))
}

fn held_back() -> Panel {
    let hour = format!("3600 * {}", rate_of_all(&cat::SKIPPED, "reason=\"budget\"", "target"));
    lines("Held back by the token budget, probes per hour", "Probes that were not sent because tokens_per_hour was spent. Above 0 the target is watched less than you asked for: raise the limit or lower the rate.", "none")
        .ask(range(hour, "{{target}}"))
}

fn cpu() -> Panel {
    let cores = format!(
        "rate(process_cpu_seconds_total{{instance=~\"$instance\"}}[$window]) * {DAEMONS} {}",
        of(&cat::BUILD_INFO)
    );
    lines(
        "CPU",
        "Cores in use by each daemon. A hundredth of a core is usual; near a whole one, measurements suffer.",
        "none",
    )
    .ask(range(cores, DAEMON_NAME))
    .default("decimals", json!(3))
    .size(6, 8)
}

fn memory() -> Panel {
    lines("Memory", "Resident memory of each daemon. It levels off within hours; a steady climb over days is a leak: please report it.", "bytes")
        .ask(range(of_daemons("process_resident_memory_bytes"), DAEMON_NAME))
        .size(6, 8)
}

fn descriptors() -> Panel {
    let share = format!(r#"process_open_fds{{instance=~"$instance"}} / {}"#, of_daemons("process_max_fds"));
    lines("File descriptors", "The share of its file descriptors that each daemon has open. At 1 it can open no connection: raise the limit of the service.", "percentunit")
        .ask(range(share, DAEMON_NAME))
        .size(6, 8)
}

fn scrape() -> Panel {
    lines("Series per scrape", "How many samples each scrape brings: what a daemon costs Prometheus. It grows with targets, workloads and objectives; `sloprobe check` says it beforehand.", "none")
        .ask(range(of_daemons("scrape_samples_scraped"), DAEMON_NAME))
        .size(6, 8)
}

fn history_size() -> Panel {
    lines("History size", "How much room the history takes, on disk or in memory. It stays below history_size of the configuration.", "bytes")
        .ask(range(format!("max by ({DAEMON}) ({})", of(&cat::HISTORY_BYTES)), DAEMON_NAME))
        .size(8, 8)
}

fn history_written() -> Panel {
    lines(
        "Probes written into the history, per minute",
        "It should equal what is sent. Less, for longer than a moment: the disk is slow or full.",
        "none",
    )
    .ask(range(format!("60 * {}", rate(&cat::HISTORY_PROBES, "", "", DAEMON)), DAEMON_NAME))
    .size(8, 8)
}

fn history_lost() -> Panel {
    lines("Probes lost to the history, per minute", "Probes that the disk did not take. Their metrics are not affected; comparisons and reports lack them.", "none")
        .ask(range(format!("60 * {}", rate(&cat::HISTORY_LOST, "", "", DAEMON)), DAEMON_NAME))
        .size(8, 8)
}
