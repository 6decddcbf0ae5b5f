//! What a real Alertmanager sends with the example's routes and templates, and what it keeps to itself.

use std::process::Command;

use serde_json::Value;

use crate::common::alertmanager::{Alertmanager, Webhook};
use crate::common::eventually;
use crate::common::service::BOUND;
use crate::{deployed, replaced, said};

const RUNBOOKS: &str = "https://github.com/sloprobe/sloprobe/blob/main/deploy/runbooks";

/// The example, told where its pager and its chat are, and to wait a second where it would wait half a minute.
async fn start(webhook: &Webhook) -> Alertmanager {
    let settings = replaced(
        &deployed("alertmanager/alertmanager.yml"),
        &[
            ("pager.example:8080/alerts", &format!("{}/alerts", webhook.address)),
            ("chat.example:8080/hooks/sloprobe", &format!("{}/chat", webhook.address)),
            ("group_wait: 30s", "group_wait: 1s"),
            ("group_wait: 10s", "group_wait: 1s"),
        ],
    );
    let template = deployed("alertmanager/sloprobe.tmpl");
    Alertmanager::start(&[("alertmanager.yml", settings.as_str()), ("sloprobe.tmpl", template.as_str())])
        .await
}

/// Tells Alertmanager of an alert, as Prometheus would.
async fn raise(alertmanager: &Alertmanager, name: &str, labels: &[&str]) {
    let mut command = Command::new("amtool");
    command.arg(format!("--alertmanager.url=http://{}", alertmanager.address()));
    command.args(["alert", "add", &format!("alertname={name}")]).args(labels).args([
        &format!("--annotation=summary={name} is true."),
        "--annotation=description=At least 42% of probes & more <fail>.",
        &format!("--annotation=runbook_url={RUNBOOKS}/{name}.md"),
        "--generator-url=http://prometheus.example/graph",
    ]);
    said(&mut command).await;
}

/// The message that came to the chat with a title that begins so.
async fn message(webhook: &Webhook, alertmanager: &Alertmanager, title: &str) -> Value {
    eventually(&format!("a message {title:?}"), BOUND, async || {
        let sent = webhook.sent_to("/chat");
        let attachments = sent.iter().map(|message| &message["attachments"][0]);
        let mut wanted = attachments.filter(|a| a["title"].as_str().is_some_and(|t| t.starts_with(title)));
        wanted.next().cloned().ok_or_else(|| format!("only {sent:#?} came\n{}", alertmanager.log()))
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_outage_is_one_page_and_a_message_that_says_what_to_do() {
    let webhook = Webhook::start().await;
    let alertmanager = start(&webhook).await;
    let place = ["target=chat-prod", "region=eu"];
    let with = |more: &[&'static str]| [&place[..], more].concat();
    // A drill is no outage: it must neither reach the pager nor hide what is true.
    raise(
        &alertmanager,
        "SloprobeTargetDown",
        &["target=other", "region=eu", "severity=critical", "drill=60"],
    )
    .await;
    raise(
        &alertmanager,
        "SloprobeFastDegradation",
        &["target=other", "region=eu", "severity=critical", "slo=s"],
    )
    .await;
    raise(&alertmanager, "SloprobeTargetDown", &with(&["severity=critical"])).await;
    raise(&alertmanager, "SloprobeFastDegradation", &with(&["severity=critical", "slo=answers"])).await;
    raise(&alertmanager, "SloprobeErrorBudgetBurn", &with(&["severity=critical", "slo=answers"])).await;

    let down = message(&webhook, &alertmanager, "FIRING 1: chat-prod").await;
    assert_eq!(down["title"], "FIRING 1: chat-prod (eu): SloprobeTargetDown");
    assert_eq!(down["title_link"], format!("{RUNBOOKS}/SloprobeTargetDown.md"));
    assert_eq!(down["color"], "#d55e00");
    let text = down["text"].as_str().unwrap_or_default();
    let lines: Vec<_> = text.lines().collect();
    let [summary, description, since, read_on, ..] = lines[..] else { panic!("{text}") };
    assert_eq!(summary, "*SloprobeTargetDown is true.*");
    assert_eq!(description, "At least 42% of probes & more <fail>.");
    assert!(
        since.starts_with("since 20")
            && since.contains(" UTC · region eu · severity critical · target chat-prod"),
        "{since}"
    );
    let runbook = format!("<{RUNBOOKS}/SloprobeTargetDown.md|What to do>");
    assert_eq!(read_on, format!("{runbook} · <http://prometheus.example/graph|In Prometheus>"));

    let other = message(&webhook, &alertmanager, "FIRING 1: other").await;
    assert_eq!(other["title"], "FIRING 1: other (eu): SloprobeFastDegradation");
    let drill = message(&webhook, &alertmanager, "FIRING 1 (drill)").await;
    assert_eq!(drill["title"], "FIRING 1 (drill): other (eu): SloprobeTargetDown");

    let paged = eventually("two pages", BOUND, async || {
        let alerts = webhook.alerts();
        if alerts.len() < 2 { Err(format!("{alerts:#?}")) } else { Ok(alerts) }
    })
    .await;
    let mut paged: Vec<_> =
        paged.iter().map(|a| [&a["labels"]["target"], &a["labels"]["alertname"]]).collect();
    paged.sort_by_key(|labels| labels[0].as_str().map(str::to_owned));
    assert_eq!(paged, [["chat-prod", "SloprobeTargetDown"], ["other", "SloprobeFastDegradation"]]);
}
