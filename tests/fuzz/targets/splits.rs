//! One body in several cuts; which ones follows from the first byte of the input.

/// The pieces of a body: cut after lengths that repeat, so that a small input names a whole cut.
pub fn pieces(seed: u8, body: &[u8]) -> Vec<&[u8]> {
    let lengths = [usize::from(seed & 7) + 1, usize::from(seed >> 3 & 7) + 1, usize::from(seed >> 6) * 50 + 1];
    let mut rest = body;
    let mut pieces = Vec::new();
    for length in lengths.into_iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (piece, after) = rest.split_at(length.min(rest.len()));
        pieces.push(piece);
        rest = after;
    }
    pieces
}
