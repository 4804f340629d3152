//! [`Report`]: results of all vectors.

use serde::Serialize;

use crate::contract::vectors::Outcome;

/// A vector with an unexpected result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Failure {
    /// File of the vector.
    pub file: String,
    /// Name of the vector in its file.
    pub case: String,
    /// Result that the vector expects.
    pub expected: String,
    /// Result that npukit computed.
    pub got: String,
}

/// A vector that was not checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Skip {
    /// File of the vector.
    pub file: String,
    /// Name of the vector in its file.
    pub case: String,
    /// Why it was not checked.
    pub reason: String,
}

/// Results of the vectors of one file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct FileReport {
    /// Path of the file.
    pub file: String,
    /// Number of vectors with the expected result.
    pub passed: usize,
    /// Number of vectors with another result.
    pub failed: usize,
    /// Number of vectors not checked.
    pub skipped: usize,
    /// Number of passed vectors that are measurements, which have a tolerance.
    pub measured: usize,
    /// Number of measurements that matched exactly, without the tolerance.
    pub exact: usize,
}

/// Results of all vectors.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Report {
    /// Number of vectors with the expected result.
    pub passed: usize,
    /// Number of vectors with another result.
    pub failed: usize,
    /// Number of vectors not checked.
    pub skipped: usize,
    /// Number of passed vectors that are measurements, which have a tolerance.
    pub measured: usize,
    /// Number of measurements that matched exactly, without the tolerance.
    pub exact: usize,
    /// Details of each failed vector.
    pub failures: Vec<Failure>,
    /// Details of each vector not checked.
    pub skips: Vec<Skip>,
    /// Results by file, in the order of the files.
    pub files: Vec<FileReport>,
    /// Files whose format the target does not recognize.
    pub unrecognized: Vec<String>,
}

impl Report {
    /// Returns whether at least one vector was checked and none failed.
    pub fn is_success(&self) -> bool {
        self.failed == 0 && self.passed > 0
    }

    /// Returns how many measurements matched exactly, as text; `None` if nothing was measured.
    pub fn exactness(&self) -> Option<String> {
        (self.measured > 0).then(|| format!("{} of {} measurements met exactly", self.exact, self.measured))
    }

    /// Returns the closing line of the command.
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
