//! [`AddressMap`]: addresses of a board's engines and memories, for its script and for
//! `board.json`.

use serde_json::{Value, json};

use crate::rtl::circuit::Circuit;
use crate::rtl::vivado::boards::{Range, VivadoBoard};

/// Bytes of the buffer of instructions, and of the buffer of samples.
const BUFFER: u64 = 1 << 20;
/// Bytes of the register window of an engine.
pub(super) const REGISTERS: u64 = 1 << 16;
/// Bits of the length register of an engine: a transfer may be longer than the buffer.
pub(super) const LENGTH_BITS: u32 = 23;
/// Alignment of banks and buffers, which is stricter than the drivers' 64 KiB.
const ALIGNMENT: u64 = 1 << 20;

/// Writes an address with all digits of 32 bits.
pub(super) fn hex(address: u64) -> String {
    format!("{address:#010x}")
}

/// Returns a range in the form of `board.json`.
fn json_range(range: Range) -> Value {
    json!({"address": hex(range.first), "bytes": range.bytes})
}

/// Addresses of the engines and memories of a board.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AddressMap {
    /// Registers of the engine of instructions.
    pub instruction_registers: u64,
    /// Registers of the engine of samples.
    pub sample_registers: u64,
    /// Banks in the order of the circuit.
    banks: Vec<(&'static str, Range)>,
    staging: Range,
    samples: Range,
}

/// Total bytes of banks and buffers.
pub(super) fn needed(circuit: &Circuit) -> u64 {
    let banks = circuit.banks.iter().map(|bank| aligned(bank.bytes));
    banks.fold(2 * BUFFER, u64::saturating_add)
}

/// Rounds a size up to the alignment; the largest multiple if there is none.
fn aligned(bytes: u64) -> u64 {
    bytes.checked_next_multiple_of(ALIGNMENT).unwrap_or(u64::MAX - ALIGNMENT + 1) // Default: far beyond any memory.
}

impl AddressMap {
    /// Places banks and buffers at the end of the memory that the board has for them; `None` if
    /// they do not fit.
    pub fn new(circuit: &Circuit, board: &VivadoBoard) -> Option<Self> {
        let mut next = board.free.end().checked_sub(needed(circuit))?;
        if next < board.free.first {
            return None;
        }
        let mut place = |bytes: u64| {
            let range = Range { first: next, bytes };
            next = next.saturating_add(aligned(bytes));
            range
        };
        Some(Self {
            instruction_registers: board.registers,
            sample_registers: board.registers + REGISTERS,
            banks: circuit.banks.iter().map(|bank| (bank.name, place(bank.bytes))).collect(),
            staging: place(BUFFER),
            samples: place(BUFFER),
        })
    }

    /// Returns `board.json` of the drivers.
    pub fn board_json(&self, circuit: &Circuit, stream_bits: u64, has_linux: bool) -> String {
        let mut board = json!({
            "instruction_dma": hex(self.instruction_registers),
            "sample_dma": hex(self.sample_registers),
            "staging": json_range(self.staging),
            "samples": json_range(self.samples),
            "sample_block": circuit.sample_block,
            // Addresses of an engine are multiples of its memory port's width, 32 bits or more.
            "stream_bytes": (stream_bits / 8).max(4),
            "max_transfer": (1_u64 << LENGTH_BITS) - 1,
            "timeout_us": 5_000_000,
        });
        for (name, range) in &self.banks {
            board[*name] = json_range(*range);
        }
        if has_linux {
            board["windows"] = self.windows();
        }
        format!("{board:#}\n")
    }

    /// Returns the ranges that Linux maps: all registers, and all banks and buffers.
    fn windows(&self) -> Value {
        let registers = Range { first: self.instruction_registers, bytes: 2 * REGISTERS };
        let first = self.banks.iter().map(|(_, range)| range.first).min();
        let first = first.unwrap_or(self.staging.first); // Default: without banks, the buffers are first.
        let memory = Range { first, bytes: self.samples.end() - first };
        let window = |range: Range| {
            let first = hex(range.first);
            json!({"file": "/dev/mem", "offset": first, "address": first, "bytes": range.bytes})
        };
        json!([window(registers), window(memory)])
    }
}
