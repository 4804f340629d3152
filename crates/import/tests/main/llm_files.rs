//! Files for the tests of language models: a folder on disk, or files in memory.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use npukit_import::onnx::Part;
use npukit_numeric::npy::read_npz;
use npukit_numeric::{Tensor, TensorData};
use npukit_shared::shared;

/// Files by name.
pub type Files = BTreeMap<String, Vec<u8>>;

/// Returns the files of the folder `name` of the vectors of language models.
pub fn folder(name: &str) -> Files {
    let entries = std::fs::read_dir(shared(&format!("golden/llm/{name}"))).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_file());
    paths
        .map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), std::fs::read(path).unwrap()))
        .collect()
}

/// Returns the path of a file of the repository's vectors of language models.
pub fn own(name: &str) -> std::path::PathBuf {
    npukit_shared::golden("llm").join(name)
}

/// Returns the files of a folder and of the folders in it, by their paths.
pub fn all_files(root: &Path) -> Files {
    let mut files = Files::new();
    for entry in std::fs::read_dir(root).unwrap() {
        let (path, name) = entry.map(|entry| (entry.path(), entry.file_name())).unwrap();
        let name = name.to_str().unwrap();
        if path.is_dir() {
            let below = all_files(&path).into_iter();
            files.extend(below.map(|(below, bytes)| (format!("{name}/{below}"), bytes)));
        } else {
            files.insert(name.to_owned(), std::fs::read(path).unwrap());
        }
    }
    files
}

/// Returns lists that are stored one after the other, by their ends.
pub fn lists(numbers: &Tensor, ends: &Tensor) -> Vec<Vec<usize>> {
    let (numbers, mut begin) = (integers(numbers), 0);
    let list = |end: usize| numbers[std::mem::replace(&mut begin, end)..end].to_vec();
    integers(ends).into_iter().map(list).collect()
}

/// Returns the texts of the vectors of language models.
pub fn texts() -> Vec<String> {
    let texts = json("inputs.json");
    texts["texts"].as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect()
}

/// Returns a reader of the files.
pub fn reader(files: &Files) -> impl Fn(&str, Range<u64>) -> Result<Part, String> + '_ {
    |path, range| {
        let bytes = files.get(path).ok_or("there is no such file")?;
        let place = |offset: u64| usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
        let part = &bytes[place(range.start)..place(range.end).max(place(range.start))];
        Ok(Part { bytes: part.to_vec(), file_bytes: bytes.len() as u64 })
    }
}

/// Reads a part of the file at `path` on disk.
pub fn on_disk(path: &Path, range: Range<u64>) -> Result<Part, String> {
    use std::io::{Read, Seek, SeekFrom};
    let mut file = std::fs::File::open(path).map_err(|error| error.to_string())?;
    let file_bytes = file.metadata().unwrap().len();
    let (begin, end) = (range.start.min(file_bytes), range.end.min(file_bytes));
    file.seek(SeekFrom::Start(begin)).unwrap();
    let mut bytes = Vec::new();
    file.take(end - begin).read_to_end(&mut bytes).unwrap();
    Ok(Part { bytes, file_bytes })
}

/// Returns the arrays of an `.npz` file by name.
pub fn arrays(bytes: &[u8]) -> BTreeMap<String, Tensor> {
    read_npz("expected.npz", bytes).unwrap().into_iter().collect()
}

/// Returns the integers of an array.
pub fn integers(array: &Tensor) -> Vec<usize> {
    match array.data() {
        TensorData::I32(values) => values.iter().map(|&value| value as usize).collect(),
        other => panic!("{other:?}"),
    }
}

/// Returns the JSON value of a file of the vectors.
pub fn json(name: &str) -> serde_json::Value {
    serde_json::from_slice(&std::fs::read(shared(&format!("golden/llm/{name}"))).unwrap()).unwrap()
}

/// Returns the tokens of a JSON list.
pub fn tokens(list: &serde_json::Value) -> Vec<usize> {
    list.as_array().unwrap().iter().map(|token| token.as_u64().unwrap() as usize).collect()
}
