//! Number formats, rounding, saturation and tensors.
//!
//! - [`FixedFormat`] and [`NumberFormat`] define the reference arithmetic that every fast path is
//!   tested against; [`Number`] is a format known at compile time, for the fast paths.
//! - [`array_product`] is the product of a systolic array, [`pointwise`] that of bytes,
//!   [`block_product`] that of 4-bit weights in blocks. [`Bf16`] are operations on BF16 patterns.
//!   [`Saturations`] counts results that did not fit.
//! - [`Tensor`] is a shape with elements of an [`ElementType`]. [`Element`] is an element of a
//!   prime field, and [`SmallFloat`] a float format of at most 16 bits. [`RowFormat`] is a format
//!   of weights in the files of language models.
//! - [`SplitMix64`] generates pseudorandom numbers, [`quantized`] converts real numbers to
//!   integers, and [`Sha256`] hashes files and memories.
//! - [`any_float`] reads and writes floats in text formats, [`npy`] reads and writes tensors as
//!   NumPy files.

mod affine;
pub mod any_float;
mod bounded;
mod counted;
mod element;
mod field;
mod format;
pub mod npy;
mod number;
mod quantized;
mod row_format;
mod saturation;
mod sha256;
mod simd;
mod small_float;
mod split_mix;
mod tensor;

pub use affine::{Affine, Symbols};
pub use bounded::{Bounded, Bounds, Grid, GridRounding, Overflow, RoundingModel};
pub use element::{ElementType, Storage};
pub use field::{Element, Factors, Products};
pub use format::{FixedFormat, NumberFormat};
pub use number::{Fixed, Float, Number};
pub use quantized::{Quantized, Ties, nearest_code, quantized};
pub use row_format::{Codes, RowFormat};
pub use saturation::{Overshoot, Saturations};
pub use sha256::Sha256;
pub use simd::{
    ArrayWeights, BLOCK, Bf16, BlockRow, BlockWeights, PANEL, Panel, Path, Pixels, Pointwise, Rows, Scaling,
    WEIGHT_BLOCK_BYTES, array_product, array_product_on, block_product, block_product_on, dot, dot_products,
    dot_products_on, float_product, float_product_on, fp16bp8_product, pointwise, pointwise_on,
};
pub use small_float::{Rounding, SmallFloat, encode_power_of_two};
pub use split_mix::SplitMix64;
pub use tensor::{ElementError, Tensor, TensorData};
