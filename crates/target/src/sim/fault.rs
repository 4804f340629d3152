//! Why a machine stopped: [`Fault`].

use thiserror::Error;

/// An instruction that cannot be executed. Everything before it has been.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("instruction {instruction}: {kind}")]
pub struct Fault<K: std::error::Error> {
    /// Index in the program, from 0.
    pub instruction: usize,
    /// What is wrong with it.
    pub kind: K,
}
