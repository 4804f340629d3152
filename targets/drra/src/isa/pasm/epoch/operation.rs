//! [`resolve`]: resolves an operation of PASM on a fabric.

use npukit_asm::source_span;
use npukit_base::Span;

use super::fault::{bad_value, rule, unknown, value_error};
use super::fields::control;
use super::reader::Reader;
use super::rep::Rep;
use crate::config::component::Component;
use crate::config::fabric::{Fabric, Place};
use crate::isa::Isa;
use crate::isa::op::{Op, ResourceOp};
use crate::isa::pasm::PasmError;
use crate::isa::pasm::ast::{self, OperationKind, Value, find};
use crate::isa::pasm::epoch::rop::{Resolved, Rop, RopText, Setting};
use crate::isa::pasm::schedule::{Schedule, Variable};

/// Resolved operation.
#[derive(Clone, Debug)]
pub struct Operation {
    /// Name, generated if the text has none.
    pub name: String,
    /// Span in the text.
    pub span: Span,
    /// Position of its cell.
    pub place: Place,
    /// Index of its cell.
    pub cell: usize,
    /// Action in the cell.
    pub action: Action,
    /// Checked text, for a rop.
    pub text: Option<RopText>,
}

/// Action of an operation.
#[derive(Clone, Debug)]
pub enum Action {
    /// Configures and starts a port.
    Rop(Rop),
    /// Sequencer instructions with their offsets from the start, and their total cycles.
    Cop(Vec<(i64, Op)>, i64),
}

impl Operation {
    /// Number of instructions before its start, if no delay needs more.
    pub fn configurations(&self) -> usize {
        self.instructions_with(|_| 0).len()
    }

    /// Returns the instructions before its start.
    pub fn instructions(&self, found: &Schedule) -> Vec<Op> {
        self.instructions_with(|variable| found.value(variable))
    }

    fn instructions_with(&self, value: impl Fn(Variable) -> i64) -> Vec<Op> {
        let Action::Rop(rop) = &self.action else { return Vec::new() };
        let ops = rop.settings.iter().flat_map(|setting| match *setting {
            Setting::Op(op) => vec![op],
            Setting::Rep(rep, variable) => {
                let delay = variable.map_or(rep.delay, &value);
                let rep = Rep { delay, ..rep };
                let ops = rep.instructions(rop.port, rop.revision, rop.component);
                ops.expect("the reader and the bounds of variables exclude other values")
            }
            Setting::Trans(delay, variable) => {
                let delay = variable.map_or(delay, &value);
                let delay = u32::try_from(delay).expect("variables and fields have lower bounds of 0");
                vec![ResourceOp::Trans { port: rop.port, delay }]
            }
        });
        ops.map(|op| Op::Resource { slot: rop.slot, op }).collect()
    }

    /// Returns the instructions at and after its start, with their offsets.
    pub fn sequence(&self) -> impl Iterator<Item = (i64, Op)> + '_ {
        let ops: &[(i64, Op)] = match &self.action {
            Action::Cop(ops, _) => ops,
            Action::Rop(_) => &[],
        };
        ops.iter().copied()
    }

    /// Returns the rop, if it is one.
    pub const fn rop(&self) -> Option<&Rop> {
        match &self.action {
            Action::Rop(rop) => Some(rop),
            Action::Cop(..) => None,
        }
    }
}

/// Resolves an operation; new free variables are appended to `variables`.
///
/// # Errors
///
/// All errors of the operation.
pub fn resolve(
    fabric: &Fabric,
    operation: &ast::Operation,
    variables: &mut Vec<String>,
) -> Result<Operation, Vec<PasmError>> {
    let one = |error| vec![error];
    check_parameters(operation).map_err(one)?;
    let place =
        Place { row: index(operation, "row").map_err(one)?, col: index(operation, "col").map_err(one)? };
    let Some(cell) = fabric.index(place) else {
        let legal = format!("the fabric has {} rows and {} columns", fabric.rows, fabric.cols);
        return Err(vec![value_error("the cell", &place.to_string(), &legal, operation.span)]);
    };
    let name = operation
        .name
        .as_ref()
        .map_or_else(|| format!("unnamed {}", operation.kind.keyword()), |n| n.text.clone());
    let (action, text) = match operation.kind {
        OperationKind::Rop => {
            let (rop, text) = rop(fabric, operation, place, cell, variables)?;
            (Action::Rop(rop), Some(text))
        }
        OperationKind::Cop | OperationKind::Raw => (cop(Isa::read_by(fabric.options), operation)?, None),
    };
    Ok(Operation { name, span: operation.span, place, cell, action, text })
}

fn check_parameters(operation: &ast::Operation) -> Resolved<()> {
    let known: &[&str] =
        if operation.kind == OperationKind::Rop { &["row", "col", "slot", "port"] } else { &["row", "col"] };
    match operation.parameters.iter().find(|parameter| !known.contains(&parameter.name.text.as_str())) {
        Some(parameter) => Err(unknown("parameter", &parameter.name, known.iter().copied())),
        None => Ok(()),
    }
}

fn index(operation: &ast::Operation, name: &'static str) -> Resolved<usize> {
    let what = format!("a {}", operation.kind.keyword());
    let missing = || PasmError::Missing { what, parameter: name, span: source_span(operation.span) };
    let parameter = operation.parameter(name).ok_or_else(missing)?;
    let value = match parameter.value {
        Value::Integer(value) => usize::try_from(value).ok(),
        Value::Name(_) => None,
    };
    value.ok_or_else(|| bad_value(name, parameter, "it must be a number of at least 0"))
}

fn rop(
    fabric: &Fabric,
    operation: &ast::Operation,
    place: Place,
    cell_number: usize,
    variables: &mut Vec<String>,
) -> Result<(Rop, RopText), Vec<PasmError>> {
    let one = |error| vec![error];
    let (slot, port) = (index(operation, "slot").map_err(one)?, index(operation, "port").map_err(one)?);
    // Default: a slot number that no cell has.
    let slot = u8::try_from(slot).unwrap_or(u8::MAX);
    let cell = fabric.cell(place);
    let Some(resource) = cell.and_then(|cell| cell.resource_at(slot)) else {
        let span = find(&operation.parameters, "slot").map_or(operation.span, |parameter| parameter.span);
        return Err(vec![value_error("the slot", &slot.to_string(), &slots(fabric, place), span)]);
    };
    let ports = ports(resource.component, slot - resource.slot);
    // Upstream's tutorial starts routes on port 2. The start has no effect, so it is accepted.
    let legal = ports.contains(&(port as u8)) || (resource.component == Component::Swb && port == 2);
    if !legal || port > 3 {
        let span = find(&operation.parameters, "port").map_or(operation.span, |parameter| parameter.span);
        let list = ports.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let component = resource.component.name();
        let legal = format!("slot {slot} holds {component}, whose ports there are {list}");
        return Err(vec![value_error("the port", &port.to_string(), &legal, span)]);
    }
    let is_unheard = resource.component == Component::Swb && port == 2;
    let port = if is_unheard { 1 } else { port as u8 };
    let empty = Rop {
        slot,
        port,
        component: resource.component,
        first_slot: resource.slot,
        revision: fabric.options.revision,
        settings: Vec::new(),
        pattern: None,
    };
    let mut reader = Reader::new(empty, variables);
    let errors: Vec<PasmError> =
        operation.instructions.iter().filter_map(|one| reader.read(one).err()).collect();
    if !errors.is_empty() {
        return Err(errors);
    }
    let mut text = reader.text(cell_number);
    let port = || find(&operation.parameters, "port").map_or(operation.span, |parameter| parameter.span);
    text.unheard = is_unheard.then(port);
    Ok((reader.finish(operation.span).map_err(one)?, text))
}

/// Returns the ports of a component at a slot, relative to its first.
fn ports(component: Component, relative: u8) -> &'static [u8] {
    match (component, relative) {
        (Component::Swb | Component::Dpu, 0) => &[0, 1],
        (Component::Rf, 0) | (Component::IosramBoth, 0) => &[0, 1, 2, 3],
        (Component::IosramTop, 0) => &[0, 2],
        (Component::IosramBtm, 0) => &[1, 3],
        (component, 1) if component.is_iosram() => &[2, 3],
        _ => &[],
    }
}

fn slots(fabric: &Fabric, place: Place) -> String {
    let resources = fabric.cell(place).map_or(&[][..], |cell| &cell.resources[..]);
    let list: Vec<String> =
        resources.iter().map(|resource| format!("{} {}", resource.slot, resource.component.name())).collect();
    format!("cell {place} has {}", list.join(", "))
}

/// Resolves the instructions of a cop: calculations and waits.
fn cop(isa: &'static Isa, operation: &ast::Operation) -> Result<Action, Vec<PasmError>> {
    let (mut ops, mut cycles, mut errors) = (Vec::new(), 0_i64, Vec::new());
    for instruction in &operation.instructions {
        match control(isa, instruction) {
            Ok(Op::Wait { cycle, events: false }) => cycles += i64::from(cycle) + 1,
            Ok(op @ Op::Calc { .. }) => {
                ops.push((cycles, op));
                cycles += 1;
            }
            Ok(_) => errors.push(rule(
                &format!("a cop cannot hold `{}`", instruction.mnemonic.text),
                instruction.mnemonic.span,
                "a cop may hold calc and wait (mode=0); use `for` and `if` to branch, and constraints to start rops",
            )),
            Err(error) => errors.push(error),
        }
    }
    if errors.is_empty() { Ok(Action::Cop(ops, cycles)) } else { Err(errors) }
}
