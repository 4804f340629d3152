//! [`MemoryFileError`]: reasons why a memory cannot be filled or read.

use npukit_target::TargetError;

/// Extensions of files that memories can be written to.
pub(crate) const EXTENSIONS: &str = ".npy, .npz, .csv or .hex";

/// Reason why a memory cannot be filled or read as requested.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MemoryFileError {
    /// No memory has this name.
    #[error("unknown memory `{name}`: {help}")]
    Memory {
        /// Name given.
        name: String,
        /// Closest name, or all names.
        help: String,
    },
    /// Addresses exceed the size of the memory.
    #[error("`{memory}` has addresses 0 to {}, not {start} to {}", .depth.saturating_sub(1), .end.saturating_sub(1))]
    Addresses {
        /// Name of the memory.
        memory: String,
        /// Number of addresses of the memory.
        depth: u64,
        /// First address requested.
        start: u64,
        /// End address requested, exclusive.
        end: u64,
    },
    /// A number does not fit the memory's format.
    #[error("{number} does not fit `{memory}`: legal are {} to {}", .range.0, .range.1)]
    Number {
        /// Name of the memory.
        memory: String,
        /// Number that does not fit.
        number: String,
        /// Smallest and largest legal number.
        range: (i128, i128),
    },
    /// Real numbers were given for a memory of integers.
    #[error("`{memory}` holds integers, but real numbers were given")]
    NotReal {
        /// Name of the memory.
        memory: String,
    },
    /// The number of values does not match the range.
    #[error("{given} values do not fill `{memory}` from {start} to {}: give {expected} values, or one for all", .end - 1)]
    Count {
        /// Name of the memory.
        memory: String,
        /// Number of values given.
        given: usize,
        /// First address of the range.
        start: u64,
        /// End address of the range, exclusive.
        end: u64,
        /// Number of values that the range holds.
        expected: usize,
    },
    /// The range exceeds the limit for reading or writing at once.
    #[error(
        "{count} numbers of `{memory}` exceed the limit of {limit}: give fewer addresses, such as `{memory}[0:16]`"
    )]
    TooMany {
        /// Name of the memory.
        memory: String,
        /// Number of numbers requested.
        count: u128,
        /// Maximum number of numbers.
        limit: usize,
    },
    /// The target refused the access.
    #[error(transparent)]
    Target(#[from] TargetError),
}
