//! The metrics as Prometheus reads them: text, OpenMetrics or protobuf, plain or compressed, in pieces.

mod compress;
pub mod negotiate;
mod protobuf;
mod text;

use bytes::Bytes;

use crate::domain::Exposure;
use crate::series::Writer;
use compress::Packer;

/// What a page is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// Prometheus text 0.0.4.
    Text,
    /// OpenMetrics 1.0: text with exemplars.
    OpenMetrics,
    /// Prometheus protobuf, length-delimited: with exemplars, created timestamps and native histograms.
    Protobuf,
}

/// How a page is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Packing {
    Plain,
    Gzip,
    Zstd,
}

impl Format {
    pub fn content_type(self) -> &'static str {
        match self {
            Self::Text => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Protobuf => {
                "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited"
            }
        }
    }
}

impl Packing {
    /// The content encoding; none of what is not compressed.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Self::Plain => None,
            Self::Gzip => Some("gzip"),
            Self::Zstd => Some("zstd"),
        }
    }
}

/// Writes a page: `walk` shows every family and series, `send` takes the pieces as they are ready.
pub fn write(
    format: Format,
    packing: Packing,
    exposure: Exposure,
    walk: impl FnOnce(&mut dyn Writer),
    send: impl FnMut(Bytes),
) {
    let packer = Packer::new(packing, send);
    match format {
        Format::Text | Format::OpenMetrics => {
            let mut writer = text::Text::new(format == Format::OpenMetrics, exposure.created, packer);
            walk(&mut writer);
            writer.finish();
        }
        Format::Protobuf => {
            let mut writer = protobuf::Protobuf::new(exposure.histograms, packer);
            walk(&mut writer);
            writer.finish();
        }
    }
}

/// A whole page as text, for whoever reads it at once.
pub fn text(walk: impl FnOnce(&mut dyn Writer)) -> String {
    let mut page = Vec::new();
    write(Format::Text, Packing::Plain, Exposure::default(), walk, |piece| page.extend_from_slice(&piece));
    String::from_utf8_lossy(&page).into_owned()
}

#[cfg(test)]
mod tests;
