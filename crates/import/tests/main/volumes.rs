//! Operators over axes other than rows and columns: pools of volumes, signals, and resizing of any
//! axis. Expected values are worked out element by element.

use npukit_graph::Op;
use npukit_import::onnx::proto::NodeProto;

use crate::model::{With, counting, float_tensor, floats, node, unary};

/// Reduces the elements of each window over `[depth, height, width]` by `of`.
fn pooled(
    shape: [usize; 3],
    kernel: [usize; 3],
    strides: [usize; 3],
    pads: [usize; 3],
    of: impl Fn(&[f32], usize) -> f32,
) -> (Vec<usize>, Vec<f32>) {
    let size = |axis: usize| (shape[axis] + 2 * pads[axis] - kernel[axis]) / strides[axis] + 1;
    let place = |axis: usize, index: usize, tap: usize| {
        (index * strides[axis] + tap).checked_sub(pads[axis]).filter(|&place| place < shape[axis])
    };
    let mut values = Vec::new();
    for (z, y, x) in
        (0..size(0)).flat_map(|z| (0..size(1)).flat_map(move |y| (0..size(2)).map(move |x| (z, y, x))))
    {
        let mut window = Vec::new();
        for a in (0..kernel[0]).filter_map(|tap| place(0, z, tap)) {
            for b in (0..kernel[1]).filter_map(|tap| place(1, y, tap)) {
                for c in (0..kernel[2]).filter_map(|tap| place(2, x, tap)) {
                    // An irregular sequence, so that every window has a different maximum.
                    window.push(((a * 7 + b * 5 + c * 3) % 11) as f32);
                }
            }
        }
        values.push(of(&window, kernel.iter().product()));
    }
    (vec![1, 1, size(0), size(1), size(2)], values)
}

#[test]
fn volumes_are_pooled_along_all_three_axes() {
    let (shape, kernel, strides, pads) = ([3, 4, 5], [2, 3, 2], [1, 2, 3], [1, 1, 0]);
    let elements: Vec<f32> =
        (0..60).map(|place| ((place / 20 * 7 + place / 5 % 4 * 5 + place % 5 * 3) % 11) as f32).collect();
    let x = floats(&[1, 1, 3, 4, 5], &elements);
    let run = |node: NodeProto| {
        let wide = |sizes: [usize; 3]| sizes.map(|size| size as i64);
        let node = node.ints("kernel_shape", &wide(kernel)).ints("strides", &wide(strides));
        let node = node.ints("pads", &[wide(pads), wide(pads)].concat());
        unary(19, &[1, 1, 3, 4, 5], node, vec![]).run(std::slice::from_ref(&x))
    };
    let largest = |window: &[f32], _: usize| window.iter().copied().fold(f32::MIN, f32::max);
    assert_eq!(run(node("MaxPool", &["x"], &["y"])), pooled(shape, kernel, strides, pads, largest));
    let assert_close = |found: (Vec<usize>, Vec<f32>), expected: (Vec<usize>, Vec<f32>)| {
        let close = found.1.iter().zip(&expected.1).all(|(a, b)| (a - b).abs() < 1e-5);
        assert!(found.0 == expected.0 && close, "{found:?} {expected:?}");
    };
    // Padding is excluded unless it is requested.
    let mean = |window: &[f32], _: usize| window.iter().sum::<f32>() / window.len() as f32;
    let all = |window: &[f32], count: usize| window.iter().sum::<f32>() / count as f32;
    let average = || node("AveragePool", &["x"], &["y"]);
    assert_close(run(average()), pooled(shape, kernel, strides, pads, mean));
    assert_close(run(average().int("count_include_pad", 1)), pooled(shape, kernel, strides, pads, all));
}

/// The convolution of `[4, 3, 4, 5]` by `[4, 2, 2, 3, 2]` in two groups, element by element.
fn convolved(x: &[f32], weights: &[f32], strides: [usize; 3], pads: [usize; 3]) -> Vec<f32> {
    let (shape, kernel) = ([3, 4, 5], [2, 3, 2]);
    let size = |axis: usize| (shape[axis] + 2 * pads[axis] - kernel[axis]) / strides[axis] + 1;
    let volume = |sizes: [usize; 3]| {
        (0..sizes[0])
            .flat_map(move |a| (0..sizes[1]).flat_map(move |b| (0..sizes[2]).map(move |c| [a, b, c])))
    };
    let mut values = Vec::new();
    for (filter, at) in (0..4).flat_map(|f| volume([size(0), size(1), size(2)]).map(move |at| (f, at))) {
        let mut sum = 0.0;
        for (channel, tap) in (0..2).flat_map(|c| volume(kernel).map(move |tap| (c, tap))) {
            let place = [0, 1, 2].map(|i| (at[i] * strides[i] + tap[i]).checked_sub(pads[i]));
            let [Some(z), Some(y), Some(x_)] = place else { continue };
            if z < 3 && y < 4 && x_ < 5 {
                let weight = weights[((filter * 2 + channel) * 2 + tap[0]) * 6 + tap[1] * 2 + tap[2]];
                sum += weight * x[((filter / 2 * 2 + channel) * 3 + z) * 20 + y * 5 + x_];
            }
        }
        values.push(sum);
    }
    values
}

#[test]
fn volumes_are_convolved_and_spread() {
    let noise = |count: usize, step: usize| -> Vec<f32> {
        (0..count).map(|i| ((i * step) % 17) as f32 - 8.0).collect()
    };
    let (x, weights) = (noise(240, 5), noise(96, 7));
    let kernel = || vec![float_tensor("w", &[4, 2, 2, 3, 2], &weights)];
    for (strides, pads) in [([1, 1, 1], [0, 0, 0]), ([2, 1, 3], [1, 1, 0]), ([1, 2, 2], [1, 0, 1])] {
        let wide = |sizes: [usize; 3]| sizes.map(|size| size as i64);
        let of = |op: &str| {
            let node = node(op, &["x", "w"], &["y"]).int("group", 2).ints("strides", &wide(strides));
            node.ints("pads", &[wide(pads), wide(pads)].concat())
        };
        let (shape, y) =
            unary(13, &[1, 4, 3, 4, 5], of("Conv"), kernel()).run(&[floats(&[1, 4, 3, 4, 5], &x)]);
        assert_eq!(y, convolved(&x, &weights, strides, pads), "{strides:?} {pads:?}");
        // Spreading is the transposed matrix: the products with any two vectors agree.
        let dims: Vec<i64> = shape.iter().map(|&size| size as i64).collect();
        let other = noise(y.len(), 3);
        let extra = [0, 1, 2].map(|i| ([3, 4, 5][i] + 2 * pads[i] - [2, 3, 2][i]) % strides[i]);
        let spread = of("ConvTranspose").ints("output_padding", &wide(extra));
        let (back, spread) = unary(13, &dims, spread, kernel()).run(&[floats(&shape, &other)]);
        assert_eq!(back, [1, 4, 3, 4, 5]);
        let dot = |l: &[f32], r: &[f32]| l.iter().zip(r).map(|(l, r)| l * r).sum::<f32>();
        assert_eq!(dot(&y, &other), dot(&x, &spread), "{strides:?} {pads:?}");
    }
}

#[test]
fn signals_are_pooled_and_spread() {
    let run = |node: NodeProto| {
        let weights = vec![float_tensor("w", &[1, 1, 2], &[1.0, 10.0])];
        unary(13, &[1, 1, 4], node, weights).run(&[floats(&[1, 1, 4], &[1.0, 4.0, 2.0, 8.0])])
    };
    let pool = node("MaxPool", &["x"], &["y"]).ints("kernel_shape", &[2]).ints("strides", &[2]);
    assert_eq!(run(pool), (vec![1, 1, 2], vec![4.0, 8.0]));
    let mean = node("AveragePool", &["x"], &["y"]).ints("kernel_shape", &[3]).ints("pads", &[1, 0]);
    assert_eq!(run(mean), (vec![1, 1, 3], vec![2.5, 7.0 / 3.0, 14.0 / 3.0]));
    let conv = node("Conv", &["x", "w"], &["y"]).ints("dilations", &[2]);
    assert_eq!(run(conv), (vec![1, 1, 2], vec![21.0, 84.0]));
    let spread = node("ConvTranspose", &["x", "w"], &["y"]).ints("strides", &[2]);
    assert_eq!(run(spread).1, [1.0, 10.0, 4.0, 40.0, 2.0, 20.0, 8.0, 80.0]);
}

/// Rows and columns are not exchanged: kernels, strides, pads and output padding differ between
/// them.
#[test]
fn transposed_convolutions_of_images_keep_their_axes() {
    let run = |node: NodeProto| {
        let weights = vec![float_tensor("w", &[1, 1, 2, 1], &[1.0, 10.0])];
        unary(13, &[1, 1, 1, 2], node, weights).run(&[floats(&[1, 1, 1, 2], &[1.0, 2.0])])
    };
    let conv = || node("ConvTranspose", &["x", "w"], &["y"]);
    assert_eq!(run(conv()), (vec![1, 1, 2, 2], vec![1.0, 2.0, 10.0, 20.0]));
    let wide = (vec![1, 1, 2, 3], vec![1.0, 0.0, 2.0, 10.0, 0.0, 20.0]);
    assert_eq!(run(conv().ints("strides", &[1, 2])), wide);
    assert_eq!(run(conv().ints("strides", &[1, 2]).string("auto_pad", "VALID")), wide);
    assert_eq!(run(conv().ints("pads", &[1, 0, 0, 0])), (vec![1, 1, 1, 2], vec![10.0, 20.0]));
    assert_eq!(run(conv().ints("pads", &[0, 0, 0, 1])), (vec![1, 1, 2, 1], vec![1.0, 10.0]));
    assert_eq!(run(conv().ints("dilations", &[2, 1])).1, [1.0, 2.0, 0.0, 0.0, 10.0, 20.0]);
    let below = (vec![1, 1, 3, 2], vec![1.0, 2.0, 10.0, 20.0, 0.0, 0.0]);
    assert_eq!(run(conv().ints("strides", &[2, 1]).ints("output_padding", &[1, 0])), below);
    // The size of the result only, or after batch and channels.
    for stated in [&[3, 2][..], &[1, 1, 3, 2]] {
        assert_eq!(run(conv().ints("strides", &[2, 1]).ints("output_shape", stated)), below);
    }
    let refused = |stated: &[i64]| {
        let weights = vec![float_tensor("w", &[1, 1, 2, 1], &[1.0, 10.0])];
        unary(13, &[1, 1, 1, 2], conv().ints("output_shape", stated), weights).reason().to_string()
    };
    for stated in [&[3][..], &[1, 3, 2], &[0, 2], &[(1 << 28) + 1, 2]] {
        let expected = format!("attribute \"output_shape\" is {stated:?}; legal: 2 sizes from 1 to 2^28");
        assert_eq!(refused(stated), expected);
    }
}

/// Every axis may be resized, one after the other; the two axes of the image together.
#[test]
fn any_axis_may_be_resized() {
    let resize = |dims: &[i64], scales: &[f32]| {
        let scales = float_tensor("s", &[scales.len() as i64], scales);
        unary(13, dims, node("Resize", &["x", "", "s"], &["y"]).string("mode", "linear"), vec![scales])
    };
    let run = |dims: &[usize], scales: &[f32]| {
        let wide: Vec<i64> = dims.iter().map(|&size| size as i64).collect();
        resize(&wide, scales).run(&[counting(dims)])
    };
    let doubled = [0.0, 0.25, 0.75, 1.0];
    assert_eq!(run(&[2], &[2.0]), (vec![4], doubled.to_vec()));
    assert_eq!(run(&[1, 1, 2], &[1.0, 1.0, 2.0]), (vec![1, 1, 4], doubled.to_vec()));
    // For two columns, whose rows are 2 apart.
    let rows = [0.0, 1.0, 0.5, 1.5, 1.5, 2.5, 2.0, 3.0];
    assert_eq!(run(&[2, 2], &[2.0, 1.0]), (vec![4, 2], rows.to_vec()));
    assert_eq!(run(&[1, 2, 1, 2], &[1.0, 2.0, 1.0, 1.0]), (vec![1, 4, 1, 2], rows.to_vec()));
    let both: Vec<f32> =
        [0.0, 0.5, 1.5, 2.0].iter().flat_map(|row| doubled.map(|column| row + column)).collect();
    assert_eq!(run(&[2, 2], &[2.0, 2.0]), (vec![4, 4], both.clone()));
    assert_eq!(run(&[1, 1, 2, 2], &[1.0, 1.0, 2.0, 2.0]), (vec![1, 1, 4, 4], both));
    let image = resize(&[1, 1, 2, 2], &[1.0, 1.0, 2.0, 2.0]).import().unwrap();
    assert_eq!(image.nodes.iter().filter(|node| matches!(node.op, Op::Resize(_))).count(), 1);
    let kept = resize(&[2, 2], &[1.0, 1.0]).run(&[counting(&[2, 2])]);
    assert_eq!(kept, (vec![2, 2], vec![0.0, 1.0, 2.0, 3.0]));
}
