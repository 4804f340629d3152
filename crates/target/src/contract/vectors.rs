//! [`Case`]: one golden vector, ready to be checked.
//!
//! A target turns a file whose format it knows into cases; [`conform`](crate::conform) runs them.

use std::fmt;

/// What became of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Got what was expected.
    Passed,
    /// A measurement met within the tolerance its format allows; counts as passed.
    Measured {
        /// Without using the tolerance.
        exact: bool,
    },
    /// Got something else.
    Failed {
        /// What the vector says.
        expected: String,
        /// What we computed.
        got: String,
    },
    /// Not checked.
    Skipped {
        /// Why.
        reason: String,
    },
}

impl Outcome {
    /// Compares by equality; prints both when they differ.
    pub fn compare<T: PartialEq + fmt::Display + ?Sized>(expected: &T, got: &T) -> Self {
        if expected == got {
            return Self::Passed;
        }
        Self::Failed { expected: expected.to_string(), got: got.to_string() }
    }

    /// A failure to compute anything.
    pub fn error(expected: impl Into<String>, error: impl fmt::Display) -> Self {
        Self::Failed { expected: expected.into(), got: format!("error: {error}") }
    }
}

/// A vector with its name; the work is done when it is run.
pub struct Case {
    /// Unique in its file.
    pub name: String,
    check: Box<dyn FnOnce() -> Outcome + Send>,
}

impl Case {
    /// A case that runs `check`.
    pub fn new(name: impl Into<String>, check: impl FnOnce() -> Outcome + Send + 'static) -> Self {
        Self { name: name.into(), check: Box::new(check) }
    }

    /// A case known to be out of reach.
    pub fn skipped(name: impl Into<String>, reason: impl Into<String>) -> Self {
        let reason = reason.into();
        Self::new(name, move || Outcome::Skipped { reason })
    }

    /// A case whose outcome is already known.
    pub fn done(name: impl Into<String>, outcome: Outcome) -> Self {
        Self::new(name, move || outcome)
    }

    /// Runs it.
    pub fn check(self) -> Outcome {
        (self.check)()
    }
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Case").field(&self.name).finish()
    }
}
