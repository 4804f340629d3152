//! Bit ranges of the fields. Source: specification 2.2.

use npukit_base::BitRange;

const fn bits(hi: u32, lo: u32) -> BitRange {
    BitRange::new(lo, hi - lo + 1)
}

pub const OPCODE: BitRange = bits(63, 60);

/// Fields of GEMV and GEMM.
pub mod mac {
    use super::{BitRange, bits};
    pub const DEST_REG: BitRange = bits(59, 43);
    pub const SRC_ADDR: BitRange = bits(42, 26);
    /// Flag bits, from the highest: findemax, accm, w_scale.
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
    /// Flag bits, from the highest: sub_emax, recip_scale, accm.
    pub const FLAGS: BitRange = bits(5, 3);
    pub const ASYNC: BitRange = bits(0, 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fields as in the tables of the specification: bits and width.
    #[test]
    fn fields_are_as_wide_as_the_document_says() {
        for (field, [hi, lo, width]) in [
            (OPCODE, [63, 60, 4]),
            (mac::DEST_REG, [59, 43, 17]),
            (mac::SRC_ADDR, [42, 26, 17]),
            (mac::SIZE_PTR_ADDR, [19, 14, 6]),
            (mac::SHAPE_PTR_ADDR, [13, 8, 6]),
            (mac::PARALLEL_LANE, [7, 3, 5]),
            (memcpy::FROM_DEVICE, [59, 59, 1]),
            (memcpy::TO_DEVICE, [58, 58, 1]),
            (memcpy::DEST_ADDR, [57, 41, 17]),
            (memcpy::SRC_ADDR, [40, 24, 17]),
            (memcpy::AUX_ADDR, [23, 7, 17]),
            (memcpy::SHAPE_PTR_ADDR, [6, 1, 6]),
            (memcpy::ASYNC, [0, 0, 1]),
            (memset::DEST_CACHE, [59, 58, 2]),
            (memset::DEST_ADDR, [57, 52, 6]),
            (memset::A_VALUE, [51, 36, 16]),
            (memset::B_VALUE, [35, 20, 16]),
            (memset::C_VALUE, [19, 4, 16]),
            (cvo::CVO_FUNC, [59, 56, 4]),
            (cvo::SRC_ADDR, [55, 39, 17]),
            (cvo::DST_ADDR, [38, 22, 17]),
            (cvo::LENGTH, [21, 6, 16]),
            (cvo::ASYNC, [0, 0, 1]),
        ] {
            assert_eq!(bits(hi, lo), field, "{hi}:{lo}");
            assert_eq!((field.lo, field.width), (lo, width), "{hi}:{lo}");
        }
    }
}
