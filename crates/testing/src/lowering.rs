//! Compiled programs compute the results of their graphs.

use std::num::NonZeroU32;

use npukit_numeric::Tensor;
use npukit_target::{Compiled, RunOptions, RunResult, UninitMemory};

use crate::Suite;
use crate::compiled::Subject;
use crate::disk::Files;

impl Suite {
    /// Tests small graphs. `check` and `compile` both refuse a graph, or its results are within the
    /// tolerance: on any initial memory, in a second run, and after the program was written and
    /// read.
    pub fn lowering(&self) {
        self.refusals();
        self.each_compiled(|_, subject, compiled| {
            let result = run(subject, compiled, &RunOptions::default());
            self.is_near(subject, &result);
            for unset in [UninitMemory::Garbage(7), UninitMemory::Poison] {
                let times = NonZeroU32::MIN.saturating_add(1);
                let again = run(subject, compiled, &RunOptions { unset, times, ..RunOptions::default() });
                assert_eq!(again, result, "{} twice on {unset:?}", subject.name);
            }
            let reloaded = self.reloaded(subject, compiled);
            assert_eq!(run(subject, &*reloaded, &RunOptions::default()), result, "{} read", subject.name);
        });
    }

    /// Checks that every output has the graph's shape, and values near the graph's.
    fn is_near(&self, subject: &Subject, result: &RunResult) {
        let expected = subject.expected();
        assert_eq!(result.outputs.len(), expected.len(), "{}: outputs", subject.name);
        for (found, expected) in result.outputs.iter().zip(&expected) {
            assert_eq!(found.values.shape(), expected.shape(), "{}: shape", subject.name);
            assert_eq!(found.raw.len(), expected.data().len(), "{}: integers", subject.name);
            let error = error(&found.values, expected);
            assert!(error <= self.tolerance, "{}: {error} of the largest result off", subject.name);
        }
    }

    /// Writes and reads `compiled`. Its files must be equal when it is written again.
    fn reloaded(&self, subject: &Subject, compiled: &dyn Compiled) -> Box<dyn Compiled> {
        let files = compiled.files().unwrap_or_else(|error| panic!("{}: {error}", subject.name));
        let reloaded = self.target.load(&files[0].name, &Files(&files));
        let reloaded = reloaded.unwrap_or_else(|error| panic!("{}: {error}", subject.name));
        let again = reloaded.files().unwrap_or_else(|error| panic!("{}: {error}", subject.name));
        assert!(again == files, "{}: its files, written again", subject.name);
        reloaded
    }
}

/// Largest error, as a share of the largest value.
fn error(found: &Tensor, expected: &Tensor) -> f64 {
    let (found, expected) = (found.reals(), expected.reals());
    let largest = expected.iter().fold(0.0, |largest: f64, x| largest.max(x.abs()));
    assert!(largest > 0.0, "a graph whose results are all 0 shows nothing");
    let off = found.iter().zip(&expected).map(|(a, b)| (a - b).abs());
    // A NaN result is an infinite error.
    let worst = |worst: f64, off: f64| if off.is_nan() { f64::INFINITY } else { worst.max(off) };
    off.fold(0.0, worst) / largest
}

fn run(subject: &Subject, compiled: &dyn Compiled, options: &RunOptions) -> RunResult {
    let result = compiled.run_with(&subject.inputs(), options);
    result.unwrap_or_else(|error| panic!("{} with {options:?}: {error}", subject.name))
}
