//! Shared test helpers: tensors in one line, reproducible noise, limits of configurations.

use npukit_graph::decoder::DecoderError;
use npukit_numeric::Tensor;

/// A tensor of floats.
pub fn f32s(shape: &[usize], data: &[f32]) -> Tensor {
    Tensor::from_f32(shape.to_vec(), data.to_vec()).unwrap()
}

/// Values between -1 and 1 that depend only on `seed`.
pub fn noise(shape: &[usize], seed: u64) -> Tensor {
    let count: usize = shape.iter().product();
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    };
    f32s(shape, &(0..count).map(|_| next()).collect::<Vec<_>>())
}

/// Returns the floats of a tensor.
pub fn floats(tensor: &Tensor) -> &[f32] {
    tensor.as_f32().unwrap()
}

/// Returns the largest difference of two tensors of the same shape.
pub fn distance(left: &Tensor, right: &Tensor) -> f32 {
    assert_eq!(left.shape(), right.shape());
    floats(left).iter().zip(floats(right)).map(|(l, r)| (l - r).abs()).fold(0.0, f32::max)
}

/// Checks that `size` is accepted for `key` only if `legal`; the error must name the key.
pub fn assert_limit(checked: Result<(), DecoderError>, key: &str, size: usize, legal: bool) {
    match checked {
        Ok(()) => assert!(legal, "{key} of {size}"),
        Err(DecoderError::Config { key: found, .. }) => {
            assert!(found == key && !legal, "{found} of {size}")
        }
        Err(other) => panic!("{other}"),
    }
}
