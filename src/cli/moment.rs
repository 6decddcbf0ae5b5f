//! Moments and stretches of time, as people write them on a command line.

use std::time::{Duration, SystemTime};

/// Such as "2026-11-14T08:00:00Z", "2026-11-14 08:00" (in UTC), "now", or how long ago: "36h", "7d".
pub(super) fn moment(text: &str, now: SystemTime) -> Result<SystemTime, String> {
    let text = text.trim();
    if text == "now" {
        return Ok(now);
    }
    if let Ok(ago) = humantime::parse_duration(text) {
        let then = now.checked_sub(ago).filter(|then| *then >= SystemTime::UNIX_EPOCH);
        return then.ok_or_else(|| format!("{text:?} ago is before 1970"));
    }
    date(text).ok_or_else(|| {
        format!("{text:?} is no time: write \"2026-11-14 08:00\" (UTC), \"2026-11-14T08:00:00Z\", or how long ago, such as \"36h\"")
    })
}

/// RFC 3339, of which the seconds, the time of day and the offset may be missing.
fn date(text: &str) -> Option<SystemTime> {
    let (day, clock) = text.split_at_checked(10)?;
    let (clock, offset) = clock.find(['+', '-']).map_or((clock, ""), |sign| clock.split_at(sign));
    // The midnight before, or the full minute.
    let ending = match clock.len() {
        0 => " 00:00:00",
        6 => ":00",
        _ => "",
    };
    let local = humantime::parse_rfc3339_weak(&[day, clock, ending].concat()).ok()?;
    if offset.is_empty() {
        return Some(local);
    }
    let (hours, minutes) = offset[1..].split_once(':')?;
    let number = |text: &str, below: u64| text.parse::<u64>().ok().filter(|number| *number < below);
    let ahead = Duration::from_secs(3600 * number(hours, 24)? + 60 * number(minutes, 60)?);
    if offset.starts_with('+') { local.checked_sub(ahead) } else { local.checked_add(ahead) }
}

/// Such as "7d..24h", "2026-11-13..2026-11-14" or "2h..", which ends now.
pub(super) fn stretch(text: &str, now: SystemTime) -> Option<Result<(SystemTime, SystemTime), String>> {
    let (from, to) = text.split_once("..")?;
    let to = if to.trim().is_empty() { "now" } else { to };
    let ends = moment(from, now).and_then(|from| Ok((from, moment(to, now)?)));
    Some(ends.and_then(|(from, to)| {
        let is_forward = to.duration_since(from).unwrap_or(Duration::ZERO) > Duration::ZERO;
        if is_forward { Ok((from, to)) } else { Err(format!("{text:?} ends before it begins")) }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> SystemTime {
        humantime::parse_rfc3339("2026-11-15T12:00:00Z").unwrap()
    }

    #[test]
    fn times_are_read_as_people_write_them() {
        let written = |text| humantime::format_rfc3339_seconds(moment(text, now()).unwrap()).to_string();
        for (text, expected) in [
            ("now", "2026-11-15T12:00:00Z"),
            ("36h", "2026-11-14T00:00:00Z"),
            ("2026-11-14", "2026-11-14T00:00:00Z"),
            (" 2026-11-14 08:00 ", "2026-11-14T08:00:00Z"),
            ("2026-11-14T08:00:30Z", "2026-11-14T08:00:30Z"),
            ("2026-11-14T08:00:30+01:30", "2026-11-14T06:30:30Z"),
            ("2026-11-14 20:00-05:00", "2026-11-15T01:00:00Z"),
        ] {
            assert_eq!(written(text), expected, "{text}");
        }
        for wrong in
            ["", "yesterday", "14.11.2026", "99999999999y", "2026-11-14T08:00+1", "2026-11-14T08:00+25:00"]
        {
            assert!(moment(wrong, now()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_stretch_has_two_ends_in_order() {
        let hours = |text| {
            let (from, to) = stretch(text, now()).unwrap().unwrap();
            to.duration_since(from).unwrap().as_secs() / 3600
        };
        assert_eq!((hours("48h..24h"), hours("2h.."), hours("2026-11-13..2026-11-14")), (24, 2, 24));
        assert!(stretch("24h..48h", now()).unwrap().is_err() && stretch("24h..24h", now()).unwrap().is_err());
        assert!(stretch("vllm 0.33.0", now()).is_none());
    }
}
