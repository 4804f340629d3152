//! Blocks of the published circuits, including their defects, for the profile `upstream`. Source:
//! specification 4.6.4. Each block is bit-exact with simulations of the circuits.

pub mod dual_mac;
pub mod normalize;
pub mod preprocess;
pub mod sfu;
