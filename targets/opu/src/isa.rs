//! The instruction set as people read and write it: [`isa()`]. Its rows stand in [`crate::op`].
//! Source: specification, 2.

use npukit_isa::{ByteOrder, IsaSpec};

use crate::op::Op;

/// The instruction set; it is the same for all instances.
pub fn isa() -> IsaSpec {
    IsaSpec {
        name: "opu".to_owned(),
        doc: DOC.to_owned(),
        byte_order: ByteOrder::Little,
        instructions: Op::rows(),
    }
}

const DOC: &str = "Addresses count 64 bytes from the start of a bank, banks 2^28 bytes. A slot of a feature \
                   map is one pixel of 64 channels. Instructions with `@` set registers, which keep their \
                   values; the others work on buffers and memory.";
