//! Models that a target supports in part: segments on the accelerator, with host steps in between.

use npukit::verbs::check::{check, check_program};
use npukit::verbs::compile::{compile, emit};
use npukit::verbs::lint::lint;
use npukit::verbs::run::{Request, run};
use npukit::verbs::time::time;
use npukit::verbs::zoo::zoo;
use npukit::{Error, InputFile, Source};
use npukit_numeric::npy::{NpyArray, write_npy};
use npukit_target::resealed;

use crate::memory::Memory;

/// Returns the two layers of a decoder: attention, normalizations and Gelu in the middle.
pub fn decoder() -> Memory {
    let mut files = Memory::default();
    files.0.insert("decoder.onnx".into(), zoo("decoder", 1).unwrap().1);
    let sample = npukit_models::zoo::network("decoder").unwrap().sample(7).unwrap();
    files.0.insert("x.npy".into(), write_npy(NpyArray::from(&sample)));
    files
}

/// Returns the network for a target, quantized with its sample if the target needs integers.
pub fn source(target: &str) -> Source {
    let mut source = Source::model("decoder.onnx", target);
    source.calibration.inputs = vec![InputFile::parse("x.npy")];
    source
}

fn request(source: Source) -> Request {
    Request { source, inputs: vec![InputFile::parse("x.npy")], ..Request::default() }
}

/// Targets that cut the network, and whose machines run it in seconds.
pub const CUTTING: [&str; 2] = ["tcu", "opu"];

#[test]
fn what_is_refused_in_the_middle_is_the_hosts() {
    for name in CUTTING {
        let files = decoder();
        let report = check(&source(name), files.context()).unwrap();
        let share = report.on_chip.macs_on_chip.unwrap();
        assert!(report.supported && report.on_chip.segments > 1 && share > 0.9, "{name}: {share}");
        let kinds: Vec<&str> = report.host_steps.iter().map(|step| &*step.op).collect();
        assert!(kinds.contains(&"LayerNormalization") && kinds.contains(&"Softmax"), "{name}: {kinds:?}");
        let (ran, _) = run(&request(source(name)), files.context()).unwrap();
        // Measured: at least 30 dB.
        let decibels = ran.comparison.unwrap().snr_db.unwrap();
        assert!(decibels > 25.0, "{name}: {decibels} dB");
        assert_eq!(ran.on_chip, report.on_chip);
    }
}

/// Norms of pccx leave their gains to the following weights, so their results are not values of the
/// model.
#[test]
fn layers_of_a_decoder_are_compared() {
    let files = decoder();
    let compare = Request { compare: true, ..request(Source::model("decoder.onnx", "pccx")) };
    let (ran, _) = run(&compare, files.context()).unwrap();
    let layers = ran.layer_compare.unwrap().layers;
    assert!(layers.iter().filter(|layer| layer.figures.is_some()).count() > 10, "{layers:?}");
}

/// The survey before compiling equals the report of the program.
#[test]
fn a_survey_is_that_of_the_program() {
    for target in ["tcu", "opu", "drra:3x4+ext", "pccx"] {
        let files = decoder();
        let (surveyed, compiled) = (
            check(&Source::model("decoder.onnx", target), files.context()).unwrap(),
            check_program(&Source::model("decoder.onnx", target), files.context()).unwrap(),
        );
        assert_eq!((surveyed.is_compiled, compiled.is_compiled), (false, true));
        assert_eq!(surveyed.on_chip, compiled.on_chip, "{target}");
        assert_eq!(surveyed.host_steps, compiled.host_steps, "{target}");
        assert_eq!(surveyed.problems, compiled.problems, "{target}");
        let known =
            surveyed.verdict.memories.iter().filter(|memory| !compiled.verdict.memories.contains(memory));
        assert_eq!(known.count(), 0, "{target}");
        assert_eq!((surveyed.verdict.cycles, compiled.verdict.cycles.is_some()), (None, true), "{target}");
    }
}

/// The program read from files equals the compiled one, bit for bit and in time.
#[test]
fn files_are_the_program() {
    for name in CUTTING {
        let mut files = decoder();
        let (_, artifact) = compile(&source(name), files.context()).unwrap();
        let manifest = artifact[0].name.clone();
        assert!(manifest.ends_with(".segments.json"), "{manifest}");
        let of_model = run(&request(source(name)), files.context()).unwrap().1.outputs;
        let time_of_model = time(&source(name), files.context()).unwrap();
        files.0.extend(artifact.into_iter().map(|file| (file.name, file.bytes)));
        let loaded = Source::artifact(&manifest);
        assert_eq!(run(&request(loaded.clone()), files.context()).unwrap().1.outputs, of_model, "{name}");
        let loaded = time(&loaded, files.context()).unwrap();
        assert_eq!(loaded.time.cycles, time_of_model.time.cycles, "{name}");
        assert_eq!(loaded.host_steps, time_of_model.host_steps, "{name}");
        assert!(loaded.time.notes.iter().any(|note| note.contains("are not timed")));
        assert!(lint(&manifest, None, files.context()).unwrap().is_clean(), "{name}");
    }
}

#[test]
fn a_manifest_that_is_not_whole_is_refused() {
    let mut files = decoder();
    let (_, artifact) = compile(&source("tcu"), files.context()).unwrap();
    let manifest = artifact[0].name.clone();
    files.0.extend(artifact.into_iter().map(|file| (file.name, file.bytes)));
    let text = String::from_utf8(files.0[&manifest].clone()).unwrap();
    for (from, to, message) in [
        ("npukit.segments.1", "npukit.segments.9", "`format` is `npukit.segments.9`"),
        (r#""target": "tcu:"#, r#""target": "gpu:"#, "unknown target `gpu`"),
        (r#""constant": "c0""#, r#""constant": "c999""#, "unknown constant `c999`"),
        (r#""LayerNormalization": {"#, r#""LayerNorm": {"#, "unknown variant"),
        (r#""axis": 2"#, r#""axis": 9"#, "LayerNormalization"),
        (r#""manifest": ""#, r#""manifest": "../"#, "plain file name"),
        (r#""sha256": {"#, r#""sha256": {"x": "y""#, "expected"),
        (r#""sha256": {"#, r#""sha256": {}, "other": {"#, "is not a file that"),
    ] {
        let changed = text.replacen(from, to, 1);
        assert_ne!(changed, text, "{from}");
        files.0.insert(manifest.clone(), resealed(&changed, &[]).into_bytes());
        let error = run(&request(Source::artifact(&manifest)), files.context()).unwrap_err();
        let chain = std::iter::successors(Some(&error as &dyn std::error::Error), |error| error.source());
        let all = chain.map(ToString::to_string).collect::<Vec<_>>().join(": ");
        assert!(all.contains(message), "{from}: {all}");
    }
}

#[test]
fn every_changed_byte_of_a_manifest_is_refused() {
    let mut files = decoder();
    let (_, artifact) = compile(&source("tcu"), files.context()).unwrap();
    let manifest = artifact[0].name.clone();
    files.0.extend(artifact.into_iter().map(|file| (file.name, file.bytes)));
    for place in (0..files.0[&manifest].len()).step_by(101) {
        files.0.get_mut(&manifest).unwrap()[place] ^= 1;
        assert!(run(&request(Source::artifact(&manifest)), files.context()).is_err(), "byte {place}");
        files.0.get_mut(&manifest).unwrap()[place] ^= 1;
    }
    let text = String::from_utf8(files.0[&manifest].clone()).unwrap();
    let without = text.replacen("\"digest\"", "\"later\"", 1);
    files.0.insert(manifest.clone(), without.into_bytes());
    let error = run(&request(Source::artifact(&manifest)), files.context()).unwrap_err();
    assert!(error.to_string().contains("missing field `digest`"), "{error}");
}

#[test]
fn files_of_two_compilations_are_refused() {
    let mut files = decoder();
    let (_, artifact) = compile(&source("tcu"), files.context()).unwrap();
    let manifest = artifact[0].name.clone();
    files.0.extend(artifact.into_iter().map(|file| (file.name, file.bytes)));
    let constants = manifest.replace(".json", ".npz");
    *files.0.get_mut(&constants).unwrap().last_mut().unwrap() ^= 1;
    let error = run(&request(Source::artifact(&manifest)), files.context()).unwrap_err();
    assert!(error.to_string().contains("is not the file that"), "{error}");
}

#[test]
fn the_option_refuses_what_would_be_cut() {
    let files = decoder();
    let mut whole = source("tcu");
    whole.options.insert("segments".into(), "no".into());
    let report = check(&whole, files.context()).unwrap();
    assert!(!report.supported && report.on_chip.segments == 0, "{report:?}");
    assert!(matches!(compile(&whole, files.context()), Err(Error::Refused { .. })));
    whole.options.insert("segments".into(), "perhaps".into());
    assert!(matches!(check(&whole, files.context()), Err(Error::Target(_))));
}

#[test]
fn every_stage_shows_what_is_where() {
    let text = emit(&source("tcu"), "layers", decoder().context()).unwrap();
    let parts = text.lines().filter(|line| line.starts_with("# "));
    let places: Vec<&str> = parts.filter_map(|line| line.split(' ').nth(1)).collect();
    assert_eq!(places[..3], ["host", "segment", "host"], "{text}");
    assert_eq!(places.iter().filter(|place| **place == "segment").count(), 9, "{text}");
}
