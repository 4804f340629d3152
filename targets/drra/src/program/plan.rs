//! [`Plan`]: steps of a sample, as kernel work and data moves by the driver.

use serde::{Deserialize, Serialize};

use crate::program::gather::{Axes, Gather, Source};
use crate::program::kernels::{Nest, Work};

/// Steps of a sample.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Plan {
    /// Tensors. The graph's values come first, with the same indices.
    pub values: Vec<Value>,
    /// Indices of the input values.
    pub inputs: Vec<usize>,
    /// Indices of the output values.
    pub outputs: Vec<usize>,
    /// Steps in order of execution.
    pub steps: Vec<Step>,
    /// Number of constant elements that do not fit a word: they saturate, and NaN becomes 0. Not
    /// stored in files.
    #[serde(skip)]
    pub saturated_constants: Option<u64>,
}

impl Plan {
    /// Number of values that belong to the graph. Other values follow and are named by their index.
    pub fn of_graph(&self) -> usize {
        let is_own = |(number, value): &(usize, &Value)| value.name.ends_with(&format!(".{number}"));
        self.values.len() - self.values.iter().enumerate().rev().take_while(is_own).count()
    }
}

/// Tensor of integers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Value {
    /// Name of the value.
    pub name: String,
    /// Shape of the value.
    pub shape: Vec<usize>,
    /// Fraction length: an integer represents `integer * 2^-fraction`.
    pub fraction: i32,
}

impl Value {
    /// Number of elements; `usize::MAX` on overflow.
    pub fn elements(&self) -> usize {
        self.shape.iter().fold(1, |all, &size| all.saturating_mul(size))
    }
}

/// Step that computes one value.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Step {
    /// Name of the node.
    pub name: String,
    /// Operator of the node.
    pub op: String,
    /// Index of the computed value.
    pub result: usize,
    /// Parts of the step.
    pub tasks: Vec<Task>,
    /// Whether results at an end of the range are intended.
    pub saturates: bool,
}

impl Step {
    /// Whether the driver executes the whole step.
    pub fn is_host(&self) -> bool {
        self.tasks.iter().all(|task| matches!(task, Task::Move { .. } | Task::Fill(_)))
    }
}

/// Part of a step.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Task {
    /// One result per vector of one operand, or per pair of vectors of two operands.
    Vectors {
        /// Work of the dpu.
        work: Work,
        /// Vectors of the operands, equally many for two operands.
        operands: Vec<Gather>,
        /// Positions of the results, by vector.
        to: Place,
    },
    /// One result per pair of a stationary and a streamed vector.
    Dots {
        /// Work of the dpu.
        work: Work,
        /// Stationary vectors of at most 64 words.
        stationary: Gather,
        /// Streamed vectors of the same length.
        stream: Gather,
        /// Positions of the results: outer axes by stationary vector, inner axes by streamed
        /// vector.
        to: Place,
    },
    /// All results in one call.
    Nest {
        /// Kernel of the call.
        nest: Nest,
        /// Both operands, with all their vectors one after the other.
        operands: [Gather; 2],
        /// Positions of the results.
        to: Place,
    },
    /// The driver copies elements.
    Move {
        /// Elements to copy, as a vector.
        from: Gather,
        /// Destination of the elements.
        to: Place,
        /// Right shift in bits, with the rounding of a dpu; a left shift if negative.
        shift: i32,
    },
    /// The driver fills the value with a word.
    Fill(i16),
}

/// Positions in a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// Index of the first element.
    pub offset: usize,
    /// Axes from one element to the next.
    pub axes: Axes,
}

impl Place {
    /// Number of results; `usize::MAX` on overflow.
    pub fn count(&self) -> usize {
        self.axes.iter().fold(1, |all, &(size, _)| all.saturating_mul(size))
    }

    /// Returns `count` consecutive positions.
    pub fn all(count: usize) -> Self {
        Self { offset: 0, axes: vec![(count, 1)] }
    }
}

impl Task {
    /// Returns a copy of `count` elements in order.
    pub fn copy(from: Source, count: usize) -> Self {
        Self::Move { from: Gather::rows(from, 1, count), to: Place::all(count), shift: 0 }
    }

    /// Operands that calls load.
    pub fn operands(&self) -> Vec<&Gather> {
        match self {
            Self::Vectors { operands, .. } => operands.iter().collect(),
            Self::Dots { stationary, stream, .. } => vec![stationary, stream],
            Self::Nest { operands, .. } => operands.iter().collect(),
            Self::Move { from, .. } => vec![from],
            Self::Fill(_) => Vec::new(),
        }
    }

    /// Operands that calls load, mutably.
    pub fn operands_mut(&mut self) -> Vec<&mut Gather> {
        match self {
            Self::Vectors { operands, .. } => operands.iter_mut().collect(),
            Self::Dots { stationary, stream, .. } => vec![stationary, stream],
            Self::Nest { operands, .. } => operands.iter_mut().collect(),
            Self::Move { from, .. } => vec![from],
            Self::Fill(_) => Vec::new(),
        }
    }

    /// Positions of the results.
    pub const fn to(&self) -> Option<&Place> {
        match self {
            Self::Vectors { to, .. }
            | Self::Dots { to, .. }
            | Self::Nest { to, .. }
            | Self::Move { to, .. } => Some(to),
            Self::Fill(_) => None,
        }
    }

    /// Number of operations of the dpus.
    pub fn work(&self) -> u64 {
        let words = |gather: &Gather| (gather.count() * gather.length()) as u64;
        match self {
            Self::Vectors { operands, .. } => operands.first().map_or(0, words),
            Self::Dots { stationary, stream, .. } => stationary.count() as u64 * words(stream),
            Self::Nest { nest, .. } => nest.results.saturating_mul(nest.period) as u64,
            Self::Move { .. } | Self::Fill(_) => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::op::DpuMode;

    #[test]
    fn the_work_of_a_task_is_its_products() {
        let work = Work::plain(DpuMode::Mac);
        let rows = |count, length| Gather::rows(Source::Value(0), count, length);
        let to = || Place::all(1);
        let nest = Nest { work, words: [12, 16], levels: [vec![], vec![]], results: 12, period: 4 };
        let (stationary, stream) = (rows(4, 10), rows(6, 10));
        for (task, expected) in [
            (Task::Vectors { work, operands: vec![rows(5, 3), rows(5, 3)], to: to() }, 15),
            (Task::Dots { work, stationary, stream, to: to() }, 240),
            (Task::Nest { nest, operands: [rows(3, 4), rows(4, 4)], to: to() }, 48),
            (Task::Move { from: rows(5, 3), to: to(), shift: 0 }, 0),
            (Task::Fill(3), 0),
        ] {
            assert_eq!(task.work(), expected, "{task:?}");
        }
    }
}
