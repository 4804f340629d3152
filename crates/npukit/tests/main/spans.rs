//! Times of layers, for all targets: each layer is within its bounds, from its first to its last
//! cycle.

use npukit::verbs::time::{Report, time};
use npukit::verbs::zoo::zoo;
use npukit::{InputFile, Source};
use npukit_numeric::npy::{NpyArray, write_npy};
use npukit_target::{LayerTime, Roofline};

use crate::memory::{Memory, digits};

/// Targets with their machines; `+ext` supports all operators.
const TARGETS: [&str; 7] =
    ["tcu:pynqz1", "tcu:zcu104", "tcu:ultra96v2", "opu", "opu:ideal", "pccx", "drra:3x1+ext"];

/// Networks of the zoo that compile in seconds without optimization.
const NETWORKS: [&str; 4] = ["mlp", "lenet5", "decoder", "resnet20v2"];

/// Asserts that utilization is at most 1, and the time at least the lower bound.
fn assert_within(what: &str, utilization: f64, roofline: &Roofline) {
    assert!((0.0..=1.0).contains(&utilization), "{what}: utilization {utilization}");
    assert!(roofline.distance.is_none_or(|distance| distance >= 1.0), "{what}: {roofline:?}");
}

fn assert_layer(what: &str, layer: &LayerTime, total: u64) {
    let what = format!("{what}, {}", layer.name);
    assert_within(&what, layer.utilization, &layer.roofline);
    let span = layer.span_cycles();
    assert!(layer.array_busy.is_none_or(|busy| busy <= span), "{what}: {layer:?}");
    match layer.first_cycle.zip(layer.last_cycle) {
        Some((first, last)) => assert!(first <= last && last < total, "{what}: {layer:?} of {total}"),
        None => assert_eq!(layer.cycles, 0, "{what}"),
    }
}

fn assert_report(what: &str, report: &Report) {
    let time = &report.time;
    let total = time.cycles[&time.clock];
    assert_within(what, time.utilization.unwrap(), &time.roofline);
    assert!(!time.layers.is_empty(), "{what}");
    assert_eq!(time.layers.iter().map(|layer| layer.cycles).sum::<u64>(), total, "{what}");
    time.layers.iter().for_each(|layer| assert_layer(what, layer, total));
}

#[test]
fn no_layer_is_above_its_roof() {
    let mut files = Memory::with_digits();
    for target in TARGETS {
        assert_report(target, &time(&digits(target), files.context()).unwrap());
    }
    for network in NETWORKS {
        files.0.insert("m.onnx".into(), zoo(network, 1).unwrap().1);
        let sample = npukit_models::zoo::network(network).unwrap().sample(7).unwrap();
        files.0.insert("s.npy".into(), write_npy(NpyArray::from(&sample)));
        let mut timed = 0;
        for target in TARGETS {
            let mut source = Source::model("m.onnx", target);
            source.calibration.inputs = vec![InputFile::parse("s.npy")];
            // Some targets refuse some networks.
            if let Ok(report) = time(&source, files.context()) {
                assert_report(&format!("{network} on {target}"), &report);
                timed += 1;
            }
        }
        assert!(timed >= 4, "{network}: {timed}");
    }
}
