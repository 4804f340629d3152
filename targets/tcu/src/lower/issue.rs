//! Instructions of a schedule, in the order in which they are issued: made of runs of vectors ([`lir`]), and moved to where units
//! wait least.
//!
//! | module | moves |
//! |---|---|
//! | `separate` | additions apart, of which hardware would lose the first |
//! | `overlap`, `order` | what the units do at the same time |
//! | `prefetch`, `prefetch_weights`, `global_prefetch` | reads of DRAM ahead: within a layer, of weights, over layers |

pub(super) mod blocks;
pub(super) mod global_prefetch;
pub mod lir;
pub(super) mod order;
pub(super) mod overlap;
pub(super) mod prefetch;
pub(super) mod prefetch_weights;
pub(super) mod separate;
#[cfg(test)]
pub(super) mod symbolic;
