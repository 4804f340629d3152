//! Activations neither vanish nor saturate in FP16BP8.

#![allow(clippy::unwrap_used, reason = "tests")]

use npukit_graph::evaluate_with;
use npukit_import::onnx;
use npukit_models::zoo::{Network, networks};
use npukit_numeric::Tensor;

/// The largest number of FP16BP8, and its step.
const LARGEST: f64 = 128.0;
const STEP: f64 = 1.0 / 256.0;

/// Number of multiply-accumulates from which an evaluation takes seconds.
const LARGE: u64 = 1_000_000_000;

/// Root mean square of the values, and the largest magnitude.
fn size(tensor: &Tensor) -> Option<(f64, f64)> {
    let values = tensor.as_f32()?;
    let square: f64 = values.iter().map(|&x| f64::from(x).powi(2)).sum();
    let largest = values.iter().map(|&x| f64::from(x).abs()).fold(0.0, f64::max);
    Some(((square / values.len() as f64).sqrt(), largest))
}

/// Checks every layer's values on a seeded input. Scores hidden by the attention mask are out of
/// range by design.
fn check(network: &Network) {
    let graph = onnx::read(&network.onnx(0), network.name, &onnx::Options::default()).unwrap().graph;
    let input = network.sample(1).unwrap();
    let (mut layers, mut before) = (0, Vec::new());
    evaluate_with(&graph, &[input], |node, results| {
        let is_masked =
            node.name.starts_with("add_") && network.name == "decoder" && results[0].shape().len() == 4;
        let Some((rms, largest)) = size(&results[0]).filter(|_| !is_masked) else { return };
        let place = format!("{}: {} has rms {rms:.3} and reaches {largest:.3}", network.name, node.name);
        // Accelerators add before they divide.
        let is_mean = node.name.starts_with("globalaveragepool") && !node.name.contains('/');
        let summed: usize = if is_mean { before[1..3].iter().product() } else { 1 };
        assert!(largest * (summed as f64) < LARGEST, "{place}, a sum of {summed}");
        before = results[0].shape().to_vec();
        assert!(largest < LARGEST / 2.0, "{place}");
        assert!(rms > 16.0 * STEP, "{place}");
        layers += 1;
    })
    .unwrap();
    assert!(layers as u64 >= network.counts().layers, "{}", network.name);
}

/// Networks that are evaluated quickly.
#[test]
fn small_networks_stay_in_range() {
    for network in networks().iter().filter(|network| network.counts().macs < LARGE) {
        check(network);
    }
}

/// The other networks; VGG-16's weights alone are 550 MB.
#[test]
#[ignore = "takes half a minute; run with --ignored when a network or the spread changes"]
fn large_networks_stay_in_range() {
    for network in networks().iter().filter(|network| network.counts().macs >= LARGE) {
        check(network);
    }
}
