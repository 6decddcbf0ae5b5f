//! Server-sent events, decoded without I/O: bytes go in as they come, whole events come out.
//!
//! Any split of the bytes gives the same events. LF, CRLF and lone CR end a line; a byte order mark at the
//! start, comments, `data:` with or without a space and data over several lines are understood.

use memchr::memchr2;

/// The longest line, and the longest event, that is taken for sane.
pub const MAX_EVENT_BYTES: usize = 1 << 20;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

#[derive(Debug, Default)]
pub struct Decoder {
    /// The beginning of a line whose end has not come yet.
    partial: Vec<u8>,
    /// The data lines of the event under way, joined with LF.
    data: Vec<u8>,
    data_lines: usize,
    /// The event under way is called `error`.
    is_error: bool,
    after_cr: bool,
    past_start: bool,
}

/// What a decoder finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Item<'a> {
    /// The data of one event.
    Event(&'a [u8]),
    /// The data of an event that the server calls an error.
    Error(&'a [u8]),
    /// A line that no server of events would write: a page, a bare JSON body.
    Stray(&'a [u8]),
}

/// A line or an event longer than [`MAX_EVENT_BYTES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event of the stream is longer than {MAX_EVENT_BYTES} bytes")]
pub struct TooLong;

/// What one line adds to the event under way.
enum Line<'a> {
    /// It ends the event.
    Blank,
    Data(&'a [u8]),
    /// Nothing: a comment, a name, a number.
    Passed,
    Stray(&'a [u8]),
}

impl Decoder {
    /// Takes the next bytes and hands each complete item to `found`, until `found` fails. An event whose one line of data
    /// lies whole in these bytes is handed out from there; any other is put together first.
    pub fn feed<E: From<TooLong>>(
        &mut self,
        mut bytes: &[u8],
        found: &mut impl FnMut(Item<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut only = None;
        while !bytes.is_empty() {
            if std::mem::take(&mut self.after_cr) && bytes[0] == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let Some(end) = memchr2(b'\n', b'\r', bytes) else {
                self.hold_back(bytes)?;
                break;
            };
            self.after_cr = bytes[end] == b'\r';
            if self.partial.is_empty() {
                match self.look_at(&bytes[..end]) {
                    Line::Data(value) if self.data_lines == 0 && value.len() < MAX_EVENT_BYTES => {
                        self.data_lines = 1;
                        only = Some(value);
                    }
                    Line::Data(value) => {
                        self.keep(only.take());
                        self.push_data(value)?;
                    }
                    Line::Blank => self.dispatch(only.take(), found)?,
                    Line::Passed => {}
                    Line::Stray(line) => found(Item::Stray(line))?,
                }
            } else {
                self.hold_back(&bytes[..end])?;
                let line = std::mem::take(&mut self.partial);
                self.take_line(&line, found)?;
                self.partial = line;
                self.partial.clear();
            }
            bytes = &bytes[end + 1..];
        }
        self.keep(only);
        Ok(())
    }

    /// The stream is over: an event whose closing blank line never came is still an event.
    pub fn finish<E: From<TooLong>>(
        &mut self,
        found: &mut impl FnMut(Item<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let line = std::mem::take(&mut self.partial);
        if !line.is_empty() {
            self.take_line(&line, found)?;
        }
        self.take_line(b"", found)
    }

    fn hold_back(&mut self, bytes: &[u8]) -> Result<(), TooLong> {
        if self.partial.len() + bytes.len() > MAX_EVENT_BYTES {
            return Err(TooLong);
        }
        self.partial.extend_from_slice(bytes);
        Ok(())
    }

    /// Takes a line that was put together, or that ends the stream.
    fn take_line<E: From<TooLong>>(
        &mut self,
        line: &[u8],
        found: &mut impl FnMut(Item<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        match self.look_at(line) {
            Line::Data(value) => self.push_data(value).map_err(E::from),
            Line::Blank => self.dispatch(None, found),
            Line::Passed => Ok(()),
            Line::Stray(line) => found(Item::Stray(line)),
        }
    }

    fn look_at<'a>(&mut self, mut line: &'a [u8]) -> Line<'a> {
        if !std::mem::replace(&mut self.past_start, true) {
            line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
        }
        if line.is_empty() {
            return Line::Blank;
        }
        let (name, value) = match memchr::memchr(b':', line) {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &b""[..]),
        };
        match name {
            b"" => Line::Passed,
            b"event" => {
                self.is_error = value.trim_ascii() == b"error";
                Line::Passed
            }
            b"data" => Line::Data(value.strip_prefix(b" ").unwrap_or(value)),
            _ if name.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_')) => Line::Passed,
            _ => Line::Stray(line),
        }
    }

    /// Keeps the only line of data so far, because it is not the last or its event ends in another read.
    fn keep(&mut self, only: Option<&[u8]>) {
        self.data.extend_from_slice(only.unwrap_or_default());
    }

    fn push_data(&mut self, value: &[u8]) -> Result<(), TooLong> {
        if self.data.len() + value.len() >= MAX_EVENT_BYTES {
            return Err(TooLong);
        }
        if self.data_lines > 0 {
            self.data.push(b'\n');
        }
        self.data_lines += 1;
        self.data.extend_from_slice(value);
        Ok(())
    }

    /// The event ends; `only` is its data if all of it lies in this read.
    fn dispatch<E>(
        &mut self,
        only: Option<&[u8]>,
        found: &mut impl FnMut(Item<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let is_error = std::mem::take(&mut self.is_error);
        let lines = std::mem::take(&mut self.data_lines);
        let data = only.unwrap_or(&self.data);
        // Data that is empty is no event: some servers send it to keep a connection alive.
        if lines == 0 || data.is_empty() {
            return Ok(());
        }
        let outcome = found(if is_error { Item::Error(data) } else { Item::Event(data) });
        self.data.clear();
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Everything found in a stream that comes in the given pieces.
    fn decode<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Result<Vec<String>, TooLong> {
        let mut found = Vec::new();
        let mut decoder = Decoder::default();
        let mut collect = |item: Item<'_>| {
            found.push(match item {
                Item::Event(data) => String::from_utf8_lossy(data).into_owned(),
                Item::Error(data) => format!("error {}", String::from_utf8_lossy(data)),
                Item::Stray(line) => format!("stray {}", String::from_utf8_lossy(line)),
            });
            Ok(())
        };
        for piece in pieces {
            decoder.feed(piece, &mut collect)?;
        }
        decoder.finish(&mut collect)?;
        Ok(found)
    }

    fn whole(text: &str) -> Vec<String> {
        decode([text.as_bytes()]).unwrap()
    }

    #[test]
    fn every_line_ending_ends_a_line() {
        for ending in ["\n", "\r\n", "\r"] {
            let text = format!("data: a{ending}{ending}data: b{ending}{ending}");
            assert_eq!(whole(&text), ["a", "b"], "{ending:?}");
        }
    }

    #[test]
    fn data_needs_no_space_and_keeps_all_but_one() {
        assert_eq!(whole("data:a\n\ndata:  b\n\n"), ["a", " b"]);
    }

    #[test]
    fn data_over_several_lines_is_joined() {
        assert_eq!(whole("data: a\ndata: b\n\n"), ["a\nb"]);
    }

    #[test]
    fn comments_names_ids_and_empty_events_are_passed_over() {
        assert_eq!(
            whole(": ping\n\n:\n\nevent: x\nid: 7\n\nretry: 3\ndata: a\n\n\n\ndata:\n\ndata\n\n"),
            ["a"]
        );
    }

    #[test]
    fn an_event_called_error_is_one_and_the_next_is_not() {
        assert_eq!(
            whole("event: error\ndata: a\n\ndata: b\n\nevent:error\n\ndata: c\n\n"),
            ["error a", "b", "c"]
        );
    }

    #[test]
    fn a_byte_order_mark_is_passed_over() {
        assert_eq!(whole("\u{feff}data: a\n\n"), ["a"]);
    }

    #[test]
    fn the_last_event_counts_without_its_blank_line() {
        assert_eq!(whole("data: a\n\ndata: [DONE]"), ["a", "[DONE]"]);
    }

    #[test]
    fn a_page_or_a_bare_body_is_stray() {
        assert_eq!(whole("<html>\n"), ["stray <html>"]);
        assert_eq!(whole("{\"error\":1}"), ["stray {\"error\":1}"]);
    }

    #[test]
    fn any_split_gives_the_same_events() {
        let text = "\u{feff}: c\r\n\r\ndata: grüße 你好\r\ndata:x\r\n\r\rdata: b\n\ndata:\n\n{\"e\":1}\r\nevent: error\ndata: y\n\ndata: z";
        let expected = whole(text);
        assert_eq!(expected, ["grüße 你好\nx", "b", "stray {\"e\":1}", "error y", "z"]);
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
    fn an_event_that_lies_whole_in_a_read_is_not_copied() {
        let read = b"data: a\r\n\r\nid: 3\nevent: x\ndata: b\n\ndata: c\ndata: d\n\n";
        let mut places = Vec::new();
        let mut note = |item: Item<'_>| {
            if let Item::Event(data) = item {
                places.push(read.as_ptr_range().contains(&data.as_ptr()));
            }
            Ok::<(), TooLong>(())
        };
        Decoder::default().feed(read, &mut note).unwrap();
        assert_eq!(places, [true, true, false]);
    }

    #[test]
    fn an_endless_line_is_refused_before_it_fills_the_memory() {
        let flood = vec![b'x'; 64 * 1024];
        let mut decoder = Decoder::default();
        let mut ignore = |_: Item<'_>| Ok::<(), TooLong>(());
        let refused = (0..100).find(|_| decoder.feed(&flood, &mut ignore).is_err());
        assert_eq!(refused, Some(16));
        assert!(decoder.partial.len() <= MAX_EVENT_BYTES);
    }

    #[test]
    fn an_endless_event_is_refused_too() {
        let line = [b"data: ".as_slice(), &[b'x'; 1000], b"\n"].concat();
        let mut decoder = Decoder::default();
        let mut ignore = |_: Item<'_>| Ok::<(), TooLong>(());
        assert!((0..2000).any(|_| decoder.feed(&line, &mut ignore).is_err()));
        assert!(decoder.data.len() <= MAX_EVENT_BYTES);
    }
}
