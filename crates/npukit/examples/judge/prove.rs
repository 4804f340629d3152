//! Compares a program that a defect may have changed with its model and with the correct program:
//! [`prove`].

use std::fmt;
use std::path::Path;

use npukit::verbs::verify::{Request, verify};
use npukit::{Context, Error as NpuError, Program, RunOptions, Source, Tensor, UninitMemory, is_artifact};
use npukit_graph::{Graph, evaluate};
use npukit_numeric::SplitMix64;

use crate::Error;
use crate::subjects::{Files, MODEL, Subject};

/// Judgement of a program.
pub enum Verdict {
    /// It is not proved: what differs, or why it was not compared.
    Caught(String),
    /// It is proved, and gives the same results.
    Same,
    /// It is proved, and its results only round differently: errors of both programs, and the
    /// largest output.
    Rounds([f64; 3]),
    /// It is proved, but its results differ.
    Missed(String),
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Caught(message) => write!(f, "caught {}", message.replace('\n', " ")),
            Self::Same => write!(f, "same"),
            Self::Rounds([now, before, largest]) => {
                write!(f, "rounds {now:.2e} for {before:.2e} of {largest:.2e}")
            }
            Self::Missed(message) => write!(f, "missed {}", message.replace('\n', " ")),
        }
    }
}

/// Judges the program in the folder `made`, compared with the correct one in `truth`.
///
/// # Errors
///
/// Fails if files cannot be read, and if the correct program does not run.
pub fn prove(subject: &Subject, made: &Path, truth: &Path) -> Result<Verdict, Error> {
    let model = subject.files();
    let (files, manifest) = read(&model, made)?;
    let request = Request {
        source: Source { path: MODEL.to_owned(), options: subject.source().options, ..Source::default() },
        artifact: Some(manifest.clone()),
        ..Request::default()
    };
    match verify(&request, Context::new(&files)) {
        Ok(report) if report.proved => {}
        Ok(report) => {
            let first = report.counterexample.map(|found| found.output.tensor);
            return Ok(Verdict::Caught(first.unwrap_or_else(|| "not covered".to_owned()))); // Default: no difference was found.
        }
        Err(error) => return Ok(Verdict::Caught(error.to_string())),
    }
    let (true_files, true_manifest) = read(&model, truth)?;
    let failed =
        |error: NpuError| Error::True { subject: subject.name.to_owned(), message: error.to_string() };
    let graph = Source::model(MODEL, "").graph(Context::new(&model)).map_err(failed)?;
    let expected = Source::artifact(&true_manifest).program(Context::new(&true_files)).map_err(failed)?;
    let found = Source::artifact(&manifest).program(Context::new(&files)).map_err(failed)?;
    compared(subject.name, &graph, [&found, &expected])
}

/// Reads the files in a folder in addition to the model's files; also returns the name of the
/// manifest.
fn read(model: &Files, folder: &Path) -> Result<(Files, String), Error> {
    let failed = |source| Error::File { path: folder.to_owned(), source };
    let mut files = model.clone();
    let mut manifest = String::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if is_artifact(&name) {
            manifest.clone_from(&name);
        }
        files.insert(name, std::fs::read(entry.path()).map_err(failed)?);
    }
    Ok((files, manifest))
}

/// Seeds and magnitudes of the samples.
const SAMPLES: [(u64, f32); 3] = [(1, 1.0), (2, 0.25), (3, 1.0)];
/// Limits of a different rounding: ratio of the error to that of the correct program, and share of
/// the largest output that is always acceptable.
const FURTHER: f64 = 4.0;
const SHARE: f64 = 1e-6;

/// Compares the results of a program with the results of a correct one.
fn compared(subject: &str, graph: &Graph, [found, expected]: [&Program; 2]) -> Result<Verdict, Error> {
    let failed = |error: NpuError| Error::True { subject: subject.to_owned(), message: error.to_string() };
    let (mut is_same, mut errors, mut largest) = (true, [0.0; 2], 0.0);
    for (number, &(seed, size)) in SAMPLES.iter().enumerate() {
        let (inputs, tensors) = sample(graph, seed, size);
        let unset = if number == 0 { UninitMemory::Zero } else { UninitMemory::Garbage(seed) };
        let options = RunOptions { unset, ..RunOptions::default() };
        let truth = numbers(graph, expected, &inputs, &options).map_err(failed)?;
        let results = match numbers(graph, found, &inputs, &options) {
            Ok(results) => results,
            Err(error) => return Ok(Verdict::Missed(format!("it is proved and does not run: {error}"))),
        };
        let float = evaluate(graph, &tensors).map_err(|error| failed(error.into()))?;
        let float: Vec<f64> = float.iter().flat_map(Tensor::reals).collect();
        is_same &= results == truth;
        largest = float.iter().fold(largest, |largest: f64, number| largest.max(number.abs()));
        for (error, numbers) in errors.iter_mut().zip([&results, &truth]) {
            *error = f64::max(*error, distance(numbers, &float));
        }
    }
    let [now, before] = errors;
    if is_same {
        Ok(Verdict::Same)
    } else if now <= FURTHER * before.max(SHARE * largest) {
        Ok(Verdict::Rounds([now, before, largest]))
    } else {
        Ok(Verdict::Missed(format!("{now:.2e} from float, the true program {before:.2e}")))
    }
}

/// Returns the largest difference; infinite if it is undefined.
fn distance(numbers: &[f64], float: &[f64]) -> f64 {
    if numbers.len() != float.len() {
        return f64::INFINITY;
    }
    let off = |(a, b): (&f64, &f64)| if (a - b).is_nan() { f64::INFINITY } else { (a - b).abs() };
    numbers.iter().zip(float).map(off).fold(0.0, f64::max)
}

/// Returns the outputs in the order of the graph; empty for an output that the program lacks.
fn numbers(
    graph: &Graph,
    program: &Program,
    inputs: &[(String, Tensor)],
    options: &RunOptions,
) -> Result<Vec<f64>, NpuError> {
    let result = program.run_with(inputs, options)?;
    let named = |name: &str| result.outputs.iter().find(|output| output.name == name);
    let outputs = graph.outputs.iter().filter_map(|&id| named(&graph.value(id).name));
    Ok(outputs.flat_map(|output| output.values.reals()).collect())
}

/// Returns numbers up to `size` for each input, with and without the inputs' names.
fn sample(graph: &Graph, seed: u64, size: f32) -> (Vec<(String, Tensor)>, Vec<Tensor>) {
    let mut random = SplitMix64::new(seed);
    let mut number = || ((random.bits() >> 40) as f32 / (1u64 << 23) as f32 - 1.0) * size;
    let inputs = graph.inputs.iter().filter_map(|&id| {
        let shape = graph.shape(id).to_vec();
        let numbers = (0..shape.iter().product()).map(|_| number()).collect();
        Some((graph.value(id).name.clone(), Tensor::from_f32(shape, numbers).ok()?))
    });
    let inputs: Vec<(String, Tensor)> = inputs.collect();
    let tensors = inputs.iter().map(|(_, tensor)| tensor.clone()).collect();
    (inputs, tensors)
}
