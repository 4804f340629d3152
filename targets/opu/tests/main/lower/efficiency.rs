//! Cycles of published networks, from the emitted programs.

use npukit_graph::quantise::{Kind, Quantisation, Scheme};
use npukit_graph::{Graph, ValueId, pass};
use npukit_import::onnx;
use npukit_opu::clock::Clock;
use npukit_opu::config::Config;
use npukit_opu::lower::{Lowered, Options, compile};
use npukit_opu::op::Op;

fn zoo(name: &str) -> Graph {
    let bytes = npukit_zoo::network(name).unwrap().onnx(1);
    let mut graph = onnx::read(&bytes, name, &onnx::Options::default()).unwrap();
    pass::simplify(&mut graph).unwrap();
    graph
}

/// Compiles with one fraction length for all values: cycles do not depend on it.
fn compiled(graph: &Graph, config: &Config) -> Lowered {
    let mut quantisation = Quantisation::new(Scheme::default());
    (0..graph.values.len()).for_each(|index| quantisation.set(ValueId(index as u32), Kind::Activation, 4));
    let options = Options { quantisation: Some(&quantisation), approximate: true };
    compile(graph, config, options).unwrap_or_else(|error| panic!("{error}"))
}

/// Cycles of the network under a profile, and of each layer alone.
fn cycles(graph: &Graph, profile: &str) -> (u64, Vec<(String, u64, u64)>) {
    let config = Config::preset(profile).unwrap();
    let lowered = compiled(graph, &config);
    let all = Clock::cycles(&config, &lowered.ops).unwrap();
    let layer = |index: usize| {
        let span = lowered.spans[index];
        // Registers are set by what came before.
        let (before, own) = lowered.ops[..span.first + span.count].split_at(span.first);
        let settings = before.iter().filter(|op| op.class() == npukit_opu::Class::Configuration);
        let ops: Vec<Op> = settings.chain(own).copied().collect();
        let settings = (ops.len() - own.len()) as u64;
        let layer = &lowered.model.layers[index];
        (layer.name.clone(), layer.macs, Clock::cycles(&config, &ops).unwrap() - settings)
    };
    (all, (0..lowered.spans.len()).map(layer).collect())
}

fn print(name: &str, profile: &str, (all, layers): &(u64, Vec<(String, u64, u64)>)) {
    let macs: u64 = layers.iter().map(|(_, macs, _)| macs).sum();
    eprintln!("{name} {profile}: {all} cycles, {:.1} %", macs as f64 / *all as f64 / 10.24);
    for (layer, macs, cycles) in layers {
        eprintln!("  {cycles:>9} {:>6.1} % {layer}", *macs as f64 / *cycles as f64 / 10.24);
    }
}

#[test]
fn tiny_yolo_takes_no_longer_than_published() {
    let graph = zoo("tiny_yolo");
    for (profile, most) in [("ideal", 3_790_000), ("detailed", 4_110_000)] {
        let found = cycles(&graph, profile);
        print("tiny_yolo", profile, &found);
        assert!(found.0 <= most, "{profile}: {}", found.0);
    }
}

#[test]
fn convolutional_networks_keep_the_multipliers_busy() {
    for (name, least) in [("vgg16_features", 0.91), ("resnet50", 0.80)] {
        let found = cycles(&zoo(name), "ideal");
        print(name, "ideal", &found);
        let macs: u64 = found.1.iter().map(|(_, macs, _)| macs).sum();
        let efficiency = macs as f64 / found.0 as f64 / 1024.0;
        assert!(efficiency >= least, "{name}: {efficiency}");
    }
}
