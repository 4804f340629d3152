//! Output files of the simulator: `run.json` and memories.

use npukit_target::rtl::Seen;
use serde::Deserialize;

use super::CosimError;
use crate::clock::samples::{self, Sample};
use crate::config::{Config, DataType};
use crate::program::artifact::raw_to_bytes;

/// Names of the files.
pub(super) const FILES: [&str; 8] =
    ["run.json", "dram0", "dram1", "local", "accumulators", "registers", "tables", "samples"];

/// Report of a run on the circuit, written by `rtl/sim/harness.cpp`.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Report {
    pub total: u64,
    pub simulated: u64,
    pub last: Last,
    /// Bursts read, beats read, bursts written and beats written, for each bank.
    pub axi: [[u64; 4]; 2],
    /// Cycle of acceptance, by instruction.
    pub accept: Vec<u64>,
    pub bus_error: u64,
    pub timeout: Flag,
    pub tracepoint: Flag,
    /// Final content of the configuration registers, in register order.
    pub configuration: [u64; 8],
    /// Cache codes of bursts read and of bursts written, as bit masks, for each bank.
    pub caches: [[u64; 2]; 2],
    /// Number of samples up to the last accepted instruction.
    pub sampled: usize,
    /// Indices of the samples that end a block, starting at 0.
    pub block_ends: Vec<u64>,
}

/// Activity of a flag while the decoder had an instruction.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Flag {
    pub cycles: u64,
    /// First cycle; 0 if the flag never rose.
    pub first: u64,
}

/// Cycles of the last events.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Last {
    pub acc_write: u64,
    pub local_write: u64,
    pub axi_write: u64,
    pub weight_load: u64,
    pub write_response: u64,
}

/// Parses the report.
pub(super) fn report(seen: &Seen) -> Result<Report, CosimError> {
    let bytes = file(seen, FILES[0])?;
    serde_json::from_slice(bytes)
        .map_err(|fault| CosimError::Seen { file: FILES[0], fault: fault.to_string() })
}

/// Returns a file of the simulator.
pub(super) fn file<'s>(seen: &'s Seen, name: &'static str) -> Result<&'s [u8], CosimError> {
    let missing = || CosimError::Seen { file: name, fault: "it was not written".to_owned() };
    seen.get(name).map(|bytes| &bytes[..]).ok_or_else(missing)
}

/// Returns the bytes of raw scalars in a bank. The drivers' files have the same bytes, except that
/// they store floats in the opposite byte order.
pub(super) fn bank_bytes(data_type: DataType, raw: &[i32]) -> Vec<u8> {
    match data_type {
        DataType::Float32 => raw.iter().flat_map(|&v| v.to_le_bytes()).collect(),
        fixed => raw_to_bytes(fixed, raw),
    }
}

/// Returns the bytes of a sign-extended scalar of on-chip memories, as the simulator writes it.
pub(super) fn scalar_bytes(config: &Config) -> u64 {
    match crate::circuit::scalar(config.data_type).0 {
        0..=8 => 1,
        9..=16 => 2,
        _ => 4,
    }
}

/// Parses the scalars of an on-chip memory.
pub(super) fn on_chip(config: &Config, bytes: &[u8]) -> Vec<i32> {
    match scalar_bytes(config) {
        1 => bytes.iter().map(|&byte| i32::from(byte as i8)).collect(),
        2 => bytes.as_chunks().0.iter().map(|&pair| i32::from(i16::from_le_bytes(pair))).collect(),
        _ => bytes.as_chunks().0.iter().map(|&four| i32::from_le_bytes(four)).collect(),
    }
}

/// Parses the slots of a DRAM bank as unsigned numbers, so that padding bytes of a slot are
/// compared, too.
pub(super) fn slots(config: &Config, bytes: &[u8]) -> Vec<i64> {
    let size = config.data_type.size_bytes().max(1);
    let slot = |bytes: &[u8]| bytes.iter().rev().fold(0, |slot, &byte| slot << 8 | i64::from(byte));
    bytes.chunks_exact(size).map(slot).collect()
}

/// Parses the words that the sampling unit has streamed.
pub(super) fn samples(seen: &Seen) -> Result<Vec<Sample>, CosimError> {
    const FILE: &str = "samples";
    let fault = |fault: String| CosimError::Seen { file: FILE, fault };
    let (words, rest) = file(seen, FILE)?.as_chunks::<{ samples::WORD_BYTES }>();
    if !rest.is_empty() {
        return Err(fault("it ends inside a word".to_owned()));
    }
    let word = |word: &[u8; samples::WORD_BYTES]| {
        let word = u64::from_le_bytes(*word);
        Sample::from_word(word).ok_or_else(|| fault(format!("{word:#018x} is not a sample")))
    };
    words.iter().map(word).collect()
}
