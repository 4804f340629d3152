//! Optional host protocol: 64-bit words with an 8-bit opcode. No circuit decodes them, and they are
//! never mixed with instructions. Source: specification 7.3, and 3.6 for the data mover.
//!
//! [`Command`] and [`Status`] are its words. [`side`] is the host's side of an instance: the text
//! of words, the registers ([`map`]), a driver's accesses to run a program ([`accesses`]), and the
//! answers of a device with a language model ([`session`]).

mod accesses;
mod map;
mod session;
mod side;

use npukit_base::BitRange;
use npukit_isa::coding::Number;
use npukit_isa::{ByteOrder, IsaSpec, Radix, instructions};

pub use side::host_side;

/// Bytes of a command, and of a status word.
pub const WORD_BYTES: usize = 8;
/// Bits of the opcode.
const OPCODE: BitRange = BitRange::new(56, 8);

/// Command from the host to the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are the protocol's")]
pub enum Command {
    /// Discards the keys and values of a session.
    ResetKvCache { session_id: u32 },
    /// Loads weights into a slot.
    LoadWeight { weight_slot: u8, flags: u8, descriptor_count: u8, manifest_id: u32 },
    /// Sends a token of the prompt; the position has 24 bits.
    LoadPrompt { position: u32, token_id: u32 },
    /// Requests the next token.
    NextToken { request_id: u16, sampling: u8, temperature_q8_8: u16, top_p_q8_8: u16 },
}

instructions! {
    for Command, words of WORD_BYTES, opcode in OPCODE;

    1 => "RESET_KV" { Self::ResetKvCache { session_id } } "Discards the keys and values of a session." {
        session_id: BitRange::new(0, 32) => decimal(0, 32), "the session";
    }
    .with_form("reset_kv session={session_id}", Vec::new());

    2 => "LOAD_WEIGHT" {
        Self::LoadWeight { weight_slot, flags, descriptor_count, manifest_id }
    } "Loads weights into a slot." {
        weight_slot: BitRange::new(48, 8) => decimal(48, 8), "slot";
        flags: BitRange::new(40, 8) => decimal(40, 8), "flags private to the runtime";
        descriptor_count: BitRange::new(32, 8) => decimal(32, 8), "number of descriptors that follow on the data movers";
        manifest_id: BitRange::new(0, 32) => Number::all(BitRange::new(0, 32), Radix::Hexadecimal),
            "CRC-32 of the manifest's text";
    }
    .with_form(
        "load_weight (*slot={weight_slot}; flags={flags}?; descriptors={descriptor_count}?; manifest={manifest_id}*)",
        Vec::new(),
    );

    3 => "LOAD_PROMPT" { Self::LoadPrompt { position, token_id } } "Sends a token of the prompt." {
        position: BitRange::new(32, 24) => decimal(32, 24), "position in the text, starting at 0";
        token_id: BitRange::new(0, 32) => decimal(0, 32), "the token";
    }
    .with_form("load_prompt (*position={position}; token={token_id}*)", Vec::new());

    4 => "NEXT_TOKEN" {
        Self::NextToken { request_id, sampling, temperature_q8_8, top_p_q8_8 }
    } "Requests a token." {
        request_id: BitRange::new(40, 16) => decimal(40, 16), "request number";
        sampling: BitRange::new(32, 8) => decimal(32, 8), "0 most likely, 1 random";
        temperature_q8_8: BitRange::new(16, 16) => decimal(16, 16), "temperature in 256ths";
        top_p_q8_8: BitRange::new(0, 16) => decimal(0, 16), "total probability of the tokens to sample from, in 256ths";
    }
    .with_form(
        "next_token (*request={request_id}; sampling={sampling}?; temperature={temperature_q8_8}?; top_p={top_p_q8_8}?*)",
        Vec::new(),
    );
}

const fn decimal(lo: u32, width: u32) -> Number {
    Number::all(BitRange::new(lo, width), Radix::Decimal)
}

impl Command {
    /// Returns the commands as an instruction set, which defines their text.
    pub fn spec() -> IsaSpec {
        IsaSpec {
            name: "pccx host commands, 64-bit words".to_owned(),
            doc: "Commands that the host's runtime sends to a device with a language model.".to_owned(),
            byte_order: ByteOrder::Little,
            instructions: Self::rows(),
        }
    }

    /// Encodes the command; `None` if the position exceeds 24 bits.
    pub fn encode(self) -> Option<u64> {
        Some(self.to_word().ok()?.low_u64())
    }

    /// Decodes a command; `None` for an unknown opcode, or if bits outside the command are set.
    pub fn decode(word: u64) -> Option<Self> {
        Self::from_word(word.into()).ok().filter(|_| Self::reserved_bits(word.into()).is_zero())
    }
}

/// Status word with which the device answers a command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// Bit 0: the device is busy.
    pub busy: bool,
    /// Bit 1: the command is done.
    pub done: bool,
    /// Bit 2: an error occurred.
    pub error: bool,
    /// Bits 63:32, if bit 3 is set.
    pub token: Option<u32>,
}

impl Status {
    /// Encodes the status word.
    pub fn encode(self) -> u64 {
        let flags = [self.busy, self.done, self.error, self.token.is_some()];
        let flags = flags.into_iter().rev().fold(0, |bits, flag| bits << 1 | u64::from(flag));
        // Default: without a token its bits are 0, as a flag shows.
        u64::from(self.token.unwrap_or(0)) << 32 | flags
    }

    /// Describes the status in words.
    pub fn text(self) -> String {
        let flags = [(self.busy, "busy"), (self.done, "done"), (self.error, "error")];
        let flags = flags.into_iter().filter(|(is_set, _)| *is_set).map(|(_, name)| name.to_owned());
        let all: Vec<String> = flags.chain(self.token.map(|token| format!("token {token}"))).collect();
        if all.is_empty() { "idle".to_owned() } else { all.join(", ") }
    }

    /// Decodes a status word; other bits are ignored.
    pub fn decode(word: u64) -> Self {
        let flag = |bit: u32| word >> bit & 1 == 1;
        let token = flag(3).then_some((word >> 32) as u32);
        Self { busy: flag(0), done: flag(1), error: flag(2), token }
    }
}

/// Returns a 72-bit data mover command as its most significant byte and the other 64 bits.
///
/// `None` if the tag exceeds 4 bits, or the length 23 bits.
pub fn data_mover(tag: u8, address: u32, length_bytes: u32, end_of_frame: bool) -> Option<(u8, u64)> {
    const INCREMENTING: u64 = 1 << 23;
    if tag >> 4 != 0 || length_bytes >> 23 != 0 {
        return None;
    }
    let low =
        u64::from(address) << 32 | u64::from(end_of_frame) << 30 | INCREMENTING | u64::from(length_bytes);
    Some((tag << 4, low))
}
