//! Files that drivers load: `NAME.opu.toml`, the manifest; `NAME.words`, the program; `NAME.image`,
//! the other initial memory contents.
//!
//! [`write()`] turns a [`Program`] into named byte strings, [`read`] does the opposite.

mod error;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use npukit_target::{ArtifactFile, ModelReading, Parts, ReadError, Seal};
use serde::{Deserialize, Serialize};

use crate::config::{Config, Validity};
use crate::isa::codec::{decode_program, encode_program};
use crate::isa::memory::{MEMORY_BYTES, PROGRAM_ALIGNMENT};
use crate::isa::op::{Op, WORD_BYTES};
use crate::program::{Binding, HostStep, Layer, Program, Segment};

pub use error::ArtifactError;

/// Function that returns the bytes of a file next to the manifest, by plain name.
pub type Resolve<'a> = dyn FnMut(&str) -> Result<Vec<u8>, ReadError> + 'a;

/// Extension of manifests.
pub const EXTENSION: &str = "opu.toml";

/// Version of the format.
const FORMAT: &str = "npukit-opu-1";

/// Manifest, table by table.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Manifest {
    format: String,
    /// Digest of this file.
    digest: Seal,
    name: String,
    instance: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
    program: Words,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    choices: BTreeMap<String, String>,
    /// Fraction lengths of the model's values, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    fractions: BTreeMap<String, i32>,
    /// Options with which the model was read.
    #[serde(default, skip_serializing_if = "ModelReading::is_empty")]
    reading: ModelReading,
    /// Digests of the other files.
    sha256: Parts,
    config: Config,
    #[serde(default, rename = "segment", skip_serializing_if = "Vec::is_empty")]
    segments: Vec<Place>,
    #[serde(default, rename = "input", skip_serializing_if = "Vec::is_empty")]
    inputs: Vec<Binding>,
    #[serde(default, rename = "output", skip_serializing_if = "Vec::is_empty")]
    outputs: Vec<Binding>,
    #[serde(default, rename = "host_step", skip_serializing_if = "Vec::is_empty")]
    host_steps: Vec<HostStep>,
    #[serde(default, rename = "layer", skip_serializing_if = "Vec::is_empty")]
    layers: Vec<Layer>,
}

/// Location of the words.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Words {
    file: String,
    /// Byte address of the first word.
    address: u32,
    /// Number of words.
    words: usize,
}

/// Segment: bytes of a file, and their address in memory.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Place {
    file: String,
    offset: usize,
    size: usize,
    address: u32,
}

/// Returns the files of `program`, the manifest first.
///
/// # Errors
///
/// [`ArtifactError::Program`] for an instruction that does not fit its word;
/// [`ArtifactError::Invalid`] and [`ArtifactError::Memory`] for a program that [`read`] would
/// reject.
pub fn write(program: &Program) -> Result<Vec<ArtifactFile>, ArtifactError> {
    let name = &program.name;
    let (manifest_name, words_name, image_name) =
        (format!("{name}.{EXTENSION}"), format!("{name}.words"), format!("{name}.image"));
    check(&manifest_name, program)?;
    let words = encode_program(&program.instructions, program.config.validity)
        .map_err(|source| ArtifactError::Program { file: words_name.clone(), source })?;
    let mut image = Vec::new();
    let mut segments = Vec::new();
    for segment in &program.segments {
        let (offset, size) = (image.len(), segment.bytes.len());
        image.extend_from_slice(&segment.bytes);
        segments.push(Place { file: image_name.clone(), offset, size, address: segment.address });
    }
    let files = [(words_name.clone(), words), (image_name, image)];
    let mut files: Vec<_> = files.into_iter().map(|(name, bytes)| ArtifactFile { name, bytes }).collect();
    let manifest = Manifest {
        format: FORMAT.to_owned(),
        digest: Seal::default(),
        name: name.clone(),
        instance: program.instance.clone(),
        warnings: program.warnings.clone(),
        program: Words { file: words_name, address: program.address, words: program.instructions.len() },
        choices: program.choices.clone(),
        fractions: program.fractions.clone(),
        reading: program.reading.clone(),
        sha256: Parts::of(&files),
        config: program.config.clone(),
        segments,
        inputs: program.inputs.clone(),
        outputs: program.outputs.clone(),
        host_steps: program.host_steps.clone(),
        layers: program.layers.clone(),
    };
    let text = toml::to_string(&manifest).map_err(|error| ArtifactError::Manifest {
        file: manifest_name.clone(),
        message: error.to_string(),
    })?;
    files.insert(0, ArtifactFile { name: manifest_name, bytes: Seal::default().put(&text).into_bytes() });
    Ok(files)
}

/// Reads the program from the bytes of its manifest, the file named `file`; `resolve` returns the
/// other files.
///
/// # Errors
///
/// [`ArtifactError`], with the file and the place in it: a file cannot be read or belongs to
/// another compilation, the manifest is invalid, words cannot be executed, or segments and bindings
/// are outside the files or memory.
pub fn read(file: &str, bytes: &[u8], resolve: &mut Resolve<'_>) -> Result<Program, ArtifactError> {
    let manifest = |message: String| ArtifactError::Manifest { file: file.to_owned(), message };
    let text = std::str::from_utf8(bytes)
        .map_err(|error| manifest(format!("byte {} is not UTF-8 text", error.valid_up_to())))?;
    let read: Manifest = toml::from_str(text).map_err(|error| manifest(error.to_string()))?;
    if read.format != FORMAT {
        return Err(manifest(format!("`format` is `{}`: this npukit reads `{FORMAT}`", read.format)));
    }
    read.digest.check(file, text)?;
    read.config.check().map_err(|error| manifest(format!("config: {error}")))?;
    let mut resolve = |name: &str| {
        let bytes = resolve(name)?;
        read.sha256.check(file, name, &bytes)?;
        Ok(bytes)
    };
    let instructions = instructions(&read.program, read.config.validity, &mut resolve)?;
    let segments = segments(file, &read.segments, &mut resolve)?;
    let program = Program {
        name: read.name,
        instance: read.instance,
        config: read.config,
        address: read.program.address,
        instructions,
        segments,
        inputs: read.inputs,
        outputs: read.outputs,
        host_steps: read.host_steps,
        layers: read.layers,
        choices: read.choices,
        fractions: read.fractions,
        warnings: read.warnings,
        reading: read.reading,
    };
    check(file, &program)?;
    Ok(program)
}

fn instructions(
    words: &Words,
    validity: Validity,
    resolve: &mut Resolve<'_>,
) -> Result<Vec<Op>, ArtifactError> {
    let bytes = resolve(&words.file)?;
    let file = || words.file.clone();
    let ops =
        decode_program(&bytes, validity).map_err(|source| ArtifactError::Program { file: file(), source })?;
    if ops.len() != words.words {
        return Err(ArtifactError::WordCount { file: file(), expected: words.words, actual: ops.len() });
    }
    Ok(ops)
}

fn segments(file: &str, places: &[Place], resolve: &mut Resolve<'_>) -> Result<Vec<Segment>, ArtifactError> {
    let mut files: BTreeMap<&str, Vec<u8>> = BTreeMap::new();
    let mut segments = Vec::new();
    for (index, place) in places.iter().enumerate() {
        let bytes = match files.entry(&place.file) {
            Entry::Occupied(read) => read.into_mut(),
            Entry::Vacant(unread) => unread.insert(resolve(&place.file)?),
        };
        let part = place.offset.checked_add(place.size).and_then(|end| bytes.get(place.offset..end));
        let part = part.ok_or_else(|| ArtifactError::Segment {
            file: file.to_owned(),
            segment: index,
            reason: format!(
                "`{}` has {} bytes, but {} bytes at offset {} are needed",
                place.file,
                bytes.len(),
                place.size,
                place.offset
            ),
        })?;
        segments.push(Segment { address: place.address, bytes: part.to_vec() });
    }
    Ok(segments)
}

/// Checks the consistency of a program from any source.
fn check(file: &str, program: &Program) -> Result<(), ArtifactError> {
    let invalid = |key: String, reason: String| ArtifactError::Invalid { file: file.to_owned(), key, reason };
    if !program.address.is_multiple_of(PROGRAM_ALIGNMENT) {
        let reason =
            format!("is {:#x}: programs begin at multiples of {}", program.address, PROGRAM_ALIGNMENT);
        return Err(invalid("program.address".to_owned(), reason));
    }
    if !program.instructions.contains(&Op::End) {
        let reason = format!("has {} instructions, but no `end`", program.instructions.len());
        return Err(invalid("program".to_owned(), reason));
    }
    check_memory(file, program)?;
    for (list, bindings, is_input) in [("input", &program.inputs, true), ("output", &program.outputs, false)]
    {
        for (index, binding) in bindings.iter().enumerate() {
            let key = format!("{list}[{index}]");
            let checked = binding.check(program.config.types.itype, is_input);
            checked.map_err(|error| invalid(key.clone(), format!("`{}`: {error}", binding.name)))?;
            if bindings.iter().take(index).any(|other| other.name == binding.name) {
                return Err(invalid(
                    format!("{key}.name"),
                    format!("there are two named `{}`", binding.name),
                ));
            }
        }
    }
    check_host_steps(program).map_err(|(key, reason)| invalid(key, reason))?;
    for (index, layer) in program.layers.iter().enumerate() {
        let total = program.instructions.len();
        if layer.first.checked_add(layer.count).is_none_or(|end| end > total) {
            let reason = format!(
                "has {} instructions starting at {}, but the program has {total}",
                layer.count, layer.first
            );
            return Err(invalid(format!("layer[{index}]"), reason));
        }
    }
    Ok(())
}

fn check_host_steps(program: &Program) -> Result<(), (String, String)> {
    for (index, step) in program.host_steps.iter().enumerate() {
        let key = |name: &str| format!("host_step[{index}].{name}");
        let Some(output) = program.outputs.iter().find(|output| output.name == step.output) else {
            return Err((key("output"), format!("output `{}` does not exist", step.output)));
        };
        let rank = output.shape.len();
        if let Some((axis, end)) = step.op.axes().filter(|&(axis, end)| axis >= end || end > rank) {
            return Err((
                key("axis_end"),
                format!("is {end} with axis {axis}, but the output has {rank} axes"),
            ));
        }
    }
    Ok(())
}

/// Checks that words and segments are inside memory and do not overlap.
fn check_memory(file: &str, program: &Program) -> Result<(), ArtifactError> {
    let words = (program.instructions.len() * WORD_BYTES) as u64;
    let mut places = vec![(u64::from(program.address), words, "the program".to_owned())];
    let segments = program.segments.iter().enumerate();
    places.extend(segments.map(|(i, s)| (s.address.into(), s.bytes.len() as u64, format!("segment {i}"))));
    places.retain(|&(_, size, _)| size > 0);
    places.sort();
    let error = |reason: String| ArtifactError::Memory { file: file.to_owned(), reason };
    for (address, size, what) in &places {
        if address + size > MEMORY_BYTES {
            return Err(error(format!(
                "{what}, {size} bytes at {address:#x}, ends beyond the memory of 2^32 bytes"
            )));
        }
    }
    for pair in places.windows(2) {
        if let [(first, size, what), (second, _, other)] = pair
            && first + size > *second
        {
            return Err(error(format!(
                "{what}, {size} bytes at {first:#x}, overlaps {other} at {second:#x}"
            )));
        }
    }
    Ok(())
}
