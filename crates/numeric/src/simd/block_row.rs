//! [`BlockRow`]: a row of 8-bit values in blocks, as kernels of [`block_product`](super::block_product) take it.

/// Values of a block.
pub const BLOCK: usize = 32;
/// Bytes of a block of 4-bit weights: value `i` is nibble `i`, the low one of a byte first.
pub const WEIGHT_BLOCK_BYTES: usize = BLOCK / 2;
/// Blocks that the widest kernel takes at once: rows are filled up with zeros to a multiple.
pub(super) const CHUNK: usize = 4;
/// Rows of weights that kernels take at once.
pub(super) const ROWS: usize = 4;

/// A row of 8-bit values in blocks, each with a scale; arranged for kernels.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BlockRow {
    /// The values at even places: 16 of a block.
    pub(super) even: Vec<i8>,
    /// The values at odd places.
    pub(super) odd: Vec<i8>,
    /// Eight times the sum of a block's values, four times over: what weights stored with an excess of 8
    /// add too much.
    pub(super) excess: Vec<i32>,
    /// The block's scale, four times over.
    pub(super) scales: Vec<f32>,
    pub(super) blocks: usize,
}

impl BlockRow {
    /// The row of `values`, of which block `b` has the scale `scales[b]`. A last block that is not full is
    /// filled up with zeros; values beyond the last scale are left out.
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

    /// Number of blocks.
    pub const fn blocks(&self) -> usize {
        self.blocks
    }

    /// Value `i` of block `b`.
    pub(super) fn value(&self, b: usize, i: usize) -> i8 {
        let side = if i.is_multiple_of(2) { &self.even } else { &self.odd };
        side[b * WEIGHT_BLOCK_BYTES + i / 2]
    }
}
