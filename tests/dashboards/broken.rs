//! The checker itself: each rule is silent about a sound dashboard, and finds what is broken in a copy of it.

use serde_json::{Value, json};

use super::fixture;
use super::lint::{Exception, House, RULES};

type Break = (&'static str, &'static str, fn(&mut Value));

fn quantile(dashboard: &mut Value) -> &mut Value {
    &mut dashboard["panels"][0]
}

fn left(dashboard: &mut Value) -> &mut Value {
    &mut dashboard["panels"][1]["panels"][0]
}

fn variable<'a>(dashboard: &'a mut Value, name: &str) -> &'a mut Value {
    let variables = dashboard["templating"]["list"].as_array_mut().unwrap();
    variables.iter_mut().find(|variable| variable["name"] == name).unwrap()
}

fn ask(dashboard: &mut Value, expr: &str) {
    quantile(dashboard)["targets"][0]["expr"] = json!(expr);
}

/// Another text in the place of one in the first expression.
fn alter(dashboard: &mut Value, from: &str, to: &str) {
    let expr = quantile(dashboard)["targets"][0]["expr"].as_str().unwrap().to_owned();
    assert!(expr.contains(from), "{from} is not in {expr}");
    ask(dashboard, &expr.replace(from, to));
}

/// The rule, what it has to say, and what is done to the dashboard.
const BREAKS: &[Break] = &[
    ("expressions_can_be_read", "Quantile: ", |d| ask(d, "sum(rate(")),
    ("metrics_exist", "\"sloprobe_tft_seconds_bucket\"", |d| alter(d, "ttft", "tft")),
    ("metrics_exist", "\"sloprobe_ttft_seconds_total\"", |d| alter(d, "seconds_bucket", "seconds_total")),
    ("metrics_exist", "\"sloprobe_up_count\"", |d| ask(d, "sloprobe_up_count")),
    ("metrics_exist", "\"a:b:c\"", |d| ask(d, "a:b:c")),
    ("metrics_exist", "\"\"", |d| ask(d, "{__name__=~\"sloprobe_.+\"}")),
    ("variables_exist", "\"region\"", |d| alter(d, "workload=~\"$workload\"", "region=~\"$region\"")),
    ("variables_exist", "\"span\"", |d| alter(d, "[$window]", "[${span}]")),
    ("variables_exist", "\"slo\"", |d| quantile(d)["title"] = json!("Of $slo")),
    ("nothing_is_hard_coded", "job \"sloprobe\"", |d| ask(d, "up{job=\"sloprobe\"}")),
    ("nothing_is_hard_coded", "instance", |d| ask(d, "up{instance=~\"127.0.0.1:9788\"}")),
    ("nothing_is_hard_coded", "target \"chat\"", |d| alter(d, "=~\"$target\"", "=\"chat\"")),
    ("what_was_chosen_is_shown", "every target", |d| alter(d, "target=~\"$target\",", "")),
    ("what_was_chosen_is_shown", "every workload", |d| alter(d, "workload=~", "workload!~")),
    ("what_was_chosen_is_shown", "error_budget_left:ratio of every target", |d| {
        left(d)["targets"][0]["expr"] = json!("target_workload_slo:sloprobe_slo_error_budget_left:ratio");
    }),
    ("what_was_chosen_is_shown", "variable workload: ", |d| {
        variable(d, "workload")["query"] = json!("label_values(sloprobe_probes_total, workload)");
    }),
    ("what_was_chosen_is_shown", "every instance", |d| {
        variable(d, "filters")["name"] = json!("instance");
        ask(d, "sloprobe_history_bytes");
    }),
    ("several_values_can_be_chosen", "$target", |d| alter(d, "target=~\"", "target=\"")),
    ("several_values_can_be_chosen", "escapes only several", |d| {
        variable(d, "target")["multi"] = json!(false);
        variable(d, "target")["includeAll"] = json!(false);
    }),
    ("several_values_can_be_chosen", "All is not", |d| variable(d, "target")["allValue"] = Value::Null),
    ("ranges_follow_the_window", "[5m]", |d| alter(d, "$window", "5m")),
    ("ranges_follow_the_window", "[$__interval]", |d| alter(d, "$window", "$__interval")),
    ("ranges_follow_the_window", "[1h]", |d| ask(d, "max_over_time(sum(sloprobe_up)[1h:1m])")),
    ("ranges_follow_the_window", "irate", |d| alter(d, "rate(", "irate(")),
    ("counters_are_rated_and_nothing_else_is", "only grows", |d| ask(d, "sum(sloprobe_probes_total)")),
    ("counters_are_rated_and_nothing_else_is", "only grows", |d| ask(d, "process_cpu_seconds_total")),
    ("counters_are_rated_and_nothing_else_is", "only grows", |d| {
        ask(d, "max_over_time(sloprobe_ttft_seconds_count[$window])");
    }),
    ("counters_are_rated_and_nothing_else_is", "no counter", |d| ask(d, "rate(sloprobe_up[$window])")),
    ("quantiles_are_of_rates_by_le", "Quantile", |d| alter(d, "by (le, target)", "by (target)")),
    ("quantiles_are_of_rates_by_le", "Quantile", |d| alter(d, "by (le, target)", "without (le)")),
    ("quantiles_are_of_rates_by_le", "Quantile", |d| alter(d, "sum by", "avg by")),
    ("quantiles_are_of_rates_by_le", "Quantile", |d| alter(d, "rate(", "last_over_time(")),
    ("quantiles_are_of_rates_by_le", "Quantile", |d| alter(d, "_ttft_seconds{", "_up{")),
    ("histograms_are_asked_in_both_forms", "seconds_bucket is asked", |d| {
        alter(d, "_ttft_seconds{", "_tpot_seconds{");
    }),
    ("histograms_are_asked_in_both_forms", "seconds_bucket is asked", |d| alter(d, "sum by (target)", "sum")),
    ("histograms_are_asked_in_both_forms", "sloprobe_ttft_seconds is asked", |d| {
        alter(d, "\nor\n", "\nand\n");
    }),
    ("histograms_are_asked_in_both_forms", "seconds_count is asked", |d| {
        ask(
            d,
            "histogram_sum(sum(rate(sloprobe_ttft_seconds[$window]))) or sum(rate(sloprobe_ttft_seconds_count[$window]))",
        );
    }),
    ("histograms_are_asked_in_both_forms", "seconds_bucket is asked", |d| {
        ask(d, "sum by (le) (increase(sloprobe_ttft_seconds_bucket[$window]))");
    }),
    ("data_sources_are_chosen", "Quantile", |d| {
        quantile(d)["datasource"]["uid"] = json!("PBFA97CFB590B2093");
    }),
    ("data_sources_are_chosen", "Left", |d| left(d)["targets"][0]["datasource"] = Value::Null),
    ("data_sources_are_chosen", "variable target", |d| {
        variable(d, "target")["datasource"] = json!("Prometheus");
    }),
    ("data_sources_are_chosen", "annotation", |d| d["annotations"]["list"][1]["datasource"] = Value::Null),
    ("data_sources_are_chosen", "none of type", |d| variable(d, "datasource")["query"] = json!("loki")),
    ("ids_are_unique", "Left: its id 1", |d| left(d)["id"] = json!(1)),
    ("ids_are_unique", "refId \"A\"", |d| quantile(d)["targets"][1]["refId"] = json!("A")),
    ("ids_are_unique", "uid: ", |d| d["uid"] = json!("other")),
    ("ids_are_unique", "database", |d| d["id"] = json!(7)),
    ("panels_do_not_overlap", "lies on \"Words\"", |d| quantile(d)["gridPos"]["w"] = json!(13)),
    ("panels_do_not_overlap", "not on the grid", |d| left(d)["gridPos"]["x"] = json!(1)),
    ("types_are_in_every_grafana", "\"graph\"", |d| quantile(d)["type"] = json!("graph")),
    ("the_schema_is_old_enough", "39", |d| d["schemaVersion"] = json!(39)),
    ("the_window_is_never_too_short", "\"1m\"", |d| variable(d, "window")["query"] = json!("1m,5m")),
    ("the_window_is_never_too_short", "least", |d| variable(d, "window")["auto_min"] = json!("10s")),
    ("the_window_is_never_too_short", "a step", |d| variable(d, "window")["auto_count"] = json!(1000)),
    ("the_window_is_never_too_short", "choose", |d| variable(d, "window")["auto"] = json!(false)),
    ("the_window_is_never_too_short", "no window", |d| variable(d, "window")["name"] = json!("span")),
    ("titles_are_unique", "Left: its title", |d| quantile(d)["title"] = json!("Left")),
    ("descriptions_say_something", "Left", |d| left(d)["description"] = json!("Budget left")),
    ("units_are_known", "no unit at all", |d| quantile(d)["fieldConfig"]["defaults"]["unit"] = Value::Null),
    ("units_are_known", "\"seconds\"", |d| quantile(d)["fieldConfig"]["defaults"]["unit"] = json!("seconds")),
    ("series_have_names", "Left: \"A\"", |d| left(d)["targets"][0]["legendFormat"] = json!("")),
    ("series_have_names", "\"B\"", |d| quantile(d)["targets"][1]["legendFormat"] = json!("__auto")),
    ("overrides_and_columns_name_something", "\"two\"", |d| {
        quantile(d)["fieldConfig"]["overrides"] =
            json!([{ "matcher": { "id": "byName", "options": "two" } }]);
        quantile(d)["targets"][0]["legendFormat"] = json!("of {{target}}");
    }),
    ("overrides_and_columns_name_something", "/^p9/", |d| {
        left(d)["fieldConfig"]["overrides"] =
            json!([{ "matcher": { "id": "byRegexp", "options": "/^p9/" } }]);
    }),
    ("overrides_and_columns_name_something", "no column \"Value #B\"", |d| {
        left(d)["targets"][0]["format"] = json!("table");
        let names = json!({ "Value": "Left", "Value #B": "Burn", "target": "Target" });
        left(d)["transformations"] = json!([{ "id": "organize", "options": { "renameByName": names } }]);
    }),
    ("overrides_and_columns_name_something", "\"Value\" has no name", |d| {
        left(d)["targets"][0]["format"] = json!("table");
    }),
    ("nothing_says_no_data", "Left", |d| left(d)["fieldConfig"]["defaults"]["noValue"] = json!(" ")),
    ("nothing_says_no_data", "Quantile", |d| {
        ask(d, "sloprobe_up > 0");
        quantile(d)["targets"].as_array_mut().unwrap().pop();
    }),
    ("colours_are_of_the_palette", "red", |d| {
        left(d)["fieldConfig"]["defaults"]["thresholds"]["steps"][0]["color"] = json!("red");
    }),
    ("colours_are_of_the_palette", "green", |d| {
        let property = json!({ "id": "color", "value": { "mode": "fixed", "fixedColor": "green" } });
        left(d)["fieldConfig"]["overrides"] = json!([{ "properties": [property] }]);
    }),
    ("colours_are_of_the_palette", "GrYlRd", |d| {
        quantile(d)["fieldConfig"]["defaults"]["color"] = json!({ "mode": "continuous-GrYlRd" });
    }),
    ("colours_are_of_the_palette", "RdYlGn", |d| {
        quantile(d)["options"] = json!({ "color": { "mode": "scheme", "scheme": "RdYlGn" } });
    }),
    ("colours_that_differ_look_different", "#44AA99 and #999999", |d| {
        let steps = json!([{ "color": "#44AA99", "value": null }, { "color": "#999999", "value": 1 }]);
        left(d)["fieldConfig"]["defaults"]["thresholds"]["steps"] = steps;
    }),
    ("colours_that_differ_look_different", "#F2495C and #73BF69", |d| {
        let words = json!([{ "type": "value", "options": { "0": { "color": "#F2495C" }, "1": { "color": "#73BF69" } } }]);
        left(d)["fieldConfig"]["defaults"]["mappings"] = words;
    }),
    ("links_lead_somewhere", "no such dashboard", |d| d["links"][0]["url"] = json!("/d/gone")),
    ("links_lead_somewhere", "\"region\"", |d| d["links"][0]["url"] = json!("/d/other?var-region=x")),
    ("links_lead_somewhere", "\"slo\"", |d| d["links"][0]["url"] = json!("/d/other?${slo:queryparam}")),
    ("links_lead_somewhere", "neither", |d| d["links"][0]["url"] = json!("http://localhost:3000/d/other")),
    ("links_lead_somewhere", "these tags", |d| d["links"][1]["tags"] = json!(["unheard-of"])),
];

fn broken(change: fn(&mut Value)) -> House {
    let mut house = fixture::house();
    change(&mut house.dashboards[0].json);
    house
}

#[test]
fn every_rule_is_silent_about_a_sound_dashboard() {
    let house = fixture::house();
    for (rule, _) in RULES {
        assert_eq!(house.findings(rule), Vec::<String>::new(), "{rule}");
    }
}

#[test]
fn every_rule_finds_its_faults() {
    for (rule, words, change) in BREAKS {
        let found = broken(*change).findings(rule);
        assert!(found.iter().any(|line| line.contains(words)), "{rule} misses {words}: {found:#?}");
    }
}

#[test]
fn no_rule_goes_untested() {
    let untested = RULES.iter().filter(|(rule, _)| BREAKS.iter().all(|(broken, ..)| broken != rule));
    assert_eq!(untested.map(|(rule, _)| *rule).collect::<Vec<_>>(), Vec::<&str>::new());
}

#[test]
fn an_exception_holds_for_its_rule_panel_and_words_alone() {
    let mut house = broken(|d| alter(d, "$window", "5m"));
    let exception = Exception {
        rule: "ranges_follow_the_window",
        owner: "Quantile",
        what: "[5m]",
        why: "to see it make a difference",
    };
    let others = [Exception { owner: "Left", ..exception }, Exception { what: "[1h]", ..exception }];
    house.exceptions = others.to_vec();
    assert_eq!(house.findings("ranges_follow_the_window").len(), 2);
    house.exceptions = vec![exception];
    assert_eq!(house.findings("ranges_follow_the_window").len(), 0);
}
