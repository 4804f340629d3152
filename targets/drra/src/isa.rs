//! Instruction tables of all components: [`Isa`]. The rows are in [`crate::isa::op`].
//!
//! A word alone does not determine its instruction: the component in the addressed slot does. Rows
//! therefore belong to a [`Component`], and decoding takes the cell. [`Isa::spec`] makes the page
//! of `npu isa`.
//!
//! Source: specification 2, `drra-isa.json`.

pub(crate) mod asm;
pub(crate) mod language;
pub(crate) mod layout;
mod letter;
mod notes;
pub(crate) mod op;
pub(crate) mod pasm;
pub(crate) mod program;
mod recode;
pub(crate) mod refusal;
pub(crate) mod token;

use std::sync::LazyLock;

use npukit_base::{BitRange, Word};
use npukit_isa::{ByteOrder, Field, FieldKind, InstructionSpec, IsaSpec, Pattern, Radix};
use thiserror::Error;

use crate::config::component::Component;
use crate::config::fabric::Options;
use crate::isa::op::{Format, Op, ResourceOp};

use crate::config::encoding::Encoding;
pub use recode::{RecodeError, recode};

/// Type bit: set in resource instructions, clear in control instructions.
pub(crate) const TYPE: BitRange = BitRange::new(31, 1);
/// Opcode bits.
pub(crate) const OPCODE: BitRange = BitRange::new(28, 3);
/// Slot bits of a resource instruction.
pub(crate) const SLOT: BitRange = BitRange::new(24, 4);

const DOC: &str = "A cell's sequencer executes control instructions and forwards the others to their slot. The \
                   component in the slot determines their meaning. Missing fields are 0, a missing `step` is 1. \
                   Negative values are in two's complement.";

/// Instruction tables of all components.
#[derive(Clone, Debug)]
pub struct Isa {
    /// Rows by component, in the order of [`Component::ALL`].
    rows: [Vec<InstructionSpec>; Component::ALL.len()],
}

/// Instruction with the raw bits of its fields.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Instruction {
    /// Component that executes the instruction.
    pub component: Component,
    /// Index of the row in the component's table.
    pub row: usize,
    /// Bits of each field, in the order of the row. Resource instructions begin with the slot.
    pub values: Vec<u32>,
}

/// Reason why a word is not an instruction of its cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum DecodeError {
    /// The addressed slot is empty.
    #[error("{word:#010x} goes to slot {slot}, which is empty")]
    EmptySlot {
        /// The word.
        word: u32,
        /// The addressed slot.
        slot: u8,
    },
    /// The component has no instruction with this opcode.
    #[error("{word:#010x} is not an instruction: opcode {opcode} is unknown to {}", .component.name())]
    Opcode {
        /// The word.
        word: u32,
        /// Component in the addressed slot.
        component: Component,
        /// Opcode of the word.
        opcode: u8,
    },
    /// Reserved bits are not 0.
    #[error("{word:#010x} has bits {bits:#x} set, which are reserved in {instruction}")]
    Reserved {
        /// The word.
        word: u32,
        /// Mnemonic that the other bits select.
        instruction: &'static str,
        /// Mask of the reserved bits that are set.
        bits: u32,
    },
}

/// Returns the smallest and the largest legal value of a field.
pub fn range(field: &Field) -> (i64, i64) {
    match field.kind {
        FieldKind::Signed { min, max } => (min, max),
        _ => (0, field.bits.max().cast_signed()),
    }
}

/// Returns the bits of a field's value, or `None` if the value does not fit.
pub fn bits_of(field: &Field, value: i64) -> Option<u32> {
    let value = value.cast_unsigned();
    field.allows(value).then(|| field.stored(value) as u32)
}

/// Returns the value that a field's bits encode, sign-extended if the field is signed.
pub fn value_of(field: &Field, bits: u32) -> i64 {
    field.value(bits.into()).cast_signed()
}

impl Instruction {
    /// Creates an instruction with all fields at their defaults.
    pub fn new(component: Component, row: usize) -> Self {
        let fields = &Isa::get().rows(component)[row].fields;
        let bits = |field: &Field| field.stored(field.default_value()) as u32;
        Self { component, row, values: fields.iter().map(bits).collect() }
    }

    /// Row of the instruction. Its fields are the same in all encodings.
    pub fn spec(&self) -> &'static InstructionSpec {
        &Isa::get().rows(self.component)[self.row]
    }

    /// Returns the bits of a field, or `None` if the instruction has no such field.
    pub fn get(&self, field: &str) -> Option<u32> {
        self.spec().field(field).map(|index| self.values[index])
    }

    /// Returns each field with its bits.
    pub fn fields(&self) -> impl Iterator<Item = (&'static Field, u32)> + '_ {
        self.spec().fields.iter().zip(self.values.iter().copied())
    }
}

impl Isa {
    /// Returns the instruction set of component releases 2.10 and 2.11.
    pub fn get() -> &'static Self {
        Self::of(Encoding::Released)
    }

    /// Returns the table of an encoding. All encodings have the same rows and fields in the same
    /// order.
    pub fn of(encoding: Encoding) -> &'static Self {
        static RELEASED: LazyLock<Isa> = LazyLock::new(|| Isa::new(Encoding::Released));
        static LATER: LazyLock<Isa> = LazyLock::new(|| Isa::new(Encoding::Later));
        match encoding {
            Encoding::Released => &RELEASED,
            Encoding::Later => &LATER,
        }
    }

    /// Returns the table of the released encoding with the field meanings of the ISA document
    /// (suffix `+seed`).
    pub fn seed() -> &'static Self {
        static SEED: LazyLock<Isa> = LazyLock::new(|| {
            let mut isa = Isa::new(Encoding::Released);
            isa.rows.iter_mut().flatten().for_each(letter::read);
            isa
        });
        &SEED
    }

    /// Returns the table that reads the assembly text and program words of a fabric.
    pub fn read_by(options: Options) -> &'static Self {
        if options.revision.is_seed() { Self::seed() } else { Self::get() }
    }

    /// Returns the table of the words in the files of a fabric.
    pub fn in_files(options: Options) -> &'static Self {
        if options.revision.is_seed() { Self::seed() } else { Self::of(options.encoding) }
    }

    fn new(encoding: Encoding) -> Self {
        Self { rows: Component::ALL.map(|component| rows(Format { component, encoding })) }
    }

    /// Returns the instructions of a component.
    pub fn rows(&self, component: Component) -> &[InstructionSpec] {
        &self.rows[component as usize]
    }

    /// Returns the table of a fabric, with notes on components that deviate from it.
    pub fn of_fabric(options: Options, name: &str) -> IsaSpec {
        let mut spec = Self::in_files(options).spec(name);
        spec.instructions.iter_mut().for_each(|row| notes::note(row, options.revision));
        spec
    }

    /// Returns the table in the target-independent form. A row's context is its component.
    pub fn spec(&self, name: &str) -> IsaSpec {
        let instructions = self.rows.concat();
        let (name, doc) = (name.to_owned(), DOC.to_owned());
        IsaSpec { name, doc, byte_order: ByteOrder::Big, instructions }
    }

    /// Encodes an instruction as a word. Values are truncated to their fields; check them with
    /// [`bits_of`] before.
    pub fn encode(&self, instruction: &Instruction) -> u32 {
        let row = &self.rows(instruction.component)[instruction.row];
        let fields = row.fields.iter().zip(&instruction.values);
        let word = fields.fold(row.pattern().1, |word, (field, &bits)| word.with(field.bits, bits.into()));
        word.low_u64() as u32
    }

    /// Decodes `word` for a cell; `component_at` returns the component of a slot.
    ///
    /// # Errors
    ///
    /// The slot is empty, the opcode is unknown, or reserved bits are set.
    pub fn decode(
        &'static self,
        word: u32,
        component_at: impl Fn(u8) -> Option<Component>,
    ) -> Result<Instruction, DecodeError> {
        let bits = Word::from(word);
        let component = if bits.get(TYPE) == 0 {
            Component::Sequencer
        } else {
            let slot = bits.get(SLOT) as u8;
            component_at(slot).ok_or(DecodeError::EmptySlot { word, slot })?
        };
        let opcode = bits.get(OPCODE) as u8;
        let rows = self.rows(component);
        let row = rows.iter().position(|row| row.matches(bits));
        let row = row.ok_or(DecodeError::Opcode { word, component, opcode })?;
        let reserved = bits & rows[row].reserved();
        if !reserved.is_zero() {
            let (instruction, bits) = (rows[row].name.as_str(), reserved.low_u64() as u32);
            return Err(DecodeError::Reserved { word, instruction, bits });
        }
        let values = rows[row].fields.iter().map(|field| bits.get(field.bits) as u32).collect();
        Ok(Instruction { component, row, values })
    }
}

/// Returns the rows of a component, with the shared parts: type bit, slot and text.
fn rows(format: Format) -> Vec<InstructionSpec> {
    let rows = match format.component {
        Component::Sequencer => Op::rows(format),
        _ => ResourceOp::rows(format),
    };
    rows.into_iter().map(|row| placed(format.component, row)).collect()
}

fn placed(component: Component, mut row: InstructionSpec) -> InstructionSpec {
    let is_resource = component != Component::Sequencer;
    row.patterns.insert(0, Pattern { name: "type".to_owned(), bits: TYPE, value: is_resource.into() });
    if is_resource {
        let kind = FieldKind::up_to(SLOT.max(), Radix::Decimal);
        row.fields.insert(0, Field::new("slot", SLOT, kind, "slot of the component that executes it"));
    }
    let operands: Vec<String> = row.fields.iter().map(|field| format!("{0}={{{0}}}", field.name)).collect();
    let syntax = format!("{}({})", row.name, operands.join(", "));
    row.with_context(component.name()).with_form(&syntax, Vec::new())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn components_stand_in_their_places() {
        for (index, component) in Component::ALL.into_iter().enumerate() {
            assert_eq!(component as usize, index);
        }
    }

    #[test]
    fn a_word_means_what_its_slot_makes_of_it() {
        let name = |component| {
            let found = Isa::get().decode(0x8148_0080, |_| Some(component));
            found.ok().map(|found| found.spec().name.as_str())
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
        let named = |component, name| {
            let rows = Isa::get().rows(component).iter();
            rows.into_iter().find(|row: &&InstructionSpec| row.name == name)
        };
        let step = |value: i64| {
            let row = named(Component::Rf, "rep")?;
            let field = &row.fields[row.field("step")?];
            Some(field.check(&row.name, value.cast_unsigned()).map(|()| bits_of(field, value)))
        };
        assert_eq!(step(-64), Some(Ok(Some(64))));
        let message = step(64).and_then(Result::err).map(|error| error.to_string());
        assert_eq!(message.as_deref(), Some("`step` of rep is 64: legal are -64 to 63"));
        assert!(named(Component::Rf, "evt").is_none());
    }

    #[test]
    fn a_signed_field_gives_its_value_back() {
        let rows = Isa::get().rows(Component::Sequencer);
        let field = rows.iter().find(|row| row.name == "brn").and_then(|row| row.fields.get(1));
        for value in [-256, -1, 0, 255] {
            let back = field.and_then(|field| Some(value_of(field, bits_of(field, value)?)));
            assert_eq!(back, Some(value));
        }
    }

    #[test]
    fn the_table_has_no_fault() {
        for isa in [Isa::of(Encoding::Released), Isa::of(Encoding::Later), Isa::seed()] {
            assert_eq!(isa.spec("drra").check(), []);
        }
    }

    /// Only scalar registers go by several names.
    #[test]
    fn fields_of_other_names_mean_something_else() {
        let spec = Isa::get().spec("drra");
        let fields = spec.instructions.iter().flat_map(|row| &row.fields);
        let all: BTreeSet<(&str, String)> =
            fields.map(|field| (field.name.as_ref(), field.meaning.to_string())).collect();
        let registers = ["operand1", "reg", "result"];
        for (name, meaning) in &all {
            let of_others = all.iter().filter(|(other, said)| other != name && said == meaning);
            let others = of_others.map(|(other, _)| *other).collect::<Vec<_>>();
            let expected: Vec<&str> = match meaning.as_str() {
                "scalar register" => registers.into_iter().filter(|other| other != name).collect(),
                _ => Vec::new(),
            };
            assert_eq!(others, expected, "{name}");
        }
    }

    #[test]
    fn every_field_has_a_meaning() {
        let spec = Isa::get().spec("drra");
        let fields = spec.instructions.iter().flat_map(|row| &row.fields);
        let without: Vec<_> = fields.filter(|field| field.meaning.is_empty()).collect();
        assert_eq!(without, Vec::<&Field>::new());
    }
}
