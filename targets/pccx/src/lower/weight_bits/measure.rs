//! [`Trial`]: programs with weights of 8 bits in some steps, on samples beside the model.

use std::collections::BTreeSet;
use std::sync::Arc;

use npukit_graph::{Graph, evaluate};
use npukit_numeric::Tensor;
use npukit_target::Unset;
use rayon::prelude::*;

use super::ChoiceError;
use crate::clock;
use crate::config::Config;
use crate::lower::{Executable, Options, WeightBits, Weights, compile};
use crate::machine::Machine;
use crate::program::runtime::{RunError, Session};

/// How a program does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Measured {
    /// Mean square of the differences to the model by that of its outputs; the mean over outputs. Infinite where they
    /// are no numbers.
    pub error: f64,
    /// Rows of outputs whose largest element is where the model's is.
    pub agreeing: usize,
    /// On the machine, of one run.
    pub cycles: u64,
}

/// A model, and samples of which its outputs are known.
pub(super) struct Trial<'a> {
    config: &'a Config,
    graph: &'a Graph,
    options: &'a Options,
    samples: &'a [Vec<Tensor>],
    /// Outputs of the model for each.
    expected: Vec<Vec<Tensor>>,
    weights: Weights,
}

impl<'a> Trial<'a> {
    /// # Errors
    ///
    /// A sample that the model does not take.
    pub fn new(
        config: &'a Config,
        graph: &'a Graph,
        options: &'a Options,
        samples: &'a [Vec<Tensor>],
    ) -> Result<Self, ChoiceError> {
        let one = |(sample, inputs): (usize, &Vec<Tensor>)| {
            evaluate(graph, inputs).map_err(|error| ChoiceError::Eval { sample, error: error.into() })
        };
        let expected = samples.par_iter().enumerate().map(one).collect::<Result<_, _>>()?;
        Ok(Self { config, graph, options, samples, expected, weights: Weights::default() })
    }

    fn compile(&mut self, steps: &BTreeSet<usize>) -> Result<(Executable, u64), ChoiceError> {
        let weight_bits = WeightBits::Steps { wide: Arc::new(steps.clone()), is_auto: false };
        let options = Options { weight_bits, ..self.options.clone() };
        let executable = compile(self.config, self.graph, &options, &mut self.weights)?;
        let program = &executable.program;
        let cycles = clock::run_with_host(self.config, &program.code, &program.syncs()).cycles;
        Ok((executable, cycles))
    }

    /// Cycles of the program with weights of 8 bits in these steps.
    ///
    /// # Errors
    ///
    /// A program that does not compile.
    pub fn cycles(&mut self, steps: &BTreeSet<usize>) -> Result<u64, ChoiceError> {
        Ok(self.compile(steps)?.1)
    }

    /// How the program with weights of 8 bits in these steps does on the samples.
    ///
    /// # Errors
    ///
    /// A program that does not compile, or does not run.
    pub fn measure(&mut self, steps: &BTreeSet<usize>) -> Result<Measured, ChoiceError> {
        let (executable, cycles) = self.compile(steps)?;
        let one = |(sample, inputs): (usize, &Vec<Tensor>)| {
            let failed = |error: RunError| ChoiceError::Run { sample, error: error.into() };
            let mut machine =
                Machine::with(self.config, Unset::Zero).map_err(|error| failed(RunError::Machine(error)))?;
            let session = Session::new(&mut machine, &executable.program, &executable.host);
            session.and_then(|mut session| session.run(inputs)).map_err(failed)
        };
        let found: Vec<Vec<Tensor>> =
            self.samples.par_iter().enumerate().map(one).collect::<Result<_, _>>()?;
        let outputs = self.graph.outputs.len();
        let sums = (0..outputs).map(|output| {
            let pairs = found.iter().zip(&self.expected);
            pairs.fold(Sums::default(), |sums, (found, expected)| {
                match (found.get(output), expected.get(output)) {
                    (Some(found), Some(expected)) => sums.with(found, expected),
                    _ => sums,
                }
            })
        });
        let sums: Vec<Sums> = sums.collect();
        let error = sums.iter().map(Sums::share).sum::<f64>() / outputs.max(1) as f64;
        let error = if error.is_nan() { f64::INFINITY } else { error };
        Ok(Measured { error, agreeing: sums.iter().map(|sums| sums.agreeing).sum(), cycles })
    }
}

/// Of an output over samples.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    differences: f64,
    signal: f64,
    agreeing: usize,
}

impl Sums {
    fn with(mut self, found: &Tensor, expected: &Tensor) -> Self {
        let [ours, theirs] = [found, expected].map(|tensor| tensor.reals());
        for (ours, theirs) in ours.iter().zip(&theirs) {
            // Numbers that are none are the model's own where they are none there.
            if ours.to_bits() != theirs.to_bits() {
                self.differences += (ours - theirs) * (ours - theirs);
            }
            self.signal += if theirs.is_finite() { theirs * theirs } else { 0.0 };
        }
        // Default: a tensor without axes has one element.
        let row = expected.shape().last().copied().unwrap_or(1).max(1);
        let rows = ours.chunks(row).zip(theirs.chunks(row));
        self.agreeing += rows.filter(|(ours, theirs)| largest(ours) == largest(theirs)).count();
        self
    }

    /// The differences by the signal.
    fn share(&self) -> f64 {
        if self.differences == 0.0 { 0.0 } else { self.differences / self.signal }
    }
}

/// Where the largest element of a row is.
fn largest(row: &[f64]) -> Option<usize> {
    (0..row.len()).reduce(|best, place| if row[place] > row[best] { place } else { best })
}
