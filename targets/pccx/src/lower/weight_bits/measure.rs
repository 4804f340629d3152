//! [`Trial`]: compares programs with 8-bit weights in some steps with the model, on samples.

use std::collections::BTreeSet;
use std::sync::Arc;

use npukit_graph::{Graph, evaluate};
use npukit_numeric::Tensor;
use npukit_target::UninitMemory;
use rayon::prelude::*;

use super::ChoiceError;
use crate::clock;
use crate::config::Config;
use crate::lower::{Executable, Options, WeightBits, Weights, compile};
use crate::machine::Machine;
use crate::program::runtime::{RunError, Session};

/// Quality and speed of a program.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Measured {
    /// Mean square of the differences to the model, relative to the mean square of the model's
    /// outputs; mean over outputs. Infinite if a result is not a number.
    pub error: f64,
    /// Number of output rows that have their maximum at the same index as in the model.
    pub agreeing: usize,
    /// Cycles of one run on the machine.
    pub cycles: u64,
}

/// A model with samples and their expected outputs.
pub(super) struct Trial<'a> {
    config: &'a Config,
    graph: &'a Graph,
    options: &'a Options,
    samples: &'a [Vec<Tensor>],
    /// Outputs of the model for each sample.
    expected: Vec<Vec<Tensor>>,
    weights: Weights,
}

impl<'a> Trial<'a> {
    /// Evaluates the model on the samples.
    ///
    /// # Errors
    /// A sample that the model rejects.
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

    /// Returns the cycles of the program with 8-bit weights in these steps.
    ///
    /// # Errors
    /// The program cannot be compiled.
    pub fn cycles(&mut self, steps: &BTreeSet<usize>) -> Result<u64, ChoiceError> {
        Ok(self.compile(steps)?.1)
    }

    /// Runs the program with 8-bit weights in these steps on the samples.
    ///
    /// # Errors
    /// The program cannot be compiled, or fails.
    pub fn measure(&mut self, steps: &BTreeSet<usize>) -> Result<Measured, ChoiceError> {
        let (executable, cycles) = self.compile(steps)?;
        let one = |(sample, inputs): (usize, &Vec<Tensor>)| {
            let failed = |error: RunError| ChoiceError::Run { sample, error: error.into() };
            let mut machine = Machine::with(self.config, UninitMemory::Zero)
                .map_err(|error| failed(RunError::Machine(error)))?;
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

/// Sums of an output over samples.
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
            // Equal bits are accepted even if they are NaN.
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

    /// Returns the noise-to-signal ratio.
    fn share(&self) -> f64 {
        if self.differences == 0.0 { 0.0 } else { self.differences / self.signal }
    }
}

/// Returns the index of the largest element of a row.
fn largest(row: &[f64]) -> Option<usize> {
    (0..row.len()).reduce(|best, place| if row[place] > row[best] { place } else { best })
}
