//! What the simulator writes: `run.json` and memories.

use npukit_target::rtl::Seen;
use serde::Deserialize;

use super::CosimError;
use crate::clock::samples::{self, Sample};
use crate::config::{Config, DataType};
use crate::program::artifact::raw_to_bytes;

/// Its files.
pub(super) const FILES: [&str; 8] =
    ["run.json", "dram0", "dram1", "local", "accumulators", "registers", "tables", "samples"];

/// What a run on the circuit was, by `rtl/sim/harness.cpp`.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Report {
    pub total: u64,
    pub simulated: u64,
    pub last: Last,
    /// For each bank: bursts read, beats read, bursts written, beats written.
    pub axi: [[u64; 4]; 2],
    /// By instruction.
    pub accept: Vec<u64>,
    pub bus_error: u64,
    pub timeout: Flag,
    pub tracepoint: Flag,
    /// What the configuration registers hold in the end, in the order of their numbers.
    pub configuration: [u64; 8],
    /// For each bank: the cache codes of bursts read and of bursts written, a bit for each code.
    pub caches: [[u64; 2]; 2],
    /// Samples up to the last instruction accepted.
    pub sampled: usize,
    /// The samples that end a block, from 0.
    pub block_ends: Vec<u64>,
}

/// When a flag was high while the decoder had an instruction.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Flag {
    pub cycles: u64,
    /// 0 where there is none.
    pub first: u64,
}

/// The cycles of the last events.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Last {
    pub acc_write: u64,
    pub local_write: u64,
    pub axi_write: u64,
    pub weight_load: u64,
    pub write_response: u64,
}

/// The report.
pub(super) fn report(seen: &Seen) -> Result<Report, CosimError> {
    let bytes = file(seen, FILES[0])?;
    serde_json::from_slice(bytes)
        .map_err(|fault| CosimError::Seen { file: FILES[0], fault: fault.to_string() })
}

/// A file.
pub(super) fn file<'s>(seen: &'s Seen, name: &'static str) -> Result<&'s [u8], CosimError> {
    let missing = || CosimError::Seen { file: name, fault: "it has not been written".to_owned() };
    seen.get(name).map(|bytes| &bytes[..]).ok_or_else(missing)
}

/// The bytes of raw scalars in a bank: those of the drivers' files, but for floats, which those have the other way round.
pub(super) fn bank_bytes(data_type: DataType, raw: &[i32]) -> Vec<u8> {
    match data_type {
        DataType::Float32 => raw.iter().flat_map(|&v| v.to_le_bytes()).collect(),
        fixed => raw_to_bytes(fixed, raw),
    }
}

/// Bytes of a scalar of memories on the chip, as the simulator writes it with its sign.
pub(super) fn scalar_bytes(config: &Config) -> u64 {
    match crate::circuit::scalar(config.data_type).0 {
        0..=8 => 1,
        9..=16 => 2,
        _ => 4,
    }
}

/// The scalars of a memory on the chip.
pub(super) fn on_chip(config: &Config, bytes: &[u8]) -> Vec<i32> {
    match scalar_bytes(config) {
        1 => bytes.iter().map(|&byte| i32::from(byte as i8)).collect(),
        2 => bytes.as_chunks().0.iter().map(|&pair| i32::from(i16::from_le_bytes(pair))).collect(),
        _ => bytes.as_chunks().0.iter().map(|&four| i32::from_le_bytes(four)).collect(),
    }
}

/// The slots of a bank of DRAM, unsigned: what lies beside a scalar in its slot counts, too.
pub(super) fn slots(config: &Config, bytes: &[u8]) -> Vec<i64> {
    let size = config.data_type.size_bytes().max(1);
    let slot = |bytes: &[u8]| bytes.iter().rev().fold(0, |slot, &byte| slot << 8 | i64::from(byte));
    bytes.chunks_exact(size).map(slot).collect()
}

/// The words that the sampling unit has streamed.
pub(super) fn samples(seen: &Seen) -> Result<Vec<Sample>, CosimError> {
    const FILE: &str = "samples";
    let fault = |fault: String| CosimError::Seen { file: FILE, fault };
    let (words, rest) = file(seen, FILE)?.as_chunks::<{ samples::WORD_BYTES }>();
    if !rest.is_empty() {
        return Err(fault("it ends within a word".to_owned()));
    }
    let word = |word: &[u8; samples::WORD_BYTES]| {
        let word = u64::from_le_bytes(*word);
        Sample::from_word(word).ok_or_else(|| fault(format!("{word:#018x} is no sample")))
    };
    words.iter().map(word).collect()
}
