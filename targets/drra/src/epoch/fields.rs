//! [`Fields`]: the values of an instruction, by the fields of its row.

use npukit_base::Span;

use super::fault::{bad_value, rule, unknown};
use super::operation::Resolved;
use crate::component::Component;
use crate::isa::{Isa, Row};
use crate::op::{Op, ResourceOp};
use crate::pasm::ast::{self, Value};
use crate::schedule::Variable;

/// The values of an instruction, in the order of its row.
pub(super) struct Fields {
    pub row: &'static Row,
    pub component: Component,
    pub values: Vec<i64>,
    pub delay: Option<Variable>,
}

impl Fields {
    pub fn get(&self, name: &str) -> i64 {
        self.row.field(name).and_then(|index| self.values.get(index)).copied().unwrap_or(0)
    }

    pub fn set(&mut self, name: &str, value: i64) {
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

    pub fn op(&self, slot: u8, span: Span) -> Resolved<ResourceOp> {
        match self.typed(slot, span)? {
            Op::Resource { op, .. } => Ok(op),
            _ => Err(rule("it is no instruction of a resource", span, "put it into a cop")),
        }
    }
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
