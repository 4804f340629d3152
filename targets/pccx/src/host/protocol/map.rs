//! [`map`]: registers of the board design, and the bits of the words in them. Source: specification
//! 3.6 and 7.3.

use npukit_target::{HostBits, HostMap, HostRegister};

/// First address of the registers.
pub const BASE: u64 = 0xA000_0000;
/// Offset of the register to which instructions are pushed.
pub const COMMAND: u64 = 0x000;
/// Offset of the register that marks the end of a batch.
pub const KICK: u64 = 0x008;

/// Stream of the board design, with its own data mover.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stream {
    /// Weights of the matrix core's lower channel.
    Hp0,
    /// Weights of the matrix core's upper channel.
    Hp1,
    /// Even weight rows of the vector core.
    Hp2,
    /// Odd weight rows of the vector core.
    Hp3,
    /// Data from the host to L2.
    AcpFmap,
    /// Data from L2 to the host.
    AcpResult,
}

impl Stream {
    /// All streams in the order of their pages.
    pub const ALL: [Self; 6] = [Self::Hp0, Self::Hp1, Self::Hp2, Self::Hp3, Self::AcpFmap, Self::AcpResult];

    /// Returns the name in the design.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hp0 => "hp0",
            Self::Hp1 => "hp1",
            Self::Hp2 => "hp2",
            Self::Hp3 => "hp3",
            Self::AcpFmap => "acp_fmap",
            Self::AcpResult => "acp_result",
        }
    }

    /// Returns the offset of the stream's register page.
    pub const fn page(self) -> u64 {
        0x1000 * (self as u64 + 1)
    }
}

/// Registers of a data mover: offset, name, access, meaning.
#[rustfmt::skip] // Not formatted: the rows are aligned as a table.
pub const MOVER: [(u64, &str, &str, &str); 9] = [
    (0x00, "CMD_LO", "RW", "command, bits 31:0"),
    (0x04, "CMD_HI", "RW", "command, bits 63:32"),
    (0x08, "CMD_EXT", "RW", "command, bits 71:64"),
    (0x0C, "CMD_PUSH", "W", "takes the command into a queue of 8"),
    (0x10, "STS_POP", "R", "takes a status out of a queue"),
    (0x14, "FLAGS", "R", "0 no command, 1 no room for one, 2 no status, 3 no room for one, 7:4 errors"),
    (0x18, "CMD_LVL", "R", "commands in the queue"),
    (0x1C, "STS_LVL", "R", "statuses in the queue"),
    (0x20, "ERR_W1C", "RW1C", "clears errors, bits 3:0"),
];

/// Registers of the accelerator: offset, name, access, meaning.
#[rustfmt::skip] // Not formatted: the rows are aligned as a table.
const OWN: [(u64, &str, &str, &str); 3] = [
    (COMMAND, "COMMAND", "W", "pushes an instruction, 64 bits; stalls while eight wait"),
    (KICK, "KICK", "W", "pushes the kick marker, whatever is written: no effect"),
    (COMMAND, "STATUS", "R", "takes a status word, 64 bits; any address works; the first eight may be outdated"),
];

/// Bit fields of words: word, bits, meaning.
#[rustfmt::skip] // Not formatted: the rows are aligned as a table.
const WORDS: [(&str, &str, &str); 23] = [
    ("STATUS", "0", "BUSY: set as an instruction is issued, cleared as MEMSET, CVO or the store of GEMM is done"),
    ("STATUS", "1", "DONE: cleared as an instruction is issued; GEMV and MEMCPY never set it"),
    ("STATUS", "31:2", "for debugging, different in each build"),
    ("mover command", "22:0", "bytes"),
    ("mover command", "23", "1: addresses rise"),
    ("mover command", "30", "1: the last of a frame"),
    ("mover command", "63:32", "address in host memory"),
    ("mover command", "71:68", "tag, repeated in its status"),
    ("mover status", "3:0", "tag"),
    ("mover status", "6:4", "errors: 4 internal, 5 decode, 6 slave"),
    ("mover status", "7", "okay"),
    ("host command", "63:56", "1 RESET_KV, 2 LOAD_WEIGHT, 3 LOAD_PROMPT, 4 NEXT_TOKEN"),
    ("RESET_KV", "31:0", "session"),
    ("LOAD_WEIGHT", "55:48", "slot"),
    ("LOAD_WEIGHT", "47:40", "flags"),
    ("LOAD_WEIGHT", "39:32", "descriptors"),
    ("LOAD_WEIGHT", "31:0", "CRC-32 of the manifest"),
    ("LOAD_PROMPT", "55:32", "position"),
    ("LOAD_PROMPT", "31:0", "token"),
    ("NEXT_TOKEN", "55:40", "request"),
    ("NEXT_TOKEN", "39:32", "0 most likely, 1 random"),
    ("NEXT_TOKEN", "31:0", "temperature and, below, total probability to sample from, 16 bits each, in 256ths"),
    ("host status", "63:32, 3:0", "token; 0 busy, 1 done, 2 error, 3 a token is there"),
];

/// Returns the register map of the board design.
pub fn map() -> HostMap {
    let register =
        |page: &str, start: u64, (offset, name, access, meaning): (u64, &str, &str, &str)| HostRegister {
            page: page.to_owned(),
            offset: start + offset,
            name: name.to_owned(),
            access: access.to_owned(),
            meaning: meaning.to_owned(),
        };
    let own = OWN.map(|row| register("npu", 0, row));
    let movers = Stream::ALL
        .into_iter()
        .flat_map(|stream| MOVER.map(|row| register(stream.name(), stream.page(), row)));
    let bits = |(word, bits, meaning): (&str, &str, &str)| HostBits {
        word: word.to_owned(),
        bits: bits.to_owned(),
        meaning: meaning.to_owned(),
    };
    HostMap {
        base: BASE,
        registers: own.into_iter().chain(movers).collect(),
        words: WORDS.map(bits).to_vec(),
    }
}
