//! Architectural state: [`Registers`], and buffers that may hold nothing ([`Array`], [`Held`]).

use crate::isa::fault::Buffer;
use crate::isa::op::Registers;
use crate::machine::array::{Elements, Held};
use crate::machine::values::Values;

/// Registers and buffers.
#[derive(Clone, Debug)]
pub struct State<E: Values = Elements> {
    /// Registers.
    pub registers: Registers,
    /// Input feature maps, of ITYPE.
    pub ifm: Held<E>,
    /// Kernels, of KTYPE.
    pub ker: Held<E>,
    /// Biases, of BTYPE.
    pub bias: Held<E>,
    /// Partial sums, of OTYPE.
    pub ofm: Held<E>,
    /// Values stored so far whose partial sum was at an end of OTYPE, or beyond what ITYPE can hold.
    pub saturated: u64,
    /// What operations note, and make values with.
    pub ledger: E::Ledger,
}

impl<E: Values> State<E> {
    /// A machine after a reset.
    pub fn with_ledger(ledger: E::Ledger) -> Self {
        Self {
            registers: Registers::default(),
            ifm: Held::new(Buffer::Ifm),
            ker: Held::new(Buffer::Ker),
            bias: Held::new(Buffer::Bias),
            ofm: Held::new(Buffer::Ofm),
            saturated: 0,
            ledger,
        }
    }

    /// A buffer.
    pub const fn held(&self, buffer: Buffer) -> &Held<E> {
        match buffer {
            Buffer::Ifm => &self.ifm,
            Buffer::Ker => &self.ker,
            Buffer::Bias => &self.bias,
            Buffer::Ofm => &self.ofm,
        }
    }
}

impl<E: Values<Ledger: Default>> Default for State<E> {
    fn default() -> Self {
        Self::with_ledger(E::Ledger::default())
    }
}
