//! Sizes of the networks against publications, and against the graph's own figures.

#![allow(clippy::unwrap_used, reason = "tests")]

use npukit_graph::pass;
use npukit_import::onnx;
use npukit_models::zoo::{Counts, network, networks};

fn counts(name: &str) -> Counts {
    network(name).unwrap().counts()
}

/// TCU specification, 10.4: multiply-accumulates without padding.
#[test]
fn macs_are_those_of_the_specification() {
    for (name, macs) in [
        ("resnet20v2", 61_475_520),
        ("yolov4_tiny_192", 670_349_408),
        ("yolov4_tiny_416", 3_309_338_208),
        ("resnet50v2", 3_343_810_560),
    ] {
        assert_eq!(counts(name).macs, macs, "{name}");
    }
    assert_eq!(counts("resnet50v2").padded_macs, 3_482_255_360);
}

/// OPU specification, 8.4, which includes padding.
#[test]
fn tiny_yolo_is_the_opus() {
    let Counts { padded_macs, layers, .. } = counts("tiny_yolo");
    assert_eq!((padded_macs, layers), (3_500_931_072, 9));
}

/// Keras prints them as trainable, torchvision as all; LeNet-5's numbers follow from the paper's
/// layers.
#[test]
fn parameters_are_those_published() {
    for (name, parameters) in [
        ("resnet20v2", 570_602),
        ("resnet50v2", 25_568_360),
        ("mobilenet_v1", 4_231_976),
        ("mobilenet_v2", 3_504_872),
        ("resnet18", 11_689_512),
        ("resnet50", 25_557_032),
        ("vgg16", 138_357_544),
        ("vgg16_features", 14_714_688),
        ("squeezenet", 1_235_496),
        ("lenet5", 61_706),
    ] {
        assert_eq!(counts(name).parameters, parameters, "{name}");
    }
}

/// Papers and torchvision, including padding.
#[test]
fn padded_macs_are_those_published() {
    for (name, macs) in [
        ("resnet18", 1_814_073_344),
        ("resnet50", 3_857_973_248),
        ("vgg16", 15_470_264_320),
        ("vgg16_features", 15_346_630_656),
        ("mobilenet_v1", 568_740_352),
        ("mobilenet_v2", 300_774_272),
        ("squeezenet", 349_151_936),
        ("lenet5", 416_520),
    ] {
        assert_eq!(counts(name).padded_macs, macs, "{name}");
    }
}

/// Networks whose weights are generated quickly.
#[test]
fn the_imported_graph_counts_the_same() {
    for network in networks().iter().filter(|network| network.counts().parameters < 5_000_000) {
        let mut graph = onnx::read(&network.onnx(0), network.name, &onnx::Options::default()).unwrap().graph;
        assert_eq!(graph.macs(), network.counts().macs, "{}", network.name);
        assert_eq!(graph.shape(graph.inputs[0]), network.input, "{}", network.name);
        pass::simplify(&mut graph).unwrap();
        assert_eq!(graph.macs(), network.counts().macs, "{}, simplified", network.name);
    }
}

#[test]
fn the_imported_graph_of_resnet50v2_counts_as_specified() {
    let network = network("resnet50v2").unwrap();
    let graph = onnx::read(&network.onnx(0), network.name, &onnx::Options::default()).unwrap().graph;
    assert_eq!(graph.macs(), 3_343_810_560);
}

#[test]
fn a_seed_makes_the_same_file_again() {
    let network = network("lenet5").unwrap();
    assert_eq!(network.onnx(7), network.onnx(7));
    assert_ne!(network.onnx(7), network.onnx(8));
}
