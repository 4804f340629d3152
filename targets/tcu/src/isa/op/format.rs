//! [`Format`]: positions of the fields in an instance's words, and their legal values.

use npukit_base::{BitRange, Word};
use npukit_isa::coding::{Coding, Number};
use npukit_isa::{FieldKind, Radix};

use super::{SimdOp, decimal};
use crate::config::Config;
use crate::isa::op::Register;

/// The instruction format of one instance.
///
/// Source: specification 3.1 to 3.3 and 3.6.
#[derive(Clone, Debug)]
pub struct Format {
    pub(crate) config: Config,
    pub(crate) instruction_bytes: usize,
    pub(crate) address0: BitRange,
    pub(crate) stride0: BitRange,
    pub(crate) address1: BitRange,
    pub(crate) stride1: BitRange,
    /// Size minus one, in operand 2.
    pub(crate) size2: BitRange,
    /// Size minus one of LoadLUT, in operand 2; no bits if every table has the same size.
    pub(crate) lut_size: BitRange,
    /// Size minus one of LoadWeights, in operand 1.
    pub(crate) size1: BitRange,
    /// Accumulator address of SIMD writes, in operand 0.
    pub(crate) write_address: BitRange,
    /// Accumulator address of SIMD reads, in operand 1.
    pub(crate) read_address: BitRange,
    pub(crate) destination: BitRange,
    pub(crate) right: BitRange,
    pub(crate) left: BitRange,
    pub(crate) simd_op: BitRange,
    /// Table number of LoadLUT, in operand 1.
    pub(crate) table: BitRange,
    /// Thread that a Wait waits for, in operand 0.
    pub(crate) wait: BitRange,
    pub(crate) register: BitRange,
    pub(crate) value: BitRange,
    /// All bits below the header.
    pub(crate) operands: Word,
    pub(crate) flags: BitRange,
    pub(crate) opcode: BitRange,
    pub(crate) tid: BitRange,
}

impl Format {
    /// Creates the format of `config`, which must pass [`Config::check`].
    pub fn new(config: &Config) -> Self {
        let layout = config.layout();
        let operand1 = layout.operand0_bits;
        let operand2 = operand1 + layout.operand1_bits;
        let header = operand2 + layout.operand2_bits;
        let register = layout.simd_operand_bits;
        let opcode_bits = 4 - layout.tid_bits.min(4);
        let (value, value_bits) = layout.configure_value(config.reading);
        Self {
            config: config.clone(),
            instruction_bytes: layout.instruction_bytes(),
            address0: BitRange::new(0, layout.operand0_address_bits),
            stride0: BitRange::new(layout.operand0_address_bits, layout.stride0_bits),
            address1: BitRange::new(operand1, layout.operand1_address_bits),
            stride1: BitRange::new(operand1 + layout.operand1_address_bits, layout.stride1_bits),
            size2: BitRange::new(operand2, layout.operand2_value_bits),
            lut_size: BitRange::new(
                operand2,
                if config.lookup_vectors().is_some() { 0 } else { layout.operand2_value_bits },
            ),
            size1: BitRange::new(operand1, layout.local_bits),
            write_address: BitRange::new(0, layout.accumulator_bits),
            read_address: BitRange::new(operand1, layout.accumulator_bits),
            destination: BitRange::new(operand2, register),
            right: BitRange::new(operand2 + register, register),
            left: BitRange::new(operand2 + 2 * register, register),
            simd_op: BitRange::new(operand2 + 3 * register, layout.simd_op_bits),
            table: BitRange::new(operand1, layout.table_bits),
            wait: BitRange::new(0, layout.tid_bits),
            register: BitRange::new(0, 4),
            value: BitRange::new(value, value_bits),
            operands: Word::ones(header),
            flags: BitRange::new(header, 4),
            opcode: BitRange::new(header + 4, opcode_bits),
            tid: BitRange::new(header + 4 + opcode_bits, layout.tid_bits),
        }
    }

    pub(crate) const fn has_threads(&self) -> bool {
        self.config.number_of_threads > 1
    }

    pub(super) const fn flag(&self, bit: u32) -> BitRange {
        BitRange::new(self.flags.lo + bit, 1)
    }

    pub(super) const fn strides0(&self) -> Number {
        decimal((self.config.stride0_depth as u64).saturating_sub(1))
    }

    pub(super) const fn strides1(&self) -> Number {
        decimal((self.config.stride1_depth as u64).saturating_sub(1))
    }

    pub(super) const fn threads(&self) -> Number {
        decimal((self.config.number_of_threads as u64).saturating_sub(1))
    }

    /// Returns the legal sizes of moves between local memory and a memory of `depth` vectors.
    pub(super) fn sizes(&self, depth: u64) -> Number {
        Number::size(self.config.local_depth.min(depth))
    }

    /// Returns the legal sizes of a lookup table: up to all of local memory if operand 2 is wide
    /// enough, or one fixed size.
    pub(super) fn lut_sizes(&self) -> LutSizes {
        match self.config.lookup_vectors() {
            Some(vectors) => LutSizes::Fixed(vectors),
            None => LutSizes::OfInstruction(self.sizes(self.size2.max().saturating_add(1))),
        }
    }

    /// Returns the number of vectors of a LoadLUT if the text does not specify it.
    pub(super) fn lut_vectors(&self) -> u64 {
        // Default: an operand of zeros is a size of one.
        self.config.lookup_vectors().unwrap_or(1)
    }

    /// Returns the syntax of a form: mnemonic, thread and operands.
    pub(super) fn syntax(&self, mnemonic: &str, rest: &str) -> String {
        let thread = if self.has_threads() { "{thread}" } else { "" };
        format!("{mnemonic}{thread}{rest}")
    }

    /// Returns the word of a header without meaning.
    pub(crate) fn unassigned(&self, header: u8, operands: Word) -> Word {
        let word = Word::ZERO.with(self.opcode, u64::from(header >> 4)).with(self.flags, header.into());
        word | operands & self.operands
    }
}

/// Codes of SIMD registers: 0 is `none`, code k is register k.
pub(super) struct Registers<'a> {
    pub none: &'static str,
    pub format: &'a Format,
}

impl Coding for Registers<'_> {
    #[inline]
    fn store(&self, value: u64, _bits: BitRange) -> Option<u64> {
        (value <= self.format.config.simd_registers_depth as u64).then_some(value)
    }

    fn kind(&self) -> FieldKind {
        let registers = (1..=self.format.config.simd_registers_depth).map(|register| format!("r{register}"));
        FieldKind::choice(std::iter::once(self.none.to_owned()).chain(registers))
    }
}

/// Number of vectors that a LoadLUT loads.
pub(super) enum LutSizes {
    /// The size in its operand.
    OfInstruction(Number),
    /// Fixed size for all operands.
    Fixed(u64),
}

impl Coding for LutSizes {
    #[inline]
    fn store(&self, value: u64, bits: BitRange) -> Option<u64> {
        match self {
            Self::OfInstruction(number) => number.store(value, bits),
            Self::Fixed(vectors) => (value == *vectors).then_some(0),
        }
    }

    #[inline]
    fn value(&self, stored: u64, bits: BitRange) -> u64 {
        match self {
            Self::OfInstruction(number) => number.value(stored, bits),
            Self::Fixed(vectors) => *vectors,
        }
    }

    fn kind(&self) -> FieldKind {
        match *self {
            Self::OfInstruction(number) => number.kind(),
            Self::Fixed(vectors) => {
                FieldKind::Number { min: vectors, max: vectors, bias: vectors, radix: Radix::Decimal }
            }
        }
    }
}

/// SIMD operations of an instance; the last one needs lookup tables.
pub(super) struct Operations<'a> {
    pub format: &'a Format,
}

impl Operations<'_> {
    fn all(&self) -> &'static [SimdOp] {
        &SimdOp::ALL[..SimdOp::ALL.len() - usize::from(!self.format.config.has_lookup())]
    }
}

impl Coding for Operations<'_> {
    #[inline]
    fn store(&self, value: u64, _bits: BitRange) -> Option<u64> {
        (value < self.all().len() as u64).then_some(value)
    }

    fn kind(&self) -> FieldKind {
        FieldKind::choice(self.all().iter().map(|op| op.name().to_ascii_lowercase()))
    }
}

/// Numbers of configuration registers; hardware ignores numbers without a register.
pub(super) struct RegisterNumbers;

impl Coding for RegisterNumbers {
    #[inline]
    fn store(&self, value: u64, bits: BitRange) -> Option<u64> {
        (value <= bits.max()).then_some(value)
    }

    fn kind(&self) -> FieldKind {
        let names = Register::ALL.into_iter().map(|register| (register as u64, register.name().to_owned()));
        FieldKind::Choice { names: names.collect(), open: true }
    }
}
