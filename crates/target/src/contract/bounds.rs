//! [`BoundedProgram`]: a program on its machine with ranges for numbers.

use std::collections::BTreeMap;

use npukit_numeric::{Beyond, Bounded, Bounds, RoundingModel};

use crate::error::TargetError;

/// What an input may be, row-major.
#[derive(Clone, Debug, PartialEq)]
pub struct RangeTensor {
    /// Outermost axis first.
    pub shape: Vec<usize>,
    /// The least and the largest number of each element; as many as the shape says.
    pub ranges: Vec<(f64, f64)>,
}

/// An input or an output for all inputs of their ranges.
#[derive(Clone, Debug)]
pub struct BoundedTensor {
    /// Its name.
    pub name: String,
    /// Its elements, in the model's order; of outputs before what the host computes of them.
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
    /// Its inputs.
    pub inputs: Vec<BoundedTensor>,
    /// Its outputs.
    pub outputs: Vec<BoundedTensor>,
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

    /// The least and the largest number of an input that the machine cannot tell from `value`. One that it does not have is
    /// alone.
    fn cell(&self, input: &str, value: f64) -> (f64, f64);

    /// Runs all inputs of the ranges at once.
    ///
    /// # Errors
    ///
    /// Inputs that do not fit, and what the machine faults on.
    fn run(
        &self,
        inputs: &[(String, RangeTensor)],
        rounding: RoundingModel,
    ) -> Result<BoundedRun, TargetError>;
}

/// Sources of its range and error that each number of a program of so many products may know of: fewer where it is long, so
/// that it takes minutes at most.
pub fn terms_of_bounds(products: u64) -> usize {
    ((1 << 32) / products.max(1)).clamp(16, 4096) as usize
}

/// Results that may saturate, by instruction and by lane: the most of each.
#[derive(Debug, Default)]
pub struct Excesses(BTreeMap<(Option<usize>, usize), Beyond>);

impl Excesses {
    /// Notes what came of an instruction; none for inputs.
    pub fn note(&mut self, instruction: Option<usize>, places: Vec<(usize, Beyond)>) {
        for (lane, beyond) in places {
            let worst = self.0.entry((instruction, lane)).or_default();
            worst.below = worst.below.max(beyond.below);
            worst.above = worst.above.max(beyond.above);
        }
    }

    /// All of them, in the order of the instructions; `layer` has the name of an instruction's layer, where it has one.
    pub fn saturations(self, layer: impl Fn(usize) -> Option<String>) -> Vec<PossibleSaturation> {
        let saturation =
            |((instruction, lane), Beyond { below, above }): ((Option<usize>, usize), Beyond)| {
                PossibleSaturation { instruction, layer: instruction.and_then(&layer), lane, below, above }
            };
        self.0.into_iter().map(saturation).collect()
    }
}
