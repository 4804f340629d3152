//! Reads the vectors in `tests/golden/drra`.

use std::path::{Path, PathBuf};

use serde_json::Value;

/// Path of the folder.
pub fn folder() -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/drra")).to_owned()
}

/// Reads a file of the folder.
pub fn json(name: &str) -> Value {
    serde_json::from_slice(&std::fs::read(folder().join(name)).unwrap()).unwrap()
}

/// Returns the programs by file name.
pub fn programs() -> Vec<(String, Value)> {
    let names = std::fs::read_dir(folder()).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name.ends_with(".json")).collect();
    names.sort();
    let files = names.into_iter().map(|name| (name.clone(), json(&name)));
    files.filter(|(_, file)| file.get("arch").is_some()).collect()
}
