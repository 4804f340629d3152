//! [`Manifest`]: the `.tmodel` file.

use indexmap::IndexMap;
use serde::Serialize;
use serde_json::Value;

use super::ArtifactError;
use crate::config::Config;
use crate::config::json_fields::{JsonFields, KeyError};
use crate::program::{Binding, Piece};

/// Entry of the program file.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Prog {
    pub file_name: String,
    /// Size of the file in bytes.
    pub size: u64,
}

/// Entry of the constants file.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Consts {
    pub file_name: String,
    /// First vector of DRAM1; always 0.
    pub base: u64,
    /// Number of vectors.
    pub size: u64,
}

/// Entry of a piece of an input or output.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Entry {
    pub name: String,
    /// First vector of DRAM0.
    pub base: u64,
    /// Number of vectors.
    pub size: u64,
}

/// Content of a `.tmodel`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Manifest {
    pub name: String,
    pub prog: Prog,
    pub consts: Consts,
    pub inputs: Vec<Entry>,
    pub outputs: Vec<Entry>,
    pub arch: Config,
    pub load_consts_to_local: bool,
}

/// The manifest with its keys in the order of the file.
#[derive(Serialize)]
struct ManifestRecord<'a> {
    name: &'a str,
    prog: &'a Prog,
    consts: [&'a Consts; 1],
    inputs: &'a [Entry],
    outputs: &'a [Entry],
    arch: &'a Config,
    load_consts_to_local: bool,
}

impl Manifest {
    /// Reads a manifest; unknown keys are ignored. `file` is for errors.
    ///
    /// # Errors
    ///
    /// [`ArtifactError::Json`] for bytes that are not JSON; [`ArtifactError::Key`] for a key that
    /// is missing or of another type; [`ArtifactError::Config`] for an instance out of range.
    pub fn parse(file: &str, bytes: &[u8]) -> Result<Self, ArtifactError> {
        let value: Value = serde_json::from_slice(bytes)
            .map_err(|source| ArtifactError::Json { file: file.to_owned(), source })?;
        let keys = JsonFields::root(file, &value)?;
        let prog = keys.keys("prog")?;
        Ok(Self {
            name: keys.string("name")?.to_owned(),
            prog: Prog { file_name: prog.string("file_name")?.to_owned(), size: prog.number("size")? },
            consts: consts(&keys)?,
            inputs: entries(&keys, "inputs")?,
            outputs: entries(&keys, "outputs")?,
            arch: arch(file, &keys)?,
            load_consts_to_local: keys.flag("load_consts_to_local")?,
        })
    }

    /// Returns compact JSON with the keys in Tensil's order.
    ///
    /// # Errors
    ///
    /// [`ArtifactError::Json`] if a value has no form in JSON.
    pub fn to_json(&self) -> Result<String, ArtifactError> {
        let written = ManifestRecord {
            name: &self.name,
            prog: &self.prog,
            consts: [&self.consts],
            inputs: &self.inputs,
            outputs: &self.outputs,
            arch: &self.arch,
            load_consts_to_local: self.load_consts_to_local,
        };
        serde_json::to_string(&written)
            .map_err(|source| ArtifactError::Json { file: format!("{}.tmodel", self.name), source })
    }

    /// Checks that every range is inside its memory and that names can be file names.
    ///
    /// # Errors
    ///
    /// [`ArtifactError::Range`] for the first range outside its memory; [`ArtifactError::Read`] for
    /// a name that leaves the folder.
    pub fn check(&self, file: &str) -> Result<(), ArtifactError> {
        npukit_target::sibling(file, &self.prog.file_name)?;
        npukit_target::sibling(file, &self.consts.file_name)?;
        let Consts { base, size, .. } = self.consts;
        check_range(file, "consts[0]", base, size, "DRAM1", self.arch.dram1_depth)?;
        if self.load_consts_to_local {
            let key = "consts[0] (with `load_consts_to_local`)";
            check_range(file, key, base, size, "local memory", self.arch.local_depth)?;
        }
        check_entries(file, "inputs", &self.inputs, self.arch.dram0_depth)?;
        check_entries(file, "outputs", &self.outputs, self.arch.dram0_depth)
    }
}

fn consts(keys: &JsonFields<'_>) -> Result<Consts, ArtifactError> {
    let list = keys.list("consts")?;
    let [entry] = list.as_slice() else {
        let reason = format!("has {} entries, but drivers take exactly one", list.len());
        return Err(keys.error("consts", reason).into());
    };
    let base = entry.number("base")?;
    if base != 0 {
        return Err(entry.error("base", format!("is {base}, must be 0")).into());
    }
    Ok(Consts { file_name: entry.string("file_name")?.to_owned(), base, size: entry.number("size")? })
}

fn entries(keys: &JsonFields<'_>, key: &str) -> Result<Vec<Entry>, ArtifactError> {
    keys.list(key)?
        .iter()
        .map(|e| {
            Ok(Entry { name: e.string("name")?.to_owned(), base: e.number("base")?, size: e.number("size")? })
        })
        .collect()
}

fn arch(file: &str, keys: &JsonFields<'_>) -> Result<Config, ArtifactError> {
    let (config, _) = Config::from_value(keys.required("arch")?)
        .map_err(|source| ArtifactError::Config { file: file.to_owned(), source })?;
    Ok(config)
}

fn check_entries(file: &str, list: &str, entries: &[Entry], depth: u64) -> Result<(), ArtifactError> {
    for (i, entry) in entries.iter().enumerate() {
        let key = format!("{list}[{i}]");
        if entry.size == 0 {
            let (key, reason) = (format!("{key}.size"), "is 0, must be at least 1 vector".to_owned());
            return Err(KeyError { file: file.to_owned(), key, reason }.into());
        }
        check_range(file, &key, entry.base, entry.size, "DRAM0", depth)?;
    }
    Ok(())
}

fn check_range(
    file: &str,
    key: &str,
    base: u64,
    size: u64,
    memory: &'static str,
    depth: u64,
) -> Result<(), ArtifactError> {
    if base.checked_add(size).is_some_and(|end| end <= depth) {
        return Ok(());
    }
    Err(ArtifactError::Range { file: file.to_owned(), key: key.to_owned(), base, size, memory, depth })
}

/// Merges entries of equal name, with the pieces in list order.
pub(super) fn bindings(entries: &[Entry]) -> Vec<Binding> {
    let mut bindings: IndexMap<&str, Vec<Piece>> = IndexMap::new();
    for entry in entries {
        bindings.entry(&entry.name).or_default().push(Piece { base: entry.base, size: entry.size });
    }
    bindings
        .into_iter()
        .map(|(name, pieces)| Binding { name: name.to_owned(), pieces, layout: None })
        .collect()
}
