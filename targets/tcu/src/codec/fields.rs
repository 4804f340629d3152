//! [`Fields`]: where everything stands in a word.

use npukit_base::{BitRange, Word};

use super::opcode;
use crate::config::{Config, Layout};

/// Bit ranges of one instance.
#[derive(Clone, Debug)]
pub(crate) struct Fields {
    pub address0: BitRange,
    pub stride0: BitRange,
    pub address1: BitRange,
    pub stride1: BitRange,
    /// Size minus one, in operand 2.
    pub size2: BitRange,
    /// Size minus one of LoadWeights, in operand 1.
    pub size1: BitRange,
    /// Accumulator address of SIMD writes, in operand 0.
    pub write_address: BitRange,
    /// Accumulator address of SIMD reads, in operand 1.
    pub read_address: BitRange,
    pub destination: BitRange,
    pub right: BitRange,
    pub left: BitRange,
    pub simd_op: BitRange,
    /// Table number of LoadLUT, in operand 1.
    pub table: BitRange,
    /// Thread waited for, in operand 0.
    pub wait: BitRange,
    pub register: BitRange,
    pub value: BitRange,
    /// Everything below the header.
    pub operands: Word,
    pub flags: BitRange,
    pub opcode: BitRange,
    pub tid: BitRange,
}

impl Fields {
    pub fn new(layout: &Layout) -> Self {
        let operand1 = layout.operand0_bits;
        let operand2 = operand1 + layout.operand1_bits;
        let header = operand2 + layout.operand2_bits;
        let register = layout.simd_operand_bits;
        let opcode_bits = 4 - layout.tid_bits.min(4);
        Self {
            address0: BitRange::new(0, layout.operand0_address_bits),
            stride0: BitRange::new(layout.operand0_address_bits, layout.stride0_bits),
            address1: BitRange::new(operand1, layout.operand1_address_bits),
            stride1: BitRange::new(operand1 + layout.operand1_address_bits, layout.stride1_bits),
            size2: BitRange::new(operand2, layout.operand2_value_bits),
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
            value: BitRange::new(4, layout.configure_value_bits()),
            operands: Word::ones(header),
            flags: BitRange::new(header, 4),
            opcode: BitRange::new(header + 4, opcode_bits),
            tid: BitRange::new(header + 4 + opcode_bits, layout.tid_bits),
        }
    }

    /// By opcode, the bits with a meaning; unassigned opcodes use none but their header's.
    pub fn used(&self, config: &Config) -> [Word; 16] {
        let flags = |count| BitRange::new(self.flags.lo, count);
        let threads = config.number_of_threads > 1;
        let (local, other) = ([self.address0, self.stride0], [self.address1, self.stride1]);
        let sub = [self.destination, self.right, self.left, self.simd_op];
        let mut used = [mask(&[self.opcode, self.tid]); 16];
        let mut add = |opcode: u8, parts: &[&[BitRange]]| {
            for part in parts {
                let slot = &mut used[usize::from(opcode)];
                *slot = *slot | mask(part);
            }
        };
        add(opcode::MAT_MUL, &[&local, &other, &[self.size2, flags(2)]]);
        add(opcode::DATA_MOVE, &[&local, &other, &[self.size2, flags(4)]]);
        add(opcode::LOAD_WEIGHTS, &[&local, &[self.size1, flags(1)]]);
        add(opcode::SIMD, &[&[self.write_address, self.read_address], &sub, &[flags(3)]]);
        if config.has_lookup() {
            add(opcode::LOAD_LUT, &[&local, &[self.table, self.size2]]);
        }
        if threads {
            add(opcode::NO_OP, &[&[self.wait]]);
        } else {
            add(opcode::CONFIGURE, &[&[self.register, self.value]]);
        }
        used
    }
}

fn mask(ranges: &[BitRange]) -> Word {
    ranges.iter().fold(Word::ZERO, |word, range| word | Word::mask(*range))
}
