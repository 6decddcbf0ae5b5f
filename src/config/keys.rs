//! Every key of every section, declared once: the reader, its messages and the example's test use this list.

/// The keys that one section takes.
#[derive(Debug)]
pub struct Keys {
    /// How the section is written in the file.
    pub heading: &'static str,
    pub known: &'static [&'static str],
    /// Part of the design but not of this version: refused with those words, not called a mistake.
    pub later: &'static [&'static str],
}

pub(super) const ROOT: Keys = Keys {
    heading: "the top level",
    known: &["daemon", "limits", "targets", "workloads", "slos"],
    later: &[],
};

pub(super) const DAEMON: Keys = Keys {
    heading: "[daemon]",
    known: &[
        "listen",
        "threads",
        "histograms",
        "buckets",
        "created",
        "state",
        "history",
        "history_age",
        "history_size",
    ],
    later: &["web_config"],
};

pub(super) const LIMITS: Keys =
    Keys { heading: "[limits]", known: &["in_flight", "tokens_per_hour"], later: &[] };

pub(super) const TARGET: Keys = Keys {
    heading: "[[targets]]",
    known: &[
        "name",
        "url",
        "api",
        "model",
        "api_key",
        "engine",
        "headers",
        "labels",
        "connection",
        "ca",
        "client_cert",
        "client_key",
        "server_name",
        "insecure_skip_verify",
        "proxy",
        "ip",
        "http",
        "stream",
        "rate",
        "mix",
        "in_flight",
        "tokens_per_hour",
        "price",
        "extra",
        "reasoning",
    ],
    later: &[],
};

pub(super) const PRICE: Keys = Keys { heading: "a price", known: &["input", "output"], later: &[] };

pub(super) const SECRET: Keys = Keys { heading: "a secret", known: &["env", "file"], later: &[] };

pub(super) const WORKLOAD: Keys = Keys {
    heading: "[[workloads]]",
    known: &[
        "name",
        "kind",
        "input_tokens",
        "output_tokens",
        "language",
        "cache",
        "exact_output",
        "system",
        "template",
        "depth",
        "prompts",
        "timeouts",
        "extra",
        "reasoning",
    ],
    later: &[],
};

pub(super) const RANGE: Keys = Keys { heading: "a range of lengths", known: &["from", "to"], later: &[] };

pub(super) const TIMEOUTS: Keys = Keys {
    heading: "[workloads.timeouts]",
    known: &["connect", "first_token", "stall", "total"],
    later: &[],
};

pub(super) const SLO: Keys = Keys {
    heading: "[[slos]]",
    known: &["name", "workload", "targets", "metric", "below", "objective", "window", "exclude"],
    later: &[],
};

/// All of them, for whoever wants to show or test every key.
pub const SECTIONS: [&Keys; 10] =
    [&ROOT, &DAEMON, &LIMITS, &TARGET, &SECRET, &PRICE, &WORKLOAD, &RANGE, &TIMEOUTS, &SLO];

/// The candidate that `word` was probably meant to be.
pub(super) fn nearest<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let plain = |text: &str| text.to_lowercase().replace(['-', '_', '.', ' '], "");
    let word = plain(word);
    // A third of the letters may differ: "conection" is near, "timeout" is not "total".
    let reach = (word.chars().count() / 3).max(1);
    candidates
        .map(|candidate| (strsim::damerau_levenshtein(&word, &plain(candidate)), candidate))
        .filter(|(distance, _)| *distance <= reach)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_of_the_pen_are_near_and_other_words_are_not() {
        let near = |word| nearest(word, TARGET.known.iter().copied());
        assert_eq!(near("modle"), Some("model"));
        assert_eq!(near("apikey"), Some("api_key"));
        assert_eq!(near("In-Flight"), Some("in_flight"));
        assert_eq!(near("colour"), None);
        assert_eq!(near(""), None);
    }
}
