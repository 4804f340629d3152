//! GGUF files: types of tensors, metadata, alignments, versions, and defects, compared with the
//! vectors of the reference programs.

use npukit_graph::language::Rows;
use npukit_import::llm::LlmError;
use npukit_import::llm::gguf::{Array, Gguf, Kind, Number, Value};
use npukit_numeric::RowFormat;
use npukit_shared::needs;
use serde_json::json as value;

use crate::llm_files::{Files, arrays, folder, json, reader};

fn read(files: &Files, name: &str) -> Result<Gguf, LlmError> {
    Gguf::read(name, &reader(files))
}

/// Every type gives the floats of `gguf` and of llama.cpp, bit for bit.
#[needs(NPUKIT_SHARED)]
#[test]
fn all_types_give_the_same_floats() {
    let files = folder("gguf");
    for format in RowFormat::ALL {
        let name = format!("types_{}.gguf", format.name());
        let file = read(&files, &name).unwrap();
        let expected = arrays(&files[&name.replace(".gguf", ".npz")]);
        assert_eq!(file.tensors.len(), expected.len());
        for (tensor, info) in &file.tensors {
            assert_eq!(info.element.format(), Some(format), "{name}");
            let expected = &expected[tensor];
            assert_eq!(info.shape, expected.shape(), "{name}");
            let bytes = &files[&name][info.offset as usize..][..info.bytes as usize];
            let rows = Rows::new(format, [info.shape[0], info.shape[1]], bytes.to_vec()).unwrap();
            let bits = |floats: &[f32]| floats.iter().map(|float| float.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&rows.to_floats()), bits(expected.as_f32().unwrap()), "{name} {tensor}");
        }
    }
}

/// Types that are not supported are read as such.
#[needs(NPUKIT_SHARED)]
#[test]
fn other_types_have_names() {
    let files = folder("gguf");
    for (name, bytes) in [("Q2_K", 2 * 84 * 6), ("Q3_K", 2 * 110 * 6)] {
        let file = read(&files, &format!("types_{name}.gguf")).unwrap();
        let info = &file.tensors["normal"];
        assert_eq!((info.element.name, info.element.format(), info.bytes), (name, None, bytes));
    }
}

/// Returns a value as the vectors write it.
fn message(value: &Value) -> serde_json::Value {
    match value {
        Value::Number(number) => of_number(*number),
        Value::String(text) => value!(text),
        Value::Array(array) => of_array(array),
    }
}

fn of_number(number: Number) -> serde_json::Value {
    match number.kind {
        Kind::Bool => value!(number.bits == 1),
        Kind::F32 => value!(format!("0x{:08x}", number.bits)),
        Kind::F64 => value!(format!("0x{:016x}", number.bits)),
        Kind::I8 | Kind::I16 | Kind::I32 | Kind::I64 => value!(number.bits as i64),
        Kind::U8 | Kind::U16 | Kind::U32 | Kind::U64 => value!(number.bits),
    }
}

fn of_array(array: &Array) -> serde_json::Value {
    let (kind, items) = match array {
        Array::Numbers { kind, .. } => (name(*kind), array.numbers().map(of_number).collect()),
        Array::Strings(texts) => ("string", texts.iter().map(|text| value!(text)).collect()),
        Array::Arrays(arrays) => ("array", arrays.iter().map(of_array).collect::<Vec<_>>()),
    };
    value!({ "array_of": kind, "items": items })
}

fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::U8 => "uint8",
        Kind::I8 => "int8",
        Kind::U16 => "uint16",
        Kind::I16 => "int16",
        Kind::U32 => "uint32",
        Kind::I32 => "int32",
        Kind::F32 => "float32",
        Kind::Bool => "bool",
        Kind::U64 => "uint64",
        Kind::I64 => "int64",
        Kind::F64 => "float64",
    }
}

/// Replaces floats of the vectors by their bits.
fn with_bits(value: &serde_json::Value) -> serde_json::Value {
    match value {
        serde_json::Value::Object(object) if object.contains_key("bits") => object["bits"].clone(),
        serde_json::Value::Object(object) => object
            .iter()
            .map(|(key, value)| (key.clone(), with_bits(value)))
            .collect::<serde_json::Map<_, _>>()
            .into(),
        serde_json::Value::Array(list) => list.iter().map(with_bits).collect(),
        other => other.clone(),
    }
}

#[needs(NPUKIT_SHARED)]
#[test]
fn metadata_and_places_are_read() {
    let files = folder("gguf");
    for stem in ["metadata", "nested"] {
        let file = read(&files, &format!("{stem}.gguf")).unwrap();
        let expected = json(&format!("gguf/{stem}.json"));
        for entry in expected["metadata"].as_array().unwrap() {
            let key = entry["key"].as_str().unwrap();
            let found = &file.metadata[key];
            assert_eq!(message(found), with_bits(&entry["value"]), "{key}");
            let kind = match found {
                Value::Number(number) => name(number.kind),
                Value::String(_) => "string",
                Value::Array(_) => "array",
            };
            assert_eq!(kind, entry["type"], "{key}");
        }
        assert_eq!(file.metadata["test.long.string"].as_str().unwrap().len(), 5000);
        assert_eq!(file.metadata["test.long.array"].as_array().unwrap().count(), 1000);
        for (entry, (name, info)) in expected["tensors"].as_array().unwrap().iter().zip(&file.tensors) {
            assert_eq!((&entry["name"], &entry["type"]), (&value!(name), &value!(info.element.name)));
            assert_eq!(entry["shape"], value!(info.shape), "{name}");
            let bytes = &files[&format!("{stem}.gguf")][info.offset as usize..][..info.bytes as usize];
            let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(entry["hex"], hex, "{name}");
        }
    }
}

#[needs(NPUKIT_SHARED)]
#[test]
fn alignments_and_versions_are_read() {
    let files = folder("gguf");
    let usual = read(&files, "metadata.gguf").unwrap();
    for (name, version, alignment) in
        [("align_8", 3, 8), ("align_64", 3, 64), ("align_4096", 3, 4096), ("version_2", 2, 32)]
    {
        let file = read(&files, &format!("{name}.gguf")).unwrap();
        assert_eq!(file.version, version);
        assert!(file.tensors.keys().eq(usual.tensors.keys()), "{name}");
        assert!(file.tensors.values().all(|info| info.offset % alignment == 0), "{name}");
    }
}

/// Files that the reference programs refuse are refused, with an offset within the file.
#[needs(NPUKIT_SHARED)]
#[test]
fn broken_files_are_refused_with_their_place() {
    let files = folder("gguf/broken");
    assert_eq!(files.len(), 25);
    for (name, bytes) in &files {
        match read(&files, name) {
            Err(LlmError::Gguf { offset, reason, .. }) => {
                assert!(offset <= bytes.len() as u64, "{name}: {offset}: {reason}");
            }
            Ok(_) if name.starts_with("odd_") => {}
            other => panic!("{name}: {other:?}"),
        }
    }
    let place = |name: &str| match read(&files, &format!("{name}.gguf")) {
        Err(LlmError::Gguf { offset, .. }) => offset,
        other => panic!("{name}: {other:?}"),
    };
    assert_eq!((place("empty"), place("magic"), place("version_0"), place("cut_in_header")), (0, 0, 4, 8));
}

/// A file that ends early is refused, wherever it ends, and no byte makes the reader panic.
#[needs(NPUKIT_SHARED)]
#[test]
fn cut_and_changed_files_are_refused_or_read() {
    let files = folder("gguf");
    let whole = &files["metadata.gguf"];
    for length in (0..whole.len() - 32).step_by(61).chain(0..600) {
        let cut = Files::from([("m".to_owned(), whole[..length].to_vec())]);
        let Err(LlmError::Gguf { offset, .. }) = read(&cut, "m") else { panic!("{length} bytes are read") };
        assert!(offset <= length as u64, "{offset} of {length}");
    }
    for place in 0..3000 {
        for byte in [0, 0x7F, 0xFF] {
            let mut bytes = whole.clone();
            bytes[place] = byte;
            let _ = read(&Files::from([("m".to_owned(), bytes)]), "m");
        }
    }
}
