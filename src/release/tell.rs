//! Changes of releases as lines in the log.

use super::features::{Features, Kind};
use super::tracker::Change;
use crate::domain::{Makeup, Release};

/// Says what a target runs, when that is first known in this run.
pub(super) fn tell_first(target: &str, makeup: &Makeup, context_tokens: Option<u32>) {
    let served_model = makeup.model.as_deref();
    tracing::info!(target, served_model, context_tokens, "runs {makeup}");
}

/// Says what changed; whether that says what the target runs.
pub(super) fn tell(target: &str, change: &Change, context_tokens: Option<u32>) -> bool {
    match change {
        Change::Began { release, was: Some(was) } => {
            return tell_new(target, release, was, context_tokens);
        }
        Change::Learned { release, was } => return tell_learned(target, release, was, context_tokens),
        Change::Began { was: None, .. } => {}
        Change::InTurn { newest, older } => {
            let (newest_name, older_name) = apart(&newest.makeup, &older.makeup);
            let release = newest.id.0;
            tracing::info!(
                target,
                release,
                "{newest_name} and {older_name} answer in turn: the probes are mixed"
            );
        }
        Change::Settled { release, members: 1 } => {
            tracing::info!(target, release = release.id.0, "has settled on {release}");
        }
        Change::Settled { release, members } => {
            let id = release.id.0;
            tracing::info!(target, release = id, members, "goes on answering in turn: taken for one release");
        }
        Change::RolledBack { release, gone } => {
            let (name, gone) = apart(&release.makeup, &gone.makeup);
            tracing::info!(target, release = release.id.0, gone, "is back to {name}");
        }
        Change::Muted { field, .. } => {
            let field = field.name();
            tracing::warn!(target, field, "changes too often to mean anything: it begins no more releases");
        }
    }
    false
}

/// A release began, by what differs from the one before.
fn tell_new(target: &str, release: &Release, was: &Makeup, context_tokens: Option<u32>) -> bool {
    let (makeup, id) = (&release.makeup, release.id.0);
    if asked(makeup) != asked(was) {
        let served_model = makeup.model.as_deref();
        tracing::info!(target, %was, release = id, served_model, context_tokens, "now runs {makeup}");
        return true;
    }
    if makeup.mark != was.mark {
        tracing::info!(target, release = id, "marked: {}", makeup.mark.as_deref().unwrap_or_default());
    } else if makeup.labels != was.labels {
        tracing::info!(target, release = id, "has other labels in the configuration");
    } else {
        let (name, was) = apart(makeup, was);
        tracing::info!(target, was, release = id, "now answers as {name}");
    }
    false
}

/// What was not known before is no change; what was another is.
fn tell_learned(target: &str, release: &Release, was: &Makeup, context_tokens: Option<u32>) -> bool {
    if !Features::of(was).agrees(&Features::of(&release.makeup)) {
        return tell_new(target, release, was, context_tokens);
    }
    let is_told = asked(&release.makeup) != asked(was);
    if is_told {
        tell_first(target, &release.makeup, context_tokens);
    }
    is_told
}

fn asked(makeup: &Makeup) -> Features {
    Features::of(makeup).part(Kind::Asking)
}

/// Names for two that differ: what they run, unless that is the same.
fn apart(one: &Makeup, other: &Makeup) -> (String, String) {
    let of = |name: fn(&Makeup) -> String| (name(one), name(other));
    let names = of(ToString::to_string);
    if names.0 != names.1 {
        return names;
    }
    let unnamed = || "no name".to_owned();
    if one.fingerprint == other.fingerprint {
        (one.model.clone().unwrap_or_else(unnamed), other.model.clone().unwrap_or_else(unnamed))
    } else {
        (one.fingerprint.clone().unwrap_or_else(unnamed), other.fingerprint.clone().unwrap_or_else(unnamed))
    }
}
