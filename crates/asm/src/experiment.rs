//! [`Experiment`]: what a program says of a run of it: of the memories around it in lines that begin with `.data`, `.input`,
//! `.output` and `.expect`, and by `.wait` of where the host waits.
//!
//! One file then is a whole experiment. What the memories are is not known here: names and addresses are as written.

mod line;
mod separate;

use crate::place::Place;

pub(crate) use line::{Names, no_more, statement};
pub use separate::{Separated, separate};

/// Directives of experiments, by the name that errors have for them.
pub(crate) const DIRECTIVES: [&str; 5] = ["data", "input", "output", "expect", WAIT];
/// The one that is not of memories.
pub(crate) const WAIT: &str = "wait";

/// What is around a run, in the order of the text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Experiment {
    /// A line each.
    pub statements: Vec<Statement>,
    /// Where the host waits until all instructions above are complete, in rising order. Where instructions are complete
    /// before the next begins, this changes nothing.
    pub waits: Vec<Wait>,
}

impl Experiment {
    /// What is filled before the run, in the order of the text.
    pub fn filled(&self) -> impl Iterator<Item = &MemoryRange> {
        self.statements.iter().filter_map(|statement| match &statement.kind {
            StatementKind::Data { range, .. } | StatementKind::Input { range, .. } => Some(range),
            StatementKind::Output { .. } | StatementKind::Expect { .. } => None,
        })
    }

    /// What is looked at after it, in the order of the text.
    pub fn looked_at(&self) -> impl Iterator<Item = &MemoryRange> {
        self.statements.iter().filter_map(|statement| match &statement.kind {
            StatementKind::Output { range, .. } | StatementKind::Expect { range, .. } => Some(range),
            StatementKind::Data { .. } | StatementKind::Input { .. } => None,
        })
    }

    /// Whether the host waits before an instruction.
    pub fn is_wait(&self, instruction: usize) -> bool {
        self.waits.binary_search_by_key(&instruction, |wait| wait.position).is_ok()
    }
}

/// `.wait`: the host goes on when all instructions above are complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// Where it stands.
    pub place: Place,
    /// Instructions above it.
    pub position: usize,
}

/// A line of an experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// Where it stands.
    pub place: Place,
    /// What it says.
    pub kind: StatementKind,
}

/// What a line of an experiment says.
#[derive(Clone, Debug, PartialEq)]
pub enum StatementKind {
    /// `.data MEMORY[A:B], VALUES`: what memory holds before the run.
    Data {
        /// Where.
        range: MemoryRange,
        /// What.
        values: Values,
    },
    /// `.input NAME, MEMORY[A:B], VALUES`: what whoever runs the program may give, and what it is otherwise.
    Input {
        /// What it is called.
        name: String,
        /// Where.
        range: MemoryRange,
        /// What it is when nobody gives it; none when somebody must.
        values: Option<Values>,
    },
    /// `.output NAME, MEMORY[A:B]`: what is shown after the run.
    Output {
        /// What it is called.
        name: String,
        /// Where.
        range: MemoryRange,
    },
    /// `.expect MEMORY[A:B], VALUES, tolerance=T`: what memory must hold after the run.
    Expect {
        /// Where.
        range: MemoryRange,
        /// What.
        values: Values,
        /// By how much real values may differ; exactly the memory's number for a value when none.
        tolerance: Option<f64>,
    },
}

/// Addresses of a memory, as `acc[4]` or `acc[4:8]`; all of it without brackets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryRange {
    /// Name of the memory.
    pub memory: String,
    /// First address; the first of all when not given.
    pub start: u64,
    /// Address behind the last; as many as there are values, else all up to the end, when not given. `acc[4]` gives none.
    pub end: Option<u64>,
    /// Whether `start` is given and `end` is not.
    pub is_one: bool,
}

/// Values of a memory.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// The memory's own integers.
    Raw(Vec<i128>),
    /// Real values, which the memory's format rounds.
    Real(Vec<f64>),
    /// Those of a file, by its path relative to where the command stands: integers are the memory's own, floats real.
    File(String),
}
