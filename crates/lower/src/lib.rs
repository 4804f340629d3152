//! What lowerings share: fusing nodes into layers, saying why a node cannot be lowered, leaving steps to the
//! host, cutting graphs into segments that the host calls, and placing objects that live for a while into one memory.

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
pub use segments::{Place, Segment, Segments};
pub use uses::Uses;
