//! Resize by hand, following the formulas of the ONNX standard.

use npukit_graph::op::{Coordinates, Crop, NearestMode, Resize, ResizeMode};

use crate::support::{f32s, floats, iota, refuse, run};

fn row(size: usize, scale: f32, mode: ResizeMode, coordinates: Coordinates, x: &[f32]) -> Vec<f32> {
    let resize = Resize { size: [1, size], scales: [1.0, scale], mode, coordinates };
    floats(&run(resize, &[&f32s(&[1, 1, x.len(), 1], x)])).to_vec()
}

#[test]
fn linear_coordinates() {
    let linear = |size, scale, coordinates| row(size, scale, ResizeMode::Linear, coordinates, &[0.0, 4.0]);
    assert_eq!(linear(4, 2.0, Coordinates::HalfPixel), [0.0, 1.0, 3.0, 4.0]);
    assert_eq!(linear(4, 2.0, Coordinates::Asymmetric), [0.0, 2.0, 4.0, 4.0]);
    assert_eq!(linear(5, 2.5, Coordinates::AlignCorners), [0.0, 1.0, 2.0, 3.0, 4.0]);
    assert_eq!(linear(1, 0.5, Coordinates::HalfPixel), [2.0]);
    assert_eq!(linear(1, 0.5, Coordinates::PytorchHalfPixel), [0.0]);
    assert_eq!(linear(1, 0.5, Coordinates::AlignCorners), [0.0]);
}

#[test]
fn nearest_roundings() {
    let nearest = |mode| row(4, 2.0, ResizeMode::Nearest(mode), Coordinates::Asymmetric, &[5.0, 7.0]);
    // Source coordinates 0, 0.5, 1, 1.5.
    assert_eq!(nearest(NearestMode::Floor), [5.0, 5.0, 7.0, 7.0]);
    assert_eq!(nearest(NearestMode::Ceil), [5.0, 7.0, 7.0, 7.0]);
    assert_eq!(nearest(NearestMode::RoundPreferFloor), [5.0, 5.0, 7.0, 7.0]);
    assert_eq!(nearest(NearestMode::RoundPreferCeil), [5.0, 7.0, 7.0, 7.0]);
}

#[test]
fn both_axes_and_channels() {
    let resize = Resize {
        size: [3, 1],
        scales: [1.5, 0.5],
        mode: ResizeMode::Linear,
        coordinates: Coordinates::AlignCorners,
    };
    let result = run(resize.clone(), &[&iota(&[1, 2, 2, 2])]);
    assert_eq!(floats(&result), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    assert_eq!(resize.samples(0, 2)[1].taps, [(0, 0.5), (1, 0.5)]);
    let broken = Resize { scales: [0.0, 1.0], ..resize };
    assert!(refuse(broken, &[&iota(&[1, 2, 2, 2])]).to_string().contains("scales"));
}

#[test]
fn tensorflows_coordinates() {
    // ResizeNearestNeighbor with half_pixel_centers takes the element under the centre.
    let nearest = ResizeMode::Nearest(NearestMode::Floor);
    let x: Vec<f32> = (0..5u8).map(f32::from).collect();
    assert_eq!(row(3, 0.6, nearest, Coordinates::TfHalfPixelForNn, &x), [0.0, 2.0, 4.0]);
    let crop = |start, end| {
        Coordinates::TfCropAndResize(Crop { roi: [[0.0, 1.0], [start, end]], extrapolation: 9.0 })
    };
    assert_eq!(row(3, 0.6, ResizeMode::Linear, crop(0.25, 0.5), &x), [1.0, 1.5, 2.0]);
    assert_eq!(row(3, 0.6, ResizeMode::Linear, crop(0.75, 1.25), &x), [3.0, 4.0, 9.0]);
    assert_eq!(row(3, 0.6, nearest, crop(0.0, -0.5), &x), [0.0, 9.0, 9.0]);
    assert_eq!(row(1, 0.2, ResizeMode::Linear, crop(0.25, 1.0), &x), [2.5]);
}

/// The values of onnx's cases `resize_{down,up}sample_scales_linear_half_pixel_symmetric`.
#[test]
fn half_pixels_stay_symmetric() {
    let symmetric =
        |size, scale, x: &[f32]| row(size, scale, ResizeMode::Linear, Coordinates::HalfPixelSymmetric, x);
    let close = |found: Vec<f32>, expected: &[f32]| {
        assert!(found.iter().zip(expected).all(|(f, e)| (f - e).abs() < 1e-5), "{found:?}");
    };
    close(symmetric(2, 0.6, &[1.0, 2.0, 3.0, 4.0]), &[5.0 / 3.0, 10.0 / 3.0]);
    close(symmetric(5, 2.94, &[1.0, 2.0]), &[1.0, 1.159_864, 1.5, 1.840_136, 2.0]);
}

/// Weights fall to 0 at a distance of 2; beyond the border stands the border's element.
#[test]
fn antialiasing_widens_the_samples_when_shrinking() {
    let mode = ResizeMode::LinearAntialiased;
    let resize = Resize { size: [1, 2], scales: [1.0, 0.5], mode, coordinates: Coordinates::HalfPixel };
    let taps = |weights: &[f32]| (0..).zip(weights).map(|(i, weight)| (i, weight / 8.0)).collect::<Vec<_>>();
    assert_eq!(resize.samples(1, 4)[0].taps, taps(&[4.0, 3.0, 1.0]));
    let growing = Resize { size: [1, 8], scales: [1.0, 2.0], ..resize.clone() };
    let linear = Resize { mode: ResizeMode::Linear, ..growing.clone() };
    assert_eq!(growing.samples(1, 4), linear.samples(1, 4));
    let endless = Resize { scales: [1.0, 1e-30], ..resize };
    assert!(refuse(endless, &[&iota(&[1, 1, 4, 1])]).to_string().contains("scales"));
}
