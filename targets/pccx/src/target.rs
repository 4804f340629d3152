//! [`Pccx`], the [`Target`] of this crate.

mod hand;
mod instance;
mod machine;
mod program;

use npukit_target::{
    Benchmark, Case, Compiled, Config as Source, ErrorKind, Instance, Lint, Named, OptionSpec, Preset,
    PresetSystem, Presets, Reader, SystemName, Target, TargetError, Term,
};

use crate::benchmarks::BENCHMARKS;
use crate::config::{Config, Profile, System, settable};
use crate::host::{HOST, Host, TENSORS};
use crate::lints::LINTS;
use crate::lower::{Executable, OPTIONS};
use crate::terms::TERMS;
use crate::{artifact, conform, diagnose};
use instance::PccxInstance;
use program::PccxProgram;

/// pccx: a 4-bit accelerator for language models.
#[derive(Clone, Copy, Debug)]
pub struct Pccx;

/// Its instances.
const PRESETS: Presets<Config> = Presets {
    target: "pccx",
    default: "reference",
    names: || Config::presets().collect(),
    named: |name| Ok(Config::named(name)),
    summary: |_, config| summary(config),
    systems,
    with_system: Config::with_system,
    parameters: settable::tree,
    with_parameters: settable::from_tree,
    extension: "toml",
    read: |text| Ok((Config::from_toml(text)?, Vec::new())),
    others: "; to the name of an instance add `+seed` for what the page of the instruction set says where documents say \
             something else",
};

impl Target for Pccx {
    fn name(&self) -> &'static str {
        "pccx"
    }

    fn summary(&self) -> &'static str {
        "pccx: a 4-bit accelerator for language models"
    }

    fn presets(&self) -> Vec<Preset> {
        PRESETS.list()
    }

    fn config_extensions(&self) -> &'static [&'static str] {
        &[PRESETS.extension]
    }

    fn errors(&self) -> &'static [ErrorKind] {
        diagnose::ERRORS
    }

    fn options(&self) -> &'static [OptionSpec] {
        &OPTIONS
    }

    fn lints(&self) -> &'static [&'static Lint] {
        LINTS
    }

    fn cost_model_names(&self) -> &'static [(&'static str, &'static str)] {
        &[("model", "engine model")]
    }

    fn terms(&self) -> &'static [Term] {
        TERMS
    }

    fn instance(&self, source: Source<'_>) -> Result<Box<dyn Instance>, TargetError> {
        let Named { name, config, .. } = PRESETS.instance(source)?;
        Ok(Box::new(PccxInstance { name, config: config.on_its_board() }))
    }

    fn artifact_extensions(&self) -> &'static [&'static str] {
        &["pcp"]
    }

    fn load(&self, path: &str, files: &dyn Reader) -> Result<Box<dyn Compiled>, TargetError> {
        let (name, mut program) = artifact::read_set(path, files)?;
        let Named { name: instance, config, .. } = PRESETS.preset(program.preset())?;
        let host = Host::read(&program.extras);
        let host = host.map_err(|error| TargetError::failed(format!("{path}: {error}")))?;
        // The host writes its own again.
        program.extras.retain(|extra| ![HOST, TENSORS].contains(&extra.tag));
        let executable = Executable { program, host: host.unwrap_or_default() };
        Ok(Box::new(PccxProgram::new(name, format!("pccx:{instance}"), executable, config)))
    }

    fn benchmarks(&self) -> &'static [Benchmark] {
        &*BENCHMARKS
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
    let reading = if config.reading.is_default() { "" } else { ", to the letter of the page" };
    format!("{} L2 words, {} MHz, {numbers}{extensions}{reading}", config.l2_words, config.timing.core_mhz)
}

/// Its systems beside its own.
fn systems(config: &Config) -> Vec<PresetSystem> {
    let one = |(name, system): (&SystemName, &System)| PresetSystem {
        name: name.as_str().to_owned(),
        summary: system.summary(),
    };
    config.systems.iter().map(one).collect()
}
