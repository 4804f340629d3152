//! [`Failure`]: why a command did not get to its answer.

use std::error::Error;
use std::io;

use serde_json::{Value, json};

/// Why a command did not get to its answer.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum Failure {
    /// The verb failed.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Verb(#[from] npukit::Error),
    /// A file could not be written; none of the command's files is.
    #[error("cannot write `{path}`: nothing was written")]
    Write {
        /// The file or folder.
        path: String,
        /// What the system says.
        source: io::Error,
    },
    /// Standard output does not take the answer.
    #[error("cannot print")]
    Print(#[source] io::Error),
}

impl Failure {
    /// Whether the command line is at fault.
    pub fn is_usage(&self) -> bool {
        match self {
            Self::Verb(error) => error.is_usage(),
            Self::Write { .. } | Self::Print(_) => false,
        }
    }

    /// For `--json`: the message and its causes.
    pub fn json(&self) -> Value {
        let causes = std::iter::successors(self.source(), |cause: &&dyn Error| (*cause).source());
        json!({ "error": self.to_string(), "causes": causes.map(ToString::to_string).collect::<Vec<_>>() })
    }
}
