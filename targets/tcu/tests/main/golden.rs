//! Reads the vectors in `tests/golden/tcu`.

use std::path::Path;

use npukit_tcu::internals::artifact::raw_to_bytes;
use npukit_tcu::{DataType, Machine, Memory};
use serde_json::Value;

/// Reads the file `name`.
pub fn golden(name: &str) -> Value {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/tcu"));
    let text = std::fs::read_to_string(folder.join(name)).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Returns a string.
pub fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

/// Returns a raw scalar.
pub fn raw(value: &Value) -> i32 {
    i32::try_from(value.as_i64().unwrap()).unwrap()
}

/// Returns a list of raw scalars.
pub fn raws(value: &Value) -> Vec<i32> {
    value.as_array().unwrap().iter().map(raw).collect()
}

/// Decodes hexadecimal digits to bytes.
pub fn hex_bytes(digits: &str) -> Vec<u8> {
    let digits = digits.as_bytes();
    digits.chunks(2).map(|d| u8::from_str_radix(std::str::from_utf8(d).unwrap(), 16).unwrap()).collect()
}

/// Returns the SHA-256 of the first vectors of a memory, as bytes of the files.
pub fn hash(machine: &Machine, memory: Memory, vectors: u64) -> String {
    let raw = machine.read(memory, 0, vectors).unwrap();
    let bytes = raw_to_bytes(DataType::Fp16Bp8, &raw);
    npukit_target::sha256(&bytes)
}
