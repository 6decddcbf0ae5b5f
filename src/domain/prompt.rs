//! What one probe says to the model.

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    pub text: String,
    pub max_tokens: u32,
    pub exact_output: bool,
    /// The prompt can be made again from this.
    pub seed: u64,
}
