//! [`HandError`]: why a memory cannot be filled or read.

use npukit_target::TargetError;

/// Endings of the files that memories are written to.
pub(crate) const EXTENSIONS: &str = ".npy, .npz, .csv or .hex";

/// Why a memory cannot be filled or read as asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HandError {
    /// No memory has this name.
    #[error("there is no memory `{name}`: {help}")]
    Memory {
        /// The name given.
        name: String,
        /// The nearest, or all.
        help: String,
    },
    /// Addresses beyond the end.
    #[error("`{memory}` has addresses 0 to {}, not {start} to {}", .depth.saturating_sub(1), .end.saturating_sub(1))]
    Addresses {
        /// Name of the memory.
        memory: String,
        /// Addresses it has.
        depth: u64,
        /// First address asked for.
        start: u64,
        /// Address behind the last.
        end: u64,
    },
    /// A number that the memory cannot hold.
    #[error("{number} is not a number of `{memory}`: {} to {}", .range.0, .range.1)]
    Number {
        /// Name of the memory.
        memory: String,
        /// The number.
        number: String,
        /// The smallest and the largest.
        range: (i128, i128),
    },
    /// Real values for integers.
    #[error("`{memory}` holds integers: real values have no meaning there")]
    NotReal {
        /// Name of the memory.
        memory: String,
    },
    /// Another number of values than the range has.
    #[error("{given} values do not fill `{memory}` from {start} to {}: {expected} do, or one for all", .end - 1)]
    Count {
        /// Name of the memory.
        memory: String,
        /// Values given.
        given: usize,
        /// First address.
        start: u64,
        /// Address behind the last.
        end: u64,
        /// Values that the range takes.
        expected: usize,
    },
    /// More than a run reads or writes at once.
    #[error("{count} numbers of `{memory}` are more than {limit}: name fewer addresses, as `{memory}[0:16]`")]
    TooMany {
        /// Name of the memory.
        memory: String,
        /// Numbers asked for.
        count: u128,
        /// The most there may be.
        limit: usize,
    },
    /// What the target says.
    #[error(transparent)]
    Target(#[from] TargetError),
}
