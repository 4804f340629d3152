//! GEMV and GEMM. Source: specification 4.4 and 4.5.

use std::sync::Arc;

use npukit_numeric::{BlockRow, block_product};

use super::quantise::quantise;
use crate::bf16::{bf, val};
use crate::config::Reading;
use crate::fault::FaultKind;
use crate::op::{Cache, Mac, Shape, weights_in_l2};
use crate::state::{State, words_of};
use crate::weights::WeightImage;

/// One row of activations.
///
/// Source: specification, section 4.4.
///
/// # Errors
///
/// Those of [`gemm`]; [`FaultKind::ShapeMismatch`] for more than one row.
pub fn gemv(state: &mut State, reading: Reading, mac: &Mac) -> Result<(), FaultKind> {
    let (fmap, weight) = shapes(state, reading, mac)?;
    if fmap.x != 1 {
        let reason = "GEMV takes one row: (1, 1, K)";
        return Err(FaultKind::ShapeMismatch { fmap, weight, reason });
    }
    product(state, reading, mac, fmap, weight)
}

/// M rows of activations.
///
/// Source: specification, section 4.4.
///
/// # Errors
///
/// [`FaultKind::ShapeZero`], [`FaultKind::ShapeOverflow`] and [`FaultKind::ShapeMismatch`] for shapes that
/// are not those of a product; [`FaultKind::NoWeight`], [`FaultKind::WeightMismatch`] and
/// [`FaultKind::NoScale`] when no weights, others or none with scales are bound; [`FaultKind::L2Range`] when
/// operand or result do not lie in L2.
pub fn gemm(state: &mut State, reading: Reading, mac: &Mac) -> Result<(), FaultKind> {
    let (fmap, weight) = shapes(state, reading, mac)?;
    product(state, reading, mac, fmap, weight)
}

/// (M, 1, K) and (T, N, K), which fit each other; for the page of the instruction set also (M, B, K), with the weights in L2
/// from word 2 B on.
fn shapes(state: &State, reading: Reading, mac: &Mac) -> Result<(Shape, Shape), FaultKind> {
    let fmap = state.transfer_shape("shape_ptr_addr", mac.shape_ptr_addr)?;
    let (cache, entry) = (Cache::WeightShape, mac.size_ptr_addr);
    let weight = state.shape(cache, entry);
    if weight.y == 0 || weight.z == 0 {
        return Err(FaultKind::ShapeZero { field: "size_ptr_addr", cache, entry, shape: weight });
    }
    let mismatch = |reason| Err(FaultKind::ShapeMismatch { fmap, weight, reason });
    match reading {
        _ if fmap.y == 1 => {}
        Reading::Seed if weights_in_l2(fmap).is_some() => {}
        _ => return mismatch("an activation is (M, 1, K)"),
    }
    if fmap.z != weight.z {
        return mismatch("both must have the same K");
    }
    Ok((fmap, weight))
}

fn product(
    state: &mut State,
    reading: Reading,
    mac: &Mac,
    fmap: Shape,
    weight: Shape,
) -> Result<(), FaultKind> {
    let (m, n, k) = (usize::from(fmap.x), usize::from(weight.y), usize::from(fmap.z));
    state.check_l2("src_addr", mac.src_addr, words_of(m * k))?;
    state.check_l2("dest_reg", mac.dest_reg, words_of(m * n))?;
    let in_l2 = weights_in_l2(fmap);
    let image = match in_l2 {
        Some(word) => brought(state, mac, weight, word)?,
        None => streamed(state, weight)?,
    };
    let scales = match mac.flags.w_scale {
        false => None,
        true => Some(scales(reading, weight, &image).ok_or(FaultKind::NoScale)?),
    };
    let (within, after) = match reading {
        Reading::Documents => (None, scales.as_deref()),
        Reading::Seed => (scales.as_deref(), None),
    };
    // The source is read completely before anything is written: they may overlap.
    let sums = sums(state.values(mac.src_addr, m * k), k, &image, within);
    let dest = state.values_mut(mac.dest_reg, m * n);
    store(dest, &sums, n, after, mac.flags.accm);
    let e_max = mac.flags.findemax.then(|| maximum(dest));
    state.e_max = e_max.unwrap_or(state.e_max);
    if in_l2.is_none() {
        state.bindings.pop_front();
        state.taken += 1;
    }
    Ok(())
}

/// The next weights of the list.
fn streamed(state: &State, weight: Shape) -> Result<Arc<WeightImage>, FaultKind> {
    let Some(image) = state.bindings.front().cloned() else {
        return Err(FaultKind::NoWeight { number: state.taken, bound: state.bound });
    };
    if (image.n(), image.k()) != (usize::from(weight.y), usize::from(weight.z)) {
        return Err(FaultKind::WeightMismatch { image_n: image.n(), image_k: image.k(), weight });
    }
    Ok(image)
}

/// The weights that MEMCPY has brought to L2 from `word` on: rows of whole beats and, where `w_scale` asks for them and
/// MEMSET brings no factor, a factor of each row in `f32`.
fn brought(state: &State, mac: &Mac, weight: Shape, word: u32) -> Result<Arc<WeightImage>, FaultKind> {
    let words = mac.weight_words(weight);
    state.check_l2("shape_ptr_addr", word, words)?;
    let bytes = state.l2.vectors(word.into(), words).iter().flat_map(|lane| lane.to_le_bytes());
    let (n, k) = (usize::from(weight.y), usize::from(weight.z));
    let mut rows: Vec<u8> = bytes.collect();
    let factors = rows.split_off(WeightImage::size_of(n, k) as usize);
    let factors = factors.as_chunks().0.iter().take(n).map(|&bytes| f32::from_le_bytes(bytes));
    let image = WeightImage::with_any_padding(n, k, rows, None).expect("as many words as its rows have");
    Ok(Arc::new(image.with_scales(factors.collect())))
}

/// The factor of each row: the weights' own, and for the page of the instruction set also what MEMSET puts into the slot
/// `a` of the size entry, a BF16 number, where that is not 0. None when there are none.
fn scales(reading: Reading, weight: Shape, image: &WeightImage) -> Option<Vec<f32>> {
    let injected = (reading == Reading::Seed && weight.x != 0).then(|| val(weight.x));
    match (image.scales(), injected) {
        (None, None) => None,
        (None, Some(factor)) => Some(vec![factor; image.n()]),
        (Some(scales), None) => Some(scales.to_vec()),
        (Some(scales), Some(factor)) => Some(scales.iter().map(|scale| scale * factor).collect()),
    }
}

/// The products, row by row, before scales that are not applied `within`: those multiply the scale of each block. Rows
/// with infinities or NaNs are NaN throughout.
fn sums(activations: &[u16], k: usize, image: &WeightImage, within: Option<&[f32]>) -> Vec<f32> {
    let rows: Vec<_> = activations.chunks_exact(k).map(quantise).collect();
    let mut sums = vec![0.0; rows.len() * image.n()];
    match within {
        None => {
            let x: Vec<BlockRow> = rows.iter().map(|row| BlockRow::new(&row.values, &row.scales())).collect();
            block_product(image.rows(), image.n(), &x, &mut sums);
        }
        Some(factors) => {
            let weights = image.rows().chunks_exact(image.rows().len() / image.n());
            for (row, sums) in rows.iter().zip(sums.chunks_exact_mut(image.n())) {
                for ((weights, factor), sum) in weights.clone().zip(factors).zip(sums) {
                    let scales: Vec<f32> = row.scales().iter().map(|scale| scale * factor).collect();
                    let x = BlockRow::new(&row.values, &scales);
                    block_product(weights, 1, &[x], std::slice::from_mut(sum));
                }
            }
        }
    }
    for (row, sums) in rows.iter().zip(sums.chunks_exact_mut(image.n())) {
        if row.is_special() {
            sums.fill(f32::NAN);
        }
    }
    sums
}

fn store(dest: &mut [u16], sums: &[f32], n: usize, scales: Option<&[f32]>, accm: bool) {
    for (dest, sums) in dest.chunks_exact_mut(n).zip(sums.chunks_exact(n)) {
        for (i, (dest, &sum)) in dest.iter_mut().zip(sums).enumerate() {
            let scaled = scales.and_then(|scales| scales.get(i)).map_or(sum, |scale| sum * scale);
            *dest = bf(if accm { val(*dest) + scaled } else { scaled });
        }
    }
}

/// The largest result: NaNs are ignored, of equal ones the first counts.
fn maximum(results: &[u16]) -> u16 {
    let numbers = results.iter().copied().filter(|&bits| !val(bits).is_nan());
    let larger = |best: u16, bits: u16| if val(bits) > val(best) { bits } else { best };
    numbers.reduce(larger).unwrap_or(crate::bf16::NAN)
}
