//! Errors for epochs without a schedule, with spans.

use miette::LabeledSpan;
use npukit_asm::source_span;

use super::Epoch;
use crate::isa::pasm::PasmError;
use crate::isa::pasm::schedule::{Conflict, Problem, Rule, ScheduleError, Violation};

/// Returns the error with the contradictory constraints, or one for a search that found no
/// schedule.
pub fn error(
    epoch: &Epoch,
    problem: &Problem,
    conflict: Option<Conflict>,
    error: ScheduleError,
) -> PasmError {
    let Some(conflict) = conflict else {
        return PasmError::Schedule {
            reason: error.to_string(),
            labels: Vec::new(),
            help: "state the order of operations on a port, and avoid `!=` and `\\/`".to_owned(),
        };
    };
    let constraints = conflict.constraints.iter().filter_map(|&index| epoch.constraints.get(index));
    let label = |constraint: &crate::isa::pasm::ast::Constraint| {
        LabeledSpan::new_with_span(Some("this".to_owned()), source_span(constraint.span))
    };
    let labels: Vec<LabeledSpan> = constraints.map(label).collect();
    let rules = conflict.rules.iter().filter_map(|&index| problem.rules.get(index));
    let mut help: Vec<String> = rules.map(|rule| sentence(epoch, rule)).collect();
    if !conflict.is_irreducible {
        help.push("some of them may not be part of the contradiction".to_owned());
    } else if labels.len() + help.len() > 1 {
        help.push("removing any one of them resolves the contradiction".to_owned());
    }
    let reason = match labels.len() {
        0 => "the operations cannot be scheduled".to_owned(),
        1 => "this constraint cannot hold".to_owned(),
        count => format!("these {count} constraints cannot hold together"),
    };
    PasmError::Schedule { reason, labels, help: help.join("\n") }
}

/// Describes a rule of the hardware.
fn sentence(epoch: &Epoch, rule: &Rule) -> String {
    let name = |index: usize| format!("`{}`", epoch.label(index).0);
    match *rule {
        Rule::Exclusive { operations: (a, b), gap } => format!(
            "{} and {} use the same port: one must be configured at least {gap} cycles after the last address of the other",
            name(a),
            name(b)
        ),
        Rule::Table { writer, user } => format!(
            "{} changes a configuration that {} uses: it must start no later, or be configured after the other has ended",
            name(writer),
            name(user)
        ),
        Rule::Issue { operations: (a, b) } => {
            format!("{} and {} are issued by one sequencer, one instruction per cycle", name(a), name(b))
        }
    }
}

/// Error for an invalid schedule, which is a defect of the scheduler.
pub fn defect(violation: &Violation) -> PasmError {
    PasmError::Schedule {
        reason: format!("the scheduler made an invalid schedule: {violation}"),
        labels: Vec::new(),
        help: "this is a defect of npukit: please report it with the program".to_owned(),
    }
}

/// Error for delays that keep needing more instructions.
pub fn unstable(rounds: usize) -> PasmError {
    PasmError::Schedule {
        reason: format!("after {rounds} rounds, delays still need more instructions than they are given"),
        labels: Vec::new(),
        help: "limit the variables by constraints".to_owned(),
    }
}
