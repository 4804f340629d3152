//! Architectural state: [`Registers`], and buffers that may hold nothing ([`Array`], [`Held`]).

use crate::config::datatype::DataType;
use crate::isa::fault::{Buffer, FaultKind, Invalid};
use crate::isa::op::{Op, Pool, Post, Shape};
use crate::machine::exec::Values;

/// Two numbers of an instruction: rows and columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// Rows.
    pub h: u32,
    /// Columns.
    pub w: u32,
}

/// Where results go to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OfmMemory {
    /// Byte address of the bank: `ofm_addr`.
    pub addr: u32,
    /// Rows of a plane.
    pub h: u32,
    /// Slots from row to row.
    pub w: u32,
}

/// Where ifm tiles come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IfmMemory {
    /// Byte address of the bank: `ifm_addr`.
    pub addr: u32,
    /// Slots from row to row.
    pub w: u32,
}

/// Exponents of `@shift`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shifts {
    /// Of sums of products.
    pub ifm: i32,
    /// Of biases.
    pub bias: i32,
}

/// The registers, by the instruction that sets them; all undefined after a reset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Registers {
    /// `@shape.ifm`.
    pub ifm: Option<Shape>,
    /// `@shape.ofm`.
    pub ofm: Option<Shape>,
    /// `@shape.ker`.
    pub ker_n: Option<u32>,
    /// `@mem.ifm`.
    pub ifm_mem: Option<IfmMemory>,
    /// `@mem.ker`, as a byte address.
    pub ker_addr: Option<u32>,
    /// `@mem.bias`, as a byte address.
    pub bias_addr: Option<u32>,
    /// `@mem.ofm`.
    pub ofm_mem: Option<OfmMemory>,
    /// `@stride`.
    pub stride: Option<Pair>,
    /// `@shift`.
    pub shift: Option<Shifts>,
    /// `@post`.
    pub post: Option<Post>,
    /// `@pool`.
    pub pool: Option<Pool>,
}

/// The first byte of a bank.
const fn bank_address(bank: u32) -> u32 {
    bank << 28
}

/// The size of a plane: one that no word can hold is the largest that a word can.
const fn in_field(size: u32) -> u32 {
    if size < 1023 { size } else { 1023 }
}

/// The value of a register.
fn defined<T>(value: Option<T>, register: &'static str, set_by: &'static str) -> Result<T, FaultKind> {
    value.ok_or(FaultKind::UndefinedRegister { register, set_by })
}

/// The registers that instructions need.
///
/// # Errors
///
/// Each is [`FaultKind::UndefinedRegister`] until it is set.
impl Registers {
    pub(crate) fn ifm_shape(&self) -> Result<Shape, FaultKind> {
        defined(self.ifm, "ifm_h", "@shape.ifm")
    }

    pub(crate) fn ifm_c(&self) -> Result<u32, FaultKind> {
        Ok(defined(self.ifm, "ifm_c", "@shape.ifm")?.c)
    }

    pub(crate) fn ifm_memory(&self) -> Result<IfmMemory, FaultKind> {
        defined(self.ifm_mem, "ifm_addr", "@mem.ifm")
    }

    pub(crate) fn ofm_shape(&self) -> Result<Shape, FaultKind> {
        defined(self.ofm, "ofm_h", "@shape.ofm")
    }

    pub(crate) fn ofm_c(&self) -> Result<u32, FaultKind> {
        Ok(defined(self.ofm, "ofm_c", "@shape.ofm")?.c)
    }

    /// `register` is the one that a message names.
    pub(crate) fn ofm_memory(&self, register: &'static str) -> Result<OfmMemory, FaultKind> {
        defined(self.ofm_mem, register, "@mem.ofm")
    }

    pub(crate) fn slices(&self) -> Result<u32, FaultKind> {
        defined(self.ker_n, "ker_n", "@shape.ker")
    }

    pub(crate) fn ker_address(&self) -> Result<u32, FaultKind> {
        defined(self.ker_addr, "ker_addr", "@mem.ker")
    }

    pub(crate) fn bias_address(&self) -> Result<u32, FaultKind> {
        defined(self.bias_addr, "bias_addr", "@mem.bias")
    }

    pub(crate) fn stride(&self) -> Result<Pair, FaultKind> {
        defined(self.stride, "stride_h", "@stride")
    }

    pub(crate) fn shift(&self) -> Result<Shifts, FaultKind> {
        defined(self.shift, "ifm_shift", "@shift")
    }

    pub(crate) fn post(&self) -> Result<Post, FaultKind> {
        defined(self.post, "post_order", "@post")
    }

    pub(crate) fn pool(&self) -> Result<Pool, FaultKind> {
        defined(self.pool, "pool_h", "@pool")
    }
}

impl Registers {
    /// Does what a configuration instruction does; nothing for the others. `op` passes [`Op::check`].
    pub const fn set(&mut self, op: &Op) {
        match *op {
            Op::ShapeIfm(shape) => self.ifm = Some(shape),
            Op::ShapeOfm(shape) => self.ofm = Some(shape),
            Op::ShapeKer { n } => self.ker_n = Some(n),
            Op::MemIfm { bank, w } => {
                self.ifm_mem = Some(IfmMemory { addr: bank_address(bank), w: in_field(w) });
            }
            Op::MemKer { bank } => self.ker_addr = Some(bank_address(bank)),
            Op::MemBias { bank } => self.bias_addr = Some(bank_address(bank)),
            Op::MemOfm { bank, h, w } => {
                let (h, w) = (in_field(h), in_field(w));
                self.ofm_mem = Some(OfmMemory { addr: bank_address(bank), h, w });
            }
            Op::Stride { h, w } => self.stride = Some(Pair { h, w }),
            Op::Shift { ifm, bias } => self.shift = Some(Shifts { ifm, bias }),
            Op::Post(post) => self.post = Some(post),
            Op::Pool(pool) => self.pool = Some(pool),
            _ => {}
        }
    }

    /// Every register that is defined, with its value, by the names of the specification's section 3.1.
    pub fn named(&self) -> Vec<(&'static str, i64)> {
        let mut named: Vec<(&'static str, i64)> = Vec::new();
        let mut add = |entries: &[(&'static str, u32)]| {
            named.extend(entries.iter().map(|&(name, value)| (name, i64::from(value))));
        };
        if let Some(Shape { h, w, c }) = self.ifm {
            add(&[("ifm_h", h), ("ifm_w", w), ("ifm_c", c)]);
        }
        if let Some(Shape { h, w, c }) = self.ofm {
            add(&[("ofm_h", h), ("ofm_w", w), ("ofm_c", c)]);
        }
        if let Some(n) = self.ker_n {
            add(&[("ker_n", n)]);
        }
        if let Some(IfmMemory { addr, w }) = self.ifm_mem {
            add(&[("ifm_addr", addr), ("ifm_mem_w", w)]);
        }
        for (name, addr) in [("ker_addr", self.ker_addr), ("bias_addr", self.bias_addr)] {
            if let Some(addr) = addr {
                add(&[(name, addr)]);
            }
        }
        if let Some(OfmMemory { addr, h, w }) = self.ofm_mem {
            add(&[("ofm_addr", addr), ("ofm_mem_h", h), ("ofm_mem_w", w)]);
        }
        if let Some(Pair { h, w }) = self.stride {
            add(&[("stride_h", h), ("stride_w", w)]);
        }
        if let Some(Post { act, order, res }) = self.post {
            add(&[("act", act as u32), ("post_order", order as u32), ("add_ifm", u32::from(res))]);
        }
        if let Some(Pool { h, w, stride_h, stride_w }) = self.pool {
            add(&[("pool_h", h), ("pool_w", w), ("pool_h_stride", stride_h), ("pool_w_stride", stride_w)]);
        }
        if let Some(Shifts { ifm, bias }) = self.shift {
            named.extend([("ifm_shift", ifm.into()), ("bias_shift", bias.into())]);
        }
        named
    }
}

/// Raw values, in as few bytes as memory has them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Elements {
    /// Of one byte.
    I8(Vec<i8>),
    /// Of two bytes.
    I16(Vec<i16>),
    /// Of four bytes.
    I32(Vec<i32>),
}

/// Raw values of a type, row-major.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Array<E = Elements> {
    /// Type of the elements.
    pub data_type: DataType,
    /// Sizes of the axes.
    pub shape: Vec<usize>,
    /// The elements.
    pub elements: E,
}

impl Elements {
    /// Elements of `data_type`, all 0.
    pub fn zeros(data_type: DataType, len: usize) -> Self {
        match data_type.size_bytes() {
            1 => Self::I8(vec![0; len]),
            2 => Self::I16(vec![0; len]),
            _ => Self::I32(vec![0; len]),
        }
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        match self {
            Self::I8(values) => values.len(),
            Self::I16(values) => values.len(),
            Self::I32(values) => values.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The raw value at `index`, which must be below the length.
    pub fn get(&self, index: usize) -> i32 {
        match self {
            Self::I8(values) => values[index].into(),
            Self::I16(values) => values[index].into(),
            Self::I32(values) => values[index],
        }
    }

    /// Sets the raw value at `index`, which must be below the length.
    pub fn set(&mut self, index: usize, raw: i32) {
        match self {
            Self::I8(values) => values[index] = raw as i8,
            Self::I16(values) => values[index] = raw as i16,
            Self::I32(values) => values[index] = raw,
        }
    }

    /// As memory has them.
    pub fn to_bytes(&self) -> Vec<u8> {
        match self {
            Self::I8(values) => values.iter().map(|&value| value.cast_unsigned()).collect(),
            Self::I16(values) => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
            Self::I32(values) => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
        }
    }
}

impl<E: Values> Array<E> {
    /// An array whose elements are not needed.
    pub fn without_elements(data_type: DataType, shape: Vec<usize>) -> Self {
        Self { data_type, shape, elements: E::zeros(data_type, 0) }
    }
}

impl Elements {
    /// Raw values from the bytes of whole elements.
    ///
    /// # Errors
    ///
    /// Position and bits of the first element that is not a finite number.
    pub fn from_bytes(data_type: DataType, bytes: &[u8]) -> Result<Self, (usize, u32)> {
        let size = data_type.size_bytes() as usize;
        let mut elements = Self::zeros(data_type, bytes.len() / size);
        match (&mut elements, data_type) {
            // All bits of the container: nothing to extend, nothing to refuse.
            (Self::I8(values), DataType::INT8) => {
                values.iter_mut().zip(bytes).for_each(|(value, &byte)| *value = byte.cast_signed());
            }
            _ => {
                for (index, bytes) in bytes.chunks_exact(size).enumerate() {
                    let mut word = [0; 4];
                    word[..size].copy_from_slice(bytes);
                    let bits = u32::from_le_bytes(word);
                    elements.set(index, data_type.raw(bits).ok_or((index, bits))?);
                }
            }
        }
        Ok(elements)
    }
}

impl Array {
    /// Raw values from the bytes of whole elements.
    ///
    /// # Errors
    ///
    /// Position and bits of the first element that is not a finite number.
    pub fn from_bytes(data_type: DataType, shape: Vec<usize>, bytes: &[u8]) -> Result<Self, (usize, u32)> {
        Ok(Self { data_type, shape, elements: Elements::from_bytes(data_type, bytes)? })
    }
}

/// A buffer's content, or why there is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held<E = Elements> {
    buffer: Buffer,
    content: Result<Array<E>, Invalid>,
}

impl<E> Held<E> {
    /// A buffer after a reset.
    pub const fn new(buffer: Buffer) -> Self {
        Self { buffer, content: Err(Invalid::Never) }
    }

    /// The content.
    ///
    /// # Errors
    ///
    /// [`FaultKind::BufferInvalid`] when the buffer holds nothing valid, and why.
    pub const fn get(&self) -> Result<&Array<E>, FaultKind> {
        match &self.content {
            Ok(array) => Ok(array),
            Err(invalid) => Err(FaultKind::BufferInvalid { buffer: self.buffer, invalid: *invalid }),
        }
    }

    /// Replaces the content.
    pub fn fill(&mut self, array: Array<E>) {
        self.content = Ok(array);
    }

    /// Takes the content out, for its memory.
    pub fn take(&mut self) -> Option<Array<E>> {
        std::mem::replace(&mut self.content, Err(Invalid::Never)).ok()
    }

    /// The instruction called `mnemonic` changes the shape.
    pub fn invalidate(&mut self, mnemonic: &'static str) {
        if self.content.is_ok() {
            self.content = Err(Invalid::By(mnemonic));
        }
    }
}

/// Registers and buffers.
#[derive(Clone, Debug)]
pub struct State<E: Values = Elements> {
    /// Registers.
    pub registers: Registers,
    /// Input feature maps, of ITYPE.
    pub ifm: Held<E>,
    /// Kernels, of KTYPE.
    pub ker: Held<E>,
    /// Biases, of BTYPE.
    pub bias: Held<E>,
    /// Partial sums, of OTYPE.
    pub ofm: Held<E>,
    /// Values stored so far whose partial sum was at an end of OTYPE, or beyond what ITYPE can hold.
    pub saturated: u64,
    /// What operations note, and make values with.
    pub ledger: E::Ledger,
}

impl<E: Values> State<E> {
    /// A machine after a reset.
    pub fn with_ledger(ledger: E::Ledger) -> Self {
        Self {
            registers: Registers::default(),
            ifm: Held::new(Buffer::Ifm),
            ker: Held::new(Buffer::Ker),
            bias: Held::new(Buffer::Bias),
            ofm: Held::new(Buffer::Ofm),
            saturated: 0,
            ledger,
        }
    }

    /// A buffer.
    pub const fn held(&self, buffer: Buffer) -> &Held<E> {
        match buffer {
            Buffer::Ifm => &self.ifm,
            Buffer::Ker => &self.ker,
            Buffer::Bias => &self.bias,
            Buffer::Ofm => &self.ofm,
        }
    }
}

impl<E: Values<Ledger: Default>> Default for State<E> {
    fn default() -> Self {
        Self::with_ledger(E::Ledger::default())
    }
}
