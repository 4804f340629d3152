//! The networks of MLPerf Tiny, float and int8, with 4-bit weights, 8-bit weights, and the default
//! choice.
//!
//! `NPUKIT_TINY=256 cargo test -p npukit-pccx tiny -- --nocapture` prints the whole table for that
//! many images.

use std::f32::consts::TAU;

use npukit_graph::{Graph, Op, ValueId, evaluate, pass};
use npukit_import::{onnx, tflite};
use npukit_numeric::{ElementType, Tensor, npy};
use npukit_pccx::internals::clock::run_with_host;
use npukit_pccx::internals::lower::{Activations, Executable, Options, WeightBits, Weights, compile};
use npukit_pccx::internals::runtime::Session;
use npukit_pccx::internals::weight_bits::{Choice, Samples, resolve};
use npukit_pccx::{Config, Machine};
use npukit_target::{UninitMemory, to_element};
use npukit_testing::{Random, needs, shared_bytes};
use rayon::prelude::*;

/// A network and the kind of its inputs.
struct Network {
    file: &'static str,
    shape: [usize; 4],
    range: [f32; 2],
}

const IC: Network = Network { file: "ic_resnet8", shape: [1, 32, 32, 3], range: [0.0, 255.0] };
const VWW: Network = Network { file: "vww_mobilenet", shape: [1, 96, 96, 3], range: [0.0, 1.0] };
const KWS: Network = Network { file: "kws_dscnn", shape: [1, 49, 10, 1], range: [-80.0, 80.0] };
const AD: Network = Network { file: "ad_autoencoder", shape: [1, 1, 1, 640], range: [-50.0, 20.0] };

/// Returns the graph for evaluation and the graph for compilation.
fn model(network: &Network, kind: &str) -> [Graph; 2] {
    let bytes = shared_bytes(&format!("models/mlperf_tiny/{}_{kind}.tflite", network.file));
    let graph = tflite::read(&bytes, "model", &onnx::Options::default()).unwrap().graph;
    let mut simplified = graph.clone();
    pass::simplify(&mut simplified).unwrap();
    [graph, simplified]
}

/// Returns smooth inputs over the whole range: waves of a few low frequencies.
fn smooth(network: &Network, seed: u64, count: usize) -> Vec<Tensor> {
    let [_, h, w, c] = network.shape;
    let [low, high] = network.range;
    let mut random = Random::new(seed);
    let mut one = || {
        let channel = |random: &mut Random| -> Vec<f32> {
            let waves: Vec<[f32; 4]> = (0..10)
                .map(|_| {
                    let [a, b] = [4.0 * random.number(), 4.0 * random.number()];
                    [a, b, random.number() * TAU, random.number() / (1.0 + a.hypot(b))]
                })
                .collect();
            let at = |y: usize, x: usize| -> f32 {
                let (y, x) = (y as f32 / h as f32, x as f32 / w as f32);
                waves.iter().map(|[a, b, phase, size]| size * (TAU * (a * y + b * x) + phase).cos()).sum()
            };
            (0..h * w).map(|place| at(place / w, place % w)).collect()
        };
        // A row of features has one wave per feature.
        let channels: Vec<Vec<f32>> = (0..c).map(|_| channel(&mut random)).collect();
        let all = || channels.iter().flatten().copied();
        let (least, most) = (all().fold(f32::MAX, f32::min), all().fold(f32::MIN, f32::max));
        let value = |place: usize| {
            let share = (channels[place % c][place / c] - least) / (most - least);
            low + (high - low) * share
        };
        Tensor::from_f32(network.shape.to_vec(), (0..h * w * c).map(value).collect()).unwrap()
    };
    (0..count).map(|_| one()).collect()
}

/// Converts an input to the shape and type of a model; an int8 input has its own scale and zero
/// point.
fn as_input(graph: &Graph, input: &Tensor) -> Vec<Tensor> {
    let id = graph.inputs[0];
    let (shape, element) = (graph.shape(id).to_vec(), graph.value(id).info.element);
    let mut values = input.as_f32().unwrap().to_vec();
    if element != ElementType::F32 {
        let takes =
            |node: &&npukit_graph::Node| matches!(node.op, Op::DequantizeLinear(_)) && node.inputs[0] == id;
        let node = graph.nodes.iter().find(takes).unwrap();
        let number = |id: ValueId| graph.constant(id).unwrap().reals()[0] as f32;
        let scale = number(node.inputs[1]);
        let zero = node.inputs.get(2).map_or(0.0, |&id| number(id));
        values.iter_mut().for_each(|value| *value = (*value / scale + zero).round().clamp(-128.0, 127.0));
    }
    vec![to_element("x", &Tensor::from_f32(shape, values).unwrap(), element).unwrap()]
}

fn largest(values: &[f64]) -> usize {
    (1..values.len()).fold(0, |best, i| if values[i] > values[best] { i } else { best })
}

/// Returns the outputs of the program for each input.
fn outputs(config: &Config, executable: &Executable, inputs: &[Vec<Tensor>]) -> Vec<Vec<f64>> {
    let one = |inputs: &Vec<Tensor>| {
        let mut machine = Machine::with(config, UninitMemory::Zero).unwrap();
        let mut session = Session::new(&mut machine, &executable.program, &executable.host).unwrap();
        session.run(inputs).unwrap()[0].reals()
    };
    inputs.par_iter().map(one).collect()
}

/// A program of a network, and its results next to the model's.
struct Tried {
    config: Config,
    simplified: Graph,
    samples: Vec<Vec<Tensor>>,
    inputs: Vec<Vec<Tensor>>,
    expected: Vec<Vec<f64>>,
}

impl Tried {
    fn new(network: &Network, kind: &str, samples: &[Tensor], inputs: &[Tensor]) -> Self {
        let [graph, simplified] = model(network, kind);
        let fitted =
            |inputs: &[Tensor]| inputs.iter().map(|input| as_input(&graph, input)).collect::<Vec<_>>();
        let (samples, inputs) = (fitted(samples), fitted(inputs));
        let expected = inputs.par_iter().map(|input| evaluate(&graph, input).unwrap()[0].reals()).collect();
        Self { config: Config::preset("reference").unwrap(), simplified, samples, expected, inputs }
    }

    fn program(&self, weight_bits: WeightBits, activations: Activations) -> (Executable, u64, Vec<String>) {
        let options = Options { weight_bits, activations, ..Options::of(&self.config) };
        let samples = Samples { tensors: &self.samples, made_up: false };
        let Choice { options, notes } = resolve(&self.config, &self.simplified, &options, samples).unwrap();
        let executable = compile(&self.config, &self.simplified, &options, &mut Weights::default()).unwrap();
        let program = &executable.program;
        let cycles = run_with_host(&self.config, &program.code, &program.syncs()).cycles;
        (executable, cycles, notes)
    }

    /// Returns the fraction of inputs with the same class, and the signal-to-noise ratio.
    fn agreement(&self, found: &[Vec<f64>]) -> (f64, f64) {
        let pairs = || found.iter().zip(&self.expected);
        let same = pairs().filter(|(ours, theirs)| largest(ours) == largest(theirs)).count();
        let all = || pairs().flat_map(|(ours, theirs)| ours.iter().zip(theirs));
        let noise: f64 = all().map(|(ours, theirs)| (ours - theirs).powi(2)).sum();
        let signal: f64 = all().map(|(_, theirs)| theirs.powi(2)).sum();
        (same as f64 / found.len() as f64, 10.0 * (signal / noise).log10())
    }

    /// Returns the largest relative error of a reconstruction's mean square error.
    fn reconstruction(&self, found: &[Vec<f64>]) -> f64 {
        let error = |input: &Vec<Tensor>, output: &[f64]| -> f64 {
            let input = input[0].reals();
            input.iter().zip(output).map(|(x, y)| (x - y).powi(2)).sum::<f64>() / input.len() as f64
        };
        let of = |((input, ours), theirs): ((&Vec<Tensor>, &Vec<f64>), &Vec<f64>)| {
            let (ours, theirs) = (error(input, ours), error(input, theirs));
            ((ours - theirs) / theirs).abs()
        };
        self.inputs.iter().zip(found).zip(&self.expected).map(of).fold(0.0, f64::max)
    }
}

/// Prints a line for each way to compile.
fn table(name: &str, tried: &Tried, labels: Option<&[usize]>) {
    let ways = [
        ("4", WeightBits::Bits4, Activations::Bits8),
        ("8", WeightBits::Bits8, Activations::Bits8),
        ("8, 16", WeightBits::Bits8, Activations::Bits16),
        ("chosen", WeightBits::Fitting, Activations::Bits8),
    ];
    for (way, bits, activations) in ways {
        let (executable, cycles, notes) = tried.program(bits, activations);
        let found = outputs(&tried.config, &executable, &tried.inputs);
        let (same, decibels) = tried.agreement(&found);
        let right = labels.map(|labels| {
            found.iter().zip(labels).filter(|(found, label)| largest(found) == **label).count()
        });
        println!(
            "{name:<12} {way:<7} {cycles:>10} cycles, {:5.1} % as the model, {decibels:5.1} dB, error of the reconstruction {:.4}, right {right:?} {}",
            100.0 * same,
            tried.reconstruction(&found),
            notes.join(" "),
        );
    }
}

/// Returns ten images of CIFAR-10 and their classes.
fn pictures() -> (Vec<Tensor>, Vec<usize>) {
    let images = npy::read_npy("images", &shared_bytes("models/mlperf_tiny/ic_inputs.npy")).unwrap();
    let labels = npy::read_npy("labels", &shared_bytes("models/cifar10_labels.npy")).unwrap();
    let size: usize = IC.shape.iter().product();
    let image = |image: &[f32]| Tensor::from_f32(IC.shape.to_vec(), image.to_vec()).unwrap();
    let images = images.as_f32().unwrap().chunks(size).map(image).collect();
    (images, labels.reals().into_iter().map(|label| label as usize).collect())
}

/// ResNet-8 classifies nine of the ten images correctly in float. So does the compiled model: with
/// samples if the weights are floats, and by default if they are integers. With 4 bits it is seven.
#[needs(NPUKIT_SHARED)]
#[test]
fn resnet8_is_as_right_as_in_float() {
    let (images, labels) = pictures();
    for (kind, samples) in [("float", &images[..]), ("int8", &[])] {
        let tried = Tried::new(&IC, kind, samples, &images);
        let (executable, _, notes) = tried.program(WeightBits::Fitting, Activations::Bits8);
        let found = outputs(&tried.config, &executable, &tried.inputs);
        let right = found.iter().zip(&labels).filter(|(found, label)| largest(found) == **label).count();
        println!("{kind}: {right} of 10, {notes:?}");
        assert!(right >= 9, "{kind}: {right} of 10 right");
    }
}

/// Smooth images agree with the model for at least 97 of 100.
#[needs(NPUKIT_SHARED)]
#[test]
fn tiny_networks_are_the_models() {
    let count = std::env::var("NPUKIT_TINY").ok().and_then(|count| count.parse::<usize>().ok());
    let only = std::env::var("NPUKIT_TINY_ONLY").ok();
    if let Some(count) = count {
        let (images, labels) = pictures();
        for kind in ["float", "int8"] {
            let samples = |samples: &[Tensor]| if kind == "float" { samples.to_vec() } else { Vec::new() };
            for (name, network) in [("ic", &IC), ("kws", &KWS), ("ad", &AD), ("vww", &VWW)] {
                if only.as_ref().is_some_and(|only| only != name) {
                    continue;
                }
                if name == "ic" {
                    let tried = Tried::new(&IC, kind, &samples(&images), &images);
                    table(&format!("ic10 {kind}"), &tried, Some(&labels));
                }
                let given = samples(&smooth(network, 1, 8));
                let tried = Tried::new(network, kind, &given, &smooth(network, 2, count));
                table(&format!("{name} {kind}"), &tried, None);
            }
        }
    }
}
