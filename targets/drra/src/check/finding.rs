//! [`findings`]: all problems of a program, in the form of reports.

use npukit_target::{Finding, Severity};

use super::idle::idle;
use super::{Lint, lints};
use crate::check::lints::REFUSED;
use crate::config::fabric::Fabric;
use crate::isa::program::{At, Program, ProgramError};
use crate::isa::refusal::refusals;

/// Fabric that executes the instructions that a kernel's fabric ignores.
pub(crate) const ELSEWHERE: &str = "a fabric with `+seed`";

/// Returns all refused instructions, differences between fabric and program, and likely mistakes,
/// in the order of the program's cells. `elsewhere` names the fabric that executes what this one
/// ignores.
///
/// # Errors
///
/// Words that are not instructions.
pub(crate) fn findings(
    fabric: &Fabric,
    program: &Program,
    elsewhere: &str,
) -> Result<Vec<Finding>, ProgramError> {
    findings_with(fabric, program, Vec::new(), elsewhere)
}

/// Like [`findings`], with additional findings `others` from the program's text or memories.
///
/// # Errors
///
/// Words that are not instructions.
pub(crate) fn findings_with(
    fabric: &Fabric,
    program: &Program,
    others: Vec<(At, Lint)>,
    elsewhere: &str,
) -> Result<Vec<Finding>, ProgramError> {
    let ops = program.decode(fabric)?;
    let revision = fabric.options.revision;
    let refused = refusals(fabric, &ops).into_iter();
    let refused = refused.map(|(at, refusal)| {
        let ignored = refusal.ignored().filter(|_| revision.is_released());
        let message = ignored.map_or_else(|| refusal.to_string(), |what| ignores(what, elsewhere));
        (at, REFUSED, Severity::Error, message)
    });
    let cells = fabric.places().zip(&fabric.cells).zip(&ops);
    let idle = cells.flat_map(|((place, cell), ops)| {
        let idle = idle(cell, fabric.options, ops).into_iter();
        idle.map(move |(pc, lint)| (At { place, pc }, lint))
    });
    let lints = lints(fabric, &ops).into_iter().chain(idle).chain(others);
    let lints = lints.map(|(at, lint)| (at, lint.kind(), lint.severity(revision), message(&lint, elsewhere)));
    let mut all: Vec<_> = refused.chain(lints).collect();
    all.sort_by_key(|(at, ..)| *at);
    let finding = |(at, kind, severity, message): (At, _, _, String)| {
        Finding::new(kind, severity, Some(program.index(at)), format!("{at}: {message}"))
    };
    Ok(all.into_iter().map(finding).collect())
}

/// Returns the message of a lint. If the released fabric ignores the instruction, it names a fabric
/// that does not.
pub(crate) fn message(lint: &Lint, elsewhere: &str) -> String {
    if lint.is_ignored() { ignores(&lint.to_string(), elsewhere) } else { lint.to_string() }
}

fn ignores(what: &str, elsewhere: &str) -> String {
    format!("{what}: the released fabric ignores it; use {elsewhere}")
}
