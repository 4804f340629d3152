//! Instruction set for documentation, assembler and disassembler: [`isa()`]. Its rows are in
//! [`crate::isa::op`].

pub(crate) mod codec;
pub(crate) mod op;

use npukit_isa::{ByteOrder, IsaSpec};

use crate::isa::op::Op;

/// Returns the instruction set, which is the same for all instances.
pub fn isa() -> IsaSpec {
    IsaSpec {
        name: "skeleton".to_owned(),
        doc: "Addresses are in numbers of 16 bits, with 8 fraction bits.".to_owned(),
        byte_order: ByteOrder::Little,
        instructions: Op::rows(),
    }
}
