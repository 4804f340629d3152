//! Instructions of a schedule in issue order. They are built from runs of vectors ([`lir`]) and
//! reordered so that units wait least.
//!
//! | module | reordering |
//! |---|---|
//! | `separate` | keeps apart two additions of which hardware would lose the first |
//! | `overlap`, `order` | lets units work at the same time |
//! | `prefetch`, `prefetch_weights`, `global_prefetch` | hoist DRAM reads: within a layer, of weights, across layers |

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
