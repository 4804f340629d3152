//! Where the fields are in the word. Source: specification 2.2.

use npukit_base::BitRange;

const fn bits(hi: u32, lo: u32) -> BitRange {
    BitRange::new(lo, hi - lo + 1)
}

pub const OPCODE: BitRange = bits(63, 60);

/// GEMV and GEMM.
pub mod mac {
    use super::{BitRange, bits};
    pub const DEST_REG: BitRange = bits(59, 43);
    pub const SRC_ADDR: BitRange = bits(42, 26);
    /// The bits with a name: findemax, accm, w_scale from the highest.
    pub const FLAGS: BitRange = bits(25, 23);
    pub const SIZE_PTR_ADDR: BitRange = bits(19, 14);
    pub const SHAPE_PTR_ADDR: BitRange = bits(13, 8);
    pub const PARALLEL_LANE: BitRange = bits(7, 3);
}

pub mod memcpy {
    use super::{BitRange, bits};
    pub const FROM_DEVICE: BitRange = bits(59, 59);
    pub const TO_DEVICE: BitRange = bits(58, 58);
    pub const DEST_ADDR: BitRange = bits(57, 41);
    pub const SRC_ADDR: BitRange = bits(40, 24);
    pub const AUX_ADDR: BitRange = bits(23, 7);
    pub const SHAPE_PTR_ADDR: BitRange = bits(6, 1);
    pub const ASYNC: BitRange = bits(0, 0);
}

pub mod memset {
    use super::{BitRange, bits};
    pub const DEST_CACHE: BitRange = bits(59, 58);
    pub const DEST_ADDR: BitRange = bits(57, 52);
    pub const A_VALUE: BitRange = bits(51, 36);
    pub const B_VALUE: BitRange = bits(35, 20);
    pub const C_VALUE: BitRange = bits(19, 4);
}

pub mod cvo {
    use super::{BitRange, bits};
    pub const CVO_FUNC: BitRange = bits(59, 56);
    pub const SRC_ADDR: BitRange = bits(55, 39);
    pub const DST_ADDR: BitRange = bits(38, 22);
    pub const LENGTH: BitRange = bits(21, 6);
    /// The bits with a name: sub_emax, recip_scale, accm from the highest.
    pub const FLAGS: BitRange = bits(5, 3);
    pub const ASYNC: BitRange = bits(0, 0);
}

/// Bits that must be 0, by opcode from 0.
pub const RESERVED: [u64; 5] = [0x0070_0007, 0x0070_0007, 0, 0xF, 0b110];
