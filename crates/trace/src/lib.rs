//! Traces of a program's execution, as files for trace viewers.
//!
//! A [`Recorder`] takes tracks of units, [`Slice`]s of their work, [`Wait`]s and levels, in cycles,
//! and passes them to a [`Sink`]. [`Chrome`] writes the JSON of Perfetto and `chrome://tracing`,
//! [`Perfetto`] the compact protobuf of Perfetto, and [`Fst`] the waveforms of GTKWave and Surfer.
//! The recorder adds the track of layers and counters of work and bytes, and omits layers that were
//! not selected.
//!
//! Events are written immediately, so a trace may exceed the memory. Waveforms are the exception:
//! they are written at the end. The crate is independent of accelerators.

mod chrome;
mod fst;
mod liveness;
mod map;
mod model;
mod perfetto;
mod recorder;

pub use chrome::Chrome;
pub use fst::{EXTENSION as FST_EXTENSION, Fst};
pub use liveness::{Liveness, MemoryUse};
pub use map::{Mapping, MemoryMap, Moments, Writer};
pub use model::{About, Flow, Interval, Role, Shown, Sink, Track, Value, Work};
pub use perfetto::{EXTENSIONS as PERFETTO_EXTENSIONS, Perfetto, proto};
pub use recorder::{Counts, Measures, Recorder, Slice, Wait};
