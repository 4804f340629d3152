//! The instruction set as people read and write it: [`isa()`]. Its rows stand in [`crate::isa::op`].

pub(crate) mod codec;
pub(crate) mod op;

use npukit_isa::{ByteOrder, IsaSpec};

use crate::isa::op::Op;

/// The instruction set; it is the same for all instances.
pub fn isa() -> IsaSpec {
    IsaSpec {
        name: "skeleton".to_owned(),
        doc: "Addresses count numbers of 16 bits, 8 of them fraction.".to_owned(),
        byte_order: ByteOrder::Little,
        instructions: Op::rows(),
    }
}
