//! Assembly programs: filling and reading their memories. [`Memories`] finds memories by name,
//! [`values`] reads files of numbers and [`written`] writes them. [`Held`] holds the contents of an
//! address range.

mod error;
mod held;
mod layout;
mod memories;
mod request;
mod values;
mod written;

pub(crate) use error::EXTENSIONS;
pub use error::HandError;
pub use held::Held;
pub use memories::Memories;
pub(crate) use memories::{Found, Placed};
pub use request::{DumpRequest, MemFile, MotionRequest};
pub(crate) use values::{of_values, read};
pub(crate) use written::written;
