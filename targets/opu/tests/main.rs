//! The one test binary of this crate.
