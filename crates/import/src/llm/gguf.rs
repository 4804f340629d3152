//! Reader of GGUF files: [`Gguf`], the metadata and the places of the tensors.
//!
//! Source: `docs/gguf.md` of ggml. A file has a magic number, a version, the number of tensors and
//! of metadata entries, the entries, the tensors' names, shapes, types and offsets, and then, at a
//! multiple of the alignment, the tensors' bytes. Only the part before these bytes is read here.

mod cursor;
mod tensor_type;
mod value;

use std::collections::BTreeSet;

use indexmap::IndexMap;

use super::LlmError;
use crate::sidecar_files::{Part, ReadRange};
use cursor::{Cursor, Stop};
pub use tensor_type::TensorType;
pub use value::{Array, Kind, Number, Value};

/// First bytes of a file.
pub const MAGIC: &[u8; 4] = b"GGUF";
/// Versions that are read. Version 1 had shorter counts, and was soon replaced.
const VERSIONS: [u32; 2] = [2, 3];
/// Alignment of a file that does not state one, in bytes.
const ALIGNMENT: u64 = 32;
/// Number of bytes that are read first.
const FIRST_BYTES: u64 = 64 << 10;
/// Largest number of dimensions of a tensor.
const DIMENSIONS: u32 = 4;

/// Content of a file, without the tensors' elements.
#[derive(Clone, Debug, PartialEq)]
pub struct Gguf {
    /// Version of the format.
    pub version: u32,
    /// Metadata entries by key, in the order of the file.
    pub metadata: IndexMap<String, Value>,
    /// Tensors by name, in the order of the file.
    pub tensors: IndexMap<String, TensorInfo>,
}

/// Place and type of a tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorInfo {
    /// Sizes, the slowest axis first.
    pub shape: Vec<usize>,
    /// Type of the elements.
    pub element: TensorType,
    /// Offset of the elements in the file, in bytes.
    pub offset: u64,
    /// Size of the elements in bytes.
    pub bytes: u64,
}

impl Gguf {
    /// Reads the file at `path` up to the tensors' elements.
    ///
    /// Memory is proportional to this part of the file. Sizes in the file are compared with the
    /// size of the file before memory is reserved.
    ///
    /// # Errors
    ///
    /// [`LlmError::File`] if the file cannot be read, [`LlmError::Gguf`] with the byte offset if it
    /// is not a valid file of this format.
    pub fn read(path: &str, files: &ReadRange<'_>) -> Result<Self, LlmError> {
        let unreadable = |reason| LlmError::File { path: path.to_owned(), reason };
        let mut wanted = FIRST_BYTES;
        loop {
            let Part { bytes, file_bytes } = files(path, 0..wanted).map_err(unreadable)?;
            match parse(&mut Cursor::new(&bytes, file_bytes)) {
                Ok(file) => return Ok(file),
                Err(Stop::More(end)) if bytes.len() as u64 >= wanted => wanted = end.max(4 * wanted),
                Err(Stop::More(end)) => {
                    let reason = format!("byte {end} of {file_bytes} cannot be read");
                    return Err(unreadable(reason));
                }
                Err(Stop::Wrong { offset, reason }) => {
                    return Err(LlmError::Gguf { path: path.to_owned(), offset, reason });
                }
            }
        }
    }
}

/// Tensor before the begin of the elements is known.
struct Entry {
    name: String,
    info: TensorInfo,
    /// Offset of the entry in the file, for messages.
    at: u64,
}

fn parse(file: &mut Cursor<'_>) -> Result<Gguf, Stop> {
    if file.bytes(4, "the magic number")? != MAGIC {
        return Err(Stop::wrong(0, "the file does not begin with `GGUF`"));
    }
    let at = file.offset();
    let version = file.u32("the version")?;
    if !VERSIONS.contains(&version) {
        return Err(Stop::wrong(at, format!("version {version} is not supported; legal are 2 and 3")));
    }
    let at = file.offset();
    let (tensors, entries) =
        (file.u64("the number of tensors")?, file.u64("the number of metadata entries")?);
    file.check_count(at, entries, value::LEAST_ENTRY_BYTES, "metadata entries")?;
    file.check_count(at, tensors, LEAST_TENSOR_BYTES, "tensors")?;
    let metadata = metadata(file, entries)?;
    let alignment = alignment(file.offset(), &metadata)?;
    let list: Vec<Entry> = (0..tensors).map(|_| entry(file, alignment)).collect::<Result<_, _>>()?;
    let begin = file.offset().checked_next_multiple_of(alignment);
    Ok(Gguf { version, metadata, tensors: placed(file, begin, list)? })
}

fn metadata(file: &mut Cursor<'_>, entries: u64) -> Result<IndexMap<String, Value>, Stop> {
    let mut metadata = IndexMap::new();
    for _ in 0..entries {
        let at = file.offset();
        let key = file.string("a key")?;
        let value = Value::read(file)?;
        if metadata.contains_key(&key) {
            return Err(Stop::wrong(at, format!("key `{key}` is repeated")));
        }
        metadata.insert(key, value);
    }
    Ok(metadata)
}

fn alignment(at: u64, metadata: &IndexMap<String, Value>) -> Result<u64, Stop> {
    const KEY: &str = "general.alignment";
    let Some(value) = metadata.get(KEY) else { return Ok(ALIGNMENT) };
    let stated = value.as_u64().filter(|alignment| alignment.is_power_of_two());
    stated.ok_or_else(|| {
        Stop::wrong(at, format!("`{KEY}` of the metadata is {value}; legal is a power of two"))
    })
}

/// Bytes of the shortest entry of a tensor: lengths of its name and shape, type and offset.
const LEAST_TENSOR_BYTES: u64 = 8 + 4 + 4 + 8;

fn entry(file: &mut Cursor<'_>, alignment: u64) -> Result<Entry, Stop> {
    let at = file.offset();
    let name = file.string("a tensor's name")?;
    let wrong = |at, reason: String| Stop::wrong(at, format!("tensor `{name}`: {reason}"));
    let place = file.offset();
    let dimensions = file.u32("a number of dimensions")?;
    if dimensions > DIMENSIONS {
        return Err(wrong(place, format!("{dimensions} dimensions; legal are up to {DIMENSIONS}")));
    }
    let mut shape = Vec::new();
    for _ in 0..dimensions {
        let place = file.offset();
        let size = file.u64("a size")?;
        match usize::try_from(size) {
            Ok(size) if size > 0 => shape.insert(0, size),
            _ => return Err(wrong(place, format!("a size of {size}; legal are positive numbers"))),
        }
    }
    let place = file.offset();
    let number = file.u32("a tensor's type")?;
    let unknown = || wrong(place, format!("type {number} is unknown"));
    let element = TensorType::of(number).ok_or_else(unknown)?;
    let bytes = element.bytes(&shape).ok_or_else(|| {
        let block = element.block;
        wrong(place, format!("shape {shape:?} is too large, or not rows of blocks of {block} elements"))
    })?;
    let place = file.offset();
    let offset = file.u64("a tensor's offset")?;
    if !offset.is_multiple_of(alignment) {
        return Err(wrong(place, format!("offset {offset} is not a multiple of {alignment}")));
    }
    Ok(Entry { info: TensorInfo { shape, element, offset, bytes }, name, at })
}

/// Adds the begin of the elements to the offsets, and checks that all elements are in the file,
/// each only once.
fn placed(
    file: &Cursor<'_>,
    begin: Option<u64>,
    list: Vec<Entry>,
) -> Result<IndexMap<String, TensorInfo>, Stop> {
    let mut tensors = IndexMap::new();
    let mut ranges = BTreeSet::new();
    for Entry { name, mut info, at } in list {
        let offset = begin.and_then(|begin| info.offset.checked_add(begin));
        let end = offset.and_then(|offset| offset.checked_add(info.bytes));
        let (Some(offset), Some(end)) = (offset, end.filter(|&end| end <= file.file_bytes())) else {
            let (bytes, offset) = (info.bytes, info.offset);
            let size = file.file_bytes();
            let reason = format!(
                "tensor `{name}`: {bytes} bytes at offset {offset} of the elements are not within the file of {size} bytes"
            );
            return Err(Stop::wrong(at, reason));
        };
        info.offset = offset;
        ranges.insert((offset, end, at));
        if tensors.insert(name.clone(), info).is_some() {
            return Err(Stop::wrong(at, format!("tensor `{name}` is repeated")));
        }
    }
    let mut pairs = ranges.iter().zip(ranges.iter().skip(1));
    match pairs.find(|((_, end, _), (begin, ..))| begin < end) {
        Some((_, &(begin, _, at))) => {
            Err(Stop::wrong(at, format!("the elements at byte {begin} belong to two tensors")))
        }
        None => Ok(tensors),
    }
}
