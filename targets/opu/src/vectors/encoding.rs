//! Encoding vectors: text, fields, word and bytes must agree, in both directions.

use std::collections::BTreeMap;

use npukit_asm::{Words, assemble, disassemble_as};
use npukit_isa::{FieldKind, Mode};
use npukit_target::{Case, Outcome};
use serde::Deserialize;

use crate::config::Validity;
use crate::isa::codec::{decode, encode};
use crate::isa::isa;

#[derive(Deserialize)]
pub(super) struct EncodingFile {
    entries: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    asm: String,
    mnemonic: String,
    fields: BTreeMap<String, i64>,
    word: String,
    bytes_le: String,
}

pub(super) fn cases(file: EncodingFile) -> Vec<Case> {
    let entries = file.entries.into_iter().enumerate();
    entries
        .map(|(index, entry)| Case::new(format!("encoding {index}: {}", entry.asm), move || check(&entry)))
        .collect()
}

fn check(entry: &Entry) -> Outcome {
    let expected =
        format!("{} {:?} {} {} `{}`", entry.mnemonic, entry.fields, entry.word, entry.bytes_le, entry.asm);
    match got(entry) {
        Ok(got) => Outcome::compare(&expected, &got),
        Err(error) => Outcome::error(expected, error),
    }
}

/// Returns the entry as computed: the word from the text, the text and fields from the word.
fn got(entry: &Entry) -> Result<String, String> {
    let (isa, chain) = (isa(Validity::Corrected), |error: &dyn std::error::Error| error.to_string());
    let bytes = assemble(&isa, "entry", &entry.asm)
        .map_err(|e| e.errors.iter().map(|e| chain(e)).collect::<String>())?
        .bytes;
    let word: [u8; 4] = bytes.as_slice().try_into().map_err(|_| format!("{} bytes", bytes.len()))?;
    let word = u32::from_le_bytes(word);
    let op = decode(word, Validity::Corrected).map_err(|kind| kind.to_string())?;
    let again = encode(&op, Validity::Corrected).map_err(|error| error.to_string())?;
    let decoded = isa.decode(&bytes, 0, None, Mode::Strict).map_err(|error| error.to_string())?;
    let row = isa.instructions.get(decoded.instruction).ok_or("no such row")?;
    let value = |kind: &FieldKind, value: u64| match kind {
        FieldKind::Power { .. } => i64::from(value.trailing_zeros()),
        _ => value.cast_signed(),
    };
    let fields: BTreeMap<&str, i64> = row
        .fields
        .iter()
        .zip(&decoded.values)
        .map(|(field, &written)| (field.name.as_str(), value(&field.kind, written)))
        .collect();
    let hex: String = again.to_le_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    let text = disassemble_as(&isa, &bytes, None, Words::Value).to_string();
    Ok(format!("{} {fields:?} {word:#010x} {hex} `{}`", op.mnemonic(), text.trim_end()))
}
