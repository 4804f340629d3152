//! Fast paths, chosen by what the processor offers; the only place with `unsafe`.
//!
//! Kernels are plain loops over fixed-size arrays that the compiler turns into vector code; here
//! they are compiled once for each set of processor features. A portable build always exists.

mod product;

pub use product::{ArrayWeights, Path, Rows, array_product, array_product_on};
