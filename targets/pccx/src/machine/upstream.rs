//! The published circuits, block by block, defects included: what the profile `upstream` is made of.
//! Source: specification 4.6.4; every block reproduces simulations of the circuits bit by bit.

pub mod dual_mac;
pub mod normalise;
pub mod preprocess;
pub mod sfu;
