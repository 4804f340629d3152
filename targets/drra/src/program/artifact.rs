//! Program with its fabric and tensors in files: [`read`] reads the manifest `NAME.drra`.
//!
//! ```json
//! { "name": "vec_mult", "architecture": "3x1", "program": "vec_mult.asm",
//!   "inputs": [{ "name": "a", "row": 0, "rows": 2 }], "outputs": [{ "name": "c", "row": 0, "rows": 2 }] }
//! ```
//!
//! Compiled models have a different manifest: see [`model`].
//!
//! `architecture` is a built-in instance, a short form or a `.json` file next to the manifest.
//! `revision`, `extensions`, `strict` and `call_skew` may change it. `program` is an assembly file
//! (`.asm`) or `instr.bin`. The optional `image` holds rows of the input buffer that are the same
//! in each run.

mod check;
mod folder;
pub mod model;

use npukit_target::{Reader, TargetError};
use serde::Deserialize;
use thiserror::Error;

use crate::config::fabric::Fabric;
use crate::config::revision::Revision;
use crate::config::{from_json, from_short, preset};
use crate::isa::asm::assemble;
use crate::isa::program::Program;
use crate::program::binary::{Image, read_image, read_program};
use folder::{Folder, wrong};
pub use model::Model;

/// Tensor in a buffer.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Binding {
    /// Name of the tensor.
    pub name: String,
    /// First row.
    pub row: u32,
    /// Number of rows of 16 elements.
    pub rows: u32,
}

/// Program that is ready to run.
#[derive(Clone, Debug)]
pub struct Artifact {
    /// Name of the program.
    pub name: String,
    /// Name of the fabric.
    pub fabric_name: String,
    /// Fabric of the program.
    pub fabric: Fabric,
    /// Words of the program.
    pub program: Program,
    /// Fixed rows of the input buffer, written before the inputs.
    pub image: Image,
    /// Tensors in the input buffer.
    pub inputs: Vec<Binding>,
    /// Tensors in the output buffer.
    pub outputs: Vec<Binding>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Manifest {
    name: String,
    architecture: String,
    program: String,
    image: Option<String>,
    #[serde(default)]
    inputs: Vec<Binding>,
    #[serde(default)]
    outputs: Vec<Binding>,
    revision: Option<Revision>,
    extensions: Option<bool>,
    strict: Option<bool>,
    call_skew: Option<u32>,
}

/// Error in a manifest.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ArtifactError {
    /// Error in a file of the artifact.
    #[error("{file}: {reason}")]
    File {
        /// Name of the file.
        file: String,
        /// Reason.
        reason: String,
    },
    /// A tensor exceeds its buffer.
    #[error("tensor `{name}` takes rows {row} to {last}; the {buffer} buffer has rows 0 to {}", .depth - 1)]
    Rows {
        /// Name of the tensor.
        name: String,
        /// First row of the tensor.
        row: u32,
        /// Last row of the tensor.
        last: u64,
        /// `input` or `output`.
        buffer: &'static str,
        /// Rows of the buffer.
        depth: usize,
    },
    /// Two tensors share a name or a row.
    #[error("tensors `{first}` and `{second}` of the {buffer} buffer share {what}")]
    Shared {
        /// Name of the first tensor.
        first: String,
        /// Name of the second tensor.
        second: String,
        /// `input` or `output`.
        buffer: &'static str,
        /// Kind of overlap: a name or rows.
        what: &'static str,
    },
}

/// Reads the manifest at `path`; `files` reads the other files.
///
/// # Errors
///
/// A missing or invalid file, with its name; tensors that share rows or exceed their buffer.
pub fn read(path: &str, files: &dyn Reader) -> Result<Artifact, TargetError> {
    let folder = Folder { path, files };
    let manifest: Manifest = serde_json::from_str(&folder.own()?).map_err(|error| folder.wrong(&error))?;
    let (fabric_name, fabric) = fabric(&manifest.architecture, &folder)?;
    // Default: a missing key has the fabric's value, here and below.
    let revision = manifest.revision.unwrap_or(fabric.options.revision);
    let is_own = revision == fabric.options.revision;
    let mut fabric = if is_own { fabric } else { fabric.of_revision(revision) };
    let options = &mut fabric.options;
    options.extensions = manifest.extensions.unwrap_or(options.extensions);
    options.strict = manifest.strict.unwrap_or(options.strict);
    options.call_skew = manifest.call_skew.unwrap_or(options.call_skew);
    let file = &manifest.program;
    let text = folder.text(file)?;
    let program = if file.ends_with(".asm") {
        assemble(&fabric, file, &text).map_err(TargetError::text)?.program
    } else {
        let words = read_program(&text).map_err(|error| wrong(file, &error))?;
        fabric.decoded(&words).map_err(|error| wrong(file, &error))?
    };
    let image = match &manifest.image {
        Some(file) => read_image(&folder.text(file)?).map_err(|error| wrong(file, &error))?,
        None => Image::new(),
    };
    check_rows(&manifest.inputs, "input", fabric.input_depth).map_err(TargetError::failed)?;
    check_rows(&manifest.outputs, "output", fabric.output_depth).map_err(TargetError::failed)?;
    let Manifest { name, inputs, outputs, .. } = manifest;
    Ok(Artifact { name, fabric_name, fabric, program, image, inputs, outputs })
}

fn fabric(architecture: &str, folder: &Folder<'_>) -> Result<(String, Fabric), TargetError> {
    let found = if let Some(name) = architecture.strip_suffix(".json") {
        (name.to_owned(), from_json(&folder.text(architecture)?))
    } else if architecture.contains(':') {
        (architecture.to_owned(), from_short(architecture))
    } else {
        let fabric = preset(architecture).ok_or_else(|| wrong(architecture, &"unknown fabric"))?;
        (architecture.to_owned(), Ok(fabric))
    };
    let (name, fabric) = found;
    fabric.map(|fabric| (name, fabric)).map_err(|error| wrong(architecture, &error))
}

/// Checks that tensors are within their buffer and do not overlap.
fn check_rows(bindings: &[Binding], buffer: &'static str, depth: usize) -> Result<(), ArtifactError> {
    let end = |binding: &Binding| u64::from(binding.row) + u64::from(binding.rows);
    for (index, binding) in bindings.iter().enumerate() {
        if end(binding) > depth as u64 {
            let (name, row, last) = (binding.name.clone(), binding.row, end(binding).saturating_sub(1));
            return Err(ArtifactError::Rows { name, row, last, buffer, depth });
        }
        for other in bindings.iter().take(index) {
            let apart = end(binding) <= other.row.into() || end(other) <= binding.row.into();
            let what = match (binding.name == other.name, apart) {
                (true, _) => "a name",
                (false, false) => "rows",
                (false, true) => continue,
            };
            let (first, second) = (other.name.clone(), binding.name.clone());
            return Err(ArtifactError::Shared { first, second, buffer, what });
        }
    }
    Ok(())
}
