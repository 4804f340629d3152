//! [`ConfigError`]: what is wrong with an architecture, and where.

use thiserror::Error;

use crate::config::fabric::Place;

/// What is wrong with an architecture.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ConfigError {
    /// Not JSON, or not of the documented shape.
    #[error("{0}")]
    Json(String),
    /// The short form is not of its shape.
    #[error("`{text}` is no architecture: {reason}")]
    Short {
        /// As written.
        text: String,
        /// What is wrong.
        reason: String,
    },
    /// The file is for something else.
    #[error("platform is `{0}`, not `drra`")]
    Platform(String),
    /// A name nobody defines.
    #[error("{place}: there is no {what} `{name}`{}", hint(.known))]
    Unknown {
        /// Who names it.
        place: String,
        /// What it should be.
        what: &'static str,
        /// The name.
        name: String,
        /// What there is.
        known: Vec<String>,
    },
    /// A name defined twice.
    #[error("{what} `{name}` is defined twice")]
    Twice {
        /// What it is.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// A size that cannot be.
    #[error("{place}: {name} is {value}: legal are {min} to {max}")]
    Range {
        /// Where.
        place: String,
        /// Parameter.
        name: String,
        /// Its value.
        value: i64,
        /// Smallest.
        min: i64,
        /// Largest.
        max: i64,
    },
    /// A revision whose words are others.
    #[error("options: revision `{revision}` has another encoding: leave one of them out")]
    Encoding {
        /// The revision.
        revision: &'static str,
    },
    /// Choices that the revision does not have.
    #[error(
        "options: `seed` says what the seed's text leaves open, and the revision is `{revision}`: make it `seed`, or leave `seed` out"
    )]
    Seed {
        /// The revision.
        revision: &'static str,
    },
    /// A parameter is given in two ways.
    #[error("{place}: parameter {name} is {first} by {by_first} and {second} by {by_second}")]
    Conflict {
        /// Where.
        place: String,
        /// Parameter.
        name: String,
        /// A value.
        first: i64,
        /// Who says so.
        by_first: String,
        /// Another.
        second: i64,
        /// Who says so.
        by_second: String,
    },
    /// A cell beyond the fabric.
    #[error("cell `{name}` is placed at {place}, but the fabric has {rows} rows and {cols} columns")]
    Outside {
        /// Kind of cell.
        name: String,
        /// Where.
        place: Place,
        /// Rows.
        rows: usize,
        /// Columns.
        cols: usize,
    },
    /// Two cells at one place.
    #[error("cells `{first}` and `{second}` are both placed at {place}")]
    Taken {
        /// One.
        first: String,
        /// The other.
        second: String,
        /// Where.
        place: Place,
    },
    /// A place without a cell.
    #[error("no cell is placed at {place}; every position of the fabric needs one")]
    Empty {
        /// Where.
        place: Place,
    },
    /// Resources take more slots than there are.
    #[error(
        "cell `{cell}`: resource `{resource}` would take slots {first} to {last}; a cell has 16, 0 to 15"
    )]
    Slots {
        /// Kind of cell.
        cell: String,
        /// The resource.
        resource: String,
        /// Its first slot.
        first: usize,
        /// Its last slot.
        last: usize,
    },
    /// Two resources in one slot.
    #[error(
        "cell `{cell}`: resource `{resource}` is in slot {slot}, which is taken; slots from {free} on are free"
    )]
    Overlap {
        /// The cell.
        cell: String,
        /// The resource.
        resource: String,
        /// Its slot.
        slot: usize,
        /// The first free slot.
        free: usize,
    },
    /// A size that contradicts the component.
    #[error("resource `{resource}` has size {size}; a {kind} takes {slots} slots")]
    Size {
        /// The resource.
        resource: String,
        /// As written.
        size: u64,
        /// Its kind.
        kind: &'static str,
        /// What it takes.
        slots: u8,
    },
    /// The switch box must be in slot 0.
    #[error("cell `{cell}`: slot {slot} holds a swb; a swb is in slot 0, where its network is wired")]
    Switch {
        /// Kind of cell.
        cell: String,
        /// Where it is.
        slot: usize,
    },
    /// A memory at a buffer that the cell has no port to.
    #[error("cell `{cell}` of kind {kind} has no port to the {buffer} buffer, which `{resource}` needs")]
    Port {
        /// Name of the cell.
        cell: String,
        /// Its kind.
        kind: String,
        /// Input or output.
        buffer: &'static str,
        /// The resource.
        resource: &'static str,
    },
    /// Memories beyond what a simulation may take.
    #[error("the fabric's memories have {rows} rows of 16 words together: at most {most} are simulated")]
    Memory {
        /// Rows.
        rows: usize,
        /// Limit.
        most: usize,
    },
    /// A buffer has one port in each column.
    #[error("cells {first} and {second} both use the {buffer} buffer of column {}", .first.col)]
    Shared {
        /// One.
        first: Place,
        /// The other.
        second: Place,
        /// Input or output.
        buffer: &'static str,
    },
}

fn hint(known: &[String]) -> String {
    if known.is_empty() { String::new() } else { format!("; there are {}", known.join(", ")) }
}
