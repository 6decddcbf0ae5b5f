//! However a body is cut, the same items are found in it.

#![no_main]

mod splits;

use libfuzzer_sys::fuzz_target;
use sloprobe::protocol::sse::{Decoder, Item, MAX_EVENT_BYTES, TooLong};

fn decode<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Result<Vec<(&'static str, Vec<u8>)>, TooLong> {
    let mut found = Vec::new();
    let mut decoder = Decoder::default();
    let mut collect = |item: Item<'_>| {
        let (kind, bytes) = match item {
            Item::Event(data) => ("event", data),
            Item::Error(data) => ("error", data),
            Item::Stray(line) => ("stray", line),
        };
        assert!(bytes.len() <= MAX_EVENT_BYTES);
        found.push((kind, bytes.to_vec()));
        Ok(())
    };
    for piece in pieces {
        decoder.feed(piece, &mut collect)?;
    }
    decoder.finish(&mut collect)?;
    Ok(found)
}

fuzz_target!(|input: &[u8]| {
    let Some((&seed, body)) = input.split_first() else { return };
    let whole = decode([body]);
    assert_eq!(whole, decode(splits::pieces(seed, body)));
    assert_eq!(whole, decode(body.chunks(1)));
});
