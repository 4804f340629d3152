//! [`Opu`], the [`Target`] of this crate.

mod bounds;
mod compile;
mod field;
mod hand;
mod instance;
mod machine;
mod options;
mod program;
mod time;

use npukit_target::{
    Benchmark, Case, Compiled, Config as Source, ErrorKind, Instance, Lint, Named, OptionSpec, Preset,
    PresetSystem, Presets, Reader, SystemName, Target, TargetError, Term, sibling,
};

use crate::benchmarks::BENCHMARKS;
use crate::config::{Config, System, Validity, settable};
use crate::lints::LINTS;
use crate::terms::TERMS;
use crate::{artifact, conform, diagnose};
use instance::OpuInstance;
use options::OPTIONS;
use program::{Made, OpuProgram};

/// UCLA's OPU: a CNN overlay processor of pointwise convolutions, for quantised networks.
#[derive(Clone, Copy, Debug)]
pub struct Opu;

/// Its instances.
const PRESETS: Presets<Config> = Presets {
    target: "opu",
    default: "reference",
    names: || Config::presets().collect(),
    named: |name| Ok(Config::preset(name)),
    summary: |_, config| config.summary.clone(),
    systems,
    with_system: Config::with_system,
    parameters: settable::tree,
    with_parameters: settable::from_tree,
    extension: "toml",
    read: |text| Ok((Config::from_toml(text)?, Vec::new())),
    others: "; `+draft` behind a name holds programs to the draft's own conditions, `+seed` also to its words and strides",
};

impl Target for Opu {
    fn name(&self) -> &'static str {
        "opu"
    }

    fn summary(&self) -> &'static str {
        "UCLA's OPU: a CNN overlay processor of pointwise convolutions, for quantised networks"
    }

    fn presets(&self) -> Vec<Preset> {
        PRESETS.list()
    }

    fn strict(&self) -> Option<&'static str> {
        Some(Validity::SUFFIX)
    }

    fn config_extensions(&self) -> &'static [&'static str] {
        &[PRESETS.extension]
    }

    fn errors(&self) -> &'static [ErrorKind] {
        diagnose::ERRORS
    }

    fn benchmarks(&self) -> &'static [Benchmark] {
        BENCHMARKS
    }

    fn options(&self) -> &'static [OptionSpec] {
        &OPTIONS
    }

    fn lints(&self) -> &'static [&'static Lint] {
        LINTS
    }

    fn terms(&self) -> &'static [Term] {
        TERMS
    }

    fn instance(&self, source: Source<'_>) -> Result<Box<dyn Instance>, TargetError> {
        let Named { name, config, .. } = PRESETS.instance(source)?;
        Ok(Box::new(OpuInstance { name, config: config.on_its_board() }))
    }

    fn artifact_extensions(&self) -> &'static [&'static str] {
        &[artifact::EXTENSION]
    }

    fn load(&self, path: &str, files: &dyn Reader) -> Result<Box<dyn Compiled>, TargetError> {
        let bytes = files.read(path).map_err(TargetError::failed)?;
        let file = path.rsplit(['/', '\\']).next().unwrap_or(path);
        let mut resolve = |name: &str| sibling(path, name).and_then(|path| files.read(&path));
        let program = artifact::read(file, &bytes, &mut resolve).map_err(TargetError::failed)?;
        Ok(Box::new(OpuProgram { program, made: Made::Read }))
    }

    fn vectors(&self, path: &str, bytes: &[u8], files: &dyn Reader) -> Option<Vec<Case>> {
        conform::vectors(path, bytes, files)
    }
}

/// Its systems beside its own.
fn systems(config: &Config) -> Vec<PresetSystem> {
    let one = |(name, system): (&SystemName, &System)| PresetSystem {
        name: name.as_str().to_owned(),
        summary: system.summary(),
    };
    config.systems.iter().map(one).collect()
}
