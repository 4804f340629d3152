//! What lowerings share: placing objects that live for a while into one memory.

mod place;

pub use place::{Lifetime, Placement, place};
