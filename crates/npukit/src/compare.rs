//! Comparisons: a program with float, with another program, and with what a board wrote.

pub(crate) mod comparison;
pub(crate) mod device_dump;
pub(crate) mod layer_compare;
pub(crate) mod like;
pub(crate) mod test_vectors;
pub(crate) mod traced;
