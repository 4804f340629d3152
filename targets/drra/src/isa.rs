//! The instruction table, component by component: [`Isa`].
//!
//! A word alone does not say what it is: a resource instruction means what the component in its slot makes
//! of it. So rows belong to a [`Component`], and decoding takes the cell it is for. The rows
//! are in `table`, the page of `npu isa` is made by [`Isa::spec`].
//!
//! Source: specification 2, `drra-isa.json`.

mod recode;
mod spec;
mod table;

use std::sync::LazyLock;

use npukit_base::{BitRange, Word};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::component::Component;

pub use recode::{RecodeError, recode};

/// Bit that tells resource instructions from those of control.
const TYPE: BitRange = BitRange::new(31, 1);
/// The opcode.
const OPCODE: BitRange = BitRange::new(28, 3);
/// The slot of a resource instruction.
const SLOT: BitRange = BitRange::new(24, 4);
/// What tells instructions of one opcode apart, in the later encoding.
const FLAG: BitRange = BitRange::new(23, 1);

/// How instructions become words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Encoding {
    /// As in the components' releases 2.10 and 2.11.
    #[default]
    Released,
    /// As in the components since July 2026 (specification 1.2, below the table): other opcodes, shorter counts.
    Later,
}

/// The instruction sets of all components.
#[derive(Clone, Debug)]
pub struct Isa {
    rows: Vec<(Component, Vec<Row>)>,
}

/// An instruction of a component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Its name.
    pub name: &'static str,
    /// What it does, in a line.
    pub meaning: &'static str,
    /// Tells it from the others of its component.
    pub opcode: u8,
    /// Tells it from others of the same opcode, by the highest bit of the payload.
    pub flag: Option<bool>,
    /// Its fields, from the most significant.
    pub fields: Vec<Field>,
}

/// An operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// Where it stands in the word.
    pub bits: BitRange,
    /// Its value when it is not written.
    pub default: u32,
    /// Whether it is in two's complement.
    pub signed: bool,
    /// Values with a name.
    pub names: &'static [(u32, &'static str)],
}

/// An instruction with the bits of its fields, before anybody asks what they mean.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Instruction {
    /// Whose instruction it is.
    pub component: Component,
    /// Its place among the component's rows.
    pub row: usize,
    /// The slot it goes to; 0 for control.
    pub slot: u8,
    /// The bits of each field, in the order of the row.
    pub values: Vec<u32>,
}

/// A value its field cannot hold.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{value} does not fit field `{field}` of {instruction}: legal are {min} to {max}")]
pub struct ValueError {
    /// The instruction.
    pub instruction: &'static str,
    /// The field.
    pub field: &'static str,
    /// The value.
    pub value: i64,
    /// Smallest legal value.
    pub min: i64,
    /// Largest legal value.
    pub max: i64,
}

/// Why a word is no instruction of its cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum DecodeError {
    /// Nothing sits in the slot.
    #[error("{word:#010x} goes to slot {slot}, which is empty")]
    EmptySlot {
        /// The word.
        word: u32,
        /// The slot.
        slot: u8,
    },
    /// The component has no instruction of that opcode.
    #[error("{word:#010x} is no instruction: opcode {opcode} means nothing to {}", .component.name())]
    Opcode {
        /// The word.
        word: u32,
        /// The component it goes to.
        component: Component,
        /// The opcode.
        opcode: u8,
    },
    /// Bits that must be 0 are not.
    #[error("{word:#010x} has bits {bits:#x} set, which are reserved in {instruction}")]
    Reserved {
        /// The word.
        word: u32,
        /// What it else would be.
        instruction: &'static str,
        /// The bits.
        bits: u32,
    },
}

impl Field {
    /// The legal values, smallest and largest.
    pub const fn range(&self) -> (i64, i64) {
        let max = self.bits.max() as i64;
        if self.signed { (-(max / 2) - 1, max / 2) } else { (0, max) }
    }

    /// The bits of `value`; none when it does not fit.
    pub fn bits_of(&self, value: i64) -> Option<u32> {
        let (min, max) = self.range();
        (min..=max).contains(&value).then_some((value as u64 & self.bits.max()) as u32)
    }

    /// The value of `bits`, with its sign.
    pub const fn value_of(&self, bits: u32) -> i64 {
        let (value, max) = (bits as i64, self.bits.max() as i64);
        if self.signed && value > max / 2 { value - max - 1 } else { value }
    }

    /// The name of a value.
    pub fn name_of(&self, bits: u32) -> Option<&'static str> {
        self.names.iter().find(|(code, _)| *code == bits).map(|(_, name)| *name)
    }

    /// The bits of a name, whatever its case.
    pub fn code_of(&self, name: &str) -> Option<u32> {
        self.names.iter().find(|(_, known)| known.eq_ignore_ascii_case(name)).map(|(code, _)| *code)
    }
}

impl Row {
    /// Place of a field.
    pub fn field(&self, name: &str) -> Option<usize> {
        self.fields.iter().position(|field| field.name == name)
    }

    /// The bits of all fields that are not written.
    pub fn defaults(&self) -> Vec<u32> {
        self.fields.iter().map(|field| field.default).collect()
    }
}

impl Isa {
    /// The instruction set of the components' releases 2.10 and 2.11.
    pub fn get() -> &'static Self {
        Self::of(Encoding::Released)
    }

    /// The table of an encoding. All have the same rows and fields in the same order.
    pub fn of(encoding: Encoding) -> &'static Self {
        static RELEASED: LazyLock<Isa> = LazyLock::new(|| Isa { rows: table::rows(Encoding::Released) });
        static LATER: LazyLock<Isa> = LazyLock::new(|| Isa { rows: table::rows(Encoding::Later) });
        match encoding {
            Encoding::Released => &RELEASED,
            Encoding::Later => &LATER,
        }
    }

    /// The instructions of a component.
    pub fn rows(&self, component: Component) -> &[Row] {
        self.rows.iter().find(|(of, _)| *of == component).map_or(&[], |(_, rows)| rows)
    }

    /// The row of an instruction.
    pub fn row(&self, instruction: &Instruction) -> Option<&Row> {
        self.rows(instruction.component).get(instruction.row)
    }

    /// An instruction by name, all fields at their defaults.
    pub fn new_instruction(&self, component: Component, name: &str, slot: u8) -> Option<Instruction> {
        let rows = self.rows(component);
        let row = rows.iter().position(|row| row.name == name)?;
        Some(Instruction { component, row, slot, values: rows.get(row)?.defaults() })
    }

    /// An instruction by name, with these values and defaults elsewhere.
    ///
    /// Errors: a value that does not fit. None when the component has no such instruction or field.
    pub fn instruction(
        &self,
        component: Component,
        name: &str,
        slot: u8,
        values: &[(&str, i64)],
    ) -> Option<Result<Instruction, ValueError>> {
        let mut instruction = self.new_instruction(component, name, slot)?;
        let row = self.row(&instruction)?;
        for &(name, value) in values {
            let index = row.field(name)?;
            let field = row.fields.get(index)?;
            let Some(bits) = field.bits_of(value) else {
                let (min, max) = field.range();
                return Some(Err(ValueError { instruction: row.name, field: field.name, value, min, max }));
            };
            *instruction.values.get_mut(index)? = bits;
        }
        Some(Ok(instruction))
    }

    /// The word of an instruction. Values are cut to their fields' widths, which [`Field::bits_of`] checks.
    pub fn encode(&self, instruction: &Instruction) -> u32 {
        let Some(row) = self.row(instruction) else { return 0 };
        let mut word = Word::ZERO.with(OPCODE, row.opcode.into());
        if instruction.component != Component::Sequencer {
            word = word.with(TYPE, 1).with(SLOT, instruction.slot.into());
        }
        if let Some(flag) = row.flag {
            word = word.with(FLAG, flag.into());
        }
        for (field, &value) in row.fields.iter().zip(&instruction.values) {
            word.set(field.bits, value.into());
        }
        word.get(BitRange::new(0, 32)) as u32
    }

    /// The instruction of `word` in a cell whose slots hold what `component_at` says.
    ///
    /// Errors: an empty slot, an opcode without meaning, reserved bits that are set.
    pub fn decode(
        &self,
        word: u32,
        component_at: impl Fn(u8) -> Option<Component>,
    ) -> Result<Instruction, DecodeError> {
        let bits = Word::from_le_bytes(&word.to_le_bytes());
        let slot = if bits.get(TYPE) == 1 { bits.get(SLOT) as u8 } else { 0 };
        let component = match bits.get(TYPE) {
            0 => Component::Sequencer,
            _ => component_at(slot).ok_or(DecodeError::EmptySlot { word, slot })?,
        };
        let opcode = bits.get(OPCODE) as u8;
        let mut rows = self.rows(component).iter().enumerate();
        let is_flagged = |row: &Row| row.flag.is_none_or(|flag| u64::from(flag) == bits.get(FLAG));
        let (row, found) = rows
            .find(|(_, row)| row.opcode == opcode && is_flagged(row))
            .ok_or(DecodeError::Opcode { word, component, opcode })?;
        let values = found.fields.iter().map(|field| bits.get(field.bits) as u32).collect();
        let instruction = Instruction { component, row, slot, values };
        match word ^ self.encode(&instruction) {
            0 => Ok(instruction),
            bits => Err(DecodeError::Reserved { word, instruction: found.name, bits }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_means_what_its_slot_makes_of_it() {
        let name = |component| {
            let found = Isa::get().decode(0x8148_0080, |_| Some(component));
            found.ok().and_then(|found| Isa::get().row(&found)).map(|row| row.name)
        };
        assert_eq!(name(Component::Rf), Some("rep"));
        assert_eq!(name(Component::Dpu), None, "bits of `evt` are reserved");
        let error = Isa::get().decode(0x8148_0080, |_| None);
        assert_eq!(error, Err(DecodeError::EmptySlot { word: 0x8148_0080, slot: 1 }));
        let error = Isa::get().decode(0x7000_0000, |_| None);
        assert!(matches!(error, Err(DecodeError::Opcode { opcode: 7, .. })), "{error:?}");
    }

    #[test]
    fn values_that_do_not_fit_are_refused() {
        let isa = Isa::get();
        let rep = |step| isa.instruction(Component::Rf, "rep", 1, &[("step", step)]);
        assert!(rep(-64).is_some_and(|found| found.is_ok()));
        let told = rep(64).and_then(Result::err).map(|error| error.to_string());
        assert_eq!(told.as_deref(), Some("64 does not fit field `step` of rep: legal are -64 to 63"));
        assert!(isa.instruction(Component::Rf, "evt", 1, &[]).is_none());
    }

    #[test]
    fn a_signed_field_gives_its_value_back() {
        let rows = Isa::get().rows(Component::Sequencer);
        let field = rows.iter().find(|row| row.name == "brn").and_then(|row| row.fields.get(1));
        for value in [-256, -1, 0, 255] {
            let back = field.and_then(|field| Some(field.value_of(field.bits_of(value)?)));
            assert_eq!(back, Some(value));
        }
    }
}
