//! [`Reader`]: reads the instructions of a rop, and builds its lanes and levels.

use npukit_base::Span;
use npukit_isa::{Field, InstructionSpec};

use super::fault::{bad_value, rule, unknown};
use super::fields::Fields;
use super::rep::Rep;
use crate::isa::op::{Op, ResourceOp};
use crate::isa::pasm::ast;
use crate::isa::pasm::ast::{Parameter, Value};
use crate::isa::pasm::epoch::rop::{Resolved, Rop, RopText, Setting};
use crate::isa::pasm::pattern::{MAX_CYCLES, Pattern};
use crate::isa::pasm::schedule::Variable;
use crate::isa::pasm::schedule::linear::Linear;
use crate::isa::range;

/// Maximum number of lanes, of inner levels per lane, and of outer levels of an address generator.
const MAX_LEVELS: usize = 4;

/// Reader of the instructions of a rop.
pub(super) struct Reader<'a> {
    rop: Rop,
    variables: &'a mut Vec<String>,
    lanes: Lanes,
    /// Instructions read, except repetitions.
    ops: Vec<(Span, Op)>,
    /// Spans of `repx` instructions with the default `step`.
    default_steps: Vec<Span>,
}

/// Lanes, transitions and levels so far, as the address generator builds them.
#[derive(Default)]
struct Lanes {
    patterns: Vec<Pattern>,
    levels: usize,
    delays: Vec<Linear>,
    outer: Vec<(i64, Linear)>,
    /// Number of hardware levels that the outer levels use.
    outer_levels: usize,
    /// Number of hardware levels that the last level uses.
    last_levels: usize,
    /// Whether the previous instruction was a `rep`.
    is_extendable: bool,
}

impl<'a> Reader<'a> {
    /// Creates a reader of a rop; new free variables are appended to `variables`.
    pub fn new(rop: Rop, variables: &'a mut Vec<String>) -> Self {
        Self { rop, variables, lanes: Lanes::default(), ops: Vec::new(), default_steps: Vec::new() }
    }

    /// Reads the next instruction.
    ///
    /// # Errors
    ///
    /// The first error of the instruction.
    pub fn read(&mut self, instruction: &ast::Instruction) -> Resolved<()> {
        let fields = self.fields(instruction)?;
        let span = instruction.mnemonic.span;
        match fields.row.name.as_str() {
            "rep" => self.rep(&fields, span),
            "repx" => {
                let is_default = instruction.parameter("step").is_none();
                self.default_steps.extend(is_default.then_some(span));
                self.repx(&fields, span)
            }
            name => {
                let (slot, op) = (self.rop.slot, fields.op(span)?);
                self.ops.push((span, Op::Resource { slot, op }));
                match name {
                    "dsu" | "evt" => self.open(op, span),
                    "trans" => self.trans(&fields, span),
                    _ => {
                        self.rop.settings.push(Setting::Op(op));
                        Ok(())
                    }
                }
            }
        }
    }

    /// Returns the instructions read, for checks of the text.
    pub fn text(&mut self, cell: usize) -> RopText {
        let (ops, default_steps) = (std::mem::take(&mut self.ops), std::mem::take(&mut self.default_steps));
        RopText { cell, slot: self.rop.slot, ops, default_steps, unheard: None }
    }

    /// Returns the values of an instruction's fields. Missing fields have their defaults.
    fn fields(&mut self, instruction: &ast::Instruction) -> Resolved<Fields> {
        let mut fields = Fields::new(self.rop.isa(), self.rop.component, &instruction.mnemonic)?;
        let row = fields.row;
        fields.set("slot", self.rop.slot.into());
        fields.set("port", self.rop.port.into());
        for parameter in &instruction.parameters {
            match parameter.name.text.as_str() {
                "slot" => self.same(parameter, "slot", self.rop.slot)?,
                "port" => self.port(parameter, row)?,
                "level" => self.level(parameter)?,
                name => {
                    let name = if name == "option" && row.name == "dpu" { "config" } else { name };
                    let index = fields.index(name, parameter)?;
                    let value = self.value(row, &row.fields[index], parameter, &mut fields.delay)?;
                    fields.put(index, value);
                }
            }
        }
        Ok(fields)
    }

    /// Returns the value of a parameter. A free variable has 0 for now.
    fn value(
        &mut self,
        row: &InstructionSpec,
        field: &Field,
        parameter: &Parameter,
        delay: &mut Option<Variable>,
    ) -> Resolved<i64> {
        match &parameter.value {
            Value::Integer(value) => {
                let (mut min, mut max) = range(field);
                if row.name == "rep" {
                    let wide = Rep::limits(self.rop.revision, self.rop.component);
                    if let Some((_, low, high)) = wide.into_iter().find(|(name, _, _)| *name == field.name) {
                        (min, max) = (low, high);
                    }
                }
                let legal = format!("`{}` of {} is {min} to {max}", field.name, row.name);
                if (min..=max).contains(value) {
                    Ok(*value)
                } else {
                    Err(bad_value(&field.name, parameter, &legal))
                }
            }
            Value::Name(name) => match field.code_of(name) {
                Some(code) => Ok(code.cast_signed()),
                None if field.name == "delay" && matches!(row.name.as_str(), "rep" | "trans") => {
                    *delay = Some(self.variable(name));
                    Ok(0)
                }
                None if field.names().is_empty() => {
                    Err(bad_value(&field.name, parameter, "only delays of rep and trans can be variables"))
                }
                None => Err(unknown(
                    "value",
                    &ast::Name { text: name.clone(), span: parameter.span },
                    field.names().into_iter(),
                )),
            },
        }
    }

    /// Returns the variable with this name, and adds it if it is new.
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
        Err(bad_value(name, parameter, &format!("its operation has {name}={expected}")))
    }

    fn port(&self, parameter: &Parameter, row: &InstructionSpec) -> Resolved<()> {
        let field = row.field("port").and_then(|index| row.fields.get(index));
        match (&parameter.value, field) {
            (Value::Name(name), Some(field)) if field.code_of(name) == Some(self.rop.port.into()) => Ok(()),
            _ => self.same(parameter, "port", self.rop.port),
        }
    }

    /// Checks `level=` of older versions: the level is the index among the instructions.
    fn level(&self, parameter: &Parameter) -> Resolved<()> {
        let level = if self.lanes.delays.is_empty() { self.lanes.levels } else { self.lanes.outer.len() };
        self.same(parameter, "level", level as u8)
    }

    fn open(&mut self, op: ResourceOp, span: Span) -> Resolved<()> {
        let lanes = &mut self.lanes;
        if lanes.patterns.len() == MAX_LEVELS {
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
            return Err(rule(
                "a rep needs `iter` of at least 1",
                span,
                "`iter` is the number of repetitions",
            ));
        }
        let delay = fields.delay.map_or_else(|| Linear::constant(rep.delay), Linear::from);
        let levels = self.levels(rep, span)?;
        self.lanes.level(rep.iter, delay, levels, span)?;
        self.rop.settings.push(Setting::Rep(rep, fields.delay));
        Ok(())
    }

    fn repx(&mut self, fields: &Fields, span: Span) -> Resolved<()> {
        let (true, Some(Setting::Rep(rep, None))) = (self.lanes.is_extendable, self.rop.settings.last_mut())
        else {
            return Err(rule(
                "repx must follow the rep it extends, whose delay must be a number",
                span,
                "put it after its rep",
            ));
        };
        let widths = self.rop.revision.widths(self.rop.component);
        *rep = rep.extended(fields.get("iter"), fields.get("step"), fields.get("delay"), widths);
        let rep = *rep;
        let levels = self.levels(rep, span)?;
        self.lanes.extend(rep.iter, Linear::constant(rep.delay), levels, span)
    }

    /// Returns the number of levels of a repetition. Errors: the revision has no instructions for
    /// it.
    fn levels(&self, rep: Rep, span: Span) -> Resolved<usize> {
        let Rop { port, revision, component, .. } = self.rop;
        let Some(ops) = rep.instructions(port, revision, component) else {
            let Rep { iter, step, delay } = rep;
            let widths = revision.widths(component);
            let reason = format!(
                "iter={iter}, step={step}, delay={delay} is not a possible repetition of a {} here",
                component.name()
            );
            let help = format!(
                "the released circuit keeps {} bits of iter, {} of step and {} of delay and reads `repx` differently: use \
                 nested levels, separate operations, or a fabric with `+seed`",
                widths.iter, widths.step, widths.delay
            );
            return Err(rule(&reason, span, &help));
        };
        Ok(if revision.is_released() { ops.len() } else { 1 })
    }

    fn trans(&mut self, fields: &Fields, span: Span) -> Resolved<()> {
        let lanes = &mut self.lanes;
        if lanes.delays.len() + 1 >= lanes.patterns.len() {
            return Err(rule(
                "trans connects a lane with the next one, which does not exist",
                span,
                "open a lane before it",
            ));
        }
        if !lanes.outer.is_empty() {
            return Err(rule("trans after a rep around all lanes has no effect", span, "move it up"));
        }
        let delay = fields.get("delay");
        lanes.delays.push(fields.delay.map_or_else(|| Linear::constant(delay), Linear::from));
        lanes.is_extendable = false;
        self.rop.settings.push(Setting::Trans(delay, fields.delay));
        Ok(())
    }

    /// Returns the rop with its instructions.
    ///
    /// # Errors
    ///
    /// Lanes are not connected, or the rop takes too long.
    pub fn finish(mut self, span: Span) -> Resolved<Rop> {
        if !self.lanes.patterns.is_empty() && self.lanes.delays.len() + 1 != self.lanes.patterns.len() {
            return Err(rule(
                "lanes must be connected by trans, and one trans is missing",
                span,
                "add a trans for every lane except the last",
            ));
        }
        self.rop.pattern = self.lanes.pattern();
        let longest = self.rop.pattern.as_ref().map_or(0, |pattern| pattern.span().magnitude());
        if longest > MAX_CYCLES {
            return Err(rule(
                &format!("it takes more than {MAX_CYCLES} cycles"),
                span,
                "repeat it less often",
            ));
        }
        Ok(self.rop)
    }
}

impl Lanes {
    /// Adds a level around the current lane, or around all lanes after the first transition.
    ///
    /// It uses `levels` levels of the port.
    fn level(&mut self, count: i64, delay: Linear, levels: usize, span: Span) -> Resolved<()> {
        self.take(levels, span)?;
        (self.is_extendable, self.last_levels) = (true, levels);
        if !self.delays.is_empty() {
            self.outer.push((count, delay));
            return Ok(());
        }
        let Some(lane) = self.patterns.pop() else {
            return Err(rule("rep repeats a lane, and no lane is open", span, "put a dsu or evt before it"));
        };
        self.patterns.push(Pattern::Repeat { count, delay, of: Box::new(lane) });
        Ok(())
    }

    /// Uses levels of the port.
    fn take(&mut self, levels: usize, span: Span) -> Resolved<()> {
        let used = if self.delays.is_empty() { &mut self.levels } else { &mut self.outer_levels };
        *used += levels;
        if *used > MAX_LEVELS {
            return Err(rule(
                "a port has at most 4 levels of rep",
                span,
                "merge levels, or use another operation",
            ));
        }
        Ok(())
    }

    /// Extends the last level, which now uses `levels` levels of the port.
    fn extend(&mut self, iter: i64, by: Linear, levels: usize, span: Span) -> Resolved<()> {
        self.take(levels - self.last_levels.min(levels), span)?;
        self.is_extendable = false;
        if let Some(last) = self.outer.last_mut() {
            *last = (iter, by);
        } else if let Some(Pattern::Repeat { count, delay, .. }) = self.patterns.last_mut() {
            (*count, *delay) = (iter, by);
        }
        Ok(())
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
