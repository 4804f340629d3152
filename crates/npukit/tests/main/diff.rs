//! Tests of `diff`: what is a regression, and what is not judged.

use npukit::verbs::diff::{Report, diff};

use crate::memory::Memory;

/// Compares two reports of a schema with a threshold of 5 %.
fn compared(schema: &str, before: &str, after: &str) -> Result<Report, npukit::Error> {
    let mut files = Memory::default();
    for (name, fields) in [("a.json", before), ("b.json", after)] {
        files.0.insert(name.into(), format!(r#"{{"schema":"{schema}",{fields}}}"#).into_bytes());
    }
    diff("a.json", "b.json", Some(5.0), &["all".to_owned()], files.context())
}

fn failures(before: &str, after: &str) -> Vec<String> {
    compared("npukit.run/1", before, after).unwrap().failures
}

#[test]
fn what_no_longer_holds_is_worse() {
    let fits = r#""verdict":{"fits":true}"#;
    assert_eq!(failures(fits, r#""verdict":{"fits":false}"#), ["verdict.fits"]);
    assert_eq!(failures(fits, r#""verdict":{}"#), ["verdict.fits"]);
    assert_eq!(failures(r#""verdict":{"fits":false}"#, fits), [""; 0]);
    assert_eq!(failures(r#""informative":true"#, r#""informative":false"#), ["informative"]);
    assert_eq!(failures(r#""applied":true"#, r#""applied":false"#), [""; 0], "is not judged");
}

#[test]
fn figures_that_are_no_more_are_worse() {
    let cycles = r#""layers":[{"name":"a.b","cycles":7,"macs":1}]"#;
    assert_eq!(failures(cycles, r#""layers":[]"#), ["layers[a.b].cycles"]);
    let report = compared("npukit.run/1", r#""max_abs_error":0.5"#, r#""max_abs_error":null"#).unwrap();
    assert_eq!(report.failures, ["max_abs_error"]);
    assert_eq!((&*report.texts[0].before, &*report.texts[0].after), ("0.5", "null"));
    // The noise is gone, and nothing saturates any more.
    let noisy = r#""signal_to_noise_db":30,"saturations_by_layer":[{"layer":"x","saturations":1}]"#;
    assert_eq!(failures(noisy, r#""signal_to_noise_db":null,"saturations_by_layer":[]"#), [""; 0]);
}

#[test]
fn new_failures_and_values_that_are_no_numbers_are_worse() {
    assert_eq!(failures(r#""failures":[]"#, r#""failures":["bad"]"#), ["failures[0]"]);
    assert_eq!(failures(r#""failures":["bad"]"#, r#""failures":[]"#), [""; 0]);
    let outputs = |count| format!(r#""non_finite":{{"outputs":{count}}}"#);
    assert_eq!(failures(&outputs(0), &outputs(8)), ["non_finite.outputs"]);
    assert_eq!(failures(&outputs(8), &outputs(0)), [""; 0]);
    assert_eq!(failures(&outputs(0), &outputs(0)), [""; 0]);
}

#[test]
fn numbers_of_samples_and_classes_tell_rows_apart_and_are_not_judged() {
    let accuracy = |worst: [usize; 2], count| {
        let row = |sample| format!(r#"{{"sample":{sample},"position":0,"label":1,"margin":-{sample}}}"#);
        let worst = worst.map(row).join(",");
        let confusion = format!(r#"{{"label":0,"predicted":1,"count":{count}}}"#);
        format!(r#""accuracy":{{"top1":0.5,"worst":[{worst}],"confusion":[{confusion}]}}"#)
    };
    let report = compared("npukit.run/1", &accuracy([4, 2], 1), &accuracy([2, 9], 4)).unwrap();
    assert_eq!(report.failures, [""; 0]);
    let [count] = &report.figures[..] else { panic!("{:?}", report.figures) };
    assert_eq!((&*count.place, count.is_better), ("accuracy.confusion[label 0, predicted 1].count", None));
    assert!(report.only_after.contains(&"accuracy.worst[sample 9, position 0].margin".to_owned()));
    assert_eq!(failures(r#""accuracy":{"top1":0.5}"#, r#""accuracy":{"top1":0.4}"#), ["accuracy.top1"]);
}

#[test]
fn errors_are_no_reports() {
    let error = compared("npukit.error/1", r#""error":"x""#, r#""error":"x""#).unwrap_err().to_string();
    assert!(error.contains("it reports an error (`npukit.error/1`)"), "{error}");
}
