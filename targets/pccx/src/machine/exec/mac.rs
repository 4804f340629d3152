//! GEMV and GEMM. Source: specification 4.4 and 4.5.

use std::borrow::Cow;
use std::sync::Arc;

use crate::config::Reading;
use crate::isa::fault::FaultKind;
use crate::isa::op::{Cache, Mac, Shape, weights_in_l2};
use crate::isa::usage::words_of;
use crate::machine::arith::{Arithmetic, Product};
use crate::machine::state::State;

/// Executes GEMV, with one row of activations.
///
/// Source: specification, section 4.4.
///
/// # Errors
/// The faults of [`gemm`]; [`FaultKind::ShapeMismatch`] for more than one row.
pub fn gemv<A: Arithmetic>(state: &mut State<A>, reading: Reading, mac: &Mac) -> Result<(), FaultKind> {
    let (fmap, weight) = shapes(state, reading, mac)?;
    if fmap.x != 1 {
        let reason = "GEMV takes one row: (1, 1, K)";
        return Err(FaultKind::ShapeMismatch { fmap, weight, reason });
    }
    product(state, reading, mac, fmap, weight)
}

/// Executes GEMM, with M rows of activations.
///
/// Source: specification, section 4.4.
///
/// # Errors
/// [`FaultKind::ShapeZero`], [`FaultKind::ShapeOverflow`] and [`FaultKind::ShapeMismatch`] for
/// shapes that do not form a product; [`FaultKind::NoWeight`], [`FaultKind::WeightMismatch`] and
/// [`FaultKind::NoScale`] if no weights are bound, or they have the wrong size or no scales;
/// [`FaultKind::L2Range`] if operand or result exceed L2.
pub fn gemm<A: Arithmetic>(state: &mut State<A>, reading: Reading, mac: &Mac) -> Result<(), FaultKind> {
    let (fmap, weight) = shapes(state, reading, mac)?;
    product(state, reading, mac, fmap, weight)
}

/// Returns the shapes (M, 1, K) and (T, N, K), and checks that they match. With the page of the
/// instruction set, (M, B, K) is legal, too: the weights are then in L2, starting at word 2 B.
fn shapes<A: Arithmetic>(state: &State<A>, reading: Reading, mac: &Mac) -> Result<(Shape, Shape), FaultKind> {
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

fn product<A: Arithmetic>(
    state: &mut State<A>,
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
        true => Some(scales::<A>(reading, weight, &image).ok_or(FaultKind::NoScale)?),
    };
    let (within, after) = match reading {
        Reading::Documents => (None, scales.as_deref()),
        Reading::Seed => (scales.as_deref(), None),
    };
    // Source and destination may overlap, so the source is read completely before anything is
    // written.
    let activations = A::ingest(state.values(mac.src_addr, m * k), k);
    let dest = state.values_mut(mac.dest_reg, m * n);
    A::multiply(&activations, &Product { image: &*image, within, after, accm: mac.flags.accm }, dest);
    let e_max = mac.flags.findemax.then(|| A::maximum(dest));
    // Default: without `findemax` the register is unchanged.
    state.e_max = e_max.unwrap_or(state.e_max);
    if in_l2.is_none() {
        state.bindings.pop_front();
        state.taken += 1;
    }
    Ok(())
}

/// Returns the next bound weights.
fn streamed<A: Arithmetic>(state: &State<A>, weight: Shape) -> Result<Arc<A::Image>, FaultKind> {
    let Some(image) = state.bindings.front().cloned() else {
        return Err(FaultKind::NoWeight { number: state.taken, bound: state.bound });
    };
    let [image_n, image_k] = A::size(&image);
    if (image_n, image_k) != (usize::from(weight.y), usize::from(weight.z)) {
        return Err(FaultKind::WeightMismatch { image_n, image_k, weight });
    }
    Ok(image)
}

/// Returns the weights that MEMCPY has brought to L2, starting at `word`: rows of whole beats,
/// followed by one `f32` scale per row if `w_scale` is set and MEMSET gives no factor.
fn brought<A: Arithmetic>(
    state: &State<A>,
    mac: &Mac,
    weight: Shape,
    word: u32,
) -> Result<Arc<A::Image>, FaultKind> {
    let words = mac.weight_words(weight);
    state.check_l2("shape_ptr_addr", word, words)?;
    let size = [weight.y, weight.z].map(usize::from);
    let image = A::image_in(size, state.l2.vectors(word.into(), words));
    image.map(Arc::new).ok_or(FaultKind::NoWeight { number: state.taken, bound: state.bound })
}

/// Returns the factor of each row: the scales of the weights and, with the page of the instruction
/// set, the BF16 factor that MEMSET writes to slot `a` of the size entry, if not 0. `None` if the
/// product has no factors.
fn scales<A: Arithmetic>(reading: Reading, weight: Shape, image: &A::Image) -> Option<Cow<'_, [A::Real]>> {
    let injected = (reading == Reading::Seed && weight.x != 0).then(|| A::of_pattern(weight.x));
    match (A::scales(image), injected) {
        (None, None) => None,
        (None, Some(factor)) => Some(vec![factor; A::size(image)[0]].into()),
        (Some(scales), None) => Some(scales.into()),
        (Some(scales), Some(factor)) => Some(scales.iter().map(|&scale| scale * factor).collect()),
    }
}
