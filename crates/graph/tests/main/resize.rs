//! Resize by hand, following the formulas of the ONNX standard.

use npukit_graph::op::{Coordinates, NearestMode, Resize, ResizeMode};

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
    assert_eq!(resize.samples(0, 2)[1].fraction, 0.5);
    let broken = Resize { scales: [0.0, 1.0], ..resize };
    assert!(refuse(broken, &[&iota(&[1, 2, 2, 2])]).to_string().contains("scales"));
}
