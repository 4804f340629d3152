//! The file system: [`Disk`] reads for the library, [`write_all`] and [`Staged`] write results:
//! either all files of a command, or none.

mod appended;
mod fault;
mod folder;
mod place;
mod read;
mod signals;
mod standard;
mod swap;
mod temporary;
mod undo;
mod write;

use std::path::Path;

pub use appended::Appended;
pub use place::{allow_overwriting, check_apart};
pub use read::Disk;
pub use standard::{is_standard, is_taken, take as take_standard_output};
pub use write::{Staged, commit, overwrite, write_all};

/// Restores the folder of the artifact at `path`, if a process was killed while it wrote there.
pub fn settle(path: &str) {
    folder::Folder::settle(place::folder(Path::new(path)));
}
