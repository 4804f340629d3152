//! Number formats of a network on a machine: choosing them ([`quantize`], [`rescale`]), their
//! errors, and the accuracy of results.

pub(crate) mod accuracy;
pub(crate) mod assumed;
pub(crate) mod classes;
pub(crate) mod doubt;
pub(crate) mod max_error;
pub(crate) mod non_finite;
pub(crate) mod quantize;
pub(crate) mod rescale;
pub(crate) mod squashed;
pub(crate) mod underflow;
pub(crate) mod verdict;
pub(crate) mod weights;
