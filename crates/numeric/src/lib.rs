//! Number formats, rounding, saturation and tensors.
//!
//! [`FixedFormat`] and [`NumberFormat`] hold the literal arithmetic every fast path is judged by;
//! [`Number`] is a format known to the compiler, for the fast paths; [`array_product`] is the
//! systolic array's, [`pointwise`] that of bytes; [`Saturations`] count what did not fit; [`Tensor`] is a shape and its
//! elements, of an [`ElementType`]; [`Element`] is one of a prime field; [`SmallFloat`] the floats of at most 16 bits; [`SplitMix64`] makes numbers that look random; [`quantised`] makes
//! integers of real numbers; [`Sha256`] is the hash by which files and memories are compared; [`any_float`] reads and writes floats in texts, [`npy`] tensors and writes them as NumPy's files.

mod affine;
pub mod any_float;
mod bounded;
mod counted;
mod element;
mod field;
mod format;
pub mod npy;
mod number;
mod quantised;
mod saturation;
mod sha256;
mod simd;
mod small_float;
mod split_mix;
mod tensor;

pub use affine::{Affine, Symbols};
pub use bounded::{Beyond, Bounded, Bounds, Grid, RoundingModel};
pub use element::{ElementType, Storage};
pub use field::{Element, Factors, Products};
pub use format::{FixedFormat, NumberFormat};
pub use number::{Fixed, Float, Number};
pub use quantised::{Quantised, Ties, quantised};
pub use saturation::{Excess, Saturations};
pub use sha256::Sha256;
pub use simd::{
    ArrayWeights, BLOCK, BlockRow, PANEL, Panel, Path, Pixels, Pointwise, Rows, WEIGHT_BLOCK_BYTES,
    array_product, array_product_on, block_product, block_product_on, float_product, float_product_on,
    fp16bp8_product, pointwise, pointwise_on,
};
pub use small_float::{Rounding, SmallFloat, encode_power_of_two};
pub use split_mix::SplitMix64;
pub use tensor::{ElementError, Tensor, TensorData};
