//! The file system: [`Disk`] reads for the library, [`write_all`] and [`Staged`] write results.

mod read;
mod write;

pub use read::Disk;
pub use write::{Staged, write_all};
