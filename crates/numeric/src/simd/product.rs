//! The systolic array's product, row by row, in the array's own order: [`array_product`].
//!
//! Every output lane starts at its bias and takes the inputs 0, 1, ... in that order, rounding
//! and saturating at each step, so nothing may be reassociated. What is independent is computed
//! side by side: the output lanes (in vectors) and a few input rows (to hide latency).

use crate::format::NumberFormat;
use crate::number::Number;
use crate::saturation::Saturations;

/// Output lanes of a tile, when there are that many.
const WIDE: usize = 16;
/// Output lanes of a tile for narrow arrays.
const NARROW: usize = 8;
/// Input rows of a tile.
const ROWS: usize = 4;

/// The weights in a systolic array: row 0 is the bias, row `k` belongs to input lane `k - 1`.
#[derive(Clone, Debug)]
pub struct ArrayWeights<T> {
    inputs: usize,
    outputs: usize,
    /// Scalars from row to row: `outputs` rounded up to whole tiles, filled up with zeros.
    pitch: usize,
    values: Vec<T>,
}

impl<T: Copy + Default> ArrayWeights<T> {
    /// All zero.
    pub fn new(inputs: usize, outputs: usize) -> Self {
        let tile = if outputs <= NARROW { NARROW } else { WIDE };
        let pitch = outputs.next_multiple_of(tile);
        Self { inputs, outputs, pitch, values: vec![T::default(); pitch * (inputs + 1)] }
    }

    /// Row `k`, `0..=inputs`. Panics when there is none.
    pub fn row(&self, k: usize) -> &[T] {
        &self.values[k * self.pitch..][..self.outputs]
    }

    /// Row `k` to write to. Panics when there is none.
    pub fn row_mut(&mut self, k: usize) -> &mut [T] {
        &mut self.values[k * self.pitch..][..self.outputs]
    }

    /// Moves row `k` to `k + count`; rows moved past the last are lost, the first `count` stay as they were.
    pub fn shift(&mut self, count: usize) {
        let rows = self.inputs + 1;
        if count < rows {
            self.values.copy_within(..(rows - count) * self.pitch, count * self.pitch);
        }
    }
}

/// Input rows: row `i` starts at scalar `i * pitch` of `values`.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a, T> {
    /// The scalars.
    pub values: &'a [T],
    /// Scalars from row to row.
    pub pitch: usize,
    /// Number of rows.
    pub count: usize,
}

impl<'a, T> Rows<'a, T> {
    fn row(&self, i: usize, lanes: usize) -> &'a [T] {
        &self.values[i * self.pitch..][..lanes]
    }
}

/// A way to compute the product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Path {
    /// One scalar after the other, by [`NumberFormat`]: the judge.
    Literal,
    /// Tiles, for any processor.
    Portable,
    /// Tiles, for AVX2.
    Avx2,
    /// Tiles, for AVX-512 (F, BW, DQ, VL).
    Avx512,
}

impl Path {
    /// Every path this processor can take, the fastest last.
    pub fn available() -> Vec<Self> {
        #[allow(unused_mut, reason = "only some processors add to it")]
        let mut paths = vec![Self::Literal, Self::Portable];
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx2") {
                paths.push(Self::Avx2);
            }
            if has_avx512() {
                paths.push(Self::Avx512);
            }
        }
        paths
    }

    /// The fastest path this processor can take.
    pub fn fastest() -> Self {
        static FASTEST: std::sync::OnceLock<Path> = std::sync::OnceLock::new();
        *FASTEST.get_or_init(|| Self::available().last().copied().unwrap_or(Self::Portable))
    }
}

#[cfg(target_arch = "x86_64")]
fn has_avx512() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
}

/// Multiplies rows by the weights: `y[i][j] = bias[j] + sum over k of x[i][k] * w[k][j]`, from the
/// bias on in the order of `k`, rounded and saturated at every step.
///
/// Shapes: `x` has `x.count` rows of `inputs`, `y` as many rows of `outputs`, without gaps.
/// Every saturated step is counted in `saturations`. Panics when `x` or `y` is too short.
/// Source: the TCU specification, 5.3.
pub fn array_product<F: Number>(
    weights: &ArrayWeights<F::Raw>,
    x: Rows<'_, F::Raw>,
    y: &mut [F::Raw],
    saturations: &mut Saturations,
) {
    array_product_on::<F>(Path::fastest(), weights, x, y, saturations);
}

/// As [`array_product`], on a path of choice; one that is not available becomes [`Path::Portable`].
pub fn array_product_on<F: Number>(
    path: Path,
    weights: &ArrayWeights<F::Raw>,
    x: Rows<'_, F::Raw>,
    y: &mut [F::Raw],
    saturations: &mut Saturations,
) {
    match path {
        Path::Literal => literal_rows::<F>(weights, x, y, saturations),
        #[cfg(target_arch = "x86_64")]
        Path::Avx2 if is_x86_feature_detected!("avx2") => {
            #[allow(unsafe_code, reason = "calls code compiled for a processor feature")]
            // SAFETY: the guard has just seen that the processor has AVX2.
            unsafe {
                rows_avx2::<F>(weights, x, y, saturations)
            }
        }
        #[cfg(target_arch = "x86_64")]
        Path::Avx512 if has_avx512() => {
            #[allow(unsafe_code, reason = "calls code compiled for a processor feature")]
            // SAFETY: the guard has just seen that the processor has the four AVX-512 sets.
            unsafe {
                rows_avx512::<F>(weights, x, y, saturations)
            }
        }
        _ => rows::<F>(weights, x, y, saturations),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn rows_avx2<F: Number>(
    weights: &ArrayWeights<F::Raw>,
    x: Rows<'_, F::Raw>,
    y: &mut [F::Raw],
    saturations: &mut Saturations,
) {
    rows::<F>(weights, x, y, saturations);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn rows_avx512<F: Number>(
    weights: &ArrayWeights<F::Raw>,
    x: Rows<'_, F::Raw>,
    y: &mut [F::Raw],
    saturations: &mut Saturations,
) {
    rows::<F>(weights, x, y, saturations);
}

/// The judge: one scalar after the other.
fn literal_rows<F: Number>(
    weights: &ArrayWeights<F::Raw>,
    x: Rows<'_, F::Raw>,
    y: &mut [F::Raw],
    saturations: &mut Saturations,
) {
    for (i, y) in y.chunks_exact_mut(weights.outputs).take(x.count).enumerate() {
        literal_lanes::<F>(weights, x.row(i, weights.inputs), 0, y, saturations);
    }
}

/// Lanes `lane ..` of one row.
fn literal_lanes<F: Number>(
    weights: &ArrayWeights<F::Raw>,
    x: &[F::Raw],
    lane: usize,
    y: &mut [F::Raw],
    saturations: &mut Saturations,
) {
    let format: NumberFormat = F::FORMAT;
    for (j, y) in (lane..).zip(y) {
        let mut sum = F::to_raw(weights.row(0)[j]);
        for (k, &x) in x.iter().enumerate() {
            sum = format.mac(F::to_raw(x), F::to_raw(weights.row(k + 1)[j]), sum, saturations);
        }
        *y = F::from_raw(sum);
    }
}

#[inline(always)]
fn rows<F: Number>(
    weights: &ArrayWeights<F::Raw>,
    x: Rows<'_, F::Raw>,
    y: &mut [F::Raw],
    saturations: &mut Saturations,
) {
    if weights.outputs <= NARROW {
        tiles::<F, NARROW>(weights, x, y, saturations);
    } else {
        tiles::<F, WIDE>(weights, x, y, saturations);
    }
}

#[inline(always)]
fn tiles<F: Number, const LANES: usize>(
    weights: &ArrayWeights<F::Raw>,
    x: Rows<'_, F::Raw>,
    y: &mut [F::Raw],
    saturations: &mut Saturations,
) {
    let whole = x.count - x.count % ROWS;
    for lane in (0..weights.pitch).step_by(LANES) {
        for i in (0..whole).step_by(ROWS) {
            tile::<F, ROWS, LANES>(weights, x, y, (i, lane), saturations);
        }
        for i in whole..x.count {
            tile::<F, 1, LANES>(weights, x, y, (i, lane), saturations);
        }
    }
}

/// `COUNT` rows from row `i` on, `LANES` outputs from `lane` on.
#[inline(always)]
fn tile<F: Number, const COUNT: usize, const LANES: usize>(
    weights: &ArrayWeights<F::Raw>,
    x: Rows<'_, F::Raw>,
    y: &mut [F::Raw],
    (i, lane): (usize, usize),
    saturations: &mut Saturations,
) {
    let inputs: [&[F::Raw]; COUNT] = std::array::from_fn(|r| x.row(i + r, weights.inputs));
    let (sums, clipped) = accumulate::<F, COUNT, LANES>(weights, &inputs, lane);
    let width = LANES.min(weights.outputs - lane);
    for r in 0..COUNT {
        let y = &mut y[(i + r) * weights.outputs + lane..][..width];
        if clipped {
            // Rare; the literal way gives the same values, and the statistics.
            literal_lanes::<F>(weights, inputs[r], lane, y, saturations);
        } else {
            for (y, &sum) in y.iter_mut().zip(&sums[r]) {
                *y = F::narrow(sum);
            }
        }
    }
}

/// The sums of a tile, and whether any step saturated.
#[inline(always)]
fn accumulate<F: Number, const COUNT: usize, const LANES: usize>(
    weights: &ArrayWeights<F::Raw>,
    inputs: &[&[F::Raw]; COUNT],
    lane: usize,
) -> ([[F::Wide; LANES]; COUNT], bool) {
    let widen = |row: &[F::Raw]| -> [F::Wide; LANES] {
        let row = &row[lane..][..LANES];
        std::array::from_fn(|l| F::widen(row[l]))
    };
    let mut rows = weights.values.chunks_exact(weights.pitch);
    let bias = rows.next().map_or([F::Wide::default(); LANES], widen);
    let mut sums = [bias; COUNT];
    let mut clipped = [F::Wide::default(); LANES];
    for (k, row) in rows.enumerate() {
        let w = widen(row);
        for r in 0..COUNT {
            let x = F::widen(inputs[r][k]);
            for l in 0..LANES {
                sums[r][l] = F::mac(x, w[l], sums[r][l], &mut clipped[l]);
            }
        }
    }
    (sums, clipped.iter().any(|&c| c != F::Wide::default()))
}
