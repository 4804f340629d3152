//! Where tests find files: [`shared`] what is not in the repository, [`golden`] a target's vectors;
//! [`macro@needs`] lets a test that wants what is absent be seen as ignored.

use std::path::{Path, PathBuf};

pub use npukit_needs::needs;

/// The path of `name` below the folder of vectors, programs and networks that are not in the repository:
/// `NPUKIT_SHARED`, or `shared` beside the workspace.
///
/// Panics when it is absent, so tests that call it stand below `#[needs(NPUKIT_SHARED)]`.
pub fn shared(name: &str) -> PathBuf {
    let default = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let path = std::env::var_os("NPUKIT_SHARED").map_or(default, PathBuf::from).join(name);
    assert!(path.exists(), "{} is absent (NPUKIT_SHARED names the folder)", path.display());
    path
}

/// The bytes of a file below the same folder. Panics when it cannot be read.
pub fn shared_bytes(name: &str) -> Vec<u8> {
    let path = shared(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The path of the golden vectors of a target, which are in the repository: `tests/golden/TARGET`.
pub fn golden(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden").join(target)
}
