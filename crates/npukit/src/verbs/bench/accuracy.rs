//! `npu bench accuracy`: compares trained networks on machines with their reference results.
//!
//! The networks are the files of MLPerf Tiny's reference implementation. Inputs are seeded random
//! images within the range that the files declare, and labeled images if the folder contains some.

use std::path::Path;
use std::time::Instant;

use npukit_graph::{Graph, Node, QdqScales, ValueId};
use npukit_numeric::npy::read_npy;
use npukit_numeric::{ElementType, Tensor};
use npukit_target::{Phase, to_element};
use serde::Serialize;

use crate::Context;
use crate::error::Error;
use crate::inputs::InputFile;
use crate::model::program::Program;
use crate::model::source::Source;
use crate::numbers::accuracy::Options;
use crate::numbers::assumed::spread;
use crate::numbers::rescale::{Calibration, OwnInputs};
use crate::verbs::eval;
use crate::verbs::run::{self, run_program};

/// Parameters of an accuracy benchmark.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// Folder of the networks.
    pub folder: String,
    /// Targets, as for [`Source::model`].
    pub targets: Vec<String>,
    /// Substrings of file names to select; empty for all files.
    pub only: Vec<String>,
    /// Number of seeded inputs of each network.
    pub samples: usize,
}

/// Figures of a network on a machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Row {
    /// File of the network.
    pub network: String,
    /// Target and instance.
    pub target: String,
    /// Whether scales were chosen from typical inputs (other ones than those measured).
    pub calibrated: bool,
    /// Share of labeled images classified correctly, 0 to 1; `None` without labels.
    pub top1: Option<f64>,
    /// Share of labeled images classified correctly by the file's own arithmetic, 0 to 1.
    pub top1_own: Option<f64>,
    /// Share of seeded inputs with the same class as the file's own arithmetic, 0 to 1; `None` for
    /// a network without classes.
    pub same_class: Option<f64>,
    /// Share of seeded inputs with the same class as the network's float file, for an integer file
    /// with a float file next to it.
    pub same_class_float: Option<f64>,
    /// Mean relative error of the reconstruction error, compared with the file's own arithmetic;
    /// `None` for a network with classes.
    pub reconstruction: Option<f64>,
    /// Mean relative error of the reconstruction error, compared with the network's float file, for
    /// an integer file with a float file next to it.
    pub reconstruction_float: Option<f64>,
    /// Signal-to-noise ratio of the outputs in decibels.
    pub snr_db: Option<f64>,
    /// Number of inputs and results that saturated on the seeded inputs.
    pub saturations: u64,
    /// Cycles of one sample.
    pub cycles: Option<u64>,
    /// Time of one sample in milliseconds, at the board's clock.
    pub latency_ms: Option<f64>,
    /// Samples per second, one after the other.
    pub frames_per_second: Option<f64>,
    /// Reason why the figures are missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// All rows of an accuracy benchmark.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Report {
    /// Rows by network, then by target.
    pub rows: Vec<Row>,
    /// Number of seeded inputs of each network.
    pub samples: usize,
    /// Total time in seconds.
    pub seconds: f64,
}

/// Network of MLPerf Tiny.
struct Network {
    /// Prefix of its file names.
    prefix: &'static str,
    /// Range of its inputs in float.
    range: [f64; 2],
    /// Whether its output reconstructs its input.
    reconstructs: bool,
    /// Files of labeled images and their labels, in the folder or its parent.
    labeled: Option<[&'static str; 2]>,
}

/// Networks, with the ranges that their 8-bit files declare.
const NETWORKS: [Network; 5] = [
    Network {
        prefix: "ic_",
        range: [0.0, 255.0],
        reconstructs: false,
        labeled: Some(["ic_inputs.npy", "../cifar10_labels.npy"]),
    },
    Network { prefix: "kws_", range: [-123.6, 24.5], reconstructs: false, labeled: None },
    Network { prefix: "vww_", range: [0.0, 1.0], reconstructs: false, labeled: None },
    Network { prefix: "ad_", range: [-40.0, 40.0], reconstructs: true, labeled: None },
    Network { prefix: "sww_", range: [0.0, 26.0], reconstructs: false, labeled: None },
];

/// Number of calibration inputs, which have other seeds.
const CALIBRATION: usize = 32;
const CALIBRATION_SEED: u64 = 1 << 32;

/// Measures every network of the folder on every target: integer files unchanged, float files
/// without and with calibration. A network that a target does not support is a row with an `error`.
///
/// # Errors
///
/// Returns [`Error::Read`] for a folder that cannot be listed.
pub fn accuracy(request: &Request, context: Context<'_>) -> Result<Report, Error> {
    let start = Instant::now();
    let mut files = context.reader.list(&request.folder)?;
    files.sort();
    let cases: Vec<(String, &Network)> = files
        .into_iter()
        .filter(|file| file.ends_with(".tflite"))
        .filter(|file| {
            request.only.is_empty() || request.only.iter().any(|part| file.contains(part.as_str()))
        })
        .filter_map(|file| Some((file.clone(), network(&file)?)))
        .collect();
    let phase = Phase::counting("measure", cases.len() * request.targets.len());
    let mut rows = Vec::new();
    for (file, network) in &cases {
        for target in &request.targets {
            let calibrations: &[bool] = if is_integer(file) { &[false] } else { &[false, true] };
            for &calibrated in calibrations {
                let case = Case { request, network, file, target, calibrated };
                rows.push(case.row(context).unwrap_or_else(|error| case.failed(&error)));
            }
            phase.advance();
        }
    }
    Ok(Report { rows, samples: request.samples, seconds: start.elapsed().as_secs_f64() })
}

/// Returns the network that a file contains.
fn network(file: &str) -> Option<&'static Network> {
    let name = Path::new(file).file_name()?.to_str()?;
    NETWORKS.iter().find(|network| name.starts_with(network.prefix))
}

fn is_integer(file: &str) -> bool {
    file.contains(INTEGERS)
}

/// Part of the names of integer files, and its replacement in the names of float files.
const INTEGERS: &str = "int8";
const FLOATS: &str = "float";

/// Network for a target, with one way of choosing scales.
struct Case<'a> {
    request: &'a Request,
    network: &'a Network,
    file: &'a str,
    target: &'a str,
    calibrated: bool,
}

impl Case<'_> {
    fn failed(&self, error: &Error) -> Row {
        Row { error: Some(super::with_causes(error)), ..self.named() }
    }

    fn named(&self) -> Row {
        // Default: a path without a last component is used unchanged.
        let name = Path::new(self.file).file_name().and_then(|name| name.to_str()).unwrap_or(self.file);
        Row {
            network: name.to_owned(),
            target: self.target.to_owned(),
            calibrated: self.calibrated,
            ..Row::default()
        }
    }

    /// Returns the samples that choose scales: from the run, or others if it is calibrated.
    fn calibration(&self, graph: &Graph, seeded: &[InputFile]) -> Calibration {
        if self.calibrated {
            let inputs = self.seeded(graph, CALIBRATION_SEED, CALIBRATION);
            return Calibration { inputs, ..Calibration::default() };
        }
        let own = OwnInputs { files: seeded.to_vec(), ..OwnInputs::default() };
        Calibration { own: Some(own), ..Calibration::default() }
    }

    fn row(&self, context: Context<'_>) -> Result<Row, Error> {
        let mut source = Source::model(self.file, self.target);
        let graph = source.graph(context)?;
        let seeded = self.seeded(&graph, 0, self.request.samples);
        source.calibration = self.calibration(&graph, &seeded);
        let program = source.program(context)?;
        let request = run::Request { source: source.clone(), inputs: seeded, ..run::Request::default() };
        let (report, outputs) = run_program(&program, &request, context)?;
        let time = program.time()?;
        let outputs = outputs.tensors()?;
        let (Some(input), Some((_, output))) =
            (request.inputs.first().and_then(|file| file.array.as_deref()), outputs.first())
        else {
            return Err(unwritten("the network has no input or no output".to_owned()));
        };
        let [from, to] = ports_as_reals(&graph);
        let seeded =
            Seeded { inputs: from.reals(input), outputs: to.reals(output), count: self.request.samples };
        let reconstruction = match self.network.reconstructs {
            true => self.eval(self.file, &request.inputs, context)?.map(|own| seeded.reconstruction(&own)),
            false => None,
        };
        let float = if is_integer(self.file) { self.float(input, &from, context)? } else { None };
        let [top1, top1_own] = self.labeled(&program, &source, &from, context)?;
        Ok(Row {
            top1,
            top1_own,
            same_class: report
                .comparison
                .and_then(|found| found.argmax_agree)
                .filter(|_| reconstruction.is_none()),
            same_class_float: float
                .as_ref()
                .filter(|_| !self.network.reconstructs)
                .map(|y| seeded.same_class(y)),
            reconstruction,
            reconstruction_float: float
                .as_ref()
                .filter(|_| self.network.reconstructs)
                .map(|y| seeded.reconstruction(y)),
            snr_db: report.comparison.and_then(|found| found.snr_db),
            saturations: report.saturations,
            cycles: time.cycles.get(&time.clock).copied(),
            latency_ms: report.speed.latency_ms,
            frames_per_second: report.speed.frames_per_second,
            ..self.named()
        })
    }

    /// Generates seeded inputs, one file per input of the network. Integers span their type, which
    /// represents the same range.
    fn seeded(&self, graph: &Graph, seed: u64, count: usize) -> Vec<InputFile> {
        let input = |&id: &ValueId| {
            let value = graph.value(id);
            let element = value.info.element;
            let range = match element.integer_range() {
                Some((first, last)) => [first as f64, last as f64],
                None => self.network.range,
            };
            let sample = |place: usize| {
                let noise =
                    npukit_models::zoo::stand_in(&value.name, &value.info.shape, seed + place as u64)?;
                to_element(&value.name, &spread(&noise, range, !element.is_float())?, element).ok()
            };
            let samples: Option<Vec<Tensor>> = (0..count).map(sample).collect();
            Some(InputFile::of_array(Some(&value.name), stacked(&samples?)?))
        };
        graph.inputs.iter().filter_map(input).collect()
    }

    /// Returns the shares of labeled images classified correctly: on the machine, and by the file's
    /// own arithmetic.
    fn labeled(
        &self,
        program: &Program,
        source: &Source,
        port: &Reals,
        context: Context<'_>,
    ) -> Result<[Option<f64>; 2], Error> {
        let Some([pictures, labels]) = self.network.labeled else { return Ok([None, None]) };
        let path = |name: &str| format!("{}/{name}", self.request.folder.trim_end_matches('/'));
        let (Ok(bytes), Ok(_)) = (context.reader.read(&path(pictures)), context.reader.read(&path(labels)))
        else {
            return Ok([None, None]);
        };
        let pictures = read_npy(pictures, &bytes)?;
        let request = run::Request {
            source: source.clone(),
            inputs: vec![InputFile::of_array(None, port.elements(&pictures)?)],
            accuracy: Some(Options::new(InputFile::parse(&path(labels)))),
            ..run::Request::default()
        };
        let (report, _) = run_program(program, &request, context)?;
        let found = report.accuracy;
        Ok([
            found.as_ref().map(|accuracy| accuracy.top1),
            found.and_then(|accuracy| accuracy.float).map(|float| float.top1),
        ])
    }

    /// Evaluates a file and returns the first output as real numbers.
    fn eval(
        &self,
        file: &str,
        inputs: &[InputFile],
        context: Context<'_>,
    ) -> Result<Option<Vec<f64>>, Error> {
        let request = eval::Request { path: file.to_owned(), inputs: inputs.to_vec(), ..Default::default() };
        let outputs = eval::eval_outputs(&request, context)?.1.tensors()?;
        let [_, port] = ports_as_reals(&Source::model(file, self.target).graph(context)?);
        Ok(outputs.first().map(|(_, output)| port.reals(output)))
    }

    /// Evaluates the network's float file on the same inputs, which are elements of `port`; `None`
    /// if there is no such file.
    fn float(&self, input: &Tensor, port: &Reals, context: Context<'_>) -> Result<Option<Vec<f64>>, Error> {
        let file = self.file.replace(INTEGERS, FLOATS);
        if context.reader.read(&file).is_err() {
            return Ok(None);
        }
        let input = floats(input, |x| port.real(x))?;
        self.eval(&file, &[InputFile::of_array(None, input)], context)
    }
}

/// Seeded inputs of a network, and the machine's outputs, as real numbers.
struct Seeded {
    /// First input of all samples.
    inputs: Vec<f64>,
    /// First output of all samples.
    outputs: Vec<f64>,
    /// Number of samples.
    count: usize,
}

impl Seeded {
    /// Splits numbers into samples.
    fn split<'n>(&self, numbers: &'n [f64]) -> std::slice::Chunks<'n, f64> {
        numbers.chunks((numbers.len() / self.count.max(1)).max(1))
    }

    /// Returns the share of samples with the same argmax as in `others`.
    fn same_class(&self, others: &[f64]) -> f64 {
        let samples = self.split(&self.outputs).zip(self.split(others));
        samples.filter(|(y, other)| largest(y) == largest(other)).count() as f64 / self.count as f64
    }

    /// Returns the mean relative error of the reconstruction error (mean squared difference between
    /// output and input), compared with `others`.
    fn reconstruction(&self, others: &[f64]) -> f64 {
        let error = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| (x - y).powi(2)).sum::<f64>();
        let samples = self.split(&self.inputs).zip(self.split(&self.outputs)).zip(self.split(others));
        let shares = samples.map(|((x, y), other)| {
            let own = error(x, other);
            (error(x, y) - own).abs() / own
        });
        shares.sum::<f64>() / self.count as f64
    }
}

/// Returns the index of the largest number, the first of equals.
fn largest(numbers: &[f64]) -> usize {
    (1..numbers.len()).fold(0, |best, at| if numbers[at] > numbers[best] { at } else { best })
}

/// Mapping from the elements of an input or output to real numbers.
struct Reals {
    element: ElementType,
    scale: f64,
    offset: f64,
}

impl Reals {
    /// Maps the integers of a type to the range that they represent.
    fn of(element: ElementType, range: Option<[f64; 2]>) -> Self {
        match (element.integer_range(), range) {
            (Some((first, last)), Some([low, high])) => {
                let (first, last) = (first as f64, last as f64);
                let scale = (high - low) / (last - first);
                Self { element, scale, offset: low - scale * first }
            }
            _ => Self { element, scale: 1.0, offset: 0.0 },
        }
    }

    fn reals(&self, tensor: &Tensor) -> Vec<f64> {
        tensor.reals().into_iter().map(|x| self.real(x)).collect()
    }

    fn real(&self, element: f64) -> f64 {
        element * self.scale + self.offset
    }

    /// Returns the elements that represent these numbers.
    fn elements(&self, reals: &Tensor) -> Result<Tensor, Error> {
        let is_whole = !self.element.is_float();
        let element = |x: f64| {
            let element = (x - self.offset) / self.scale;
            if is_whole { element.round() } else { element }
        };
        let (name, elements) = ("pictures", floats(reals, element)?);
        to_element(name, &elements, self.element).map_err(|error| unwritten(error.to_string()))
    }
}

/// Error for images that a network cannot take.
fn unwritten(reason: String) -> Error {
    Error::Output { name: "pictures".to_owned(), reason }
}

/// Returns a tensor of the same shape with `of` applied to each element.
fn floats(tensor: &Tensor, of: impl Fn(f64) -> f64) -> Result<Tensor, Error> {
    let elements = tensor.reals().into_iter().map(|x| of(x) as f32).collect();
    let floats = Tensor::from_f32(tensor.shape().to_vec(), elements);
    floats.map_err(|elements| unwritten(format!("{} elements do not have that shape", elements.len())))
}

/// Returns the mappings of the first input and output of a network.
fn ports_as_reals(graph: &Graph) -> [Reals; 2] {
    let near = |id: ValueId, node: &Node| node.inputs.first() == Some(&id) || node.outputs.contains(&id);
    let port = |id: Option<&ValueId>| {
        let Some(&id) = id else { return Reals::of(ElementType::F32, None) };
        let mut beside = graph.nodes.iter().filter(|node| near(id, node));
        let stated = beside.find_map(|node| QdqScales::of(graph, &node.op, &node.inputs, &node.outputs));
        Reals::of(graph.value(id).info.element, stated.map(|stated| stated.range()))
    };
    [port(graph.inputs.first()), port(graph.outputs.first())]
}

/// Joins samples along the first axis.
fn stacked(samples: &[Tensor]) -> Option<Tensor> {
    let first = samples.first()?;
    let mut shape = first.shape().to_vec();
    *shape.first_mut()? *= samples.len();
    let reals = samples.iter().flat_map(Tensor::reals).map(|x| x as f32).collect();
    to_element("", &Tensor::from_f32(shape, reals).ok()?, first.element()).ok()
}
