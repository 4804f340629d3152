//! [`Plan`]: what is done for a sample, step by step: work for kernels, and moves of data by the driver.

use serde::{Deserialize, Serialize};

use crate::program::gather::{Axes, Gather, Source};
use crate::program::kernels::{Nest, Work};

/// What is done for a sample.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Plan {
    /// Tensors; those of the graph come first, numbered as there.
    pub values: Vec<Value>,
    /// Numbers of the values that the caller gives.
    pub inputs: Vec<usize>,
    /// Numbers of the values that the caller wants.
    pub outputs: Vec<usize>,
    /// In order.
    pub steps: Vec<Step>,
    /// Numbers of constants that no word holds: they saturate, and NaN is 0. Files do not say how many.
    #[serde(skip)]
    pub saturated_constants: Option<u64>,
}

impl Plan {
    /// How many values are those of the graph. The others come after them, named after their numbers.
    pub fn of_graph(&self) -> usize {
        let is_own = |(number, value): &(usize, &Value)| value.name.ends_with(&format!(".{number}"));
        self.values.len() - self.values.iter().enumerate().rev().take_while(is_own).count()
    }
}

/// A tensor of integers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Value {
    /// Its name.
    pub name: String,
    /// Its shape.
    pub shape: Vec<usize>,
    /// An integer stands for `integer * 2^-fraction`.
    pub fraction: i32,
}

impl Value {
    /// How many elements it has, or `usize::MAX` if they cannot be counted.
    pub fn elements(&self) -> usize {
        self.shape.iter().fold(1, |all, &size| all.saturating_mul(size))
    }
}

/// What becomes one value.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Step {
    /// Name of the node.
    pub name: String,
    /// Its operator.
    pub op: String,
    /// The value.
    pub result: usize,
    /// Its parts.
    pub tasks: Vec<Task>,
    /// Whether results at the ends of the range are what is wanted.
    pub saturates: bool,
}

impl Step {
    /// Whether the driver does all of it.
    pub fn is_host(&self) -> bool {
        self.tasks.iter().all(|task| matches!(task, Task::Move { .. } | Task::Fill(_)))
    }
}

/// Work on vectors.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Task {
    /// Each result is one vector's, of one operand or of two side by side.
    Vectors {
        /// What the dpu does.
        work: Work,
        /// Vectors; two operands have equally many.
        operands: Vec<Gather>,
        /// Where results go: from vector to vector.
        to: Place,
    },
    /// Each result is that of a vector that stays and one that streams.
    Dots {
        /// What the dpu does.
        work: Work,
        /// At most 64 words each.
        stationary: Gather,
        /// As many words each.
        stream: Gather,
        /// Where results go: first from one that stays to the next, then from one that streams to the next.
        to: Place,
    },
    /// All in one call.
    Nest {
        /// The kernel.
        nest: Nest,
        /// Both operands, all their vectors one after the other.
        operands: [Gather; 2],
        /// Where results go.
        to: Place,
    },
    /// The driver copies elements.
    Move {
        /// The elements, a vector.
        from: Gather,
        /// Where they go.
        to: Place,
        /// Places that they are shifted by to the right, rounded as a dpu does; to the left when negative.
        shift: i32,
    },
    /// The driver fills the value.
    Fill(i16),
}

/// Places in a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// That of the first.
    pub offset: usize,
    /// From one to the next.
    pub axes: Axes,
}

impl Place {
    /// How many results there are, or `usize::MAX` if they cannot be counted.
    pub fn count(&self) -> usize {
        self.axes.iter().fold(1, |all, &(size, _)| all.saturating_mul(size))
    }

    /// As many results as they are, in order.
    pub fn all(count: usize) -> Self {
        Self { offset: 0, axes: vec![(count, 1)] }
    }
}

impl Task {
    /// A copy of `count` elements in order.
    pub fn copy(from: Source, count: usize) -> Self {
        Self::Move { from: Gather::rows(from, 1, count), to: Place::all(count), shift: 0 }
    }

    /// The operands that calls load.
    pub fn operands(&self) -> Vec<&Gather> {
        match self {
            Self::Vectors { operands, .. } => operands.iter().collect(),
            Self::Dots { stationary, stream, .. } => vec![stationary, stream],
            Self::Nest { operands, .. } => operands.iter().collect(),
            Self::Move { from, .. } => vec![from],
            Self::Fill(_) => Vec::new(),
        }
    }

    /// The same, to be changed.
    pub fn operands_mut(&mut self) -> Vec<&mut Gather> {
        match self {
            Self::Vectors { operands, .. } => operands.iter_mut().collect(),
            Self::Dots { stationary, stream, .. } => vec![stationary, stream],
            Self::Nest { operands, .. } => operands.iter_mut().collect(),
            Self::Move { from, .. } => vec![from],
            Self::Fill(_) => Vec::new(),
        }
    }

    /// Where results go.
    pub const fn to(&self) -> Option<&Place> {
        match self {
            Self::Vectors { to, .. }
            | Self::Dots { to, .. }
            | Self::Nest { to, .. }
            | Self::Move { to, .. } => Some(to),
            Self::Fill(_) => None,
        }
    }

    /// Operations of the dpus that the task is about.
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
