//! The optional host protocol: words of 64 bits with an opcode of 8, which no circuit decodes and which
//! are never mixed with instructions. Source: specification 7.3, and 3.6 for the data mover.

/// A command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are the protocol's")]
pub enum Command {
    /// Forgets the keys and values of a session.
    ResetKvCache { session_id: u32 },
    /// Loads weights into a slot.
    LoadWeight { weight_slot: u8, flags: u8, descriptor_count: u8, manifest_id: u32 },
    /// Gives a token of the prompt; the position has 24 bits.
    LoadPrompt { position: u32, token_id: u32 },
    /// Asks for a token.
    NextToken { request_id: u16, sampling: u8, temperature_q8_8: u16, top_p_q8_8: u16 },
}

impl Command {
    /// The word; positions beyond 24 bits have none.
    pub fn encode(self) -> Option<u64> {
        let word = |opcode: u64, body: u64| Some(opcode << 56 | body);
        match self {
            Self::ResetKvCache { session_id } => word(1, session_id.into()),
            Self::LoadWeight { weight_slot, flags, descriptor_count, manifest_id } => {
                let high =
                    u64::from(weight_slot) << 48 | u64::from(flags) << 40 | u64::from(descriptor_count) << 32;
                word(2, high | u64::from(manifest_id))
            }
            Self::LoadPrompt { position, .. } if position >> 24 != 0 => None,
            Self::LoadPrompt { position, token_id } => {
                word(3, u64::from(position) << 32 | u64::from(token_id))
            }
            Self::NextToken { request_id, sampling, temperature_q8_8, top_p_q8_8 } => {
                let high = u64::from(request_id) << 40 | u64::from(sampling) << 32;
                word(4, high | u64::from(temperature_q8_8) << 16 | u64::from(top_p_q8_8))
            }
        }
    }

    /// The command of a word; `None` for an unknown opcode or bits set that the command does not have.
    pub fn decode(word: u64) -> Option<Self> {
        let command = match word >> 56 {
            1 => Self::ResetKvCache { session_id: word as u32 },
            2 => Self::LoadWeight {
                weight_slot: (word >> 48) as u8,
                flags: (word >> 40) as u8,
                descriptor_count: (word >> 32) as u8,
                manifest_id: word as u32,
            },
            3 => Self::LoadPrompt { position: (word >> 32) as u32 & 0xFF_FFFF, token_id: word as u32 },
            4 => Self::NextToken {
                request_id: (word >> 40) as u16,
                sampling: (word >> 32) as u8,
                temperature_q8_8: (word >> 16) as u16,
                top_p_q8_8: word as u16,
            },
            _ => return None,
        };
        (command.encode() == Some(word)).then_some(command)
    }
}

/// What the device answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// Bit 0.
    pub busy: bool,
    /// Bit 1.
    pub done: bool,
    /// Bit 2.
    pub error: bool,
    /// Bits 63:32 where bit 3 is set.
    pub token: Option<u32>,
}

impl Status {
    /// The word.
    pub fn encode(self) -> u64 {
        let flags = [self.busy, self.done, self.error, self.token.is_some()];
        let flags = flags.into_iter().rev().fold(0, |bits, flag| bits << 1 | u64::from(flag));
        // Default: without a token, as a flag says, its bits are 0.
        u64::from(self.token.unwrap_or(0)) << 32 | flags
    }

    /// The status of a word, whatever its other bits.
    pub fn decode(word: u64) -> Self {
        let flag = |bit: u32| word >> bit & 1 == 1;
        let token = flag(3).then_some((word >> 32) as u32);
        Self { busy: flag(0), done: flag(1), error: flag(2), token }
    }
}

/// A command of 72 bits to a data mover, as the most significant byte and the others.
///
/// `None` when the tag has more than 4 bits, or the length more than 23.
pub fn data_mover(tag: u8, address: u32, length_bytes: u32, end_of_frame: bool) -> Option<(u8, u64)> {
    const INCREMENTING: u64 = 1 << 23;
    if tag >> 4 != 0 || length_bytes >> 23 != 0 {
        return None;
    }
    let low =
        u64::from(address) << 32 | u64::from(end_of_frame) << 30 | INCREMENTING | u64::from(length_bytes);
    Some((tag << 4, low))
}
