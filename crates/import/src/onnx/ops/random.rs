//! Operators that draw random numbers. They are refused, as their results are not reproducible.

use npukit_graph::ValueId;

use super::super::context::Context;
use super::super::error::Reason;

/// Returns an error: results would not be reproducible.
pub(super) fn translate(_context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    Err(Reason::Random)
}
