//! [`Experiment`]: declarations in a program about its run: memory contents before and after it in
//! lines with `.data`, `.input`, `.output` and `.expect`, and points where the host waits in lines
//! with `.wait`.
//!
//! So a single file can describe a whole experiment. Memories are not checked here: names and
//! addresses are kept as written.

mod line;
mod separate;

use crate::place::SourceLocation;

pub(crate) use line::{Names, Rest, no_more, statement};
pub use separate::{Separated, separate};

/// Directives of experiments, by their name in errors.
pub(crate) const DIRECTIVES: [&str; 5] = ["data", "input", "output", "expect", WAIT];
/// Directive of experiments that does not concern memory.
pub(crate) const WAIT: &str = "wait";

/// Declarations about a run, in the order of the text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Experiment {
    /// Declarations about memory, one per line.
    pub statements: Vec<Statement>,
    /// Points at which the host waits until all earlier instructions are complete, in ascending
    /// order. They change nothing if each instruction is complete before the next begins.
    pub waits: Vec<Wait>,
}

impl Experiment {
    /// Returns the ranges that are filled before the run, in the order of the text.
    pub fn filled(&self) -> impl Iterator<Item = &MemoryRange> {
        self.statements.iter().filter_map(|statement| match &statement.kind {
            StatementKind::Data { range, .. } | StatementKind::Input { range, .. } => Some(range),
            StatementKind::Output { .. } | StatementKind::Expect { .. } => None,
        })
    }

    /// Returns the ranges that are shown or checked after the run, in the order of the text.
    pub fn looked_at(&self) -> impl Iterator<Item = &MemoryRange> {
        self.statements.iter().filter_map(|statement| match &statement.kind {
            StatementKind::Output { range, .. } | StatementKind::Expect { range, .. } => Some(range),
            StatementKind::Data { .. } | StatementKind::Input { .. } => None,
        })
    }

    /// Returns the integers that fill memories without the mark `raw`, each list with the place of
    /// its declaration and its range. Its author may have meant real values.
    pub fn unmarked(&self) -> impl Iterator<Item = (SourceLocation, &MemoryRange, &[i128])> {
        self.statements.iter().filter_map(|Statement { place, kind }| match kind {
            StatementKind::Data { range, values: Values::Raw { numbers, is_marked: false } }
            | StatementKind::Input {
                range, values: Some(Values::Raw { numbers, is_marked: false }), ..
            } => Some((*place, range, &numbers[..])),
            _ => None,
        })
    }

    /// Whether the host waits before an instruction.
    pub fn is_wait(&self, instruction: usize) -> bool {
        self.waits.binary_search_by_key(&instruction, |wait| wait.position).is_ok()
    }
}

/// Declaration `.wait`: the host continues when all earlier instructions are complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// Place of the declaration.
    pub place: SourceLocation,
    /// Number of instructions before it.
    pub position: usize,
}

/// Declaration about memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// Place of the declaration.
    pub place: SourceLocation,
    /// Contents of the declaration.
    pub kind: StatementKind,
}

/// Kind of a declaration about memory.
#[derive(Clone, Debug, PartialEq)]
pub enum StatementKind {
    /// `.data MEMORY[A:B], VALUES`: memory contents before the run.
    Data {
        /// Range of memory.
        range: MemoryRange,
        /// Contents of the range.
        values: Values,
    },
    /// `.input NAME, MEMORY[A:B], VALUES`: an input that the user may give, with its default
    /// values.
    Input {
        /// Name of the input.
        name: String,
        /// Range of memory.
        range: MemoryRange,
        /// Default values; `None` if the input must be given.
        values: Option<Values>,
    },
    /// `.output NAME, MEMORY[A:B]`: a range that is shown after the run.
    Output {
        /// Name of the output.
        name: String,
        /// Range of memory.
        range: MemoryRange,
    },
    /// `.expect MEMORY[A:B], VALUES, tolerance=T`: required memory contents after the run.
    Expect {
        /// Range of memory.
        range: MemoryRange,
        /// Required values.
        values: Values,
        /// Maximum difference of real values; `None` requires exactly the memory's number for each
        /// value.
        tolerance: Option<f64>,
    },
}

/// Range of memory addresses, such as `acc[4]` or `acc[4:8]`; without brackets, the whole memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryRange {
    /// Name of the memory.
    pub memory: String,
    /// First address; 0 if not given.
    pub start: u64,
    /// Address after the last one. `None` if not given, as in `acc[4]`: the range then ends after
    /// the given values, or at the end of the memory.
    pub end: Option<u64>,
    /// Whether `start` is given and `end` is not.
    pub is_one: bool,
}

/// Values of a memory.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Integers in the memory's own format.
    Raw {
        /// The integers.
        numbers: Vec<i128>,
        /// Whether one is written as `raw(1)`, so that integers are meant.
        is_marked: bool,
    },
    /// Real values, which are rounded to the memory's format.
    Real(Vec<f64>),
    /// Values in a file, by its path relative to the working directory: integers in the memory's
    /// own format, or real values.
    File(String),
}
