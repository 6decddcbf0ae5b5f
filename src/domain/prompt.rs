//! What one probe says to the model.

use super::Cache;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    pub system: Option<String>,
    pub user: String,
    pub max_tokens: u32,
    pub exact_output: bool,
    pub cache: Cache,
    /// The prompt can be made again from this.
    pub seed: u64,
}
