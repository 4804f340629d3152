//! The instruction set for documentation, assembler and disassembler: [`isa()`]. Its rows are in
//! [`crate::isa::op`]. Source: specification, 2.

pub(crate) mod codec;
pub(crate) mod fault;
mod hint;
pub(crate) mod memory;
pub(crate) mod op;

use npukit_isa::{ByteOrder, InstructionSpec, IsaSpec};

use crate::config::Validity;
use crate::isa::op::Op;

/// Returns the instruction set. Instances differ only in how literally they follow the draft
/// specification.
pub fn isa(validity: Validity) -> IsaSpec {
    let mut instructions = Op::rows(validity);
    instructions.iter_mut().for_each(|row| note(row, validity));
    IsaSpec { name: "opu".to_owned(), doc: DOC.to_owned(), byte_order: ByteOrder::Little, instructions }
}

/// Adds to a row's documentation how the readings of the specification differ, and which one
/// applies.
fn note(row: &mut InstructionSpec, validity: Validity) {
    let found = READINGS.iter().find(|reading| reading.instructions.contains(&row.name.as_str()));
    let Some(&Reading { from, letter, mended, .. }) = found else { return };
    row.add_doc(if validity >= from { letter } else { mended });
}

/// Two readings of the specification for some instructions: the draft's text to the letter, and the
/// corrected one.
struct Reading {
    instructions: &'static [&'static str],
    /// Lowest validity for which the draft's text applies.
    from: Validity,
    letter: &'static str,
    mended: &'static str,
}

const READINGS: [Reading; 6] = [
    Reading {
        instructions: &["@post"],
        from: Validity::Seed,
        letter: "The fields follow the draft's appendix; without `+seed` they follow the published parser: `act` \
                 in bits 7 to 6, `order` in 9 to 8, `res` in 10.",
        mended: "The fields follow the published parser; the draft's appendix, which `+seed` follows, has `order` \
                 in bits 7 to 6, `res` in 8 and `act` in 10 to 9.",
    },
    Reading {
        instructions: &["ld.ker"],
        from: Validity::Seed,
        letter: "The strides follow the draft, ofm_c * ifm_c, ofm_c and 1; without `+seed` the array is \
                 dense.",
        mended: "The array is dense, as the draft states; the strides that it prints, ofm_c * ifm_c, ofm_c and 1, \
                 apply with `+seed`.",
    },
    Reading {
        instructions: &["pad"],
        from: Validity::Seed,
        letter: "Rows are ofm_mem_w elements apart, as the draft prints; without `+seed` they are ofm_mem_w slots \
                 apart.",
        mended: "Rows are ofm_mem_w slots apart, as the draft states that the array is contiguous; the stride that it \
                 prints, ofm_mem_w elements, applies with `+seed`.",
    },
    Reading {
        instructions: &["conv", "conv.bias"],
        from: Validity::Draft,
        letter: "Valid if the draft's printed condition holds and the buffers hold all that is read; without `+seed` or \
                 `+draft` the second condition suffices.",
        mended: "Valid if the buffers hold all that is read; the draft's printed condition applies with `+draft` and `+seed`.",
    },
    Reading {
        instructions: &["conv.acc"],
        from: Validity::Draft,
        letter: "The draft has no condition; the buffers must hold all that is read.",
        mended: "Valid under the condition of `conv`; the draft has none, and neither do `+draft` and `+seed`.",
    },
    Reading {
        instructions: &["@shape.ofm"],
        from: Validity::Draft,
        letter: "Biases stay valid, as the draft does not mention them.",
        mended: "Biases stay valid with `+draft` and `+seed`, as the draft does not mention them.",
    },
];

const DOC: &str = "Addresses count 64 bytes from the start of a bank, banks 2^28 bytes. A slot of a feature \
                   map is one pixel of 64 channels. Instructions with `@` set registers, which keep their \
                   values; the others work on buffers and memory.";
