//! [`TargetError`]: why a target could not do what a verb asked of it.

use std::error::Error;

use crate::rtl::Unbuildable;
use npukit_base::{codes, counted};
use npukit_lower::{Problem, list};

use miette::Diagnostic;

use crate::config::options::OptionError;
use crate::lint::Finding;

/// Why a target could not do what was asked.
#[derive(Debug, thiserror::Error, Diagnostic)]
#[non_exhaustive]
pub enum TargetError {
    /// The target does not have this part.
    #[error("target `{target}` has no {}", quoted(verb))]
    Unsupported {
        /// Name of the target.
        target: String,
        /// The verb asked for; after ` of ` what it is asked of, in words.
        verb: &'static str,
    },
    /// An option the target does not know, or a value it does not take.
    #[error(transparent)]
    Option(#[from] OptionError),
    /// Nodes of the model cannot be lowered; all of them are listed.
    #[error("{} of the model cannot be compiled for this target:{}", counted(.0.len() as u64, "node"), list(.0))]
    Refused(Vec<Problem>),
    /// The released hardware computes something else than the instructions say; all places are listed.
    #[error("the hardware computes something else than this program says:{}", findings(.0))]
    #[diagnostic(help(
        "`--sequential` takes the instructions one after the other, `--hardware` computes what the hardware does"
    ))]
    Differs(Vec<Finding>),
    /// A program that gives other outputs when it runs again.
    #[error("output `{output}` of run {time} is not that of the first run on the same inputs")]
    #[diagnostic(help("the program relies on memory that it changes itself, and that no driver sets again"))]
    Unrepeatable {
        /// Name of the output.
        output: String,
        /// Which run, from 1.
        time: u32,
    },
    /// There is no circuit of an instance.
    #[error(transparent)]
    Unbuildable(#[from] Unbuildable),
    /// Text that is wrong at places it can point to.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Text(Box<dyn Diagnostic + Send + Sync + 'static>),
    /// What is wrong with a file, as the target's own error says.
    #[error("{file}: {fault}")]
    File {
        /// The file.
        file: String,
        /// What is wrong with it.
        fault: Box<dyn Error + Send + Sync + 'static>,
    },
    /// Any other error of the target's own.
    #[error(transparent)]
    Failed(Box<dyn Error + Send + Sync + 'static>),
}

impl TargetError {
    /// An option, or something else that is chosen by name, that is not legal; `reason` says what is.
    pub fn option(key: &str, value: &str, reason: impl Into<String>) -> Self {
        OptionError { key: key.to_owned(), value: value.to_owned(), reason: reason.into() }.into()
    }

    /// Wraps a target's own error.
    pub fn failed(error: impl Into<Box<dyn Error + Send + Sync + 'static>>) -> Self {
        Self::Failed(error.into())
    }

    /// Wraps a target's own error about `file`.
    pub fn in_file(file: &str, fault: impl Into<Box<dyn Error + Send + Sync + 'static>>) -> Self {
        Self::File { file: file.to_owned(), fault: fault.into() }
    }

    /// Wraps an error that points into text.
    pub fn text(error: impl Diagnostic + Send + Sync + 'static) -> Self {
        Self::Text(Box::new(error))
    }
}

codes!(TargetError {
    Unsupported = "unsupported-verb": "the target does not have this part";
    Refused = "unsupported-model": "nodes of a model cannot be imported or compiled for the target";
    Differs = "hardware-differs": "the hardware computes something else than the program says";
    Unrepeatable = "unrepeatable": "a program gives other outputs when it runs again";
    Unbuildable = "no-circuit": "parameters of an instance are none that its circuit can have";
    Text = "invalid-text": "a text is wrong at places it points to";
    File = "invalid-file": "a file is not what it is taken for";
    Failed = "target-failed": "the target could not do what was asked, for a reason without a code";
} carries { Option.0 });

fn findings(findings: &[Finding]) -> String {
    let line = |finding: &Finding| {
        let place = finding.instruction.map_or_else(String::new, |index| format!("instruction {index}"));
        let layer = finding.layer.as_ref().map_or_else(String::new, |layer| format!(" (layer `{layer}`)"));
        format!("\n  {place}{layer}: {}", finding.message)
    };
    let shown = findings.iter().take(MOST_FINDINGS).map(line);
    let more = findings.len().saturating_sub(MOST_FINDINGS);
    let rest = (more > 0).then(|| format!("\n  and {more} more: `npu lint` lists them"));
    shown.chain(rest).collect()
}

/// Findings that an error spells out.
const MOST_FINDINGS: usize = 10;

/// A verb as it is typed, and after it what it is asked of.
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
        let told = |verb| TargetError::Unsupported { target: "toy".to_owned(), verb }.to_string();
        assert_eq!(told("time --trace"), "target `toy` has no `time --trace`");
        assert_eq!(
            told("verify --bounds of several segments: give the artifact of one of them"),
            "target `toy` has no `verify --bounds` of several segments: give the artifact of one of them"
        );
    }
}
