//! Errors of an exploration: an invalid space ([`SpaceError`]), or a file that cannot be resumed
//! ([`JournalError`]).

use super::condition::ConditionError;

/// Error in a space, or a space without points.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SpaceError {
    /// The text is not valid TOML.
    #[error("{0}")]
    Toml(String),
    /// A key is unknown, or its value is invalid.
    #[error("`{key}`: {reason}")]
    Key {
        /// Name of the key.
        key: String,
        /// Description of the error, with the legal values.
        reason: String,
    },
    /// A condition has a syntax error.
    #[error(transparent)]
    Condition(#[from] ConditionError),
    /// No point meets a condition.
    #[error("no instance is left of {points}: `{condition}` excludes the last ones")]
    Empty {
        /// Condition that excluded the last points.
        condition: String,
        /// Number of points in the space.
        points: usize,
    },
    /// The space has too many points.
    #[error(
        "the space has {points} points, but at most {most} can be explored: sample some of them (--sample), or list fewer values"
    )]
    TooMany {
        /// Number of points; a power of ten if it does not fit an integer.
        points: String,
        /// Maximum number of points.
        most: usize,
    },
}

/// Reason why an exploration cannot be resumed from a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// The file is not a file of an exploration.
    #[error("it is not a file of an exploration: its first line has another form")]
    Foreign,
    /// An input of the exploration has changed.
    #[error("it belongs to another exploration: {what} was {was} and is now {is}")]
    Other {
        /// Name of the input that changed.
        what: String,
        /// Hash of the input in the file.
        was: String,
        /// Hash of the input now.
        is: String,
    },
    /// A line before the last one is damaged.
    #[error("line {line} is damaged, and it is not the last one")]
    Damaged {
        /// Line number, from 1.
        line: usize,
    },
}
