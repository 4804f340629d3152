//! The crate's tests.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod format;
mod npy;
mod number;
mod pointwise;
mod product;
mod small_float;
mod tensor;
