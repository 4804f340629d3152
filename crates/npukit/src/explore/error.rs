//! Why there is no space of machines ([`SpaceError`]), or an exploration cannot go on ([`JournalError`]).

use super::condition::ConditionError;

/// Why there is no space, or nothing in it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SpaceError {
    /// The text is not TOML.
    #[error("{0}")]
    Toml(String),
    /// A key that means nothing, or a value that it cannot have.
    #[error("`{key}`: {reason}")]
    Key {
        /// The key.
        key: String,
        /// What is wrong, and what is legal.
        reason: String,
    },
    /// A condition that is none.
    #[error(transparent)]
    Condition(#[from] ConditionError),
    /// A condition of which no point is left.
    #[error("no machine is left of {points}: after `{condition}` there is none")]
    Empty {
        /// The condition.
        condition: String,
        /// Points of the space.
        points: usize,
    },
    /// More points than are taken.
    #[error(
        "the space has {points} points, and at most {most} are taken: say how many to sample, or choose fewer"
    )]
    TooMany {
        /// As a power of ten where it is more than a number holds.
        points: String,
        /// The most.
        most: usize,
    },
}

/// Why an exploration cannot go on from a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// It is another file.
    #[error("it is no file of an exploration: its first line is not as they begin")]
    Foreign,
    /// Something that the points follow from is not as it was.
    #[error("it is of another exploration: {what} is not as it was, {was} then and {is} now")]
    Other {
        /// What it is.
        what: String,
        /// Its hash in the file.
        was: String,
        /// Its hash now.
        is: String,
    },
    /// A line is damaged, and others follow it.
    #[error("line {line} is damaged, and others follow it")]
    Damaged {
        /// The line, from 1.
        line: usize,
    },
}
