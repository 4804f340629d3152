//! Finds the folder of what is not in the repository.

use std::path::PathBuf;

use serde_json::Value;

/// The path of `name` below the shared folder: `NPUKIT_SHARED`, or `../shared` beside the workspace.
///
/// None when it is absent, unless `NPUKIT_REQUIRE_SHARED` is 1, which makes that a failure.
pub fn shared(name: &str) -> Option<PathBuf> {
    let root = std::env::var_os("NPUKIT_SHARED").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared")),
        PathBuf::from,
    );
    let path = root.join(name);
    if path.exists() {
        return Some(path);
    }
    let required = std::env::var_os("NPUKIT_REQUIRE_SHARED").is_some_and(|v| v == "1");
    assert!(!required, "{} is absent and NPUKIT_REQUIRE_SHARED is 1", path.display());
    eprintln!("skipped: {} is absent (set NPUKIT_SHARED)", path.display());
    None
}

/// A JSON file below the shared folder.
pub fn json(name: &str) -> Option<Value> {
    let bytes = std::fs::read(shared(name)?).unwrap();
    Some(serde_json::from_slice(&bytes).unwrap())
}
