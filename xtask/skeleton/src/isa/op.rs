//! Typed instructions: [`Op`], and the rows from which their words, names and text come: [`Op::rows`].

use npukit_base::BitRange;
use npukit_isa::coding::Number;
use npukit_isa::{Radix, instructions};

use crate::isa::codec::WORD_BYTES;

/// An instruction. Addresses count numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// Stops.
    End,
    /// Adds `n` numbers to as many others.
    Add {
        /// Where the sums go.
        dst: u32,
        /// The first addend.
        left: u32,
        /// The second one.
        right: u32,
        /// How many.
        n: u32,
    },
    /// Clips `n` numbers at zero.
    Relu {
        /// Where the results go.
        dst: u32,
        /// What is clipped.
        src: u32,
        /// How many.
        n: u32,
    },
}

const OPCODE: BitRange = BitRange::new(60, 4);
const N: BitRange = BitRange::new(48, 12);
const DST: BitRange = BitRange::new(32, 16);
const LEFT: BitRange = BitRange::new(16, 16);
const RIGHT: BitRange = BitRange::new(0, 16);

/// The most numbers of an instruction.
pub const MOST: u32 = 1 << 12;

instructions! {
    for Op, words of WORD_BYTES, opcode in OPCODE;

    0 => "end" { Self::End } "Stops." {
    } .with_form("end", Vec::new());

    1 => "add" { Self::Add { dst, left, right, n } } "Adds numbers; sums saturate." {
        dst: DST => address(), "where the sums go";
        left: LEFT => address(), "the first addend";
        right: RIGHT => address(), "the second addend";
        n: N => Number::size(MOST as u64), "numbers";
    } .with_form("add {dst}, {left}, {right}, {n}", Vec::new());

    2 => "relu" { Self::Relu { dst, src, n } } "Clips numbers at zero." {
        dst: DST => address(), "where the results go";
        src: LEFT => address(), "what is clipped";
        n: N => Number::size(MOST as u64), "numbers";
    } .with_form("relu {dst}, {src}, {n}", Vec::new());
}

/// A place in memory, in numbers.
const fn address() -> Number {
    Number::all(DST, Radix::Decimal)
}
