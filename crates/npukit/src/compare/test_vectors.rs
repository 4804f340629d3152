//! Test vectors: samples and the machine's bit-exact outputs, as files next to an artifact.
//!
//! Each input and output has a `.npy` file with all samples, and a file in each format of the
//! target's drivers.

use std::collections::BTreeMap;

use npukit_base::counted;
use npukit_graph::ValueInfo;
use npukit_numeric::ElementType;
use npukit_numeric::npy::{NpyArray, write_npy};
use npukit_target::{ArtifactFile, Compiled, Phase, PortPlace, RunOptions, RunResult, Saturations};
use rayon::prelude::*;

use crate::Context;
use crate::error::Error;
use crate::inputs::wanted::{self, Wanted};
use crate::inputs::{self, InputFile, Preprocess, Sample, Samples};
use crate::model::compile_job::CompileJob;
use crate::numbers::assumed::spanning;
use crate::numbers::verdict::worst;
use crate::run::batch::{in_model_shape, stacks};
use crate::run::stack::Stack;

/// Test vectors of a program.
pub(crate) struct TestVectors {
    pub files: Vec<ArtifactFile>,
    /// Notes on how the samples were read, and which file belongs to which input or output.
    pub notes: Vec<String>,
    /// Reasons why the test vectors are less useful, such as saturation.
    pub warnings: Vec<String>,
}

/// Seed of the generated sample if no sample is given.
const SEED: u64 = 1;

impl TestVectors {
    /// Makes test vectors from the preprocessed samples in `files`, or from one generated sample.
    ///
    /// # Errors
    ///
    /// Fails if the files lack an input, if the machine faults, and if an input is too large to be
    /// generated.
    pub(crate) fn new(
        compiled: &dyn Compiled,
        origin: &CompileJob,
        files: &[InputFile],
        preprocess: &Preprocess,
        context: Context<'_>,
    ) -> Result<Self, Error> {
        let Samples { samples, mut notes } = samples(compiled, Some(origin), files, preprocess, context)?;
        let phase = Phase::counting("simulate", samples.len());
        let options = RunOptions { driver_data: true, ..RunOptions::default() };
        let run = |sample: &Sample| {
            let result = compiled.run_with(sample, &options)?;
            phase.advance();
            Ok(result)
        };
        let results = samples.par_iter().map(run).collect::<Result<Vec<RunResult>, Error>>()?;
        let names = Names::of(compiled);
        let mut all = arrays(compiled, &samples, &results, &names)?;
        all.extend(driver_files(&results, &names));
        let made_up = if files.is_empty() { ", generated" } else { "" };
        let (count, makers) = (counted(samples.len() as u64, "sample"), makers(compiled));
        notes.push(format!("test vectors: {count}{made_up}; outputs are {makers}, bit for bit"));
        notes.extend(numbered(compiled, &names));
        notes.extend(before_host(compiled, &results, &names));
        Ok(Self { files: all, notes, warnings: saturated(&results).into_iter().collect() })
    }
}

/// Reads the samples in `files`, or generates one without files.
pub(crate) fn samples(
    compiled: &dyn Compiled,
    origin: Option<&CompileJob>,
    files: &[InputFile],
    preprocess: &Preprocess,
    context: Context<'_>,
) -> Result<Samples, Error> {
    let wanted = wanted::of_program(compiled, origin.map(|origin| &origin.model));
    if !files.is_empty() {
        let read_text = |name: &str, bytes: &[u8]| compiled.read_text(name, bytes);
        return inputs::samples(files, &wanted, preprocess, context.reader, Some(&read_text));
    }
    let made_up = |Wanted { port, element, range, .. }: &Wanted| {
        // Default: a program that does not specify its type takes real numbers.
        let info = ValueInfo { shape: port.shape.clone(), element: element.unwrap_or(ElementType::F32) };
        let tensor = spanning(&port.name, &info, *range, SEED);
        let tensor = tensor.ok_or_else(|| {
            let reason = format!("cannot generate a sample of shape {:?}", port.shape);
            Error::Output { name: port.name.clone(), reason }
        })?;
        Ok((port.name.clone(), tensor))
    };
    let sample: Sample = wanted.iter().map(made_up).collect::<Result<_, Error>>()?;
    Ok(Samples { samples: vec![sample], notes: wanted.iter().filter_map(drawn).collect() })
}

/// Describes a generated input; `None` for real numbers around 0 and for truth values.
fn drawn(Wanted { port, element, range, .. }: &Wanted) -> Option<String> {
    let is_index = element.is_some_and(|element| element.integer_range().is_some());
    let what = match range {
        Some([low, high]) => format!("generated numbers from {low} to {high}, as the model suggests"),
        None if is_index => "0, because integers are indices, and 0 is valid in every table".to_owned(),
        None => return None,
    };
    Some(format!("input `{}`: {what}", port.name))
}

/// Phrase that names the source of the outputs, for notes.
fn makers(compiled: &dyn Compiled) -> &'static str {
    if compiled.report().host_steps.is_empty() {
        "the machine's"
    } else {
        "the machine's after the host's steps"
    }
}

/// Notes which input or output each file belongs to, if file names are numbered.
fn numbered(compiled: &dyn Compiled, names: &Names) -> Vec<String> {
    let said = |(place, name, kind): (PortPlace, String, &str)| {
        format!("`{}` contains {kind} `{name}`", names.file(place, "*"))
    };
    let (inputs, outputs) = (compiled.inputs(), compiled.outputs());
    let inputs =
        inputs.into_iter().enumerate().map(|(place, port)| (PortPlace::Input(place), port.name, "input"));
    let outputs =
        outputs.into_iter().enumerate().map(|(place, port)| (PortPlace::Output(place), port.name, "output"));
    inputs.chain(outputs).filter(|(place, ..)| names.is_numbered(*place)).map(said).collect()
}

/// Notes which output files were recorded before the host's steps, and which after them.
fn before_host(compiled: &dyn Compiled, results: &[RunResult], names: &Names) -> Vec<String> {
    let (steps, outputs) = (compiled.report().host_steps, compiled.outputs());
    // All samples have the same files.
    let data = results.first().into_iter().flat_map(|result| &result.data);
    let mut files: BTreeMap<PortPlace, Vec<String>> = BTreeMap::new();
    for data in data.filter(|data| data.is_before_host) {
        files.entry(data.place).or_default().push(format!("`{}`", names.file(data.place, data.extension)));
    }
    let said = |(place, files): (PortPlace, Vec<String>)| {
        let PortPlace::Output(index) = place else { return None };
        let name = &outputs.get(index)?.name;
        let ops: Vec<&str> =
            steps.iter().filter(|step| step.output == *name).map(|step| step.op.as_str()).collect();
        let (npy, ops, files) = (names.file(place, "npy"), ops.join(", "), files.join(", "));
        Some(format!("`{npy}` is output `{name}` after the host's {ops}; before that it is {files}"))
    };
    files.into_iter().filter_map(said).collect()
}

/// Warns about saturated values of the samples and of the machine's results.
fn saturated(results: &[RunResult]) -> Option<String> {
    let mut all = Saturations::default();
    results.iter().for_each(|result| all.add(&result.saturations));
    let values = Some(all.total()).filter(|&count| count > 0)?;
    Some(format!("{} of the test vectors saturated{}", counted(values, "value"), worst(&all)))
}

/// File names of inputs and outputs: `NAME.test_input`, with a number if there are several.
struct Names {
    artifact: String,
    inputs: usize,
    outputs: usize,
}

impl Names {
    fn of(compiled: &dyn Compiled) -> Self {
        let (inputs, outputs) = (compiled.inputs().len(), compiled.outputs().len());
        Self { artifact: compiled.report().name, inputs, outputs }
    }

    /// Whether there are several inputs or outputs of the kind of `place`.
    fn is_numbered(&self, place: PortPlace) -> bool {
        match place {
            PortPlace::Input(_) => self.inputs != 1,
            PortPlace::Output(_) => self.outputs != 1,
        }
    }

    fn file(&self, place: PortPlace, extension: &str) -> String {
        let (kind, index) = match place {
            PortPlace::Input(index) => ("input", index),
            PortPlace::Output(index) => ("output", index),
        };
        let number = if self.is_numbered(place) { format!("_{index}") } else { String::new() };
        format!("{}.test_{kind}{number}.{extension}", self.artifact)
    }
}

/// Packs all inputs and outputs as arrays.
fn arrays(
    compiled: &dyn Compiled,
    samples: &[Sample],
    results: &[RunResult],
    names: &Names,
) -> Result<Vec<ArtifactFile>, Error> {
    let given = in_model_shape(compiled, samples);
    let inputs = compiled.inputs().into_iter().enumerate().map(|(place, port)| {
        let of_port = |sample: &Sample| sample.get(place).map(|(_, tensor)| tensor.clone());
        let samples = given.iter().filter_map(of_port).collect();
        (PortPlace::Input(place), Stack { samples, ..Stack::of(port) })
    });
    let outputs = stacks(compiled, results.to_vec());
    let outputs = outputs.into_iter().enumerate().map(|(place, stack)| (PortPlace::Output(place), stack));
    let file = |(place, stack): (PortPlace, Stack)| {
        let tensor = stack.stacked()?;
        Ok(ArtifactFile { name: names.file(place, "npy"), bytes: write_npy(NpyArray::from(&tensor)) })
    };
    inputs.chain(outputs).map(file).collect()
}

/// Returns the files in the drivers' formats, with all samples one after the other.
fn driver_files(results: &[RunResult], names: &Names) -> Vec<ArtifactFile> {
    let mut files: BTreeMap<(PortPlace, &str), Vec<u8>> = BTreeMap::new();
    for data in results.iter().flat_map(|result| &result.data) {
        files.entry((data.place, data.extension)).or_default().extend(&data.bytes);
    }
    let file = |((place, extension), bytes)| ArtifactFile { name: names.file(place, extension), bytes };
    files.into_iter().map(file).collect()
}
