//! [`BoundedProgram`]: a program on its machine with ranges for numbers.

use npukit_numeric::{Bounded, Bounds};

use crate::error::TargetError;

/// What an input may be, row-major.
#[derive(Clone, Debug, PartialEq)]
pub struct RangeTensor {
    /// Outermost axis first.
    pub shape: Vec<usize>,
    /// The least and the largest number of each element; as many as the shape says.
    pub ranges: Vec<(f64, f64)>,
}

/// An output for all inputs of their ranges.
#[derive(Clone, Debug)]
pub struct BoundedOutput {
    /// Its name.
    pub name: String,
    /// Its elements, in the model's order, before what the host computes of them.
    pub elements: Vec<Bounded>,
}

/// A result that may leave the format.
#[derive(Clone, Debug, PartialEq)]
pub struct PossibleSaturation {
    /// Index of the instruction; none for an input that the driver writes.
    pub instruction: Option<usize>,
    /// Its layer, where that is known.
    pub layer: Option<String>,
    /// The lane of its result.
    pub lane: usize,
    /// How far below the smallest number it may be.
    pub below: f64,
    /// How far above the largest.
    pub above: f64,
}

/// What came of a run on ranges.
#[derive(Clone, Debug)]
pub struct BoundedRun {
    /// Its outputs.
    pub outputs: Vec<BoundedOutput>,
    /// Results that may saturate, in the order of the instructions: one for each lane of an instruction.
    pub saturations: Vec<PossibleSaturation>,
    /// What its numbers have in common, to compute with them.
    pub bounds: Bounds,
}

/// A program on its machine in fixed point, with everything that a number may be in place of each.
pub trait BoundedProgram: Sync {
    /// Whether results are bounded against the model's constants. If not, its constants count as the machine has them: their
    /// rounding is in no bound.
    fn has_constants_of_model(&self) -> bool;

    /// Runs all inputs of the ranges at once.
    ///
    /// # Errors
    ///
    /// Inputs that do not fit, and what the machine faults on.
    fn run(&self, inputs: &[(String, RangeTensor)]) -> Result<BoundedRun, TargetError>;
}
