//! `compile --test-vectors`: running the written inputs gives the written outputs, for each target.

use std::collections::BTreeMap;

use npukit::verbs::compile::{self, compile_with};
use npukit::verbs::run::{Request, run};
use npukit::{InputFile, Preprocess, Source, targets};
use npukit_numeric::Tensor;
use npukit_numeric::npy::{read_npy, read_npz};
use npukit_shared::{needs, shared};

use crate::memory::{Memory, digits};

/// Files after a compilation with test vectors, by the suffix of their names.
struct CompiledFiles {
    report: compile::Report,
    files: Memory,
    manifest: String,
    /// Names of the test vectors, by the part after the artifact's name.
    vectors: BTreeMap<String, String>,
}

/// Network for a target that does not support convolutions.
const PERCEPTRON: &[u8] = include_bytes!("../../../../tests/filetests/models/perceptron.onnx");

fn written(source: Source, samples: &[&str]) -> CompiledFiles {
    prepared(source, samples, Preprocess::default())
}

/// Compiles with preprocessed samples.
fn prepared(source: Source, samples: &[&str], preprocess: Preprocess) -> CompiledFiles {
    let mut files = Memory::with_digits();
    files.0.insert("perceptron.onnx".into(), PERCEPTRON.to_vec());
    let test_vectors = Some(samples.iter().map(|sample| InputFile::parse(sample)).collect());
    let request = compile::Request { source, test_vectors, preprocess, verify: false };
    let (report, made) = compile_with(&request, files.context()).unwrap();
    let end = |name: &String| name.strip_prefix(&format!("{}.", report.name)).unwrap().to_owned();
    let vectors = report.test_vectors.iter().map(|name| (end(name), name.clone())).collect();
    let manifest = report.artifacts[0].clone();
    assert_eq!(made.len(), report.artifacts.len() + report.test_vectors.len());
    files.0.extend(made.into_iter().map(|file| (file.name, file.bytes)));
    CompiledFiles { report, files, manifest, vectors }
}

impl CompiledFiles {
    fn bytes(&self, end: &str) -> &[u8] {
        &self.files.0[&self.vectors[end]]
    }

    fn output(&self) -> Tensor {
        read_npy("output", self.bytes("test_output.npy")).unwrap()
    }

    /// Runs the artifact on an input.
    fn rerun(&self, end: &str) -> Tensor {
        let inputs = vec![InputFile::parse(&self.vectors[end])];
        let request = Request { source: Source::artifact(&self.manifest), inputs, ..Request::default() };
        let (_, files) = run(&request, self.files.context()).unwrap();
        read_npz("y", &files.outputs).unwrap().remove(0).1
    }
}

#[test]
fn every_target_gives_its_test_vectors_again() {
    let sources =
        [digits("tcu"), digits("opu"), Source::model("perceptron.onnx", "pccx"), digits("drra:3x1+ext")];
    assert_eq!(sources.len(), targets().len());
    for source in sources {
        let target = source.target.clone().unwrap();
        let written = written(source, &[]);
        assert_eq!(written.rerun("test_input.npy"), written.output(), "{target}");
        assert!(written.output().as_f32().unwrap().iter().any(|&value| value != 0.0), "{target}");
    }
}

/// The first and the last nodes of a network in integers are the host's, so its inputs and outputs
/// have integers, too.
#[needs(NPUKIT_SHARED)]
#[test]
fn integers_of_a_network_are_drawn_and_compared_as_such() {
    let mut files = Memory::default();
    let model = shared("models/mlperf_tiny/kws_dscnn_int8.tflite");
    files.0.insert("kws.tflite".into(), std::fs::read(model).unwrap());
    for target in ["tcu:pynqz2", "pccx"] {
        let source = Source::model("kws.tflite", target);
        let request =
            compile::Request { source, test_vectors: Some(Vec::new()), ..compile::Request::default() };
        let (report, made) = compile_with(&request, files.context()).unwrap();
        let drawn = "input `input_1`: generated numbers from -128 to 127, as the model suggests";
        assert!(report.notes.iter().any(|note| note == drawn), "{target}: {:?}", report.notes);
        files.0.extend(made.into_iter().map(|file| (file.name, file.bytes)));
        let [input, output] = ["input", "output"].map(|kind| format!("{}.test_{kind}.npy", report.name));
        let values = read_npy("input", &files.0[&input]).unwrap().reals();
        let [low, high] =
            [values.iter().fold(0.0, |low: f64, &x| low.min(x)), values.iter().copied().fold(0.0, f64::max)];
        assert!(low >= -128.0 && high <= 127.0 && high - low > 64.0, "{target}: {low} to {high}");
        let mut request = Request {
            source: Source::artifact(report.artifacts[0].as_str()),
            inputs: vec![InputFile::parse(&input)],
            board: Some(output),
            ..Request::default()
        };
        let (compared, outputs) = run(&request, files.context()).unwrap();
        let same = "the board's `Identity` equals the machine's, bit for bit: 12 elements";
        assert!(compared.notes.iter().any(|note| note == same), "{target}: {:?}", compared.failures);
        files.0.insert("y.npz".into(), outputs.outputs);
        request.board = Some("y.npz".into());
        assert_eq!(run(&request, files.context()).unwrap().0.failures, [""; 0], "{target}");
        request = Request { inputs: vec![InputFile::parse("random:1")], board: None, ..request };
        let (random, _) = run(&request, files.context()).unwrap();
        assert!(random.notes.iter().any(|note| note.contains("from -128 to 127")), "{:?}", random.notes);
    }
}

#[test]
fn samples_that_are_given_follow_each_other() {
    let written = written(digits("tcu"), &["x.npy"]);
    let given = read_npy("x", &written.files.0["x.npy"]).unwrap();
    let images = given.shape()[0];
    assert!(images > 1);
    assert_eq!(read_npy("input", written.bytes("test_input.npy")).unwrap(), given);
    assert_eq!(written.output().shape(), [images, 10]);
    assert_eq!(written.rerun("test_input.npy"), written.output());
}

#[test]
fn what_upstreams_emulator_reads_is_the_same_sample() {
    let written = written(digits("tcu"), &["x.npy"]);
    assert_eq!(written.rerun("test_input.csv"), written.output());
    let text = std::str::from_utf8(written.bytes("test_input.csv")).unwrap();
    let lines: Vec<&str> = text.split_terminator("\r\n").collect();
    assert!(lines.iter().all(|line| line.split(',').count() == 8));
    // Lanes as the driver writes them: 16 bits, low byte first, with 8 fraction bits.
    let scalars = written.bytes("test_input.tdata").as_chunks::<2>().0;
    assert_eq!(scalars.len(), 8 * lines.len());
    let values = lines.iter().flat_map(|line| line.split(',')).map(|value| value.parse::<f32>().unwrap());
    assert!(values.zip(scalars).all(|(value, bytes)| value * 256.0 == f32::from(i16::from_le_bytes(*bytes))));
}

#[test]
fn driver_formats_hold_the_machines_integers() {
    for (name, end, size) in [("opu", "image", 1), ("drra:3x1+ext", "bin", 2)] {
        let written = written(digits(name), &["x.npy"]);
        let values = written.output().as_f32().unwrap().len();
        assert_eq!(written.bytes(&format!("test_output.{end}")).len(), size * values, "{name}");
    }
}

#[test]
fn samples_are_prepared_as_those_of_a_run() {
    let halved = Preprocess { scale: Some(0.5), mean: vec![0.25], ..Preprocess::default() };
    let written = prepared(digits("tcu"), &["x.npy"], halved.clone());
    let given = read_npy("x", &written.files.0["x.npy"]).unwrap();
    let input = read_npy("input", written.bytes("test_input.npy")).unwrap();
    let pairs = given.as_f32().unwrap().iter().zip(input.as_f32().unwrap());
    assert!(pairs.into_iter().all(|(given, input)| given * 0.5 - 0.25 == *input));
    let request = Request {
        source: digits("tcu"),
        inputs: vec![InputFile::parse("x.npy")],
        preprocess: halved,
        ..Request::default()
    };
    let (_, files) = run(&request, written.files.context()).unwrap();
    assert_eq!(read_npz("y", &files.outputs).unwrap().remove(0).1, written.output());
    assert_eq!(written.report.warnings, Vec::<String>::new());
}

#[test]
fn vectors_that_saturate_are_told_of() {
    let huge = Preprocess { scale: Some(1e4), ..Preprocess::default() };
    let warnings = prepared(digits("tcu"), &["x.npy"], huge).report.warnings;
    let message = |warning: &String| warning.contains(" values of the test vectors saturated, most in `");
    assert!(warnings.iter().any(message), "{warnings:?}");
}
