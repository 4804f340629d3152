//! [`Fault`]: why a machine stopped.

use thiserror::Error;

/// An instruction that cannot be executed. All earlier instructions have completed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("instruction {instruction}: {kind}")]
pub struct Fault<K: std::error::Error> {
    /// Index in the program, starting at 0.
    pub instruction: usize,
    /// Cause of the fault.
    pub kind: K,
}
