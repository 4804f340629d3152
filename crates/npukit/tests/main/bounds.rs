//! Bounds of errors, checked with the bit-exact machine and the float evaluator on inputs within
//! the ranges.

use npukit::verbs::verify::bounds::{Radius, Report, Request as Bounds};
use npukit::verbs::verify::{Request, verify};
use npukit::{Error, InputFile, Source};
use npukit_numeric::Tensor;
use npukit_numeric::npy::read_npy;
use npukit_target::TargetError;

use crate::memory::Memory;

/// Number of random inputs per request; the environment may ask for more.
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

/// Returns the first images as calibration samples.
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

/// No error exceeds its bound, however the ranges of inputs are given.
#[test]
fn no_error_is_above_its_bound() {
    let files = digits();
    let samples = samples(4);
    let asked = [
        Bounds { range: Some((0.0, 1.0)), ..Bounds::default() },
        Bounds { range: Some((-20.0, 20.0)), ..Bounds::default() },
        Bounds { inputs: samples.clone(), hull: true, ..Bounds::default() },
        Bounds { inputs: samples.clone(), ..Bounds::default() },
        Bounds { inputs: samples.clone(), radius: Radius::Half, any_rounding: true, ..Bounds::default() },
        Bounds { inputs: samples, radius: Radius::Of(0.01), ..Bounds::default() },
    ];
    for (asked, target) in asked.iter().flat_map(|asked| ["tcu:pynqz1", "opu"].map(|target| (asked, target)))
    {
        let asked = Bounds { random: random(), ..asked.clone() };
        let report = bounds(&files, "digits.onnx", target, asked.clone()).unwrap();
        assert!(report.against_model);
        assert_eq!(report.holds, Some(true), "{target}, {asked:?}: {report:?}");
        let output = &report.outputs[0];
        let any = output.certified_any_rounding;
        assert_eq!(any.is_some(), asked.any_rounding);
        assert!(any.is_none_or(|any| any >= output.certified.unwrap()), "{target}, {asked:?}: {output:?}");
    }
}

/// For samples, and for inputs that round to the same numbers, the bound is close to the observed
/// error: at most 20 times as large. Most classes are decided, even for any direction of rounding.
#[test]
fn a_bound_about_samples_is_of_use() {
    let inputs = samples(16);
    for (target, radius) in ["tcu:pynqz1", "opu"]
        .into_iter()
        .flat_map(|target| [Radius::default(), Radius::Half].map(|radius| (target, radius)))
    {
        let asked = Bounds { inputs: inputs.clone(), radius, any_rounding: true, ..Bounds::default() };
        let report = bounds(&digits(), "digits.onnx", target, asked).unwrap();
        let most = if radius == Radius::Half { 20.0 } else { 1.001 };
        assert!(report.outputs[0].slack.unwrap() <= most, "{target} {radius:?}: {:?}", report.outputs);
        assert_eq!(report.boxes, 16);
        assert!(report.decided >= 15, "{target} {radius:?}: {}", report.decided);
        assert!(report.decided_any_rounding.unwrap() <= report.decided);
    }
}

/// Each sample has its own range, unless a single range must contain them all.
#[test]
fn the_hull_of_samples_is_one_range() {
    let inputs = samples(4);
    let of = |hull| {
        let asked = Bounds { inputs: inputs.clone(), hull, ..Bounds::default() };
        bounds(&digits(), "digits.onnx", "tcu:pynqz1", asked).unwrap()
    };
    let (apart, together) = (of(false), of(true));
    assert_eq!((apart.boxes, together.boxes), (4, 1));
    assert!(together.outputs[0].certified > apart.outputs[0].certified);
}

/// Inputs that are too large for the format saturate, and the report lists where.
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

/// Programs with another rounding rule are refused instead of bounded.
#[test]
fn floats_are_refused() {
    let asked = Bounds { range: Some((0.0, 1.0)), ..Bounds::default() };
    for target in ["tcu:pynqz1,data_type=FLOAT32", "opu:fp16"] {
        let refused = bounds(&digits(), "digits.onnx", target, asked.clone());
        assert!(matches!(refused, Err(Error::Target(TargetError::Unsupported { .. }))), "{refused:?}");
    }
}

/// A sample that is not finite is refused with its location, however wide its box is.
#[test]
fn samples_that_are_not_finite_are_refused() {
    for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let mut numbers = vec![0.5; 2 * 64];
        numbers[64 + 7] = value;
        let tensor = Tensor::from_f32(vec![2, 1, 8, 8], numbers).unwrap();
        for (target, radius) in [
            ("tcu:pynqz1", Radius::Half),
            ("opu", Radius::Half),
            ("opu", Radius::Of(0.1)),
            ("opu", Radius::Of(0.0)),
        ] {
            let inputs = vec![InputFile::of_array(None, tensor.clone())];
            let asked = Bounds { inputs, radius, any_rounding: true, random: 3, ..Bounds::default() };
            let refused = bounds(&digits(), "digits.onnx", target, asked);
            assert!(
                matches!(refused, Err(Error::NotFinite { sample: 1, element: 7, .. })),
                "{target} {radius:?}: {refused:?}"
            );
        }
    }
}
