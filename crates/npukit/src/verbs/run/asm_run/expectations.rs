//! Results of the `.expect` lines of a text: [`Expectations`].

use npukit_asm::{SourceLocation, Sources};
use serde::Serialize;

use crate::error::Error;
use crate::run::memory_files::{Memories, NamedRange, Placed};

/// Results of expectations.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Expectations {
    /// Number of expectations that hold.
    pub passed: usize,
    /// Expectations that failed.
    pub failed: Vec<FailedExpectation>,
}

/// Expectation that failed.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct FailedExpectation {
    /// Path of the text.
    pub file: String,
    /// Line number, from 1.
    pub line: usize,
    /// Name of the memory.
    pub memory: String,
    /// Address of the first unexpected number.
    pub address: u64,
    /// Index of the lane at that address.
    pub lane: usize,
    /// Expected value.
    pub expected: f64,
    /// Value found; real if the expectation is real.
    pub found: f64,
    /// Number of unexpected numbers.
    pub wrong: usize,
    /// Total number of numbers in the range.
    pub count: usize,
    /// Message with all of this, and the line.
    pub message: String,
}

impl Expectations {
    /// Counts an expectation, which holds unless `failed` is given.
    pub(super) fn count(&mut self, failed: Option<FailedExpectation>) {
        match failed {
            Some(failed) => self.failed.push(failed),
            None => self.passed += 1,
        }
    }
}

/// Expected contents of a range after the run.
pub(super) struct Expected {
    /// Range of addresses.
    pub range: NamedRange,
    /// Expected integers with their positions.
    pub placed: Vec<Placed>,
    /// Expected real values, if the text has real values.
    pub reals: Option<Vec<f64>>,
}

impl Expected {
    /// Compares the range, within `tolerance` if there is one; returns `None` if all numbers are as
    /// expected.
    ///
    /// # Errors
    ///
    /// Fails if the memory cannot be read.
    pub fn wrong(&self, memories: &Memories, tolerance: Option<f64>) -> Result<Option<Wrong>, Error> {
        let (memory, machine) = (memories.memory(self.range.memory), &*memories.machine);
        let actual = machine.read(self.range.memory, self.range.start, self.range.end - self.range.start)?;
        let values = |index: usize| {
            let (at, expected) = self.placed[index];
            let real = |number: i64| machine.real(self.range.memory, number);
            let reals = || Some((real(actual[at])?, *self.reals.as_ref()?.get(index)?));
            let meant = || Some((real(actual[at])?, real(expected)?));
            Compared { found: actual[at], expected, reals: reals(), meant: meant() }
        };
        let compared = (0..self.placed.len()).map(values).enumerate();
        let mut wrong = compared.filter(|(_, compared)| !compared.is_near(tolerance));
        let Some((index, first)) = wrong.next() else { return Ok(None) };
        let (at, _) = self.placed[index];
        Ok(Some(Wrong {
            memory: memory.name.clone(),
            address: self.range.start + (at / memory.lanes) as u64,
            lane: at % memory.lanes,
            lanes: memory.lanes,
            first,
            tolerance,
            wrong: 1 + wrong.count(),
            count: self.placed.len(),
        }))
    }
}

/// Number with its expected value.
struct Compared {
    found: i64,
    expected: i64,
    /// Real values of both, if the expectation is real.
    reals: Option<(f64, f64)>,
    /// Real values that the integers of both stand for, if the memory has real values.
    meant: Option<(f64, f64)>,
}

impl Compared {
    fn is_near(&self, tolerance: Option<f64>) -> bool {
        let (found, expected) = self.values();
        match tolerance {
            Some(tolerance) => {
                let are_nan = found.is_nan() && expected.is_nan();
                (found - expected).abs() <= tolerance || found == expected || are_nan
            }
            None => self.found == self.expected,
        }
    }

    fn values(&self) -> (f64, f64) {
        // Default: the memory's integers without real values.
        self.reals.unwrap_or((self.found as f64, self.expected as f64))
    }

    /// Formats both for the message.
    fn shown(&self) -> (String, String) {
        let Self { found, expected, reals, meant } = self;
        match (reals, meant) {
            (Some((real, wanted)), _) => (format!("{real} ({found})"), format!("{wanted} ({expected})")),
            (None, Some((real, wanted))) => {
                (format!("raw {found} ({real})"), format!("raw {expected} ({wanted})"))
            }
            (None, None) => (found.to_string(), expected.to_string()),
        }
    }
}

/// First unexpected number, and the number of them.
pub(super) struct Wrong {
    memory: String,
    address: u64,
    lane: usize,
    /// Number of lanes per address.
    lanes: usize,
    first: Compared,
    tolerance: Option<f64>,
    wrong: usize,
    count: usize,
}

impl Wrong {
    /// Creates the report of the expectation at `place`.
    pub fn failed(self, sources: &Sources, place: SourceLocation) -> FailedExpectation {
        let message = sources.excerpt(place, &self.message());
        let (file, line, _) = sources.position_of(place);
        let (found, expected) = self.first.values();
        let Self { memory, address, lane, wrong, count, .. } = self;
        FailedExpectation {
            file: file.to_owned(),
            line,
            memory,
            address,
            lane,
            expected,
            found,
            wrong,
            count,
            message,
        }
    }

    fn message(&self) -> String {
        let Self { memory, address, lane, wrong, count, .. } = self;
        let of_lane = if self.lanes > 1 { format!(", number {lane}") } else { String::new() };
        let (found, expected) = self.first.shown();
        let within = self.tolerance.map_or_else(String::new, |tolerance| format!(" within {tolerance}"));
        let others = match wrong {
            1 => String::new(),
            all => format!("; {all} of {count} are not as expected"),
        };
        format!("{memory}[{address}]{of_lane} is {found}, expected {expected}{within}{others}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tolerance_is_of_real_values_where_there_are_some() {
        let near = |found, expected, reals, tolerance| {
            Compared { found, expected, reals, meant: None }.is_near(tolerance)
        };
        assert!(near(256, 256, Some((1.0, 1.001)), None), "rounded as the memory rounds");
        assert!(!near(257, 256, Some((1.004, 1.0)), None));
        assert!(near(257, 256, Some((1.004, 1.0)), Some(0.01)));
        assert!(!near(270, 256, Some((1.055, 1.0)), Some(0.01)));
        assert!(near(257, 256, None, Some(1.0)));
        assert!(!near(258, 256, None, Some(1.0)));
        assert!(near(0, 0, Some((f64::INFINITY, f64::INFINITY)), Some(0.1)));
        assert!(!near(0, 0, Some((f64::NAN, 1.0)), Some(0.1)));
    }
}
