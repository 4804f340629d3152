//! [`TensorType`]: types of tensors in GGUF files.

use npukit_numeric::RowFormat;

/// Type of a tensor's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorType {
    /// Name of the type.
    pub name: &'static str,
    /// Number of elements of a block.
    pub block: usize,
    /// Number of bytes of a block.
    pub block_bytes: usize,
}

/// Type numbers, names, and sizes of blocks, from `ggml.h` and `ggml-common.h`.
#[rustfmt::skip] // A table.
const TYPES: &[(u32, TensorType)] = &[
    (0, of("F32", 1, 4)), (1, of("F16", 1, 2)), (30, of("BF16", 1, 2)), (28, of("F64", 1, 8)),
    (24, of("I8", 1, 1)), (25, of("I16", 1, 2)), (26, of("I32", 1, 4)), (27, of("I64", 1, 8)),
    (2, of("Q4_0", 32, 18)), (3, of("Q4_1", 32, 20)), (6, of("Q5_0", 32, 22)), (7, of("Q5_1", 32, 24)),
    (8, of("Q8_0", 32, 34)), (9, of("Q8_1", 32, 36)), (10, of("Q2_K", 256, 84)), (11, of("Q3_K", 256, 110)),
    (12, of("Q4_K", 256, 144)), (13, of("Q5_K", 256, 176)), (14, of("Q6_K", 256, 210)),
    (15, of("Q8_K", 256, 292)), (16, of("IQ2_XXS", 256, 66)), (17, of("IQ2_XS", 256, 74)),
    (18, of("IQ3_XXS", 256, 98)), (19, of("IQ1_S", 256, 50)), (20, of("IQ4_NL", 32, 18)),
    (21, of("IQ3_S", 256, 110)), (22, of("IQ2_S", 256, 82)), (23, of("IQ4_XS", 256, 136)),
    (29, of("IQ1_M", 256, 56)), (34, of("TQ1_0", 256, 54)), (35, of("TQ2_0", 256, 66)),
    (39, of("MXFP4", 32, 17)),
];

const fn of(name: &'static str, block: usize, block_bytes: usize) -> TensorType {
    TensorType { name, block, block_bytes }
}

impl TensorType {
    /// Returns the type with a number; `None` if it is unknown.
    pub(super) fn of(number: u32) -> Option<Self> {
        TYPES.iter().find(|&&(own, _)| own == number).map(|&(_, known)| known)
    }

    /// Returns the number of bytes of a tensor. `None` if a row is not a whole number of blocks, or
    /// the tensor too large.
    pub(super) fn bytes(self, shape: &[usize]) -> Option<u64> {
        // Default: a tensor without dimensions has one element.
        let (columns, outer) = shape.split_last().map_or((1, shape), |(&columns, outer)| (columns, outer));
        let row =
            columns.is_multiple_of(self.block).then(|| (columns / self.block).checked_mul(self.block_bytes));
        outer.iter().try_fold(row?? as u64, |bytes, &size| bytes.checked_mul(size as u64))
    }

    /// Returns the format of the rows; `None` if weights of this type are not supported.
    pub fn format(self) -> Option<RowFormat> {
        RowFormat::ALL.into_iter().find(|format| format.name() == self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_have_the_sizes_of_the_row_formats() {
        let supported = TYPES.iter().filter_map(|&(_, known)| Some((known, known.format()?)));
        let count = supported.map(|(known, format)| {
            assert_eq!((known.block, known.block_bytes), (format.block(), format.block_bytes()), "{known:?}");
        });
        assert_eq!(count.count(), RowFormat::ALL.len());
    }
}
