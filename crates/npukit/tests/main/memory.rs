//! [`Memory`]: files in memory.

use std::collections::BTreeMap;

use npukit::Source;
use npukit::verbs::compile::compile;
use npukit::{Context, ReadError, Reader};

/// Files by path.
#[derive(Clone, Default)]
pub struct Memory(pub BTreeMap<String, Vec<u8>>);

impl Reader for Memory {
    fn read(&self, path: &str) -> Result<Vec<u8>, ReadError> {
        let absent = || ReadError::Absent { path: path.to_owned() };
        self.0.get(path).cloned().ok_or_else(absent)
    }

    fn list(&self, path: &str) -> Result<Vec<String>, ReadError> {
        Ok(self.0.keys().filter(|key| key.starts_with(path)).cloned().collect())
    }
}

impl Memory {
    /// Returns the embedded network, three of its images, and the network compiled for the default
    /// target.
    pub fn with_digits() -> Self {
        let mut files = Self::default();
        files.0.insert("digits.onnx".into(), include_bytes!("../../assets/digits.onnx").to_vec());
        files.0.insert("x.npy".into(), three_images());
        let (_, artifact) = compile(&digits("tcu"), files.context()).unwrap();
        files.0.extend(artifact.into_iter().map(|file| (file.name, file.bytes)));
        files
    }

    /// Returns a context that reads these files.
    pub fn context(&self) -> Context<'_> {
        Context::new(self)
    }
}

/// Returns the embedded network for a target.
pub fn digits(target: &str) -> Source {
    Source { path: "digits.onnx".into(), target: Some(target.into()), ..Source::default() }
}

/// Returns the first three embedded images, with a matching header.
fn three_images() -> Vec<u8> {
    use npukit_numeric::npy::{NpyArray, NpyData, read_npy, write_npy};
    let all = read_npy("images", include_bytes!("../../assets/digits_images.npy")).unwrap();
    let values = &all.as_f32().unwrap()[..3 * 64];
    write_npy(NpyArray::new(&[3, 1, 8, 8], NpyData::F32(values)).unwrap())
}
