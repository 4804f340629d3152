//! Every declared option of every target: legal values are accepted, other values are refused with
//! a message.

use std::collections::BTreeMap;
use std::io::Write;

use npukit::Source;
use npukit::options::{OptionSpec, Stage, Values, declared};
use npukit::verbs::compile::compile;
use npukit::verbs::list::options;
use npukit::verbs::time::{Request, Sinks, time_with};
use npukit::{Error, targets};
use npukit_target::{OptionError, TargetError};

use crate::memory::Memory;

/// Times a small network for `target` with an option of any stage.
fn time(target: &str, key: &str, value: &str, writes_samples: bool) -> Result<(), Error> {
    let source = source(target, key, value);
    let mut samples = Vec::new();
    let out = writes_samples.then_some(&mut samples as &mut dyn Write);
    let sinks = Sinks { samples: out, ..Sinks::default() };
    time_with(&Request { source, ..Request::default() }, sinks, files().context()).map(|_| ())
}

fn source(target: &str, key: &str, value: &str) -> Source {
    let options = BTreeMap::from([(key.to_owned(), value.to_owned())]);
    Source { path: "net.onnx".to_owned(), target: Some(target.to_owned()), options, ..Source::default() }
}

fn files() -> Memory {
    let net = include_bytes!("../../../../tests/filetests/models/perceptron.onnx");
    Memory(BTreeMap::from([("net.onnx".to_owned(), net.to_vec())]))
}

fn option_error(result: Result<(), Error>) -> OptionError {
    match result {
        Err(Error::Target(TargetError::Option(error))) => error,
        other => panic!("{other:?}"),
    }
}

/// Returns all words, or the ends of a range.
fn legal(spec: &OptionSpec) -> Vec<String> {
    match spec.values {
        Values::Choice(words) => words.iter().map(|&word| word.to_owned()).collect(),
        Values::Whole { least, most } => vec![least.to_string(), most.to_string()],
        Values::Real { least, most } => vec![least.to_string(), most.to_string()],
    }
}

/// A target may still refuse a value because of its instance or the program; the message names the
/// option then.
#[test]
fn every_legal_value_has_a_meaning() {
    for (target, spec) in declared() {
        let mut taken = 0;
        for value in legal(spec) {
            match time(target, spec.key, &value, spec.stage == Stage::Samples) {
                Ok(()) => taken += 1,
                other => assert_eq!(option_error(other).key, spec.key, "{target} {value}"),
            }
        }
        assert!(taken > 0, "{target}: no value of {} is taken", spec.key);
    }
}

#[test]
fn other_values_are_told_with_the_legal_ones() {
    for (target, spec) in declared() {
        let error = option_error(time(target, spec.key, "?", spec.stage == Stage::Samples));
        assert_eq!(error.reason, format!("must be {}", spec.values), "{target} {}", spec.key);
    }
}

#[test]
fn options_are_taken_at_their_stage_only() {
    for (target, spec) in declared().filter(|(_, spec)| spec.stage != Stage::Compile) {
        let compiled = compile(&source(target, spec.key, &legal(spec)[0]), files().context());
        let reason = option_error(compiled.map(|_| ())).reason;
        assert!(
            reason.starts_with("the option applies only to `npu time"),
            "{target} {}: {reason}",
            spec.key
        );
    }
}

#[test]
fn misspelt_options_are_told_with_the_nearest() {
    for target in targets().iter().map(|target| target.name) {
        let reason = option_error(time(target, "spede", "1", false)).reason;
        assert!(reason.starts_with(&format!("unknown option; options of {target}: ")), "{reason}");
        let other = target != "pccx";
        let misspelt = if other { "clock-mz" } else { "mtile" };
        let reason = option_error(time(target, misspelt, "1", false)).reason;
        let meant = if other { "`clock-mhz`" } else { "`m_tile`" };
        assert!(reason.contains(&format!("did you mean {meant}?")), "{reason}");
    }
}

#[test]
fn declarations_say_what_a_reader_needs() {
    for (target, spec) in declared() {
        let has_default = spec.values.admit(spec.default) || spec.default.contains(' ');
        assert!(has_default, "{target}: `{}` is not a value of {}", spec.default, spec.key);
        assert!(!spec.doc.is_empty() && !spec.doc.ends_with('.'), "{target}: {}", spec.key);
    }
}

#[test]
fn options_of_an_instance_are_those_of_its_target() {
    let files = Memory::default();
    for target in targets() {
        let spec = format!("{}:{}", target.name, target.presets()[0].name);
        assert_eq!(options(&spec, files.context()).unwrap(), target.options, "{spec}");
        assert_eq!(options(target.name, files.context()).unwrap(), target.options);
        let unknown = options(&format!("{}:nowhere", target.name), files.context()).unwrap_err();
        assert!(unknown.is_usage(), "{unknown}");
    }
}
