//! ConvTranspose against the definition, against Conv, and against known numbers.

use npukit_graph::op::{Conv, ConvTranspose};
use npukit_graph::{Graph, OpError, ValueInfo};
use npukit_numeric::{ElementType, Tensor};
use proptest::prelude::*;

use crate::support::{distance, f32s, floats, iota, noise, refuse, run};

fn plain() -> ConvTranspose {
    ConvTranspose { strides: [1, 1], dilations: [1, 1], pads: [0; 4], output_padding: [0; 2], group: 1 }
}

/// The definition, one product at a time, and the number of products.
fn naive(
    conv: &ConvTranspose,
    x: &Tensor,
    weights: &Tensor,
    bias: &Tensor,
    size: [usize; 2],
) -> (Tensor, u64) {
    let (&[n, h, w, c], &[kh, kw, cg, co]) = (x.shape(), weights.shape()) else { panic!() };
    let (rows, columns) = (size[0], size[1]);
    let mut sums: Vec<f64> = (0..n * rows * columns * co).map(|i| f64::from(floats(bias)[i % co])).collect();
    let mut count = 0;
    for at in 0..n * h * w * kh * kw * cg * co {
        let (o, i) = (at % co, at / co % cg);
        let (kx, ky) = (at / co / cg % kw, at / co / cg / kw % kh);
        let pixel = at / co / cg / kw / kh;
        let (image, y, x_in) = (pixel / w / h, pixel / w % h, pixel % w);
        let row = (y * conv.strides[0] + ky * conv.dilations[0]) as isize - conv.pads[0] as isize;
        let column = (x_in * conv.strides[1] + kx * conv.dilations[1]) as isize - conv.pads[1] as isize;
        if row < 0 || column < 0 || row >= rows as isize || column >= columns as isize {
            continue;
        }
        let channel = o / (co / conv.group) * cg + i;
        let weight = floats(weights)[((ky * kw + kx) * cg + i) * co + o];
        let to = ((image * rows + row as usize) * columns + column as usize) * co + o;
        sums[to] += f64::from(floats(x)[pixel * c + channel]) * f64::from(weight);
        count += 1;
    }
    let data: Vec<f32> = sums.into_iter().map(|sum| sum as f32).collect();
    (f32s(&[n, rows, columns, co], &data), count)
}

/// Returns the multiply-accumulates of the graph.
fn macs(conv: &ConvTranspose, x: &Tensor, weights: &Tensor) -> u64 {
    let mut graph = Graph::default();
    let info = ValueInfo { shape: x.shape().to_vec(), element: ElementType::F32 };
    let input = graph.add_input("x", info);
    let weights = graph.add_constant("w", weights.clone());
    graph.add_node("n", conv.clone().into(), vec![input, weights], &["y"]).unwrap();
    graph.macs()
}

proptest! {
    #[test]
    fn agrees_with_the_definition(
        (n, h, w) in (1..3usize, 1..9usize, 1..12usize),
        (kh, kw) in (1..4usize, 1..4usize),
        (cg, og, group) in (1..4usize, 1..11usize, 1..4usize),
        strides in [1..4usize, 1..4],
        dilations in [1..3usize, 1..3],
        pads in [0..4usize, 0..4, 0..4, 0..4],
        output_padding in [0..3usize, 0..3],
        depthwise: bool,
        seed: u64,
    ) {
        let (cg, og) = if depthwise { (1, 1) } else { (cg, og) };
        let conv = ConvTranspose { strides, dilations, pads, output_padding, group };
        let Ok(size) = conv.output([h, w], [kh, kw]) else { return Ok(()) };
        prop_assume!(!size.contains(&0));
        let x = noise(&[n, h, w, cg * group], seed);
        let weights = noise(&[kh, kw, cg, og * group], seed ^ 1);
        let bias = noise(&[og * group], seed ^ 2);
        let (expected, products) = naive(&conv, &x, &weights, &bias, size);
        prop_assert!(distance(&run(conv.clone(), &[&x, &weights, &bias]), &expected) < 1e-5);
        prop_assert_eq!(macs(&conv, &x, &weights), products);
    }

    /// It is the transpose of the convolution with the same weights and exchanged channels:
    /// `<conv(a), b> = <a, transposed(b)>`.
    #[test]
    fn is_the_transpose_of_a_convolution(
        (h, w, ci, co) in (1..8usize, 1..8usize, 1..4usize, 1..4usize),
        kernel in [1..4usize, 1..4],
        strides in [1..4usize, 1..4],
        dilations in [1..3usize, 1..3],
        pads in [0..3usize, 0..3, 0..3, 0..3],
        seed: u64,
    ) {
        let conv = Conv { strides, dilations, pads, group: 1 };
        let Ok([rows, columns]) = conv.window(kernel).output([h, w]) else { return Ok(()) };
        // Rows and columns that no window covers.
        let reach = conv.window(kernel).reach().unwrap();
        let output_padding = [
            h + pads[0] + pads[2] - ((rows - 1) * strides[0] + reach[0]),
            w + pads[1] + pads[3] - ((columns - 1) * strides[1] + reach[1]),
        ];
        let transposed = ConvTranspose { strides, dilations, pads, output_padding, group: 1 };
        let [kh, kw] = kernel;
        let weights = noise(&[kh, kw, ci, co], seed);
        let swapped = run(npukit_graph::op::Transpose { perm: vec![0, 1, 3, 2] }, &[&weights]);
        let (a, b) = (noise(&[1, h, w, ci], seed ^ 1), noise(&[1, rows, columns, co], seed ^ 2));
        let dot = |l: &Tensor, r: &Tensor| floats(l).iter().zip(floats(r)).map(|(l, r)| l * r).sum::<f32>();
        let (left, right) = (run(conv, &[&a, &weights]), run(transposed, &[&b, &swapped]));
        prop_assert_eq!(right.shape(), a.shape());
        prop_assert!((dot(&left, &b) - dot(&a, &right)).abs() < 1e-3);
    }
}

/// The first rows of onnx's case `test_convtranspose`: 0 to 8 in three rows, a kernel of ones.
#[test]
fn kernels_overlap() {
    let ones = f32s(&[3, 3, 1, 1], &[1.0; 9]);
    let result = run(plain(), &[&iota(&[1, 3, 3, 1]), &ones]);
    assert_eq!(result.shape(), [1, 5, 5, 1]);
    assert_eq!(floats(&result)[..10], [0.0, 1.0, 3.0, 3.0, 2.0, 3.0, 8.0, 15.0, 12.0, 7.0]);
}

#[test]
fn operands_that_do_not_fit_are_refused_with_the_numbers() {
    let (x, weights) = (noise(&[1, 4, 4, 6], 1), noise(&[1, 1, 6, 4], 2));
    let refused = refuse(ConvTranspose { pads: [3, 0, 2, 0], ..plain() }, &[&x, &weights]);
    let message = "ConvTranspose: padding by -3 and -2 is not possible on axis 1 of size 4: \
                   that crops more than the whole axis";
    assert_eq!(refused.to_string(), message);
    let refused = refuse(ConvTranspose { group: 4, ..plain() }, &[&x, &weights]);
    assert_eq!(refused.to_string(), "ConvTranspose: input channels 6 must be a positive multiple of 4");
    let refused = refuse(ConvTranspose { strides: [0, 1], ..plain() }, &[&x, &weights]);
    assert!(matches!(refused, OpError::Attribute { attribute: "strides", .. }));
    let huge = ConvTranspose { pads: [usize::MAX; 4], ..plain() };
    assert!(matches!(refuse(huge, &[&x, &weights]), OpError::TooLarge { .. }));
    let refused = refuse(plain(), &[&x, &weights, &noise(&[3], 3)]);
    assert!(matches!(refused, OpError::Size { expected: 4, found: 3, .. }));
}
