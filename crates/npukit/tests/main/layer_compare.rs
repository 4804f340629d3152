//! Layer comparison and numeric range, on the embedded network and on a loud version. In the loud
//! version, the first layer is 64 times as large and the second 64 times as small, which does not
//! change float results but saturates FP16BP8.

use npukit::Source;
use npukit::report::{DumpedTensor, LayerError};
use npukit::verbs::compile::{compile, emit};
use npukit::verbs::run::{Files, Report, Request, run};
use npukit::{Calibration, InputFile, RescaleMode};
use npukit_graph::Op;
use npukit_numeric::Tensor;
use npukit_numeric::npy::read_npz;

use crate::memory::{Memory, digits};

const ARCH: &str = r#"{"data_type":"FP16BP8","array_size":8,"dram0_depth":DRAM0,"dram1_depth":65536,
"local_depth":4096,"accumulator_depth":1024,"simd_registers_depth":1,"stride0_depth":8,"stride1_depth":8}"#;

fn request(source: Source) -> Request {
    Request {
        source,
        inputs: vec![InputFile::parse("x.npy")],
        compare: true,
        dump: true,
        ..Request::default()
    }
}

fn calibrated(path: &str, mode: RescaleMode) -> Source {
    let calibration = Calibration { inputs: vec![InputFile::parse("x.npy")], mode, ..Calibration::default() };
    Source { path: path.to_owned(), calibration, ..digits("tcu") }
}

fn looked_at(source: Source, files: &Memory) -> (Report, Files) {
    run(&request(source), files.context()).unwrap()
}

/// Returns the digits network with convolutions scaled in the file itself.
fn with_loud_digits() -> Memory {
    let mut files = Memory::with_digits();
    let mut bytes = files.0["digits.onnx"].clone();
    let graph =
        npukit_import::onnx::read(&bytes, "digits", &npukit_import::onnx::Options::default()).unwrap().graph;
    let factors: [&[f32]; 2] = [&[64.0, 64.0], &[1.0 / 64.0]];
    let convs = graph.nodes.iter().filter(|node| matches!(node.op, Op::Conv(_)));
    let mut scaled = 0;
    for (conv, factors) in convs.zip(factors) {
        for (&operand, &factor) in conv.inputs[1..].iter().zip(factors) {
            let constant = stored(&graph, operand);
            let old: Vec<u8> = constant.iter().flat_map(|x| x.to_le_bytes()).collect();
            let new: Vec<u8> = constant.iter().flat_map(|x| (x * factor).to_le_bytes()).collect();
            let at = bytes.windows(old.len()).position(|window| window == old).unwrap();
            bytes[at..at + old.len()].copy_from_slice(&new);
            scaled += 1;
        }
    }
    assert_eq!(scaled, 3, "two convolutions, and the addends of the first");
    files.0.insert("loud.onnx".into(), bytes);
    files
}

/// Returns the floats of a constant as stored in the file: weights with the output channels first.
fn stored(graph: &npukit_graph::Graph, id: npukit_graph::ValueId) -> Vec<f32> {
    let tensor = graph.constant(id).unwrap();
    let values = tensor.as_f32().unwrap();
    let &[kh, kw, ci, co] = tensor.shape() else { return values.to_vec() };
    let pixel = |o: usize, i: usize| (0..kh * kw).map(move |k| (k * ci + i) * co + o);
    (0..co).flat_map(|o| (0..ci).flat_map(move |i| pixel(o, i))).map(|at| values[at]).collect()
}

fn array<'a>(arrays: &'a [(String, Tensor)], name: &str) -> &'a [f32] {
    let found = arrays.iter().find(|(array, _)| array == name);
    found.unwrap_or_else(|| panic!("no `{name}`")).1.as_f32().unwrap()
}

#[test]
fn a_quiet_network_differs_by_rounding_alone() {
    let files = Memory::with_digits();
    let (report, written) = looked_at(digits("tcu"), &files);
    let plain =
        run(&Request { compare: false, dump: false, ..request(digits("tcu")) }, files.context()).unwrap();
    assert_eq!(written.outputs, plain.1.outputs, "looking changes nothing");
    let compared = report.layer_compare.unwrap();
    assert_eq!((compared.layers.len(), compared.programs), (3, 1));
    assert!(compared.first_divergence.is_none() && compared.suggestions.is_empty(), "{compared:#?}");
    for layer in &compared.layers {
        let figures = layer.figures.unwrap();
        assert!(
            figures.own_max_abs_error > 0.0 && figures.own_max_abs_error <= figures.rounding_bound.unwrap()
        );
        assert!(figures.own_rms_error <= figures.own_max_abs_error && figures.minimum < figures.maximum);
    }
    let last = compared.layers[2].figures.unwrap();
    // The chain is computed with the simplified graph, whose sums round differently from the
    // model's.
    let found = report.comparison.unwrap();
    assert!((last.chain_max_abs_error - found.max_abs_error).abs() < 1e-5, "{last:?} and {found:?}");
    assert!((last.chain_rms_error - found.rms_error).abs() < 1e-5, "{last:?} and {found:?}");

    // The errors follow from the tensors in the dump.
    let arrays = read_npz("dump", &written.dump.unwrap()).unwrap();
    let outputs = read_npz("outputs", &written.outputs).unwrap();
    assert_eq!(array(&arrays, "machine/logits"), outputs[0].1.as_f32().unwrap());
    let apart = |a: &[f32], b: &[f32]| {
        a.iter().zip(b).map(|(a, b)| (f64::from(*a) - f64::from(*b)).abs()).fold(0.0, f64::max)
    };
    for layer in &compared.layers {
        let [machine, alone, whole] =
            ["machine", "layer", "float"].map(|kind| array(&arrays, &format!("{kind}/{}", layer.results[0])));
        let figures = layer.figures.unwrap();
        assert_eq!(apart(machine, alone), figures.own_max_abs_error);
        assert_eq!(apart(machine, whole), figures.chain_max_abs_error);
    }
}

/// Members of the archive have safe names; the report contains the names in the model.
#[test]
fn renamed_tensors_are_told_by_their_names_in_the_model() {
    let mut files = Memory::with_digits();
    let mut model = files.0["digits.onnx"].clone();
    for (name, other) in
        [("logits", "../x/y"), ("relu1", "a\u{1b}[2J"), ("pool1", "a_[2J"), ("image", "/imag")]
    {
        rename(&mut model, name, other);
    }
    files.0.insert("m.onnx".into(), model);
    let (report, written) = looked_at(Source { path: "m.onnx".into(), ..digits("tcu") }, &files);
    let arrays = read_npz("dump", &written.dump.unwrap()).unwrap();
    let members = |tensor: &DumpedTensor| tensor.member.clone().unwrap_or_else(|| tensor.name.clone());
    let messages: Vec<_> = report.dump.iter().map(|tensor| (members(tensor), tensor.shape.clone())).collect();
    let found: Vec<_> = arrays.iter().map(|(name, array)| (name.clone(), array.shape().to_vec())).collect();
    assert_eq!(messages, found);
    let member = |name: &str| report.dump.iter().find(|tensor| tensor.name == name).unwrap().member.clone();
    assert_eq!(member("machine/../x/y").as_deref(), Some("machine/__/x/y"));
    assert_eq!(member("float//imag"), None, "within a path two slashes are as good as one");
    let outputs = (report.outputs[0].name.as_str(), report.outputs[0].member.as_deref());
    assert_eq!(outputs, ("../x/y", Some("__/x/y")));
    let (report, _) = looked_at(digits("tcu"), &files);
    assert!(!report.dump.is_empty() && report.dump.iter().all(|tensor| tensor.member.is_none()));
}

/// Replaces `name` in a model by another name of the same length.
fn rename(model: &mut [u8], name: &str, other: &str) {
    assert_eq!(name.len(), other.len());
    let places = (0..model.len()).filter(|&at| model[at..].starts_with(name.as_bytes()));
    let places: Vec<usize> = places.collect();
    assert!(!places.is_empty(), "{name}");
    places.iter().for_each(|&at| model[at..at + name.len()].copy_from_slice(other.as_bytes()));
}

#[test]
fn small_memories_take_several_programs() {
    let mut files = Memory::with_digits();
    let mut look = |depth: &str| {
        files.0.insert("a.tarch".into(), ARCH.replace("DRAM0", depth).into_bytes());
        let (report, written) = looked_at(digits("tcu:a.tarch"), &files);
        (report.layer_compare.unwrap(), written.dump.unwrap())
    };
    let ((whole, dump), (parts, other)) = (look("4096"), look("99"));
    assert_eq!((whole.programs, parts.programs), (1, 2));
    assert_eq!((whole.layers, dump), (parts.layers, other));
}

#[test]
fn a_loud_network_parts_where_it_saturates() {
    let files = with_loud_digits();
    let source = Source { path: "loud.onnx".into(), ..digits("tcu") };
    let (report, _) = looked_at(source, &files);
    let compared = report.layer_compare.unwrap();
    let divergence = compared.first_divergence.unwrap();
    assert_eq!(
        (divergence.at.as_str(), divergence.why.as_str()),
        (compared.layers[0].name.as_str(), "saturation")
    );
    assert!(compared.layers[0].saturations > 0 && compared.layers[0].figures.unwrap().beyond_rounding > 0);
    assert!(compared.layers[1].figures.unwrap().beyond_rounding == 0, "its own error is rounding");
    let [scale, wider] = &compared.suggestions[..] else { panic!("{:?}", compared.suggestions) };
    assert!(scale.contains("`--calibrate` with these inputs leaves 0 of "), "{scale}");
    assert!(wider.contains("FP32BP16 does not saturate"), "{wider}");
}

#[test]
fn calibration_takes_the_loudness_away() {
    let files = with_loud_digits();
    let quiet = looked_at(digits("tcu"), &files).0.comparison.unwrap();
    let (report, _) = looked_at(calibrated("loud.onnx", RescaleMode::Auto), &files);
    let rescaling = report.rescaling.unwrap();
    let after = rescaling.after.unwrap();
    assert!(
        rescaling.applied && rescaling.before.saturations > 0 && after.saturations == 0,
        "{rescaling:#?}"
    );
    assert!(after.comparison.rms_error < rescaling.before.comparison.rms_error / 4.0, "{rescaling:#?}");
    assert!(after.comparison.rms_error < 2.0 * quiet.rms_error, "{after:?} and {quiet:?}");
    assert!(rescaling.layers.iter().any(|layer| layer.exponent > 0), "{rescaling:#?}");
    assert_eq!(report.saturations, 0);
    let compared = report.layer_compare.unwrap();
    assert!(compared.first_divergence.is_none(), "{:?}", compared.first_divergence);
    // Figures are in the model's scale; this one exceeds every number of the format.
    let is_loud = |layer: &&LayerError| layer.figures.is_some_and(|figures| figures.float_maximum > 128.0);
    let loud: Vec<_> = compared.layers.iter().filter(is_loud).collect();
    let is_scaled = |layer: &&LayerError| layer.exponent > 0 && layer.figures.unwrap().maximum > 128.0;
    assert!(!loud.is_empty() && loud.iter().all(is_scaled), "{loud:?}");
}

#[test]
fn nothing_changes_without_need_or_wish() {
    let files = with_loud_digits();
    let program = |source: &Source| {
        let (report, written) = compile(source, files.context()).unwrap();
        (report.rescaling, written)
    };
    let plain = program(&digits("tcu"));
    let quiet = program(&calibrated("digits.onnx", RescaleMode::Auto));
    assert_eq!((quiet.0.map(|report| report.applied), &quiet.1), (Some(false), &plain.1));
    let never = program(&calibrated("loud.onnx", RescaleMode::Never));
    let loud = program(&Source { path: "loud.onnx".into(), ..digits("tcu") });
    assert_eq!(never, loud);
    let always = program(&calibrated("loud.onnx", RescaleMode::Always));
    assert!(always.0.unwrap().applied && always.1 != loud.1);
    let uncalibrated = Calibration { mode: RescaleMode::Always, ..Calibration::default() };
    let error = compile(&Source { calibration: uncalibrated, ..digits("tcu") }, files.context()).unwrap_err();
    assert!(error.is_usage() && error.to_string().contains("--calibrate"), "{error}");
    let graph = emit(&calibrated("loud.onnx", RescaleMode::Auto), "graph", files.context()).unwrap();
    assert_ne!(
        graph,
        emit(&Source { path: "loud.onnx".into(), ..digits("tcu") }, "graph", files.context()).unwrap()
    );
}

#[test]
fn an_input_that_does_not_fit_is_told() {
    use npukit_numeric::npy::{NpyArray, NpyData, write_npy};
    let mut files = Memory::with_digits();
    let mut image = vec![0.5f32; 64];
    image[7] = 300.0;
    files.0.insert("x.npy".into(), write_npy(NpyArray::new(&[1, 1, 8, 8], NpyData::F32(&image)).unwrap()));
    let compared = looked_at(digits("tcu"), &files).0.layer_compare.unwrap();
    let divergence = compared.first_divergence.unwrap();
    assert_eq!((divergence.at.as_str(), divergence.input), ("image", true));
    assert!(
        compared.suggestions[0].contains("1 of 64 values of input `image`"),
        "{:?}",
        compared.suggestions
    );
    assert!(compared.suggestions[0].contains("divided by 4"), "{:?}", compared.suggestions);
}

#[test]
fn an_artifact_has_no_layers_to_compare() {
    let files = Memory::with_digits();
    let source = Source { path: "digits_onnx_pynqz1.tmodel".into(), ..Source::default() };
    let error = run(&request(source), files.context()).unwrap_err();
    assert!(error.is_usage() && error.to_string().contains("`--compare` or `--dump`"), "{error}");
}
