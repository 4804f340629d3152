//! [`Pccx`], the [`Target`] of this crate.

mod instance;
mod program;

use npukit_target::{
    Benchmark, Case, Compiled, Config as Source, Instance, Preset, Reader, Target, TargetError, instance_name,
};

use crate::benchmarks::BENCHMARKS;
use crate::config::{Config, Profile};
use crate::host::{HOST, Host, TENSORS};
use crate::lower::Executable;
use crate::{artifact, conform};
use instance::PccxInstance;
use program::PccxProgram;

/// pccx: a 4-bit accelerator for language models.
#[derive(Clone, Copy, Debug)]
pub struct Pccx;

/// The instance when none is named.
const DEFAULT: &str = "reference";

impl Target for Pccx {
    fn name(&self) -> &'static str {
        "pccx"
    }

    fn summary(&self) -> &'static str {
        "pccx: a 4-bit accelerator for language models"
    }

    fn presets(&self) -> Vec<Preset> {
        let preset =
            |name| Some(Preset { name: String::from(name), summary: summary(&Config::preset(name)?) });
        Config::presets().filter_map(preset).collect()
    }

    fn config_extensions(&self) -> &'static [&'static str] {
        &["toml"]
    }

    fn instance(&self, source: Source<'_>) -> Result<Box<dyn Instance>, TargetError> {
        let (name, config) = match source {
            Source::Default => preset(DEFAULT)?,
            Source::Preset(name) => preset(name)?,
            Source::File { name, bytes } => from_file(name, bytes)?,
        };
        Ok(Box::new(PccxInstance { name, config }))
    }

    fn artifact_extensions(&self) -> &'static [&'static str] {
        &["pcp"]
    }

    fn load(&self, path: &str, files: &dyn Reader) -> Result<Box<dyn Compiled>, TargetError> {
        let (name, mut program) = artifact::read_set(path, files)?;
        let (instance, config) = preset(program.preset())?;
        let host = Host::read(&program.extras);
        let host = host.map_err(|error| TargetError::failed(format!("{path}: {error}")))?;
        // The host writes its own again.
        program.extras.retain(|extra| ![HOST, TENSORS].contains(&extra.tag));
        let executable = Executable { program, host: host.unwrap_or_default() };
        Ok(Box::new(PccxProgram::new(name, format!("pccx:{instance}"), executable, config)))
    }

    fn benchmarks(&self) -> &'static [Benchmark] {
        BENCHMARKS
    }

    fn vector_extensions(&self) -> &'static [&'static str] {
        &["json", "u16le", "pccx"]
    }

    fn vectors(&self, path: &str, bytes: &[u8], files: &dyn Reader) -> Option<Vec<Case>> {
        conform::vectors(path, bytes, files)
    }
}

/// What there is to know of an instance, in a line.
fn summary(config: &Config) -> String {
    let numbers = match config.profile {
        Profile::Reference => "reference numerics",
        Profile::Upstream => "the published circuits' numerics",
    };
    let extensions = if config.extensions { ", with MUL, RELU and TANH" } else { "" };
    format!("{} L2 words, {} MHz, {numbers}{extensions}", config.l2_words, config.timing.core_mhz)
}

fn preset(name: &str) -> Result<(String, Config), TargetError> {
    let config = Config::preset(name).ok_or_else(|| {
        let names = Config::presets().collect::<Vec<_>>().join(", ");
        TargetError::Option {
            key: "target".to_owned(),
            value: format!("pccx:{name}"),
            reason: format!("there is no such instance; there are {names}, or give a .toml file"),
        }
    })?;
    Ok((name.to_owned(), config))
}

/// The instance is named after the file.
fn from_file(name: &str, bytes: &[u8]) -> Result<(String, Config), TargetError> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        TargetError::failed(format!("{name}: byte {} is not UTF-8 text", error.valid_up_to()))
    })?;
    let config = Config::from_toml(text).map_err(|error| TargetError::failed(format!("{name}: {error}")))?;
    Ok((instance_name(name).to_owned(), config))
}
