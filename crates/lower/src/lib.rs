//! Code shared by the lowerings of all targets: fusing nodes into layers, reporting why a node
//! cannot be lowered, leaving steps to the host, cutting graphs into segments, and placing objects
//! with lifetimes in one memory.

mod free;
mod fuse;
mod host;
mod place;
mod readers;
mod refusal;
mod segments;
mod uses;

pub use free::Free;
pub use fuse::{Fuse, Fusion, Lowered, fuse};
pub use host::{Attributes, HostOp, HostStep};
pub use place::{Lifetime, Placement, place};
pub use readers::Readers;
pub use refusal::{Problem, Refusals, Reject, list};
pub use segments::{Processor, Segment, Segments};
pub use uses::Uses;
