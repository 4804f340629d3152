//! Operators that sample images at computed positions.

use npukit_graph::OpError;
use npukit_graph::op::{
    Coordinates, Cubic, GridPlaces, GridSample, Outside, Resize, ResizeMode, RoiAlign, RoiMode, SampleMode,
};

use crate::support::{f32s, floats, i64s, iota, refuse, run};

/// A row of four elements sampled at coordinates along it.
fn row(mode: SampleMode, outside: Outside, places: GridPlaces, at: &[f32]) -> Vec<f32> {
    let grid = f32s(&[1, at.len(), 1], at);
    floats(&run(GridSample { mode, outside, places }, &[&iota(&[1, 4, 1]), &grid])).to_vec()
}

#[test]
fn places_are_between_minus_one_and_one() {
    let places = [-1.0, 0.0, 1.0, 0.5];
    assert_eq!(row(SampleMode::Linear, Outside::Zeros, GridPlaces::Centers, &places), [0.0, 1.5, 3.0, 2.25]);
    assert_eq!(row(SampleMode::Linear, Outside::Zeros, GridPlaces::Edges, &places), [0.0, 1.5, 1.5, 2.5]);
    assert_eq!(
        row(SampleMode::Linear, Outside::Zeros, GridPlaces::Elements, &[0.0, 2.5, 3.25]),
        [0.0, 2.5, 2.25]
    );
    // 1.5 is between two elements: the even one is taken.
    assert_eq!(row(SampleMode::Nearest, Outside::Zeros, GridPlaces::Edges, &[0.0, 0.3]), [2.0, 2.0]);
}

#[test]
fn beyond_the_border_stands_what_was_asked_for() {
    let places = [1.5, -2.0];
    assert_eq!(row(SampleMode::Linear, Outside::Zeros, GridPlaces::Edges, &places), [0.0, 0.0]);
    assert_eq!(row(SampleMode::Linear, Outside::Border, GridPlaces::Edges, &places), [3.0, 0.0]);
    // The coordinates 4.5 and -2.5 are reflected to 2.5 and 1.5.
    assert_eq!(row(SampleMode::Linear, Outside::Reflection, GridPlaces::Edges, &places), [2.5, 1.5]);
    assert_eq!(
        row(SampleMode::Nearest, Outside::Border, GridPlaces::Centers, &[f32::NAN, f32::MAX]),
        [0.0, 3.0]
    );
    let image = GridSample { mode: SampleMode::Cubic, outside: Outside::Zeros, places: GridPlaces::Edges };
    assert!(matches!(
        refuse(image, &[&iota(&[1, 4, 1]), &f32s(&[1, 1, 2], &[0.0; 2])]),
        OpError::Size { .. }
    ));
}

#[test]
fn images_name_columns_first() {
    let grid = f32s(&[1, 1, 1, 2], &[1.0, -1.0]);
    let op = GridSample { mode: SampleMode::Cubic, outside: Outside::Border, places: GridPlaces::Centers };
    assert_eq!(floats(&run(op, &[&iota(&[1, 2, 3, 1]), &grid])), [2.0]);
}

#[test]
fn regions_are_cut_into_bins() {
    let align = |mode, sampling_ratio| RoiAlign {
        size: [1, 2],
        sampling_ratio,
        spatial_scale: 0.5,
        half_pixel: true,
        mode,
    };
    let image = iota(&[1, 2, 4, 1]);
    let (region, which) = (f32s(&[1, 4], &[0.0, 0.0, 8.0, 4.0]), i64s(&[1], &[0]));
    // The whole image: each bin is the mean of four elements.
    assert_eq!(floats(&run(align(RoiMode::Average, 0), &[&image, &region, &which])), [2.5, 4.5]);
    assert_eq!(floats(&run(align(RoiMode::Max, 0), &[&image, &region, &which])), [5.0, 7.0]);
    let other = refuse(align(RoiMode::Max, 1), &[&image, &region, &i64s(&[1], &[1])]);
    assert_eq!(other, OpError::Index { op: "RoiAlign", axis: 0, index: 1, size: 1 });
    let huge = f32s(&[1, 4], &[0.0, 0.0, 1e9, 1e9]);
    assert!(matches!(
        refuse(align(RoiMode::Average, 0), &[&image, &huge, &which]),
        OpError::Attribute { .. }
    ));
    assert!(matches!(
        refuse(align(RoiMode::Max, 300), &[&image, &region, &which]),
        OpError::Attribute { .. }
    ));
}

#[test]
fn cubic_resampling_has_the_weights_of_keys() {
    let resize = |exclude_outside, antialias, size: usize| Resize {
        size: [1, size],
        scales: [1.0, size as f32 / 4.0],
        mode: ResizeMode::Cubic(Cubic { slope: -0.5, antialias, exclude_outside }),
        coordinates: Coordinates::HalfPixel,
    };
    let x = f32s(&[1, 1, 4, 1], &[0.0, 0.0, 1.0, 0.0]);
    let found = |op: Resize| floats(&run(op, &[&x])).to_vec();
    // At 1.75, a quarter before the element: 1.5 / 64 - 2.5 / 16 + 1.
    assert_eq!(found(resize(false, false, 8))[4], 0.867_187_5);
    assert_eq!(found(resize(false, false, 4)), [0.0, 0.0, 1.0, 0.0]);
    // At -0.25, two of four taps are beyond the border: 0.8671875 and -0.0703125 remain.
    let next = f32s(&[1, 1, 4, 1], &[0.0, 1.0, 0.0, 0.0]);
    let first = |exclude_outside| floats(&run(resize(exclude_outside, false, 8), &[&next]))[0];
    assert_eq!(first(false), -0.070_312_5);
    assert!((first(true) + 0.070_312_5 / 0.796_875).abs() < 1e-6, "{}", first(true));
    let wide = found(resize(false, true, 2));
    assert!((wide.iter().sum::<f32>() - 0.5).abs() < 0.1 && wide[1] > wide[0], "{wide:?}");
}
