//! [`findings`]: everything wrong with a program, as reports have it.

use npukit_target::{Finding, Severity};

use super::idle::idle;
use super::{Lint, lints, refusals};
use crate::fabric::Fabric;
use crate::lints::REFUSED;
use crate::program::{At, Program, ProgramError};

/// Everything that the fabric refuses, does otherwise than the program says, or that is probably a mistake, in the
/// order of the program's cells.
///
/// # Errors
///
/// Words that are not instructions.
pub(crate) fn findings(fabric: &Fabric, program: &Program) -> Result<Vec<Finding>, ProgramError> {
    findings_with(fabric, program, Vec::new())
}

/// The same with what else is known: of the text that the program comes from, of its memories.
///
/// # Errors
///
/// Words that are not instructions.
pub(crate) fn findings_with(
    fabric: &Fabric,
    program: &Program,
    others: Vec<(At, Lint)>,
) -> Result<Vec<Finding>, ProgramError> {
    let ops = program.decode(fabric)?;
    let revision = fabric.options.revision;
    let refused = refusals(fabric, &ops).into_iter();
    let refused = refused.map(|(at, refusal)| (at, REFUSED, Severity::Error, refusal.to_string()));
    let cells = fabric.places().zip(&fabric.cells).zip(&ops);
    let idle = cells.flat_map(|((place, cell), ops)| {
        let idle = idle(cell, fabric.options, ops).into_iter();
        idle.map(move |(pc, lint)| (At { place, pc }, lint))
    });
    let lints = lints(fabric, &ops).into_iter().chain(idle).chain(others);
    let lints = lints.map(|(at, lint)| (at, lint.kind(), lint.severity(revision), lint.to_string()));
    let mut all: Vec<_> = refused.chain(lints).collect();
    all.sort_by_key(|(at, ..)| *at);
    let finding = |(at, kind, severity, message): (At, _, _, String)| {
        Finding::new(kind, severity, Some(program.index(at)), format!("{at}: {message}"))
    };
    Ok(all.into_iter().map(finding).collect())
}
