//! What lowerings share: fusing nodes into layers, saying why a node cannot be lowered, leaving steps to the
//! host, and placing objects that live for a while into one memory.

mod free;
mod fuse;
mod host;
mod place;
mod readers;
mod refusal;
mod uses;

pub use free::Free;
pub use fuse::{Fuse, Fusion, Lowered, fuse};
pub use host::{Attributes, HostOp, HostStep};
pub use place::{Lifetime, Placement, place};
pub use readers::Readers;
pub use refusal::{Problem, Refusals, Reject, list};
pub use uses::Uses;
