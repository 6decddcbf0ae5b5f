//! Objectives as OpenSLO documents (openslo/v1), for tools that speak it.

use std::fmt::Write as _;
use std::time::Duration;

use super::rule::Span;
use super::yaml::{comment, scalar};
use super::{Options, Watched, quoted};
use crate::catalogue as cat;
use crate::domain::{Goal, Slo, Target};

/// One service for each target, and one SLO for each objective, target and workload.
pub fn openslo(watched: Watched<'_>, options: &Options, head: &str) -> String {
    let mut documents = Vec::new();
    for target in watched.targets {
        documents.push(service(target));
        for share in &target.mix {
            let workload = &share.workload;
            let covering = watched.slos.iter().filter(|slo| slo.covers(target, workload));
            documents.extend(covering.map(|slo| objective(options, slo, target, &workload.name)));
        }
    }
    comment(head) + &documents.join("---\n")
}

fn service(target: &Target) -> String {
    let name = scalar(&target.name);
    format!(
        "apiVersion: openslo/v1\nkind: Service\nmetadata:\n  name: {}\n  displayName: {name}\nspec:\n  description: {}\n",
        slug(&[&target.name]),
        scalar(&format!("{} at {}", target.model, target.address())),
    )
}

fn objective(options: &Options, slo: &Slo, target: &Target, workload: &str) -> String {
    let labels = [("target", &*target.name), ("workload", workload), ("slo", &*slo.name)];
    let labels: Vec<_> = labels.iter().map(|(name, value)| format!("{name}={}", quoted(value))).collect();
    let counter = |family: &cat::Family| {
        scalar(&options.over_replicas("sum", &format!("{}{{{}}}", family.name, labels.join(","))))
    };
    let name = slug(&[&target.name, workload, &slo.name]);
    let mut text = format!(
        "apiVersion: openslo/v1\nkind: SLO\nmetadata:\n  name: {name}\n  displayName: {}\nspec:\n  description: {}\n  service: {}\n",
        scalar(&format!("{}: {workload} on {}", slo.name, target.name)),
        scalar(&promise(slo)),
        slug(&[&target.name]),
    );
    let _ = write!(
        text,
        "  indicator:\n    metadata:\n      name: {name}\n    spec:\n      ratioMetric:\n        counter: true\n"
    );
    for (part, family) in [("bad", &cat::SLO_BAD_EVENTS), ("total", &cat::SLO_EVENTS)] {
        let _ = write!(
            text,
            "        {part}:\n          metricSource:\n            type: Prometheus\n            spec:\n              query: {}\n",
            counter(family)
        );
    }
    let _ = write!(
        text,
        "  timeWindow:\n    - duration: {}\n      isRolling: true\n  budgetingMethod: Occurrences\n  objectives:\n    - displayName: {}\n      target: {}\n",
        window(slo.window),
        scalar(&slo.name),
        1.0 - slo.objective.budget(),
    );
    text
}

fn promise(slo: &Slo) -> String {
    let percent = slo.objective.as_percent();
    match slo.goal {
        Goal::Below(measure, bound) => {
            format!("{percent} % of probes succeed with {} of at most {}.", measure.name(), Span(bound))
        }
        Goal::Availability => format!("{percent} % of probes succeed."),
        Goal::Quality => format!("{percent} % of probes get an answer that is not bad."),
    }
}

/// OpenSLO's durations have one unit.
fn window(window: Duration) -> String {
    let minutes = window.as_secs() / 60;
    match minutes {
        _ if minutes.is_multiple_of(24 * 60) => format!("{}d", minutes / (24 * 60)),
        _ if minutes.is_multiple_of(60) => format!("{}h", minutes / 60),
        _ => format!("{minutes}m"),
    }
}

/// A name as OpenSLO allows it: small letters, digits and hyphens. What loses something on the way gets a number, so that
/// no two names become one.
fn slug(parts: &[&str]) -> String {
    let whole = parts.join("-");
    let plain = |c: char| if c.is_ascii_lowercase() || c.is_ascii_digit() { c } else { '-' };
    let text: String = whole.to_ascii_lowercase().chars().map(plain).collect();
    let words: Vec<_> = text.split('-').filter(|word| !word.is_empty()).collect();
    let slug = words.join("-");
    if slug == whole && slug.len() <= 63 {
        return slug;
    }
    let number = whole.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let head: String = slug.chars().take(50).collect();
    format!("{}-{:08x}", if head.is_empty() { "slo" } else { head.trim_end_matches('-') }, number as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_has_one_unit() {
        for (secs, text) in [(2_592_000, "30d"), (129_600, "36h"), (86_460, "1441m")] {
            assert_eq!(window(Duration::from_secs(secs)), text);
        }
    }

    #[test]
    fn names_become_what_openslo_allows_and_stay_apart() {
        assert_eq!(slug(&["chat-prod", "rag"]), "chat-prod-rag");
        let names = ["Chat Prod", "chat_prod", "chat.prod", "聊天", "问答", &"x".repeat(80), &"x".repeat(81)];
        let slugs: std::collections::BTreeSet<_> = names.iter().map(|name| slug(&[name])).collect();
        assert_eq!(slugs.len(), names.len(), "{slugs:?}");
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        for slug in slugs {
            assert!(slug.len() <= 63 && slug.chars().all(plain), "{slug}");
            assert!(!slug.starts_with('-') && !slug.ends_with('-'), "{slug}");
        }
    }
}
