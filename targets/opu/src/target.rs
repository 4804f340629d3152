//! [`Opu`], the [`Target`] of this crate.

mod compile;
mod instance;
mod program;
mod time;

use npukit_target::{
    Benchmark, Case, Compiled, Config as Source, Instance, Preset, Reader, Target, TargetError,
    instance_name, sibling,
};

use crate::benchmarks::BENCHMARKS;
use crate::config::Config;
use crate::{artifact, conform};
use instance::OpuInstance;
use program::OpuProgram;

/// UCLA's OPU: a CNN overlay processor of pointwise convolutions, for quantised networks.
#[derive(Clone, Copy, Debug)]
pub struct Opu;

/// The instance when none is named.
const DEFAULT: &str = "reference";

impl Target for Opu {
    fn name(&self) -> &'static str {
        "opu"
    }

    fn summary(&self) -> &'static str {
        "UCLA's OPU: a CNN overlay processor of pointwise convolutions, for quantised networks"
    }

    fn presets(&self) -> Vec<Preset> {
        let preset =
            |name: &str| Some(Preset { name: name.to_owned(), summary: Config::preset(name)?.summary });
        Config::presets().filter_map(preset).collect()
    }

    fn config_extensions(&self) -> &'static [&'static str] {
        &["toml"]
    }

    fn benchmarks(&self) -> &'static [Benchmark] {
        BENCHMARKS
    }

    fn instance(&self, source: Source<'_>) -> Result<Box<dyn Instance>, TargetError> {
        let (name, config) = match source {
            Source::Default => preset(DEFAULT)?,
            Source::Preset(name) => preset(name)?,
            Source::File { name, bytes } => from_file(name, bytes)?,
        };
        Ok(Box::new(OpuInstance { name, config }))
    }

    fn artifact_extensions(&self) -> &'static [&'static str] {
        &[artifact::EXTENSION]
    }

    fn load(&self, path: &str, files: &dyn Reader) -> Result<Box<dyn Compiled>, TargetError> {
        let bytes = files.read(path).map_err(TargetError::failed)?;
        let file = path.rsplit(['/', '\\']).next().unwrap_or(path);
        let mut resolve = |name: &str| sibling(path, name).and_then(|path| files.read(&path));
        let program = artifact::read(file, &bytes, &mut resolve).map_err(TargetError::failed)?;
        Ok(Box::new(OpuProgram { program, saturated_constants: None }))
    }

    fn vectors(&self, path: &str, bytes: &[u8], files: &dyn Reader) -> Option<Vec<Case>> {
        conform::vectors(path, bytes, files)
    }
}

fn preset(name: &str) -> Result<(String, Config), TargetError> {
    let config = Config::preset(name).ok_or_else(|| TargetError::Option {
        key: "target".to_owned(),
        value: format!("opu:{name}"),
        reason: format!(
            "there is no such instance; there are {}, or give a .toml file",
            Config::presets().collect::<Vec<_>>().join(", ")
        ),
    })?;
    Ok((name.to_owned(), config))
}

/// The instance is named after the file, up to its first dot.
fn from_file(name: &str, bytes: &[u8]) -> Result<(String, Config), TargetError> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        TargetError::failed(format!("{name}: byte {} is not UTF-8 text", error.valid_up_to()))
    })?;
    let config = Config::from_toml(text).map_err(|error| TargetError::failed(format!("{name}: {error}")))?;
    Ok((instance_name(name).to_owned(), config))
}
