//! Assembly programs: filling and reading their memories. [`Memories`] finds memories by name,
//! [`values`] reads files of numbers and [`written`] writes them. [`MemoryDump`] holds the contents
//! of an address range.

mod error;
mod layout;
mod memories;
mod memory_dump;
mod request;
mod values;
mod written;

pub(crate) use error::EXTENSIONS;
pub use error::MemoryFileError;
pub use memories::Memories;
pub(crate) use memories::{NamedRange, Placed};
pub use memory_dump::MemoryDump;
pub use request::{DumpRequest, MemFile, MotionRequest};
pub(crate) use values::{of_values, read};
pub(crate) use written::written;
