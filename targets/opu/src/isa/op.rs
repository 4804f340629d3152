//! Typed instructions: [`Op`], the rows from which their words, names and text are derived
//! ([`Op::rows`]), their [`Class`], the faults of their fields ([`Op::check`]) and the data they
//! touch ([`Op::effects`]). An instruction's function is in [`crate::machine::exec`], its cost in
//! [`crate::clock::timing`]. Source: specification, 2.1.

mod effects;
mod operands;
mod registers;

use npukit_base::BitRange;
use npukit_isa::coding::{Number, Power, Signed};
use npukit_isa::{Form, Radix, When, instructions};

pub use effects::{Access, Direction, Effects, Extent};
pub use operands::{Activation, Addend, Order, Pool, Post, Shape};
pub use registers::{IfmMemory, OfmMemory, Pair, Registers, Shifts};

use crate::config::{Types, Validity};
use crate::isa::fault::{Buffer, FaultKind};
use crate::isa::memory::SLOT;

/// Instruction. An address `addr` counts units of 64 bytes from the start of a bank; banks have
/// 2^28 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// Stops the machine.
    End,
    /// Loads the ifm buffer.
    LoadIfm {
        /// Address in units of 64 bytes.
        addr: u32,
    },
    /// Loads the ker buffer.
    LoadKer {
        /// Address in units of 64 bytes.
        addr: u32,
    },
    /// Loads the bias buffer.
    LoadBias {
        /// Address in units of 64 bytes.
        addr: u32,
    },
    /// Multiplies the ifm, starting at pixel `h`, `w`, by slice `n` of the kernel.
    Conv {
        /// Value to which the products are added.
        addend: Addend,
        /// Row of the first pixel.
        h: u32,
        /// Column of the first pixel.
        w: u32,
        /// Index of the slice.
        n: u32,
    },
    /// Casts, post-processes and writes the partial sums.
    Store {
        /// Address in units of 64 bytes.
        addr: u32,
    },
    /// Clears the border of a plane.
    Pad {
        /// Address in units of 64 bytes.
        addr: u32,
        /// Width of the border, in slots.
        p: u32,
    },
    /// Sets the shape of the ifm buffer.
    ShapeIfm(Shape),
    /// Sets the shape of the ofm buffer.
    ShapeOfm(Shape),
    /// Sets the number of slices of the ker buffer.
    ShapeKer {
        /// Number of slices.
        n: u32,
    },
    /// Sets the memory from which ifm tiles are loaded.
    MemIfm {
        /// Bank number, 0 to 15.
        bank: u32,
        /// Slots between the starts of adjacent rows.
        w: u32,
    },
    /// Sets the memory from which kernels are loaded.
    MemKer {
        /// Bank number, 0 to 15.
        bank: u32,
    },
    /// Sets the memory from which biases are loaded.
    MemBias {
        /// Bank number, 0 to 15.
        bank: u32,
    },
    /// Sets the memory to which results are stored.
    MemOfm {
        /// Bank number, 0 to 15.
        bank: u32,
        /// Rows of a plane.
        h: u32,
        /// Slots between the starts of adjacent rows.
        w: u32,
    },
    /// Sets the steps of convolutions.
    Stride {
        /// Step in rows.
        h: u32,
        /// Step in columns.
        w: u32,
    },
    /// Sets the exponents of the powers of two by which products and biases are multiplied.
    Shift {
        /// Exponent for the sum of products.
        ifm: i32,
        /// Exponent for the bias.
        bias: i32,
    },
    /// Sets the post-processing of `store`.
    Post(Post),
    /// Sets the pooling of `store`.
    Pool(Pool),
}

const OPCODE: BitRange = BitRange::new(0, 6);
/// Address field, in units of 64 bytes.
const ADDR: BitRange = BitRange::new(6, 22);
const BANK: BitRange = BitRange::new(6, 4);
/// Operand fields of `conv*`.
const CONV: [BitRange; 3] = [BitRange::new(6, 4), BitRange::new(10, 4), BitRange::new(14, 6)];
/// Operand fields of `@shape.ifm` and `@shape.ofm`.
const SHAPE: [BitRange; 3] = [BitRange::new(6, 7), BitRange::new(13, 7), BitRange::new(20, 7)];

/// Bit ranges of the fields of `@post` (`SOURCES.md`, S20).
struct PostBits {
    act: BitRange,
    order: BitRange,
    res: BitRange,
}

impl PostBits {
    /// Returns the fields of the published parser, or of the draft's appendix if `validity` follows
    /// it.
    const fn of(validity: Validity) -> Self {
        let [act, order, res] = if validity.is_seed() { [9, 6, 8] } else { [6, 8, 10] };
        Self { act: BitRange::new(act, 2), order: BitRange::new(order, 2), res: BitRange::new(res, 1) }
    }
}

instructions! {
    for Op on validity: Validity, words of WORD_BYTES, opcode in OPCODE;

    0 => "end" { Self::End } "Stops." {
    } .with_form("end", Vec::new());

    1 => "ld.ifm" { Self::LoadIfm { addr } }
    "Loads the ifm buffer: ifm_h rows of ifm_w slots, ifm_mem_w slots apart." {
        addr: ADDR => all(ADDR), ADDRESS;
    } .with_form("ld.ifm {addr}", Vec::new());

    2 => "ld.ker" { Self::LoadKer { addr } }
    "Loads the ker buffer: ker_n slices of ofm_c x ifm_c." {
        addr: ADDR => all(ADDR), ADDRESS;
    } .with_form("ld.ker {addr}", Vec::new());

    3 => "ld.bias" { Self::LoadBias { addr } } "Loads the bias buffer: ofm_c values." {
        addr: ADDR => all(ADDR), ADDRESS;
    } .with_form("ld.bias {addr}", Vec::new());

    4 => "conv" { Self::Conv { addend: Addend::Zero, h, w, n } }
    "Multiplies the ifm by a slice of the kernel: new partial sums." {
        h: CONV[0] => all(CONV[0]), ROW;
        w: CONV[1] => all(CONV[1]), COLUMN;
        n: CONV[2] => all(CONV[2]), SLICE;
    } .with_form("conv ifm:[{h},{w}], ker:{n}", Vec::new());

    5 => "conv.bias" { Self::Conv { addend: Addend::Bias, h, w, n } }
    "Multiplies the ifm by a slice of the kernel and adds the bias: new partial sums." {
        h: CONV[0] => all(CONV[0]), ROW;
        w: CONV[1] => all(CONV[1]), COLUMN;
        n: CONV[2] => all(CONV[2]), SLICE;
    } .with_form("conv.bias ifm:[{h},{w}], ker:{n}", Vec::new());

    6 => "conv.acc" { Self::Conv { addend: Addend::Ofm, h, w, n } }
    "Multiplies the ifm by a slice of the kernel and adds to the partial sums." {
        h: CONV[0] => all(CONV[0]), ROW;
        w: CONV[1] => all(CONV[1]), COLUMN;
        n: CONV[2] => all(CONV[2]), SLICE;
    } .with_form("conv.acc ifm:[{h},{w}], ker:{n}", Vec::new());

    7 => "store" { Self::Store { addr } } "Casts the partial sums, post-processes them and writes them." {
        addr: ADDR => all(ADDR), ADDRESS;
    } .with_form("store {addr}", Vec::new());

    8 => "pad" { Self::Pad { addr, p } }
    "Clears the border of a plane of ofm_mem_h rows of ofm_mem_w slots." {
        addr: ADDR => all(ADDR), ADDRESS;
        p: BitRange::new(28, 4) => Number::between(0, 15), "slots on each side";
    } .with_form("pad {addr}, {p}", Vec::new());

    16 => "@shape.ifm" { Self::ShapeIfm(Shape { h, w, c }) }
    "Sets the shape of the ifm buffer; ifm and ker become invalid." {
        h: SHAPE[0] => Number::between(1, 127), "rows";
        w: SHAPE[1] => Number::between(1, 127), "columns";
        c: SHAPE[2] => Power::between(4, 6), "channels";
    } .with_doc(MAX_PIXELS).with_limit(&["h", "w"], 2048).with_form("@shape.ifm [{h},{w},{c}]", Vec::new());

    17 => "@shape.ofm" { Self::ShapeOfm(Shape { h, w, c }) }
    "Sets the shape of the partial sums; ofm and ker become invalid, bias when the channels change." {
        h: SHAPE[0] => Number::between(1, 127), "rows";
        w: SHAPE[1] => Number::between(1, 127), "columns";
        c: SHAPE[2] => Power::between(1, 6), "channels";
    } .with_doc(MAX_PIXELS).with_limit(&["h", "w"], 2048).with_form("@shape.ofm [{h},{w},{c}]", Vec::new());

    18 => "@shape.ker" { Self::ShapeKer { n } }
    "Sets the number of slices of the ker buffer, which becomes invalid." {
        n: BitRange::new(6, 6) => Number::between(1, 36), "slices";
    } .with_form("@shape.ker {n}", Vec::new());

    19 => "@mem.ifm" { Self::MemIfm { bank: addr, w } } "Sets where ifm tiles are loaded from." {
        addr: BANK => all(BANK), BANK_OF;
        w: BitRange::new(10, 10) => Number::between(1, 1023), "slots between the starts of rows";
    } .with_form("@mem.ifm {addr}, {w}", Vec::new());

    20 => "@mem.ker" { Self::MemKer { bank: addr } } "Sets where kernels are loaded from." {
        addr: BANK => all(BANK), BANK_OF;
    } .with_form("@mem.ker {addr}", Vec::new());

    21 => "@mem.bias" { Self::MemBias { bank: addr } } "Sets where biases are loaded from." {
        addr: BANK => all(BANK), BANK_OF;
    } .with_form("@mem.bias {addr}", Vec::new());

    22 => "@mem.ofm" { Self::MemOfm { bank: addr, h, w } } "Sets where results are stored." {
        addr: BANK => all(BANK), BANK_OF;
        h: BitRange::new(10, 10) => Number::between(1, 1023), "rows of a plane";
        w: BitRange::new(20, 10) => Number::between(1, 1023), "slots between the starts of rows";
    } .with_form("@mem.ofm {addr}, [{h},{w}]", Vec::new());

    23 => "@stride" { Self::Stride { h, w } } "Sets the steps of convolutions." {
        h: BitRange::new(6, 3) => Number::between(1, 7), "rows";
        w: BitRange::new(9, 3) => Number::between(1, 7), "columns";
    } .with_form("@stride [{h},{w}]", Vec::new());

    24 => "@shift" { Self::Shift { ifm: f, bias: b } }
    "Sets the powers of two that sums of products and biases are multiplied by." {
        f: BitRange::new(6, 8) => Signed::all(BitRange::new(6, 8)), "exponent for sums of products";
        b: BitRange::new(14, 8) => Signed::all(BitRange::new(14, 8)), "exponent for the bias";
    } .with_form("@shift {f}, {b}", Vec::new());

    25 => "@post" { Self::Post(Post { act, order, res }) }
    "Sets the steps of `store` and their order; `@pool` sets the pooling window." {
        act: PostBits::of(validity).act => Number::between(0, 2), "activation: none, ReLU, leaky ReLU with slope 1/8";
        order: PostBits::of(validity).order => Number::between(0, 2), "act-res-pool, res-act-pool, act-pool-res";
        res: PostBits::of(validity).res => Number::between(0, 1), "whether the ifm buffer is added";
    } .with_forms(Post::ALL.map(form));

    26 => "@pool" { Self::Pool(Pool { h, w, stride_h: i, stride_w: j }) }
    "Sets the window of max pooling and its steps." {
        h: BitRange::new(6, 4) => Number::between(1, 15), "rows of the window";
        w: BitRange::new(10, 4) => Number::between(1, 15), "columns of the window";
        i: BitRange::new(14, 3) => Number::between(1, 7), "rows between windows";
        j: BitRange::new(17, 3) => Number::between(1, 7), "columns between windows";
    } .with_form("@pool [{h},{w}], [{i},{j}]", Vec::new());
}

const ADDRESS: &str = "address in units of 64 bytes";
const BANK_OF: &str = "bank of 2^28 bytes";
const ROW: &str = "first row of the ifm";
const COLUMN: &str = "first column of the ifm";
const SLICE: &str = "slice of the kernel, below ker_n";
const MAX_PIXELS: &str = "At most 2048 pixels: h * w <= 2048.";

/// Returns the byte address of unit `addr` of a bank that begins at `bank`.
fn unit(bank: u32, addr: u32) -> u64 {
    u64::from(bank) + u64::from(addr) * 64
}

/// Returns the range of all numbers that fit into `bits`.
const fn all(bits: BitRange) -> Number {
    Number::all(bits, Radix::Decimal)
}

/// Returns the text form of one of the eleven combinations of `@post`.
fn form(post: Post) -> Form {
    let act = match post.act {
        Activation::None => None,
        Activation::Relu => Some("act.relu"),
        Activation::Leaky => Some("act.leaky"),
    };
    let res = post.res.then_some("res");
    let steps = match post.order {
        Order::ActResPool => [act, res, Some("pool")],
        Order::ResActPool => [res, act, Some("pool")],
        Order::ActPoolRes => [act, Some("pool"), res],
    };
    let steps: Vec<&str> = steps.into_iter().flatten().collect();
    let is = |field: &str, value| When::Is(field.to_owned(), value);
    let when = vec![is("act", post.act as u64), is("order", post.order as u64), is("res", post.res.into())];
    Form { syntax: format!("@post {}", steps.join(", ")), when }
}

/// Functional unit that executes an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// `end`.
    Control,
    /// `@...`: sets registers.
    Configuration,
    /// `ld.*`.
    Load,
    /// `conv*`.
    Compute,
    /// `store` and `pad`.
    Store,
}

/// Pattern that matches all instructions that set registers, for code that treats them alike.
macro_rules! configuration {
    () => {
        $crate::isa::op::Op::ShapeIfm(_)
            | $crate::isa::op::Op::ShapeOfm(_)
            | $crate::isa::op::Op::ShapeKer { .. }
            | $crate::isa::op::Op::MemIfm { .. }
            | $crate::isa::op::Op::MemKer { .. }
            | $crate::isa::op::Op::MemBias { .. }
            | $crate::isa::op::Op::MemOfm { .. }
            | $crate::isa::op::Op::Stride { .. }
            | $crate::isa::op::Op::Shift { .. }
            | $crate::isa::op::Op::Post(_)
            | $crate::isa::op::Op::Pool(_)
    };
}
pub(crate) use configuration;

impl Op {
    /// Returns the functional unit that executes the instruction.
    pub const fn class(&self) -> Class {
        match self {
            Self::End => Class::Control,
            configuration!() => Class::Configuration,
            Self::LoadIfm { .. } | Self::LoadKer { .. } | Self::LoadBias { .. } => Class::Load,
            Self::Conv { .. } => Class::Compute,
            Self::Store { .. } | Self::Pad { .. } => Class::Store,
        }
    }

    /// Returns the memory and buffers that the instruction reads and writes, with these registers;
    /// `validity` selects the strides.
    ///
    /// # Errors
    ///
    /// [`FaultKind::UndefinedRegister`] for the first register that is needed and undefined.
    #[inline]
    pub fn effects(
        &self,
        registers: &Registers,
        types: &Types,
        validity: Validity,
    ) -> Result<Effects, FaultKind> {
        let itype = types.itype.size_bytes();
        Ok(match *self {
            Self::End | configuration!() => Effects::NONE,
            Self::LoadIfm { addr } => {
                let (shape, map) = (registers.ifm_shape()?, registers.ifm_memory()?);
                Effects::load(Access::tile(unit(map.addr, addr), shape, map.w, itype), Buffer::Ifm)
            }
            Self::LoadKer { addr } => {
                let (n, ofm_c, ifm_c) = (registers.slices()?, registers.ofm_c()?, registers.ifm_c()?);
                let (base, size) = (unit(registers.ker_address()?, addr), types.ktype.size_bytes());
                let access = if validity.is_seed() {
                    Access::printed_kernel(base, [n, ofm_c, ifm_c], size)
                } else {
                    Access::dense(base, u64::from(n) * u64::from(ofm_c) * u64::from(ifm_c), size)
                };
                Effects::load(access, Buffer::Ker)
            }
            Self::LoadBias { addr } => {
                let elements = registers.ofm_c()?.into();
                let base = unit(registers.bias_address()?, addr);
                Effects::load(Access::dense(base, elements, types.btype.size_bytes()), Buffer::Bias)
            }
            Self::Conv { addend, .. } => {
                let reads: &[Buffer] = match addend {
                    Addend::Zero => &[Buffer::Ifm, Buffer::Ker],
                    Addend::Bias => &[Buffer::Ifm, Buffer::Ker, Buffer::Bias],
                    Addend::Ofm => &[Buffer::Ifm, Buffer::Ker, Buffer::Ofm],
                };
                Effects { reads, writes: Some(Buffer::Ofm), ..Effects::NONE }
            }
            Self::Store { addr } => {
                let (shape, map) = (registers.ofm_shape()?, registers.ofm_memory("ofm_addr")?);
                let reads: &[Buffer] =
                    if registers.post()?.res { &[Buffer::Ofm, Buffer::Ifm] } else { &[Buffer::Ofm] };
                let shape = registers.pool()?.result(shape);
                let memory = Access::tile(unit(map.addr, addr), shape, map.w, itype).written();
                Effects { memory, reads, ..Effects::NONE }
            }
            Self::Pad { addr, p } => {
                let map = registers.ofm_memory("ofm_mem_h")?;
                let plane = Shape { h: map.h, w: map.w, c: SLOT };
                let memory = Access::tile(unit(map.addr, addr), plane, map.w, itype).written().border(p);
                let memory = if validity.is_seed() { memory.with_pitch(map.w, itype) } else { memory };
                Effects { memory, ..Effects::NONE }
            }
        })
    }

    /// Checks the instruction's own fields (specification, 2.3).
    ///
    /// # Errors
    ///
    /// [`FaultKind`] for the first field that is illegal in any state: a shape, stride or pool of
    /// 0, a kernel of more than 36 slices, a post-processing that does not exist.
    pub fn check(&self) -> Result<(), FaultKind> {
        match *self {
            Self::ShapeIfm(shape) => shape_fits("ifm", shape, 16),
            Self::ShapeOfm(shape) => shape_fits("ofm", shape, 2),
            Self::ShapeKer { n } if !(1..=36).contains(&n) => Err(FaultKind::KerNInvalid { n }),
            Self::MemIfm { w: 0, .. } => Err(FaultKind::MemInvalid { register: "ifm_mem_w" }),
            Self::MemOfm { h: 0, .. } => Err(FaultKind::MemInvalid { register: "ofm_mem_h" }),
            Self::MemOfm { w: 0, .. } => Err(FaultKind::MemInvalid { register: "ofm_mem_w" }),
            Self::Stride { h, w } if h == 0 || w == 0 => Err(FaultKind::StrideInvalid { h, w }),
            Self::Post(post) if !post.is_legal() => Err(FaultKind::PostInvalid {
                act: post.act as u32,
                order: post.order as u32,
                res: u32::from(post.res),
            }),
            Self::Pool(Pool { h, w, stride_h, stride_w }) if [h, w, stride_h, stride_w].contains(&0) => {
                Err(FaultKind::PoolInvalid { h, w, stride_h, stride_w })
            }
            _ => Ok(()),
        }
    }
}

fn shape_fits(buffer: &'static str, Shape { h, w, c }: Shape, least: u32) -> Result<(), FaultKind> {
    let pixels = u64::from(h) * u64::from(w);
    let fits = (1..=u64::from(Shape::MAX_PIXELS)).contains(&pixels) && h <= 127 && w <= 127;
    if fits && c.is_power_of_two() && (least..=64).contains(&c) {
        return Ok(());
    }
    Err(FaultKind::ShapeInvalid { buffer, h, w, c: c.into(), least })
}

/// Bytes per instruction word.
pub const WORD_BYTES: usize = 4;

impl Registers {
    /// Executes a configuration instruction; does nothing for others. `op` must pass [`Op::check`].
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
}

/// Returns the address of the first byte of a bank.
pub(crate) const fn bank_address(bank: u32) -> u32 {
    bank << 28
}

/// Clamps the size of a plane to the largest that fits its field.
pub(crate) const fn in_field(size: u32) -> u32 {
    if size < 1023 { size } else { 1023 }
}
