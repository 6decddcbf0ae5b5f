//! One JSON value per line, decoded without I/O: bytes go in as they come, whole lines come out.

use memchr::memchr;

use super::sse::{MAX_EVENT_BYTES, TooLong};

#[derive(Debug, Default)]
pub struct Decoder {
    /// The beginning of a line whose end has not come yet.
    partial: Vec<u8>,
}

impl Decoder {
    /// Takes the next bytes and hands each complete line to `found`, until `found` fails.
    pub fn feed<E: From<TooLong>>(
        &mut self,
        mut bytes: &[u8],
        found: &mut impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        while let Some(end) = memchr(b'\n', bytes) {
            if self.partial.is_empty() {
                hand_over(&bytes[..end], found)?;
            } else {
                self.hold_back(&bytes[..end])?;
                let mut line = std::mem::take(&mut self.partial);
                hand_over(&line, found)?;
                line.clear();
                self.partial = line;
            }
            bytes = &bytes[end + 1..];
        }
        self.hold_back(bytes).map_err(E::from)
    }

    /// The stream is over: the last line needs no end.
    pub fn finish<E>(&mut self, found: &mut impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        let line = std::mem::take(&mut self.partial);
        hand_over(&line, found)
    }

    fn hold_back(&mut self, bytes: &[u8]) -> Result<(), TooLong> {
        if self.partial.len() + bytes.len() > MAX_EVENT_BYTES {
            return Err(TooLong);
        }
        self.partial.extend_from_slice(bytes);
        Ok(())
    }
}

/// White space around a line, a carriage return among it, means nothing; an empty line is none.
fn hand_over<E>(line: &[u8], found: &mut impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
    let line = line.trim_ascii();
    if line.is_empty() { Ok(()) } else { found(line) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Result<Vec<String>, TooLong> {
        let mut lines = Vec::new();
        let mut decoder = Decoder::default();
        let mut collect = |line: &[u8]| {
            lines.push(String::from_utf8_lossy(line).into_owned());
            Ok(())
        };
        for piece in pieces {
            decoder.feed(piece, &mut collect)?;
        }
        decoder.finish(&mut collect)?;
        Ok(lines)
    }

    #[test]
    fn any_split_gives_the_same_lines() {
        let text = "{\"a\":\"grüße 你好\"}\r\n\n  \n{\"b\":1}\n{\"c\":2}";
        let expected = ["{\"a\":\"grüße 你好\"}", "{\"b\":1}", "{\"c\":2}"];
        for first in 0..text.len() {
            for second in first..text.len() {
                let bytes = text.as_bytes();
                let pieces = [&bytes[..first], &bytes[first..second], &bytes[second..]];
                assert_eq!(decode(pieces).unwrap(), expected, "split at {first} and {second}");
            }
        }
        assert_eq!(decode(text.as_bytes().chunks(1)).unwrap(), expected);
    }

    #[test]
    fn an_endless_line_is_refused_before_it_fills_the_memory() {
        let flood = vec![b'x'; 64 * 1024];
        let mut decoder = Decoder::default();
        let mut ignore = |_: &[u8]| Ok::<(), TooLong>(());
        assert_eq!((0..100).find(|_| decoder.feed(&flood, &mut ignore).is_err()), Some(16));
        assert!(decoder.partial.len() <= MAX_EVENT_BYTES);
    }
}
