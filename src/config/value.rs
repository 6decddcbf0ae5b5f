//! The small languages inside text: names, durations, rates, addresses.

use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::time::Duration;

use url::Url;

use super::problem::quote;
use super::reader::Node;
use super::secret;
use crate::domain::Rate;

const MAX_NAME_CHARS: usize = 64;
const MAX_TEXT_CHARS: usize = 256;
const MAX_PASSAGE_BYTES: usize = 64 * 1024;

/// Faster is a load test; slower sees nothing in time.
const FASTEST: Duration = Duration::from_millis(20);
const SLOWEST: Duration = Duration::from_secs(24 * 3600);

/// The longest that any patience may be.
pub(super) const LONGEST_WAIT: Duration = Duration::from_secs(3600);

const RATE: &str = "write a number of probes per time, such as \"6/min\", \"1/10s\" or \"120/h\"";
const WAIT: &str = "write a duration up to \"1h\", such as \"500ms\", \"10s\" or \"2m\"";
const URL: &str = "write the address below which the API lives, such as \"https://llm.example.com/v1\"";

/// A name becomes a label's value and stands in log lines.
pub(super) fn name<'a>(node: &Node<'a>) -> Option<&'a str> {
    bounded(node, "chat-prod", MAX_NAME_CHARS)
}

/// Text that is shown or sent, in one line of bounded length.
pub(super) fn line<'a>(node: &Node<'a>, example: &str) -> Option<&'a str> {
    bounded(node, example, MAX_TEXT_CHARS)
}

/// Text of several lines that is sent to the model.
pub(super) fn passage<'a>(node: &Node<'a>, example: &str) -> Option<&'a str> {
    let text = node.text(example)?;
    if text.trim().is_empty() {
        node.refuse("empty", format!("write some text, such as {example:?}, or remove it"))
    } else if text.len() > MAX_PASSAGE_BYTES {
        node.refuse(format!("longer than {MAX_PASSAGE_BYTES} bytes"), "write less")
    } else {
        Some(text)
    }
}

fn bounded<'a>(node: &Node<'a>, example: &str, max_chars: usize) -> Option<&'a str> {
    let text = node.text(example)?;
    let remedy = format!("write 1 to {max_chars} characters on one line, such as {example:?}");
    if text.trim().is_empty() {
        node.refuse("empty", remedy)
    } else if text.chars().any(char::is_control) {
        node.refuse("contains a line break or another control character", remedy)
    } else if text.trim() != text {
        node.refuse("begins or ends with a space", remedy)
    } else if text.chars().count() > max_chars {
        node.refuse(format!("longer than {max_chars} characters"), remedy)
    } else {
        Some(text)
    }
}

pub(super) fn listen(node: &Node<'_>) -> Option<SocketAddr> {
    let text = node.text("127.0.0.1:9788")?;
    let remedy = "write \"127.0.0.1:9788\", or \"0.0.0.0:9788\" to be reached from other machines";
    text.parse()
        .ok()
        .or_else(|| node.refuse(format!("{} is not an address with a port", quote(text)), remedy))
}

pub(super) fn wait(node: &Node<'_>) -> Option<Duration> {
    let duration = duration_within(node, Duration::ZERO..=LONGEST_WAIT, WAIT)?;
    if duration.is_zero() { node.refuse("a wait of zero always times out", WAIT) } else { Some(duration) }
}

pub(super) fn duration_within(
    node: &Node<'_>,
    range: RangeInclusive<Duration>,
    remedy: &str,
) -> Option<Duration> {
    let Some(text) = node.as_text() else { return node.wrong_type("a duration as text", remedy) };
    let Ok(duration) = humantime::parse_duration(text.trim()) else {
        return node.refuse(format!("{} is not a duration", quote(text)), remedy);
    };
    if duration < *range.start() {
        node.refuse(format!("{} is too short", quote(text)), remedy)
    } else if duration > *range.end() {
        node.refuse(format!("{} is too long", quote(text)), remedy)
    } else {
        Some(duration)
    }
}

/// Such as "2GiB", "500 MB" or "1.5GB".
pub(super) fn bytes_within(node: &Node<'_>, range: RangeInclusive<u64>, remedy: &str) -> Option<u64> {
    let Some(text) = node.as_text() else { return node.wrong_type("a size as text", remedy) };
    let Some(bytes) = split_size(text) else {
        return node.refuse(format!("{} is not a size", quote(text)), remedy);
    };
    if bytes < *range.start() {
        node.refuse(format!("{} is too small", quote(text)), remedy)
    } else if bytes > *range.end() {
        node.refuse(format!("{} is too large", quote(text)), remedy)
    } else {
        Some(bytes)
    }
}

fn split_size(text: &str) -> Option<u64> {
    let text = text.trim();
    let (number, unit) = text.split_at(text.find(|c: char| c.is_ascii_alphabetic())?);
    let unit = match unit.to_ascii_lowercase().as_str() {
        "kb" => 1e3,
        "mb" => 1e6,
        "gb" => 1e9,
        "tb" => 1e12,
        "kib" => 1024.0,
        "mib" => 1024.0 * 1024.0,
        "gib" => 1024.0 * 1024.0 * 1024.0,
        "tib" => 1024.0 * 1024.0 * 1024.0 * 1024.0,
        _ => return None,
    };
    let number: f64 = number.trim().parse().ok()?;
    (number >= 0.0).then_some((number * unit) as u64)
}

pub(super) fn rate(node: &Node<'_>) -> Option<Rate> {
    let Some(text) = node.as_text() else { return node.wrong_type("a rate as text", RATE) };
    let Some((count, period)) = split_rate(text) else {
        return node.refuse(format!("{} is not a rate", quote(text)), RATE);
    };
    if count == 0 || period.is_zero() {
        return node.refuse(format!("{} has a zero in it", quote(text)), RATE);
    }
    let interval = period / count;
    if interval < FASTEST {
        node.refuse(format!("{} is faster than 50/s", quote(text)), "write \"50/s\" or slower")
    } else if interval > SLOWEST {
        node.refuse(format!("{} is slower than 1/day", quote(text)), "write \"1/day\" or faster")
    } else {
        Some(Rate { interval })
    }
}

/// `6/min` is 6 in a minute; `1/10s` is one in ten seconds.
fn split_rate(text: &str) -> Option<(u32, Duration)> {
    let (count, period) = text.split_once('/')?;
    let (count, period) = (count.trim(), period.trim());
    if !count.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let counted = period.starts_with(|c: char| c.is_ascii_digit());
    let period = if counted { period.to_owned() } else { format!("1{period}") };
    Some((count.parse().ok()?, humantime::parse_duration(&period).ok()?))
}

/// Messages never repeat any part of a URL: people do put secrets into them.
pub(super) fn url(node: &Node<'_>) -> Option<Url> {
    let text = node.text("https://llm.example.com/v1")?;
    if !["http://", "https://"].iter().any(|scheme| text.to_ascii_lowercase().starts_with(scheme)) {
        return node.refuse("does not begin with http:// or https://", URL);
    }
    let url = match Url::parse(text) {
        Ok(url) => url,
        Err(error) => return node.refuse(format!("not a URL: {error}"), URL),
    };
    let secret =
        "take it out of the url and write api_key = { env = \"NAME\" } or api_key = { file = \"/path\" }";
    if !url.username().is_empty() || url.password().is_some() {
        node.refuse("contains a user name or password", secret)
    } else if url.query_pairs().any(|(name, _)| secret::sounds_secret(&name)) {
        node.refuse("contains what looks like a key in its query", secret)
    } else if url.fragment().is_some() {
        node.refuse("contains a fragment", "leave off the # and what follows it")
    } else {
        Some(url)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_has_a_unit() {
        for (text, bytes) in
            [("2GiB", 2 << 30), ("500 MB", 500_000_000), ("1.5kib", 1536), ("1TB", 1_000_000_000_000)]
        {
            assert_eq!(split_size(text), Some(bytes), "{text}");
        }
        for text in ["2", "GiB", "2 giga", "-1GB", "", "nanGB"] {
            assert_eq!(split_size(text), None, "{text}");
        }
    }

    #[test]
    fn a_rate_is_a_count_per_unit_or_per_duration() {
        let interval = |text| split_rate(text).map(|(count, period)| period / count);
        assert_eq!(interval("6/min"), Some(Duration::from_secs(10)));
        assert_eq!(interval("1/10s"), Some(Duration::from_secs(10)));
        assert_eq!(interval("120/h"), Some(Duration::from_secs(30)));
        assert_eq!(interval("2/s"), Some(Duration::from_millis(500)));
        assert_eq!(interval("1 / day"), Some(SLOWEST));
    }

    #[test]
    fn what_is_no_rate_is_told_from_what_is() {
        for text in
            ["", "6", "/min", "6/", "-1/s", "+6/min", "0.5/s", "6/min/h", "6/fortnight", "99999999999/s"]
        {
            assert_eq!(split_rate(text), None, "{text}");
        }
    }
}
