//! [`BoundedProgram`]: a program on its machine, computed with ranges instead of numbers.

use std::collections::BTreeMap;

use npukit_numeric::{Bounded, Bounds, Overflow, RoundingModel};

use crate::error::TargetError;

/// Ranges of the elements of an input, row-major.
#[derive(Clone, Debug, PartialEq)]
pub struct RangeTensor {
    /// Shape, outermost axis first.
    pub shape: Vec<usize>,
    /// Lower and upper bound of each element; the length is the product of `shape`.
    pub ranges: Vec<(f64, f64)>,
}

/// Bounds of an input or output over all inputs of the given ranges.
#[derive(Clone, Debug)]
pub struct BoundedTensor {
    /// Name of the input or output.
    pub name: String,
    /// Bounds of the elements in the model's order; for outputs before any host step.
    pub elements: Vec<Bounded>,
}

/// A result that may exceed the number format.
#[derive(Clone, Debug, PartialEq)]
pub struct PossibleSaturation {
    /// Index of the instruction; `None` for an input that the driver writes.
    pub instruction: Option<usize>,
    /// Layer of the instruction, if known.
    pub layer: Option<String>,
    /// Lane of the result.
    pub lane: usize,
    /// How far the result may be below the smallest representable number.
    pub below: f64,
    /// How far the result may be above the largest representable number.
    pub above: f64,
}

/// Result of a run on ranges.
#[derive(Clone, Debug)]
pub struct BoundedRun {
    /// Bounds of the inputs.
    pub inputs: Vec<BoundedTensor>,
    /// Bounds of the outputs.
    pub outputs: Vec<BoundedTensor>,
    /// Results that may saturate, in the order of the instructions; at most one per lane of an
    /// instruction.
    pub saturations: Vec<PossibleSaturation>,
    /// Shared state of the numbers, needed to compute with them further.
    pub bounds: Bounds,
}

/// A program on its fixed-point machine that computes with ranges instead of numbers.
pub trait BoundedProgram: Sync {
    /// Returns whether errors are bounded against the model's exact constants. If not, the
    /// machine's rounded constants are taken as exact.
    fn has_constants_of_model(&self) -> bool;

    /// Returns the range of input values that the machine rounds to the same number as `value`. A
    /// value that the machine cannot represent has a range of its own.
    fn cell(&self, input: &str, value: f64) -> (f64, f64);

    /// Runs all inputs of the ranges at once.
    ///
    /// # Errors
    ///
    /// Inputs that do not fit the program; faults of the machine.
    fn run(
        &self,
        inputs: &[(String, RangeTensor)],
        rounding: RoundingModel,
    ) -> Result<BoundedRun, TargetError>;
}

/// Returns the number of symbols to keep per number for range and error. Longer programs get fewer,
/// so that a run takes minutes at most.
pub fn terms_of_bounds(products: u64) -> usize {
    ((1 << 32) / products.max(1)).clamp(16, 4096) as usize
}

/// Largest excess of results that may saturate, by instruction and lane.
#[derive(Debug, Default)]
pub struct Excesses(BTreeMap<(Option<usize>, usize), Overflow>);

impl Excesses {
    /// Records the excesses of an instruction by lane; `None` as instruction means inputs.
    pub fn note(&mut self, instruction: Option<usize>, places: Vec<(usize, Overflow)>) {
        for (lane, beyond) in places {
            let worst = self.0.entry((instruction, lane)).or_default();
            worst.below = worst.below.max(beyond.below);
            worst.above = worst.above.max(beyond.above);
        }
    }

    /// Returns all excesses in the order of the instructions; `layer` returns the layer of an
    /// instruction, if it has one.
    pub fn saturations(self, layer: impl Fn(usize) -> Option<String>) -> Vec<PossibleSaturation> {
        let saturation =
            |((instruction, lane), Overflow { below, above }): ((Option<usize>, usize), Overflow)| {
                PossibleSaturation { instruction, layer: instruction.and_then(&layer), lane, below, above }
            };
        self.0.into_iter().map(saturation).collect()
    }
}
