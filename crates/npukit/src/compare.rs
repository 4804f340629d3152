//! Comparison of a program with the float reference, with another program, and with memory dumps of
//! a board.

pub(crate) mod comparison;
pub(crate) mod device_dump;
pub(crate) mod layer_compare;
pub(crate) mod shape_source;
pub(crate) mod test_vectors;
pub(crate) mod traced;
