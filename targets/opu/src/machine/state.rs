//! Architectural state: [`Registers`], and buffers that may be empty ([`Array`],
//! [`BufferContent`]).

use crate::isa::fault::Buffer;
use crate::isa::op::Registers;
use crate::machine::array::{BufferContent, Elements};
use crate::machine::values::Values;

/// Registers and buffers.
#[derive(Clone, Debug)]
pub struct State<E: Values = Elements> {
    /// Registers of the machine.
    pub registers: Registers,
    /// Input feature maps, of type ITYPE.
    pub ifm: BufferContent<E>,
    /// Kernels, of type KTYPE.
    pub ker: BufferContent<E>,
    /// Biases, of type BTYPE.
    pub bias: BufferContent<E>,
    /// Partial sums, of type OTYPE.
    pub ofm: BufferContent<E>,
    /// Number of stored values for which the partial sum was at a limit of OTYPE or exceeded the
    /// range of ITYPE.
    pub saturated: u64,
    /// State that the operations on values need and update.
    pub ledger: E::Ledger,
}

impl<E: Values> State<E> {
    /// Returns the state after a reset.
    pub fn with_ledger(ledger: E::Ledger) -> Self {
        Self {
            registers: Registers::default(),
            ifm: BufferContent::new(Buffer::Ifm),
            ker: BufferContent::new(Buffer::Ker),
            bias: BufferContent::new(Buffer::Bias),
            ofm: BufferContent::new(Buffer::Ofm),
            saturated: 0,
            ledger,
        }
    }

    /// Returns a buffer's contents.
    pub const fn held(&self, buffer: Buffer) -> &BufferContent<E> {
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
