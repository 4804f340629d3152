//! `npu bench accuracy`: trained networks on machines, compared with the networks as their files define them.
//!
//! The networks are the files of MLPerf Tiny's reference implementation. Their inputs here are seeded pictures over the
//! range that the files declare, and labelled pictures where the folder holds some.

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

/// What to measure.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// Folder of the networks.
    pub folder: String,
    /// Targets, as for [`Source::model`].
    pub targets: Vec<String>,
    /// Only files whose names contain one of these; all for an empty list.
    pub only: Vec<String>,
    /// Seeded inputs of each network.
    pub samples: usize,
}

/// A network on a machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Row {
    /// File of the network.
    pub network: String,
    /// Target and instance.
    pub target: String,
    /// Whether scales were chosen by typical inputs, other ones than those measured.
    pub calibrated: bool,
    /// Share of the labelled pictures with the right class, 0 to 1; `None` without labels.
    pub top1: Option<f64>,
    /// The same of the file's own arithmetic.
    pub top1_own: Option<f64>,
    /// Share of the seeded inputs with the class that the file's own arithmetic gives, 0 to 1; `None` for a network without
    /// classes.
    pub same_class: Option<f64>,
    /// The same beside the network's file of floats, for one of integers with such a file next to it.
    pub same_class_float: Option<f64>,
    /// Mean relative error of the reconstruction error, by the file's own arithmetic; `None` for a network with classes.
    pub reconstruction: Option<f64>,
    /// The same beside the network's file of floats, for one of integers with such a file next to it.
    pub reconstruction_float: Option<f64>,
    /// Signal-to-noise ratio of the outputs, in decibels.
    pub snr_db: Option<f64>,
    /// Inputs and results that saturated on the seeded inputs.
    pub saturations: u64,
    /// Cycles of one sample.
    pub cycles: Option<u64>,
    /// Milliseconds of one sample, at the board's clock.
    pub latency_ms: Option<f64>,
    /// Samples a second, one after the other.
    pub frames_per_second: Option<f64>,
    /// Why there are no figures.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// All rows.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Report {
    /// By network, then by target.
    pub rows: Vec<Row>,
    /// Seeded inputs of each network.
    pub samples: usize,
    /// Of everything.
    pub seconds: f64,
}

/// A network of MLPerf Tiny.
struct Network {
    /// How names of its files begin.
    prefix: &'static str,
    /// Range of its inputs as floats.
    range: [f64; 2],
    /// Whether its output reconstructs its input.
    reconstructs: bool,
    /// Labelled pictures and their labels, in the folder or above it.
    labelled: Option<[&'static str; 2]>,
}

/// The networks, with the ranges that their 8-bit files declare.
const NETWORKS: [Network; 5] = [
    Network {
        prefix: "ic_",
        range: [0.0, 255.0],
        reconstructs: false,
        labelled: Some(["ic_inputs.npy", "../cifar10_labels.npy"]),
    },
    Network { prefix: "kws_", range: [-123.6, 24.5], reconstructs: false, labelled: None },
    Network { prefix: "vww_", range: [0.0, 1.0], reconstructs: false, labelled: None },
    Network { prefix: "ad_", range: [-40.0, 40.0], reconstructs: true, labelled: None },
    Network { prefix: "sww_", range: [0.0, 26.0], reconstructs: false, labelled: None },
];

/// Inputs to calibrate by, with seeds of their own.
const CALIBRATION: usize = 32;
const CALIBRATION_SEED: u64 = 1 << 32;

/// Measures every network of the folder on every target: files of integers as they are, files of floats without and with a
/// calibration. A network that a target does not take is a row with an `error`.
///
/// # Errors
///
/// [`Error::Read`] for a folder that cannot be listed.
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

/// The network that a file holds.
fn network(file: &str) -> Option<&'static Network> {
    let name = Path::new(file).file_name()?.to_str()?;
    NETWORKS.iter().find(|network| name.starts_with(network.prefix))
}

fn is_integer(file: &str) -> bool {
    file.contains(INTEGERS)
}

/// In names of files of integers, and what those of the same networks with floats have there.
const INTEGERS: &str = "int8";
const FLOATS: &str = "float";

/// A network for a target, with scales chosen one way.
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
        // Default: a path without a last part names the file as it is.
        let name = Path::new(self.file).file_name().and_then(|name| name.to_str()).unwrap_or(self.file);
        Row {
            network: name.to_owned(),
            target: self.target.to_owned(),
            calibrated: self.calibrated,
            ..Row::default()
        }
    }

    fn row(&self, context: Context<'_>) -> Result<Row, Error> {
        let mut source = Source::model(self.file, self.target);
        let graph = source.graph(context)?;
        let (calibration, seeded) = (
            self.seeded(&graph, CALIBRATION_SEED, CALIBRATION),
            self.seeded(&graph, 0, self.request.samples),
        );
        source.calibration = if self.calibrated {
            Calibration { inputs: calibration, ..Calibration::default() }
        } else {
            let own = OwnInputs { files: seeded.clone(), ..OwnInputs::default() };
            Calibration { own: Some(own), ..Calibration::default() }
        };
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
        let [top1, top1_own] = self.labelled(&program, &source, &from, context)?;
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
            cycles: time.cycles.get(&time.model).copied(),
            latency_ms: report.speed.latency_ms,
            frames_per_second: report.speed.frames_per_second,
            ..self.named()
        })
    }

    /// Seeded inputs, one file for each input of the network. Integers span their type, which stands for the same range.
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

    /// Shares of labelled pictures with the right class: on the machine, and by the file's own arithmetic.
    fn labelled(
        &self,
        program: &Program,
        source: &Source,
        port: &Reals,
        context: Context<'_>,
    ) -> Result<[Option<f64>; 2], Error> {
        let Some([pictures, labels]) = self.network.labelled else { return Ok([None, None]) };
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

    /// The first output as real numbers, by the arithmetic of a file.
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

    /// What the network's file of floats gives for the same inputs, elements of `port`; `None` where there is no such file.
    fn float(&self, input: &Tensor, port: &Reals, context: Context<'_>) -> Result<Option<Vec<f64>>, Error> {
        let file = self.file.replace(INTEGERS, FLOATS);
        if context.reader.read(&file).is_err() {
            return Ok(None);
        }
        let input = floats(input, |x| port.real(x))?;
        self.eval(&file, &[InputFile::of_array(None, input)], context)
    }
}

/// A network's seeded inputs and what a machine makes of them, as real numbers.
struct Seeded {
    /// First input of all samples.
    inputs: Vec<f64>,
    /// First output of all samples.
    outputs: Vec<f64>,
    /// Samples.
    count: usize,
}

impl Seeded {
    /// The numbers of each sample.
    fn split<'n>(&self, numbers: &'n [f64]) -> std::slice::Chunks<'n, f64> {
        numbers.chunks((numbers.len() / self.count.max(1)).max(1))
    }

    /// Share of the samples whose largest element has the place that it has in `others`.
    fn same_class(&self, others: &[f64]) -> f64 {
        let samples = self.split(&self.outputs).zip(self.split(others));
        samples.filter(|(y, other)| largest(y) == largest(other)).count() as f64 / self.count as f64
    }

    /// Mean over the samples of how far the mean squared difference between output and input is from that of `others`, as
    /// a share of it.
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

/// The place of the largest number, the first of equals.
fn largest(numbers: &[f64]) -> usize {
    (1..numbers.len()).fold(0, |best, at| if numbers[at] > numbers[best] { at } else { best })
}

/// Numbers that the elements of an input or output stand for.
struct Reals {
    element: ElementType,
    scale: f64,
    offset: f64,
}

impl Reals {
    /// By the integers of a type and the range that they stand for.
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

    /// The elements that stand for these numbers.
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

/// Pictures that are not what a network takes.
fn unwritten(reason: String) -> Error {
    Error::Output { name: "pictures".to_owned(), reason }
}

/// Tensor of the same shape, each element what `of` makes of it.
fn floats(tensor: &Tensor, of: impl Fn(f64) -> f64) -> Result<Tensor, Error> {
    let elements = tensor.reals().into_iter().map(|x| of(x) as f32).collect();
    let floats = Tensor::from_f32(tensor.shape().to_vec(), elements);
    floats.map_err(|elements| unwritten(format!("{} elements do not have that shape", elements.len())))
}

/// The first input and output of a network as real numbers.
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

/// Samples along the first axis.
fn stacked(samples: &[Tensor]) -> Option<Tensor> {
    let first = samples.first()?;
    let mut shape = first.shape().to_vec();
    *shape.first_mut()? *= samples.len();
    let reals = samples.iter().flat_map(Tensor::reals).map(|x| x as f32).collect();
    to_element("", &Tensor::from_f32(shape, reals).ok()?, first.element()).ok()
}
