//! Bounds of errors, judged by the bit-exact machine and the float evaluator on inputs of the ranges.

use npukit::verbs::verify::bounds::{Report, Request as Bounds};
use npukit::verbs::verify::{Request, verify};
use npukit::{Error, InputFile, Source};
use npukit_numeric::Tensor;
use npukit_numeric::npy::read_npy;
use npukit_target::TargetError;

use crate::memory::Memory;

/// Inputs to draw for each question; the environment may ask for more.
fn random() -> usize {
    std::env::var("NPUKIT_BOUNDS").map_or(100, |count| count.parse().expect("NPUKIT_BOUNDS is a number"))
}

fn digits() -> Memory {
    let mut files = Memory::default();
    for name in ["digits.onnx", "digits_calibration.npy"] {
        let path = format!("{}/assets/{name}", env!("CARGO_MANIFEST_DIR"));
        files.0.insert(name.into(), std::fs::read(path).unwrap());
    }
    files
}

/// The first pictures to calibrate by.
fn samples(count: usize) -> Vec<InputFile> {
    let all = read_npy("digits_calibration.npy", &digits().0["digits_calibration.npy"]).unwrap();
    let numbers = all.as_f32().unwrap()[..count * 64].to_vec();
    vec![InputFile::of_array(None, Tensor::from_f32(vec![count, 1, 8, 8], numbers).unwrap())]
}

fn bounds(files: &Memory, model: &str, target: &str, bounds: Bounds) -> Result<Report, Error> {
    let request =
        Request { source: Source::model(model, target), bounds: Some(bounds), ..Request::default() };
    let report = verify(&request, files.context())?;
    assert!(report.proved, "{report:?}");
    Ok(report.bounds.unwrap())
}

/// No error is above what is said of all inputs, whichever way the inputs are told.
#[test]
fn no_error_is_above_its_bound() {
    let files = digits();
    let samples = samples(4);
    let asked = [
        Bounds { range: Some((0.0, 1.0)), ..Bounds::default() },
        Bounds { range: Some((-20.0, 20.0)), ..Bounds::default() },
        Bounds { inputs: samples.clone(), ..Bounds::default() },
        Bounds { inputs: samples.clone(), radius: Some(0.0), ..Bounds::default() },
        Bounds { inputs: samples, radius: Some(0.01), ..Bounds::default() },
    ];
    for asked in asked {
        let asked = Bounds { random: random(), ..asked };
        let report = bounds(&files, "digits.onnx", "tcu:pynqz1", asked.clone()).unwrap();
        assert!(report.against_model);
        assert_eq!(report.holds, Some(true), "{asked:?}: {report:?}");
        let output = &report.outputs[0];
        assert!(output.certified.unwrap() >= output.observed.unwrap(), "{asked:?}: {output:?}");
    }
}

/// About samples the bound is of the size of what is observed, whichever way each product is rounded, and most classes are
/// decided.
#[test]
fn a_bound_about_samples_is_of_use() {
    let inputs = samples(16);
    let asked = Bounds { inputs, radius: Some(0.0), ..Bounds::default() };
    let report = bounds(&digits(), "digits.onnx", "tcu:pynqz1", asked).unwrap();
    assert!(report.outputs[0].slack.unwrap() <= 40.0, "{:?}", report.outputs);
    assert_eq!(report.boxes, 16);
    assert!(report.decided >= 12, "{}", report.decided);
    assert!(report.cannot_saturate);
}

/// Inputs that are too large for the format saturate, and it is told where.
#[test]
fn saturation_is_told_where_it_may_be() {
    let files = digits();
    let asked = Bounds { range: Some((0.0, 1000.0)), ..Bounds::default() };
    let report = bounds(&files, "digits.onnx", "tcu:pynqz1", asked).unwrap();
    assert!(!report.cannot_saturate);
    let input = &report.saturations[0];
    assert_eq!(input.instruction, None);
    assert!((872.0..872.1).contains(&input.above.unwrap()), "{input:?}");
    assert!(report.saturations.iter().any(|place| place.layer.is_some()));
}

/// What rounds by another rule is refused, and not called bounded.
#[test]
fn floats_are_refused() {
    let asked = Bounds { range: Some((0.0, 1.0)), ..Bounds::default() };
    let refused = bounds(&digits(), "digits.onnx", "tcu:pynqz1,data_type=FLOAT32", asked);
    assert!(matches!(refused, Err(Error::Target(TargetError::Unsupported { .. }))), "{refused:?}");
}
