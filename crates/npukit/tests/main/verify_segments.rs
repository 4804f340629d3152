//! Proofs of programs in segments, tested by deliberately changed programs: the values between
//! segments, the host steps, and each segment itself are changed.

use std::collections::BTreeMap;

use npukit::verbs::compile::{self, compile, compile_with};
use npukit::verbs::verify::{Certificate, CertificateStatus, Request, certify, verify};
use npukit::{Compiled, Error, Source};
use npukit_graph::{Graph, pass};
use npukit_numeric::npy::{NpyArray, read_npz, write_npz};
use npukit_numeric::{SplitMix64, Tensor};
use npukit_target::{load_segments, resealed, sha256};
use npukit_verify::judge;
use serde_json::{Value, json};

use crate::segments::{CUTTING, decoder};

type Files = BTreeMap<String, Vec<u8>>;

/// Returns the network for a target, in its own scales.
fn source(target: &str) -> Source {
    Source::model("decoder.onnx", target)
}

/// Decoder compiled for a target, as files. Hashes of changed files are recomputed before loading.
struct Subject {
    target: &'static str,
    graph: Graph,
    manifest: String,
    files: Files,
    samples: Vec<Vec<(String, Tensor)>>,
}

/// Outputs of a program for each sample; `None` if it cannot run.
type Results = Option<Vec<(Tensor, Vec<i32>)>>;

impl Subject {
    fn new(target: &'static str) -> Self {
        let files = decoder();
        let mut graph = source(target).graph(files.context()).unwrap();
        pass::simplify(&mut graph).unwrap();
        let (_, artifact) = compile(&source(target), files.context()).unwrap();
        let manifest = artifact[0].name.clone();
        let files = artifact.into_iter().map(|file| (file.name, file.bytes)).collect();
        let network = npukit_models::zoo::network("decoder").unwrap();
        let samples = (0..2).map(|seed| vec![("x".to_owned(), network.sample(seed).unwrap())]).collect();
        Self { target, graph, manifest, files, samples }
    }

    fn load(&self, files: &Files) -> Option<Box<dyn Compiled>> {
        let target = npukit::target(self.target).unwrap();
        let files = hashed(&self.manifest, files);
        load_segments(&self.manifest, &files, &|path, files| target.load(path, files)).ok()
    }

    fn results(&self, program: &dyn Compiled) -> Results {
        let run = |sample: &Vec<(String, Tensor)>| program.run(sample).ok();
        let outputs = self.samples.iter().map(|sample| Some(run(sample)?.outputs));
        let outputs = outputs.collect::<Option<Vec<_>>>()?.into_iter().flatten();
        Some(outputs.map(|output| (output.values, output.raw)).collect())
    }

    fn is_proved(&self, program: &dyn Compiled) -> bool {
        let Ok(field) = program.in_field() else { return false };
        judge(&self.graph, &*field, &[1, 2]).is_ok_and(|proof| proof.is_proved())
    }

    fn json(&self, name: &str) -> Value {
        serde_json::from_slice(&self.files[name]).unwrap()
    }

    /// Returns the parts of the manifest.
    fn parts(&self) -> Vec<Value> {
        self.json(&self.manifest)["parts"].as_array().unwrap().clone()
    }

    fn with_parts(&self, parts: Vec<Value>) -> Files {
        let mut manifest = self.json(&self.manifest);
        manifest["parts"] = parts.into();
        let mut files = self.files.clone();
        files.insert(self.manifest.clone(), serde_json::to_vec(&manifest).unwrap());
        files
    }

    /// Returns the files with a part that reads another value.
    fn reading(&self, files: &Files, part: usize, from: &str, to: &str) -> Files {
        let mut files = files.clone();
        let mut manifest: Value = serde_json::from_slice(&files[&self.manifest]).unwrap();
        let written = &mut manifest["parts"][part];
        match written["on"].as_str().unwrap() {
            "host" => {
                written["inputs"].as_array_mut().unwrap().iter_mut().for_each(|name| renamed(name, from, to));
                renamed(&mut written["nodes"], from, to);
                renamed(&mut written["values"], from, to);
            }
            _ => {
                let manifest = written["manifest"].as_str().unwrap();
                let stem = manifest.split_once('.').unwrap().0.to_owned();
                let own = files.iter_mut().filter(|(name, _)| name.starts_with(&format!("{stem}.")));
                for (name, bytes) in own {
                    let Some(mut value) = parsed(name, bytes) else { continue };
                    renamed_inputs(&mut value, from, to);
                    *bytes = printed(name, &value);
                }
            }
        }
        files.insert(self.manifest.clone(), serde_json::to_vec(&manifest).unwrap());
        files
    }

    fn shape(&self, value: &str) -> Option<&[usize]> {
        Some(self.graph.shape(self.graph.find_value(value)?))
    }
}

fn names(part: &Value, key: &str) -> Vec<String> {
    part[key].as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_owned()).collect()
}

fn renamed(value: &mut Value, from: &str, to: &str) {
    match value {
        Value::String(text) if *text == from => to.clone_into(text),
        Value::Array(items) => items.iter_mut().for_each(|item| renamed(item, from, to)),
        Value::Object(keys) => keys.values_mut().for_each(|item| renamed(item, from, to)),
        _ => {}
    }
}

/// Renames an input in the lists of inputs, whatever their key is for the target.
fn renamed_inputs(value: &mut Value, from: &str, to: &str) {
    if let Value::Object(keys) = value {
        for (key, item) in keys {
            match ["input", "inputs"].contains(&key.to_lowercase().as_str()) {
                true => renamed(item, from, to),
                false => renamed_inputs(item, from, to),
            }
        }
    }
}

/// Parses a JSON or TOML file; returns `None` for other files.
fn parsed(name: &str, bytes: &[u8]) -> Option<Value> {
    match name.ends_with(".toml") {
        true => Some(toml::from_str(std::str::from_utf8(bytes).unwrap()).unwrap()),
        false => serde_json::from_slice(bytes).ok(),
    }
}

fn printed(name: &str, value: &Value) -> Vec<u8> {
    match name.ends_with(".toml") {
        true => toml::to_string(value).unwrap().into_bytes(),
        false => serde_json::to_vec(value).unwrap(),
    }
}

/// Returns the files with recomputed hashes: first those in the files of segments, then those in
/// the manifest.
fn hashed(manifest: &str, files: &Files) -> Files {
    let mut hashed = files.clone();
    let segments = files.keys().filter(|name| *name != manifest).map(String::as_str);
    for name in segments.chain([manifest]) {
        let Some(mut value) = parsed(name, &hashed[name]) else { continue };
        let Some(hashes) = value.get_mut("sha256").and_then(Value::as_object_mut) else { continue };
        for (other, hash) in hashes {
            *hash = sha256(&hashed[other]).into();
        }
        let text = String::from_utf8(printed(name, &value)).unwrap();
        hashed.insert(name.to_owned(), resealed(&text, &[]).into_bytes());
    }
    hashed
}

/// A part reads another existing value of the same shape.
fn exchanged(subject: &Subject) -> Vec<(String, Files)> {
    let mut there = vec!["x".to_owned()];
    let mut found = Vec::new();
    for (number, part) in subject.parts().iter().enumerate() {
        for from in names(part, "inputs") {
            let alike = |to: &&String| **to != from && subject.shape(to) == subject.shape(&from);
            for to in there.iter().filter(alike) {
                let message = format!("part {number} reads {to} for {from}");
                found.push((message, subject.reading(&subject.files, number, &from, to)));
            }
        }
        there.extend(names(part, "outputs"));
    }
    found
}

/// A host step is dropped: its readers get its input instead.
fn dropped(subject: &Subject) -> Vec<(String, Files)> {
    let parts = subject.parts();
    let is_host = |part: &Value| part["on"] == "host";
    let mut found = Vec::new();
    for (number, part) in parts.iter().enumerate().filter(|(_, part)| is_host(part)) {
        let [inputs, outputs] = ["inputs", "outputs"].map(|key| names(part, key));
        let alike = |to: &&String| subject.shape(to) == subject.shape(&outputs[0]);
        let Some(to) = inputs.iter().find(alike) else { continue };
        let mut files = subject.files.clone();
        for (reader, _) in
            parts.iter().enumerate().filter(|(_, part)| names(part, "inputs").contains(&outputs[0]))
        {
            files = subject.reading(&files, reader, &outputs[0], to);
        }
        let mut manifest: Value = serde_json::from_slice(&files[&subject.manifest]).unwrap();
        manifest["parts"].as_array_mut().unwrap().remove(number);
        files.insert(subject.manifest.clone(), serde_json::to_vec(&manifest).unwrap());
        found.push((format!("part {number} is not done"), files));
    }
    found
}

/// Two consecutive parts are swapped; a part is repeated; a part is removed.
fn reordered(subject: &Subject) -> Vec<(String, Files)> {
    let parts = subject.parts();
    let mut found = Vec::new();
    for number in 0..parts.len() {
        let mut other = parts.clone();
        other.swap(number, (number + 1) % parts.len());
        found.push((format!("part {number} and the next exchanged"), subject.with_parts(other)));
        let mut twice = parts.clone();
        twice.insert(number, parts[number].clone());
        found.push((format!("part {number} twice"), subject.with_parts(twice)));
    }
    found
}

/// An attribute or the operator of a host step is changed.
fn attributes(subject: &Subject) -> Vec<(String, Files)> {
    let mut found = Vec::new();
    for (number, part) in subject.parts().iter().enumerate() {
        for node in 0..part["nodes"].as_array().map_or(0, Vec::len) {
            let mut changed = subject.parts();
            let op = &mut changed[number]["nodes"][node]["op"];
            let before = op.clone();
            if let Some(gelu) = op.get_mut("Gelu") {
                let name = if gelu["form"] == "Exact" { "Tanh" } else { "Exact" };
                gelu["form"] = json!(name);
            } else if let Some(norm) = op.get_mut("LayerNormalization") {
                norm["epsilon"] = json!(0.01);
            } else if let Some(softmax) = op.get_mut("Softmax") {
                let axis = softmax["axis"].as_u64().unwrap();
                (softmax["axis"], softmax["axis_end"]) = (json!(axis - 1), json!(axis));
            }
            if *op != before {
                found.push((format!("part {number}, node {node}: {op}"), subject.with_parts(changed)));
            }
        }
    }
    found
}

/// An element of a constant of the host is changed.
fn constants(subject: &Subject) -> Vec<(String, Files)> {
    let Some(name) = subject.files.keys().find(|name| name.ends_with(".segments.npz")) else {
        return Vec::new();
    };
    let arrays: Vec<(String, Tensor)> = read_npz(name, &subject.files[name]).unwrap();
    let changed = |number: usize| {
        let (member, tensor) = &arrays[number];
        let mut numbers = tensor.as_f32().unwrap().to_vec();
        numbers[number % tensor.shape().iter().product::<usize>()] += 1.0;
        let other = Tensor::from_f32(tensor.shape().to_vec(), numbers).unwrap();
        let array = |(at, (name, tensor)): (usize, &(String, Tensor))| {
            (name.clone(), if at == number { other.clone() } else { tensor.clone() })
        };
        let all: Vec<(String, Tensor)> = arrays.iter().enumerate().map(array).collect();
        let all: Vec<(&str, NpyArray<'_>)> = all.iter().map(|(name, t)| (name.as_str(), t.into())).collect();
        let mut files = subject.files.clone();
        files.insert(name.clone(), write_npz(&all).unwrap());
        (format!("a number of {member}"), files)
    };
    (0..arrays.len()).map(changed).collect()
}

/// Bytes of a segment are changed: a bit is flipped, or eight bytes are replaced or removed.
fn bytes(subject: &Subject, count: usize) -> Vec<(String, Files)> {
    let mut random = SplitMix64::new(5);
    let mut below = |count: usize| (random.bits() % count as u64) as usize;
    let is_binary = |(name, bytes): &(&String, &Vec<u8>)| {
        parsed(name, bytes).is_none() && !name.ends_with(".npz") && bytes.len() >= 16
    };
    let binary: Vec<String> = subject.files.iter().filter(is_binary).map(|(name, _)| name.clone()).collect();
    assert!(!binary.is_empty());
    let mut found = Vec::new();
    for number in 0..count {
        let mut files = subject.files.clone();
        let name = &binary[below(binary.len())];
        let bytes = files.get_mut(name).unwrap();
        let blocks = bytes.len() / 8;
        let (at, other) = (below(blocks) * 8, below(blocks) * 8);
        match number % 3 {
            0 => bytes[at + below(8)] ^= 1 << below(8),
            1 => (0..8).for_each(|i| bytes.swap(at + i, other + i)),
            _ => bytes.copy_within(other..other + 8, at),
        }
        found.push((format!("{name}: {at} and {other}"), files));
    }
    found
}

/// Counts for a kind of change: made; refused; changing an output; of these, still proved (must be
/// 0); detected without changing an output; harmless.
#[allow(clippy::print_stderr, reason = "what is missed is to be seen")]
fn row(subject: &Subject, expected: &Results, changes: Vec<(String, Files)>) -> [usize; 6] {
    let mut row = [changes.len(), 0, 0, 0, 0, 0];
    for (message, files) in changes {
        let Some(program) = subject.load(&files) else {
            row[1] += 1;
            continue;
        };
        let (results, is_proved) = (subject.results(&*program), subject.is_proved(&*program));
        if results.is_none() {
            assert!(!is_proved, "{}, {message}: it does not run, but is proved", subject.target);
            row[1] += 1;
        } else if results != *expected {
            row[2] += 1;
            row[3] += usize::from(is_proved);
            if is_proved {
                eprintln!("{}, {message}: proved, but gives other results", subject.target);
            }
        } else {
            row[if is_proved { 5 } else { 4 }] += 1;
        }
    }
    row
}

#[test]
#[allow(clippy::print_stdout, reason = "the table is what one runs it for")]
fn what_changes_between_and_in_segments_is_not_proved() {
    // `NPUKIT_MUTATIONS=2000` tries 2,000 changes of bytes; this is the default.
    let count = std::env::var("NPUKIT_MUTATIONS").map_or(60, |count| count.parse().unwrap());
    for target in CUTTING {
        let subject = Subject::new(target);
        let program = subject.load(&subject.files).unwrap();
        let expected = subject.results(&*program);
        assert!(expected.is_some() && subject.is_proved(&*program), "{target}");
        let kinds = [
            ("value exchanged", exchanged(&subject)),
            ("step dropped", dropped(&subject)),
            ("order", reordered(&subject)),
            ("attribute", attributes(&subject)),
            ("constant", constants(&subject)),
            ("segment", bytes(&subject, count)),
        ];
        println!(
            "{target}: made, refused, changing an output, of these missed, detected in addition, harmless"
        );
        for (kind, changes) in kinds {
            let made = changes.len();
            let row = row(&subject, &expected, changes);
            println!("  {kind:<16} {row:?}");
            assert_eq!(row[3], 0, "{target}, {kind}");
            let judged = if kind == "order" { row[1] + row[2] } else { row[2] };
            assert!(made > 4 && judged * 4 > made, "{target}, {kind}: {row:?} judges nothing");
        }
    }
}

/// A model is read next to the artifact, and a proved program gets a certificate that can be
/// checked.
#[test]
fn artifacts_in_segments_are_proved_and_certified() {
    for target in CUTTING {
        let mut files = decoder();
        let request = compile::Request { source: source(target), verify: true, ..Default::default() };
        let (report, written) = compile_with(&request, files.context()).unwrap();
        let verification = report.verification.unwrap();
        assert!(verification.proved && verification.uncovered.is_empty(), "{target}: {verification:?}");
        let steps =
            verification.assumptions.iter().any(|message| message.starts_with("the results of the host's "));
        assert!(steps, "{target}: {:?}", verification.assumptions);
        let certificate = written.last().unwrap().name.clone();
        assert!(certificate.ends_with(".certificate.json"), "{certificate}");
        let manifest = written[0].name.clone();
        let named = Certificate::parse(&written.last().unwrap().bytes).unwrap();
        assert_eq!(named.subject.artifact.sha256.len(), written.len() - 1, "{target}");
        files.0.extend(written.into_iter().map(|file| (file.name, file.bytes)));
        let beside = Request {
            source: Source { path: "decoder.onnx".into(), ..Source::default() },
            artifact: Some(manifest),
            certificate: Some(certificate),
            ..Request::default()
        };
        let report = verify(&beside, files.context()).unwrap();
        assert_eq!(report.certificate.unwrap().status, CertificateStatus::Holds, "{target}");
        let (own, made) = certify(&Request { certificate: None, ..beside }, files.context()).unwrap();
        // For files, the number of saturated constants is unknown; for a program just compiled, it
        // is known.
        assert!(own.proved && made.unwrap().claim.outputs == named.claim.outputs, "{target}");
    }
}

/// The report names the segment or host step that goes wrong.
#[test]
fn the_first_part_that_goes_wrong_is_named() {
    let subject = Subject::new("tcu");
    let found = |files: &Files| {
        let mut all = decoder();
        all.0.extend(hashed(&subject.manifest, files));
        let request = Request {
            source: Source { path: "decoder.onnx".into(), ..Source::default() },
            artifact: Some(subject.manifest.clone()),
            ..Request::default()
        };
        verify(&request, all.context()).unwrap().counterexample.unwrap()
    };
    let (_, dropped) = attributes(&subject).swap_remove(0);
    let step = found(&dropped);
    assert_eq!(
        (step.segment, step.instruction, step.layer.as_deref()),
        (None, None, Some("layernormalization_1"))
    );
    let ends = |name: &&String| name.contains("_seg3_") && name.ends_with(".tdata");
    let constants = subject.files.keys().find(ends).unwrap();
    // Some rows are not used in any product.
    let changed = |at: usize| {
        let mut files = subject.files.clone();
        files.get_mut(constants).unwrap()[at] ^= 0x10;
        files
    };
    let places = (0..subject.files[constants].len()).step_by(97);
    let is_wrong = |files: &Files| !subject.is_proved(&*subject.load(files).unwrap());
    let files = places.map(changed).find(is_wrong).unwrap();
    let segment = found(&files);
    assert_eq!(segment.segment, Some(3), "{segment:?}");
    assert!(segment.instruction.is_some() && segment.layer.is_some_and(|layer| layer.contains("matmul_8")));
    // If two values are swapped, all elements are known values: the reader computes the wrong one.
    let exchanged =
        exchanged(&subject).into_iter().find(|(message, _)| message.contains("reads x for add_6"));
    let reader = found(&exchanged.unwrap().1);
    assert!(reader.segment.is_some() || reader.layer.is_some(), "{reader:?}");
}

#[test]
fn another_model_is_refused() {
    let mut files = decoder();
    files.0.insert("lenet5.onnx".into(), npukit::verbs::zoo::zoo("lenet5", 1).unwrap().1);
    let (_, artifact) = compile(&source("tcu"), files.context()).unwrap();
    let manifest = artifact[0].name.clone();
    files.0.extend(artifact.into_iter().map(|file| (file.name, file.bytes)));
    let request = Request {
        source: Source { path: "lenet5.onnx".into(), ..Source::default() },
        artifact: Some(manifest),
        ..Request::default()
    };
    let error = verify(&request, files.context()).unwrap_err();
    assert!(matches!(error, Error::UnfitArtifact { .. } | Error::Target(_)), "{error}");
    assert!(error.to_string().contains("which is not a value of the model"), "{error}");
}
