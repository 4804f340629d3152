//! Tests of the import crate.

#![allow(clippy::unwrap_used, reason = "a test that meets an unexpected error should stop there")]

#[path = "main/bad.rs"]
mod bad;
#[path = "main/einsums.rs"]
mod einsums;
#[path = "main/errors.rs"]
mod errors;
#[path = "main/generated.rs"]
mod generated;
#[path = "main/graphs.rs"]
mod graphs;
#[path = "main/images.rs"]
mod images;
#[path = "main/model.rs"]
mod model;
#[path = "main/networks.rs"]
mod networks;
#[path = "main/resizes.rs"]
mod resizes;
#[path = "main/shapes.rs"]
mod shapes;
#[path = "main/values.rs"]
mod values;
