//! `file`: the user's own questions, one after the other.

use super::Written;
use crate::domain::{Expect, Question};

/// The question whose turn it is.
pub(super) fn question(questions: &[Question], step: u32) -> Written {
    match questions.get(step as usize % questions.len().max(1)) {
        Some(Question { turns, expect }) => {
            Written { turns: turns.clone(), expect: expect.clone(), depth: None }
        }
        None => Written::new(String::new(), Expect::Anything),
    }
}
