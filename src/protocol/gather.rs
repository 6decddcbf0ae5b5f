//! Lists of which only what they come to is kept: `[{},{},…` would grow a hundredfold on its way into memory.

use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{Deserializer, SeqAccess, Visitor};

/// Takes the items of a list one by one.
pub(super) trait Gather: Default {
    type Item;

    /// `place` is where in the list the item stands.
    fn gather(&mut self, place: usize, item: Self::Item);
}

/// A JSON list of `G`'s items, gathered.
#[derive(Debug, Default)]
pub(super) struct Gathered<G>(pub(super) G);

impl<'de, G: Gather> Deserialize<'de> for Gathered<G>
where
    G::Item: Deserialize<'de>,
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(Gathering(PhantomData)).map(Self)
    }
}

struct Gathering<G>(PhantomData<G>);

impl<'de, G: Gather> Visitor<'de> for Gathering<G>
where
    G::Item: Deserialize<'de>,
{
    type Value = G;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<G, A::Error> {
        let mut gathered = G::default();
        let mut place = 0;
        while let Some(item) = items.next_element()? {
            gathered.gather(place, item);
            place += 1;
        }
        Ok(gathered)
    }
}
