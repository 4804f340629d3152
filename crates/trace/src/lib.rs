//! What happened when, as a file a trace viewer opens: [`ChromeTrace`] writes the JSON that Perfetto and
//! `chrome://tracing` read.
//!
//! A trace has tracks, a track has slices. Slices are written as they come, so a trace may be longer
//! than memory. The crate knows no accelerator.

mod chrome;

pub use chrome::{ChromeTrace, Slice, Track};
