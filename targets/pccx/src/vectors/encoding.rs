//! Vectors of encodings, micro-operations, transfer lengths and the order of weights in a beat.

use std::collections::BTreeMap;

use npukit_base::BitRange;
use npukit_target::Case;
use serde::Deserialize;

use super::{Hex, json, outcome};
use crate::isa::codec::Codec;
use crate::isa::micro_ops::{MicroOps, Valid};
use crate::isa::op::{Op, Shape};
use crate::machine::state::upstream_words;
use crate::machine::weights::lanes;
use crate::{Config, isa};

const CODEC: Codec = Codec { extensions: false, strict: true };

#[derive(Deserialize)]
struct Encodings {
    encodings: Vec<Encoding>,
    #[serde(default)]
    smoke_program: Vec<Encoding>,
    #[serde(default)]
    invalid: Vec<Invalid>,
}

#[derive(Deserialize)]
struct Encoding {
    label: String,
    name: String,
    fields: BTreeMap<String, u64>,
    word: Hex,
    strict_ok: bool,
}

#[derive(Deserialize)]
struct Invalid {
    word: Hex,
    error: String,
}

/// Encodes and decodes each word: fields with the table, instructions with the typed codec.
pub fn encodings(bytes: &[u8]) -> Result<Vec<Case>, String> {
    let file: Encodings = json(bytes)?;
    let cases = file.encodings.into_iter().chain(file.smoke_program);
    let mut cases: Vec<Case> = cases
        .map(|case| Case::new(case.label.clone(), move || outcome(&case.word.0, encode(&case))))
        .collect();
    cases.extend(file.invalid.into_iter().map(|case| {
        let name = format!("{:#018x} is {}", case.word.0, case.error);
        Case::new(name, move || outcome(&case.error, Ok(class(case.word.0).to_owned())))
    }));
    Ok(cases)
}

/// Returns the name in the specification of a valid or invalid word.
fn class(word: u64) -> &'static str {
    match CODEC.decode(word) {
        Ok(Op::Kick) => "kick_marker",
        Ok(_) => "valid",
        Err(error) => error.kind(),
    }
}

/// Encodes fields with the table of [`isa()`], and checks that the typed codec agrees.
fn encode(case: &Encoding) -> Result<u64, String> {
    let config = Config::preset("reference").ok_or("the reference instance is missing")?;
    let spec = isa(&config);
    let row = spec.instruction(&case.name).ok_or_else(|| format!("there is no {}", case.name))?;
    let mut word = 0;
    for (name, &value) in &case.fields {
        word |= place(row, name, value)
            .ok_or_else(|| format!("{name} = {value} is not a field of {}", case.name))?;
    }
    for pattern in &row.patterns {
        word |= pattern.value << pattern.bits.lo;
    }
    let typed = CODEC.decode(case.word.0);
    if typed.is_ok() != case.strict_ok {
        return Err(format!("a strict reader returns {typed:?}"));
    }
    if let Ok(op) = typed {
        let again = CODEC.encode(&op).map_err(|error| error.to_string())?;
        if again != case.word.0 || op.mnemonic() != case.name {
            return Err(format!("{op:?} encodes to {again:#018x}"));
        }
    }
    Ok(word)
}

/// Returns a field's value, shifted to its bits. `flags` includes the unnamed bits below the named
/// ones; `reserved` is at the bottom of the word.
fn place(row: &npukit_isa::InstructionSpec, name: &str, value: u64) -> Option<u64> {
    let bits = match name {
        "reserved" => row.reserved().ranges().first().copied()?,
        "flags" => {
            let named = row.fields.get(row.field(name)?)?.bits;
            let unnamed = row.reserved().ranges().into_iter().find(|bits| bits.end() == named.lo)?;
            BitRange::new(unnamed.lo, unnamed.width + named.width)
        }
        _ => row.fields.get(row.field(name)?)?.bits,
    };
    (value <= bits.max()).then_some(value << bits.lo)
}

#[derive(Deserialize)]
struct Steps {
    #[serde(default)]
    state_before: Option<Registers>,
    steps: Vec<Step>,
}

#[derive(Deserialize)]
struct Step {
    word: Hex,
    valid: BTreeMap<String, u8>,
    uops_after: Registers,
}

#[derive(Clone, Copy, Deserialize)]
struct Registers {
    gemm: Hex,
    gemv: Hex,
    load: Hex,
    store: Hex,
    memset: Hex,
    cvo: Hex,
    rd_start: u8,
}

impl From<Registers> for MicroOps {
    fn from(registers: Registers) -> Self {
        let Registers { gemm, gemv, load, store, memset, cvo, rd_start } = registers;
        Self {
            gemm: gemm.0,
            gemv: gemv.0,
            load: load.0,
            store: store.0,
            memset: memset.0,
            cvo: cvo.0,
            rd_start: rd_start == 1,
        }
    }
}

/// Compares the decoder's outputs and the scheduler's registers, word by word.
pub fn micro_operations(bytes: &[u8]) -> Result<Vec<Case>, String> {
    let file: Steps = json(bytes)?;
    let mut uops = file.state_before.map_or_else(MicroOps::default, MicroOps::from);
    let steps = file.steps.into_iter().enumerate().map(|(index, step)| {
        let valid = uops.step(step.word.0);
        let valid = valid.map(|valid| match valid {
            Valid::Gemv => "gemv",
            Valid::Gemm => "gemm",
            Valid::Memcpy => "memcpy",
            Valid::Memset => "memset",
            Valid::Cvo => "cvo",
        });
        let raised = step.valid.iter().filter(|(_, high)| **high == 1).map(|(name, _)| name.as_str());
        let expected = (raised.collect::<Vec<_>>(), MicroOps::from(step.uops_after));
        let got = (valid.into_iter().collect::<Vec<_>>(), uops);
        Case::done(format!("step {index}, {:#018x}", step.word.0), outcome(&expected, Ok(got)))
    });
    Ok(steps.collect())
}

#[derive(Deserialize)]
struct Rows {
    rows: Vec<[u64; 4]>,
}

/// Compares the words of a transfer with the circuits' formula.
pub fn load_words(bytes: &[u8]) -> Result<Vec<Case>, String> {
    let file: Rows = json(bytes)?;
    let case = |[x, y, z, words]: [u64; 4]| {
        let size = |size: u64| u16::try_from(size).map_err(|_| format!("{size} does not fit 16 bits"));
        let shape = || Ok(Shape::new(size(x)?, size(y)?, size(z)?));
        Case::done(format!("({x}, {y}, {z})"), outcome(&words, shape().map(upstream_words)))
    };
    Ok(file.rows.into_iter().map(case).collect())
}

#[derive(Deserialize)]
struct Beats {
    cases: Vec<Beat>,
}

#[derive(Deserialize)]
struct Beat {
    port: String,
    bytes: String,
    lanes: Vec<i8>,
}

/// Compares the order of weights in a beat.
pub fn weight_beats(bytes: &[u8]) -> Result<Vec<Case>, String> {
    let file: Beats = json(bytes)?;
    let case = |beat: Beat| {
        let bytes = u128::from_str_radix(&beat.bytes, 16).map(u128::to_be_bytes);
        let got = bytes.map(|bytes| lanes(&bytes).collect()).map_err(|error| error.to_string());
        Case::done(beat.port, outcome(&beat.lanes, got))
    };
    Ok(file.cases.into_iter().map(case).collect())
}
