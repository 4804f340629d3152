//! Operands of [`block_product`](super::block_product): [`BlockRow`], a row of 8-bit values in
//! blocks, and [`BlockWeights`].

/// Number of values in a block.
pub const BLOCK: usize = 32;
/// Bytes of a block of 4-bit weights: value `i` is nibble `i`, starting with the low nibble of the
/// first byte.
pub const WEIGHT_BLOCK_BYTES: usize = BLOCK / 2;
/// Number of blocks that the widest kernel processes at once.
pub(super) const CHUNK: usize = 4;
/// Number of weight rows that kernels process at once, and copies of a block's numbers.
pub(super) const ROWS: usize = 4;

/// A row of 8-bit values in blocks with one scale each, in a layout for kernels.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BlockRow {
    /// Blocks, with zeros after the last one.
    pub(super) chunks: Vec<Chunk>,
    blocks: usize,
}

/// Four blocks, as the widest kernel loads them.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C, align(64))]
pub(super) struct Chunk {
    /// Values at even positions.
    pub even: [[i8; WEIGHT_BLOCK_BYTES]; CHUNK],
    /// Values at odd positions.
    pub odd: [[i8; WEIGHT_BLOCK_BYTES]; CHUNK],
    /// Minus twice the sum of each block's values. Kernels add 8 to each weight, and start their
    /// four partial sums with these numbers, which remove it again.
    pub starts: [[i32; ROWS]; CHUNK],
    /// Scale of each block.
    pub scales: [[f32; ROWS]; CHUNK],
}

impl Chunk {
    const ZERO: Self = Self {
        even: [[0; WEIGHT_BLOCK_BYTES]; CHUNK],
        odd: [[0; WEIGHT_BLOCK_BYTES]; CHUNK],
        starts: [[0; ROWS]; CHUNK],
        scales: [[0.0; ROWS]; CHUNK],
    };

    /// Sets the values of a block, at even and at odd positions, and its scale.
    #[inline(always)]
    pub fn set(
        &mut self,
        block: usize,
        even: [i8; WEIGHT_BLOCK_BYTES],
        odd: [i8; WEIGHT_BLOCK_BYTES],
        scale: f32,
    ) {
        let sum: i32 = even.iter().zip(&odd).map(|(&even, &odd)| i32::from(even) + i32::from(odd)).sum();
        (self.even[block], self.odd[block]) = (even, odd);
        (self.starts[block], self.scales[block]) = ([-2 * sum; ROWS], [scale; ROWS]);
    }
}

impl BlockRow {
    /// Creates the row of `values`, in which block `b` has the scale `scales[b]`. An incomplete
    /// last block is padded with zeros; values beyond the last scale are ignored.
    pub fn new(values: &[i8], scales: &[f32]) -> Self {
        let mut row = Self::zeros(scales.len());
        // Default: positions after the last value are zero.
        let value = |i: usize| values.get(i).copied().unwrap_or_default();
        for (b, &scale) in scales.iter().enumerate() {
            let half = |odd: usize| std::array::from_fn(|i| value(b * BLOCK + 2 * i + odd));
            row.chunks[b / CHUNK].set(b % CHUNK, half(0), half(1), scale);
        }
        row
    }

    /// Creates a row of zeros.
    pub(super) fn zeros(blocks: usize) -> Self {
        Self { chunks: vec![Chunk::ZERO; blocks.div_ceil(CHUNK)], blocks }
    }

    /// Returns the number of blocks.
    pub const fn blocks(&self) -> usize {
        self.blocks
    }

    /// Returns the values of block `b`, at even and at odd positions, the sum of its starts, and
    /// its scale.
    #[inline(always)]
    pub(super) fn block(&self, b: usize) -> ([&[i8; WEIGHT_BLOCK_BYTES]; 2], i32, f32) {
        let (chunk, b) = (&self.chunks[b / CHUNK], b % CHUNK);
        ([&chunk.even[b], &chunk.odd[b]], ROWS as i32 * chunk.starts[b][0], chunk.scales[b][0])
    }
}

/// Rows of 4-bit weights in blocks.
#[derive(Clone, Copy, Debug)]
pub struct BlockWeights<'a> {
    /// `count` rows of whole blocks, without gaps.
    pub rows: &'a [u8],
    /// Number of rows.
    pub count: usize,
    /// Factor of each row, by which the scales of blocks are multiplied. `None` for 1.
    pub factors: Option<&'a [f32]>,
}

impl BlockWeights<'_> {
    /// Returns the factors of `N` rows, starting at row `first`.
    pub(super) fn factors_of<const N: usize>(&self, first: usize) -> [f32; N] {
        let factors = self.factors.and_then(|factors| factors[first..].first_chunk());
        // Default: without factors, a scale is unchanged by 1.
        factors.copied().unwrap_or([1.0; N])
    }
}
