//! The instruction set as people read and write it: [`isa()`]. Its rows stand in [`crate::op`].

use npukit_isa::{ByteOrder, IsaSpec};

use crate::config::Config;
use crate::op::Op;

/// The instruction set of `config`. Source: specification 2.1 to 2.4.
pub fn isa(config: &Config) -> IsaSpec {
    let name = match config.extensions {
        true => "pccx v002 with extensions, 64-bit instructions",
        false => "pccx v002, 64-bit instructions",
    };
    IsaSpec {
        name: name.to_owned(),
        doc: DOC.to_owned(),
        byte_order: ByteOrder::Little,
        instructions: Op::rows(config.extensions),
    }
}

const DOC: &str = "Addresses count L2 words of 128 bits, eight BF16 values each. Entries are those of the two \
                   constant banks, 64 each. Operands with a name may stand in any order.";
