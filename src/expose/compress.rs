//! Pieces of a page, compressed or not.

use std::io::{self, Write};

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;

use super::Packing;

/// So large a piece is sent: small enough to be on its way while the next is written.
const PIECE_BYTES: usize = 64 << 10;

/// Fast: a page is written many times a minute, and names that repeat compress well at any level.
const ZSTD_LEVEL: i32 = 1;

/// Takes what is written, compresses it, and sends it in pieces.
pub(super) struct Packer<S: FnMut(Bytes)>(Kind<S>);

enum Kind<S: FnMut(Bytes)> {
    Plain(Pieces<S>),
    Gzip(Box<GzEncoder<Pieces<S>>>),
    Zstd(Box<zstd::Encoder<'static, Pieces<S>>>),
}

/// Collects bytes into pieces.
struct Pieces<S: FnMut(Bytes)> {
    buffer: Vec<u8>,
    send: S,
}

impl<S: FnMut(Bytes)> Packer<S> {
    pub(super) fn new(packing: Packing, send: S) -> Self {
        let pieces = Pieces { buffer: Vec::with_capacity(PIECE_BYTES), send };
        Self(match packing {
            Packing::Plain => Kind::Plain(pieces),
            Packing::Gzip => Kind::Gzip(Box::new(GzEncoder::new(pieces, Compression::fast()))),
            Packing::Zstd => match zstd::Encoder::new(pieces, ZSTD_LEVEL) {
                Ok(encoder) => Kind::Zstd(Box::new(encoder)),
                // The level is valid, so only memory can be missing, and then this is not reached.
                Err(error) => panic!("zstd cannot start: {error}"),
            },
        })
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        // Pieces take everything, so nothing fails.
        let _ = match &mut self.0 {
            Kind::Plain(pieces) => pieces.write_all(bytes),
            Kind::Gzip(encoder) => encoder.write_all(bytes),
            Kind::Zstd(encoder) => encoder.write_all(bytes),
        };
    }

    pub(super) fn finish(self) {
        let pieces = match self.0 {
            Kind::Plain(pieces) => Ok(pieces),
            Kind::Gzip(encoder) => encoder.finish(),
            Kind::Zstd(encoder) => encoder.finish(),
        };
        if let Ok(mut pieces) = pieces {
            pieces.send();
        }
    }
}

impl<S: FnMut(Bytes)> Pieces<S> {
    fn send(&mut self) {
        if !self.buffer.is_empty() {
            let piece = std::mem::replace(&mut self.buffer, Vec::with_capacity(PIECE_BYTES));
            (self.send)(Bytes::from(piece));
        }
    }
}

impl<S: FnMut(Bytes)> Write for Pieces<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= PIECE_BYTES {
            self.send();
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;
    use std::io::Read as _;

    use super::{Bytes, Packer, Packing};

    fn packed(packing: Packing, text: &str) -> Vec<Bytes> {
        let mut pieces = Vec::new();
        let mut packer = Packer::new(packing, |piece| pieces.push(piece));
        for line in text.split_inclusive('\n') {
            packer.push(line.as_bytes());
        }
        packer.finish();
        pieces
    }

    #[test]
    fn what_is_compressed_reads_as_it_was_written() {
        let mut text = String::new();
        for n in 0..20_000 {
            let _ = writeln!(text, "sloprobe_probes_total{{n=\"{n}\"}} {n}");
        }
        let plain = packed(Packing::Plain, &text);
        assert!(plain.len() > 5, "{} pieces", plain.len());
        assert_eq!(plain.concat(), text.as_bytes());

        let mut read = String::new();
        let gzip = packed(Packing::Gzip, &text).concat();
        flate2::read::GzDecoder::new(&*gzip).read_to_string(&mut read).unwrap();
        assert!(read == text && gzip.len() < text.len() / 4, "{}", gzip.len());

        let zstd = packed(Packing::Zstd, &text).concat();
        assert!(zstd::decode_all(&*zstd).unwrap() == text.as_bytes() && zstd.len() < text.len() / 4);
    }
}
