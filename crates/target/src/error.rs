//! [`TargetError`]: errors of a target's verbs.

use std::error::Error;

use crate::rtl::Unbuildable;
use npukit_base::{codes, counted};
use npukit_lower::{Problem, list};

use miette::Diagnostic;

use crate::config::options::OptionError;
use crate::lint::Finding;

/// Why a target could not do what a verb asked for.
#[derive(Debug, thiserror::Error, Diagnostic)]
#[non_exhaustive]
pub enum TargetError {
    /// The target does not support the verb.
    #[error("target `{target}` does not support {}", quoted(verb))]
    Unsupported {
        /// Name of the target.
        target: String,
        /// The requested verb. After ` of ` follows, in words, the object it was applied to.
        verb: &'static str,
    },
    /// An option that the target does not know, or a value that the option does not accept.
    #[error(transparent)]
    Option(#[from] OptionError),
    /// Nodes of the model cannot be lowered; lists all of them.
    #[error("{} of the model cannot be compiled for this target:{}", counted(.0.len() as u64, "node"), list(.0))]
    Refused(Vec<Problem>),
    /// The released hardware deviates from the instructions; lists all
    /// findings.
    #[error("the hardware deviates from the instructions of this program:{}", findings(.0))]
    #[diagnostic(help(
        "`--sequential` executes the instructions in order, `--hardware` computes the results of the hardware"
    ))]
    Differs(Vec<Finding>),
    /// A program whose outputs change when it runs again.
    #[error("output `{output}` of run {time} differs from the first run on the same inputs")]
    #[diagnostic(help("the program relies on memory that it changes and that no driver resets"))]
    Unrepeatable {
        /// Name of the output.
        output: String,
        /// Number of the differing run, starting at 1.
        time: u32,
    },
    /// The circuit does not support the parameters of the instance.
    #[error(transparent)]
    Unbuildable(#[from] Unbuildable),
    /// Invalid text, with the places of its faults.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Text(Box<dyn Diagnostic + Send + Sync + 'static>),
    /// Invalid file, with the target's own error.
    #[error("{file}: {fault}")]
    File {
        /// Path of the file.
        file: String,
        /// Description of the fault.
        fault: Box<dyn Error + Send + Sync + 'static>,
    },
    /// Any other target-specific error.
    #[error(transparent)]
    Failed(Box<dyn Error + Send + Sync + 'static>),
}

impl TargetError {
    /// Creates the error of an invalid option or other named choice; `reason` states the legal
    /// values.
    pub fn option(key: &str, value: &str, reason: impl Into<String>) -> Self {
        OptionError { key: key.to_owned(), value: value.to_owned(), reason: reason.into() }.into()
    }

    /// Wraps a target-specific error.
    pub fn failed(error: impl Into<Box<dyn Error + Send + Sync + 'static>>) -> Self {
        Self::Failed(error.into())
    }

    /// Wraps a target-specific error about `file`.
    pub fn in_file(file: &str, fault: impl Into<Box<dyn Error + Send + Sync + 'static>>) -> Self {
        Self::File { file: file.to_owned(), fault: fault.into() }
    }

    /// Wraps an error that points into text.
    pub fn text(error: impl Diagnostic + Send + Sync + 'static) -> Self {
        Self::Text(Box::new(error))
    }
}

codes!(TargetError {
    Unsupported = "unsupported-verb": "the target does not support the verb";
    Refused = "unsupported-model": "nodes of a model cannot be imported or compiled for the target";
    Differs = "hardware-differs": "the hardware deviates from the instructions of the program";
    Unrepeatable = "unrepeatable": "a program gives other outputs when it runs again";
    Unbuildable = "no-circuit": "the circuit does not support parameters of the instance";
    Text = "invalid-text": "a text is invalid; the message shows the places";
    File = "invalid-file": "a file is malformed";
    Failed = "target-failed": "the target could not do what was asked, for a reason without a code of its own";
} carries { Option.0 });

fn findings(findings: &[Finding]) -> String {
    let line = |finding: &Finding| {
        let place = finding.instruction.map_or_else(String::new, |index| format!("instruction {index}"));
        let layer = finding.layer.as_ref().map_or_else(String::new, |layer| format!(" (layer `{layer}`)"));
        format!("\n  {place}{layer}: {}", finding.message)
    };
    let shown = findings.iter().take(MAX_FINDINGS).map(line);
    let more = findings.len().saturating_sub(MAX_FINDINGS);
    let rest = (more > 0).then(|| format!("\n  and {more} more: `npu lint` lists them"));
    shown.chain(rest).collect()
}

/// Maximum number of findings that an error message lists.
const MAX_FINDINGS: usize = 10;

/// Quotes a verb for a message; the object that follows ` of ` stays unquoted.
fn quoted(verb: &str) -> String {
    match verb.split_once(" of ") {
        Some((verb, of)) => format!("`{verb}` of {of}"),
        None => format!("`{verb}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verbs_are_quoted_without_what_they_are_asked_of() {
        let message = |verb| TargetError::Unsupported { target: "toy".to_owned(), verb }.to_string();
        assert_eq!(message("time --trace"), "target `toy` does not support `time --trace`");
        assert_eq!(
            message("verify --bounds of several segments: give the artifact of one of them"),
            "target `toy` does not support `verify --bounds` of several segments: give the artifact of one of them"
        );
    }
}
