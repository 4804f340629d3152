//! [`Case`]: one golden vector, ready to be checked.
//!
//! A target turns a file whose format it knows into cases; [`conform`](crate::conform) runs them.

use std::fmt;

/// Result of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The result was as expected.
    Passed,
    /// A measurement within the tolerance of its format; it is also a pass.
    Measured {
        /// Whether the measurement matched exactly, without the tolerance.
        exact: bool,
    },
    /// The result differed from the expected one.
    Failed {
        /// Result that the vector expects.
        expected: String,
        /// Result that npukit computed.
        got: String,
    },
    /// The case was not checked.
    Skipped {
        /// Why it was not checked.
        reason: String,
    },
}

impl Outcome {
    /// Compares for equality; a failure prints both values.
    pub fn compare<T: PartialEq + fmt::Display + ?Sized>(expected: &T, got: &T) -> Self {
        if expected == got {
            return Self::Passed;
        }
        Self::Failed { expected: expected.to_string(), got: got.to_string() }
    }

    /// Creates the failure of a case whose computation failed.
    pub fn error(expected: impl Into<String>, error: impl fmt::Display) -> Self {
        Self::Failed { expected: expected.into(), got: format!("error: {error}") }
    }
}

/// A named vector; it is computed when it is run.
pub struct Case {
    /// Name, unique in its file.
    pub name: String,
    check: Box<dyn FnOnce() -> Outcome + Send>,
}

impl Case {
    /// Creates a case that runs `check`.
    pub fn new(name: impl Into<String>, check: impl FnOnce() -> Outcome + Send + 'static) -> Self {
        Self { name: name.into(), check: Box::new(check) }
    }

    /// Creates a case that cannot be checked.
    pub fn skipped(name: impl Into<String>, reason: impl Into<String>) -> Self {
        let reason = reason.into();
        Self::new(name, move || Outcome::Skipped { reason })
    }

    /// Creates a case with a known outcome.
    pub fn done(name: impl Into<String>, outcome: Outcome) -> Self {
        Self::new(name, move || outcome)
    }

    /// Runs the case and returns its outcome.
    pub fn check(self) -> Outcome {
        (self.check)()
    }
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Case").field(&self.name).finish()
    }
}
