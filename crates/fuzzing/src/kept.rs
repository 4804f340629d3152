//! [`kept`]: the content of a cache folder.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use npukit::verbs::run::{Request, run};
use npukit::{Cache, Context, Error, InputFile, Source};
use npukit_numeric::npy::{NpyArray, NpyData, write_npy};
use npukit_target::digest;

use crate::{absent, message};

/// A network whose schedule is cached, preceded by the letter of its own fuzz target.
const MODEL: &[u8] = include_bytes!("../../../fuzz/corpus/models/mlp");
/// Shape of its input.
const SHAPE: [usize; 2] = [1, 8];
/// Name of its only cache entry, and the outputs of the program.
static KNOWN: LazyLock<(OsString, Vec<u8>)> = LazyLock::new(|| {
    let folder = folder();
    let outputs = outputs(folder.path()).unwrap_or_else(|error| panic!("the model does not run: {error}"));
    let entries = fs::read_dir(folder.path()).and_then(|entries| entries.collect::<Result<Vec<_>, _>>());
    match entries.as_deref() {
        Ok([entry]) => (entry.file_name(), outputs),
        other => panic!("there must be one entry: {other:?}"),
    }
});

/// Readers: `f`: a file of the folder; `c`: its content, to which the digest is added.
///
/// Whatever the bytes are, the program must compute the same outputs.
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
        Ok(found) => assert!(found == *expected, "the content of the cache changes the outputs of a program"),
        Err(error) => panic!("the content of the cache is refused: {}", message(&error)),
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

/// Returns the input of the network.
fn ones() -> Vec<u8> {
    let array = NpyArray::new(&SHAPE, NpyData::F32(&[1.0; SHAPE[0] * SHAPE[1]]));
    array.map(write_npy).unwrap_or_else(|| panic!("the number of elements matches the shape"))
}
