//! Tests of the graph crate.
