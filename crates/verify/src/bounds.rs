//! Bounds on the results of a program for all inputs in their ranges: [`Bounding`].

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use npukit_numeric::{Bounded, Bounds};
use npukit_target::{BoundedRun, BoundedTensor, PossibleSaturation};

/// Bounds of an output.
#[derive(Clone, Debug, PartialEq)]
pub struct OutputBound {
    /// Name of the output.
    pub name: String,
    /// Number of elements.
    pub elements: usize,
    /// Largest difference between the machine's numbers and exact arithmetic; infinite if unknown.
    pub error: f64,
    /// Range of the output in exact arithmetic.
    pub exact: RangeInclusive<f64>,
}

/// Corner of the input ranges: for each input its name, and for each element whether it is at its
/// maximum.
pub type Corner = Vec<(String, Vec<bool>)>;

/// Bounds over several runs on ranges.
#[derive(Clone, Debug, PartialEq)]
pub struct Bounding {
    /// Number of runs, each on one box of input ranges.
    pub boxes: usize,
    /// For each output, the widest bounds of any run.
    pub outputs: Vec<OutputBound>,
    /// Results that may saturate, in instruction order.
    pub saturations: Vec<PossibleSaturation>,
    /// For each run and output, the corner that is likely to give a large error in the output's
    /// least certain element.
    pub worst: Vec<Vec<Corner>>,
    /// Number of runs in which the index of the first output's largest element is certain, in exact
    /// arithmetic and on the machine.
    pub decided: usize,
}

impl Bounding {
    /// Returns the bounds of one run.
    pub fn of(mut run: BoundedRun) -> Self {
        let decided = run.outputs.first().is_some_and(|output| is_decided(&mut run.bounds, &output.elements));
        Self {
            boxes: 1,
            outputs: run.outputs.iter().map(bound).collect(),
            worst: vec![run.outputs.iter().filter_map(|output| worst(output, &run.inputs)).collect()],
            saturations: run.saturations,
            decided: decided.into(),
        }
    }

    /// Merges the bounds of runs of the same program.
    #[must_use]
    pub fn merged(self, other: Self) -> Self {
        let outputs = self.outputs.into_iter().zip(other.outputs).map(|(left, right)| OutputBound {
            error: left.error.max(right.error),
            exact: left.exact.start().min(*right.exact.start())..=left.exact.end().max(*right.exact.end()),
            ..left
        });
        let mut saturations: BTreeMap<(Option<usize>, usize), PossibleSaturation> = BTreeMap::new();
        for new in self.saturations.into_iter().chain(other.saturations) {
            let place = saturations.entry((new.instruction, new.lane)).or_insert_with(|| new.clone());
            place.below = place.below.max(new.below);
            place.above = place.above.max(new.above);
        }
        Self {
            boxes: self.boxes + other.boxes,
            outputs: outputs.collect(),
            saturations: saturations.into_values().collect(),
            worst: self.worst.into_iter().chain(other.worst).collect(),
            decided: self.decided + other.decided,
        }
    }
}

fn bound(output: &BoundedTensor) -> OutputBound {
    let errors = output.elements.iter().map(Bounded::error);
    let ranges = output.elements.iter().map(Bounded::exact);
    let whole = ranges.reduce(|all, next| all.start().min(*next.start())..=all.end().max(*next.end()));
    OutputBound {
        name: output.name.clone(),
        elements: output.elements.len(),
        error: errors.fold(0.0, f64::max),
        exact: whole.unwrap_or(0.0..=0.0), // Default: an output without elements.
    }
}

/// Returns the inputs at which the error of an output's least certain element is likely to be
/// large.
fn worst(output: &BoundedTensor, inputs: &[BoundedTensor]) -> Option<Corner> {
    let least_known = output.elements.iter().max_by(|a, b| a.error().total_cmp(&b.error()))?;
    let ends = |input: &BoundedTensor| (input.name.clone(), least_known.worst(&input.elements));
    Some(inputs.iter().map(ends).collect())
}

/// Whether the largest element has the same index on both sides for all inputs.
fn is_decided(bounds: &mut Bounds, elements: &[Bounded]) -> bool {
    let middle = |number: &Bounded| number.exact().start() + number.exact().end();
    let largest = (0..elements.len()).max_by(|&a, &b| middle(&elements[a]).total_cmp(&middle(&elements[b])));
    largest.is_some_and(|largest| {
        let others = (0..elements.len()).filter(|&other| other != largest);
        others.into_iter().all(|other| bounds.is_surely_larger(&elements[largest], &elements[other]))
    })
}
