//! `npu compile`: compiles a model to the files that a driver loads.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Instant;

use npukit_base::on_a_line;
use npukit_graph::Graph;
use npukit_target::{
    ArtifactFile, CompileEstimate, Compiled, HostStepReport, MemoryReport, Phase, Port, TimeOptions,
};
use serde::Serialize;

use crate::Context;
use crate::compare::test_vectors::TestVectors;
use crate::error::Error;
use crate::inputs::{InputFile, Preprocess};
use crate::model::compile_job::CompiledModel;
use crate::model::hashing_reader::HashingReader;
use crate::model::program::Program;
use crate::model::remarks::Remarks;
use crate::model::source::Source;
use crate::numbers::quantize;
use crate::numbers::weights::{self, Weight};
use crate::report::coverage::Coverage;
use crate::report::rescale::Report as RescalingReport;
use crate::run::latency::{Speed, batch, timed};
use crate::targets::cost_model_name;
use crate::verbs::verify::{self, Certificate, Certified, certified};

/// Parameters of a compilation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// Model to compile.
    pub source: Source,
    /// Samples for test vectors: `None` for no test vectors, empty to generate a sample.
    pub test_vectors: Option<Vec<InputFile>>,
    /// Preprocessing of these samples.
    pub preprocess: Preprocess,
    /// Whether to prove the program, and write a certificate next to it.
    pub verify: bool,
}

/// Report of a compilation.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Report {
    /// Name of the artifact.
    pub name: String,
    /// Target and instance.
    pub target: String,
    /// Files written.
    pub artifacts: Vec<String>,
    /// Test vectors written, if requested.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub test_vectors: Vec<String>,
    /// Proof of the program, if requested; its certificate is the last artifact.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verification: Option<verify::Report>,
    /// Number of instructions.
    pub instructions: usize,
    /// Cycles of a run, by cost model.
    pub cycles: BTreeMap<String, u64>,
    /// Display name of the cost model of the time.
    pub cost_model: String,
    /// Time of a run at the board's clock.
    #[serde(flatten)]
    pub speed: Speed,
    /// Multiply-accumulates of the model, without padding.
    pub macs: Option<u64>,
    /// Use of each memory, in the memory's own unit.
    pub memory: BTreeMap<String, MemoryReport>,
    /// Share of the model that the accelerator computes.
    #[serde(flatten)]
    pub on_chip: Coverage,
    /// Steps that run on the host.
    pub host_steps: Vec<HostStepReport>,
    /// Number of layers.
    pub layers: usize,
    /// Choices of the compiler, by option.
    pub choices: BTreeMap<String, String>,
    /// Number of constants that saturated; `None` if the target does not report it.
    pub saturated_constants: Option<u64>,
    /// Weights whose values on the machine differ from the model.
    pub weights: Vec<Weight>,
    /// Result of the calibration, if there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rescaling: Option<RescalingReport>,
    /// Result of the quantization, for integer-only targets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quantization: Option<quantize::Report>,
    /// Assumptions that were made.
    pub notes: Vec<String>,
    /// Warnings for the user.
    pub warnings: Vec<String>,
    /// Total time in seconds, including reading the model.
    pub seconds: f64,
    /// Inputs of the program.
    #[serde(skip)]
    pub inputs: Vec<Port>,
    /// Whether the model's file alone, without options and samples, gives these inputs.
    #[serde(skip)]
    pub is_as_in_file: bool,
}

/// Compiles without test vectors: see [`compile_with`].
///
/// # Errors
///
/// Fails as [`compile_with`] does.
pub fn compile(source: &Source, context: Context<'_>) -> Result<(Report, Vec<ArtifactFile>), Error> {
    compile_with(&Request { source: source.clone(), ..Request::default() }, context)
}

/// Compiles a model. The caller writes the files and puts their paths into the report's `artifacts`
/// and `test_vectors`. Test vectors are the last of the files.
///
/// # Errors
///
/// Fails as [`resolve`](crate::targets::resolve) does, and returns:
///
/// - [`Error::NoTarget`] without a target,
/// - [`Error::Read`], [`Error::UnknownFile`], [`Error::Import`] or [`Error::OpenDimensions`] for
///   the model,
/// - [`Error::Refused`] with every unsupported node,
/// - [`Error::Target`] for unknown options and programs that do not fit,
/// - errors of calibration and test inputs,
/// - [`Error::NotProved`] if a requested proof fails.
pub fn compile_with(request: &Request, context: Context<'_>) -> Result<(Report, Vec<ArtifactFile>), Error> {
    let Compilation { report, files, .. } = compile_program(request, context)?;
    Ok((report, files))
}

/// Compiled program with its report.
#[non_exhaustive]
pub struct Compilation {
    /// Report of the compilation.
    pub report: Report,
    /// Files of the program, then the test vectors.
    pub files: Vec<ArtifactFile>,
    /// Program, to run and to time.
    pub program: Program,
}

/// Like [`compile_with`], and also returns the program.
///
/// # Errors
///
/// Fails as [`compile_with`] does.
pub fn compile_program(request: &Request, context: Context<'_>) -> Result<Compilation, Error> {
    // Default: without test samples, open shapes of the model are handled as without them.
    compile_for(request, request.test_vectors.as_deref().unwrap_or_default(), context)
}

/// Like [`compile_program`]; open sizes of the model's inputs come from `inputs`.
pub(crate) fn compile_for(
    request: &Request,
    inputs: &[InputFile],
    context: Context<'_>,
) -> Result<Compilation, Error> {
    let start = Instant::now();
    let hashed = HashingReader::of_model(context.reader, &request.source.path);
    let context = if request.verify { Context { reader: &hashed, ..context } } else { context };
    let CompiledModel { origin, program: compiled } = request.source.compile(inputs, context)?;
    let (program, clocked) = (compiled.report(), || timed(&*compiled, &TimeOptions::default()));
    // Both tasks take about the same time, so they run in parallel.
    let (time, files, weights) = std::thread::scope(|scope| {
        let others = scope.spawn(|| (encoded(&*compiled), origin.altered_weights()));
        let time = clocked();
        let (files, weights) = others.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        (time, files, weights)
    });
    let (mut files, time, weights) = (files?, time?, weights?);
    let (origin, verification) = if request.verify {
        let model = hashed.files()?;
        let reading = &request.source.model;
        let of = Certified { origin, program: program.clone(), files: &files, model, reading };
        let (origin, report, certificate) = certified(of)?;
        files.push(certificate_file(&program.name, &certificate));
        (origin, Some(report))
    } else {
        (origin, None)
    };
    let Remarks { mut notes, mut warnings } = origin.remarks();
    let on_chip = Coverage::of(&CompileEstimate::of(&*compiled));
    notes.extend(origin.assumed_range());
    warnings.extend(on_chip.warning());
    warnings.extend(program.warnings);
    let artifacts = names(&files);
    let mut test_vectors = Vec::new();
    if let Some(samples) = &request.test_vectors {
        let found = TestVectors::new(&*compiled, &origin, samples, &request.preprocess, context)?;
        test_vectors = names(&found.files);
        files.extend(found.files);
        notes.extend(found.notes);
        warnings.extend(found.warnings);
    }
    warnings.extend(weights::warnings(&weights));
    let report = Report {
        name: program.name,
        artifacts,
        test_vectors,
        verification,
        instructions: program.instructions,
        speed: Speed::of(&time, batch(&compiled.inputs(), origin.model.batch)),
        cost_model: cost_model_name(&program.target, &time.clock),
        cycles: time.cycles,
        macs: program.macs,
        memory: program.memory,
        on_chip,
        host_steps: program.host_steps,
        target: program.target,
        layers: program.layers.len(),
        choices: program.choices,
        saturated_constants: program.saturated_constants,
        weights,
        rescaling: origin.rescaling.clone(),
        quantization: origin.quantization.clone(),
        notes,
        warnings,
        seconds: start.elapsed().as_secs_f64(),
        inputs: compiled.inputs(),
        is_as_in_file: origin.model.is_as_in_file,
    };
    let program = Program { compiled, origin: Some(origin), instance_warnings: Vec::new() };
    Ok(Compilation { report, files, program })
}

/// Encodes the files of a program.
fn encoded(compiled: &dyn Compiled) -> Result<Vec<ArtifactFile>, Error> {
    let _phase = Phase::begin("encode");
    Ok(compiled.files()?)
}

/// Returns the certificate of the program called `name`, as a file next to the program's files.
fn certificate_file(name: &str, certificate: &Certificate) -> ArtifactFile {
    ArtifactFile { name: format!("{name}.certificate.json"), bytes: certificate.to_json().into_bytes() }
}

fn names(files: &[ArtifactFile]) -> Vec<String> {
    files.iter().map(|file| file.name.clone()).collect()
}

/// Escapes names so that they stay on one line in texts generated from the graph: names in a model
/// may contain any character.
fn print_on_a_line(graph: &mut Graph) {
    let values = graph.values.iter_mut().map(|value| &mut value.name);
    let nodes = graph.nodes.iter_mut().map(|node| &mut node.name);
    for name in std::iter::once(&mut graph.name).chain(values).chain(nodes) {
        if let Cow::Owned(escaped) = on_a_line(name) {
            *name = escaped;
        }
    }
}

/// Returns the compiler's result after `stage`, as text; `graph` is the model as it enters the
/// target.
///
/// # Errors
///
/// Returns [`Error::UnknownName`] for an unknown stage; otherwise fails as [`compile`] does.
pub fn emit(source: &Source, stage: &str, context: Context<'_>) -> Result<String, Error> {
    let instance = source.instance(context.reader)?;
    let stages = std::iter::once("graph").chain(instance.info().stages.iter().copied());
    if !stages.clone().any(|known| known == stage) {
        let known = stages.map(str::to_owned).collect();
        return Err(Error::UnknownName { what: "stage", name: stage.to_owned(), known });
    }
    let quantized = source.quantize(source.on_instance(&[], context)?, context)?;
    let mut origin = match source.calibration.is_default() {
        true => quantized.0,
        false => source.calibrate(quantized, context)?.origin,
    };
    let graph = &mut origin.model.simplified;
    print_on_a_line(graph);
    if stage == "graph" {
        return Ok(graph.to_string());
    }
    origin.emit(stage)
}
