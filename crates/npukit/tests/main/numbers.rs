//! Figures that used to be misleading: NaN, values that round to 0, saturation without samples, and
//! figures that depended on the number of cores.

use npukit::Source;
use npukit::verbs::compile::compile;
use npukit::verbs::run::{Report, Request, run};
use npukit::{Calibration, InputFile, MaxError};
use npukit_import::onnx::proto::{
    AttributeProto, DimensionProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto,
    TensorShapeProto, TensorTypeProto, TypeProto, ValueInfoProto, attribute_type, data_type,
};
use npukit_numeric::npy::{NpyArray, NpyData, write_npy};
use prost::Message;

use crate::memory::{Memory, digits};

fn inputs() -> Vec<InputFile> {
    vec![InputFile::parse("x.npy")]
}

fn looked_at(source: Source, compare: bool, files: &Memory) -> Report {
    run(&Request { source, inputs: inputs(), compare, ..Request::default() }, files.context()).unwrap().0
}

fn calibrated(source: Source) -> Source {
    Source { calibration: Calibration { inputs: inputs(), ..Calibration::default() }, ..source }
}

/// Pseudo-random numbers from -1 to 1, identical on every computer.
fn noise(seed: u64) -> impl Iterator<Item = f32> {
    let step = |x: u64| x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    std::iter::successors(Some(step(seed)), move |&x| Some(step(x)))
        .map(|x| (x >> 40) as f32 / (1 << 23) as f32 - 1.0)
}

fn array(shape: &[usize], values: &[f32]) -> Vec<u8> {
    write_npy(NpyArray::new(shape, NpyData::F32(values)).unwrap())
}

#[test]
fn what_is_no_number_is_told() {
    let mut files = Memory::with_digits();
    let mut image = vec![0.5f32; 64];
    (image[7], image[9]) = (f32::NAN, f32::INFINITY);
    files.0.insert("x.npy".into(), array(&[1, 1, 8, 8], &image));
    let report = looked_at(digits("tcu"), false, &files);
    let found = report.comparison.unwrap();
    assert!(found.max_abs_error.is_nan() && found.argmax_agree == Some(0.0), "{found:?}");
    assert_eq!((report.non_finite.inputs, report.non_finite.float_outputs), (2, 10));
    assert!(!report.failures.is_empty(), "a comparison with NaN is not a success");
    assert!(report.warnings[0].contains("2 numbers of the inputs"), "{:?}", report.warnings);
    let json = serde_json::to_string(&report).unwrap();
    assert!(json.contains(r#""max_abs_error":null"#), "{json}");
    // Nothing is compared for an artifact.
    let artifact = Source { path: "digits_onnx_pynqz1.tmodel".into(), ..Source::default() };
    let report = looked_at(artifact, false, &files);
    assert!(report.non_finite.inputs == 2 && report.failures.is_empty() && !report.warnings.is_empty());
}

#[test]
fn differences_have_a_limit() {
    let files = Memory::with_digits();
    let failures = |max_error| {
        let source = digits("tcu");
        let request = Request { source, inputs: inputs(), max_error, ..Request::default() };
        run(&request, files.context()).unwrap().0.failures
    };
    assert!(failures(None).is_empty() && failures(MaxError::parse("5%")).is_empty());
    let [too_far] = &failures(MaxError::parse("0.0001"))[..] else { panic!("no failure") };
    assert!(too_far.contains("above the limit of 0.0001"), "{too_far}");
    let source = Source { path: "digits_onnx_pynqz1.tmodel".into(), ..Source::default() };
    let request = Request { source, inputs: inputs(), max_error: MaxError::parse("1"), ..Request::default() };
    assert!(run(&request, files.context()).unwrap_err().is_usage(), "nothing to compare with");
}

/// Number of channels of the chain.
const CHANNELS: usize = 8;
/// Number of pairs of a depthwise and a pointwise convolution.
const PAIRS: usize = 6;

fn tensor(name: &str, dims: &[usize], values: Vec<f32>) -> TensorProto {
    TensorProto {
        name: name.to_owned(),
        data_type: data_type::FLOAT,
        dims: dims.iter().map(|&size| size as i64).collect(),
        float_data: values,
        ..TensorProto::default()
    }
}

fn info(name: &str, sizes: &[usize]) -> ValueInfoProto {
    let dimension = |&size: &usize| DimensionProto { dim_value: Some(size as i64), dim_param: None };
    let shape = TensorShapeProto { dim: sizes.iter().map(dimension).collect() };
    let tensor_type = TensorTypeProto { elem_type: data_type::FLOAT, shape: Some(shape) };
    ValueInfoProto { name: name.to_owned(), r#type: Some(TypeProto { tensor_type: Some(tensor_type) }) }
}

fn node(op: &str, inputs: &[&str], output: &str, attribute: Vec<AttributeProto>) -> NodeProto {
    NodeProto {
        op_type: op.to_owned(),
        name: output.to_owned(),
        input: inputs.iter().map(|&name| name.to_owned()).collect(),
        output: vec![output.to_owned()],
        attribute,
        ..NodeProto::default()
    }
}

fn ints(name: &str, ints: &[i64]) -> AttributeProto {
    AttributeProto {
        name: name.to_owned(),
        ints: ints.to_vec(),
        r#type: attribute_type::INTS,
        ..AttributeProto::default()
    }
}

fn int(name: &str, i: i64) -> AttributeProto {
    AttributeProto {
        name: name.to_owned(),
        i: Some(i),
        r#type: attribute_type::INT,
        ..AttributeProto::default()
    }
}

/// Returns a chain of depthwise convolutions, whose weights are a few steps of 1/256, and pointwise
/// ones, which compensate for them. In float, the magnitude of values stays the same.
fn small_weights() -> Vec<u8> {
    let (mut nodes, mut tensors, mut last) = (Vec::new(), Vec::new(), "x".to_owned());
    for pair in 0..PAIRS {
        let [w, d, r, v, p, s] = ["w", "d", "r", "v", "p", "s"].map(|letter| format!("{letter}{pair}"));
        let small = noise(pair as u64).take(CHANNELS * 9).enumerate();
        // The weights of one channel are up to 6 steps, of another up to 1.5.
        let small = small.map(|(i, x)| x * 6.0 / 256.0 / (1 << (i / 9 % 3)) as f32).collect();
        tensors.push(tensor(&w, &[CHANNELS, 1, 3, 3], small));
        let group = vec![int("group", CHANNELS as i64), ints("pads", &[1; 4]), ints("kernel_shape", &[3, 3])];
        nodes.push(node("Conv", &[&last, &w], &d, group));
        nodes.push(node("Relu", &[&d], &r, Vec::new()));
        let large = noise(100 + pair as u64).take(CHANNELS * CHANNELS).map(|x| 40.0 * x).collect();
        tensors.push(tensor(&v, &[CHANNELS, CHANNELS, 1, 1], large));
        nodes.push(node("Conv", &[&r, &v], &p, vec![ints("kernel_shape", &[1, 1])]));
        nodes.push(node("Relu", &[&p], &s, Vec::new()));
        last = s;
    }
    nodes.push(node("Identity", &[&last], "y", Vec::new()));
    let graph = GraphProto {
        node: nodes,
        name: "small".to_owned(),
        initializer: tensors,
        input: vec![info("x", &[1, CHANNELS, 8, 8])],
        output: vec![info("y", &[1, CHANNELS, 8, 8])],
        ..GraphProto::default()
    };
    let opset = OperatorSetIdProto { version: 13, ..OperatorSetIdProto::default() };
    ModelProto { ir_version: 8, opset_import: vec![opset], graph: Some(graph), ..Default::default() }
        .encode_to_vec()
}

#[test]
fn small_weights_vanish_and_calibration_brings_them_back() {
    let mut files = Memory::with_digits();
    files.0.insert("small.onnx".into(), small_weights());
    let values: Vec<f32> = noise(9).take(2 * CHANNELS * 64).collect();
    files.0.insert("x.npy".into(), array(&[2, CHANNELS, 8, 8], &values));
    let source = Source { path: "small.onnx".into(), ..digits("tcu") };
    let plain = looked_at(source.clone(), true, &files);
    let before = plain.comparison.unwrap();
    assert!(before.relative_error.unwrap() > 0.2 && plain.saturations == 0, "{before:?}");
    let underflow = plain.underflow.unwrap();
    assert!(underflow.constants > 0 && underflow.results > 0, "{underflow:?}");
    assert!(underflow.layers.iter().any(|used| used.is_poor()), "{underflow:?}");
    assert!(plain.warnings.iter().any(|text| text.contains("--calibrate")), "{:?}", plain.warnings);
    assert_eq!(
        plain.layer_compare.unwrap().first_divergence.map(|divergence| divergence.why).as_deref(),
        Some("underflow")
    );

    let report = looked_at(calibrated(source), true, &files);
    let after = report.comparison.unwrap();
    let rescaling = report.rescaling.unwrap();
    assert!(rescaling.applied && rescaling.layers.iter().any(|layer| layer.exponent < 0), "{rescaling:#?}");
    assert!(after.rms_error < before.rms_error / 8.0 && report.saturations == 0, "{before:?} {after:?}");
    assert!(after.relative_error.unwrap() < 0.05, "{after:?}");
}

#[test]
fn made_up_samples_leave_room_on_wide_integers() {
    let mut files = Memory::with_digits();
    files.0.insert("mlp.onnx".into(), include_bytes!("../../assets/digits_mlp.onnx").to_vec());
    let source = Source { path: "mlp.onnx".into(), ..digits("drra:3x4+ext") };
    let report = looked_at(source, false, &files);
    let quantization = report.quantization.unwrap();
    assert!(
        quantization.made_up && quantization.warnings[0].contains("generated"),
        "{:?}",
        quantization.warnings
    );
    assert_eq!(report.saturations, 0);
    assert!(report.comparison.unwrap().relative_error.unwrap() < 0.005, "{:?}", report.comparison);
}

/// Sums used to differ in the last digit, because they were added in the order in which cores
/// finished.
#[test]
fn figures_do_not_depend_on_the_number_of_cores() {
    let mut files = Memory::with_digits();
    files.0.insert("x.npy".into(), include_bytes!("../../assets/digits_calibration.npy").to_vec());
    let report = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let (report, _) = pool.install(|| compile(&calibrated(digits("opu")), files.context())).unwrap();
        serde_json::to_string(&report.quantization).unwrap()
    };
    let one = report(1);
    assert!(one.contains("signal_to_noise_db"));
    for threads in [2, 3, 5] {
        assert_eq!(report(threads), one, "{threads} threads");
    }
}

/// Without the feature `float_roundtrip` of serde_json, some floats are read as an adjacent one.
#[test]
fn figures_are_read_as_they_were_written() {
    for x in noise(5).zip(noise(6)).take(20_000).map(|(a, b)| f64::from(a) * f64::from(b) / 3.0) {
        let read: f64 = serde_json::from_str(&serde_json::to_string(&x).unwrap()).unwrap();
        assert_eq!(read.to_bits(), x.to_bits(), "{x}");
    }
}
