//! [`PCCX`], the [`Target`] of this crate.

mod asm_program;
pub(crate) mod benchmarks;
pub(crate) mod diagnose;
mod diagram;
pub(crate) mod generate;
mod instance;
pub(crate) mod language;
pub(crate) mod language_cost;
mod machine;
mod program;
pub(crate) mod terms;

use npukit_target::{
    Compiled, Instance, InstanceInfo, InstanceSpec, Named, PresetSystem, Presets, Reader, Target, TargetError,
};

use crate::check::lints::LINTS;
use crate::config::{Config, Profile, System, settable};
use crate::lower::{Executable, OPTIONS};
use crate::program::artifact;
use crate::program::host::{HOST, Host, TENSORS};
use crate::target::benchmarks::BENCHMARKS;
use crate::target::terms::TERMS;
use crate::vectors;
use program::PccxProgram;

/// Instance with its name.
struct PccxInstance {
    pub info: InstanceInfo,
    pub config: Config,
}

/// Built-in instances.
const PRESETS: Presets<Config> = Presets {
    target: "pccx",
    default: "reference",
    names: || Config::presets().collect(),
    named: |name| Ok(Config::named(name)),
    summary: |_, config| summary(config),
    systems: |config| PresetSystem::list(&config.systems, System::summary),
    with_system: Config::with_system,
    parameters: settable::tree,
    with_parameters: settable::from_tree,
    extension: "toml",
    read: |text| Ok((Config::from_toml(text)?, Vec::new())),
    others: "; add `+seed` to the name of an instance to follow the page of the instruction set where documents \
             contradict it",
};

/// pccx: a 4-bit accelerator for language models.
pub static PCCX: Target = Target {
    config_extensions: &[PRESETS.extension],
    errors: diagnose::ERRORS,
    options: &OPTIONS,
    cost_model_names: &[("engine", "engine model")],
    terms: TERMS,
    lints: LINTS,
    artifact_extensions: &["pcp"],
    vector_extensions: &["json", "u16le", "pccx"],
    benchmarks: || &*BENCHMARKS,
    load_artifact: Some(load),
    read_vectors: vectors::vectors,
    ..Target::new("pccx", "pccx: a 4-bit accelerator for language models", || PRESETS.list(), instance)
};

fn instance(source: InstanceSpec<'_>) -> Result<Box<dyn Instance>, TargetError> {
    let Named { name, config, .. } = PRESETS.instance(source)?;
    Ok(Box::new(PccxInstance::new(&name, config.on_its_board())))
}

fn load(path: &str, files: &dyn Reader) -> Result<Box<dyn Compiled>, TargetError> {
    let (name, mut program) = artifact::read_set(path, files)?;
    let Named { name: instance, config, .. } = PRESETS.preset(program.preset())?;
    let host = Host::read(&program.extras);
    let host = host.map_err(|error| TargetError::failed(format!("{path}: {error}")))?;
    // The host writes these sections again.
    program.extras.retain(|extra| ![HOST, TENSORS].contains(&extra.tag));
    let executable = Executable { program, host: host.unwrap_or_default() };
    Ok(Box::new(PccxProgram::new(name, format!("pccx:{instance}"), executable, config)))
}

/// Describes an instance in one line.
fn summary(config: &Config) -> String {
    let numbers = match config.profile {
        Profile::Reference => "reference numerics",
        Profile::Upstream => "numerics of the published circuits",
    };
    let extensions = if config.extensions { ", with MUL, RELU and TANH" } else { "" };
    let reading =
        if config.reading.is_default() { "" } else { ", following the page of the instruction set" };
    format!("{} L2 words, {} MHz, {numbers}{extensions}{reading}", config.l2_words, config.timing.core_mhz)
}
