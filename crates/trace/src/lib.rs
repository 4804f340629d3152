//! What happened when, as a file a trace viewer opens.
//!
//! A [`Recorder`] takes tracks of units, [`Slice`]s of their work, [`Wait`]s and levels, in cycles, and hands them as
//! one model to a [`Sink`]: [`Chrome`] writes the JSON that Perfetto and `chrome://tracing` read, [`Perfetto`] the
//! protobuf of Perfetto, which is small, and [`Fst`] the waveforms that GTKWave and Surfer show. The recorder draws the
//! track of layers, makes counters of work and bytes, and leaves out the layers that nobody asked for.
//!
//! Events are written as they come, so a trace may be longer than memory; but for waveforms, which are written at the
//! end. The crate knows no accelerator.

mod chrome;
mod fst;
mod life;
mod map;
mod model;
mod perfetto;
mod recorder;

pub use chrome::Chrome;
pub use fst::{EXTENSION as FST_EXTENSION, Fst};
pub use life::{Found, Lives};
pub use map::{Mapping, MemoryMap, Moments, Writer};
pub use model::{About, Flow, Interval, Role, Shown, Sink, Track, Value};
pub use perfetto::{EXTENSIONS as PERFETTO_EXTENSIONS, Perfetto, proto};
pub use recorder::{Counts, Measures, Recorder, Slice, Wait};
