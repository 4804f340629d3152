//! [`Fields`]: values of an instruction, by the fields of its row.

use npukit_base::Span;
use npukit_isa::InstructionSpec;

use super::fault::{bad_value, rule, unknown};
use crate::config::component::Component;
use crate::isa::op::{Op, ResourceOp};
use crate::isa::pasm::ast::{self, Value};
use crate::isa::pasm::epoch::rop::Resolved;
use crate::isa::pasm::schedule::Variable;
use crate::isa::{Instruction, Isa, bits_of, range, value_of};

/// Values of an instruction.
pub(super) struct Fields {
    component: Component,
    /// Index of the row in the component's table.
    index: usize,
    pub row: &'static InstructionSpec,
    /// Values in the order of the row's fields.
    values: Vec<i64>,
    pub delay: Option<Variable>,
}

impl Fields {
    /// Creates an instruction of a component, with all fields at their defaults.
    ///
    /// # Errors
    ///
    /// The component has no such instruction.
    pub fn new(isa: &'static Isa, component: Component, mnemonic: &ast::Name) -> Resolved<Self> {
        let rows = isa.rows(component);
        let index = rows.iter().position(|row| row.name == mnemonic.text);
        let names = rows.iter().map(|row| row.name.as_str());
        let index = index.ok_or_else(|| unknown("instruction", mnemonic, names))?;
        let default = Instruction::new(component, index);
        let values = default.fields().map(|(field, bits)| value_of(field, bits)).collect();
        Ok(Self { component, index, row: &rows[index], values, delay: None })
    }

    /// Returns the index of the field that a parameter names. The slot comes from the operation.
    ///
    /// # Errors
    ///
    /// The instruction has no such field.
    pub fn index(&self, name: &str, parameter: &ast::Parameter) -> Resolved<usize> {
        let names = self.row.fields.iter().map(|field| field.name.as_str()).filter(|name| *name != "slot");
        self.row.field(name).ok_or_else(|| unknown("field", &parameter.name, names))
    }

    /// Returns the value of a field.
    pub fn get(&self, name: &str) -> i64 {
        self.values[self.row.field(name).expect("callers ask for fields of the instruction they read")]
    }

    /// Sets a field by index.
    pub fn put(&mut self, index: usize, value: i64) {
        self.values[index] = value;
    }

    /// Sets a field by name, if the instruction has it.
    pub fn set(&mut self, name: &str, value: i64) {
        if let Some(index) = self.row.field(name) {
            self.put(index, value);
        }
    }

    /// Returns the typed instruction.
    fn typed(&self, span: Span) -> Resolved<Op> {
        let wrong = |reason: String| rule(&reason, span, "see `npu isa` for its fields");
        let mut values = Vec::new();
        for (field, &value) in self.row.fields.iter().zip(&self.values) {
            let refused = || wrong(field.error(&self.row.name, value.cast_unsigned()).to_string());
            values.push(bits_of(field, value).ok_or_else(refused)?);
        }
        let instruction = Instruction { component: self.component, row: self.index, values };
        Op::new(&instruction).map_err(|error| wrong(error.to_string()))
    }

    /// Returns the typed instruction of a resource.
    ///
    /// # Errors
    ///
    /// A value does not fit its field, the mode is unknown, or it is a control instruction.
    pub fn op(&self, span: Span) -> Resolved<ResourceOp> {
        match self.typed(span)? {
            Op::Resource { op, .. } => Ok(op),
            _ => Err(rule("it is not a resource instruction", span, "put it into a cop")),
        }
    }
}

/// Parses an instruction of the sequencer.
///
/// # Errors
///
/// The errors of [`written`].
pub fn control(isa: &'static Isa, instruction: &ast::Instruction) -> Resolved<Op> {
    written(isa, Component::Sequencer, 0, instruction)
}

/// Parses an instruction whose parameters are all numbers, as in a raw operation.
///
/// # Errors
///
/// An unknown instruction or field, or a value that does not fit its field.
pub fn written(
    isa: &'static Isa,
    component: Component,
    slot: u8,
    instruction: &ast::Instruction,
) -> Resolved<Op> {
    let mut fields = Fields::new(isa, component, &instruction.mnemonic)?;
    fields.set("slot", slot.into());
    for parameter in instruction.parameters.iter().filter(|parameter| parameter.name.text != "slot") {
        let index = fields.index(&parameter.name.text, parameter)?;
        let field = &fields.row.fields[index];
        let value = match &parameter.value {
            Value::Integer(value) => Some(*value),
            Value::Name(name) => field.code_of(name).map(u64::cast_signed),
        };
        let (min, max) = range(field);
        let legal = format!("`{}` of {} is {min} to {max}", field.name, fields.row.name);
        let value = value.filter(|value| bits_of(field, *value).is_some());
        fields.put(index, value.ok_or_else(|| bad_value(&field.name, parameter, &legal))?);
    }
    fields.typed(instruction.mnemonic.span)
}
