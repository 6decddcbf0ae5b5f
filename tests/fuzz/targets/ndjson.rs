//! However a body is cut, the same lines are found in it.

#![no_main]

mod splits;

use libfuzzer_sys::fuzz_target;
use sloprobe::protocol::ndjson::Decoder;
use sloprobe::protocol::sse::{MAX_EVENT_BYTES, TooLong};

fn decode<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Result<Vec<Vec<u8>>, TooLong> {
    let mut lines = Vec::new();
    let mut decoder = Decoder::default();
    let mut collect = |line: &[u8]| {
        assert!(!line.is_empty() && line.len() <= MAX_EVENT_BYTES);
        lines.push(line.to_vec());
        Ok(())
    };
    for piece in pieces {
        decoder.feed(piece, &mut collect)?;
    }
    decoder.finish(&mut collect)?;
    Ok(lines)
}

fuzz_target!(|input: &[u8]| {
    let Some((&seed, body)) = input.split_first() else { return };
    let whole = decode([body]);
    assert_eq!(whole, decode(splits::pieces(seed, body)));
    assert_eq!(whole, decode(body.chunks(1)));
});
