//! [`Report`]: what became of every vector.

use serde::Serialize;

use crate::contract::vectors::Outcome;

/// A vector that gave something else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Failure {
    /// Its file.
    pub file: String,
    /// Its name in the file.
    pub case: String,
    /// What the vector says.
    pub expected: String,
    /// What we computed.
    pub got: String,
}

/// A vector that was not checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Skip {
    /// Its file.
    pub file: String,
    /// Its name in the file.
    pub case: String,
    /// Why.
    pub reason: String,
}

/// The vectors of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct FileReport {
    /// Its path.
    pub file: String,
    /// Vectors that gave what was expected.
    pub passed: usize,
    /// Vectors that did not.
    pub failed: usize,
    /// Vectors not checked.
    pub skipped: usize,
    /// Of those passed, measurements, which have a tolerance.
    pub measured: usize,
    /// Of the measurements, those met without the tolerance.
    pub exact: usize,
}

/// What became of every vector.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Report {
    /// Vectors that gave what was expected.
    pub passed: usize,
    /// Vectors that did not.
    pub failed: usize,
    /// Vectors not checked.
    pub skipped: usize,
    /// Of those passed, measurements, which have a tolerance.
    pub measured: usize,
    /// Of the measurements, those met without the tolerance.
    pub exact: usize,
    /// Each vector that failed.
    pub failures: Vec<Failure>,
    /// Each vector not checked.
    pub skips: Vec<Skip>,
    /// The same by file.
    pub files: Vec<FileReport>,
    /// Files whose format the target does not know.
    pub unrecognised: Vec<String>,
}

impl Report {
    /// Whether something was checked and nothing failed.
    pub fn is_success(&self) -> bool {
        self.failed == 0 && self.passed > 0
    }

    /// How many measurements were met to the cycle; none when nothing was measured.
    pub fn exactness(&self) -> Option<String> {
        (self.measured > 0).then(|| format!("{} of {} measurements met exactly", self.exact, self.measured))
    }

    /// The closing line of the command.
    pub fn closing_line(&self) -> String {
        format!("{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }

    pub(crate) fn add_file(&mut self, file: String) -> usize {
        self.files.push(FileReport { file, ..FileReport::default() });
        self.files.len() - 1
    }

    pub(crate) fn add(&mut self, file: usize, case: String, outcome: Outcome) {
        let by_file = &mut self.files[file];
        let file = by_file.file.clone();
        match outcome {
            Outcome::Passed => {
                by_file.passed += 1;
                self.passed += 1;
            }
            Outcome::Measured { exact } => {
                by_file.passed += 1;
                by_file.measured += 1;
                by_file.exact += usize::from(exact);
                self.passed += 1;
                self.measured += 1;
                self.exact += usize::from(exact);
            }
            Outcome::Failed { expected, got } => {
                by_file.failed += 1;
                self.failed += 1;
                self.failures.push(Failure { file, case, expected, got });
            }
            Outcome::Skipped { reason } => {
                by_file.skipped += 1;
                self.skipped += 1;
                self.skips.push(Skip { file, case, reason });
            }
        }
    }
}
