//! Reader of safetensors files. [`SafeTensors`] gives the tensors by name, as slices of the file's
//! bytes; [`entries`] reads their places from the header alone.
//!
//! Source: Hugging Face's description of the format. The first eight bytes are the length of the
//! header, little-endian. The header is a JSON object. For each tensor it holds the `dtype`, the
//! `shape` and, in `data_offsets`, the begin and end of the elements in the bytes after the header,
//! which they fill without gaps. `__metadata__` holds texts about the file.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::unique::Unique;

/// Key of the header that is not a tensor.
const METADATA: &str = "__metadata__";

/// Sizes of elements in bytes. The size of other types is unknown.
#[rustfmt::skip] // A table.
const BYTES: &[(&str, usize)] = &[
    ("BOOL", 1), ("U8", 1), ("I8", 1), ("F8_E4M3", 1), ("F8_E5M2", 1),
    ("U16", 2), ("I16", 2), ("F16", 2), ("BF16", 2),
    ("U32", 4), ("I32", 4), ("F32", 4),
    ("U64", 8), ("I64", 8), ("F64", 8),
];

/// Tensors of a file, by name.
pub struct SafeTensors<'a> {
    tensors: BTreeMap<String, View<'a>>,
}

/// A tensor in a file.
pub struct View<'a> {
    /// Name of the element type in the file.
    pub dtype: String,
    /// Shape of the tensor.
    pub shape: Vec<usize>,
    /// Elements, row-major and little-endian.
    pub data: &'a [u8],
}

/// Place of a tensor in a file.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct Entry {
    /// Name of the element type in the file.
    pub(crate) dtype: String,
    /// Shape of the tensor.
    pub(crate) shape: Vec<usize>,
    /// Begin and end of the elements, in the bytes after the header.
    pub(crate) data_offsets: [usize; 2],
}

/// Number of bytes before the header, which hold the header's length.
pub(crate) const LENGTH_BYTES: usize = 8;

/// Reads a header, which is followed by `data_bytes` bytes of elements.
///
/// # Errors
///
/// Describes why the file is not a safetensors file.
pub(crate) fn entries(header: &[u8], data_bytes: usize) -> Result<BTreeMap<String, Entry>, String> {
    let header: Unique<Value> = serde_json::from_slice(header).map_err(|error| error.to_string())?;
    let mut entries = BTreeMap::new();
    let mut places = Vec::new();
    for (name, value) in header.0.into_iter().filter(|(name, _)| name != METADATA) {
        let entry: Entry =
            serde_json::from_value(value).map_err(|error| format!("tensor `{name}`: {error}"))?;
        entry.check(data_bytes).map_err(|reason| format!("tensor `{name}`: {reason}"))?;
        places.push(entry.data_offsets);
        entries.insert(name, entry);
    }
    places.sort_unstable();
    match places.iter().try_fold(0, |end, &[from, to]| (from == end).then_some(to)) {
        Some(end) if end == data_bytes => Ok(entries),
        _ => Err("its tensors overlap, or leave gaps".to_owned()),
    }
}

impl<'a> SafeTensors<'a> {
    /// Reads the header of a file.
    ///
    /// # Errors
    ///
    /// Describes why the bytes are not a safetensors file.
    pub fn read(bytes: &'a [u8]) -> Result<Self, String> {
        let (length, rest) =
            bytes.split_first_chunk().ok_or("it is shorter than the length of its header")?;
        let length = u64::from_le_bytes(*length);
        let split = usize::try_from(length).ok().and_then(|length| rest.split_at_checked(length));
        let (header, data) =
            split.ok_or_else(|| format!("its header of {length} bytes is longer than the file"))?;
        let view = |(name, Entry { dtype, shape, data_offsets: [from, to] }): (String, Entry)| {
            (name, View { dtype, shape, data: &data[from..to] })
        };
        Ok(Self { tensors: entries(header, data.len())?.into_iter().map(view).collect() })
    }

    /// Names of all tensors, in alphabetical order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tensors.keys().map(String::as_str)
    }

    /// Returns the tensor called `name`, or `None` if it does not exist.
    pub fn tensor(&self, name: &str) -> Option<&View<'a>> {
        self.tensors.get(name)
    }
}

impl Entry {
    /// Checks the tensor's place in the `data_bytes` bytes after the header.
    fn check(&self, data_bytes: usize) -> Result<(), String> {
        let [from, to] = self.data_offsets;
        if from > to || to > data_bytes {
            return Err(format!("its bytes {from} to {to} are not within the {data_bytes} after the header"));
        }
        let element = BYTES.iter().find(|(name, _)| *name == self.dtype).map(|&(_, bytes)| bytes);
        let need = element.map(|bytes| self.shape.iter().try_fold(bytes, |all, &size| all.checked_mul(size)));
        if need.is_some_and(|need| need != Some(to - from)) {
            let (shape, dtype, have) = (&self.shape, &self.dtype, to - from);
            return Err(format!("shape {shape:?} of {dtype} is not what {have} bytes have"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use ::safetensors::{Dtype, tensor::TensorView};
    use proptest::prelude::*;

    use super::*;

    fn file(header: &str, data: &[u8]) -> Vec<u8> {
        [&(header.len() as u64).to_le_bytes(), header.as_bytes(), data].concat()
    }

    fn fault(bytes: &[u8]) -> String {
        SafeTensors::read(bytes).err().unwrap()
    }

    #[test]
    fn what_the_reference_writes_is_read() {
        let data: Vec<u8> = (0..24).collect();
        let views = [
            ("b", TensorView::new(Dtype::F32, vec![2, 3], &data).unwrap()),
            ("a", TensorView::new(Dtype::BF16, vec![4], &data[..8]).unwrap()),
            ("none", TensorView::new(Dtype::I64, vec![0, 5], &[]).unwrap()),
        ];
        let bytes = ::safetensors::serialize(views, None).unwrap();
        let found = SafeTensors::read(&bytes).unwrap();
        assert_eq!(found.names().collect::<Vec<_>>(), ["a", "b", "none"]);
        let b = found.tensor("b").unwrap();
        assert_eq!((b.dtype.as_str(), b.shape.as_slice(), b.data), ("F32", &[2, 3][..], &data[..]));
        assert_eq!(found.tensor("a").unwrap().data, &data[..8]);
        assert!(found.tensor("c").is_none());
    }

    #[test]
    fn faults_say_what_is_wrong() {
        let tensor =
            |offsets: &str| format!(r#"{{"a":{{"dtype":"F32","shape":[1],"data_offsets":{offsets}}}}}"#);
        let four = [0; 4];
        assert_eq!(fault(b"short"), "it is shorter than the length of its header");
        assert_eq!(
            fault(&u64::MAX.to_le_bytes()),
            format!("its header of {} bytes is longer than the file", u64::MAX)
        );
        assert!(fault(&file("[]", &[])).contains("expected a map"), "{}", fault(&file("[]", &[])));
        assert_eq!(
            fault(&file(&tensor("[2,6]"), &four)),
            "tensor `a`: its bytes 2 to 6 are not within the 4 after the header"
        );
        assert_eq!(
            fault(&file(&tensor("[3,1]"), &four)),
            "tensor `a`: its bytes 3 to 1 are not within the 4 after the header"
        );
        assert_eq!(
            fault(&file(&tensor("[0,2]"), &four)),
            "tensor `a`: shape [1] of F32 is not what 2 bytes have"
        );
        assert_eq!(fault(&file(&tensor("[1,5]"), &[0; 5])), "its tensors overlap, or leave gaps");
        assert_eq!(fault(&file(&tensor("[0,4]"), &[0; 5])), "its tensors overlap, or leave gaps");
    }

    proptest! {
        /// The reference implementation accepts every file that we accept, with the same content.
        #[test]
        fn damaged_files_are_read_as_the_reference_reads_them_or_not(at in 0_usize..200, byte: u8) {
            let data: Vec<u8> = (0..24).collect();
            let views = [
                ("b", TensorView::new(Dtype::F32, vec![2, 2], &data[..16]).unwrap()),
                ("a", TensorView::new(Dtype::BF16, vec![4], &data[16..]).unwrap()),
            ];
            let mut bytes = ::safetensors::serialize(views, None).unwrap();
            let at = at % bytes.len();
            bytes[at] = byte;
            if let Ok(found) = SafeTensors::read(&bytes)
                && let Ok(reference) = ::safetensors::SafeTensors::deserialize(&bytes)
            {
                for (name, view) in reference.tensors() {
                    let own = found.tensor(&name).unwrap();
                    prop_assert_eq!((own.shape.as_slice(), own.data), (view.shape(), view.data()));
                }
            }
        }
    }
}
