//! [`kept`]: what a cache's folder may hold.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use npukit::verbs::run::{Request, run};
use npukit::{Cache, Context, Error, InputFile, Source};
use npukit_numeric::npy::{NpyArray, NpyData, write_npy};
use npukit_target::digest;

use crate::{absent, told};

/// A network whose schedule is kept, behind the letter of its own fuzz target.
const MODEL: &[u8] = include_bytes!("../../../fuzz/corpus/models/mlp");
/// The shape of its input.
const SHAPE: [usize; 2] = [1, 8];
/// The name of its only entry, and what comes of it.
static KNOWN: LazyLock<(OsString, Vec<u8>)> = LazyLock::new(|| {
    let folder = folder();
    let outputs = outputs(folder.path()).unwrap_or_else(|error| panic!("the model does not run: {error}"));
    let entries = fs::read_dir(folder.path()).and_then(|entries| entries.collect::<Result<Vec<_>, _>>());
    match entries.as_deref() {
        Ok([entry]) => (entry.file_name(), outputs),
        other => panic!("there is not one entry: {other:?}"),
    }
});

/// `f`: a file of the folder; `c`: its content, to which the digest is added.
///
/// Whatever it is, the same comes of the program.
pub fn kept(input: &[u8]) {
    let bytes = match input.split_first() {
        Some((b'f', bytes)) => bytes.to_vec(),
        Some((b'c', content)) => [&digest(&content).to_le_bytes(), content].concat(),
        _ => return,
    };
    let (name, expected) = &*KNOWN;
    let folder = folder();
    fs::write(folder.path().join(name), bytes).unwrap_or_else(|error| panic!("no entry: {error}"));
    match outputs(folder.path()) {
        Ok(found) => assert!(found == *expected, "what a cache holds changes what a program computes"),
        Err(error) => panic!("what a cache holds is refused: {}", told(&error)),
    }
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap_or_else(|error| panic!("no folder: {error}"))
}

fn outputs(folder: &Path) -> Result<Vec<u8>, Error> {
    let files = |path: &str| match path {
        "m.onnx" => Ok(MODEL[1..].to_vec()),
        "x.npy" => Ok(ones()),
        other => absent(other),
    };
    let source = Source::model("m.onnx", "tcu:pynqz1");
    let request = Request { source, inputs: vec![InputFile::parse("x.npy")], ..Request::default() };
    let cache = Cache::new("fuzzing".to_owned(), Some(folder.to_owned()));
    Ok(run(&request, Context::new(&files).with_cache(&cache))?.1.outputs)
}

/// The input of the network.
fn ones() -> Vec<u8> {
    let array = NpyArray::new(&SHAPE, NpyData::F32(&[1.0; SHAPE[0] * SHAPE[1]]));
    array.map(write_npy).unwrap_or_else(|| panic!("the shape has as many elements"))
}
