//! Resize against results computed by hand with the formulas of the ONNX standard.

use npukit_graph::op::{Coordinates, Crop, NearestMode, Resize, ResizeMode};
use npukit_graph::{Op, Operator};

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
    let corners = row(7, 1.75, ResizeMode::Linear, Coordinates::AlignCorners, &[0.0, 1.0, 2.0, 3.0]);
    assert_eq!(corners, [0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0]);
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
    // ResizeNearestNeighbor with half_pixel_centers takes the element under the center.
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

/// Weights fall to 0 at a distance of 2; beyond the border, elements take the border's value.
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

/// Each sample is the weighted mean of all elements, with a triangular weight around its
/// coordinate; elements without weight are omitted.
#[test]
fn antialiased_samples_are_triangles() {
    for (input, size, scale) in [(7, 3, 0.5), (9, 3, 0.375), (8, 2, 0.25), (5, 5, 1.0), (6, 4, 0.75)] {
        for coordinates in [Coordinates::HalfPixel, Coordinates::Asymmetric, Coordinates::TfHalfPixelForNn] {
            let mode = ResizeMode::LinearAntialiased;
            let resize = Resize { size: [1, size], scales: [1.0, scale], mode, coordinates };
            for (x, sample) in resize.samples(1, input).iter().enumerate() {
                let at = match coordinates {
                    Coordinates::HalfPixel => (x as f32 + 0.5) / scale - 0.5,
                    Coordinates::TfHalfPixelForNn => (x as f32 + 0.5) / scale,
                    _ => x as f32 / scale,
                };
                let mut weights = vec![0.0; input];
                for place in -50i64..50 {
                    let border = place.clamp(0, input as i64 - 1) as usize;
                    weights[border] += (1.0 - (place as f32 - at).abs() * scale).max(0.0);
                }
                let sum: f32 = weights.iter().sum();
                let expected = weights.iter().enumerate().filter(|(_, weight)| **weight > 0.0);
                let expected: Vec<(usize, f32)> = expected.map(|(i, weight)| (i, weight / sum)).collect();
                assert_eq!(sample.taps.len(), expected.len(), "{resize:?} {x}: {sample:?} {expected:?}");
                for (found, expected) in sample.taps.iter().zip(&expected) {
                    assert!(found.0 == expected.0 && (found.1 - expected.1).abs() < 1e-6, "{resize:?} {x}");
                }
            }
        }
    }
}

/// With more elements than floats can represent, the last coordinate may be after the last element.
#[test]
fn the_last_of_very_many_elements_is_the_last() {
    let input = (1 << 24) + 4;
    for mode in [ResizeMode::Linear, ResizeMode::Nearest(NearestMode::Ceil)] {
        let resize =
            Resize { size: [2, 1], scales: [1e-7, 1.0], mode, coordinates: Coordinates::AlignCorners };
        let taps: Vec<_> = resize.samples(0, input).into_iter().map(|sample| sample.taps).collect();
        assert_eq!(taps, [[(0, 1.0)], [(input - 1, 1.0)]]);
    }
}

#[test]
fn sizes_agree_with_what_they_are_made_of() {
    let (mode, coordinates) = (ResizeMode::LinearAntialiased, Coordinates::HalfPixel);
    let resize = |size, scale| Resize { size: [1, size], scales: [1.0, scale], mode, coordinates };
    let none = |size| Resize { size, scales: [1.0; 2], mode: ResizeMode::Linear, coordinates };
    let fits = |resize: Resize, shape: [usize; 4]| Op::from(resize).eval(&[&iota(&shape)]).is_ok();
    // 1.25 columns round to one or nearly two, 1.5 do as well.
    for (size, scale, expected) in [(1, 0.25, true), (2, 0.25, false), (2, 0.3, true), (2, 0.5, true)] {
        assert_eq!(fits(resize(size, scale), [1, 1, 5, 1]), expected, "{size} {scale}");
    }
    // An empty operand gives an empty result.
    for (size, expected) in [([0, 2], true), ([1, 2], false), ([0, 0], true)] {
        assert_eq!(fits(none(size), [1, 0, 2, 1]), expected, "{size:?}");
    }
    assert!(fits(none([0, 1]), [1, 2, 2, 1]));
}
