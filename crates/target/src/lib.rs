//! Interface between npukit and an accelerator; the module `contract` has a table of its parts.
//!
//! A [`Target`] is an architecture: a value of constants and functions. An [`Instance`] is an
//! architecture with all parameters fixed. A [`Compiled`] is a program for an instance, and a
//! [`Machine`] runs a program step by step. What is known without work is a struct:
//! [`InstanceInfo`] and [`ProgramInfo`]. Everything further is optional. By default such a method
//! returns [`TargetError::Unsupported`], so a new target compiles with a name and instances alone
//! and gains verbs one by one. Nothing here opens a file: bytes come in through [`Reader`].
//!
//! Three modules are shared by all machines: [`sim`] has memories, faults and the run loop, [`rtl`]
//! circuits, and [`conform`] golden vectors.

mod config;
pub mod conform;
mod contract;
mod diagnosis;
mod error;
mod files;
mod lint;
mod phase;
mod report;
pub mod rtl;
mod segments;
pub mod sim;

pub use config::compile_options::{CompileOptions, Measures, ModelReading, TypicalInputs};
pub use config::name::{artifact_stem, instance_name};
pub use config::options::{Aliases, Chosen, OptionError, OptionSpec, Stage, Values};
pub use config::parameters::{Setting, leaves, split_parameters, with_parameters};
pub use config::preset::{InstanceSpec, Preset, PresetSystem};
pub use config::presets::{Named, Presets};
pub use config::run_options::{HazardMode, RunOptions, UninitMemory};
pub use config::system::{NamedSystems, SystemFigure, SystemName, split_system, system_of, with_system};
pub use config::{parameters, presets};
pub use contract::bounds::{
    BoundedProgram, BoundedRun, BoundedTensor, Excesses, PossibleSaturation, RangeTensor, terms_of_bounds,
};
pub use contract::convert::{as_element, to_element};
pub use contract::cosim::{
    CosimCycles, CosimDifference, CosimJudge, CosimJudgement, CosimOptions, CosimPart, CosimRun,
};
pub use contract::diagram;
pub use contract::instance::asm_program::{AsmOptions, AsmProgram, ProgramText, program_text};
pub use contract::instance::compile_estimate::CompileEstimate;
pub use contract::instance::generator::{
    Generator, GeneratorOptions, KeysAndValues, LanguageModel, LanguageModels, MakeProgram, Step, Tokens,
    added_cycles, locked,
};
pub use contract::instance::host::{
    HostAccess, HostAnswer, HostBits, HostCompletion, HostMap, HostPlace, HostRegister, HostRun, HostSide,
    HostStream, HostWord,
};
pub use contract::instance::info::{InstanceInfo, LanguageForm, Scaling};
pub use contract::instance::text::{Assembled, Disassembled};
pub use contract::instance::{GraphForm, Instance};
pub use contract::machine::view::{Shown, View};
pub use contract::machine::{
    Accessed, AddressRun, Executed, Floats, Halt, Limits, Machine, MachineMemory, MachineOptions, Moment,
    Operand, Outline, Placed, PlacedKind, Remark, RunOutcome, Saturated, Scalar, StepLayers, Stopped,
    execute, instruction_lines, number_of, read_operands, real_of, run_steps, step_float,
};
pub use contract::motion;
pub use contract::output::{DriverData, Inputs, Output, PortPlace, RunResult};
pub use contract::port::{Port, PortError, Vectors};
pub use contract::program::{Compiled, HostWork, Layer, ProgramInfo, ProgramPart, ProgramWords};
pub use contract::proof::{
    Approximation, Culprit, Expected, FieldProgram, FieldValues, Reference, References,
};
pub use contract::target::Target;
pub use contract::values::{OwnValues, Writer};
pub use contract::vectors::{Case, Outcome};
pub use diagnosis::{Diagnose, Diagnosis, ErrorKind, ErrorLocation, Fault, failure};
pub use error::TargetError;
pub use files::cache::{Cache, CacheKey, digest};
pub use files::hash::{sha256, sha256_of_file};
pub use files::parts::ArtifactFile;
pub use files::parts::{Checked, Parts};
pub use files::read::{NoFiles, Part, ReadError, Reader, bytes_of, folder, sibling};
pub use files::seal::{Seal, resealed};
pub use files::source_map::{MapError, read_source_map, write_source_map};
pub use lint::{
    Finding, LINTS_OF_TEXTS, Lint, Linted, Overwritten, Severity, Writers, raw_numbers, text_target,
};
pub use npukit_asm::{ListedWord, ListingLine};
pub use npukit_lower::Problem;
pub use phase::{PHASES, Phase, PhaseTime};
pub use report::activity::{Activity, CountedMemory, Counts, MacType, MemoryClass};
pub use report::area::{Area, block_rams, ultra_rams};
pub use report::benchmark::{Bar, Benchmark, Figure, Measure};
pub use report::breakdown::{Breakdown, LayerCycles, LayerWork, OUTSIDE, SPAN_NOTE, Spent, Whole, share};
pub use report::language::{
    LanguageBound, LanguageLayers, LanguagePart, LanguagePoint, LanguageStep, LanguageTime,
    LanguageTimeOptions, Traffic,
};
pub use report::term::Term;
pub use report::time::{
    Bound, CycleSpan, FlagTime, InstructionTime, KindTime, LayerTime, MeasuredSamples, Pace, Roofline,
    TimeForm, TimeOptions, TimeReport, UnitTime, Wait,
};
pub use report::trace::{TraceFormat, TraceReport, chrome_trace, record, write_trace};
pub use report::{HostStepReport, MemoryReport, ProgramReport, Saturation, Saturations};
pub use segments::{
    EXTENSION as SEGMENTS_EXTENSION, ManifestError, SEGMENTS, SegmentError, SegmentPlan, SegmentedInstance,
    load_segments, segments_target,
};
