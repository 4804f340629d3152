//! Certificates of proofs: valid for the files they were created from, and invalid for any others.

use std::collections::BTreeMap;

use npukit::verbs::compile::{self, compile, compile_with};
use npukit::verbs::verify::{Certificate, CertificateStatus, Report, Request, certify, verify};
use npukit::{ArtifactFile, Calibration, Error, InputFile, RescaleMode, Source};
use npukit_graph::Graph;
use npukit_target::sha256;
use npukit_verify::{CertificateError, Files};

use crate::memory::{Memory, digits};

const MODEL: &str = "digits.onnx";
const MANIFEST: &str = "digits_onnx_pynqz1.tmodel";
const WEIGHTS: &str = "digits_onnx_pynqz1.tdata";
const SIDECAR: &str = "digits_onnx_pynqz1.npukit.json";

fn of_target() -> Request {
    Request { source: digits("tcu:pynqz1"), ..Request::default() }
}

fn of_artifact() -> Request {
    let source = Source { path: MODEL.to_owned(), ..Source::default() };
    Request { source, artifact: Some(MANIFEST.to_owned()), ..Request::default() }
}

/// Checks a certificate.
fn checked(certificate: &Certificate, request: Request, files: &Memory) -> Result<Report, Error> {
    let mut files = files.clone();
    files.0.insert("c.json".to_owned(), certificate.to_json().into_bytes());
    verify(&Request { certificate: Some("c.json".to_owned()), ..request }, files.context())
}

fn made(request: &Request, files: &Memory) -> Certificate {
    let (report, certificate) = certify(request, files.context()).unwrap();
    assert!(report.proved);
    certificate.unwrap()
}

/// Returns the certificate that a forger would create for other files: all hashes are right.
fn forged(certificate: &Certificate, files: &Memory) -> Certificate {
    let mut subject = certificate.subject.clone();
    for Files { sha256: hashes, .. } in [&mut subject.model, &mut subject.artifact] {
        for (name, hash) in hashes {
            *hash = sha256(&files.0[name]);
        }
    }
    Certificate::new(&certificate.npukit, subject, certificate.claim.clone())
}

/// Returns the position in the model's file of the largest weight of its first matrix.
fn weight(graph: &Graph, model: &[u8]) -> usize {
    let constants = graph.values.iter().filter_map(|value| value.constant.as_ref()?.as_f32());
    let weights = constants.max_by_key(|numbers| numbers.len()).unwrap();
    let bytes: Vec<u8> = weights.iter().flat_map(|number| number.to_le_bytes()).collect();
    let start = model.windows(bytes.len()).position(|window| window == bytes).unwrap();
    let largest = (0..weights.len()).max_by(|&i, &j| weights[i].abs().total_cmp(&weights[j].abs())).unwrap();
    start + 4 * largest
}

/// Returns the model with the sign of one weight changed.
fn with_other_weight(files: &Memory) -> Memory {
    let mut files = files.clone();
    let graph = digits("tcu").graph(files.context()).unwrap();
    let model = files.0.get_mut(MODEL).unwrap();
    let at = weight(&graph, model);
    model[at + 3] ^= 0x80;
    files
}

fn difference(result: Result<Report, Error>) -> String {
    match result.unwrap_err() {
        Error::Certificate { source: CertificateError::Differs { what, .. }, .. } => what,
        other => panic!("{other:?}"),
    }
}

#[test]
fn it_holds_of_what_it_was_made_of() {
    let files = Memory::with_digits();
    let of_program = made(&of_target(), &files);
    // The compiled program equals the one in the artifact.
    assert_eq!(of_program, made(&of_artifact(), &files));
    for request in [of_target(), of_artifact()] {
        let report = checked(&of_program, request, &files).unwrap();
        let message = report.certificate.unwrap();
        assert!(report.proved && message.status == CertificateStatus::Holds, "{message:?}");
        assert_eq!((message.seeds, report.seeds), (vec![1, 2], vec![1, 2]));
    }
}

#[test]
fn it_is_proved_with_its_own_seeds_and_those_that_are_added() {
    let files = Memory::with_digits();
    let certificate = made(&Request { seeds: vec![7], ..of_artifact() }, &files);
    let report = checked(&certificate, Request { seeds: vec![7, 9], ..of_artifact() }, &files).unwrap();
    assert_eq!((report.certificate.unwrap().seeds, report.seeds), (vec![7], vec![7, 9]));
}

#[test]
fn a_model_with_another_weight_is_refused() {
    let files = Memory::with_digits();
    let certificate = made(&of_artifact(), &files);
    let other = with_other_weight(&files);
    for request in [of_target(), of_artifact()] {
        let message = difference(checked(&certificate, request, &other));
        assert_eq!(message, format!("the SHA-256 of model `{MODEL}`"));
    }
    let report = checked(&forged(&certificate, &other), of_artifact(), &other).unwrap();
    assert!(!report.proved && report.counterexample.is_some());
    assert_eq!(report.certificate.unwrap().status, CertificateStatus::Refuted);
}

#[test]
fn an_artifact_with_another_byte_is_refused() {
    let files = Memory::with_digits();
    let certificate = made(&of_artifact(), &files);
    assert_eq!(certificate.subject.artifact.sha256.len(), 4);
    for name in certificate.subject.artifact.sha256.keys() {
        for place in [0, files.0[name].len() / 2, files.0[name].len() - 1] {
            let mut other = files.clone();
            other.0.get_mut(name).unwrap()[place] ^= 1;
            let error = checked(&certificate, of_artifact(), &other).unwrap_err();
            assert!(matches!(error, Error::Certificate { .. } | Error::Target(_)), "{name} {place}: {error}");
        }
    }
}

/// Files without hashes of each other, as other tools write them.
#[test]
fn an_artifact_without_hashes_is_known_by_the_certificate() {
    let mut files = Memory::with_digits();
    assert!(files.0.remove(SIDECAR).is_some());
    let certificate = made(&of_artifact(), &files);
    let mut other = files.clone();
    // The highest byte of a weight contains its sign.
    let weights = other.0.get_mut(WEIGHTS).unwrap();
    let at = (1..weights.len()).step_by(2).find(|&i| weights[i] != 0 && weights[i] != 0xff).unwrap();
    weights[at] ^= 0x80;
    let message = difference(checked(&certificate, of_artifact(), &other));
    assert_eq!(message, format!("the SHA-256 of file `{WEIGHTS}` of the artifact"));
    let report = checked(&forged(&certificate, &other), of_artifact(), &other).unwrap();
    assert!(!report.proved, "{report:?}");
    // Equal program in other files.
    let message = difference(checked(&certificate, of_artifact(), &Memory::with_digits()));
    assert_eq!(message, format!("the SHA-256 of file `{SIDECAR}` of the artifact"));
}

#[test]
fn how_the_model_is_read_belongs_to_it() {
    let files = Memory::with_digits();
    let mut request = of_target();
    request.source.model.batch = Some(1);
    let certificate = made(&request, &files);
    assert_eq!(certificate.subject.reading, ["--batch 1"]);
    checked(&certificate, request, &files).unwrap();
    assert_eq!(difference(checked(&certificate, of_target(), &files)), "the reading of the model");
}

#[test]
fn the_claim_is_compared_with_the_proof() {
    let files = Memory::with_digits();
    let Certificate { npukit, subject, claim, .. } = made(&of_artifact(), &files);
    let mut fewer = claim.clone();
    fewer.assumptions.remove(0);
    let fewer = Certificate::new(&npukit, subject.clone(), fewer);
    let error = checked(&fewer, of_artifact(), &files).unwrap_err();
    assert!(matches!(error, Error::Certificate { source: CertificateError::Unsaid { .. }, .. }), "{error:?}");
    let mut more = claim;
    more.outputs.push(more.outputs[0].clone());
    let more = Certificate::new(&npukit, subject, more);
    assert_eq!(difference(checked(&more, of_artifact(), &files)), "output 1");
}

#[test]
fn a_compilation_writes_the_certificate_that_verify_makes() {
    let files = Memory::with_digits();
    let request = compile::Request { source: digits("tcu:pynqz1"), verify: true, ..Default::default() };
    let (report, written) = compile_with(&request, files.context()).unwrap();
    let last = written.last().unwrap();
    assert_eq!(last.name, "digits_onnx_pynqz1.certificate.json");
    assert_eq!(report.artifacts.last(), Some(&last.name));
    assert!(report.verification.unwrap().proved);
    let certificate = Certificate::parse(&last.bytes).unwrap();
    assert_eq!(certificate, made(&of_artifact(), &files));
    let (_, plain) = compile(&digits("tcu:pynqz1"), files.context()).unwrap();
    let bytes = |files: &[ArtifactFile]| -> BTreeMap<String, Vec<u8>> {
        files.iter().map(|file| (file.name.clone(), file.bytes.clone())).collect()
    };
    assert_eq!(bytes(&written[..written.len() - 1]), bytes(&plain));
}

#[test]
fn what_is_not_proved_has_none_and_is_not_compiled() {
    let mut files = Memory::default();
    let model = include_bytes!("../../../../tests/filetests/models/softmax.onnx");
    files.0.insert("m.onnx".to_owned(), model.to_vec());
    let source = Source::model("m.onnx", "tcu:pynqz1+lut");
    let request = Request { source: source.clone(), ..Request::default() };
    let (report, certificate) = certify(&request, files.context()).unwrap();
    assert!(!report.proved && certificate.is_none() && report.certificate.is_none(), "{report:?}");
    let request = compile::Request { source, verify: true, ..Default::default() };
    let error = compile_with(&request, files.context()).unwrap_err();
    assert_eq!(error.json()["verification"]["proved"], false);
    let Error::NotProved { report } = error else { panic!("{error:?}") };
    assert!(!report.proved);
}

#[test]
fn what_is_no_certificate_is_refused() {
    let mut files = Memory::with_digits();
    let text = made(&of_artifact(), &files).to_json();
    for (message, text) in [
        ("not a certificate", "{".to_owned()),
        ("key `schema`", text.replace("certificate/1", "certificate/9")),
        ("changed after it was written", text.replace("bias first", "bias last")),
        ("unknown field", text.replacen("\"npukit\"", "\"more\": 1, \"npukit\"", 1)),
    ] {
        files.0.insert("c.json".to_owned(), text.into_bytes());
        let request = Request { certificate: Some("c.json".to_owned()), ..of_artifact() };
        let Error::Certificate { source, .. } = verify(&request, files.context()).unwrap_err() else {
            panic!("{message}")
        };
        assert!(source.to_string().contains(message), "{source}");
    }
}

/// The program was compiled from the calibrated model, so checking it needs the samples too.
#[test]
fn a_model_that_samples_scale_needs_them() {
    let mut files = Memory::with_digits();
    let mut request = of_target();
    let calibration = &mut request.source.calibration;
    *calibration = Calibration { inputs: vec![InputFile::parse("x.npy")], ..Calibration::default() };
    calibration.mode = RescaleMode::Always;
    let compilation =
        compile::Request { source: request.source.clone(), verify: true, ..compile::Request::default() };
    let (report, written) = compile_with(&compilation, files.context()).unwrap();
    assert!(report.rescaling.unwrap().applied);
    let certificate = Certificate::parse(&written.last().unwrap().bytes).unwrap();
    files.0.extend(written.into_iter().map(|file| (file.name, file.bytes)));
    assert_eq!(certificate.subject.reading, ["--calibrate"]);
    checked(&certificate, request.clone(), &files).unwrap();
    assert_eq!(difference(checked(&certificate, of_artifact(), &files)), "the reading of the model");
    let mut beside = of_artifact();
    beside.source.calibration = request.source.calibration;
    let report = checked(&certificate, beside, &files).unwrap();
    assert_eq!(report.certificate.unwrap().status, CertificateStatus::Holds);
}
