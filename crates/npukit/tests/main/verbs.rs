//! Results of verbs that the command's own tests do not cover.

use std::collections::BTreeSet;

use npukit::Source;
use npukit::verbs::asm::asm;
use npukit::verbs::check::check;
use npukit::verbs::compile::compile;
use npukit::verbs::run::{Request, run};
use npukit::verbs::time::time;
use npukit::{Error, GivenRange, InputFile, ModelOptions, targets};
use npukit_numeric::npy::{NpyArray, NpyData, read_npz, write_npy};
use npukit_target::{InstanceSpec, TargetError};

use crate::memory::{Memory, digits};

fn request(source: Source, input: &str) -> Request {
    Request { source, inputs: vec![InputFile::parse(input)], raw: false, ..Request::default() }
}

#[test]
fn rows_of_vectors_are_the_same_inputs() {
    let mut files = Memory::with_digits();
    let images = npukit_numeric::npy::read_npy("x.npy", &files.0["x.npy"]).unwrap();
    // The only channel is lane 0 of eight.
    let line = |value: &f32| format!("{value:?},0,0,0,0,0,0,0\r\n");
    let csv: String = images.as_f32().unwrap().iter().map(line).collect();
    files.0.insert("x.csv".into(), csv.into_bytes());
    let from_npy = run(&request(digits("tcu"), "x.npy"), files.context()).unwrap();
    let from_csv = run(&request(digits("tcu"), "image=x.csv"), files.context()).unwrap();
    assert_eq!(from_npy.1, from_csv.1, "the machine");
    assert_eq!(from_npy.0.comparison, from_csv.0.comparison, "the float reference");
    // Measured: 0.106, with 8 fraction bits.
    let error = from_npy.0.comparison.unwrap().max_abs_error;
    assert!(error < 1.2 * 0.1064, "{error}");
}

#[test]
fn a_given_range_says_what_it_led_to() {
    let files = Memory::with_digits();
    let of = |range: &str| {
        let mut source = digits("tcu");
        source.calibration.ranges = vec![GivenRange::parse(range).unwrap()];
        source
    };
    for (range, said) in [
        (
            "-1..1",
            "values are not scaled: generated inputs (input `image` from -1 to 1 (as declared)) give values that fit",
        ),
        ("0..255", "scales were chosen from generated inputs (input `image` from 0 to 255 (as declared))"),
    ] {
        let notes = compile(&of(range), files.context()).unwrap().0.notes;
        assert!(notes.iter().any(|note| note.starts_with(said)), "{notes:?}");
        assert!(!notes.iter().any(|note| note.contains("are assumed to fit")), "{notes:?}");
        let reason = check(&of(range), files.context()).unwrap().verdict.saturation.unwrap().reason;
        assert!(reason.contains("checked in float on generated inputs (input `image`"), "{reason}");
    }
}

#[test]
fn real_outputs_are_the_integers_times_the_smallest_step() {
    let files = Memory::with_digits();
    let source = Source { path: "digits_onnx_pynqz1.tmodel".into(), ..Source::default() };
    let real = run(&request(source.clone(), "x.npy"), files.context()).unwrap().1.outputs;
    let raw = run(&Request { raw: true, ..request(source, "x.npy") }, files.context()).unwrap().1.outputs;
    let real = read_npz("real", &real).unwrap().remove(0).1;
    let raw = read_npz("raw", &raw).unwrap().remove(0).1;
    assert_eq!((real.shape(), raw.shape()), (&[3, 10][..], &[3, 10][..]));
    let npukit_numeric::TensorData::I32(raw) = raw.data() else { panic!("integers") };
    let expected: Vec<f32> = raw.iter().map(|&v| v as f32 / 256.0).collect();
    assert_eq!(real.as_f32().unwrap(), expected);
}

/// Returns the artifact as other tools write it: without the model's shapes.
fn of_others() -> Memory {
    let mut files = Memory::with_digits();
    assert!(files.0.remove("digits_onnx_pynqz1.npukit.json").is_some());
    files
}

#[test]
fn an_artifact_without_shapes_takes_those_of_its_model() {
    let source = || Source::artifact("digits_onnx_pynqz1.tmodel");
    let ours = run(&request(source(), "x.npy"), Memory::with_digits().context()).unwrap();
    let compared = Request { model: Some("digits.onnx".into()), ..request(source(), "x.npy") };
    let (report, files) = run(&compared, of_others().context()).unwrap();
    assert_eq!(files.outputs, ours.1.outputs);
    assert_eq!(report.outputs, ours.0.outputs);
    // Measured: 0.106, with 8 fraction bits.
    let error = report.comparison.map(|found| found.max_abs_error);
    assert!(error.is_some_and(|error| error < 1.2 * 0.1064) && ours.0.comparison.is_none(), "{error:?}");
    assert!(report.notes.iter().any(|note| note.contains("of shape [1, 1, 8, 8]")), "{:?}", report.notes);
    let raw = run(&Request { raw: true, ..compared }, of_others().context()).unwrap().1.outputs;
    let ours = run(&Request { raw: true, ..request(source(), "x.npy") }, Memory::with_digits().context());
    assert_eq!(raw, ours.unwrap().1.outputs);
}

/// Compiles a model, adds its files, and returns the path of its manifest.
fn compiled(source: &Source, files: &mut Memory) -> String {
    let (_, artifact) = compile(source, files.context()).unwrap();
    let manifest = artifact[0].name.clone();
    files.0.extend(artifact.into_iter().map(|file| (file.name, file.bytes)));
    manifest
}

#[test]
fn the_model_of_an_artifact_is_read_as_when_it_was_compiled() {
    let mut files = Memory::with_digits();
    // On opu, the artifact has segments.
    for target in ["tcu", "opu", "drra:3x4+ext", "pccx"] {
        let two = ModelOptions { batch: Some(2), ..ModelOptions::default() };
        let manifest = compiled(&Source { model: two, ..digits(target) }, &mut files);
        let beside = Request {
            model: Some("digits.onnx".into()),
            ..request(Source::artifact(manifest.as_str()), "random:1")
        };
        let (report, _) = run(&beside, files.context()).unwrap();
        assert!(report.comparison.is_some(), "{target}");
        // Given options take precedence.
        let mut other = beside;
        other.source.model.batch = Some(3);
        let error = run(&other, files.context()).unwrap_err().to_string();
        assert!(error.contains("its `image` of shape [3, 1, 8, 8] does not fit"), "{target}: {error}");
    }
}

#[test]
fn an_artifact_is_compared_with_its_model_in_the_same_resize_mode() {
    let mut files = Memory::default();
    let resize = &include_bytes!("../../../../tests/filetests/models/resize.onnx")[..];
    files.0.insert("resize.onnx".into(), resize.to_vec());
    let half = ModelOptions { resize_half_pixel: Some(true), ..ModelOptions::default() };
    let mut source = Source { model: half.clone(), ..Source::model("resize.onnx", "tcu") };
    let manifest = compiled(&source, &mut files);
    let mut beside =
        Request { model: Some("resize.onnx".into()), ..request(Source::artifact(manifest), "random:1") };
    let error = |beside: &Request, files: &Memory| {
        run(beside, files.context()).unwrap().0.comparison.unwrap().max_abs_error
    };
    // Measured: 0.004 in this mode, 0.469 in the other one.
    assert!(error(&beside, &files) < 0.01);
    // The file of an older version, which does not contain the mode: the one of the other mode.
    let sidecar = beside.source.path.replace(".tmodel", ".npukit.json");
    assert!(String::from_utf8_lossy(&files.0[&sidecar]).contains("\"resize_half_pixel\":true"));
    source.model = ModelOptions::default();
    compiled(&source, &mut files);
    assert!(!String::from_utf8_lossy(&files.0[&sidecar]).contains("reading"));
    beside.source.model = half;
    assert!(error(&beside, &files) > 0.1, "the given mode is used");
    beside.model = None;
    let refused = run(&beside, files.context()).unwrap_err();
    assert!(matches!(refused, Error::NeedlessOption { .. }), "{refused}");
}

#[test]
fn a_model_is_like_its_own_artifact_only() {
    let refused = |source, model: &str, files: &Memory| {
        let compared = Request { model: Some(model.into()), ..request(source, "x.npy") };
        run(&compared, files.context()).unwrap_err().to_string()
    };
    let mut files = of_others();
    let model = &include_bytes!("../../../../tests/filetests/models/perceptron.onnx")[..];
    files.0.insert("other.onnx".into(), model.to_vec());
    let other = refused(Source::artifact("digits_onnx_pynqz1.tmodel"), "other.onnx", &files);
    assert!(other.contains("its `x` of shape [1, 8] does not fit"), "{other}");
    assert!(refused(digits("tcu"), "digits.onnx", &files).contains("`--model` is only for artifacts"));
}

#[test]
fn rows_of_an_artifact_take_fewer_channels_than_lanes() {
    let mut files = of_others();
    let ours = run(
        &request(Source::artifact("digits_onnx_pynqz1.tmodel"), "x.npy"),
        Memory::with_digits().context(),
    );
    let images = npukit_numeric::npy::read_npy("x.npy", &files.0["x.npy"]).unwrap();
    let array = NpyArray::new(&[3, 8, 8, 1], NpyData::F32(images.as_f32().unwrap())).unwrap();
    files.0.insert("hwc.npy".into(), write_npy(array));
    let (report, written) =
        run(&request(Source::artifact("digits_onnx_pynqz1.tmodel"), "hwc.npy"), files.context()).unwrap();
    let note = "has shape [3, 8, 8, 1]: its 1 channels were padded with zeros to the 8 lanes of a row";
    assert!(report.notes.iter().any(|said| said.contains(note)), "{:?}", report.notes);
    // Rows of eight lanes; ten lanes are classes.
    let rows = read_npz("rows", &written.outputs).unwrap().remove(0).1;
    let classes = read_npz("classes", &ours.unwrap().1.outputs).unwrap().remove(0).1;
    assert_eq!(rows.shape(), [6, 8]);
    for (row, classes) in rows.as_f32().unwrap().chunks(16).zip(classes.as_f32().unwrap().chunks(10)) {
        assert_eq!(row[..10], *classes);
    }
}

#[test]
fn every_preset_runs_the_network_as_float_does() {
    let files = Memory::with_digits();
    let mut others = BTreeSet::new();
    for target in targets() {
        for preset in target.presets() {
            let name = format!("{}:{}", target.name, preset.name);
            // The products of the released circuits are not connected to anything.
            if name == "pccx:upstream" {
                continue;
            }
            let report = match run(&request(digits(&name), "x.npy"), files.context()) {
                Err(Error::Target(TargetError::Unsupported { .. }) | Error::Refused { .. }) => {
                    others.insert(target.name);
                    continue;
                }
                result => result.unwrap().0,
            };
            let found = report.comparison.unwrap();
            // Measured: at most 0.108 on tcu; 0.539 to 0.540 on opu, whose integers have 8 bits;
            // 2.583 on pccx, whose weights have 4 bits; 2.406 on drra, whose operands of products
            // without fraction bits have at most 8 bits.
            let most = match target.name {
                "tcu" => 0.108,
                "pccx" => 2.583,
                "drra" => 2.406,
                _ => 0.54,
            };
            let is_near = found.max_abs_error < 1.2 * most;
            assert!(found.argmax_agree == Some(1.0) && is_near, "{name}: {found:?}");
        }
    }
    assert_eq!(others, BTreeSet::from(["drra"]), "have a preset that takes no network of images");
}

/// More bits give smaller errors; the float format equals float up to the order of sums.
#[test]
fn every_number_format_runs_the_network() {
    for (format, worst) in [("FP16BP8", 1.0), ("FP18BP10", 0.25), ("FP32BP16", 0.01), ("FLOAT32", 0.0001)] {
        let mut files = Memory::with_digits();
        let arch = format!(
            r#"{{"data_type":"{format}","array_size":8,"dram0_depth":65536,"dram1_depth":65536,
            "local_depth":8192,"accumulator_depth":2048,"simd_registers_depth":1,
            "stride0_depth":8,"stride1_depth":8}}"#
        );
        files.0.insert("a.tarch".into(), arch.into_bytes());
        let (report, _) = run(&request(digits("tcu:a.tarch"), "x.npy"), files.context()).unwrap();
        let found = report.comparison.unwrap();
        assert!(found.max_abs_error < worst, "{format}: {found:?}");
    }
}

#[test]
fn several_samples_in_a_program_are_one_sample_of_a_larger_batch() {
    let files = Memory::with_digits();
    let model = ModelOptions { batch: Some(3), ..ModelOptions::default() };
    let batched = Source { model, ..digits("tcu") };
    let one_by_one = run(&request(digits("tcu"), "x.npy"), files.context()).unwrap();
    let at_once = run(&request(batched, "x.npy"), files.context()).unwrap();
    assert_eq!((one_by_one.0.samples, at_once.0.samples), (3, 1));
    assert_eq!(one_by_one.1, at_once.1);
}

#[test]
fn hardware_takes_longer_than_the_estimate() {
    let files = Memory::with_digits();
    for preset in ["pynqz1", "pynqz1_12x12", "cmoda7", "ultra96v2", "zcu104"] {
        let report = time(&digits(&format!("tcu:{preset}")), files.context()).unwrap().time;
        assert!(report.cycles["hw"] > report.cycles["estimator"], "{preset}: {:?}", report.cycles);
        assert_eq!(report.assumptions.len(), report.cycles.len() - 1);
    }
}

/// The hardware's clock processes every vector: a program with 2^40 of them is recognized.
#[test]
fn absurdly_long_programs_are_timed_by_the_estimator_alone() {
    let deep = 1u64 << 50;
    let arch = format!(
        r#"{{"data_type":"FP16BP8","array_size":8,"dram0_depth":{deep},"dram1_depth":64,"local_depth":{deep},
        "accumulator_depth":{deep},"simd_registers_depth":1,"stride0_depth":1,"stride1_depth":1}}"#
    );
    let mut files = Memory::default();
    files.0.insert("a.tarch".into(), arch.clone().into_bytes());
    files.0.insert("p.s".into(), b"matmul local[0], acc[0], 1099511627776".to_vec());
    let program = asm("p.s", "tcu:a.tarch", files.context()).unwrap().1;
    let manifest = format!(
        r#"{{"name":"p","prog":{{"file_name":"p.tprog","size":{}}},"inputs":[],"outputs":[],"arch":{arch},
        "consts":[{{"file_name":"p.tdata","base":0,"size":0}}]}}"#,
        program.len()
    );
    files.0.insert("p.tprog".into(), program);
    files.0.insert("p.tdata".into(), Vec::new());
    files.0.insert("p.tmodel".into(), manifest.into_bytes());
    let source = Source { path: "p.tmodel".into(), ..Source::default() };
    let report = time(&source, files.context()).unwrap().time;
    assert_eq!(report.cycles["estimator"], (1 << 40) + 16);
    assert!(!report.cycles.contains_key("hw"));
    assert!(report.clock == "estimator" && report.notes[0].contains("at most"), "{:?}", report.notes);
}

/// Properties of every target: names can be looked up, tables are consistent, defaults exist.
#[test]
fn targets_keep_their_promises() {
    for target in targets() {
        let instance = target.instance(InstanceSpec::Default).unwrap();
        assert!(instance.info().name.starts_with(&format!("{}:", target.name)));
        for preset in target.presets() {
            let instance = target.instance(InstanceSpec::Preset(&preset.name)).unwrap();
            assert_eq!(instance.info().name, format!("{}:{}", target.name, preset.name));
            assert_eq!(instance.isa().unwrap().check(), [], "{}", preset.name);
        }
    }
}
