//! MaxPool and AveragePool against the definition and against results computed by hand.

use npukit_graph::op::{AveragePool, MaxPool, MaxPoolIndices, Window};
use proptest::prelude::*;

use crate::support::{distance, f32s, floats, i64s, iota, noise, run};

/// The elements under each window, by the definition, with the number of taps on the image or its
/// padding.
fn windows(window: &Window, data: &[f32], [h, w, c]: [usize; 3]) -> Vec<(Vec<f32>, usize)> {
    let [rows, columns] = window.output([h, w]).unwrap();
    let mut all = Vec::new();
    for (row, column) in (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column))) {
        for channel in 0..c {
            let (mut seen, mut padded) = (Vec::new(), 0);
            for (ky, kx) in (0..window.kernel[0]).flat_map(|ky| (0..window.kernel[1]).map(move |kx| (ky, kx)))
            {
                let y = row * window.strides[0] + ky * window.dilations[0];
                let x = column * window.strides[1] + kx * window.dilations[1];
                let [top, left, bottom, right] = window.pads;
                padded += usize::from(y < top + h + bottom && x < left + w + right);
                if (top..top + h).contains(&y) && (left..left + w).contains(&x) {
                    seen.push(data[((y - top) * w + x - left) * c + channel]);
                }
            }
            all.push((seen, padded));
        }
    }
    all
}

proptest! {
    #[test]
    fn pools_agree_with_the_definition(
        image in [1..8usize, 1..8, 1..4],
        kernel in [1..4usize, 1..4],
        strides in [1..4usize, 1..4],
        dilations in [1..3usize, 1..3],
        pads in [0..3usize, 0..3, 0..3, 0..3],
        ceil_mode: bool,
        count_include_pad: bool,
        seed: u64,
    ) {
        let window = Window { kernel, strides, dilations, pads, ceil_mode };
        let Ok([rows, columns]) = window.output([image[0], image[1]]) else { return Ok(()) };
        let x = noise(&[2, image[0], image[1], image[2]], seed);
        let shape = [2, rows, columns, image[2]];
        let images = floats(&x).chunks(image.iter().product());
        let all: Vec<_> = images.flat_map(|data| windows(&window, data, image)).collect();
        let max = |(seen, _): &(Vec<f32>, usize)| seen.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let result = run(MaxPool { window: window.clone() }, &[&x]);
        prop_assert_eq!(result, f32s(&shape, &all.iter().map(max).collect::<Vec<_>>()));
        let mean = |(seen, padded): &(Vec<f32>, usize)| {
            let count = if count_include_pad { *padded } else { seen.len() };
            seen.iter().sum::<f32>() / count.max(1) as f32
        };
        let result = run(AveragePool { window, count_include_pad }, &[&x]);
        prop_assert!(distance(&result, &f32s(&shape, &all.iter().map(mean).collect::<Vec<_>>())) < 1e-6);
    }
}

/// The values of onnx's cases `test_maxpool_with_argmax_2d_precomputed_{pads,strides}`, extended to
/// several channels.
#[test]
fn maxima_lie_where_the_standard_counts_them() {
    let x = iota(&[1, 5, 5, 1]);
    let padded = Window { pads: [2; 4], ..Window::plain([5, 5], [1, 1]) };
    let indices = run(MaxPoolIndices { window: padded, column_major: false }, &[&x]);
    assert_eq!(indices.as_i64().unwrap()[..10], [12, 13, 14, 14, 14, 17, 18, 19, 19, 19]);
    let strided = Window::plain([2, 2], [2, 2]);
    let indices = run(MaxPoolIndices { window: strided, column_major: true }, &[&x]);
    assert_eq!(indices, i64s(&[1, 2, 2, 1], &[6, 16, 8, 18]));
    // Two images of two channels: equal elements (the first wins), and elements below every
    // other float.
    let x = f32s(&[2, 1, 2, 2], &[1.0, 2.0, 1.0, 3.0, 4.0, f32::NEG_INFINITY, 5.0, f32::NEG_INFINITY]);
    let window = Window::plain([1, 2], [1, 1]);
    let indices = run(MaxPoolIndices { window, column_major: false }, &[&x]);
    assert_eq!(indices, i64s(&[2, 1, 1, 2], &[0, 3, 5, 6]));
}

#[test]
fn padding_is_left_out_of_a_maximum() {
    let x = f32s(&[1, 2, 2, 1], &[-4.0, -3.0, -2.0, -1.0]);
    let window = Window { pads: [1, 1, 1, 1], ..Window::plain([2, 2], [2, 2]) };
    assert_eq!(floats(&run(MaxPool { window }, &[&x])), [-4.0, -3.0, -2.0, -1.0]);
}

#[test]
fn a_mean_divides_by_what_it_counts() {
    let x = iota(&[1, 3, 3, 1]);
    let window = Window { pads: [1, 1, 0, 0], ..Window::plain([2, 2], [2, 2]) };
    let mean = |count_include_pad| run(AveragePool { window: window.clone(), count_include_pad }, &[&x]);
    assert_eq!(floats(&mean(false)), [0.0, 1.5, 4.5, 6.0]);
    assert_eq!(floats(&mean(true)), [0.0, 0.75, 2.25, 6.0]);
    // The window of the second column extends one column too far: only its left half is used.
    let window = Window { ceil_mode: true, ..Window::plain([1, 2], [1, 2]) };
    let row = f32s(&[1, 1, 3, 1], &[1.0, 3.0, 8.0]);
    assert_eq!(floats(&run(AveragePool { window, count_include_pad: true }, &[&row])), [2.0, 8.0]);
}
