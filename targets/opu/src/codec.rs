//! Words to [`Op`] and back: [`decode`] and [`encode`]. Source: specification, 2.1.
//!
//! Reserved bits are written as 0 and ignored when read (R9); [`reserved_bits`] tells who set them.

use thiserror::Error;

use crate::fault::FaultKind;
use crate::op::{Activation, Addend, Op, Order, Pool, Post, Shape};

/// Bytes of a word.
pub const WORD_BYTES: usize = 4;

/// A field, by its lowest bit and its width.
#[derive(Clone, Copy)]
struct Field(u32, u32);

const OPCODE: Field = Field(0, 6);
const ADDR: Field = Field(6, 22);
const PAD_P: Field = Field(28, 4);
const CONV_H: Field = Field(6, 4);
const CONV_W: Field = Field(10, 4);
const CONV_N: Field = Field(14, 6);
const SHAPE_H: Field = Field(6, 7);
const SHAPE_W: Field = Field(13, 7);
const SHAPE_C: Field = Field(20, 7);
const KER_N: Field = Field(6, 6);
const BANK: Field = Field(6, 4);
const IFM_MEM_W: Field = Field(10, 10);
const OFM_MEM_H: Field = Field(10, 10);
const OFM_MEM_W: Field = Field(20, 10);
const STRIDE_H: Field = Field(6, 3);
const STRIDE_W: Field = Field(9, 3);
const SHIFT_F: Field = Field(6, 8);
const SHIFT_B: Field = Field(14, 8);
const POST_ACT: Field = Field(6, 2);
const POST_ORDER: Field = Field(8, 2);
const POST_RES: Field = Field(10, 1);
const POOL_H: Field = Field(6, 4);
const POOL_W: Field = Field(10, 4);
const POOL_I: Field = Field(14, 3);
const POOL_J: Field = Field(17, 3);

impl Field {
    const fn max(self) -> u32 {
        (1 << self.1) - 1
    }

    const fn mask(self) -> u32 {
        self.max() << self.0
    }

    const fn get(self, word: u32) -> u32 {
        word >> self.0 & self.max()
    }

    /// The field as a number in two's complement.
    const fn get_signed(self, word: u32) -> i32 {
        let above = 32 - self.0 - self.1;
        (word << above).cast_signed() >> (32 - self.1)
    }
}

/// Why an instruction has no word.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum EncodeError {
    /// A value its field cannot hold.
    #[error("`{field}` of {mnemonic} is {value}: legal are {min} to {max}")]
    Field {
        /// The instruction.
        mnemonic: &'static str,
        /// The field.
        field: &'static str,
        /// Its value.
        value: i64,
        /// Smallest legal value.
        min: i64,
        /// Largest legal value.
        max: i64,
    },
    /// An instruction that would be at fault whatever the machine's state.
    #[error("{mnemonic}: {kind}; {}", .kind.hint())]
    Fault {
        /// The instruction.
        mnemonic: &'static str,
        /// The fault.
        kind: FaultKind,
    },
}

/// The word of an instruction.
///
/// Errors: a value that does not fit its field, or an instruction that is always at fault.
pub fn encode(op: &Op) -> Result<u32, EncodeError> {
    let mnemonic = op.mnemonic();
    op.check().map_err(|kind| EncodeError::Fault { mnemonic, kind })?;
    let word = Encoder { mnemonic, word: opcode(op) };
    Ok(match *op {
        Op::End => word,
        Op::LoadIfm { addr } | Op::LoadKer { addr } | Op::LoadBias { addr } | Op::Store { addr } => {
            word.with("addr", ADDR, addr)?
        }
        Op::Conv { h, w, n, .. } => word.with("h", CONV_H, h)?.with("w", CONV_W, w)?.with("n", CONV_N, n)?,
        Op::Pad { addr, p } => word.with("addr", ADDR, addr)?.with("p", PAD_P, p)?,
        Op::ShapeIfm(Shape { h, w, c }) | Op::ShapeOfm(Shape { h, w, c }) => {
            let log2 = c.trailing_zeros();
            word.with("h", SHAPE_H, h)?.with("w", SHAPE_W, w)?.with("c", SHAPE_C, log2)?
        }
        Op::ShapeKer { n } => word.with("n", KER_N, n)?,
        Op::MemIfm { bank, w } => word.with("addr", BANK, bank)?.with("w", IFM_MEM_W, w)?,
        Op::MemKer { bank } | Op::MemBias { bank } => word.with("addr", BANK, bank)?,
        Op::MemOfm { bank, h, w } => {
            word.with("addr", BANK, bank)?.with("h", OFM_MEM_H, h)?.with("w", OFM_MEM_W, w)?
        }
        Op::Stride { h, w } => word.with("h", STRIDE_H, h)?.with("w", STRIDE_W, w)?,
        Op::Shift { ifm, bias } => word.with_signed("f", SHIFT_F, ifm)?.with_signed("b", SHIFT_B, bias)?,
        Op::Post(Post { act, order, res }) => word
            .with("act", POST_ACT, act as u32)?
            .with("order", POST_ORDER, order as u32)?
            .with("res", POST_RES, u32::from(res))?,
        Op::Pool(Pool { h, w, stride_h, stride_w }) => word
            .with("h", POOL_H, h)?
            .with("w", POOL_W, w)?
            .with("i", POOL_I, stride_h)?
            .with("j", POOL_J, stride_w)?,
    }
    .word)
}

/// A word in the making.
struct Encoder {
    mnemonic: &'static str,
    word: u32,
}

impl Encoder {
    fn with(self, name: &'static str, field: Field, value: u32) -> Result<Self, EncodeError> {
        self.with_value(name, field, value.into(), 0, field.max().into())
    }

    fn with_signed(self, name: &'static str, field: Field, value: i32) -> Result<Self, EncodeError> {
        let half = i64::from(field.max()) / 2;
        self.with_value(name, field, value.into(), -half - 1, half)
    }

    fn with_value(
        self,
        name: &'static str,
        field: Field,
        value: i64,
        min: i64,
        max: i64,
    ) -> Result<Self, EncodeError> {
        if !(min..=max).contains(&value) {
            return Err(EncodeError::Field { mnemonic: self.mnemonic, field: name, value, min, max });
        }
        Ok(Self { word: self.word | (value as u32 & field.max()) << field.0, ..self })
    }
}

const fn opcode(op: &Op) -> u32 {
    match op {
        Op::End => 0,
        Op::LoadIfm { .. } => 1,
        Op::LoadKer { .. } => 2,
        Op::LoadBias { .. } => 3,
        Op::Conv { addend: Addend::Zero, .. } => 4,
        Op::Conv { addend: Addend::Bias, .. } => 5,
        Op::Conv { addend: Addend::Ofm, .. } => 6,
        Op::Store { .. } => 7,
        Op::Pad { .. } => 8,
        Op::ShapeIfm(_) => 16,
        Op::ShapeOfm(_) => 17,
        Op::ShapeKer { .. } => 18,
        Op::MemIfm { .. } => 19,
        Op::MemKer { .. } => 20,
        Op::MemBias { .. } => 21,
        Op::MemOfm { .. } => 22,
        Op::Stride { .. } => 23,
        Op::Shift { .. } => 24,
        Op::Post(_) => 25,
        Op::Pool(_) => 26,
    }
}

/// The instruction of a word.
///
/// Errors: the faults of decoding (specification, 2.3). What is returned passes [`Op::check`].
pub fn decode(word: u32) -> Result<Op, FaultKind> {
    let addr = ADDR.get(word);
    let op = match OPCODE.get(word) {
        0 => Op::End,
        1 => Op::LoadIfm { addr },
        2 => Op::LoadKer { addr },
        3 => Op::LoadBias { addr },
        4 => conv(Addend::Zero, word),
        5 => conv(Addend::Bias, word),
        6 => conv(Addend::Ofm, word),
        7 => Op::Store { addr },
        8 => Op::Pad { addr, p: PAD_P.get(word) },
        16 => Op::ShapeIfm(shape("ifm", 16, word)?),
        17 => Op::ShapeOfm(shape("ofm", 2, word)?),
        18 => Op::ShapeKer { n: KER_N.get(word) },
        19 => Op::MemIfm { bank: BANK.get(word), w: IFM_MEM_W.get(word) },
        20 => Op::MemKer { bank: BANK.get(word) },
        21 => Op::MemBias { bank: BANK.get(word) },
        22 => Op::MemOfm { bank: BANK.get(word), h: OFM_MEM_H.get(word), w: OFM_MEM_W.get(word) },
        23 => Op::Stride { h: STRIDE_H.get(word), w: STRIDE_W.get(word) },
        24 => Op::Shift { ifm: SHIFT_F.get_signed(word), bias: SHIFT_B.get_signed(word) },
        25 => Op::Post(post(word)?),
        26 => Op::Pool(Pool {
            h: POOL_H.get(word),
            w: POOL_W.get(word),
            stride_h: POOL_I.get(word),
            stride_w: POOL_J.get(word),
        }),
        opcode => return Err(FaultKind::ReservedOpcode { opcode }),
    };
    op.check()?;
    Ok(op)
}

const fn conv(addend: Addend, word: u32) -> Op {
    Op::Conv { addend, h: CONV_H.get(word), w: CONV_W.get(word), n: CONV_N.get(word) }
}

/// The shape of a word; up to 2^127 channels can be said.
fn shape(buffer: &'static str, least: u32, word: u32) -> Result<Shape, FaultKind> {
    let (h, w, log2) = (SHAPE_H.get(word), SHAPE_W.get(word), SHAPE_C.get(word));
    match 1u32.checked_shl(log2) {
        Some(c) => Ok(Shape { h, w, c }),
        None => Err(FaultKind::ShapeInvalid { buffer, h, w, c: 1 << log2, least }),
    }
}

fn post(word: u32) -> Result<Post, FaultKind> {
    let (act, order, res) = (POST_ACT.get(word), POST_ORDER.get(word), POST_RES.get(word));
    let invalid = FaultKind::PostInvalid { act, order, res };
    Ok(Post {
        act: match act {
            0 => Activation::None,
            1 => Activation::Relu,
            2 => Activation::Leaky,
            _ => return Err(invalid),
        },
        order: match order {
            0 => Order::ActResPool,
            1 => Order::ResActPool,
            2 => Order::ActPoolRes,
            _ => return Err(invalid),
        },
        res: res == 1,
    })
}

/// The bits of a word that no field of its instruction has, and that are set; all of them where the
/// opcode has no meaning.
pub const fn reserved_bits(word: u32) -> u32 {
    let fields: &[Field] = match OPCODE.get(word) {
        1..=3 | 7 => &[ADDR],
        4..=6 => &[CONV_H, CONV_W, CONV_N],
        8 => &[ADDR, PAD_P],
        16 | 17 => &[SHAPE_H, SHAPE_W, SHAPE_C],
        18 => &[KER_N],
        19 => &[BANK, IFM_MEM_W],
        20 | 21 => &[BANK],
        22 => &[BANK, OFM_MEM_H, OFM_MEM_W],
        23 => &[STRIDE_H, STRIDE_W],
        24 => &[SHIFT_F, SHIFT_B],
        25 => &[POST_ACT, POST_ORDER, POST_RES],
        26 => &[POOL_H, POOL_W, POOL_I, POOL_J],
        _ => &[],
    };
    let (mut known, mut index) = (OPCODE.mask(), 0);
    while index < fields.len() {
        known |= fields[index].mask();
        index += 1;
    }
    word & !known
}

/// Why bytes are no program.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ProgramError {
    /// The bytes end inside a word.
    #[error("byte {offset:#x}: {have} bytes are left of a word of 4")]
    Truncated {
        /// First byte of the word.
        offset: usize,
        /// Bytes present.
        have: usize,
    },
    /// A word that cannot be executed.
    #[error("word {index} (byte {:#x}), {word:#010x}: {kind}; {}", .index * WORD_BYTES, .kind.hint())]
    Word {
        /// Index of the word.
        index: usize,
        /// Its value.
        word: u32,
        /// What is wrong with it.
        kind: FaultKind,
    },
    /// An instruction without a word.
    #[error("instruction {index}: {source}")]
    Encode {
        /// Its index.
        index: usize,
        /// Why.
        source: EncodeError,
    },
}

/// The words of a program file: little-endian, without a header.
///
/// Errors: [`ProgramError::Truncated`].
pub fn words(bytes: &[u8]) -> Result<Vec<u32>, ProgramError> {
    let (words, rest) = bytes.as_chunks::<WORD_BYTES>();
    if !rest.is_empty() {
        let offset = bytes.len() - rest.len();
        return Err(ProgramError::Truncated { offset, have: rest.len() });
    }
    Ok(words.iter().map(|&word| u32::from_le_bytes(word)).collect())
}

/// The instructions of a program file.
///
/// Errors: the first word that is cut short or cannot be executed.
pub fn decode_program(bytes: &[u8]) -> Result<Vec<Op>, ProgramError> {
    let decoded = words(bytes)?
        .into_iter()
        .enumerate()
        .map(|(index, word)| decode(word).map_err(|kind| ProgramError::Word { index, word, kind }));
    decoded.collect()
}

/// The file of a program.
///
/// Errors: the first instruction without a word.
pub fn encode_program(ops: &[Op]) -> Result<Vec<u8>, ProgramError> {
    let mut bytes = Vec::with_capacity(ops.len() * WORD_BYTES);
    for (index, op) in ops.iter().enumerate() {
        let word = encode(op).map_err(|source| ProgramError::Encode { index, source })?;
        bytes.extend(word.to_le_bytes());
    }
    Ok(bytes)
}
