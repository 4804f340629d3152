//! `<name>.npukit.json`: information that a `.tmodel` cannot hold. Drivers ignore it.
//!
//! It must match the manifest next to it, and stores the hashes of the drivers' three files and a
//! digest of itself. A file from another compilation is refused, as is any file with a changed
//! byte. The information is in a separate file because Tensil's Python driver refuses a `.tmodel`
//! with an unknown key.

use npukit_target::{ModelReading, Parts, Seal};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{ArtifactError, host_op};
use crate::config::System;
use crate::config::json_fields::{JsonFields, KeyError};
use crate::program::{Binding, HostStep, Layer, Layout, MemoryUse, Program, Usage};

/// Version of the format, in the key `version`.
const VERSION: u64 = 1;
/// Key of the digest of the file itself.
const DIGEST: &str = "digest";
/// Key of the hashes.
const SHA256: &str = "sha256";
/// Key of the exponent of an input or output: the stored value is the value divided by two to that
/// power.
const EXPONENT: &str = "exponent";
/// Largest absolute value of an exponent.
const MOST: i32 = 64;
/// Key of the system.
const SYSTEM: &str = "system";
/// Key of the options with which the model was read.
const READING: &str = "reading";

/// Returns the file name for the artifact called `name`.
pub(super) fn file_name(name: &str) -> String {
    format!("{name}.npukit.json")
}

#[derive(Serialize)]
struct SidecarRecord<'a> {
    version: u64,
    digest: Seal,
    sha256: Parts,
    inputs: Vec<Value>,
    outputs: Vec<Value>,
    host_steps: Vec<Value>,
    layers: Vec<Value>,
    memory: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    system: Option<&'a System>,
    #[serde(skip_serializing_if = "ModelReading::is_empty")]
    reading: &'a ModelReading,
}

/// Returns the content of the file; `sha256` has the hashes of the other files.
pub(super) fn to_json(program: &Program, sha256: Parts) -> Result<String, ArtifactError> {
    let json = |source| ArtifactError::Json { file: file_name(&program.name), source };
    let steps = program.host_steps.iter().map(serde_json::to_value);
    let written = SidecarRecord {
        version: VERSION,
        digest: Seal::default(),
        sha256,
        inputs: program.inputs.iter().filter_map(layout_to_json).collect(),
        outputs: program.outputs.iter().filter_map(layout_to_json).collect(),
        host_steps: steps.collect::<Result<_, _>>().map_err(json)?,
        layers: program.layers.iter().map(layer_to_json).collect(),
        memory: memory_to_json(&program.memory),
        system: program.system.as_ref(),
        reading: &program.reading,
    };
    let text = serde_json::to_string(&written).map_err(json)?;
    Ok(Seal::default().put(&text))
}

fn layout_to_json(binding: &Binding) -> Option<Value> {
    let layout = binding.layout.as_ref()?;
    let mut entry = json!({
        "name": binding.name, "model_shape": layout.model_shape, "perm": layout.perm, "channels": layout.channels,
    });
    if layout.exponent != 0 {
        entry[EXPONENT] = layout.exponent.into();
    }
    Some(entry)
}

fn layer_to_json(layer: &Layer) -> Value {
    json!({ "name": layer.name, "first": layer.first, "count": layer.count, "macs": layer.macs })
}

fn memory_to_json(memory: &MemoryUse) -> Value {
    let usage = |u: &Usage| json!({ "maximum": u.maximum, "aggregate": u.aggregate });
    json!({
        "dram0": usage(&memory.dram0), "dram1": usage(&memory.dram1),
        "local": usage(&memory.local), "accumulators": usage(&memory.accumulators),
    })
}

/// Parses the file, checks its digest, and returns its JSON and the hashes of the other files.
pub(super) fn parse(file: &str, bytes: &[u8]) -> Result<(Value, Parts), ArtifactError> {
    let value: Value = serde_json::from_slice(bytes)
        .map_err(|source| ArtifactError::Json { file: file.to_owned(), source })?;
    let keys = JsonFields::root(file, &value)?;
    let (digest, parts) =
        (Seal::deserialize(keys.required(DIGEST)?), Parts::deserialize(keys.required(SHA256)?));
    let digest = digest.map_err(|error| keys.error(DIGEST, error.to_string()))?;
    let parts = parts.map_err(|error| keys.error(SHA256, error.to_string()))?;
    digest.check(file, bytes)?;
    Ok((value, parts))
}

/// Adds the information of the file to a program read from its manifest.
pub(super) fn apply(file: &str, value: &Value, program: &mut Program) -> Result<(), ArtifactError> {
    let keys = JsonFields::root(file, value)?;
    let version = keys.number("version")?;
    if version != VERSION {
        let reason = format!("is {version}, but this npukit reads {VERSION}; compile the model again");
        return Err(keys.error("version", reason).into());
    }
    let lanes = program.config.array_size;
    apply_layouts(&keys, "inputs", &mut program.inputs, lanes)?;
    apply_layouts(&keys, "outputs", &mut program.outputs, lanes)?;
    program.host_steps = host_steps(&keys, &program.outputs)?;
    program.layers = layers(&keys, program.instructions.len())?;
    program.memory = memory(&keys.keys("memory")?)?;
    program.system = optional(&keys, SYSTEM)?;
    // Default: older files do not have it, and neither have files of models read by default.
    program.reading = optional(&keys, READING)?.unwrap_or_default();
    Ok(())
}

fn apply_layouts(
    keys: &JsonFields<'_>,
    list: &str,
    bindings: &mut [Binding],
    lanes: usize,
) -> Result<(), ArtifactError> {
    for entry in keys.list(list)? {
        let name = entry.string("name")?;
        let layout = Layout {
            model_shape: entry.numbers("model_shape")?,
            perm: entry.numbers("perm")?,
            channels: entry.number("channels")? as usize,
            exponent: exponent(&entry)?,
        };
        let binding = bindings.iter_mut().find(|b| b.name == name).ok_or_else(|| stale(&entry, "name"))?;
        let vectors = binding.pieces.iter().fold(0u64, |sum, p| sum.saturating_add(p.size));
        if layout.vectors(lanes).map(|v| v as u64) != Some(vectors) {
            return Err(stale(&entry, "model_shape").into());
        }
        binding.layout = Some(layout);
    }
    Ok(())
}

/// Returns the exponent of an input or output; 0 if the file has none.
fn exponent(entry: &JsonFields<'_>) -> Result<i32, KeyError> {
    if !entry.has(EXPONENT) {
        return Ok(0);
    }
    let found = entry.required(EXPONENT)?.as_i64().and_then(|number| i32::try_from(number).ok());
    let legal = found.filter(|exponent| (-MOST..=MOST).contains(exponent));
    legal.ok_or_else(|| entry.error(EXPONENT, format!("must be a whole number from -{MOST} to {MOST}")))
}

fn host_steps(keys: &JsonFields<'_>, outputs: &[Binding]) -> Result<Vec<HostStep>, ArtifactError> {
    keys.list("host_steps")?
        .iter()
        .map(|entry| {
            let output = entry.string("output")?;
            let binding = outputs.iter().find(|b| b.name == output).ok_or_else(|| stale(entry, "output"))?;
            Ok(HostStep {
                node: entry.string("node")?.to_owned(),
                output: output.to_owned(),
                op: host_op::from_keys(entry, rank(binding))?,
                reason: entry.string("reason")?.to_owned(),
            })
        })
        .collect()
}

fn rank(binding: &Binding) -> usize {
    binding.layout.as_ref().map_or(0, |layout| layout.model_shape.len())
}

fn layers(keys: &JsonFields<'_>, instructions: usize) -> Result<Vec<Layer>, ArtifactError> {
    keys.list("layers")?
        .iter()
        .map(|entry| {
            let (first, count) = (entry.number("first")?, entry.number("count")?);
            if first.checked_add(count).is_none_or(|end| end > instructions as u64) {
                return Err(stale(entry, "count").into());
            }
            let (name, macs) = (entry.string("name")?.to_owned(), entry.number("macs")?);
            Ok(Layer { name, first: first as usize, count: count as usize, macs })
        })
        .collect()
}

fn memory(keys: &JsonFields<'_>) -> Result<MemoryUse, KeyError> {
    let usage = |key: &str| {
        let usage = keys.keys(key)?;
        Ok::<_, KeyError>(Usage { maximum: usage.number("maximum")?, aggregate: usage.number("aggregate")? })
    };
    Ok(MemoryUse {
        dram0: usage("dram0")?,
        dram1: usage("dram1")?,
        local: usage("local")?,
        accumulators: usage("accumulators")?,
    })
}

/// Returns the value of a key that older files do not have.
fn optional<T: DeserializeOwned>(keys: &JsonFields<'_>, key: &str) -> Result<Option<T>, KeyError> {
    if !keys.has(key) {
        return Ok(None);
    }
    let found = T::deserialize(keys.required(key)?);
    found.map(Some).map_err(|error| keys.error(key, error.to_string()))
}

fn stale(entry: &JsonFields<'_>, key: &str) -> KeyError {
    let reason = "does not match the .tmodel next to it: compile the model again, or delete this file";
    entry.error(key, reason)
}
