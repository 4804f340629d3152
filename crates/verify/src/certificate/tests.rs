#![allow(clippy::unwrap_used, reason = "tests")]
use serde_json::{Value, json};

use super::*;

fn files(names: &[&str]) -> Files {
    let hash = |name: &&str| ((*name).to_owned(), sha256(name.as_bytes()));
    Files { file: names[0].to_owned(), sha256: names.iter().map(hash).collect() }
}

fn subject() -> Subject {
    Subject {
        program: "net".to_owned(),
        instance: InstanceMark::new("machine:small".to_owned(), &json!({ "lanes": 8 })),
        model: files(&["net.onnx", "weights.bin"]),
        reading: vec!["--batch 2".to_owned()],
        artifact: files(&["net.manifest", "net.words"]),
    }
}

fn claim() -> Claim {
    let outputs = ["y", "z"].map(|name| CoveredOutput { name: name.to_owned(), elements: 10 });
    let gap = UncoveredNode { node: "n".to_owned(), op: "TopK".to_owned(), reason: "no rule".to_owned() };
    Claim {
        field: "2^61 - 1".to_owned(),
        seeds: vec![1, u64::MAX],
        order: "bias first".to_owned(),
        outputs: outputs.into(),
        uncovered: vec![gap],
        assumptions: vec!["no rounding".to_owned(), "no time".to_owned()],
    }
}

fn certificate() -> Certificate {
    Certificate::new("1.2.3", subject(), claim())
}

/// Returns every change of one item in a value, with its place: each text and number changed, each
/// entry of a list or object removed, and one more of each added.
fn changes(value: &Value) -> Vec<(String, Value)> {
    let mut found = Vec::new();
    match value {
        Value::Object(keys) => {
            for (key, inner) in keys {
                let with = |inner: Value| {
                    let mut keys = keys.clone();
                    keys.insert(key.clone(), inner);
                    Value::Object(keys)
                };
                found.extend(
                    changes(inner).into_iter().map(|(place, inner)| (format!("/{key}{place}"), with(inner))),
                );
                let mut without = keys.clone();
                without.remove(key);
                found.push((format!("/{key} left out"), Value::Object(without)));
            }
            let mut more = keys.clone();
            more.insert("more".to_owned(), json!("more"));
            found.push((" with a key more".to_owned(), Value::Object(more)));
        }
        Value::Array(items) => {
            for (i, inner) in items.iter().enumerate() {
                let with = |inner: Value| {
                    let mut items = items.clone();
                    items[i] = inner;
                    Value::Array(items)
                };
                found.extend(
                    changes(inner).into_iter().map(|(place, inner)| (format!("/{i}{place}"), with(inner))),
                );
                let mut without = items.clone();
                without.remove(i);
                found.push((format!("/{i} left out"), Value::Array(without)));
                let mut twice = items.clone();
                twice.push(inner.clone());
                found.push((format!("/{i} twice"), Value::Array(twice)));
            }
            found.push((" emptied".to_owned(), json!([])));
        }
        Value::String(text) => {
            found.push((String::new(), json!(format!("{text}x"))));
            found.push((" emptied".to_owned(), json!("")));
        }
        Value::Number(number) => {
            found.push((String::new(), json!(number.as_u64().unwrap() ^ 1)));
        }
        _ => unreachable!("certificates contain neither booleans nor nulls"),
    }
    found.retain(|(_, changed)| changed != value);
    found
}

#[test]
fn it_is_read_as_it_was_written() {
    let certificate = certificate();
    let read = Certificate::parse(certificate.to_json().as_bytes()).unwrap();
    assert_eq!(read, certificate);
    read.subject.check(&subject()).unwrap();
    read.claim.check(&claim()).unwrap();
}

#[test]
fn whatever_is_changed_is_found_by_the_digest() {
    let value = serde_json::to_value(certificate()).unwrap();
    let changes = changes(&value);
    assert!(changes.len() > 80, "{}", changes.len());
    for (place, changed) in changes {
        let error = Certificate::parse(changed.to_string().as_bytes());
        assert!(error.is_err(), "{place}: {changed}");
    }
}

/// If the digest is recomputed after a change, repeating the proof finds the change.
#[test]
fn what_is_changed_with_its_digest_is_found_by_the_proof() {
    let value = serde_json::to_value(certificate()).unwrap();
    let mut passed = Vec::new();
    for (place, changed) in changes(&value) {
        // A certificate of another form has no digest.
        let Ok(Certificate { subject: said, claim: claimed, npukit, schema, .. }) =
            serde_json::from_value(changed)
        else {
            continue;
        };
        let forged = Certificate { schema, ..Certificate::new(&npukit, said, claimed) };
        let digest = forged.digest_of_content();
        let forged = Certificate { digest, ..forged };
        let Ok(read) = Certificate::parse(forged.to_json().as_bytes()) else { continue };
        if read.subject.check(&subject()).and_then(|()| read.claim.check(&claim())).is_ok() {
            passed.push(place);
        }
    }
    // These changes are harmless: the digest was recomputed and matches, the version is not
    // checked, the proof used these seeds, and a claim with more assumptions is weaker.
    let is_harmless = |place: &String| {
        let harmless = [
            "/digest",
            "/npukit",
            "/claim/seeds",
            "/claim/assumptions/0 twice",
            "/claim/assumptions/1 twice",
        ];
        harmless.iter().any(|known| place.starts_with(known))
    };
    let bad: Vec<&String> = passed.iter().filter(|place| !is_harmless(place)).collect();
    assert!(bad.is_empty(), "{bad:?}");
    assert!(passed.iter().any(|place| place.starts_with("/claim/seeds")), "{passed:?}");
}

#[test]
fn a_proof_of_nothing_is_none() {
    let message = |claim: Claim| {
        Certificate::parse(Certificate::new("1", subject(), claim).to_json().as_bytes())
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        message(Claim { seeds: Vec::new(), ..claim() }),
        "the certificate has no seeds: nothing was compared"
    );
    assert_eq!(
        message(Claim { outputs: Vec::new(), ..claim() }),
        "the certificate has no outputs: nothing was compared"
    );
}

#[test]
fn what_is_none_is_told() {
    let message = |text: &str| Certificate::parse(text.as_bytes()).unwrap_err().to_string();
    assert!(message("{").starts_with("not a certificate: EOF"));
    assert_eq!(message("[]"), format!("key `schema` is missing; it must be `{SCHEMA}`"));
    assert_eq!(
        message("{\"schema\": \"npukit.certificate/2\"}"),
        format!("key `schema` is `npukit.certificate/2`; it must be `{SCHEMA}`")
    );
    let twice = certificate().to_json().replacen(
        "\"npukit\": \"1.2.3\"",
        "\"npukit\": \"1.2.4\", \"npukit\": \"1.2.3\"",
        1,
    );
    assert!(message(&twice).contains("duplicate field `npukit`"), "{}", message(&twice));
}

#[test]
fn the_first_that_differs_is_named() {
    let other = Subject { model: files(&["net.onnx", "weights2.bin"]), ..subject() };
    let message = subject().check(&other).unwrap_err().to_string();
    let hash = sha256(b"weights.bin");
    assert_eq!(
        message,
        format!("the SHA-256 of file `weights.bin` of the model is missing, but the certificate has {hash}")
    );
    let mut less = claim();
    less.assumptions.pop();
    claim().check(&less).unwrap();
    let message = less.check(&claim()).unwrap_err().to_string();
    assert_eq!(message, "the proof has an assumption that the certificate lacks: no time");
    let mut one = claim();
    one.outputs.pop();
    let message = one.check(&claim()).unwrap_err().to_string();
    assert_eq!(message, "output 1 is `z` of 10 elements, but the certificate has none");
}

/// No other file names the main file of a model.
#[test]
fn a_model_may_be_called_otherwise() {
    let mut renamed = subject();
    let hash = renamed.model.sha256.remove("net.onnx").unwrap();
    renamed.model.sha256.insert("other.onnx".to_owned(), hash);
    renamed.model.file = "other.onnx".to_owned();
    subject().check(&renamed).unwrap();
}
