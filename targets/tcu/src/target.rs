//! [`TCU`], the [`Target`] of this crate.

mod asm_program;
pub(crate) mod benchmarks;
pub(crate) mod diagnose;
mod diagram;
mod instance;
mod machine;
mod options;
mod program;
pub(crate) mod terms;

use npukit_target::{
    Compiled, Instance, InstanceInfo, InstanceSpec, Named, PresetSystem, Presets, Reader, Target,
    TargetError, sibling,
};

use crate::check::lints::LINTS;
use crate::config::{Board, Config, Overlap, Reading, System, board, settable};
use crate::program::artifact;
use crate::target::benchmarks::BENCHMARKS;
use crate::target::terms::TERMS;
use crate::vectors;
use options::OPTIONS;
use program::TcuProgram;

/// An architecture with its name.
struct TcuInstance {
    pub info: InstanceInfo,
    pub config: Config,
    /// Clock, bus and memory around it.
    pub system: System,
}

/// Built-in instances. All figures of the documentation refer to the default instance.
const PRESETS: Presets<Board> = Presets {
    target: "tcu",
    default: "pynqz1",
    names: || Config::presets().collect(),
    named,
    summary,
    systems: |board| PresetSystem::list(&board.systems, System::summary),
    with_system: Board::with_system,
    parameters: |board| settable::tree(&board.config, &board.system),
    with_parameters: settable::from_tree,
    extension: "tarch",
    read,
    others: "; suffixes of the instance name: `+lut` for two lookup tables, `+lut4` for four, `+seed` for the instruction \
             set specification where the released hardware deviates from it, or `+overlap` for a unit that does in \
             parallel what the released one does in sequence (`+queues`, `+drams`, `+weights`, `+simd` and `+bursts` \
             for each feature alone)",
};

/// Suffix of instances with lookup tables; a number of tables may follow.
const LOOKUP: &str = "+lut";
/// Number of tables without a number in the suffix: enough for piecewise linear functions.
const LOOKUP_TABLES: usize = 2;
/// Suffix of instances that follow the instruction set specification.
const SEED: &str = "+seed";

/// Returns a built-in instance, changed by the suffixes of its name.
///
/// # Errors
///
/// An illegal number of tables.
fn named(name: &str) -> Result<Option<Board>, String> {
    if let Some(plain) = name.strip_suffix(SEED) {
        let board = named(plain)?;
        return Ok(board.map(|board| board.changed(|config| Config { reading: Reading::Seed, ..config })));
    }
    for (suffix, overlap) in Overlap::SUFFIXES {
        if let Some(plain) = name.strip_suffix(suffix) {
            let board = named(plain)?;
            return Ok(board.map(|board| board.changed(|config| Config { overlap, ..config })));
        }
    }
    let Some((plain, tables)) = name.rsplit_once(LOOKUP) else { return Ok(Board::preset(name)) };
    let tables = match tables {
        "" => Some(LOOKUP_TABLES),
        number => number.parse().ok().filter(|tables| (1..=Config::MAX_TABLES).contains(tables)),
    };
    let tables = tables.ok_or_else(|| {
        format!("`{LOOKUP}` may only be followed by the number of tables, 1 to {}", Config::MAX_TABLES)
    })?;
    Ok(named(plain)?.map(|board| board.changed(|config| config.with_lookup(tables))))
}

/// Tensil's tensor compute unit.
pub static TCU: Target = Target {
    config_extensions: &[PRESETS.extension],
    errors: diagnose::ERRORS,
    options: &OPTIONS,
    cost_model_names: &[("hw", "hw clock")],
    terms: TERMS,
    lints: LINTS,
    artifact_extensions: &["tmodel"],
    benchmarks: || BENCHMARKS,
    load_artifact: Some(load),
    read_vectors: vectors::vectors,
    ..Target::new(
        "tcu",
        "Tensil's tensor compute unit: a systolic array with accumulators and a SIMD unit",
        || PRESETS.list(),
        instance,
    )
};

fn instance(source: InstanceSpec<'_>) -> Result<Box<dyn Instance>, TargetError> {
    let Named { name, config: Board { config, system, .. }, mut warnings } = PRESETS.instance(source)?;
    warnings.extend(config.outside_table().iter().map(ToString::to_string));
    Ok(Box::new(TcuInstance::new(&name, config, system, warnings)))
}

fn load(path: &str, files: &dyn Reader) -> Result<Box<dyn Compiled>, TargetError> {
    let bytes = files.read(path).map_err(TargetError::failed)?;
    let file = path.rsplit(['/', '\\']).next().unwrap_or(path);
    let mut resolve = |name: &str| sibling(path, name).and_then(|path| files.read(&path));
    let mut program = artifact::read(file, &bytes, &mut resolve).map_err(TargetError::failed)?;
    let board = board::preset_of(&program.name, &program.config).map(str::to_owned);
    if program.system.is_none() {
        program.system = board.as_deref().and_then(Board::preset).map(|board| board.system);
    }
    Ok(Box::new(TcuProgram::loaded(program, board)))
}

/// Describes an instance in one line, the board first.
fn summary(name: &str, Board { config, system, .. }: &Board) -> String {
    let (n, data_type) = (config.array_size, config.data_type.name());
    let (local, accumulators) = (config.local_depth, config.accumulator_depth);
    // Default: an instance without a board begins with its parameters.
    let board = Board::title(name).map(|title| format!("{title}: ")).unwrap_or_default();
    let stated = [
        format!("{board}{n}x{n} {data_type}, {local} local vectors, {accumulators} accumulators"),
        system.summary(),
    ];
    stated.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
}

fn read(text: &str) -> npukit_target::presets::Read<Board> {
    let (board, warnings) = Board::from_json(text)?;
    Ok((board, warnings.iter().map(ToString::to_string).collect()))
}
