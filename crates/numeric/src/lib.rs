//! Number formats, rounding, saturation and tensors.
//!
//! [`FixedFormat`] holds the literal arithmetic every fast path is judged by;
//! [`NumberFormat`] names a format at run time; [`Tensor`] is a shape and its elements.

mod format;
mod tensor;

pub use format::{FixedFormat, NumberFormat};
pub use tensor::{ElementType, Tensor, TensorData};
