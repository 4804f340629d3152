//! Products and CVO on BF16 patterns: vector code, and several threads for large products. Results
//! equal the results of [`literal`](super::literal) bit for bit.

use std::sync::OnceLock;

use npukit_numeric::{Bf16, BlockRow, BlockWeights, Scaling, block_product};
use rayon::prelude::*;

use crate::config::Reading;
use crate::isa::op::CvoFunc;
use crate::machine::arith::{Arithmetic, Bits, Operation, Product, literal};
use crate::machine::bf16::val;
use crate::machine::weights::WeightImage;

/// Bytes of weights that are multiplied before their results are stored.
const TILE_BYTES: usize = 1 << 15;
/// Largest and smallest number of weight rows in a tile; kernels process up to 16 at once.
const TILE_ROWS: [usize; 2] = [16, 1024];
/// Bytes of weights, times rows of activations, for which several threads are worth waking: in a
/// thread of rayon's pool, whose other threads are often awake, and outside of it.
const PARALLEL: [usize; 2] = [1 << 17, 1 << 21];
/// Elements that CVO converts to numbers at once.
const CHUNK: usize = 512;

/// Quantizes rows of `k` activations.
pub(super) fn ingest(activations: &[u16], k: usize) -> Vec<BlockRow> {
    activations.chunks_exact(k).map(|row| Bf16::fastest().quantize(row)).collect()
}

/// Writes a product to `dest`, row by row.
pub(super) fn multiply(x: &[BlockRow], product: &Product<'_, WeightImage, f32>, dest: &mut [u16]) {
    let (n, bytes) = (product.image.n(), product.image.rows().len());
    let [least, most] = TILE_ROWS;
    let size = (TILE_BYTES * n / bytes).clamp(least, most).next_multiple_of(least);
    if !is_parallel(bytes * x.len()) && x.len() == 1 {
        for (number, dest) in dest.chunks_mut(size).enumerate() {
            tile(x, product, number * size, &mut [dest]);
        }
        return;
    }
    let mut tiles: Vec<Vec<&mut [u16]>> =
        (0..n.div_ceil(size)).map(|_| Vec::with_capacity(x.len())).collect();
    for row in dest.chunks_exact_mut(n) {
        tiles.iter_mut().zip(row.chunks_mut(size)).for_each(|(tile, part)| tile.push(part));
    }
    let one = |(number, mut dest): (usize, Vec<&mut [u16]>)| tile(x, product, number * size, &mut dest);
    if is_parallel(bytes * x.len()) {
        tiles.into_par_iter().enumerate().for_each(one);
    } else {
        tiles.into_iter().enumerate().for_each(one);
    }
}

fn is_parallel(work: usize) -> bool {
    let [inside, outside] = PARALLEL;
    work >= if rayon::current_thread_index().is_some() { inside } else { outside }
}

/// Multiplies the weight rows starting at `first` by all activations; `dest` has their places in
/// each row of results.
fn tile(x: &[BlockRow], product: &Product<'_, WeightImage, f32>, first: usize, dest: &mut [&mut [u16]]) {
    let Some(count) = dest.first().map(|dest| dest.len()) else { return };
    let place = first..first + count;
    let within = product.within.map(|factors| &factors[place.clone()]);
    let after = product.after.map(|scales| &scales[place]);
    let row_bytes = product.image.rows().len() / product.image.n();
    let rows = &product.image.rows()[first * row_bytes..][..count * row_bytes];
    let mut sums = vec![0.0; x.len() * count];
    block_product(BlockWeights { rows, count, factors: within }, x, &mut sums);
    let scaling = after.map_or(Scaling::None, Scaling::Each);
    for (dest, sums) in dest.iter_mut().zip(sums.chunks_exact(count)) {
        Bf16::fastest().store(sums, scaling, product.accm, dest);
    }
}

/// Executes CVO on a vector.
pub(super) fn apply(operation: &Operation<u16>, inputs: &[u16], dest: &mut [u16]) {
    let &Operation { function, reading, less, factor, recip_scale, accm } = operation;
    let is_table = less.is_none() && !accm && !(function == CvoFunc::Recip && reading == Reading::Seed);
    match function {
        CvoFunc::ReduceSum => {
            let sum = Bf16::fastest().sum(inputs, less.map_or(0.0, val));
            Bf16::fastest().store(&[sum], Scaling::None, accm, dest);
        }
        CvoFunc::Scale => {
            let factor = if recip_scale { Bits::reciprocal(val(factor), reading) } else { val(factor) };
            by_chunks(operation, inputs, dest, |x, dest| {
                Bf16::fastest().store(x, Scaling::All(factor), accm, dest);
            });
        }
        CvoFunc::Mul => by_chunks(operation, inputs, dest, |x, dest| {
            let mut old = [0.0; CHUNK];
            Bf16::fastest().values(dest, 0.0, &mut old);
            Bf16::fastest().store(x, Scaling::Each(&old), accm, dest);
        }),
        CvoFunc::Exp if !accm => by_chunks(operation, inputs, dest, |x, dest| {
            Bf16::fastest().exp(x, dest, |x| Bits::function(function, reading, x, None));
        }),
        _ if is_table => {
            let table = table(function);
            dest.iter_mut().zip(inputs).for_each(|(dest, &bits)| *dest = table[usize::from(bits)]);
        }
        _ => literal::apply::<Bits>(operation, inputs, dest),
    }
}

/// Calls `apply` with the numbers of some inputs, and with the destination of their results.
fn by_chunks(
    operation: &Operation<u16>,
    inputs: &[u16],
    dest: &mut [u16],
    apply: impl Fn(&[f32], &mut [u16]),
) {
    let less = operation.less.map_or(0.0, val);
    for (inputs, dest) in inputs.chunks(CHUNK).zip(dest.chunks_mut(CHUNK)) {
        let mut numbers = [0.0; CHUNK];
        Bf16::fastest().values(inputs, less, &mut numbers);
        apply(&numbers[..inputs.len()], dest);
    }
}

/// Returns the results of a function of one element for all patterns.
fn table(function: CvoFunc) -> &'static [u16] {
    static TABLES: [OnceLock<Vec<u16>>; CvoFunc::ALL.len()] = [const { OnceLock::new() }; CvoFunc::ALL.len()];
    let result = |bits| Bits::function(function, Reading::Documents, val(bits), None);
    TABLES[usize::from(function.code())].get_or_init(|| (0..=u16::MAX).map(result).collect())
}
