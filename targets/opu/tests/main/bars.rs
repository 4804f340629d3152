//! Programs of reference networks are at least as fast as the goals of `npu bench`. Timing does not
//! depend on values, so fraction lengths are made up.

use npukit_graph::quantize::{Kind, Quantization, Scheme};
use npukit_graph::{ValueId, pass};
use npukit_import::onnx;
use npukit_models::zoo::Network;
use npukit_opu::internals::lower::{Options, compile};
use npukit_opu::{Clock, Config, OPU};
use npukit_target::Measure;

/// Returns the cycles of a network's program.
fn cycles(network: &Network, preset: &str) -> u64 {
    let config = Config::preset(preset).unwrap();
    let mut graph = onnx::read(&network.onnx(0), network.name, &onnx::Options::default()).unwrap().graph;
    pass::simplify(&mut graph).unwrap();
    let mut quantization = Quantization::new(Scheme::default());
    for (index, _) in graph.values.iter().enumerate().filter(|(_, value)| value.constant.is_none()) {
        quantization.set(ValueId(index as u32), Kind::Activation, 4);
    }
    let options = Options { quantization: Some(&quantization), ..Options::default() };
    Clock::cycles(&config, &compile(&graph, &config, options).unwrap().ops).unwrap()
}

/// Checks every figure of these networks that concerns a program.
fn check(networks: &[&str]) {
    let mut figures = 0;
    for benchmark in OPU.benchmarks().iter().filter(|benchmark| networks.contains(&benchmark.network)) {
        let network = npukit_models::zoo::network(benchmark.network).unwrap();
        for figure in benchmark.figures.iter().filter(|figure| figure.measure.is_of_program()) {
            let cycles = cycles(network, benchmark.preset);
            let least = network.counts().padded_macs as f64 / 1024.0;
            let found = match figure.measure {
                Measure::Efficiency(_) => 100.0 * least / cycles as f64,
                _ => cycles as f64,
            };
            let name = benchmark.network;
            assert!(
                figure.bar.is_met(found) == Some(true),
                "{name}: {cycles} cycles are {found}, the goal is {:?}",
                figure.bar
            );
            assert!(cycles as f64 > least, "{name} cannot take {cycles} cycles");
            figures += 1;
        }
    }
    assert!(figures >= networks.len());
}

#[test]
fn tiny_yolo_is_as_fast_as_published() {
    check(&["tiny_yolo"]);
}

#[test]
#[ignore = "takes half a minute; `npu bench` has the same figures"]
fn larger_networks_keep_the_multipliers_at_work() {
    check(&["vgg16_features", "resnet50"]);
}
