//! [`Sample`]: what a run takes.

use npukit_numeric::Tensor;

/// One sample: a tensor for each input, by name, in the order of the ports.
pub(crate) type Sample = Vec<(String, Tensor)>;
