//! [`Failure`]: why a command did not get to its answer.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::PathBuf;

use npukit::verbs::check::Report;
use serde_json::{Value, json};

/// Why a command did not get to its answer.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum Failure {
    /// The verb failed.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Verb(#[from] npukit::Error),
    /// A file could not be written.
    #[error("cannot write `{path}`: {aftermath}")]
    Write {
        /// The file or folder.
        path: String,
        /// What was written all the same.
        aftermath: Aftermath,
        /// What the system says.
        source: io::Error,
    },
    /// An output leads to a file that the command reads.
    #[error("`{path}` is an input of this command, read as `{input}`: it would be lost")]
    #[diagnostic(help("name another file for the output; nothing was written"))]
    SameFile {
        /// The output.
        path: String,
        /// The input.
        input: String,
    },
    /// Two outputs lead to one file.
    #[error("`{path}` and `{other}` are the same file, and each is to be written")]
    #[diagnostic(help("name another file for one of them; nothing was written"))]
    SameOutput {
        /// An output.
        path: String,
        /// Another.
        other: String,
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
            Self::SameFile { .. } | Self::SameOutput { .. } => true,
            Self::Write { .. } | Self::Print(_) => false,
        }
    }

    /// For `--json`: the message and its causes, for a model that is not supported with what `npu check` says.
    pub fn json(&self) -> Value {
        let causes = std::iter::successors(self.source(), |cause: &&dyn Error| (*cause).source());
        let mut answer = json!({ "error": self.to_string(), "causes": causes.map(ToString::to_string).collect::<Vec<_>>() });
        // A report is a map of strings to lists and texts: it always serialises.
        let report = self.refusal().and_then(|report| serde_json::to_value(report).ok());
        if let (Some(Value::Object(report)), Some(answer)) = (report, answer.as_object_mut()) {
            answer.extend(report);
        }
        answer
    }

    /// What stands in the way of a model that is not supported.
    pub fn refusal(&self) -> Option<&Report> {
        match self {
            Self::Verb(npukit::Error::Refused { report }) => Some(report),
            _ => None,
        }
    }
}

/// What is written after writing has failed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Aftermath {
    /// Devices and pipes that have taken all of their content.
    through: Vec<String>,
    /// Places that could not be put back.
    new: Vec<String>,
}

impl Aftermath {
    /// Of these devices and places.
    pub fn new(through: &[PathBuf], new: &[PathBuf]) -> Self {
        let texts = |paths: &[PathBuf]| paths.iter().map(|path| path.display().to_string()).collect();
        Self { through: texts(through), new: texts(new) }
    }
}

impl fmt::Display for Aftermath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { through, new } = self;
        let list =
            |paths: &[String]| paths.iter().map(|path| format!("`{path}`")).collect::<Vec<_>>().join(", ");
        match (through.is_empty(), new.is_empty()) {
            (true, true) => f.write_str("nothing was written"),
            (false, true) => {
                write!(f, "nothing was written but {}, which cannot be taken back", list(through))
            }
            (_, false) => {
                write!(
                    f,
                    "what was at {} could not be put back yet, the next `npu` that writes there tries again",
                    list(new)
                )?;
                if through.is_empty() { Ok(()) } else { write!(f, "; {} was written", list(through)) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_told() {
        let paths = |names: &[&str]| names.iter().map(PathBuf::from).collect::<Vec<_>>();
        let text = |through: &[&str], new: &[&str]| Aftermath::new(&paths(through), &paths(new)).to_string();
        assert_eq!(text(&[], &[]), "nothing was written");
        assert_eq!(text(&["d"], &[]), "nothing was written but `d`, which cannot be taken back");
        assert!(text(&[], &["a", "b"]).starts_with("what was at `a`, `b` could not be put back yet"));
        assert!(text(&["d"], &["a"]).ends_with("; `d` was written"));
    }
}
