//! The [`Target`] trait: what an accelerator gives npukit.
//!
//! A [`Target`] is an architecture; an [`Instance`] is it with its parameters fixed; a
//! [`Compiled`] is a program for an instance. Each part is optional: a default method answers
//! [`TargetError::Unsupported`], so a new target compiles with `name` and `instance` alone and
//! gains verbs one by one. Nothing here touches a file: bytes come in through [`Reader`].

mod area;
mod benchmark;
mod bounds;
mod breakdown;
mod cache;
mod convert;
mod cosim;
mod diagnosis;
mod error;
mod generator;
mod hand;
mod hash;
mod host;
mod lint;
mod machine;
mod name;
mod options;
pub mod parameters;
mod parts;
mod phase;
mod port;
pub mod presets;
mod program;
mod proof;
mod read;
mod report;
mod run_options;
mod seal;
mod segments;
mod source_map;
mod survey;
mod system;
mod target;
mod term;
mod time;
mod trace;
mod vectors;
mod view;

pub use area::{Area, block_rams, ultra_rams};
pub use benchmark::{Bar, Benchmark, Figure, Measure};
pub use bounds::{
    BoundedProgram, BoundedRun, BoundedTensor, Excesses, PossibleSaturation, RangeTensor, terms_of_bounds,
};
pub use breakdown::{Breakdown, LayerWork, OUTSIDE, Spent, Whole, share};
pub use cache::{Cache, CacheKey, digest};
pub use convert::{as_element, to_element};
pub use cosim::{Cosim, CosimCycles, CosimDifference, CosimJudge, CosimJudgement, CosimOptions, CosimPart};
pub use diagnosis::{Diagnose, Diagnosis, ErrorKind, Fault, Place, failure};
pub use error::TargetError;
pub use generator::{Generator, GeneratorOptions, Step};
pub use hand::{HandOptions, HandProgram, ProgramText, program_text};
pub use hash::{sha256, sha256_of_file};
pub use host::{
    HostAccess, HostAnswer, HostBits, HostCompletion, HostMap, HostPlace, HostRegister, HostRun, HostSide,
    HostStream, HostWord,
};
pub use lint::{Finding, LINTS_OF_TEXTS, Lint, Linted, Overwritten, Severity, Writers, text_target};
pub use machine::{
    Accessed, AddressRun, Executed, Halt, Limits, Machine, MachineMemory, MachineOptions, Moment, Operand,
    Outline, Placed, PlacedKind, Ran, Remark, Saturated, Scalar, StepLayers, Stopped, execute,
    instruction_lines, number_of, read_operands, real_of, run_steps, step_float,
};
pub use name::{artifact_stem, instance_name};
pub use npukit_asm::{ListedWord, ListingLine};
pub use npukit_lower::Problem;
pub use options::{Aliases, Chosen, OptionError, OptionSpec, Stage, Values};
pub use parameters::{Setting, leaves, split_parameters, with_parameters};
pub use parts::{Checked, Parts};
pub use phase::{PHASES, Phase, PhaseTime};
pub use port::{Port, PortError, Vectors};
pub use presets::{Named, Presets};
pub use program::{
    ArtifactFile, Compiled, Driven, DriverData, Inputs, Layer, Output, PortPlace, ProgramPart, ProgramWords,
    RunResult, Writer,
};
pub use proof::{Culprit, Expected, FieldProgram, FieldValues, Reference, References};
pub use read::{NoFiles, Part, ReadError, Reader, bytes_of, folder, sibling};
pub use report::{HostStepReport, MemoryReport, ProgramReport, Saturation, Saturations};
pub use run_options::{Meaning, RunOptions, Unset};
pub use seal::{Seal, resealed};
pub use segments::{
    EXTENSION as SEGMENTS_EXTENSION, ManifestError, SEGMENTS, SegmentError, SegmentPlan, SegmentedInstance,
    load_segments, segments_target,
};
pub use source_map::{MapError, read_source_map, write_source_map};
pub use survey::Survey;
pub use system::{NamedSystems, SystemFigure, SystemName, split_system, system_of, with_system};
pub use target::{
    Assembled, CompileOptions, Config, Disassembled, Instance, Measures, Preset, PresetSystem, Target,
    TypicalInputs,
};
pub use term::Term;
pub use time::{
    Bound, FlagTime, InstructionTime, KindTime, LayerTime, Pace, Roofline, TimeOptions, TimeReport, UnitTime,
    Wait,
};
pub use trace::{TraceFormat, TraceReport, record, write_trace};
pub use vectors::{Case, Outcome};
pub use view::{Shown, View};
