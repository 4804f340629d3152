//! [`SKELETON`]: the [`Target`] of this crate.

mod asm_program;
mod diagram;
mod floats;
mod instance;
mod machine;
mod program;

use npukit_target::{Compiled, Instance, InstanceSpec, Preset, Reader, Target, TargetError, instance_name};

use crate::config::Config;
use crate::program::artifact;
use crate::vectors;
use instance::SkeletonInstance;
use program::SkeletonProgram;

/// Short name of the target.
const TARGET: &str = "skeleton";
/// Name of the default instance.
const DEFAULT: &str = "reference";

/// The skeleton target.
pub static SKELETON: Target = Target {
    config_extensions: &["toml"],
    artifact_extensions: &[artifact::EXTENSION],
    load_artifact: Some(load),
    read_vectors: |path, bytes, _| vectors::vectors(path, bytes),
    ..Target::new(TARGET, "Skeleton: a machine of four instructions", presets, instance)
};

fn instance(source: InstanceSpec<'_>) -> Result<Box<dyn Instance>, TargetError> {
    let (name, config) = match source {
        InstanceSpec::Default => preset(DEFAULT)?,
        InstanceSpec::Preset(name) => preset(name)?,
        InstanceSpec::File { name, bytes } => from_file(name, bytes)?,
    };
    Ok(Box::new(SkeletonInstance::new(&name, config)))
}

fn load(path: &str, files: &dyn Reader) -> Result<Box<dyn Compiled>, TargetError> {
    Ok(Box::new(SkeletonProgram::new(artifact::read(path, files).map_err(TargetError::failed)?)))
}

fn presets() -> Vec<Preset> {
    let preset = |name: &str| {
        let summary = Config::preset(name)?.summary;
        Some(Preset { name: name.to_owned(), summary, systems: Vec::new() })
    };
    Config::presets().filter_map(preset).collect()
}

fn preset(name: &str) -> Result<(String, Config), TargetError> {
    let config = Config::preset(name).ok_or_else(|| {
        let known = Config::presets().collect::<Vec<_>>().join(", ");
        let reason = format!("unknown instance; legal: {known}, or a .toml file");
        TargetError::option("target", &format!("{TARGET}:{name}"), reason)
    })?;
    Ok((name.to_owned(), config))
}

/// Reads an instance from a file, which also gives its name.
fn from_file(name: &str, bytes: &[u8]) -> Result<(String, Config), TargetError> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        TargetError::failed(format!("{name}: byte {} is not UTF-8 text", error.valid_up_to()))
    })?;
    let config = Config::from_toml(text).map_err(|error| TargetError::failed(format!("{name}: {error}")))?;
    Ok((instance_name(name).to_owned(), config))
}
