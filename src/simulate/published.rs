//! The published figures.
/// x
pub fn nearness_report() -> String {
    String::new()
}
