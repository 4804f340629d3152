//! [`Problem`]: a problem with an instruction of a program.

use npukit_target::Lint;

use crate::check::lints::{FAULT, HANGING_SIMD, LOST_ADDITION, MOVED_WRITES};
use crate::clock::hazard::Judged;
use crate::clock::moved_writes::MovedWrites;
use crate::isa::fault::FaultKind;

/// Severity of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Runs, but is suspicious.
    Warning,
    /// Cannot run, or the hardware computes a different result.
    Error,
}

/// A problem with an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Index in the program, starting at 0.
    pub instruction: usize,
    /// Severity of the problem.
    pub severity: Severity,
    /// Kind of the problem.
    pub lint: &'static Lint,
    /// Description of the problem, with the numbers.
    pub reason: String,
    /// Remedy.
    pub hint: String,
}

impl Problem {
    pub(crate) fn warning(instruction: usize, lint: &'static Lint, reason: String, hint: &str) -> Self {
        Self { instruction, severity: Severity::Warning, lint, reason, hint: hint.to_owned() }
    }

    pub(super) fn error(instruction: usize, kind: &FaultKind) -> Self {
        let (reason, hint) = (kind.to_string(), kind.hint());
        let hangs = matches!(
            kind,
            FaultKind::NoOpMoves | FaultKind::ReadUnused { .. } | FaultKind::InputMissing { .. }
        );
        let lint = if hangs { HANGING_SIMD } else { FAULT };
        Self { instruction, severity: Severity::Error, lint, reason, hint }
    }

    pub(super) fn moved(moved: &MovedWrites) -> Self {
        let (severity, lint, reason) = (Severity::Error, MOVED_WRITES, moved.to_string());
        Self { instruction: moved.configure, severity, lint, reason, hint: MovedWrites::HINT.to_owned() }
    }

    pub(super) fn lost(judged: &Judged) -> Self {
        let severity = if judged.differs() { Severity::Error } else { Severity::Warning };
        let (reason, hint) = (judged.reason(), Judged::HINT.to_owned());
        Self { instruction: judged.hazard.second, severity, lint: LOST_ADDITION, reason, hint }
    }
}
