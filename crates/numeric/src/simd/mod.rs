//! Fast paths, chosen by what the processor offers; the only place with `unsafe`.
//!
//! Kernels are compiled once for each set of processor features. A portable build always exists.
//! [`array_product`] is the way in, `fused` the kernel of processors with a fused multiply-add,
//! `portable` that of all others, and `literal` the judge of both. [`pointwise`] is another way in,
//! with its own literal and portable code, and `bytes` for processors with dot products of bytes;
//! [`block_product`] one more, for 4-bit weights and 8-bit activations in blocks; [`float_product`]
//! another, for matrices of floats as they are; [`small_products`] for elements of the prime field
//! and small integers; [`sha256_blocks`] for hashes.

mod block_row;
mod blocks;
#[cfg(target_arch = "x86_64")]
mod blocks_vnni;
#[cfg(target_arch = "x86_64")]
mod blocks_x86;
#[cfg(target_arch = "x86_64")]
mod bytes;
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

/// Output lanes of a tile, when there are that many.
const WIDE: usize = 16;
/// Output lanes of a tile for narrow arrays.
const NARROW: usize = 8;

pub use block_row::{BLOCK, BlockRow, WEIGHT_BLOCK_BYTES};
pub use blocks::{block_product, block_product_on};
pub use floats::{PANEL, Panel, float_product, float_product_on};
pub use path::Path;
pub use pointwise::{Pixels, Pointwise, pointwise, pointwise_on};
pub use product::{Rows, array_product, array_product_on, fp16bp8_product};
pub use sha256::sha256_blocks;
pub use small::{SMALL_LANES, Small, small_products};
pub use weights::ArrayWeights;

/// The floats that running sums are kept in: `f32` and `f64`.
#[cfg(target_arch = "x86_64")]
pub trait SumFloat: vector::Lane + std::fmt::Debug + Send + Sync + 'static {}
/// The floats that running sums are kept in: `f32` and `f64`.
#[cfg(not(target_arch = "x86_64"))]
pub trait SumFloat: Copy + Default + std::fmt::Debug + Send + Sync + 'static {}

impl SumFloat for f32 {}
impl SumFloat for f64 {}
