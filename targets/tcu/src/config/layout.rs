//! [`Layout`]: the widths of an instruction's fields, as functions of the memory depths.

use npukit_base::clog2;

use super::{Config, Reading};

/// Widths in bits of an instance's instructions.
///
/// From bit 0 up: operand 0 (address, stride, padding), operand 1 (address, stride, padding),
/// operand 2 (value, padding), and the 8-bit header. Source: specification 3.1 and 3.2, pinned by
/// `layouts_are_the_golden_ones`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Thread id, in the header's highest bits; 0 with one thread.
    pub tid_bits: u32,
    /// Bits of an address in local memory.
    pub local_bits: u32,
    /// Bits of an address in the accumulators.
    pub accumulator_bits: u32,
    /// Bits of an address in DRAM0.
    pub dram0_bits: u32,
    /// Bits of an address in DRAM1.
    pub dram1_bits: u32,
    /// Bits of a stride code of operand 0.
    pub stride0_bits: u32,
    /// Bits of a stride code of operand 1.
    pub stride1_bits: u32,
    /// Bits of a SIMD operation: 4, or 5 with lookup tables, since Lookup is the 17th operation.
    pub simd_op_bits: u32,
    /// Bits of a source or destination of a SIMD operation.
    pub simd_operand_bits: u32,
    /// Bits of a SIMD sub-instruction.
    pub simd_sub_bits: u32,
    /// Bits of the address part of operand 0.
    pub operand0_address_bits: u32,
    /// Bits of operand 0 with its padding.
    pub operand0_bits: u32,
    /// Bits of the address part of operand 1.
    pub operand1_address_bits: u32,
    /// Bits of operand 1 with its padding.
    pub operand1_bits: u32,
    /// Bits of the value part of operand 2.
    pub operand2_value_bits: u32,
    /// Bits of operand 2 with its padding.
    pub operand2_bits: u32,
    /// Number of a lookup table, in operand 1; 0 without the extension.
    pub table_bits: u32,
}

/// Bits of opcode and flags.
pub const HEADER_BITS: u32 = 8;

impl Layout {
    /// Returns the bits of all three operands: everything below the header.
    pub const fn operands_bits(&self) -> u32 {
        self.operand0_bits + self.operand1_bits + self.operand2_bits
    }

    /// Returns the bytes of a whole instruction, 2 to 27.
    pub const fn instruction_bytes(&self) -> usize {
        ((self.operands_bits() + HEADER_BITS) / 8) as usize
    }

    /// Returns the first bit of a Configure's value, and its number of bits.
    ///
    /// Released hardware takes the 28 bits after the register number, in whichever operands they
    /// are. By the specification the value is operand 1: it has the 32 bits of the registers and
    /// ends where the operands do.
    pub fn configure_value(&self, reading: Reading) -> (u32, u32) {
        let (first, most) = match reading {
            Reading::Released => (4, 28),
            Reading::Seed => (self.operand0_bits, 32),
        };
        (first, self.operands_bits().saturating_sub(first).min(most))
    }
}

impl Config {
    /// Returns the bits of a vector in DRAM.
    pub fn vector_bits(&self) -> u64 {
        (self.array_size as u64).saturating_mul(self.data_type.size_bytes() as u64 * 8)
    }

    /// Returns the widths of this instance's instructions.
    pub fn layout(&self) -> Layout {
        let (local, acc) = (clog2(self.local_depth), clog2(self.accumulator_depth));
        let (dram0, dram1) = (clog2(self.dram0_depth), clog2(self.dram1_depth));
        let (stride0, stride1) = (clog2(self.stride0_depth as u64), clog2(self.stride1_depth as u64));
        let simd_op = if self.has_lookup() { 5 } else { 4 };
        let simd_operand = clog2(self.simd_registers_depth as u64 + 1);
        let simd_sub = simd_op + 3 * simd_operand;
        let table = if self.has_lookup() { clog2(self.lookup_tables as u64 + 1) } else { 0 };
        let address0 = local.max(acc);
        let address1 = address0.max(dram0).max(dram1);
        let value2 = local.min(acc).max(local.min(dram0)).max(local.min(dram1)).max(simd_sub);
        Layout {
            tid_bits: clog2(self.number_of_threads as u64),
            local_bits: local,
            accumulator_bits: acc,
            dram0_bits: dram0,
            dram1_bits: dram1,
            stride0_bits: stride0,
            stride1_bits: stride1,
            simd_op_bits: simd_op,
            simd_operand_bits: simd_operand,
            simd_sub_bits: simd_sub,
            operand0_address_bits: address0,
            operand0_bits: (address0 + stride0).next_multiple_of(8),
            operand1_address_bits: address1,
            operand1_bits: (address1 + stride1).max(table).next_multiple_of(8),
            operand2_value_bits: value2,
            operand2_bits: value2.next_multiple_of(8),
            table_bits: table,
        }
    }

    /// Returns whether the extension with LoadLUT and Lookup exists.
    pub const fn has_lookup(&self) -> bool {
        self.lookup_tables > 0
    }

    /// Returns the number of vectors that every LoadLUT loads; `None` if each instruction specifies
    /// it.
    pub const fn lookup_vectors(&self) -> Option<u64> {
        match (self.reading, self.lookup_depth) {
            (Reading::Released, _) => None,
            (Reading::Seed, 0) => Some(1),
            (Reading::Seed, depth) => Some(depth),
        }
    }
}
