//! [`Sample`]: inputs of a run.

use npukit_numeric::Tensor;

/// One sample: a tensor for each input, by name, in the order of the inputs.
pub(crate) type Sample = Vec<(String, Tensor)>;
