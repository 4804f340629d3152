//! [`Tcu`], the [`Target`] of this crate.

mod instance;
mod program;

use npukit_target::{
    Benchmark, Case, Compiled, Config as Source, Instance, Preset, Reader, Target, TargetError,
    instance_name, sibling,
};

use crate::benchmarks::BENCHMARKS;
use crate::config::Config;
use crate::{artifact, board, conform};
use instance::TcuInstance;
use program::TcuProgram;

/// Tensil's tensor compute unit.
#[derive(Clone, Copy, Debug)]
pub struct Tcu;

/// The instance when none is named: the one every figure of the documentation is for.
const DEFAULT: &str = "pynqz1";

impl Target for Tcu {
    fn name(&self) -> &'static str {
        "tcu"
    }

    fn summary(&self) -> &'static str {
        "Tensil's tensor compute unit: a systolic array with accumulators and a SIMD unit"
    }

    fn presets(&self) -> Vec<Preset> {
        Config::presets()
            .filter_map(|name| {
                Some(Preset { name: name.to_owned(), summary: summary(name, &Config::preset(name)?) })
            })
            .collect()
    }

    fn config_extensions(&self) -> &'static [&'static str] {
        &["tarch"]
    }

    fn instance(&self, source: Source<'_>) -> Result<Box<dyn Instance>, TargetError> {
        let of_preset =
            |name| preset(name).map(|(name, config)| TcuInstance { name, config, warnings: Vec::new() });
        Ok(Box::new(match source {
            Source::Default => of_preset(DEFAULT)?,
            Source::Preset(name) => of_preset(name)?,
            Source::File { name, bytes } => from_file(name, bytes)?,
        }))
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

fn preset(name: &str) -> Result<(String, Config), TargetError> {
    let config = Config::preset(name).ok_or_else(|| TargetError::Option {
        key: "target".to_owned(),
        value: format!("tcu:{name}"),
        reason: format!("there is no such instance; there are {}, or give a .tarch file", names()),
    })?;
    Ok((name.to_owned(), config))
}

fn names() -> String {
    Config::presets().collect::<Vec<_>>().join(", ")
}

/// The instance is named after the file.
fn from_file(name: &str, bytes: &[u8]) -> Result<TcuInstance, TargetError> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        TargetError::failed(format!("{name}: byte {} is not UTF-8 text", error.valid_up_to()))
    })?;
    let (config, warnings) =
        Config::from_json(text).map_err(|errors| TargetError::failed(format!("{name}: {errors}")))?;
    let warnings = warnings.iter().map(|warning| format!("{name}: {warning}")).collect();
    Ok(TcuInstance { name: instance_name(name).to_owned(), config, warnings })
}
