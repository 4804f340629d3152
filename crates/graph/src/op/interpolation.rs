//! Weights of interpolated samples.

/// Returns the weight of an element at a distance from a sample by cubic convolution. The kernel
/// has slope `slope` at distance 1 and is 0 from distance 2.
///
/// Source: R. G. Keys, "Cubic convolution interpolation for digital image processing", 1981.
pub(super) fn cubic_weight(distance: f32, slope: f32) -> f32 {
    let (x, a) = (distance.abs(), slope);
    match x {
        _ if x <= 1.0 => ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0,
        _ if x < 2.0 => ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a,
        _ => 0.0,
    }
}
