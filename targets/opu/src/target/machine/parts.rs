//! [`Part`]: the parts of a machine that have names in assembly programs.
//!
//! Memory has four views. `memory` is all of it, byte by byte. `features.B`, `weights.B` and
//! `biases.B` are bank B as the three loads see it: slots of 64 elements of ITYPE, elements of
//! KTYPE, elements of BTYPE, numbered from the start of the bank. Buffers and registers have the
//! names of the specification and are read-only.

use std::fmt;

use npukit_target::{MachineMemory, TargetError};

use crate::config::Types;
use crate::config::datatype::DataType;
use crate::isa::fault::Buffer;
use crate::isa::memory::{BANK_BYTES, BANKS, MEMORY_BYTES, SLOT};
use crate::isa::op::Shape;
use crate::machine::{Loaded, Machine};

/// Part of the machine that can be read, and possibly written, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::target) enum Part {
    /// All of memory, byte by byte.
    Bytes,
    /// A bank of memory.
    Bank(View, u32),
    /// A buffer of the machine.
    Buffer(Buffer),
    /// A register, by its index in [`REGISTERS`].
    Register(usize),
}

/// View of a bank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::target) enum View {
    /// Slots, as `ld.ifm` reads and `store` writes them.
    Features,
    /// Elements, as `ld.ker` reads them.
    Weights,
    /// Elements, as `ld.bias` reads them.
    Biases,
}

/// Registers, with the instruction that sets each and whether it is signed. Source: draft, table
/// 2.1.
const REGISTERS: [(&str, &str, bool); 25] = [
    ("ifm_h", "@shape.ifm", false),
    ("ifm_w", "@shape.ifm", false),
    ("ifm_c", "@shape.ifm", false),
    ("ofm_h", "@shape.ofm", false),
    ("ofm_w", "@shape.ofm", false),
    ("ofm_c", "@shape.ofm", false),
    ("ker_n", "@shape.ker", false),
    ("stride_h", "@stride", false),
    ("stride_w", "@stride", false),
    ("ifm_addr", "@mem.ifm", false),
    ("ker_addr", "@mem.ker", false),
    ("bias_addr", "@mem.bias", false),
    ("ofm_addr", "@mem.ofm", false),
    ("ifm_mem_w", "@mem.ifm", false),
    ("ofm_mem_w", "@mem.ofm", false),
    ("ofm_mem_h", "@mem.ofm", false),
    ("ifm_shift", "@shift", true),
    ("bias_shift", "@shift", true),
    ("post_order", "@post", false),
    ("add_ifm", "@post", false),
    ("act", "@post", false),
    ("pool_h", "@pool", false),
    ("pool_w", "@pool", false),
    ("pool_h_stride", "@pool", false),
    ("pool_w_stride", "@pool", false),
];

/// Maximum rows of the ker buffer: 36 slices of 64 channels, with 16 inputs each.
const KER_ROWS: u64 = 36 * 64;

/// Location of a number in memory, and its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::target) struct Place {
    /// Byte address of the first number.
    pub address: u64,
    /// Bytes per number.
    size: usize,
}

impl Place {
    /// Returns the bytes of a number.
    pub fn bytes(self, number: i64) -> impl Iterator<Item = u8> {
        number.to_le_bytes().into_iter().take(self.size)
    }
}

impl View {
    const ALL: [Self; 3] = [Self::Features, Self::Weights, Self::Biases];

    const fn name(self) -> &'static str {
        match self {
            Self::Features => "features",
            Self::Weights => "weights",
            Self::Biases => "biases",
        }
    }

    const fn data_type(self, types: &Types) -> DataType {
        match self {
            Self::Features => types.itype,
            Self::Weights => types.ktype,
            Self::Biases => types.btype,
        }
    }

    /// Returns the number of elements per address.
    const fn lanes(self) -> usize {
        match self {
            Self::Features => SLOT as usize,
            Self::Weights | Self::Biases => 1,
        }
    }

    /// Returns the number of bytes per address.
    fn pitch(self, types: &Types) -> u64 {
        self.lanes() as u64 * u64::from(self.data_type(types).size_bytes())
    }

    /// Returns the view that loads of a buffer have.
    const fn of(buffer: Buffer) -> Self {
        match buffer {
            Buffer::Ker => Self::Weights,
            Buffer::Bias => Self::Biases,
            Buffer::Ifm | Buffer::Ofm => Self::Features,
        }
    }
}

impl Part {
    /// Returns all parts.
    pub fn all() -> Vec<Self> {
        let banks =
            View::ALL.into_iter().flat_map(|view| (0..BANKS as u32).map(move |bank| Self::Bank(view, bank)));
        let buffers = [Buffer::Ifm, Buffer::Ker, Buffer::Bias, Buffer::Ofm].map(Self::Buffer);
        let registers = (0..REGISTERS.len()).map(Self::Register);
        [Self::Bytes].into_iter().chain(banks).chain(buffers).chain(registers).collect()
    }

    pub fn name(self) -> String {
        match self {
            Self::Bytes => "memory".to_owned(),
            Self::Bank(view, bank) => format!("{}.{bank}", view.name()),
            Self::Buffer(buffer) => buffer.name().to_owned(),
            Self::Register(index) => REGISTERS[index].0.to_owned(),
        }
    }

    /// Returns the view group and the description of the part.
    pub const fn view(self) -> (&'static str, &'static str) {
        match self {
            Self::Bytes => ("memory", "byte by byte"),
            Self::Bank(View::Features, _) => ("features", "slots of 64 elements"),
            Self::Bank(View::Weights, _) => ("weights", "elements"),
            Self::Bank(View::Biases, _) => ("biases", "elements"),
            Self::Buffer(Buffer::Ifm) => ("feature maps", "input, one pixel of 64 channels per address"),
            Self::Buffer(Buffer::Ofm) => {
                ("feature maps", "partial sums, one pixel of 64 channels per address")
            }
            Self::Buffer(Buffer::Ker) => ("kernels", "64 output channels per address"),
            Self::Buffer(Buffer::Bias) => ("kernels", "biases of 64 output channels"),
            Self::Register(_) => ("registers", ""),
        }
    }

    /// Returns the name, in assembly text, of the memory element that a load of a buffer reads at a
    /// byte.
    pub fn named(buffer: Buffer, types: &Types, address: u64) -> impl fmt::Display {
        let view = View::of(buffer);
        let (bank, byte) = (address / BANK_BYTES, address % BANK_BYTES);
        format!("`{}.{bank}[{}]`", view.name(), byte / view.pitch(types))
    }

    pub fn memory(self, types: &Types) -> MachineMemory {
        let name = self.name();
        let (bits, is_signed) = match self.data_type(types) {
            Some(DataType::Fixed(fixed)) => (fixed.width(), true),
            Some(float) => (8 * float.size_bytes(), false),
            None => match self {
                Self::Register(index) => (i32::BITS, REGISTERS[index].2),
                _ => (u8::BITS, false),
            },
        };
        let (depth, lanes) = match self {
            Self::Bytes => (MEMORY_BYTES, 1),
            Self::Bank(view, _) => (BANK_BYTES / view.pitch(types), view.lanes()),
            Self::Buffer(Buffer::Ifm | Buffer::Ofm) => (Shape::MAX_PIXELS.into(), SLOT as usize),
            Self::Buffer(Buffer::Ker) => (KER_ROWS, SLOT as usize),
            Self::Buffer(Buffer::Bias) => (1, SLOT as usize),
            Self::Register(_) => (1, 1),
        };
        MachineMemory { name, depth, lanes, bits, is_signed }
    }

    /// Returns the type of the part's numbers; `None` for bytes and registers.
    pub fn data_type(self, types: &Types) -> Option<DataType> {
        match self {
            Self::Bank(view, _) => Some(view.data_type(types)),
            Self::Buffer(buffer) => Some(buffer.data_type(types)),
            Self::Bytes | Self::Register(_) => None,
        }
    }

    /// Returns the type of the part's numbers if they represent non-integers.
    fn real_type(self, types: &Types) -> Option<DataType> {
        let is_integer = |data_type: DataType| data_type.fixed().is_some_and(|fixed| fixed.fraction() == 0);
        self.data_type(types).filter(|&data_type| !is_integer(data_type))
    }

    /// Converts a real value to a number of the part; `None` for integers.
    pub fn number(self, types: &Types, real: f64) -> Option<i64> {
        Some(extended(self.real_type(types)?, self.real_type(types)?.from_f64(real)))
    }

    /// Returns the real value of a number; `None` for integers.
    pub fn real(self, types: &Types, number: i64) -> Option<f64> {
        let data_type = self.real_type(types)?;
        // Bit patterns that are not finite numbers have no value.
        Some(data_type.raw(number as u32).map_or(f64::NAN, |raw| data_type.to_f64(raw)))
    }

    /// Returns the location of an address in memory; `None` if the part is not in memory.
    pub fn place(self, types: &Types, address: u64) -> Option<Place> {
        match self {
            Self::Bytes => Some(Place { address, size: 1 }),
            Self::Bank(view, bank) => Some(Place {
                address: u64::from(bank) * BANK_BYTES + address * view.pitch(types),
                size: view.data_type(types).size_bytes() as usize,
            }),
            Self::Buffer(_) | Self::Register(_) => None,
        }
    }

    /// Returns the first byte, and the bytes per address, of a part in memory.
    pub fn bytes(self, types: &Types) -> Option<(u64, u64)> {
        match self {
            Self::Bytes => Some((0, 1)),
            Self::Bank(view, bank) => Some((u64::from(bank) * BANK_BYTES, view.pitch(types))),
            Self::Buffer(_) | Self::Register(_) => None,
        }
    }

    /// Whether the part is memory as loads of a buffer see it.
    pub fn is_for(self, buffer: Buffer) -> bool {
        matches!(self, Self::Bank(view, _) if view == View::of(buffer))
    }

    /// Whether the part is a register that an instruction with this mnemonic sets.
    pub fn is_set_by(self, mnemonic: &str) -> bool {
        matches!(self, Self::Register(index) if REGISTERS[index].1 == mnemonic)
    }

    /// Returns the error that the part cannot be written.
    pub fn not_writable(self) -> TargetError {
        let (name, how) = (self.name(), self.written_by());
        TargetError::failed(format!("`{name}` is only written by instructions: {how}"))
    }

    fn written_by(self) -> String {
        match self {
            Self::Register(index) => format!("`{}`", REGISTERS[index].1),
            Self::Buffer(Buffer::Ofm) => "`conv`, `conv.bias` and `conv.acc`; fill `features.B`".to_owned(),
            Self::Buffer(buffer) => {
                format!("`ld.{}`, from `{}.B` of its bank B", buffer.name(), View::of(buffer).name())
            }
            Self::Bytes | Self::Bank(..) => "none".to_owned(),
        }
    }

    /// Writes numbers for whole addresses, starting at `address`.
    ///
    /// Errors: the part is a register; the bytes are the program's own words; a buffer is not
    /// valid, or is smaller now.
    pub fn write(
        self,
        (machine, loaded): (&mut Machine, &Loaded),
        address: u64,
        numbers: &[i64],
    ) -> Result<(), TargetError> {
        if let Self::Buffer(buffer) = self {
            rows(machine, buffer, address, (numbers.len() / SLOT as usize) as u64)?;
            machine.set_rows(buffer, address as usize, SLOT as usize, numbers);
            return Ok(());
        }
        let place = self.place(machine.types(), address).ok_or_else(|| self.not_writable())?;
        let bytes: Vec<u8> = numbers.iter().flat_map(|number| place.bytes(*number)).collect();
        if loaded.meets(place.address, bytes.len() as u64) {
            return Err(TargetError::failed(format!(
                "`{}` at {address}: these bytes hold the program's own words, which begin at {:#x}",
                self.name(),
                loaded.address()
            )));
        }
        machine.write(place.address, &bytes).map_err(TargetError::failed)
    }

    /// Returns the numbers at `count` addresses, starting at `address`; all must exist.
    ///
    /// Errors: a register is undefined; a buffer is not valid, or is smaller now.
    pub fn read(self, machine: &Machine, address: u64, count: u64) -> Result<Vec<i64>, TargetError> {
        let types = machine.types();
        match self {
            Self::Register(_) if count == 0 => Ok(Vec::new()),
            Self::Register(index) => {
                let (name, set_by, _) = REGISTERS[index];
                let value = machine.registers().named().into_iter().find(|(other, _)| *other == name);
                let value = value.map(|(_, value)| vec![value]);
                let reason = || format!("register {name} is undefined: the program has no `{set_by}`");
                value.ok_or_else(|| TargetError::failed(reason()))
            }
            Self::Buffer(buffer) => rows(machine, buffer, address, count),
            Self::Bytes | Self::Bank(..) => {
                let lanes = self.memory(types).lanes as u64;
                let Some(Place { address, size }) = self.place(types, address) else { return Ok(Vec::new()) };
                let mut bytes = vec![0; (count * lanes) as usize * size];
                machine.read(address, &mut bytes).map_err(TargetError::failed)?;
                Ok(bytes.chunks_exact(size).map(|bytes| stored(self.data_type(types), bytes)).collect())
            }
        }
    }
}

/// Returns the number that bytes hold; without a type, a single byte.
fn stored(data_type: Option<DataType>, bytes: &[u8]) -> i64 {
    let mut word = [0; 4];
    word[..bytes.len()].copy_from_slice(bytes);
    let bits = u32::from_le_bytes(word);
    match data_type {
        Some(DataType::Fixed(fixed)) => fixed.sign_extend(bits).into(),
        _ => bits.into(),
    }
}

/// Returns a raw value as a number: the integer of a fixed-point type, the bits of a float.
fn extended(data_type: DataType, raw: i32) -> i64 {
    match data_type {
        DataType::Fixed(_) => raw.into(),
        // Arrays sign-extend two-byte floats. The extension is not part of the float's bits.
        float if float.size_bytes() == 2 => (raw.cast_unsigned() & 0xFFFF).into(),
        _ => raw.cast_unsigned().into(),
    }
}

/// Returns rows of a buffer along its last axis, each padded with zeros.
fn rows(machine: &Machine, buffer: Buffer, address: u64, count: u64) -> Result<Vec<i64>, TargetError> {
    let array =
        machine.buffer(buffer).map_err(|fault| TargetError::failed(format!("{fault}; {}", fault.hint())))?;
    // Default: every buffer has channels.
    let channels = array.shape.last().copied().unwrap_or(1);
    let held = (array.elements.len() / channels) as u64;
    let end = address + count;
    if end > held {
        let name = buffer.name();
        return Err(TargetError::failed(format!(
            "the {name} buffer has {held} rows of {channels} values now: legal is `{name}[A:B]` with B up to {held}, \
             not {end}"
        )));
    }
    let lane = |row: u64, lane: usize| match lane < channels {
        true => extended(array.data_type, array.elements.get(row as usize * channels + lane)),
        false => 0,
    };
    Ok((address..end).flat_map(|row| (0..SLOT as usize).map(move |at| lane(row, at))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::op::{Op, Pool, Post, Registers};

    /// Every register of the specification has a name here, and vice versa.
    #[test]
    fn registers_are_those_of_the_document() {
        let mut registers = Registers::default();
        let shape = Shape { h: 1, w: 1, c: 16 };
        for op in [
            Op::ShapeIfm(shape),
            Op::ShapeOfm(shape),
            Op::ShapeKer { n: 1 },
            Op::MemIfm { bank: 0, w: 1 },
            Op::MemKer { bank: 0 },
            Op::MemBias { bank: 0 },
            Op::MemOfm { bank: 0, h: 1, w: 1 },
            Op::Stride { h: 1, w: 1 },
            Op::Shift { ifm: 0, bias: 0 },
            Op::Post(Post::default()),
            Op::Pool(Pool::NONE),
        ] {
            let before: Vec<_> = registers.named().into_iter().map(|(name, _)| name).collect();
            registers.set(&op);
            for (name, _) in registers.named().into_iter().filter(|(name, _)| !before.contains(name)) {
                let known = REGISTERS.iter().find(|(other, ..)| *other == name);
                assert_eq!(known.map(|(_, set_by, _)| *set_by), Some(op.mnemonic()), "{name}");
            }
        }
        assert_eq!(registers.named().len(), REGISTERS.len());
    }
}
