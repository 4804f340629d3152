//! Values with which the executor computes: [`Values`], implemented for numbers, elements of a
//! field, floats and ranges.
//!
//! Instructions have the same meaning for all values: addresses, shapes, order and faults are
//! handled in [`crate::machine::exec`], which needs only these traits.

use std::fmt::Debug;

use crate::config::Types;
use crate::config::datatype::DataType;
use crate::isa::op::{Access, Activation, Shape};
use crate::machine::array::Array;

/// Implementation of the arithmetic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Arithmetic {
    /// The fastest implementation for the types.
    #[default]
    Fast,
    /// One exact sum for each result: the reference for all other implementations.
    Literal,
    /// No arithmetic: all faults that do not depend on values are checked, buffers become valid
    /// without elements, and memory is unchanged.
    Absent,
}

/// Data of a tap: its input, its weights and its addend.
pub struct Tap<'a, V> {
    /// Input feature maps.
    pub ifm: &'a Array<V>,
    /// Index in `ifm` of the first channel of pixel (0, 0).
    pub start: usize,
    /// Distance in `ifm` between rows of results, in elements.
    pub row: usize,
    /// Distance in `ifm` between columns of results, in elements.
    pub column: usize,
    /// Kernel slices of shape `[ofm_c, ifm_c]`.
    pub ker: &'a Array<V>,
    /// Index in `ker` of the slice.
    pub slice: usize,
    /// Number of input channels.
    pub channels: usize,
    /// Shape of the results.
    pub shape: Shape,
    /// Exponent of two for the sums of products.
    pub shift: i32,
    /// Value to which products are added.
    pub addend: TapAddend<'a, V>,
    /// Types of all buffers.
    pub types: &'a Types,
}

/// Value to which the products of a tap are added.
pub enum TapAddend<'a, V> {
    /// Zero.
    Zero,
    /// Bias of the channel, times two to the exponent.
    Bias(&'a Array<V>, i32),
    /// Previous values of the results.
    Ofm,
}

/// Arithmetic of `store`.
pub trait Rules<V: Values> {
    /// Converts partial sums to values of ITYPE, with `channels` values per pixel.
    fn cast(&self, ofm: &V, channels: usize, ledger: &mut V::Ledger) -> Vec<V::Scalar>;
    /// Applies the activation to each value; there are `channels` values per pixel.
    fn activate(&self, act: Activation, values: &mut [V::Scalar], channels: usize, ledger: &mut V::Ledger);
    /// Returns the sum of two values of ITYPE in the given channel.
    fn sum(&self, a: &V::Scalar, b: V::Scalar, channel: usize, ledger: &mut V::Ledger) -> V::Scalar;
    /// Returns the greater of two values.
    fn greater(&self, a: &V::Scalar, b: &V::Scalar, ledger: &mut V::Ledger) -> V::Scalar;
}

/// Memory with byte addresses.
pub trait Addressed {
    /// Returns the address of the first unwritten byte of the `bytes` bytes starting at `address`,
    /// if reading one is a fault.
    fn unwritten(&self, address: u64, bytes: usize) -> Option<u64>;

    /// Sets the `bytes` bytes starting at `address` to 0.
    fn clear(&mut self, address: u64, bytes: u64);
}

/// Elements of a buffer.
pub trait Values: Sized {
    /// Memory that holds such values.
    type Memory: Addressed;
    /// Single value, used within `store`.
    type Scalar: Clone;
    /// State that operations need and update.
    type Ledger: Clone + Debug;
    /// Arithmetic of `store`.
    type Rules: Rules<Self>;

    /// Returns `len` zeros of a type.
    fn zeros(data_type: DataType, len: usize) -> Self;

    /// Returns the value at `index`, which must be less than the length.
    fn at(&self, index: usize) -> Self::Scalar;

    /// Makes elements from values of ITYPE.
    fn of(itype: DataType, values: Vec<Self::Scalar>) -> Self;

    /// Loads the values of a type that `access` reads, in its order.
    ///
    /// # Errors
    ///
    /// Position and bits of the first value that is not a finite number.
    fn load(memory: &Self::Memory, access: &Access, data_type: DataType) -> Result<Self, (usize, u32)>;

    /// Stores values of a type to the bytes of `access`, in its order.
    fn store(memory: &mut Self::Memory, access: &Access, data_type: DataType, values: &Self);

    /// Computes the results of a tap into `sums`.
    fn conv(tap: &Tap<'_, Self>, arithmetic: Arithmetic, sums: &mut Self, ledger: &mut Self::Ledger);

    /// Returns the arithmetic of `store`.
    fn rules(types: &Types, arithmetic: Arithmetic) -> Self::Rules;

    /// Returns the number of partial sums that were out of range.
    fn saturated(types: &Types, ofm: &Self) -> u64;
}

impl<E: Values> Array<E> {
    /// Returns an array with a shape but no elements.
    pub fn without_elements(data_type: DataType, shape: Vec<usize>) -> Self {
        Self { data_type, shape, elements: E::zeros(data_type, 0) }
    }
}
