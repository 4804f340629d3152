//! Traces of every tensor, and comparison of two sides of a network: float, machine, artifact,
//! arrays and a board's memory.

use std::collections::BTreeMap;

use npukit::report::TensorKind;
use npukit::verbs::compile::compile;
use npukit::verbs::diff::values::{Explanation, Report, Request, diff_values};
use npukit::verbs::run::run;
use npukit::verbs::trace::{self, trace};
use npukit::{Error, InputFile, Source, Tensor};
use npukit_numeric::npy::{NpyArray, NpyData, read_npz, write_npy, write_npz};

use crate::memory::{Memory, digits};

const ARTIFACT: &str = "digits_onnx_pynqz1.tmodel";
const MACHINE: &str = "digits.onnx@tcu:pynqz1";

fn inputs() -> Vec<InputFile> {
    vec![InputFile::parse("x.npy")]
}

fn traced(source: Source, model: Option<&str>, files: &Memory) -> (trace::Report, BTreeMap<String, Tensor>) {
    let model = model.map(str::to_owned);
    let request = trace::Request { source, model, inputs: inputs(), ..trace::Request::default() };
    let mut bytes = Vec::new();
    let report = trace(&request, &mut bytes, files.context()).unwrap();
    let arrays: BTreeMap<String, Tensor> = read_npz("t.npz", &bytes).unwrap().into_iter().collect();
    for tensor in &report.tensors {
        let member = tensor.member.as_ref().unwrap_or(&tensor.name);
        assert_eq!(arrays[member].shape(), tensor.shape, "{member}");
    }
    assert_eq!(arrays.len(), report.tensors.len());
    (report, arrays)
}

fn compared(before: &str, after: &str, files: &Memory) -> Result<Report, Error> {
    let [before, after] = [before, after].map(str::to_owned);
    diff_values(&Request { before, after, inputs: inputs(), ..Request::default() }, files.context())
}

fn kept(arrays: &BTreeMap<String, Tensor>) -> Vec<u8> {
    write_npz(
        &arrays.iter().map(|(name, tensor)| (name.as_str(), NpyArray::from(tensor))).collect::<Vec<_>>(),
    )
    .unwrap()
}

/// Returns the tensor with one element changed by `by`.
fn changed(tensor: &Tensor, element: usize, by: f32) -> Tensor {
    let mut values = tensor.as_f32().unwrap().to_vec();
    values[element] += by;
    Tensor::from_f32(tensor.shape().to_vec(), values).unwrap()
}

fn named<'a>(report: &'a Report, name: &str) -> &'a npukit::verbs::diff::values::TensorReport {
    report.tensors.iter().find(|tensor| tensor.name == name).unwrap()
}

#[test]
fn a_trace_has_the_model_s_names_and_shapes() {
    let files = Memory::with_digits();
    let model = Source { path: "digits.onnx".into(), ..Source::default() };
    let (report, float) = traced(model, None, &files);
    assert_eq!((report.samples, report.target, report.passes), (3, None, 1));
    let (report, machine) = traced(digits("tcu"), None, &files);
    let kinds: Vec<(&str, TensorKind)> =
        report.tensors.iter().map(|tensor| (tensor.name.as_str(), tensor.kind)).collect();
    let (layer, output) = (TensorKind::Layer, TensorKind::Output);
    assert_eq!(kinds, [("image", TensorKind::Input), ("pool1", layer), ("relu2", layer), ("logits", output)]);
    assert_eq!(report.tensors[1].layer.as_deref(), Some("/conv1+/relu1+/pool1"));
    for (name, tensor) in &machine {
        assert_eq!(tensor.shape(), float[name].shape(), "{name}");
        let furthest = |(a, b): (&f32, &f32)| (a - b).abs();
        let pairs = tensor.as_f32().unwrap().iter().zip(float[name].as_f32().unwrap());
        assert!(pairs.map(furthest).fold(0.0, f32::max) < 0.3, "{name}: another order of axes");
    }
}

#[test]
fn an_artifact_has_layers_where_its_model_is_named() {
    let files = Memory::with_digits();
    let (alone, _) = traced(Source::artifact(ARTIFACT), None, &files);
    assert_eq!(alone.tensors.iter().map(|tensor| &tensor.name).collect::<Vec<_>>(), ["image", "logits"]);
    let (_, compiled) = traced(digits("tcu"), None, &files);
    let (with_model, artifact) = traced(Source::artifact(ARTIFACT), Some("digits.onnx"), &files);
    assert_eq!(artifact, compiled);
    assert!(with_model.notes[0].contains("word for word"), "{:?}", with_model.notes);
}

#[test]
fn a_model_from_which_the_artifact_does_not_come_is_refused() {
    let mut files = Memory::with_digits();
    // Equal shapes, but with another addend of the last product.
    let mut other = files.0["digits.onnx"].clone();
    let options = npukit_import::onnx::Options::default();
    let graph = npukit_import::onnx::read(&other, "digits", &options).unwrap().graph;
    let bias = graph.nodes.last().and_then(|node| graph.constant(*node.inputs.last()?)).unwrap();
    let bytes: Vec<u8> = bias.as_f32().unwrap().iter().flat_map(|x| x.to_le_bytes()).collect();
    let place = other.windows(bytes.len()).position(|window| window == bytes).unwrap();
    other[place..place + 4].copy_from_slice(&1.0f32.to_le_bytes());
    files.0.insert("other.onnx".into(), other);
    let request = |model: &str| trace::Request {
        source: Source::artifact(ARTIFACT),
        model: Some(model.to_owned()),
        inputs: inputs(),
        ..trace::Request::default()
    };
    let error = trace(&request("other.onnx"), &mut Vec::new(), files.context()).unwrap_err();
    assert!(matches!(&error, Error::OtherModel { reason, .. } if reason.contains("`logits`")), "{error}");
    let (_, bytes) = npukit::verbs::zoo::zoo("mlp", 0).unwrap();
    files.0.insert("mlp.onnx".into(), bytes);
    let error = trace(&request("mlp.onnx"), &mut Vec::new(), files.context()).unwrap_err();
    assert!(error.to_string().contains("[1, 784]"), "{error}");
}

/// Gives the same result as `npu run --compare`.
#[test]
fn float_and_machine_differ_by_rounding() {
    let files = Memory::with_digits();
    let report = compared("digits.onnx", MACHINE, &files).unwrap();
    assert!(report.failures.is_empty() && report.parts_at.is_none(), "{report:#?}");
    let looked = npukit::verbs::run::Request {
        source: digits("tcu"),
        inputs: inputs(),
        compare: true,
        ..npukit::verbs::run::Request::default()
    };
    let layers = run(&looked, files.context()).unwrap().0.layer_compare.unwrap().layers;
    assert_eq!(report.tensors[0].explanation, Explanation::Same, "the input");
    for (tensor, layer) in report.tensors[1..].iter().zip(layers) {
        let figures = layer.figures.unwrap();
        assert_eq!(tensor.layer, Some(layer.name));
        assert_eq!(tensor.max_abs_error, figures.chain_max_abs_error);
        assert_eq!(tensor.rms_error, figures.chain_rms_error);
        assert_eq!(
            (tensor.rounding_bound, tensor.beyond_rounding),
            (figures.rounding_bound, figures.beyond_rounding)
        );
        assert_eq!(tensor.explanation, Explanation::Rounding);
        assert!(tensor.correlation.unwrap() > 0.999 && tensor.first.is_some());
    }
    let first = report.first_difference.unwrap();
    assert_eq!((first.tensor.as_str(), first.index.len()), ("pool1", 4));
    assert_eq!(first.axes.unwrap(), ["batch", "channel", "row", "column"]);
}

#[test]
fn a_board_that_is_wrong_in_a_layer_is_found_there() {
    let mut files = Memory::with_digits();
    let (_, mut board) = traced(digits("tcu"), None, &files);
    files.0.insert("right.npz".into(), kept(&board));
    let report = compared(MACHINE, "right.npz", &files).unwrap();
    assert!(report.failures.is_empty() && report.first_difference.is_none());

    // Sample 1, channel 5, row 2, column 3 of [3, 32, 4, 4]: a value that the layer cannot compute.
    let relu2 = changed(&board["relu2"], 32 * 16 + 5 * 16 + 2 * 4 + 3, 3.0);
    board.insert("relu2".into(), relu2);
    files.0.insert("wrong.npz".into(), kept(&board));
    let report = compared(MACHINE, "wrong.npz", &files).unwrap();
    let parting = report.parts_at.as_ref().unwrap();
    assert_eq!((parting.tensor.as_str(), parting.why), ("relu2", Explanation::BeyondRounding));
    let first = report.first_difference.as_ref().unwrap();
    assert_eq!((first.sample, &first.index[..]), (1, &[0, 5, 2, 3][..]));
    assert_eq!(first.after - first.before, 3.0);
    let relu2 = named(&report, "relu2");
    assert_eq!((relu2.differing, relu2.beyond_rounding), (1, 1));
    let instructions = relu2.instructions.as_ref().unwrap();
    assert!(instructions.first > 0 && instructions.last > Some(instructions.first), "{instructions:?}");
    assert_eq!(named(&report, "pool1").explanation, Explanation::Same);
    assert_eq!(report.failures.len(), 1);

    // A single step of the number format: rounding could explain it, but the machine is exact.
    let (_, mut board) = traced(digits("tcu"), None, &files);
    let logits = changed(&board["logits"], 7, 1.0 / 256.0);
    board.insert("logits".into(), logits);
    files.0.insert("near.npz".into(), kept(&board));
    let report = compared(MACHINE, "near.npz", &files).unwrap();
    assert_eq!(named(&report, "logits").explanation, Explanation::Rounding);
    assert_eq!(report.failures, ["`logits` differs in 1 of 30 elements"]);
    let writer = report.first_difference.unwrap();
    assert!(writer.instruction.unwrap() > 800 && writer.instruction_text.unwrap().contains("dram0"));
}

#[test]
fn what_was_kept_alone_is_bounded_only_where_operands_are() {
    let mut files = Memory::with_digits();
    let (_, board) = traced(digits("tcu"), None, &files);
    let only = BTreeMap::from([("logits".to_owned(), changed(&board["logits"], 0, 900.0))]);
    files.0.insert("logits.npz".into(), kept(&only));
    let report = compared(MACHINE, "logits.npz", &files).unwrap();
    // All layers after the input round: the bound is that of the whole network.
    let logits = named(&report, "logits");
    assert_eq!((logits.explanation, logits.beyond_rounding), (Explanation::BeyondRounding, 1));
    assert_eq!(report.only_before, ["image", "pool1", "relu2"]);
    // Without a model, no bound is known.
    let report = compared(ARTIFACT, "logits.npz", &files).unwrap();
    assert_eq!(named(&report, "logits").explanation, Explanation::NoBound);
    assert_eq!(report.failures.len(), 1);
}

#[test]
fn whole_numbers_are_the_machine_s() {
    let mut files = Memory::with_digits();
    let (_, board) = traced(digits("tcu"), None, &files);
    let mut raw: Vec<i32> = board["logits"].as_f32().unwrap().iter().map(|x| (x * 256.0) as i32).collect();
    let npz =
        |raw: &[i32]| write_npz(&[("logits", NpyArray::new(&[3, 10], NpyData::I32(raw)).unwrap())]).unwrap();
    files.0.insert("raw.npz".into(), npz(&raw));
    assert!(compared(ARTIFACT, "raw.npz", &files).unwrap().failures.is_empty());
    raw[11] ^= 1;
    files.0.insert("raw.npz".into(), npz(&raw));
    let report = compared(ARTIFACT, "raw.npz", &files).unwrap();
    let first = report.first_difference.unwrap();
    assert_eq!(
        (first.sample, &first.index[..], (first.after - first.before).abs()),
        (1, &[0, 1][..], 1.0 / 256.0)
    );
}

#[test]
fn a_memory_is_read_by_the_program_s_ports() {
    let mut files = Memory::with_digits();
    // One sample, as in a memory.
    let x = npukit_numeric::npy::read_npy("x", &files.0["x.npy"]).unwrap();
    let one = write_npy(NpyArray::new(&[1, 1, 8, 8], NpyData::F32(&x.as_f32().unwrap()[..64])).unwrap());
    files.0.insert("x.npy".into(), one);
    let (_, machine) = traced(Source::artifact(ARTIFACT), None, &files);
    // `image` is 64 vectors of 8 scalars starting at vector 0, with one scalar in lane 0 of each;
    // `logits` is two vectors starting at 64.
    let mut image = vec![0xAA; 1 << 12];
    let mut put = |vector: usize, lane: usize, value: f32| {
        let at = (vector * 8 + lane) * 2;
        image[at..at + 2].copy_from_slice(&((value * 256.0 + 0.5).floor() as i16).to_le_bytes());
    };
    machine["image"].as_f32().unwrap().iter().enumerate().for_each(|(i, &x)| put(i, 0, x));
    machine["logits"].as_f32().unwrap().iter().enumerate().for_each(|(i, &x)| put(64 + i / 8, i % 8, x));
    files.0.insert("dram0.bin".into(), image.clone());
    let report = compared(ARTIFACT, "dram0=dram0.bin", &files).unwrap();
    assert!(report.first_difference.is_none() && report.failures.is_empty(), "{report:#?}");
    assert_eq!(
        report.tensors.iter().map(|tensor| tensor.name.as_str()).collect::<Vec<_>>(),
        ["image", "logits"]
    );
    // Number 9 is in the second vector.
    image[(65 * 8 + 1) * 2] ^= 4;
    files.0.insert("dram0.bin".into(), image.clone());
    let report = compared(MACHINE, "dram0=dram0.bin", &files).unwrap();
    let first = report.first_difference.unwrap();
    assert_eq!((first.tensor.as_str(), &first.index[..]), ("logits", &[0, 9][..]));
    assert!(first.instruction.is_some());

    files.0.insert("short.bin".into(), image[..100].to_vec());
    let error = compared(ARTIFACT, "dram0=short.bin", &files).unwrap_err().to_string();
    assert!(error.contains("100 bytes"), "{error}");
    assert!(compared(ARTIFACT, "dram1=dram0.bin", &files).is_err());
    let error = compared("digits.onnx", "dram0=dram0.bin", &files).unwrap_err();
    assert!(matches!(error, Error::NotComparable { .. }), "{error}");
}

#[test]
fn two_targets_are_held_against_each_other() {
    let files = Memory::with_digits();
    let report = compared(MACHINE, "digits.onnx@tcu:zcu104", &files).unwrap();
    assert!(report.failures.is_empty(), "{:?}", report.failures);
    assert_eq!(report.tensors.len(), 4);
    assert!(
        report
            .tensors
            .iter()
            .all(|tensor| { matches!(tensor.explanation, Explanation::Same | Explanation::Rounding) })
    );
    let (_, artifact) = compile(&digits("tcu:zcu104"), files.context()).unwrap();
    let mut files = files;
    files.0.extend(artifact.into_iter().map(|file| (file.name, file.bytes)));
    let report = compared("digits_onnx_zcu104.tmodel", ARTIFACT, &files).unwrap();
    assert_eq!(report.tensors.len(), 2, "inputs and outputs");
}

#[test]
fn inputs_are_rounded_and_no_more() {
    let mut files = Memory::with_digits();
    let x = npukit_numeric::npy::read_npy("x", &files.0["x.npy"]).unwrap();
    let mut odd = x.as_f32().unwrap().to_vec();
    odd[3] = 0.3;
    let npy = |values: &[f32]| write_npy(NpyArray::new(&[3, 1, 8, 8], NpyData::F32(values)).unwrap());
    files.0.insert("x.npy".into(), npy(&odd));
    let report = compared("digits.onnx", MACHINE, &files).unwrap();
    let image = named(&report, "image");
    assert_eq!((image.explanation, image.rounding_bound), (Explanation::Rounding, Some(0.5 / 256.0)));
    assert!(report.failures.is_empty());
    odd[3] = 300.0;
    files.0.insert("x.npy".into(), npy(&odd));
    let report = compared("digits.onnx", MACHINE, &files).unwrap();
    let image = named(&report, "image");
    assert_eq!((image.explanation, image.saturations), (Explanation::Saturation, 1));
    assert_eq!(report.parts_at.unwrap().tensor, "image");
}

#[test]
fn what_does_not_belong_together_is_refused() {
    let mut files = Memory::with_digits();
    let tensor =
        |shape: &[usize]| Tensor::from_f32(shape.to_vec(), vec![0.0; shape.iter().product()]).unwrap();
    files.0.insert("a.npz".into(), kept(&BTreeMap::from([("logits".to_owned(), tensor(&[3, 9]))])));
    let error = compared(MACHINE, "a.npz", &files).unwrap_err();
    assert!(matches!(&error, Error::OtherTensors { reason, .. } if reason.contains("`logits`")), "{error}");
    files.0.insert("b.npz".into(), kept(&BTreeMap::from([("z".to_owned(), tensor(&[3, 9]))])));
    let error = compared("b.npz", MACHINE, &files).unwrap_err();
    assert!(matches!(&error, Error::OtherTensors { reason, .. } if reason.contains("`z`")), "{error}");
    assert!(matches!(compared("a.npz", "nothing", &files), Err(Error::NotComparable { .. })));
}

#[test]
fn an_array_without_a_name_is_the_only_output_of_the_other_side() {
    let mut files = Memory::with_digits();
    let (_, arrays) = traced(digits("tcu:pynqz1"), None, &files);
    files.0.insert("y.npy".into(), write_npy(NpyArray::from(&arrays["logits"])));
    files.0.insert("two.npz".into(), kept(&arrays));
    files.0.insert("one.npz".into(), write_npz(&[("logits", NpyArray::from(&arrays["logits"]))]).unwrap());
    for (before, after) in [
        (MACHINE, "y.npy"),
        ("y.npy", MACHINE),
        (ARTIFACT, "y.npy"),
        ("y.npy", "one.npz"),
        ("y.npy", "y.npy"),
    ] {
        let report = compared(before, after, &files).unwrap();
        let [tensor] = &report.tensors[..] else { panic!("{before} {after}: {:?}", report.tensors) };
        assert_eq!((tensor.differing, tensor.elements), (0, 30), "{before} {after}");
        assert!(report.failures.is_empty(), "{:?}", report.failures);
    }
    assert_eq!(compared("digits.onnx", "y.npy", &files).unwrap().tensors[0].name, "logits");
    let unnamed = compared("two.npz", "y.npy", &files).unwrap_err().to_string();
    assert!(unnamed.contains("outputs: give an `.npz`"), "{unnamed}");
}
