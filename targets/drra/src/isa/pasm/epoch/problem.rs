//! [`problem`]: converts an epoch to numbers for the scheduler.

use std::collections::BTreeMap;

use super::Epoch;
use super::constraint::constraints;
use super::operation::{Action, Operation};
use super::rep::Rep;
use crate::config::component::Component;
use crate::isa::op::{ResourceOp, Transfer};
use crate::isa::pasm::PasmError;
use crate::isa::pasm::epoch::rop::{Rop, Setting};
use crate::isa::pasm::schedule::linear::{Linear, Variable};
use crate::isa::pasm::schedule::{self, Issue, Line, Problem, Rule, Schedule};

/// Latest start of an operation.
const LAST_CYCLE: i64 = 4_000_000;
/// Largest value of a free variable.
const MAX_FREE: i64 = 100_000;

/// Cell, slot of the component, port of the component.
type Port = (usize, u8, u8, u8);

/// Earliest cycle in which each port may be configured.
#[derive(Clone, Debug, Default)]
pub struct Ports {
    /// Cycles after the end of the previous epoch, by port.
    ready: BTreeMap<Port, i64>,
    /// Cycles after the end of the previous epoch, for all other ports.
    others: i64,
}

impl Ports {
    /// Worst case: any port may have been active until the end of the previous epoch.
    pub fn unknown() -> Self {
        Self { ready: BTreeMap::new(), others: gap(Component::Rf) - 1 }
    }

    /// State of the ports after an epoch.
    pub fn after(epoch: &Epoch, problem: &Problem, found: &Schedule) -> Self {
        let mut ready: BTreeMap<Port, i64> = BTreeMap::new();
        for (operation, plain) in epoch.operations.iter().zip(&problem.operations) {
            if let Some(rop) = operation.rop().filter(|rop| rop.pattern.is_some()) {
                let last = found.value(plain.start) + plain.span.value(&found.values);
                let free = last + gap(rop.component) - found.cycles;
                let port = ready.entry(port(operation, rop)).or_default();
                *port = (*port).max(free);
            }
        }
        Self { ready, others: 0 }
    }

    fn ready(&self, port: Port) -> i64 {
        // Default: the value of all other ports.
        self.ready.get(&port).copied().unwrap_or(self.others)
    }
}

fn port(operation: &Operation, rop: &Rop) -> Port {
    (operation.cell, rop.first_slot, rop.slot, rop.port)
}

/// Cycles from a port's last address to the first cycle in which it can be configured
/// (specification 4.5).
const fn gap(component: Component) -> i64 {
    if component.has_lanes() { 2 } else { 1 }
}

/// Returns the free variables of an epoch with their problem variables.
pub fn free_variables(epoch: &Epoch) -> impl Iterator<Item = (&String, Variable)> {
    epoch.variables.iter().enumerate().map(|(index, name)| (name, Variable(index)))
}

/// Makes the problem of an epoch, given each operation's number of `configurations`.
///
/// # Errors
///
/// A constraint has an unknown name.
pub fn problem(epoch: &Epoch, configurations: &[usize], ports: &Ports) -> Result<Problem, PasmError> {
    let mut problem = Problem { one_port: epoch.revision.is_seed(), ..Problem::default() };
    let most = most_of_variables(epoch);
    let free: Vec<Variable> = most.into_iter().map(|most| problem.variable(0, most)).collect();
    for (operation, &configurations) in epoch.operations.iter().zip(configurations) {
        let (low, issue, span) = match &operation.action {
            Action::Cop(_, cycles) => {
                let instructions = usize::try_from(*cycles).expect("instructions take cycles");
                (0, Issue::Sequence { instructions }, Linear::default())
            }
            Action::Rop(rop) => {
                let ready = if rop.pattern.is_some() { ports.ready(port(operation, rop)) } else { 0 };
                (
                    ready,
                    issue(rop, configurations),
                    rop.pattern.as_ref().map_or_else(Linear::default, |one| one.span()),
                )
            }
        };
        let (start, ready) = (problem.variable(0, LAST_CYCLE), problem.variable(low.max(0), LAST_CYCLE));
        let component = operation.rop().map_or(0, |rop| usize::from(rop.first_slot));
        problem.operations.push(schedule::Operation {
            start,
            ready,
            cell: operation.cell,
            component,
            issue,
            span,
        });
    }
    let starts: Vec<Variable> = problem.operations.iter().map(|operation| operation.start).collect();
    problem.constraints = constraints(epoch, &starts, &free)?;
    problem.rules = rules(&epoch.operations);
    Ok(problem)
}

/// Returns the largest value of each free variable. A delay is limited by its field.
fn most_of_variables(epoch: &Epoch) -> Vec<i64> {
    let mut most = vec![MAX_FREE; epoch.variables.len()];
    for rop in epoch.operations.iter().filter_map(Operation::rop) {
        let [.., (_, _, longest)] = Rep::limits(rop.revision, rop.component);
        for setting in &rop.settings {
            if let Setting::Rep(_, Some(variable)) = setting
                && let Some(most) = most.get_mut(variable.0)
            {
                *most = longest.min(*most);
            }
        }
    }
    most
}

const fn issue(rop: &Rop, configurations: usize) -> Issue {
    match rop.pattern {
        Some(_) => Issue::Activated { configurations, line: Line { slot: rop.slot, port: rop.port } },
        None => Issue::Configured { configurations },
    }
}

/// Returns the hardware rules between the operations of a cell.
fn rules(operations: &[Operation]) -> Vec<Rule> {
    let mut rules = Vec::new();
    for (a, first) in operations.iter().enumerate() {
        for (b, second) in operations.iter().enumerate().skip(a + 1).filter(|(_, one)| one.cell == first.cell)
        {
            match (&first.action, &second.action) {
                (Action::Rop(one), Action::Rop(other)) => {
                    let both_start = one.pattern.is_some() && other.pattern.is_some();
                    if both_start && (one.slot, one.port) == (other.slot, other.port) {
                        rules.push(Rule::Exclusive { operations: (a, b), gap: gap(one.component) });
                    }
                    rules.extend(changes(one, other).then_some(Rule::Table { writer: a, user: b }));
                    rules.extend(changes(other, one).then_some(Rule::Table { writer: b, user: a }));
                }
                _ => rules.push(Rule::Issue { operations: (a, b) }),
            }
        }
    }
    rules
}

/// Whether the configuration of `writer` changes a connection that the data of `user` pass through.
fn changes(writer: &Rop, user: &Rop) -> bool {
    if user.pattern.is_none() {
        return false;
    }
    let is_rf = user.component == Component::Rf;
    let (writes_word, reads_word) = (is_rf && user.port == 0, is_rf && user.port == 1);
    let has_bulk = is_rf || (user.component.is_iosram() && user.slot > user.first_slot);
    let (takes_bulk, gives_bulk) = (has_bulk && user.port == 2, has_bulk && user.port == 3);
    writer.settings.iter().any(|setting| match setting {
        Setting::Op(op) => match *op {
            ResourceOp::Swb { source, target, .. } => {
                (reads_word && user.slot == source) || (writes_word && user.slot == target)
            }
            ResourceOp::Route { sr: Transfer::Send, source, .. } => gives_bulk && user.slot == source,
            ResourceOp::Route { sr: Transfer::Receive, target, .. } => {
                takes_bulk && target >> user.slot & 1 == 1
            }
            ResourceOp::Dpu { .. } => {
                writes_word || (user.component == Component::Dpu && user.first_slot == writer.first_slot)
            }
            _ => false,
        },
        _ => false,
    })
}
