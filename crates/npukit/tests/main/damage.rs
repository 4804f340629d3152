//! Changed bytes of manifests and of cached files are refused or have no effect; they never change
//! results.
//!
//! A few changes per kind of file are tried by default, or `NPUKIT_DAMAGE` changes.

use std::path::Path;

use npukit::verbs::compile::compile;
use npukit::verbs::run::{Request, run};
use npukit::{Error, InputFile, Source};
use npukit_numeric::SplitMix64;
use npukit_numeric::npy::{NpyArray, NpyData, write_npy};
use npukit_target::{Cache, digest};
use serde_json::{Value, json};

use crate::memory::Memory;
use crate::segments;

/// Number of changes per kind of file: the default, or `NPUKIT_DAMAGE`.
fn changes() -> usize {
    std::env::var("NPUKIT_DAMAGE").map_or(100, |count| count.parse().unwrap())
}

struct Random(SplitMix64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        (self.0.bits() % end.max(1) as u64) as usize
    }

    fn of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }
}

/// Changes one byte: flips a bit, sets a random value or another digit, adds or subtracts one.
fn changed(bytes: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let place = random.below(bytes.len());
    match random.below(5) {
        0 => bytes[place] ^= 1 << random.below(8),
        1 => bytes[place] = random.0.bits() as u8,
        2 => _ = bytes.remove(place),
        3 => bytes.insert(place, *random.of(b"0123456789 \n,-.\"")),
        _ => {
            let digit = bytes[place..].iter_mut().find(|byte| byte.is_ascii_digit());
            digit.into_iter().for_each(|byte| *byte = b'0' + random.below(10) as u8);
        }
    }
    bytes
}

/// Returns a small network that every target supports, after the letter of its fuzz target, with an
/// input.
fn mlp() -> Memory {
    let mut files = Memory::default();
    let model = include_bytes!("../../../../fuzz/corpus/models/mlp");
    files.0.insert("mlp.onnx".into(), model[1..].to_vec());
    let numbers = [1.0, -0.5, 0.25, 2.0, -1.5, 0.75, 0.125, -2.0];
    files.0.insert("x.npy".into(), write_npy(NpyArray::new(&[1, 8], NpyData::F32(&numbers)).unwrap()));
    files
}

fn request(source: Source) -> Request {
    Request { source, inputs: vec![InputFile::parse("x.npy")], ..Request::default() }
}

fn outputs(source: Source, files: &Memory) -> Result<Vec<u8>, Error> {
    Ok(run(&request(source), files.context())?.1.outputs)
}

/// Model, target, and suffix of the file to change.
const MANIFESTS: [(&str, &str, &str); 7] = [
    ("mlp", "tcu", ".npukit.json"),
    ("mlp", "tcu", ".tmodel"),
    ("mlp", "opu", ".opu.toml"),
    ("mlp", "pccx", ".manifest.toml"),
    ("mlp", "pccx", ".pcp"),
    ("mlp", "drra:3x4+ext", ".plan.json"),
    ("decoder", "tcu", ".segments.json"),
];

/// Returns the artifact of a model with its inputs, and the name of the file to load.
fn artifact(model: &str, target: &str) -> (Memory, String) {
    let mut files = if model == "decoder" { segments::decoder() } else { mlp() };
    let mut source = Source::model(format!("{model}.onnx"), target);
    source.calibration.inputs = vec![InputFile::parse("x.npy")];
    let (_, artifact) = compile(&source, files.context()).unwrap();
    let manifest = artifact[0].name.clone();
    files.0.extend(artifact.into_iter().map(|file| (file.name, file.bytes)));
    (files, manifest)
}

#[test]
#[allow(clippy::print_stdout, reason = "the table is what one runs it for")]
fn a_changed_manifest_gives_no_other_results() {
    for (seed, (model, target, ending)) in MANIFESTS.into_iter().enumerate() {
        let (mut files, manifest) = artifact(model, target);
        let expected = outputs(Source::artifact(&manifest), &files).unwrap();
        let name = files.0.keys().find(|name| name.ends_with(ending)).unwrap().clone();
        let (whole, mut random) = (files.0[&name].clone(), Random(SplitMix64::new(seed as u64)));
        let (mut refused, mut same) = (0, 0);
        for number in 0..changes() {
            let bytes = changed(&whole, &mut random);
            files.0.insert(name.clone(), bytes.clone());
            match outputs(Source::artifact(&manifest), &files) {
                Err(_) => refused += 1,
                Ok(found) => {
                    assert!(
                        found == expected,
                        "{name}, change {number}: {:?}",
                        String::from_utf8_lossy(&bytes)
                    );
                    assert_eq!(bytes, whole, "{name}, change {number}, is not noticed");
                    same += 1;
                }
            }
        }
        println!("{target} {ending}: {refused} refused, {same} as they were");
    }
}

/// Returns an entry as stored in a cache folder.
fn entry(content: &[u8]) -> Vec<u8> {
    [&digest(&content).to_le_bytes(), content].concat()
}

/// Returns values that a forged cache entry may contain.
fn values() -> Vec<Value> {
    let texts = ["LocalVars", "LocalConsts", "LocalVarsAndConsts", "LocalIsolated", ""].map(Value::from);
    let numbers = [0, 1, 2, 3, 5, 7, 8, 64, 1 << 20, u64::MAX].map(Value::from);
    let others = [json!(-1), json!(0.5), json!(true), json!(false), Value::Null, json!([]), json!({})];
    texts.into_iter().chain(numbers).chain(others).collect()
}

/// Replaces a random value by another one.
fn put(value: &mut Value, random: &mut Random) {
    let inner: Vec<&mut Value> = match value {
        Value::Array(items) if !items.is_empty() && random.below(8) > 0 => items.iter_mut().collect(),
        Value::Object(fields) if random.below(8) > 0 => fields.values_mut().collect(),
        Value::Array(items) if random.below(2) > 0 => {
            let again = items.first().cloned();
            return items.extend(again);
        }
        _ => return *value = random.of(&values()).clone(),
    };
    let drawn = random.below(inner.len());
    inner.into_iter().nth(drawn).into_iter().for_each(|inner| put(inner, random));
}

/// Returns a replacement for a cached schedule: damaged data, the content of another entry, or a
/// forged choice with a matching digest.
fn replaced(whole: &[u8], other: &[u8], random: &mut Random) -> Vec<u8> {
    let content = &whole[8..];
    match random.below(4) {
        0 => changed(whole, random),
        1 => entry(&changed(content, random)),
        2 => entry(&other[8..]),
        _ => {
            let mut value: Value = serde_json::from_slice(content).unwrap();
            (0..=random.below(3)).for_each(|_| put(&mut value, random));
            entry(&serde_json::to_vec(&value).unwrap())
        }
    }
}

/// Returns the entries of a folder, by path.
fn entries(folder: &Path) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut entries: Vec<_> = paths.map(|path| (path.clone(), std::fs::read(path).unwrap())).collect();
    entries.sort();
    entries
}

#[test]
#[allow(clippy::print_stdout, reason = "the table is what one runs it for")]
fn a_changed_cache_gives_no_other_results() {
    let mut files = mlp();
    files.0.insert("digits.onnx".into(), include_bytes!("../../assets/digits.onnx").to_vec());
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("damage");
    let _ = std::fs::remove_dir_all(&folder);
    let cache = || Cache::new("one".to_owned(), Some(folder.clone()));
    let of = |model: &str| Source::model(model, "tcu:pynqz1");
    let program = |model: &str| {
        let artifact = compile(&of(model), files.context().with_cache(&cache())).unwrap().1;
        let mut files = files.clone();
        let manifest = artifact[0].name.clone();
        files.0.extend(artifact.into_iter().map(|file| (file.name, file.bytes)));
        (files, manifest)
    };
    let results = || {
        let (files, manifest) = program("mlp.onnx");
        outputs(Source::artifact(&manifest), &files).unwrap()
    };
    program("digits.onnx");
    let others = entries(&folder);
    let expected = results();
    let kept: Vec<_> = entries(&folder).into_iter().filter(|entry| !others.contains(entry)).collect();
    assert!(!kept.is_empty() && !others.is_empty(), "nothing is kept");
    let (mut random, mut taken) = (Random(SplitMix64::new(1)), 0);
    for number in 0..changes() {
        let (path, whole) = random.of(&kept);
        let (_, other) = random.of(&others);
        let bytes = replaced(whole, other, &mut random);
        std::fs::write(path, &bytes).unwrap();
        assert!(results() == expected, "change {number}: {:?}", String::from_utf8_lossy(&bytes));
        // An entry that is not accepted is computed again, and stored.
        taken += usize::from(std::fs::read(path).unwrap() == bytes && bytes != *whole);
        std::fs::write(path, whole).unwrap();
    }
    println!("{} changes of entries, {taken} of them taken", changes());
}
