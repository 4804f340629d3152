//! The files that its drivers load: `.tmodel`, `.tprog`, `.tdata`, and npukit's own `.npukit.json`.
//!
//! [`write()`] converts a [`Program`] to named byte strings, and [`read`] converts back. The first
//! three files are byte-compatible with Tensil's drivers (specification, section 6). The last one
//! stores what their manifest cannot: layouts of tensors, host steps, layers, memory use, and
//! hashes of the other files. [`read`] works without it, as for published artifacts; inputs and
//! outputs are then plain rows of vectors.

mod error;
mod header;
mod host_op;
mod layout;
mod manifest;
mod scalars;
mod sidecar;

use npukit_target::{ArtifactFile, ModelReading, Parts, ReadError};

pub use crate::config::json_fields::KeyError;
pub use error::ArtifactError;
pub use header::header;
pub use layout::{Packed, quantize};
pub use scalars::{PartialScalar, raw_from_bytes, raw_to_bytes};

use crate::isa::codec::{decode_program, encode_program};
use crate::program::{Binding, Program};
use manifest::{Consts, Entry, Manifest, Prog};

/// Reads a file in the folder of the manifest, by plain name.
pub type Resolve<'a> = dyn FnMut(&str) -> Result<Vec<u8>, ReadError> + 'a;

/// Returns the files of `program`, the manifest first.
///
/// # Errors
///
/// [`ArtifactError::Encode`] for instructions that do not fit their fields;
/// [`ArtifactError::Scalars`] for constants that do not fill whole vectors;
/// [`ArtifactError::Range`] for constants and bindings outside their memories;
/// [`ArtifactError::Read`] for a name that cannot be a file name.
pub fn write(program: &Program) -> Result<Vec<ArtifactFile>, ArtifactError> {
    let name = &program.name;
    let prog = encode_program(&program.config, &program.instructions)
        .map_err(|source| ArtifactError::Encode { file: format!("{name}.tprog"), source })?;
    let manifest = manifest_of(program, prog.len())?;
    manifest.check(&format!("{name}.tmodel"))?;
    let tdata = raw_to_bytes(program.config.data_type, &program.constants);
    let files = [
        (format!("{name}.tmodel"), manifest.to_json()?.into_bytes()),
        (format!("{name}.tprog"), prog),
        (format!("{name}.tdata"), tdata),
    ];
    let mut files: Vec<_> = files.into_iter().map(|(name, bytes)| ArtifactFile { name, bytes }).collect();
    let bytes = sidecar::to_json(program, Parts::of(&files))?.into_bytes();
    files.push(ArtifactFile { name: sidecar::file_name(name), bytes });
    Ok(files)
}

fn manifest_of(program: &Program, prog_bytes: usize) -> Result<Manifest, ArtifactError> {
    let name = &program.name;
    let lanes = program.config.array_size;
    if !program.constants.len().is_multiple_of(lanes) {
        let (file, key) = (format!("{name}.tmodel"), "consts[0].size".to_owned());
        let reason = format!("{} scalars do not fill vectors of {lanes}", program.constants.len());
        return Err(KeyError { file, key, reason }.into());
    }
    let size = (program.constants.len() / lanes) as u64;
    Ok(Manifest {
        name: name.clone(),
        prog: Prog { file_name: format!("{name}.tprog"), size: prog_bytes as u64 },
        consts: Consts { file_name: format!("{name}.tdata"), base: 0, size },
        inputs: entries(&program.inputs),
        outputs: entries(&program.outputs),
        arch: program.config.clone(),
        load_consts_to_local: program.load_consts_to_local,
    })
}

/// Returns one entry per piece, sorted by `base`. This keeps the order of a name's pieces if they
/// ascend (checked by [`Manifest::check`]).
fn entries(bindings: &[Binding]) -> Vec<Entry> {
    let mut entries: Vec<Entry> = bindings
        .iter()
        .flat_map(|b| b.pieces.iter().map(|p| Entry { name: b.name.clone(), base: p.base, size: p.size }))
        .collect();
    entries.sort_by_key(|entry| entry.base);
    entries
}

/// Returns the program of the manifest `bytes` from the file called `file`.
///
/// Files that the manifest names come from `resolve`, by plain name; names that leave the folder
/// are refused.
///
/// # Errors
///
/// [`ArtifactError`], with file, key or offset, numbers and legal values: a file that cannot be
/// read or is from another compilation, JSON that is not a manifest, an instance out of range,
/// ranges outside the memories, words without meaning.
pub fn read(file: &str, bytes: &[u8], resolve: &mut Resolve<'_>) -> Result<Program, ArtifactError> {
    let manifest = Manifest::parse(file, bytes)?;
    manifest.check(file)?;
    let sidecar_name = sidecar::file_name(file.strip_suffix(".tmodel").unwrap_or(file));
    let extra = ReadError::optional(resolve(&sidecar_name))?;
    let extra = extra.map(|bytes| sidecar::parse(&sidecar_name, &bytes)).transpose()?;
    let check = |name: &str, bytes: &[u8]| {
        extra.as_ref().map_or(Ok(()), |(_, parts)| parts.check(&sidecar_name, name, bytes))
    };
    check(&format!("{}.tmodel", manifest.name), bytes)?;
    let mut resolve = |name: &str| {
        let bytes = resolve(name)?;
        check(name, &bytes)?;
        Ok(bytes)
    };
    let prog = named(file, &manifest.prog.file_name, &mut resolve)?;
    check_prog_size(&manifest.prog, prog.len())?;
    let instructions = decode_program(&manifest.arch, &prog)
        .map_err(|source| ArtifactError::Decode { file: manifest.prog.file_name.clone(), source })?;
    let tdata = named(file, &manifest.consts.file_name, &mut resolve)?;
    check_consts_size(&manifest, tdata.len())?;
    let constants = raw_from_bytes(manifest.arch.data_type, &tdata)
        .map_err(|source| ArtifactError::Scalars { file: manifest.consts.file_name.clone(), source })?;
    let mut program = Program {
        name: manifest.name,
        instructions,
        constants,
        config: manifest.arch,
        load_consts_to_local: manifest.load_consts_to_local,
        inputs: manifest::bindings(&manifest.inputs),
        outputs: manifest::bindings(&manifest.outputs),
        host_steps: Vec::new(),
        layers: Vec::new(),
        memory: crate::program::MemoryUse::default(),
        system: None,
        reading: ModelReading::new(),
    };
    if let Some((extra, _)) = extra {
        sidecar::apply(&sidecar_name, &extra, &mut program)?;
    }
    Ok(program)
}

fn named(file: &str, name: &str, resolve: &mut Resolve<'_>) -> Result<Vec<u8>, ArtifactError> {
    npukit_target::sibling(file, name)?;
    Ok(resolve(name)?)
}

/// As in the C driver, a size of zero in the manifest is not checked.
fn check_prog_size(prog: &Prog, actual: usize) -> Result<(), ArtifactError> {
    if prog.size == 0 || prog.size == actual as u64 {
        return Ok(());
    }
    Err(ArtifactError::Length {
        file: prog.file_name.clone(),
        actual: actual as u64,
        expected: prog.size,
        key: "prog.size",
        reason: "set in the manifest".to_owned(),
    })
}

fn check_consts_size(manifest: &Manifest, actual: usize) -> Result<(), ArtifactError> {
    let (size, lanes) = (manifest.consts.size, manifest.arch.array_size as u64);
    let bytes = manifest.arch.data_type.size_bytes() as u64;
    let expected = size.saturating_mul(lanes).saturating_mul(bytes);
    if expected == actual as u64 {
        return Ok(());
    }
    Err(ArtifactError::Length {
        file: manifest.consts.file_name.clone(),
        actual: actual as u64,
        expected,
        key: "consts[0].size",
        reason: format!("{size} vectors of {lanes} scalars of {bytes} bytes"),
    })
}
