//! Typed instructions: [`Op`]. Their words, names and text follow from the rows: [`Op::rows`].

use npukit_base::BitRange;
use npukit_isa::coding::Number;
use npukit_isa::{Radix, instructions};

use crate::isa::codec::WORD_BYTES;

/// An instruction. Addresses are in numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// Ends the program.
    End,
    /// Adds two vectors of `n` numbers.
    Add {
        /// Address of the sums.
        dst: u32,
        /// Address of the first addend.
        left: u32,
        /// Address of the second addend.
        right: u32,
        /// Length of the vectors.
        n: u32,
    },
    /// Replaces negative ones of `n` numbers by zero.
    Relu {
        /// Address of the results.
        dst: u32,
        /// Address of the operands.
        src: u32,
        /// Length of the vectors.
        n: u32,
    },
    /// Multiplies two vectors of `n` numbers, and adds up the products.
    Dot {
        /// Address of the sum.
        dst: u32,
        /// Address of the first vector.
        left: u32,
        /// Address of the second vector.
        right: u32,
        /// Length of the vectors.
        n: u32,
    },
}

const OPCODE: BitRange = BitRange::new(60, 4);
const N: BitRange = BitRange::new(48, 12);
const DST: BitRange = BitRange::new(32, 16);
const LEFT: BitRange = BitRange::new(16, 16);
const RIGHT: BitRange = BitRange::new(0, 16);

/// Maximum length of an instruction's vectors.
pub const MOST: u32 = 1 << 12;

instructions! {
    for Op, words of WORD_BYTES, opcode in OPCODE;

    0 => "end" { Self::End } "Stops." {
    } .with_form("end", Vec::new());

    1 => "add" { Self::Add { dst, left, right, n } } "Adds numbers; sums saturate." {
        dst: DST => address(), "address of the sums";
        left: LEFT => address(), "address of the first addend";
        right: RIGHT => address(), "address of the second addend";
        n: N => Number::size(MOST as u64), "numbers";
    } .with_form("add {dst}, {left}, {right}, {n}", Vec::new());

    2 => "relu" { Self::Relu { dst, src, n } } "Clips numbers at zero." {
        dst: DST => address(), "address of the results";
        src: LEFT => address(), "address of the operands";
        n: N => Number::size(MOST as u64), "numbers";
    } .with_form("relu {dst}, {src}, {n}", Vec::new());

    3 => "dot" { Self::Dot { dst, left, right, n } } "Adds up products; the exact sum is rounded and saturates." {
        dst: DST => address(), "address of the sum";
        left: LEFT => address(), "address of the first vector";
        right: RIGHT => address(), "address of the second vector";
        n: N => Number::size(MOST as u64), "numbers";
    } .with_form("dot {dst}, {left}, {right}, {n}", Vec::new());
}

/// Field with an address in memory, in numbers.
const fn address() -> Number {
    Number::all(DST, Radix::Decimal)
}
