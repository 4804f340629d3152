//! Typed instructions: [`Op`], and the rows that define their words, names and text: [`Op::rows`].
//! Addresses are in L2 words of 128 bits, lengths in BF16 values. Source: specification 2.1 to 2.4.

mod access;
pub(crate) mod fields;
mod operands;

use npukit_base::BitRange;
use npukit_isa::coding::{Choice, Coding, Flag, Number, Set};
use npukit_isa::{FieldKind, Radix, instructions};
use npukit_numeric::BLOCK;

pub use access::{Access, Banks, Engine, Values};
pub use operands::{Cache, Cvo, CvoFlags, CvoFunc, Device, Mac, MacFlags, Memcpy, Memset, Shape};

use crate::config::WORD_LANES;
use fields::{OPCODE, cvo, mac, memcpy, memset};

/// Largest opcode except that of the kick marker, for messages.
pub(crate) const LAST_OPCODE: u64 = 4;

/// Instruction with its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// Product of a weight matrix and a vector.
    Gemv(Mac),
    /// Product of a weight matrix and several vectors.
    Gemm(Mac),
    /// Moves words between L2 and the host, or within L2.
    Memcpy(Memcpy),
    /// Writes an entry of a constant bank.
    Memset(Memset),
    /// Special function of a vector.
    Cvo(Cvo),
    /// The host's kick marker; it has no effect.
    Kick,
    /// A word without meaning, which the circuits drop. Only lenient decoding creates it; it is
    /// encoded to the same word.
    Dropped(u64),
}

instructions! {
    for Op on extensions: bool, words of INSTRUCTION_BYTES, opcode in OPCODE;

    0 => "GEMV" {
        Self::Gemv(Mac { dest_reg, src_addr, flags, size_ptr_addr, shape_ptr_addr, parallel_lane })
    } "Multiplies the next bound matrix of weights by a vector." {
        dest_reg: mac::DEST_REG => hexadecimal(mac::DEST_REG), "address of the result";
        src_addr: mac::SRC_ADDR => hexadecimal(mac::SRC_ADDR), "address of the activation";
        flags: mac::FLAGS => MAC_FLAGS, "additional operations";
        size_ptr_addr: mac::SIZE_PTR_ADDR => decimal(mac::SIZE_PTR_ADDR), "weight entry (T, N, K)";
        shape_ptr_addr: mac::SHAPE_PTR_ADDR => decimal(mac::SHAPE_PTR_ADDR), "fmap entry (M, 1, K)";
        parallel_lane: mac::PARALLEL_LANE => decimal(mac::PARALLEL_LANE), "lanes used, 0 for all; time only";
    }
    .with_form(&format!("gemv {MAC}"), Vec::new())
    .with_doc(MAC_DOC)
    .with_reserved_operand("rsv");

    1 => "GEMM" {
        Self::Gemm(Mac { dest_reg, src_addr, flags, size_ptr_addr, shape_ptr_addr, parallel_lane })
    } "Multiplies the next bound matrix of weights by M vectors." {
        dest_reg: mac::DEST_REG => hexadecimal(mac::DEST_REG), "address of the result";
        src_addr: mac::SRC_ADDR => hexadecimal(mac::SRC_ADDR), "address of the activation";
        flags: mac::FLAGS => MAC_FLAGS, "additional operations";
        size_ptr_addr: mac::SIZE_PTR_ADDR => decimal(mac::SIZE_PTR_ADDR), "weight entry (T, N, K)";
        shape_ptr_addr: mac::SHAPE_PTR_ADDR => decimal(mac::SHAPE_PTR_ADDR), "fmap entry (M, 1, K)";
        parallel_lane: mac::PARALLEL_LANE => decimal(mac::PARALLEL_LANE), "lanes used, 0 for all; time only";
    }
    .with_form(&format!("gemm {MAC}"), Vec::new())
    .with_doc(MAC_DOC)
    .with_reserved_operand("rsv");

    2 => "MEMCPY" {
        Self::Memcpy(Memcpy { from_device, to_device, dest_addr, src_addr, aux_addr, shape_ptr_addr, is_async: r#async })
    } "Moves words between L2 and the host, or within L2." {
        from_device: memcpy::FROM_DEVICE => Choice(&["l2", "host"]), "where from";
        to_device: memcpy::TO_DEVICE => Choice(&["l2", "host"]), "destination; the machine refuses host to host";
        dest_addr: memcpy::DEST_ADDR => hexadecimal(memcpy::DEST_ADDR), "L2 address, or window number of the host";
        src_addr: memcpy::SRC_ADDR => hexadecimal(memcpy::SRC_ADDR), "L2 address, or window number of the host";
        aux_addr: memcpy::AUX_ADDR => hexadecimal(memcpy::AUX_ADDR), "offset in the window, in units of 16 bytes";
        shape_ptr_addr: memcpy::SHAPE_PTR_ADDR => decimal(memcpy::SHAPE_PTR_ADDR), "fmap entry: X*Y*Z values";
        r#async: memcpy::ASYNC => Flag("async"), "the next instruction need not wait";
    }
    .with_form(
        "memcpy {from_device}->{to_device}, (*dst={dest_addr}?; src={src_addr}?; aux={aux_addr}?; \
         shape={shape_ptr_addr}; {async}?*)",
        Vec::new(),
    )
    .with_reserved_operand("rsv");

    3 => "MEMSET" {
        Self::Memset(Memset { dest_cache, dest_addr, shape: Shape { x: a_value, y: b_value, z: c_value } })
    } "Writes an entry of a constant bank." {
        dest_cache: memset::DEST_CACHE => Choice(&["fmap", "weight"]), "bank";
        dest_addr: memset::DEST_ADDR => decimal(memset::DEST_ADDR), "entry";
        a_value: memset::A_VALUE => decimal(memset::A_VALUE), "X: M, or T";
        b_value: memset::B_VALUE => decimal(memset::B_VALUE), "Y: 1, or N";
        c_value: memset::C_VALUE => decimal(memset::C_VALUE), "Z: K";
    }
    .with_form("memset (*cache={dest_cache}; idx={dest_addr}; a={a_value}; b={b_value}; c={c_value}*)", Vec::new())
    .with_label_field("dest_addr")
    .with_doc("A label before it has the index of its entry as its value.")
    .with_reserved_operand("rsv");

    4 => "CVO" {
        Self::Cvo(Cvo { cvo_func, src_addr, dst_addr, length, flags, is_async: r#async })
    } "Computes a special function of a vector." {
        cvo_func: cvo::CVO_FUNC => Functions { extensions }, "function";
        src_addr: cvo::SRC_ADDR => hexadecimal(cvo::SRC_ADDR), "source; for scale the scalar, followed by the vector";
        dst_addr: cvo::DST_ADDR => hexadecimal(cvo::DST_ADDR), "destination";
        length: cvo::LENGTH => decimal(cvo::LENGTH), "elements";
        flags: cvo::FLAGS => Set(&["sub_emax", "recip_scale", "accm"]), "additional operations";
        r#async: cvo::ASYNC => Flag("async"), "the next instruction need not wait";
    }
    .with_form("cvo {cvo_func}, (*src={src_addr}; dst={dst_addr}; len={length}; flags={flags}?; {async}?*)", Vec::new())
    .with_doc(&cvo_doc())
    .with_reserved_operand("rsv");

    8, 0 in BitRange::new(0, OPCODE.lo) => "KICK" { Self::Kick } "The host's marker, without effect." {
    }
    .with_form("kick", Vec::new());

    outside {
        Self::Dropped(word) => "dropped", word.into();
    }
}

/// Properties of an instruction that its row does not define: its engine and its accesses.
impl Op {
    /// Returns the engine that executes the instruction.
    pub const fn engine(&self) -> Engine {
        match self {
            Self::Gemv(_) => Engine::Gemv,
            Self::Gemm(_) => Engine::Gemm,
            Self::Cvo(_) => Engine::Cvo,
            Self::Memcpy(_) => Engine::Memcpy,
            Self::Memset(_) | Self::Kick | Self::Dropped(_) => Engine::Dispatch,
        }
    }

    /// Whether the next instruction waits until this one is complete.
    pub const fn is_synchronous(&self) -> bool {
        match self {
            Self::Memcpy(memcpy) => !memcpy.is_async,
            Self::Cvo(cvo) => !cvo.is_async,
            Self::Memset(_) => true,
            Self::Gemv(_) | Self::Gemm(_) | Self::Kick | Self::Dropped(_) => false,
        }
    }

    /// Whether the instruction takes the next bound weights, given the constant banks at its issue.
    pub fn takes_weights(&self, banks: &Banks) -> bool {
        match self {
            Self::Gemv(mac) | Self::Gemm(mac) => weights_in_l2(banks.fmap(mac.shape_ptr_addr)).is_none(),
            _ => false,
        }
    }

    /// Returns the words that the instruction reads and writes, given the constant banks at its
    /// issue.
    pub fn access(&self, banks: &Banks) -> Access {
        match self {
            Self::Gemv(mac) | Self::Gemm(mac) => mac.access(banks),
            Self::Memcpy(memcpy) => memcpy.access(banks),
            Self::Cvo(cvo) => cvo.access(),
            Self::Memset(_) | Self::Kick | Self::Dropped(_) => Access::default(),
        }
    }
}

/// Returns the L2 word in which the weights of a product with these activations begin, according to
/// the page of the instruction set: slot `b` is the index of a pair of words. `None` if the slot is
/// 1, and weights stream.
pub const fn weights_in_l2(fmap: Shape) -> Option<u32> {
    if fmap.y >= 2 { Some(2 * fmap.y as u32) } else { None }
}

impl Mac {
    /// Returns the number of L2 words of the product's weights: rows of whole beats, followed by
    /// one `f32` scale per row if scales are used and MEMSET does not set one.
    pub fn weight_words(&self, weight: Shape) -> u64 {
        let rows = u64::from(weight.y) * u64::from(weight.z).div_ceil(BLOCK as u64);
        let factors = if self.flags.w_scale && weight.x == 0 { u64::from(weight.y).div_ceil(4) } else { 0 };
        rows + factors
    }

    fn access(&self, banks: &Banks) -> Access {
        let (fmap, weight) = (banks.fmap(self.shape_ptr_addr), banks.weight(self.size_ptr_addr));
        let (m, n, k) = (usize::from(fmap.x), usize::from(weight.y), usize::from(fmap.z));
        Access {
            shapes: [
                Some((Cache::FmapShape, self.shape_ptr_addr)),
                Some((Cache::WeightShape, self.size_ptr_addr)),
            ],
            reads: [
                Some(Values::new(self.src_addr, m * k)),
                weights_in_l2(fmap)
                    .map(|word| Values::new(word, self.weight_words(weight) as usize * WORD_LANES)),
            ],
            writes: Some(Values::new(self.dest_reg, m * n)),
            updates: self.flags.accm,
            writes_maximum: self.flags.findemax,
            ..Access::default()
        }
    }
}

impl Memcpy {
    fn access(&self, banks: &Banks) -> Access {
        let shape = banks.fmap(self.shape_ptr_addr);
        let in_l2 = |device, word| (device == Device::Npu).then_some(Values::of(word, shape));
        Access {
            shapes: [Some((Cache::FmapShape, self.shape_ptr_addr)), None],
            reads: [in_l2(self.from_device, self.src_addr), None],
            writes: in_l2(self.to_device, self.dest_addr),
            ..Access::default()
        }
    }
}

impl Cvo {
    fn access(&self) -> Access {
        let length = usize::from(self.length);
        // SCALE reads its scalar from a separate word before the vector.
        let reads = match self.cvo_func {
            CvoFunc::Scale => {
                [Some(Values::new(self.src_addr, 1)), Some(Values::new(self.src_addr + 1, length))]
            }
            _ => [Some(Values::new(self.src_addr, length)), None],
        };
        let results = if self.cvo_func == CvoFunc::ReduceSum { length.min(1) } else { length };
        Access {
            reads,
            writes: Some(Values::new(self.dst_addr, results)),
            updates: self.flags.accm || self.cvo_func == CvoFunc::Mul,
            reads_maximum: self.flags.sub_emax,
            ..Access::default()
        }
    }
}

const MAC: &str = "(*dst={dest_reg}; src={src_addr}; size={size_ptr_addr}; shape={shape_ptr_addr}; \
                   lanes={parallel_lane}?; flags={flags}?*)";
const MAC_DOC: &str = "findemax puts the largest result into e_max, accm adds to the destination, w_scale multiplies \
                       each row by its scale.";
const MAC_FLAGS: Set<'_> = Set(&["findemax", "accm", "w_scale"]);

fn cvo_doc() -> String {
    format!(
        "sub_emax subtracts e_max from the input, recip_scale makes scale divide, accm adds to the destination. \
         Hardware takes {CVO_HARDWARE_LENGTH} elements at most."
    )
}

const fn decimal(bits: BitRange) -> Number {
    Number::all(bits, Radix::Decimal)
}

const fn hexadecimal(bits: BitRange) -> Number {
    Number::all(bits, Radix::Hexadecimal)
}

/// Functions of CVO in an instance.
struct Functions {
    extensions: bool,
}

impl Coding for Functions {
    #[inline]
    fn store(&self, value: u64, _bits: BitRange) -> Option<u64> {
        (value <= CvoFunc::last(self.extensions).code().into()).then_some(value)
    }

    fn kind(&self) -> FieldKind {
        let last = usize::from(CvoFunc::last(self.extensions).code());
        FieldKind::choice(CvoFunc::ALL[..=last].iter().map(|function| function.name()))
    }
}

/// Maximum number of elements of the special-function unit per instruction (specification 4.6.1).
pub const CVO_HARDWARE_LENGTH: u16 = 2048;

/// Size of an instruction in bytes.
pub const INSTRUCTION_BYTES: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_the_largest_opcode() {
        let rows = Op::rows(true).into_iter().filter(|row| row.name != Op::Kick.mnemonic());
        let opcodes = rows.filter_map(|row| Some(row.patterns.first()?.value));
        assert_eq!(opcodes.max(), Some(LAST_OPCODE));
    }
}
