//! Instructions of a schedule in issue order. They are built from runs of vectors ([`lir`]) and
//! reordered so that units wait least.
//!
//! | module | reordering |
//! |---|---|
//! | `separate` | keeps additions apart that hardware would lose |
//! | `overlap`, `order` | lets units work at the same time |
//! | `prefetch` | hoists DRAM reads within a layer |
//! | `prefetch_weights` | delays reads of weights to overlap them with products |
//! | `global_prefetch` | hoists DRAM reads across layers |

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
