//! Fast paths, selected by the features of the processor; the only place with `unsafe`.
//!
//! Kernels are compiled once for each set of processor features. A portable version always exists.
//! The entry points are:
//!
//! - [`array_product`]: the product of a systolic array. `fused` is the kernel for processors with
//!   a fused multiply-add, `portable` for all others, and `literal` the reference for both.
//! - [`pointwise`]: products of bytes, with its own reference and portable code, and `bytes` for
//!   processors with dot products of bytes.
//! - [`block_product`]: products of 4-bit weights and 8-bit activations in blocks.
//! - [`Bf16`]: operations on vectors of BF16 patterns.
//! - [`float_product`]: products of float matrices, summed in order.
//! - [`dot_products`]: products of rows, in 16 partial sums.
//! - [`small_products`]: products of elements of the prime field and small integers.
//! - [`sha256_blocks`] hashes.

mod bf16;
mod block_row;
mod blocks;
#[cfg(target_arch = "x86_64")]
mod blocks_avx2;
#[cfg(target_arch = "x86_64")]
mod blocks_avx512;
#[cfg(target_arch = "x86_64")]
mod blocks_vnni;
#[cfg(target_arch = "x86_64")]
mod bytes;
mod dots;
mod floats;
#[cfg(target_arch = "x86_64")]
mod fused;
mod literal;
#[cfg(target_arch = "x86_64")]
mod paired;
mod path;
mod pointwise;
mod portable;
mod product;
mod sha256;
mod small;
#[cfg(target_arch = "x86_64")]
mod vector;
mod weights;

/// Returns random numbers of three magnitudes. Their sums round at every step, so that another
/// order or a fused step changes the result.
#[cfg(test)]
fn rounding_numbers(seed: u64) -> impl FnMut() -> f32 {
    let mut random = crate::SplitMix64::new(seed);
    move || {
        let magnitude = [1.0, 1e-3, 1e4][(random.bits() % 3) as usize];
        random.between(-1.0, 1.0) as f32 * magnitude
    }
}

/// Output lanes of a tile for wide arrays.
const WIDE: usize = 16;
/// Output lanes of a tile for narrow arrays.
const NARROW: usize = 8;

pub use bf16::{Bf16, Scaling};
pub use block_row::{BLOCK, BlockRow, BlockWeights, WEIGHT_BLOCK_BYTES};
pub use blocks::{block_product, block_product_on};
pub use dots::{dot, dot_products, dot_products_on};
pub use floats::{PANEL, Panel, float_product, float_product_on};
pub use path::Path;
pub use pointwise::{Pixels, Pointwise, pointwise, pointwise_on};
pub use product::{Rows, array_product, array_product_on, fp16bp8_product};
pub use sha256::sha256_blocks;
pub use small::{SMALL_LANES, Small, small_products};
pub use weights::ArrayWeights;

/// Float types of running sums: `f32` and `f64`.
#[cfg(target_arch = "x86_64")]
pub trait SumFloat: vector::Lane + std::fmt::Debug + Send + Sync + 'static {}
/// Float types of running sums: `f32` and `f64`.
#[cfg(not(target_arch = "x86_64"))]
pub trait SumFloat: Copy + Default + std::fmt::Debug + Send + Sync + 'static {}

impl SumFloat for f32 {}
impl SumFloat for f64 {}
