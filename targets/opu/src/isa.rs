//! The instruction set as people read and write it: [`isa()`]. Its rows stand in [`crate::isa::op`].
//! Source: specification, 2.

pub(crate) mod codec;
pub(crate) mod fault;
mod hint;
pub(crate) mod memory;
pub(crate) mod op;

use npukit_isa::{ByteOrder, InstructionSpec, IsaSpec};

use crate::config::Validity;
use crate::isa::op::Op;

/// The instruction set; instances differ by the letter of the draft alone.
pub fn isa(validity: Validity) -> IsaSpec {
    let mut instructions = Op::rows(validity);
    instructions.iter_mut().for_each(|row| note(row, validity));
    IsaSpec { name: "opu".to_owned(), doc: DOC.to_owned(), byte_order: ByteOrder::Little, instructions }
}

/// Adds to a row where its readings part, and which of them counts.
fn note(row: &mut InstructionSpec, validity: Validity) {
    let found = READINGS.iter().find(|reading| reading.instructions.contains(&row.name.as_str()));
    let Some(&Reading { from, letter, mended, .. }) = found else { return };
    row.add_doc(if validity >= from { letter } else { mended });
}

/// What instructions mean by the draft's letter, and otherwise.
struct Reading {
    instructions: &'static [&'static str],
    /// The least that has the letter.
    from: Validity,
    letter: &'static str,
    mended: &'static str,
}

const READINGS: [Reading; 6] = [
    Reading {
        instructions: &["@post"],
        from: Validity::Seed,
        letter: "The fields are those of the draft's appendix; without `+seed` they are the published parser's: `act` \
                 in bits 7 to 6, `order` in 9 to 8, `res` in 10.",
        mended: "The fields are those of the published parser; the draft's appendix, which `+seed` follows, has `order` \
                 in bits 7 to 6, `res` in 8 and `act` in 10 to 9.",
    },
    Reading {
        instructions: &["ld.ker"],
        from: Validity::Seed,
        letter: "The strides are those that the draft prints, ofm_c * ifm_c, ofm_c and 1; without `+seed` the array is \
                 dense.",
        mended: "The array is dense, as the draft says; the strides that it prints, ofm_c * ifm_c, ofm_c and 1, are \
                 those of `+seed`.",
    },
    Reading {
        instructions: &["pad"],
        from: Validity::Seed,
        letter: "Rows are ofm_mem_w elements apart, as the draft prints it; without `+seed` they are ofm_mem_w slots \
                 apart.",
        mended: "Rows are ofm_mem_w slots apart, as the draft says that the array is contiguous; the stride that it \
                 prints, ofm_mem_w elements, is that of `+seed`.",
    },
    Reading {
        instructions: &["conv", "conv.bias"],
        from: Validity::Draft,
        letter: "Valid by the draft's condition as it is printed, where all that is read is there; without `+seed` or \
                 `+draft` the latter suffices.",
        mended: "Valid when all that is read is there; the draft's printed condition counts with `+draft` and `+seed`.",
    },
    Reading {
        instructions: &["conv.acc"],
        from: Validity::Draft,
        letter: "The draft has no condition; what is read has to be there.",
        mended: "Valid as `conv` is; the draft has no condition, nor have `+draft` and `+seed`.",
    },
    Reading {
        instructions: &["@shape.ofm"],
        from: Validity::Draft,
        letter: "Biases stay, as the draft does not name them.",
        mended: "Biases stay with `+draft` and `+seed`, as the draft does not name them.",
    },
];

const DOC: &str = "Addresses count 64 bytes from the start of a bank, banks 2^28 bytes. A slot of a feature \
                   map is one pixel of 64 channels. Instructions with `@` set registers, which keep their \
                   values; the others work on buffers and memory.";
