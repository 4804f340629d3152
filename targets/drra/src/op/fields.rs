//! [`Fields`]: the fields of an instruction by name.

use crate::component::Component;
use crate::isa::{Instruction, Isa, Row};

/// An instruction with its row.
pub(super) struct Fields<'a> {
    row: Option<&'static Row>,
    instruction: &'a Instruction,
}

impl<'a> Fields<'a> {
    pub fn new(instruction: &'a Instruction) -> Self {
        Self { row: Isa::get().row(instruction), instruction }
    }

    /// The mnemonic.
    pub fn name(&self) -> &'static str {
        self.row.map_or("", |row| row.name)
    }

    /// The bits of a field, 0 when there is none.
    pub fn get(&self, name: &str) -> u32 {
        let index = self.row.and_then(|row| row.field(name));
        index.and_then(|index| self.instruction.values.get(index)).copied().unwrap_or(0)
    }

    /// The value of a field that may be negative.
    pub fn signed(&self, name: &str) -> i64 {
        let index = self.row.and_then(|row| Some((row, row.field(name)?)));
        let field = index.and_then(|(row, index)| row.fields.get(index));
        field.map_or(0, |field| field.value_of(self.get(name)))
    }
}

/// The instruction of that name and these values; none when there is none.
pub(super) fn instruction(
    component: Component,
    name: &str,
    slot: u8,
    values: &[(&str, i64)],
) -> Option<Instruction> {
    Isa::get().instruction(component, name, slot, values)?.ok()
}
