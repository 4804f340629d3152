//! `npu compile`: a model to the files a driver loads.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Instant;

use npukit_base::on_a_line;
use npukit_graph::Graph;
use npukit_target::{ArtifactFile, Compiled, HostStepReport, MemoryReport, Phase, Survey, TimeOptions};
use serde::Serialize;

use crate::Context;
use crate::compare::test_vectors::TestVectors;
use crate::error::Error;
use crate::inputs::{InputFile, Preprocess};
use crate::model::hashed::Hashed;
use crate::model::origin::CompiledModel;
use crate::model::program::Program;
use crate::model::remarks::Remarks;
use crate::model::source::Source;
use crate::numbers::quantise;
use crate::numbers::weights::{self, Weight};
use crate::report::on_chip::OnChip;
use crate::report::rescale::Report as RescalingReport;
use crate::run::speed::{Speed, batch, timed};
use crate::verbs::verify::{self, Certificate, Certified, certified};

/// What to compile, and what to write beside it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// The model.
    pub source: Source,
    /// Writes test vectors: of these samples, of one that is made up where there are none.
    pub test_vectors: Option<Vec<InputFile>>,
    /// What is done to the values of these samples.
    pub preprocess: Preprocess,
    /// Proves the program, and writes a certificate beside it.
    pub verify: bool,
}

/// What was compiled.
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
    /// Test vectors written, when asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub test_vectors: Vec<String>,
    /// The proof of the program, when asked for; its certificate is the last of the artifacts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verification: Option<verify::Report>,
    /// Instructions.
    pub instructions: usize,
    /// By cost model.
    pub cycles: BTreeMap<String, u64>,
    /// Of a run, at the board's clock.
    #[serde(flatten)]
    pub speed: Speed,
    /// Multiply-accumulates of the model, padding left out.
    pub macs: Option<u64>,
    /// By memory, in the memory's own unit.
    pub memory: BTreeMap<String, MemoryReport>,
    /// How much of the model the chip does.
    #[serde(flatten)]
    pub on_chip: OnChip,
    /// Steps left to the host.
    pub host_steps: Vec<HostStepReport>,
    /// Layers.
    pub layers: usize,
    /// What the compiler chose.
    pub choices: BTreeMap<String, String>,
    /// Constants that did not fit the number format.
    pub saturated_constants: Option<u64>,
    /// Weights that the machine does not have as the model does.
    pub weights: Vec<Weight>,
    /// What came of the calibration, if there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rescaling: Option<RescalingReport>,
    /// What came of the quantisation, for a target that takes integers only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quantisation: Option<quantise::Report>,
    /// What was taken for granted.
    pub notes: Vec<String>,
    /// What its user should know of.
    pub warnings: Vec<String>,
    /// Of the whole compilation, reading included.
    pub seconds: f64,
}

/// Compiles without test vectors: see [`compile_with`].
///
/// # Errors
///
/// Those of [`compile_with`].
pub fn compile(source: &Source, context: Context<'_>) -> Result<(Report, Vec<ArtifactFile>), Error> {
    compile_with(&Request { source: source.clone(), ..Request::default() }, context)
}

/// Compiles; the caller writes the files and puts their paths into the report's `artifacts` and `test_vectors`. Test
/// vectors are the last of the files.
///
/// # Errors
///
/// Those of [`resolve`](crate::targets::resolve), [`Error::NoTarget`]; [`Error::Read`],
/// [`Error::UnknownFile`], [`Error::Import`] and [`Error::OpenDimensions`] for the model; [`Error::Refused`]
/// with every node that the target does not take; [`Error::Target`] for options it does not have and programs
/// that do not fit; what the inputs to calibrate by or to test with lack; and [`Error::NotProved`] for a program that is
/// to be proved and is not.
pub fn compile_with(request: &Request, context: Context<'_>) -> Result<(Report, Vec<ArtifactFile>), Error> {
    let Made { report, files, .. } = compile_program(request, context)?;
    Ok((report, files))
}

/// A program with all that there is to say of it.
#[non_exhaustive]
pub struct Made {
    /// What was compiled.
    pub report: Report,
    /// The files of the program, then the test vectors.
    pub files: Vec<ArtifactFile>,
    /// The program itself, to run and to time.
    pub program: Program,
}

/// As [`compile_with`], with the program.
///
/// # Errors
///
/// Those of [`compile_with`].
pub fn compile_program(request: &Request, context: Context<'_>) -> Result<Made, Error> {
    // Default: without samples to test with, a model's open shapes are as without them.
    compile_for(request, request.test_vectors.as_deref().unwrap_or_default(), context)
}

/// As [`compile_program`]; what the model leaves open of its inputs is as in `inputs`.
pub(crate) fn compile_for(
    request: &Request,
    inputs: &[InputFile],
    context: Context<'_>,
) -> Result<Made, Error> {
    let start = Instant::now();
    let hashed = Hashed::of_model(context.reader, &request.source.path);
    let context = if request.verify { Context { reader: &hashed, ..context } } else { context };
    let CompiledModel { origin, program: compiled } = request.source.compile(inputs, context)?;
    let (program, clocked) = (compiled.report(), || timed(&*compiled, &TimeOptions::default()));
    // The one takes about as long as the other.
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
    let on_chip = OnChip::of(&Survey::of(&*compiled));
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
        target: program.target,
        artifacts,
        test_vectors,
        verification,
        instructions: program.instructions,
        speed: Speed::of(&time, batch(&compiled.inputs(), origin.model.batch)),
        cycles: time.cycles,
        macs: program.macs,
        memory: program.memory,
        on_chip,
        host_steps: program.host_steps,
        layers: program.layers.len(),
        choices: program.choices,
        saturated_constants: program.saturated_constants,
        weights,
        rescaling: origin.rescaling.clone(),
        quantisation: origin.quantisation.clone(),
        notes,
        warnings,
        seconds: start.elapsed().as_secs_f64(),
    };
    let program = Program { compiled, origin: Some(origin), instance_warnings: Vec::new() };
    Ok(Made { report, files, program })
}

/// The files of a program.
fn encoded(compiled: &dyn Compiled) -> Result<Vec<ArtifactFile>, Error> {
    let _phase = Phase::begin("encode");
    Ok(compiled.files()?)
}

/// The certificate of the program called `name`, beside its files.
fn certificate_file(name: &str, certificate: &Certificate) -> ArtifactFile {
    ArtifactFile { name: format!("{name}.certificate.json"), bytes: certificate.to_json().into_bytes() }
}

fn names(files: &[ArtifactFile]) -> Vec<String> {
    files.iter().map(|file| file.name.clone()).collect()
}

/// Names that stay on their line in any text made of the graph: in a model they may be any characters.
fn print_on_a_line(graph: &mut Graph) {
    let values = graph.values.iter_mut().map(|value| &mut value.name);
    let nodes = graph.nodes.iter_mut().map(|node| &mut node.name);
    for name in std::iter::once(&mut graph.name).chain(values).chain(nodes) {
        if let Cow::Owned(escaped) = on_a_line(name) {
            *name = escaped;
        }
    }
}

/// What the compiler has after `stage`, as text; `graph` is the model as it enters the target.
///
/// # Errors
///
/// [`Error::UnknownName`] for a stage that the target does not have; otherwise those of [`compile`].
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
