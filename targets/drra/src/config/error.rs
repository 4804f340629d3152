//! [`ConfigError`]: the defect of an architecture, and its location.

use thiserror::Error;

use crate::config::fabric::Place;

/// Error in an architecture.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ConfigError {
    /// Not JSON, or JSON with an unexpected structure.
    #[error("{0}")]
    Json(String),
    /// The short form is malformed.
    #[error("`{text}` is not an architecture: {reason}")]
    Short {
        /// Text as written.
        text: String,
        /// Reason.
        reason: String,
    },
    /// The file is for another platform.
    #[error("platform is `{0}`, not `drra`")]
    Platform(String),
    /// An undefined name.
    #[error("{place}: unknown {what} `{name}`{}", hint(.known))]
    Unknown {
        /// Position of the name.
        place: String,
        /// Kind of the name.
        what: &'static str,
        /// The undefined name.
        name: String,
        /// Names that are defined.
        known: Vec<String>,
    },
    /// A name is defined twice.
    #[error("{what} `{name}` is defined twice")]
    Twice {
        /// Kind of the name.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// A size is out of range.
    #[error("{place}: {name} is {value}; legal are {min} to {max}")]
    Range {
        /// Position of the parameter.
        place: String,
        /// Parameter name.
        name: String,
        /// Value found.
        value: i64,
        /// Smallest legal value.
        min: i64,
        /// Largest legal value.
        max: i64,
    },
    /// The revision has another encoding.
    #[error("options: revision `{revision}` has another encoding; remove `revision` or `encoding`")]
    Encoding {
        /// Name of the revision.
        revision: &'static str,
    },
    /// `seed` choices are given for a revision that has none.
    #[error(
        "options: `seed` applies only to revision `seed`, and the revision is `{revision}`; change the revision, or remove `seed`"
    )]
    Seed {
        /// Name of the revision.
        revision: &'static str,
    },
    /// Two sources give a parameter different values.
    #[error(
        "{place}: parameter {name} is {first} according to {by_first} and {second} according to {by_second}"
    )]
    Conflict {
        /// Position of the parameter.
        place: String,
        /// Parameter name.
        name: String,
        /// First value.
        first: i64,
        /// Source of the first value.
        by_first: String,
        /// Second value.
        second: i64,
        /// Source of the second value.
        by_second: String,
    },
    /// A cell is outside the fabric.
    #[error("cell `{name}` is placed at {place}, but the fabric has {rows} rows and {cols} columns")]
    Outside {
        /// Name of the cell.
        name: String,
        /// Position of the cell.
        place: Place,
        /// Rows of the fabric.
        rows: usize,
        /// Columns of the fabric.
        cols: usize,
    },
    /// Two cells are at one position.
    #[error("cells `{first}` and `{second}` are both placed at {place}")]
    Taken {
        /// Name of the first cell.
        first: String,
        /// Name of the second cell.
        second: String,
        /// Shared position.
        place: Place,
    },
    /// A position has no cell.
    #[error("no cell is placed at {place}; every position of the fabric needs one")]
    Empty {
        /// The empty position.
        place: Place,
    },
    /// Resources need more slots than a cell has.
    #[error(
        "cell `{cell}`: resource `{resource}` would take slots {first} to {last}; a cell has 16, 0 to 15"
    )]
    Slots {
        /// Name of the cell.
        cell: String,
        /// Name of the resource.
        resource: String,
        /// First slot of the resource.
        first: usize,
        /// Last slot of the resource.
        last: usize,
    },
    /// Two resources use one slot.
    #[error(
        "cell `{cell}`: resource `{resource}` is in slot {slot}, which is taken; the first free slot is {free}"
    )]
    Overlap {
        /// Name of the cell.
        cell: String,
        /// Name of the resource.
        resource: String,
        /// Slot of the resource.
        slot: usize,
        /// First free slot.
        free: usize,
    },
    /// A size in the file differs from the component's.
    #[error("resource `{resource}` has size {size}; a {kind} takes {slots} slots")]
    Size {
        /// Name of the resource.
        resource: String,
        /// Size as written.
        size: u64,
        /// Kind of the resource.
        kind: &'static str,
        /// Number of slots of the component.
        slots: u8,
    },
    /// A switch box is not in slot 0.
    #[error("cell `{cell}`: slot {slot} holds a swb; a swb is in slot 0, where its network is wired")]
    Switch {
        /// Name of the cell.
        cell: String,
        /// Slot of the switch box.
        slot: usize,
    },
    /// A memory needs a buffer port that its cell lacks.
    #[error("cell `{cell}` of kind {kind} has no port to the {buffer} buffer, which `{resource}` needs")]
    Port {
        /// Name of the cell.
        cell: String,
        /// Kind of the cell.
        kind: String,
        /// `input` or `output`.
        buffer: &'static str,
        /// Name of the resource.
        resource: &'static str,
    },
    /// The memories exceed the limit of the simulator.
    #[error("the fabric's memories have {rows} rows of 16 words in total; at most {most} can be simulated")]
    Memory {
        /// Rows of all memories.
        rows: usize,
        /// Largest number of rows.
        most: usize,
    },
    /// Two cells use the single buffer port of a column.
    #[error("cells {first} and {second} both use the {buffer} buffer of column {}", .first.col)]
    Shared {
        /// Position of the first cell.
        first: Place,
        /// Position of the second cell.
        second: Place,
        /// `input` or `output`.
        buffer: &'static str,
    },
}

fn hint(known: &[String]) -> String {
    if known.is_empty() { String::new() } else { format!("; known: {}", known.join(", ")) }
}
