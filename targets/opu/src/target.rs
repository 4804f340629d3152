//! The [`Target`] of this crate: [`OPU`].

mod asm_program;
pub(crate) mod benchmarks;
mod bounds;
mod compile;
pub(crate) mod diagnose;
mod diagram;
mod field;
mod instance;
mod machine;
mod options;
mod program;
mod scheme;
pub(crate) mod terms;
mod time;

use npukit_target::{
    Compiled, Instance, InstanceInfo, InstanceSpec, Named, PresetSystem, Presets, Reader, Target,
    TargetError, sibling,
};

use crate::check::lints::LINTS;
use crate::config::{Config, System, Validity, settable};
use crate::program::artifact;
use crate::target::benchmarks::BENCHMARKS;
use crate::target::terms::TERMS;
use crate::vectors;
use options::OPTIONS;
use program::{OpuProgram, ProgramOrigin};

/// Named instance.
struct OpuInstance {
    pub info: InstanceInfo,
    pub config: Config,
}

/// Built-in instances and how instances are read.
const PRESETS: Presets<Config> = Presets {
    target: "opu",
    default: "reference",
    names: || Config::presets().collect(),
    named: |name| Ok(Config::preset(name)),
    summary: |_, config| config.summary.clone(),
    systems: |config| PresetSystem::list(&config.systems, System::summary),
    with_system: Config::with_system,
    parameters: settable::tree,
    with_parameters: settable::from_tree,
    extension: "toml",
    read: |text| Ok((Config::from_toml(text)?, Vec::new())),
    others: "; the suffix `+draft` applies the draft specification's own conditions, `+seed` also its words and strides",
};

/// UCLA's OPU: a CNN overlay processor of pointwise convolutions, for quantized networks.
pub static OPU: Target = Target {
    config_extensions: &[PRESETS.extension],
    strict: Some(Validity::SUFFIX),
    errors: diagnose::ERRORS,
    options: &OPTIONS,
    terms: TERMS,
    lints: LINTS,
    artifact_extensions: &[artifact::EXTENSION],
    benchmarks: || BENCHMARKS,
    load_artifact: Some(load),
    read_vectors: vectors::vectors,
    ..Target::new(
        "opu",
        "UCLA's OPU: a CNN overlay processor of pointwise convolutions, for quantized networks",
        || PRESETS.list(),
        instance,
    )
};

fn instance(source: InstanceSpec<'_>) -> Result<Box<dyn Instance>, TargetError> {
    let Named { name, config, .. } = PRESETS.instance(source)?;
    Ok(Box::new(OpuInstance::new(&name, config.on_its_board())))
}

fn load(path: &str, files: &dyn Reader) -> Result<Box<dyn Compiled>, TargetError> {
    let bytes = files.read(path).map_err(TargetError::failed)?;
    let file = path.rsplit(['/', '\\']).next().unwrap_or(path);
    let mut resolve = |name: &str| sibling(path, name).and_then(|path| files.read(&path));
    let program = artifact::read(file, &bytes, &mut resolve).map_err(TargetError::failed)?;
    Ok(Box::new(OpuProgram::new(program, ProgramOrigin::Read)))
}
