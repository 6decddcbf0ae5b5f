//! Lengths in tokens: a number, a list of numbers, or a range.

use std::ops::RangeInclusive;

use super::keys;
use super::reader::Node;
use crate::domain::Lengths;

/// A longer list is a benchmark's, and each of its lengths would be seen too rarely.
const MOST: usize = 64;

pub(super) fn read(node: &Node<'_>, range: RangeInclusive<u32>) -> Option<Lengths> {
    if let Some(items) = node.items() {
        if items.len() > MOST {
            return node.refuse(format!("{} lengths", items.len()), format!("write at most {MOST}"));
        }
        let lengths: Vec<_> = items.iter().map(|item| item.whole(range.clone())).collect();
        let lengths = lengths.into_iter().collect::<Option<Vec<_>>>()?;
        return Lengths::list(lengths)
            .or_else(|| node.refuse("an empty list", "write at least one length, such as [100, 1000]"));
    }
    if !node.is_table() {
        let or = ", a list such as [100, 1000], or a range such as { from = 100, to = 4000 }";
        return node.whole_or(range, or).map(Lengths::one);
    }
    let table = node.table(&keys::RANGE)?;
    let (from, to) = (table.need("from", "write from = 100"), table.need("to", "write to = 4000"));
    let from = from.and_then(|node| node.whole(range.clone()));
    let to = to.and_then(|node| Some((node.whole(range)?, node)));
    let (from, (to, end)) = (from?, to?);
    Lengths::range(from, to)
        .or_else(|| end.refuse(format!("less than from, which is {from}"), "write a larger number"))
}
