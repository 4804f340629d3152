//! Outputs that nothing computes, inputs of any shape, and weights whose values on the machine
//! differ.

use npukit::Source;
use npukit::verbs::check::check;
use npukit::verbs::compile::compile;
use npukit::verbs::eval::{Request as EvalRequest, eval};
use npukit::verbs::run::{Request, run};
use npukit::verbs::time::time;
use npukit::{Calibration, Error, InputFile};
use npukit_numeric::npy::{NpyArray, NpyData, read_npz, write_npy};

use crate::memory::Memory;

/// Returns the models of the filetests, and three samples of eight numbers.
fn files() -> Memory {
    let mut files = Memory::default();
    let models = [
        ("passed.onnx", &include_bytes!("../../../../tests/filetests/models/passed.onnx")[..]),
        ("constant.onnx", include_bytes!("../../../../tests/filetests/models/constant.onnx")),
        ("anyshape.onnx", include_bytes!("../../../../tests/filetests/models/anyshape.onnx")),
        ("bad_weights.onnx", include_bytes!("../../../../tests/filetests/models/bad_weights.onnx")),
    ];
    files.0.extend(models.map(|(name, bytes)| (name.to_owned(), bytes.to_vec())));
    let values: Vec<f32> = (0..24).map(|i| (i as f32 * 0.7).sin()).collect();
    files.0.insert("x.npy".into(), write_npy(NpyArray::new(&[3, 8], NpyData::F32(&values)).unwrap()));
    files
}

fn source(model: &str, target: &str) -> Source {
    Source { path: model.into(), target: Some(target.into()), ..Source::default() }
}

fn calibrated(model: &str, target: &str) -> Source {
    let calibration = Calibration { inputs: vec![InputFile::parse("x.npy")], ..Calibration::default() };
    Source { calibration, ..source(model, target) }
}

#[test]
fn what_passes_through_comes_out_as_it_is() {
    let files = files();
    let inputs = vec![InputFile::parse("x.npy")];
    for target in ["tcu", "pccx", "pccx:extended", "drra", "drra:3x4+ext"] {
        let request = Request {
            source: calibrated("passed.onnx", target),
            inputs: inputs.clone(),
            ..Request::default()
        };
        let (report, written) = run(&request, files.context()).unwrap();
        let shapes: Vec<_> = report.outputs.iter().map(|output| output.shape.clone()).collect();
        assert_eq!(report.outputs.len(), 4, "{target}: {shapes:?}");
        // 4-bit weights and BF16 in pccx.
        assert!(report.comparison.unwrap().max_abs_error < 0.15, "{target}");
        let arrays = read_npz("outputs", &written.outputs).unwrap();
        let constant = arrays.iter().find(|(name, _)| name == "constant").unwrap().1.as_f32().unwrap();
        assert_eq!(constant[..6], [-0.25, -0.125, 0.0, 0.125, 0.25, 0.375], "{target}");
        let [same, folded] =
            ["same", "folded"].map(|wanted| &arrays.iter().find(|(name, _)| name == wanted).unwrap().1);
        assert_eq!(same.as_f32().unwrap(), folded.as_f32().unwrap(), "{target}");
    }
}

#[test]
fn a_model_of_nothing_but_a_constant_runs_without_inputs() {
    let files = files();
    for target in ["tcu", "pccx", "drra"] {
        let request = Request { source: source("constant.onnx", target), ..Request::default() };
        let (report, _) = run(&request, files.context()).unwrap();
        assert_eq!(report.comparison.unwrap().max_abs_error, 0.0, "{target}");
    }
}

/// The machine has no constants among its feature maps, and cannot move elements of an input.
#[test]
fn opu_says_what_it_does_not_pass_through() {
    let files = files();
    let report = check(&source("passed.onnx", "opu"), files.context()).unwrap();
    let found: Vec<_> = report.problems.iter().map(|problem| (&*problem.node, &*problem.op)).collect();
    assert_eq!(found, [("folded", "Reshape"), ("constant", "output")]);
    let refused = compile(&source("passed.onnx", "opu"), files.context()).unwrap_err();
    let Error::Refused { report: message } = refused else { panic!("{refused}") };
    assert_eq!(*message, report, "one report for all verbs");
}

/// All verbs name the input and what to give; arrays give the shape themselves.
#[test]
fn an_input_of_any_shape_is_told() {
    let files = files();
    let model = source("anyshape.onnx", "tcu");
    let inputs = || vec![InputFile::parse("x.npy")];
    let open = |error: Error| {
        assert!(matches!(error, Error::OpenDimensions { .. }), "{error}");
        assert!(error.to_string().contains("all axes of \"x\""), "{error}");
        let help = miette::Diagnostic::help(&error).unwrap().to_string();
        assert!(help.contains("--input-shape x=.."), "{help}");
    };
    open(check(&model, files.context()).unwrap_err());
    open(compile(&model, files.context()).unwrap_err());
    open(time(&model, files.context()).unwrap_err());
    open(run(&Request { source: model.clone(), ..Request::default() }, files.context()).unwrap_err());
    let evaluated = |inputs| EvalRequest { path: "anyshape.onnx".into(), inputs, ..EvalRequest::default() };
    open(eval(&evaluated(Vec::new()), files.context()).unwrap_err());

    assert_eq!(eval(&evaluated(inputs()), files.context()).unwrap().0.samples, 3);
    let ran =
        run(&Request { source: model, inputs: inputs(), ..Request::default() }, files.context()).unwrap().0;
    assert_eq!(ran.samples, 3);
    let noted = |notes: &[String]| notes.iter().any(|note| note.contains("the batch of `x`"));
    assert!(noted(&ran.notes), "{:?}", ran.notes);
    for target in ["tcu", "drra"] {
        assert!(check(&calibrated("anyshape.onnx", target), files.context()).unwrap().supported, "{target}");
    }
}

#[test]
fn weights_that_the_machine_does_not_have_are_told_at_compilation() {
    let files = files();
    let message = |target: &str| compile(&source("bad_weights.onnx", target), files.context()).unwrap().0;
    let tcu = message("tcu");
    let found: Vec<_> =
        tcu.weights.iter().map(|w| (&*w.node, &*w.tensor, w.non_finite, w.saturated, w.is_poor)).collect();
    assert!(found.contains(&("product with nan", "nan", 1, 0, false)), "{found:?}");
    assert!(found.contains(&("product with huge", "huge", 0, 1, false)), "{found:?}");
    assert!(found.contains(&("product with tiny", "tiny", 0, 0, true)), "{found:?}");
    for what in ["NaN or infinite", "saturate", "rounded to 0"] {
        assert!(tcu.warnings.iter().any(|warning| warning.contains(what)), "{what}: {:?}", tcu.warnings);
    }
    for target in ["opu", "pccx", "drra"] {
        let report = message(target);
        let named =
            |warning: &String| warning.contains("NaN or infinite") && warning.contains("`product with nan`");
        assert!(report.warnings.iter().any(named), "{target}: {:?}", report.warnings);
    }
    // One element is a million times as large and takes all the bits.
    let vanishing = message("opu").warnings;
    let named =
        |warning: &String| warning.contains("rounded to 0") && warning.contains("`product with huge`");
    assert!(vanishing.iter().any(named), "{vanishing:?}");
}
