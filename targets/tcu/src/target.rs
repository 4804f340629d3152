//! [`Tcu`], the [`Target`] of this crate.

mod instance;
mod options;
mod program;
mod stepper;

use npukit_target::{
    Benchmark, Case, Compiled, Config as Source, Instance, Named, OptionSpec, Preset, Presets, Reader,
    Target, TargetError, sibling,
};

use crate::benchmarks::BENCHMARKS;
use crate::config::Config;
use crate::{artifact, board, conform};
use instance::TcuInstance;
use options::OPTIONS;
use program::TcuProgram;

/// Tensil's tensor compute unit.
#[derive(Clone, Copy, Debug)]
pub struct Tcu;

/// Its instances; when none is named, the one every figure of the documentation is for.
const PRESETS: Presets<Config> = Presets {
    target: "tcu",
    default: "pynqz1",
    names: || Config::presets().collect(),
    named: |name| Ok(Config::preset(name)),
    summary,
    extension: "tarch",
    read,
    others: "",
};

impl Target for Tcu {
    fn name(&self) -> &'static str {
        "tcu"
    }

    fn summary(&self) -> &'static str {
        "Tensil's tensor compute unit: a systolic array with accumulators and a SIMD unit"
    }

    fn presets(&self) -> Vec<Preset> {
        PRESETS.list()
    }

    fn config_extensions(&self) -> &'static [&'static str] {
        &[PRESETS.extension]
    }

    fn options(&self) -> &'static [OptionSpec] {
        &OPTIONS
    }

    fn instance(&self, source: Source<'_>) -> Result<Box<dyn Instance>, TargetError> {
        let Named { name, config, warnings } = PRESETS.instance(source)?;
        Ok(Box::new(TcuInstance { name, config, warnings }))
    }

    fn artifact_extensions(&self) -> &'static [&'static str] {
        &["tmodel"]
    }

    fn load(&self, path: &str, files: &dyn Reader) -> Result<Box<dyn Compiled>, TargetError> {
        let bytes = files.read(path).map_err(TargetError::failed)?;
        let file = path.rsplit(['/', '\\']).next().unwrap_or(path);
        let mut resolve = |name: &str| sibling(path, name).and_then(|path| files.read(&path));
        let program = artifact::read(file, &bytes, &mut resolve).map_err(TargetError::failed)?;
        let board = board::preset_of(&program.name, &program.config).map(str::to_owned);
        Ok(Box::new(TcuProgram::loaded(program, board)))
    }

    fn benchmarks(&self) -> &'static [Benchmark] {
        BENCHMARKS
    }

    fn vectors(&self, path: &str, bytes: &[u8], files: &dyn Reader) -> Option<Vec<Case>> {
        conform::vectors(path, bytes, files)
    }
}

/// What there is to know of an instance, in a line.
fn summary(name: &str, config: &Config) -> String {
    let n = config.array_size;
    let clock = board::clock(name).map_or(String::new(), |clock| format!(", {} MHz", clock.mhz));
    format!(
        "{n}x{n} {}, {} local vectors, {} accumulators{clock}",
        config.data_type.name(),
        config.local_depth,
        config.accumulator_depth,
    )
}

fn read(text: &str) -> Result<(Config, Vec<String>), String> {
    let (config, warnings) = Config::from_json(text).map_err(|errors| errors.to_string())?;
    Ok((config, warnings.iter().map(ToString::to_string).collect()))
}
