//! [`findings`]: everything wrong with a program, as reports have it.

use npukit_target::{Finding, Severity};

use super::{lints, refusals};
use crate::fabric::Fabric;
use crate::program::{At, Program, ProgramError};

/// The code of what a fabric refuses.
const REFUSED: &str = "refused";

/// Everything that the fabric refuses, does otherwise than the program says, or that is probably a mistake, in the
/// order of the program's cells.
///
/// # Errors
///
/// Words that are not instructions.
pub(crate) fn findings(fabric: &Fabric, program: &Program) -> Result<Vec<Finding>, ProgramError> {
    let ops = program.decode(fabric)?;
    let revision = fabric.options.revision;
    let refused = refusals(fabric, &ops).into_iter();
    let refused = refused.map(|(at, refusal)| (at, REFUSED, Severity::Error, refusal.to_string()));
    let lints = lints(fabric, &ops).into_iter();
    let lints = lints.map(|(at, lint)| (at, lint.code(), lint.severity(revision), lint.to_string()));
    let mut all: Vec<_> = refused.chain(lints).collect();
    all.sort_by_key(|(at, ..)| *at);
    let finding = |(at, code, severity, message): (At, _, _, String)| Finding {
        code,
        severity,
        instruction: Some(program.index(at)),
        layer: None,
        message: format!("{at}: {message}"),
    };
    Ok(all.into_iter().map(finding).collect())
}

/// A warning of the assembler with its code.
pub(crate) fn code(code: &str, warning: &str) -> String {
    format!("{warning} [{code}]")
}
