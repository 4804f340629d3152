//! [`BlockRow`]: a row of 8-bit values in blocks, the operand of
//! [`block_product`](super::block_product).

/// Number of values in a block.
pub const BLOCK: usize = 32;
/// Bytes of a block of 4-bit weights: value `i` is nibble `i`, starting with the low nibble of the
/// first byte.
pub const WEIGHT_BLOCK_BYTES: usize = BLOCK / 2;
/// Number of blocks that the widest kernel processes at once: rows are padded with zeros to a
/// multiple.
pub(super) const CHUNK: usize = 4;
/// Number of weight rows that kernels process at once.
pub(super) const ROWS: usize = 4;

/// A row of 8-bit values in blocks with one scale each, in a layout for kernels.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BlockRow {
    /// Values at even positions: 16 per block.
    pub(super) even: Vec<i8>,
    /// Values at odd positions.
    pub(super) odd: Vec<i8>,
    /// Eight times the sum of each block's values, repeated four times: the contribution of the
    /// offset 8 in stored weights.
    pub(super) excess: Vec<i32>,
    /// Scale of each block, repeated four times.
    pub(super) scales: Vec<f32>,
    pub(super) blocks: usize,
}

impl BlockRow {
    /// Creates the row of `values`, in which block `b` has the scale `scales[b]`. An incomplete
    /// last block is padded with zeros; values beyond the last scale are ignored.
    pub fn new(values: &[i8], scales: &[f32]) -> Self {
        let blocks = scales.len();
        let padded = blocks.next_multiple_of(CHUNK);
        let half = padded * WEIGHT_BLOCK_BYTES;
        let mut row = Self {
            even: vec![0; half],
            odd: vec![0; half],
            excess: vec![0; padded * ROWS],
            scales: vec![0.0; padded * ROWS],
            blocks,
        };
        for (i, &value) in values.iter().take(blocks * BLOCK).enumerate() {
            let side = if i % 2 == 0 { &mut row.even } else { &mut row.odd };
            side[i / 2] = value;
            row.excess[i / BLOCK * ROWS..][..ROWS].iter_mut().for_each(|sum| *sum += 8 * i32::from(value));
        }
        for (b, &scale) in scales.iter().enumerate() {
            row.scales[b * ROWS..][..ROWS].fill(scale);
        }
        row
    }

    /// Returns the number of blocks.
    pub const fn blocks(&self) -> usize {
        self.blocks
    }

    /// Returns value `i` of block `b`.
    pub(super) fn value(&self, b: usize, i: usize) -> i8 {
        let side = if i.is_multiple_of(2) { &self.even } else { &self.odd };
        side[b * WEIGHT_BLOCK_BYTES + i / 2]
    }
}
