//! Which format and compression a client wants most, of those that it accepts.

use super::{Format, Packing};

/// The format for an `Accept` header. Without a match the text format is sent all the same: every scraper reads it.
pub fn format(accept: &str) -> Format {
    let wanted = items(accept).filter_map(|item| Some((item.quality, of_type(&item)?)));
    best(wanted).unwrap_or(Format::Text)
}

/// The compression for an `Accept-Encoding` header.
pub fn packing(accept: &str) -> Packing {
    let wanted = items(accept).filter_map(|item| {
        let packing = match &*item.name {
            "gzip" | "x-gzip" => Packing::Gzip,
            "zstd" => Packing::Zstd,
            "identity" => Packing::Plain,
            _ => return None,
        };
        Some((item.quality, packing))
    });
    best(wanted).unwrap_or(Packing::Plain)
}

/// What is wanted most; of equals, what comes first. What has a quality of 0 is refused.
fn best<T>(wanted: impl Iterator<Item = (f32, T)>) -> Option<T> {
    let mut best: Option<(f32, T)> = None;
    for (quality, value) in wanted.filter(|(quality, _)| *quality > 0.0) {
        if best.as_ref().is_none_or(|(known, _)| quality > *known) {
            best = Some((quality, value));
        }
    }
    best.map(|(_, value)| value)
}

/// One entry of such a header, in lower case.
struct Item {
    name: String,
    parameters: Vec<(String, String)>,
    quality: f32,
}

fn items(header: &str) -> impl Iterator<Item = Item> {
    header.split(',').map(|entry| {
        let mut parts = entry.split(';').map(|part| part.trim().to_ascii_lowercase());
        let name = parts.next().unwrap_or_default();
        let mut quality = 1.0;
        let mut parameters = Vec::new();
        for part in parts {
            let (key, value) = part.split_once('=').unwrap_or((&part, ""));
            let (key, value) = (key.trim().to_owned(), value.trim().trim_matches('"').to_owned());
            if key == "q" {
                quality = value.parse().unwrap_or(0.0);
            } else {
                parameters.push((key, value));
            }
        }
        Item { name, parameters, quality }
    })
}

fn of_type(item: &Item) -> Option<Format> {
    let parameter = |key: &str| item.parameters.iter().find(|(k, _)| k == key).map(|(_, value)| &**value);
    match &*item.name {
        "application/vnd.google.protobuf" => {
            let is_family =
                parameter("proto").is_none_or(|proto| proto == "io.prometheus.client.metricfamily");
            let is_delimited = parameter("encoding").is_none_or(|encoding| encoding == "delimited");
            (is_family && is_delimited).then_some(Format::Protobuf)
        }
        "application/openmetrics-text" => {
            matches!(parameter("version"), None | Some("1.0.0" | "0.0.1")).then_some(Format::OpenMetrics)
        }
        "text/plain" => matches!(parameter("version"), None | Some("0.0.4")).then_some(Format::Text),
        "text/*" | "*/*" => Some(Format::Text),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_scrapers_send_is_understood() {
        let prometheus_2_42 = "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
        let native = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited,application/openmetrics-text;version=1.0.0;q=0.8,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
        let prometheus_3 = "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2";
        let browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
        for (accept, wanted) in [
            (prometheus_2_42, Format::OpenMetrics),
            (native, Format::Protobuf),
            (prometheus_3, Format::OpenMetrics),
            (browser, Format::Text),
            ("", Format::Text),
            ("*/*", Format::Text),
            ("application/json", Format::Text),
            ("text/plain;version=1.0.0, application/openmetrics-text;q=0.1", Format::OpenMetrics),
            ("application/openmetrics-text;version=2.0.0, text/plain;q=0.1", Format::Text),
            ("application/openmetrics-text;q=0, text/plain;q=0.1", Format::Text),
            ("application/vnd.google.protobuf;encoding=text, text/plain;q=0.1", Format::Text),
            (
                "text/plain;q=0.3, application/openmetrics-text; version=\"1.0.0\"; q=0.31",
                Format::OpenMetrics,
            ),
        ] {
            assert_eq!(format(accept), wanted, "{accept}");
        }
    }

    #[test]
    fn compression_is_what_is_wanted_most() {
        for (accept, wanted) in [
            ("", Packing::Plain),
            ("gzip", Packing::Gzip),
            ("gzip, deflate, br, zstd", Packing::Gzip),
            ("gzip;q=0.5, zstd", Packing::Zstd),
            ("identity, gzip;q=0.9", Packing::Plain),
            ("gzip;q=0", Packing::Plain),
            ("br", Packing::Plain),
            ("gzip;q=abc", Packing::Plain),
        ] {
            assert_eq!(packing(accept), wanted, "{accept}");
        }
    }
}
