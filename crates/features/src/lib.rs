//! Nothing but dependencies: the union of the features with which crates of this workspace use what they share.
//!
//! Cargo builds a dependency with the features that the selected packages ask for, so `cargo test -p npukit-asm` after
//! `cargo test --workspace` would build half of everything again with fewer of them. Every crate depends on this one,
//! which asks for all.
