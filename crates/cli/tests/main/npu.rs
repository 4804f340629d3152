//! Runs the command in a temporary folder.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

use crate::schemas;

/// Folder of the embedded models.
pub const ASSETS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../npukit/assets");
/// File of the embedded network.
pub const DIGITS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../npukit/assets/digits.onnx");
pub const PERCEPTRON: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../npukit/assets/digits_mlp.onnx");
/// Held-out images of the embedded network.
pub const IMAGES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../npukit/assets/digits_images.npy");
/// Golden vectors of the repository.
pub const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/tcu");

/// Temporary folder in which the command runs.
pub struct Npu {
    folder: TempDir,
}

impl Npu {
    /// Creates an empty folder.
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    /// Returns a path in the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path(name), content).unwrap();
    }

    /// Returns the names of everything in a subfolder.
    pub fn names(&self, folder: &str) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.path(folder))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// Runs the command.
    pub fn run(&self, arguments: &[&str]) -> Output {
        command(self.folder.path()).args(arguments).output().unwrap()
    }

    /// Runs the command with `--json`, which must end with `status`; returns its report.
    pub fn json(&self, status: i32, arguments: &[&str]) -> Value {
        let output = command(self.folder.path()).args(arguments).arg("--json").output().unwrap();
        assert_eq!(output.status.code(), Some(status), "{arguments:?}: {}", text(&output.stderr));
        let report = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{arguments:?}: {error}: {}", text(&output.stdout)));
        schemas::check(&report).unwrap_or_else(|error| panic!("{arguments:?}: {error}"));
        report
    }

    /// Runs the command, which must end with `status`; returns its standard output and error.
    pub fn text(&self, status: i32, arguments: &[&str]) -> (String, String) {
        let output = self.run(arguments);
        let (out, error) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(status), "{arguments:?}: {out}{error}");
        (out, error)
    }
}

/// Files by name.
pub type Files = BTreeMap<String, Vec<u8>>;

/// Returns the files of a folder with their contents, including temporary ones; unreadable files
/// are empty.
pub fn content(folder: &Path) -> Files {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let file = |entry: fs::DirEntry| {
        (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap_or_default())
    };
    entries.map(file).collect()
}

/// Returns an `.npy` file of floats. Source: NumPy's format, version 1.0.
pub fn array(shape: &[usize], values: &[f32]) -> Vec<u8> {
    let sizes: String = shape.iter().map(|size| format!("{size},")).collect();
    let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({sizes}), }}");
    let header = format!("{header:<117}\n");
    let length = (header.len() as u16).to_le_bytes();
    let values: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    [&b"\x93NUMPY\x01\0"[..], &length, header.as_bytes(), &values].concat()
}

/// Returns the command in a folder, without color and settings.
pub fn command(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_npu"));
    command.current_dir(folder).env("NO_COLOR", "1").env("LC_ALL", "C.UTF-8");
    command.env_remove("NPU_TARGET").env_remove("RUST_LOG").env("NPU_CACHE", "");
    command
}

/// Converts bytes to text.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
