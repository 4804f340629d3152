//! Numbers of a network on a machine: how they are chosen ([`quantise`], [`rescale`]), what they lose, and how right the results are.

pub(crate) mod accuracy;
pub(crate) mod assumed;
pub(crate) mod classes;
pub(crate) mod doubt;
pub(crate) mod finite;
pub(crate) mod max_error;
pub(crate) mod quantise;
pub(crate) mod rescale;
pub(crate) mod underflow;
pub(crate) mod verdict;
pub(crate) mod weights;
