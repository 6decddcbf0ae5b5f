//! sloprobe watches LLM inference endpoints around the clock: it sends them a steady synthetic mix, measures
//! the streams that come back, and exposes what it found to Prometheus.
//!
//! The library exists for the tests; its Rust API is private. What the world may rely on: the command line,
//! the TOML configuration, the metric names, the exit codes and the JSON reports.
//!
//! # The house
//!
//! | room | purpose |
//! |---|---|
//! | [`cli`] | the commands, a file each: run, once, check, compare, report, probe, rules, dashboards, mark, health, prompt, simulate, demo, config, completions, man |
//! | [`daemon`] | the composition root: builds everything from a plan, keeps it running, turns to another plan, ends it in order |
//! | [`serve`] | the routes: `/`, `/metrics`, `/-/healthy`, `/-/ready`, `/-/reload`, `/api/v1/marks` |
//! | [`otlp`] | pushes spans and metrics to an OpenTelemetry collector |
//! | [`schedule`] | one task per target: wait until a probe is due, spawn it on a measuring thread, hand it to the desk; another asks now and then what the target runs; a [`schedule::place::Place`] is one target's workload |
//! | [`probe`] | sends one prompt, returns one report; asks what a target runs; the only room that touches the network as a client |
//! | [`protocol`] | wire formats: how a prompt becomes a request, what each event means; no I/O |
//! | [`workload`] | the next prompt, from a seed; how long it is; what its answer is worth |
//! | [`record`] | one report becomes metrics and a log line |
//! | [`catalogue`] | every metric, declared once |
//! | [`expose`] | the metrics as text, OpenMetrics or protobuf |
//! | [`series`] | live counters, gauges and histograms, classic and native |
//! | [`forecast`] | how soon those rules will alert, and how often for nothing: simulated |
//! | [`dashboards`] | Grafana dashboards, written from the catalogue |
//! | [`rules`] | alert rules, written from the objectives and the catalogue |
//! | [`compare`] | two releases held against each other: what changed, and how sure that is |
//! | [`page`] | such a comparison as one page that needs nothing else: tables and pictures |
//! | [`history`] | what was measured, kept in a file that any SQLite client reads |
//! | [`release`] | what a target runs, when that changed, and what it ran before |
//! | [`config`] | a file becomes a plan, or every problem found in it |
//! | [`simulate`] | the simulated engine: demo, fire drills, tests |
//! | [`domain`] | the words that all of them speak; no I/O at all |
//!
//! Dependencies point down only; `tests/layering.rs` holds the rule and fails on an upward edge.
//!
//! # The trip of one probe
//!
//! 1. `main` parses; [`config::load`] gives a [`config::Plan`], or all problems at once and exit code 2.
//! 2. [`daemon::Daemon::run`] spreads one [`schedule::Schedule`] per target over the [measuring
//!    threads](schedule::measuring), opens the [desk](schedule::desk) and serves the router.
//! 3. [`schedule::cadence`] gives the next due time on a fixed grid and the workload whose turn it is. The
//!    schedule is open-loop: a slow answer never delays the next probe.
//! 4. [`schedule::guard`] admits or refuses: too many in flight, budget spent, asked to back off. A refusal is
//!    counted, never silent.
//! 5. The [`schedule::place::Place`] whose turn it is lets its [`workload::Source`] give the seed of a [`domain::Prompt`] of the length that has been learned for this target.
//! 6. [`schedule::trip::Trip::measure`] writes the prompt and hands it to [`probe::run`], which sends it; each read is stamped,
//!    then decoded, then interpreted; the instants go into a [`domain::Timeline`].
//! 7. [`domain::attribution`] says which tokens came with which chunk, and [`domain::Sample::derive`] turns instants into
//!    durations, or there is a [`domain::Fault`]; all are in the [`domain::Report`]. If the thread was late meanwhile, the
//!    report is suspect.
//! 8. The rest happens at the desk, on another thread: [`workload::Posed`] judges the answer, and [`workload::Learner`] takes
//!    how many tokens the server counted.
//! 9. [`release::Releases::reported`] says which release of the target it belongs to, and [`history::History::keep`] takes it
//!    in, to be written by a thread of its own.
//! 10. [`record::Recorder::record`]: counters, histograms, what each [`domain::Slo`] makes of it, a log line when something
//!     changed. Other [consumers](schedule::desk::Consumer), such as the demo's table, are told as well.
//! 11. Prometheus scrapes, and judges by the rules that [`rules`] wrote. `sloprobe once` is steps 5 to 8 and a table.
//!
//! When the configuration is read again, the daemon compares the new plan with the one in force. A schedule whose target
//! changed is told so between two due times; a new target gets a schedule of its own; one that left finishes what is under
//! way. A place whose [`domain::PlaceId`] stays goes on with its prompts, what it learned and its counters.
//!
//! After a change of a release the daemon reads the history every minute and lets [`compare`] judge; `sloprobe compare` and
//! `sloprobe report` read the same file.

pub mod catalogue;
pub mod cli;
pub mod compare;
pub mod config;
pub mod daemon;
pub mod dashboards;
pub mod domain;
pub mod expose;
pub mod forecast;
pub mod history;
pub mod otlp;
pub mod page;
pub mod probe;
pub mod protocol;
pub mod record;
pub mod release;
pub mod rules;
pub mod schedule;
pub mod series;
pub mod serve;
pub mod simulate;
pub mod workload;
