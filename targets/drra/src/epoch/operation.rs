//! [`resolve`]: what an operation of PASM means on a fabric.

use npukit_base::{Span, closest};

use super::rep::{Rep, limits};
use crate::component::Component;
use crate::fabric::{Fabric, Place};
use crate::isa::{Field, Isa, Row};
use crate::op::{Op, ResourceOp};
use crate::pasm::PasmError;
use crate::pasm::ast::{self, OperationKind, Parameter, Value, find};
use crate::pasm::error::source_span;
use crate::pasm::pattern::{MOST_CYCLES, Pattern};
use crate::schedule::linear::Linear;
use crate::schedule::{Schedule, Variable};

/// Lanes, inner levels of each, and outer levels of an address generator.
const MOST_LEVELS: usize = 4;

/// An operation, resolved.
#[derive(Clone, Debug)]
pub struct Operation {
    /// Its name; a made-up one when it has none.
    pub name: String,
    /// Its place in the text.
    pub span: Span,
    /// Its cell.
    pub place: Place,
    /// The cell's number.
    pub cell: usize,
    /// What it does there.
    pub action: Action,
}

/// What an operation does.
#[derive(Clone, Debug)]
pub enum Action {
    /// Configures and starts a port.
    Rop(Rop),
    /// Instructions of the sequencer, at offsets from its start, and how many cycles they take.
    Cop(Vec<(i64, Op)>, i64),
}

/// An operation on a port.
#[derive(Clone, Debug)]
pub struct Rop {
    /// As written.
    pub slot: u8,
    /// As written.
    pub port: u8,
    /// What sits in the slot.
    pub component: Component,
    /// The first slot of that.
    pub first_slot: u8,
    /// Before its start, in order.
    pub settings: Vec<Setting>,
    /// When its events happen; none without events.
    pub pattern: Option<Pattern>,
}

/// An instruction of a rop, before delays are known.
#[derive(Clone, Debug)]
pub enum Setting {
    /// Complete.
    Op(ResourceOp),
    /// A level; its delay may be a variable.
    Rep(Rep, Option<Variable>),
    /// A transition; its delay may be a variable.
    Trans(i64, Option<Variable>),
}

impl Operation {
    /// Instructions before its start, when no delay needs more.
    pub fn configurations(&self) -> usize {
        self.instructions_with(|_| 0).len()
    }

    /// The instructions before its start.
    pub fn instructions(&self, found: &Schedule) -> Vec<Op> {
        self.instructions_with(|variable| found.value(variable))
    }

    fn instructions_with(&self, value: impl Fn(Variable) -> i64) -> Vec<Op> {
        let Action::Rop(rop) = &self.action else { return Vec::new() };
        let ops = rop.settings.iter().flat_map(|setting| match *setting {
            Setting::Op(op) => vec![op],
            Setting::Rep(rep, variable) => {
                let delay = variable.map_or(rep.delay, &value);
                Rep { delay, ..rep }.instructions(rop.port, delay_bits(rop.component))
            }
            Setting::Trans(delay, variable) => {
                let delay = variable.map_or(delay, &value);
                vec![ResourceOp::Trans { port: rop.port, delay: u32::try_from(delay).unwrap_or(0) }]
            }
        });
        ops.map(|op| Op::Resource { slot: rop.slot, op }).collect()
    }

    /// Instructions from its start on, with their offsets.
    pub fn sequence(&self) -> impl Iterator<Item = (i64, Op)> + '_ {
        let ops: &[(i64, Op)] = match &self.action {
            Action::Cop(ops, _) => ops,
            Action::Rop(_) => &[],
        };
        ops.iter().copied()
    }

    /// What it does on a port.
    pub const fn rop(&self) -> Option<&Rop> {
        match &self.action {
            Action::Rop(rop) => Some(rop),
            Action::Cop(..) => None,
        }
    }
}

/// Bits of `delay` in `rep`.
const fn delay_bits(component: Component) -> u32 {
    if matches!(component, Component::Dpu | Component::Swb) { 8 } else { 7 }
}

type Resolved<T> = Result<T, PasmError>;

/// What an operation means; new free variables are appended to `variables`. Errors: everything wrong with it.
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
    let action = match operation.kind {
        OperationKind::Rop => Action::Rop(rop(fabric, operation, place, variables)?),
        OperationKind::Cop | OperationKind::Raw => cop(operation)?,
    };
    Ok(Operation { name, span: operation.span, place, cell, action })
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
    value.ok_or_else(|| bad_value(name, parameter, "it is a number that is not negative"))
}

fn rop(
    fabric: &Fabric,
    operation: &ast::Operation,
    place: Place,
    variables: &mut Vec<String>,
) -> Result<Rop, Vec<PasmError>> {
    let one = |error| vec![error];
    let (slot, port) = (index(operation, "slot").map_err(one)?, index(operation, "port").map_err(one)?);
    let slot = u8::try_from(slot).unwrap_or(u8::MAX);
    let resource = fabric.cell(place).and_then(|cell| cell.resource_at(slot));
    let Some(resource) = resource else {
        let span = find(&operation.parameters, "slot").map_or(operation.span, |parameter| parameter.span);
        return Err(vec![value_error("the slot", &slot.to_string(), &slots(fabric, place), span)]);
    };
    let ports = ports(resource.component, slot - resource.slot);
    // Upstream's tutorial starts routes on port 2, which nothing listens to.
    let legal = ports.contains(&(port as u8)) || (resource.component == Component::Swb && port == 2);
    if !legal || port > 3 {
        let span = find(&operation.parameters, "port").map_or(operation.span, |parameter| parameter.span);
        let list: Vec<String> = ports.iter().map(ToString::to_string).collect();
        let legal = format!(
            "slot {slot} holds {}, whose ports there are {}",
            resource.component.name(),
            list.join(", ")
        );
        return Err(vec![value_error("the port", &port.to_string(), &legal, span)]);
    }
    let port = if resource.component == Component::Swb && port == 2 { 1 } else { port as u8 };
    let mut reader = Reader {
        rop: Rop {
            slot,
            port,
            component: resource.component,
            first_slot: resource.slot,
            settings: Vec::new(),
            pattern: None,
        },
        variables,
        lanes: Lanes::default(),
    };
    let errors: Vec<PasmError> =
        operation.instructions.iter().filter_map(|one| reader.read(one).err()).collect();
    if !errors.is_empty() {
        return Err(errors);
    }
    reader.finish(operation.span).map_err(one)
}

/// Ports of a component at a slot, counted from its first.
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

/// Reads the instructions of a rop.
struct Reader<'a> {
    rop: Rop,
    variables: &'a mut Vec<String>,
    lanes: Lanes,
}

/// Lanes, transitions and levels so far, as the address generator builds them.
#[derive(Default)]
struct Lanes {
    patterns: Vec<Pattern>,
    levels: usize,
    delays: Vec<Linear>,
    outer: Vec<(i64, Linear)>,
    /// Whether the instruction before was a `rep`.
    is_extendable: bool,
}

impl Reader<'_> {
    fn read(&mut self, instruction: &ast::Instruction) -> Resolved<()> {
        let rows = Isa::get().rows(self.rop.component);
        let mnemonic = &instruction.mnemonic;
        let row = rows.iter().find(|row| row.name == mnemonic.text);
        let row = row.ok_or_else(|| unknown("instruction", mnemonic, rows.iter().map(|row| row.name)))?;
        let fields = self.fields(row, instruction)?;
        let span = mnemonic.span;
        match row.name {
            "dsu" | "evt" => self.open(fields.op(self.rop.slot, span)?, span),
            "rep" => self.rep(&fields, span),
            "repx" => self.repx(&fields, span),
            "trans" => self.trans(&fields, span),
            _ => {
                self.rop.settings.push(Setting::Op(fields.op(self.rop.slot, span)?));
                Ok(())
            }
        }
    }

    /// The values of an instruction's fields, what is not written at its default.
    fn fields(&mut self, row: &'static Row, instruction: &ast::Instruction) -> Resolved<Fields> {
        let mut fields = Fields { row, component: self.rop.component, values: Vec::new(), delay: None };
        fields.values = row.fields.iter().map(|field| field.value_of(field.default)).collect();
        fields.set("port", self.rop.port.into());
        for parameter in &instruction.parameters {
            match parameter.name.text.as_str() {
                "slot" => self.same(parameter, "slot", self.rop.slot)?,
                "port" => self.port(parameter, row)?,
                "level" => self.level(parameter)?,
                name => {
                    let name = if name == "option" && row.name == "dpu" { "config" } else { name };
                    let names = row.fields.iter().map(|field| field.name);
                    let index = row.field(name).ok_or_else(|| unknown("field", &parameter.name, names))?;
                    let value = self.value(row, &row.fields[index], parameter, &mut fields.delay)?;
                    fields.values[index] = value;
                }
            }
        }
        Ok(fields)
    }

    /// The value of a parameter; a free variable's is 0 for now.
    fn value(
        &mut self,
        row: &Row,
        field: &Field,
        parameter: &Parameter,
        delay: &mut Option<Variable>,
    ) -> Resolved<i64> {
        match &parameter.value {
            Value::Integer(value) => {
                let (mut min, mut max) = field.range();
                if row.name == "rep" {
                    let wide = limits(delay_bits(self.rop.component));
                    if let Some((_, low, high)) = wide.into_iter().find(|(name, _, _)| *name == field.name) {
                        (min, max) = (low, high);
                    }
                }
                let legal = format!("`{}` of {} is {min} to {max}", field.name, row.name);
                if (min..=max).contains(value) {
                    Ok(*value)
                } else {
                    Err(bad_value(field.name, parameter, &legal))
                }
            }
            Value::Name(name) => match field.code_of(name) {
                Some(code) => Ok(code.into()),
                None if field.name == "delay" && matches!(row.name, "rep" | "trans") => {
                    *delay = Some(self.variable(name));
                    Ok(0)
                }
                None if field.names.is_empty() => {
                    Err(bad_value(field.name, parameter, "only delays of rep and trans can be variables"))
                }
                None => Err(unknown(
                    "value",
                    &ast::Name { text: name.clone(), span: parameter.span },
                    field.names.iter().map(|name| name.1),
                )),
            },
        }
    }

    /// The variable of that name, by its place in the list.
    fn variable(&mut self, name: &str) -> Variable {
        let known = self.variables.iter().position(|known| known == name);
        Variable(known.unwrap_or_else(|| {
            self.variables.push(name.to_owned());
            self.variables.len() - 1
        }))
    }

    fn same(&self, parameter: &Parameter, name: &'static str, expected: u8) -> Resolved<()> {
        if parameter.value == Value::Integer(expected.into()) {
            return Ok(());
        }
        Err(bad_value(name, parameter, &format!("its operation says {name}={expected}")))
    }

    fn port(&self, parameter: &Parameter, row: &Row) -> Resolved<()> {
        let field = row.field("port").and_then(|index| row.fields.get(index));
        match (&parameter.value, field) {
            (Value::Name(name), Some(field)) if field.code_of(name) == Some(self.rop.port.into()) => Ok(()),
            _ => self.same(parameter, "port", self.rop.port),
        }
    }

    /// `level=` of older versions: the level is the place among the instructions.
    fn level(&self, parameter: &Parameter) -> Resolved<()> {
        let level = if self.lanes.delays.is_empty() { self.lanes.levels } else { self.lanes.outer.len() };
        self.same(parameter, "level", level as u8)
    }

    fn open(&mut self, op: ResourceOp, span: Span) -> Resolved<()> {
        let lanes = &mut self.lanes;
        if lanes.patterns.len() == MOST_LEVELS {
            return Err(rule("a port has at most 4 lanes", span, "use an operation for the others"));
        }
        if !lanes.delays.is_empty() {
            return Err(rule("all lanes open before the first trans", span, "move it up"));
        }
        lanes.patterns.push(Pattern::Event { lane: lanes.patterns.len() });
        (lanes.levels, lanes.is_extendable) = (0, false);
        self.rop.settings.push(Setting::Op(op));
        Ok(())
    }

    fn rep(&mut self, fields: &Fields, span: Span) -> Resolved<()> {
        let rep = Rep { iter: fields.get("iter"), step: fields.get("step"), delay: fields.get("delay") };
        if rep.iter == 0 {
            return Err(rule("a rep needs `iter` of at least 1", span, "iter is the number of repetitions"));
        }
        let delay = fields.delay.map_or_else(|| Linear::constant(rep.delay), Linear::from);
        self.lanes.level(rep.iter, delay, span)?;
        self.rop.settings.push(Setting::Rep(rep, fields.delay));
        Ok(())
    }

    fn repx(&mut self, fields: &Fields, span: Span) -> Resolved<()> {
        let (true, Some(Setting::Rep(rep, None))) = (self.lanes.is_extendable, self.rop.settings.last_mut())
        else {
            return Err(rule(
                "repx follows the rep it extends, whose delay is a number",
                span,
                "put it behind its rep",
            ));
        };
        let bits = delay_bits(self.rop.component);
        *rep = rep.extended(fields.get("iter"), fields.get("step"), fields.get("delay"), bits);
        let (iter, delay) = (rep.iter, Linear::constant(rep.delay));
        self.lanes.extend(iter, delay);
        Ok(())
    }

    fn trans(&mut self, fields: &Fields, span: Span) -> Resolved<()> {
        let lanes = &mut self.lanes;
        if lanes.delays.len() + 1 >= lanes.patterns.len() {
            return Err(rule(
                "trans connects a lane with the next: there are not so many",
                span,
                "open a lane before it",
            ));
        }
        if !lanes.outer.is_empty() {
            return Err(rule("trans behind a rep around all lanes has no effect", span, "move it up"));
        }
        let delay = fields.get("delay");
        lanes.delays.push(fields.delay.map_or_else(|| Linear::constant(delay), Linear::from));
        lanes.is_extendable = false;
        self.rop.settings.push(Setting::Trans(delay, fields.delay));
        Ok(())
    }

    fn finish(mut self, span: Span) -> Resolved<Rop> {
        if !self.lanes.patterns.is_empty() && self.lanes.delays.len() + 1 != self.lanes.patterns.len() {
            return Err(rule(
                "lanes are connected by trans: one is missing",
                span,
                "add a trans for every lane but the last",
            ));
        }
        self.rop.pattern = self.lanes.pattern();
        let longest = self.rop.pattern.as_ref().map_or(0, |pattern| pattern.span().magnitude());
        if longest > MOST_CYCLES {
            return Err(rule(
                &format!("it takes more than {MOST_CYCLES} cycles"),
                span,
                "repeat it less often",
            ));
        }
        Ok(self.rop)
    }
}

impl Lanes {
    /// A level around the current lane, or around all of them after the first transition.
    fn level(&mut self, count: i64, delay: Linear, span: Span) -> Resolved<()> {
        let used = if self.delays.is_empty() { self.levels } else { self.outer.len() };
        if used == MOST_LEVELS {
            return Err(rule(
                "a port has at most 4 levels of rep",
                span,
                "merge levels, or use another operation",
            ));
        }
        self.is_extendable = true;
        if !self.delays.is_empty() {
            self.outer.push((count, delay));
            return Ok(());
        }
        let Some(lane) = self.patterns.pop() else {
            return Err(rule("rep repeats a lane: there is none", span, "put a dsu or evt before it"));
        };
        self.patterns.push(Pattern::Repeat { count, delay, of: Box::new(lane) });
        self.levels += 1;
        Ok(())
    }

    /// Changes the last level.
    fn extend(&mut self, iter: i64, by: Linear) {
        self.is_extendable = false;
        if let Some(last) = self.outer.last_mut() {
            *last = (iter, by);
        } else if let Some(Pattern::Repeat { count, delay, .. }) = self.patterns.last_mut() {
            (*count, *delay) = (iter, by);
        }
    }

    fn pattern(self) -> Option<Pattern> {
        let mut patterns = self.patterns.into_iter();
        let mut all = patterns.next()?;
        for (delay, second) in self.delays.into_iter().zip(patterns) {
            all = Pattern::Then { first: Box::new(all), delay, second: Box::new(second) };
        }
        for (count, delay) in self.outer {
            all = Pattern::Repeat { count, delay, of: Box::new(all) };
        }
        Some(all)
    }
}

/// The values of an instruction, in the order of its row.
struct Fields {
    row: &'static Row,
    component: Component,
    values: Vec<i64>,
    delay: Option<Variable>,
}

impl Fields {
    fn get(&self, name: &str) -> i64 {
        self.row.field(name).and_then(|index| self.values.get(index)).copied().unwrap_or(0)
    }

    fn set(&mut self, name: &str, value: i64) {
        if let Some(slot) = self.row.field(name).and_then(|index| self.values.get_mut(index)) {
            *slot = value;
        }
    }

    /// The instruction.
    fn typed(&self, slot: u8, span: Span) -> Resolved<Op> {
        let values: Vec<(&str, i64)> =
            self.row.fields.iter().map(|field| field.name).zip(self.values.iter().copied()).collect();
        let wrong = |reason: String| rule(&reason, span, "see `npu isa` for its fields");
        let instruction = Isa::get().instruction(self.component, self.row.name, slot, &values);
        let instruction = instruction.ok_or_else(|| wrong("it cannot be encoded".to_owned()))?;
        let instruction = instruction.map_err(|error| wrong(error.to_string()))?;
        Op::new(&instruction).map_err(|error| wrong(error.to_string()))
    }

    fn op(&self, slot: u8, span: Span) -> Resolved<ResourceOp> {
        match self.typed(slot, span)? {
            Op::Resource { op, .. } => Ok(op),
            _ => Err(rule("it is no instruction of a resource", span, "put it into a cop")),
        }
    }
}

/// The instructions of a cop: calculations, and waits between them.
fn cop(operation: &ast::Operation) -> Result<Action, Vec<PasmError>> {
    let (mut ops, mut cycles, mut errors) = (Vec::new(), 0_i64, Vec::new());
    for instruction in &operation.instructions {
        match control(instruction) {
            Ok(Op::Wait { cycle, events: false }) => cycles += i64::from(cycle) + 1,
            Ok(op @ Op::Calc { .. }) => {
                ops.push((cycles, op));
                cycles += 1;
            }
            Ok(_) => errors.push(rule(
                &format!("a cop cannot hold `{}`", instruction.mnemonic.text),
                instruction.mnemonic.span,
                "it holds calc and wait (mode=0); `for` and `if` branch, rops are started by constraints",
            )),
            Err(error) => errors.push(error),
        }
    }
    if errors.is_empty() { Ok(Action::Cop(ops, cycles)) } else { Err(errors) }
}

/// An instruction of the sequencer.
pub fn control(instruction: &ast::Instruction) -> Resolved<Op> {
    written(Component::Sequencer, 0, instruction)
}

/// An instruction whose parameters are all numbers, as in a raw operation.
pub fn written(component: Component, slot: u8, instruction: &ast::Instruction) -> Resolved<Op> {
    let rows = Isa::get().rows(component);
    let row = rows.iter().find(|row| row.name == instruction.mnemonic.text);
    let row =
        row.ok_or_else(|| unknown("instruction", &instruction.mnemonic, rows.iter().map(|row| row.name)))?;
    let mut fields = Fields { row, component, values: Vec::new(), delay: None };
    fields.values = row.fields.iter().map(|field| field.value_of(field.default)).collect();
    for parameter in instruction.parameters.iter().filter(|parameter| parameter.name.text != "slot") {
        let names = row.fields.iter().map(|field| field.name);
        let index =
            row.field(&parameter.name.text).ok_or_else(|| unknown("field", &parameter.name, names))?;
        let field = &row.fields[index];
        let value = match &parameter.value {
            Value::Integer(value) => Some(*value),
            Value::Name(name) => field.code_of(name).map(i64::from),
        };
        let legal = format!("`{}` of {} is {} to {}", field.name, row.name, field.range().0, field.range().1);
        let value = value.filter(|value| field.bits_of(*value).is_some());
        fields.values[index] = value.ok_or_else(|| bad_value(field.name, parameter, &legal))?;
    }
    fields.typed(slot, instruction.mnemonic.span)
}

fn unknown<'a>(what: &'static str, name: &ast::Name, known: impl Iterator<Item = &'a str>) -> PasmError {
    let known: Vec<&str> = known.collect();
    let help = match closest(&name.text, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("there are {}", known.join(", ")),
    };
    PasmError::Unknown { what, found: name.text.clone(), span: source_span(name.span), help }
}

fn bad_value(name: &str, parameter: &Parameter, legal: &str) -> PasmError {
    let found = match &parameter.value {
        Value::Integer(value) => value.to_string(),
        Value::Name(name) => format!("`{name}`"),
    };
    value_error(&format!("`{name}`"), &found, legal, parameter.span)
}

fn value_error(what: &str, found: &str, legal: &str, span: Span) -> PasmError {
    PasmError::Value {
        what: what.to_owned(),
        found: found.to_owned(),
        legal: legal.to_owned(),
        span: source_span(span),
    }
}

pub(super) fn rule(reason: &str, span: Span, help: &str) -> PasmError {
    PasmError::Rule { reason: reason.to_owned(), span: source_span(span), help: help.to_owned() }
}
