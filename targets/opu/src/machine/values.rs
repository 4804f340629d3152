//! What the executor computes with: [`Values`], of which numbers are one kind, elements of a field another, and ranges a third.
//!
//! Instructions mean the same whatever they compute with: addresses, shapes, order and faults are in [`crate::machine::exec`], and
//! this is what it asks of values.

use std::fmt::Debug;

use crate::config::Types;
use crate::config::datatype::DataType;
use crate::isa::op::{Access, Activation, Shape};
use crate::machine::array::Array;

/// Which code computes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Arithmetic {
    /// The fastest there is for the types.
    #[default]
    Fast,
    /// One exact sum for each result: the judge of all other.
    Literal,
    /// None: all that can be at fault but values is looked at, buffers become valid without elements, memory stays.
    Absent,
}

/// What a tap reads, what it is multiplied by, and what its products are added to.
pub struct Tap<'a, V> {
    /// Input feature maps.
    pub ifm: &'a Array<V>,
    /// Position in `ifm` of the first channel of pixel (0, 0).
    pub start: usize,
    /// Elements of `ifm` from row to row of results.
    pub row: usize,
    /// Elements of `ifm` from column to column of results.
    pub column: usize,
    /// The slice, `[ofm_c, ifm_c]`.
    pub ker: &'a Array<V>,
    /// Position in `ker` of the slice.
    pub slice: usize,
    /// Number of input channels.
    pub channels: usize,
    /// Shape of the results.
    pub shape: Shape,
    /// Exponent of the sums of products.
    pub shift: i32,
    /// What is added.
    pub addend: TapAddend<'a, V>,
    /// Types of all buffers.
    pub types: &'a Types,
}

/// What the products of a tap are added to.
pub enum TapAddend<'a, V> {
    /// Nothing.
    Zero,
    /// The bias of the channel, scaled by two to the exponent.
    Bias(&'a Array<V>, i32),
    /// The results' old values.
    Ofm,
}

/// How `store` computes.
pub trait Rules<V: Values> {
    /// Partial sums as values of ITYPE, `channels` to a pixel.
    fn cast(&self, ofm: &V, channels: usize, ledger: &mut V::Ledger) -> Vec<V::Scalar>;
    /// Applies the function to each value, of which there are `channels` to a pixel.
    fn activate(&self, act: Activation, values: &mut [V::Scalar], channels: usize, ledger: &mut V::Ledger);
    /// The sum of two values of a channel, of ITYPE.
    fn sum(&self, a: &V::Scalar, b: V::Scalar, channel: usize, ledger: &mut V::Ledger) -> V::Scalar;
    /// The greater of two values.
    fn greater(&self, a: &V::Scalar, b: &V::Scalar, ledger: &mut V::Ledger) -> V::Scalar;
}

/// A memory by byte addresses.
pub trait Addressed {
    /// The first of `bytes` bytes from `address` on that was never written, where reading such is a fault.
    fn unwritten(&self, address: u64, bytes: usize) -> Option<u64>;

    /// Makes `bytes` bytes from `address` on 0.
    fn clear(&mut self, address: u64, bytes: u64);
}

/// What a buffer holds.
pub trait Values: Sized {
    /// What holds them outside the buffers.
    type Memory: Addressed;
    /// One of them, on its way through `store`.
    type Scalar: Clone;
    /// What operations note, and make values with.
    type Ledger: Clone + Debug;
    /// How `store` computes.
    type Rules: Rules<Self>;

    /// As many zeros of a type.
    fn zeros(data_type: DataType, len: usize) -> Self;

    /// The value at `index`, which is below the length.
    fn at(&self, index: usize) -> Self::Scalar;

    /// Values of ITYPE.
    fn of(itype: DataType, values: Vec<Self::Scalar>) -> Self;

    /// The values of a type that `access` reads, in its order.
    ///
    /// # Errors
    ///
    /// Position and bits of the first that is not a finite number.
    fn load(memory: &Self::Memory, access: &Access, data_type: DataType) -> Result<Self, (usize, u32)>;

    /// Writes values of a type where `access` says, in its order.
    fn store(memory: &mut Self::Memory, access: &Access, data_type: DataType, values: &Self);

    /// The results of a tap, into `sums`.
    fn conv(tap: &Tap<'_, Self>, arithmetic: Arithmetic, sums: &mut Self, ledger: &mut Self::Ledger);

    /// How `store` computes.
    fn rules(types: &Types, arithmetic: Arithmetic) -> Self::Rules;

    /// How many partial sums were too large.
    fn saturated(types: &Types, ofm: &Self) -> u64;
}

impl<E: Values> Array<E> {
    /// An array whose elements are not needed.
    pub fn without_elements(data_type: DataType, shape: Vec<usize>) -> Self {
        Self { data_type, shape, elements: E::zeros(data_type, 0) }
    }
}
