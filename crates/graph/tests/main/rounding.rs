//! Bounds of rounding errors, compared with machines that round as badly as possible. Each source
//! of error is half a step up or down; all combinations are tried, and the worst must match the
//! bound.

use npukit_graph::op::{
    AveragePool, BatchNormalization, Binary, BinaryKind, Clip, Conv, ConvTranspose, Coordinates, Crop, Gemm,
    LeakyRelu, MatMul, NearestMode, Pad, PadMode, Reduce, ReduceKind, Resize, ResizeMode, Window,
};
use npukit_graph::rounding_bounds;
use npukit_numeric::Tensor;

use crate::support::{Net, f32s, floats, noise};

const STEP: f32 = 1.0 / 64.0;

/// Draws the error of one rounding; each call is a separate source.
type Draw<'a> = &'a mut dyn FnMut() -> f64;

/// Computes a machine's results, literally, in `f64`.
type Machine<'a> = &'a dyn Fn(Draw<'_>) -> Vec<f64>;

/// Returns the largest error of each result over all combinations of signs.
fn worst(machine: Machine<'_>) -> Vec<f64> {
    let mut sources = 0;
    let exact = machine(&mut || {
        sources += 1;
        0.0
    });
    assert!(sources <= 15, "{sources} are too many to try all");
    let mut worst = vec![0.0; exact.len()];
    for corner in 0..1u32 << sources {
        let mut source = 0;
        let found = machine(&mut || {
            source += 1;
            let half = f64::from(STEP) / 2.0;
            if corner >> (source - 1) & 1 == 1 { half } else { -half }
        });
        for (worst, (found, exact)) in worst.iter_mut().zip(found.iter().zip(&exact)) {
            *worst = f64::max(*worst, (found - exact).abs());
        }
    }
    worst
}

fn bounds(net: &Net) -> Option<Tensor> {
    rounding_bounds(&net.graph, &net.inputs, STEP).unwrap().remove(0)
}

/// Checks that no machine exceeds the bounds, and that these are at most `factor` times the worst
/// error.
fn judge(net: &Net, machine: Machine<'_>, factor: f64) {
    let (worst, bounds) = (worst(machine), bounds(net).expect("a rule"));
    assert_eq!(worst.len(), floats(&bounds).len());
    for (worst, bound) in worst.iter().zip(floats(&bounds)) {
        let bound = f64::from(*bound);
        assert!(*worst <= bound * (1.0 + 1e-6), "{worst} is beyond {bound}\n{}", net.graph);
        assert!(bound <= worst * factor, "{bound} is more than {factor} times {worst}\n{}", net.graph);
    }
}

fn reals(tensor: &Tensor) -> Vec<f64> {
    floats(tensor).iter().map(|&x| x.into()).collect()
}

/// Constants as the machine stores them; zeros are exact.
fn stored(tensor: &Tensor, draw: Draw<'_>) -> Vec<f64> {
    reals(tensor).into_iter().map(|x| if x == 0.0 { 0.0 } else { x + draw() }).collect()
}

/// `x` plus a constant: a value that is off by half a step.
fn uncertain(net: &mut Net, x: &Tensor) -> (npukit_graph::ValueId, Vec<f64>) {
    let ones = f32s(x.shape(), &vec![1.0; floats(x).len()]);
    let (input, one) = (net.input(x.clone()), net.constant(ones));
    let sum = net.node(Binary { kind: BinaryKind::Add }, &[input, one]);
    (sum, reals(x).into_iter().map(|x| x + 1.0).collect())
}

/// `x [m, k]`, with an error per element if `off`, times `w [k, n]`. Each sum has an error per
/// product, one at its start and one at its end.
fn product(x: &[f64], off: bool, w: &[f64], k: usize, draw: Draw<'_>) -> Vec<f64> {
    let x: Vec<f64> = x.iter().map(|x| if off { x + draw() } else { *x }).collect();
    let (n, roundings) = (w.len() / k, (0..k + 2).map(|_| draw()).sum::<f64>());
    let sum = |row: &[f64], j: usize| (0..k).map(|p| row[p] * w[p * n + j]).sum::<f64>() + roundings;
    x.chunks(k).flat_map(|row| (0..n).map(move |j| sum(row, j))).collect()
}

#[test]
fn products_are_off_by_their_weights_operands_and_sums() {
    let w = f32s(&[3, 2], &[0.5, -0.75, 0.25, 0.0, -1.25, 1.0]);
    let x = f32s(&[1, 3], &[0.5, -2.0, 1.5]);
    let mut net = Net::default();
    let (input, weights) = (net.input(x.clone()), net.constant(w.clone()));
    let y = net.node(MatMul, &[input, weights]);
    let machine = |draw: Draw<'_>| {
        let w = stored(&w, draw);
        product(&reals(&x), false, &w, 3, draw)
    };
    judge(&net.giving(y), &machine, 1.01);

    let mut net = Net::default();
    let ((sum, x), weights) = (uncertain(&mut net, &x), net.constant(w.clone()));
    let y = net.node(MatMul, &[sum, weights]);
    let machine = |draw: Draw<'_>| {
        let w = stored(&w, draw);
        product(&x, true, &w, 3, draw)
    };
    judge(&net.giving(y), &machine, 1.01);
}

/// `alpha A B + beta C`, where the machine rounds the constants before or after applying the
/// factors.
fn gemm(alpha: f32, beta: f32, trans_a: bool, off: bool) {
    let (a, w, c) =
        (f32s(&[2, 3], &[0.5, -2.0, 1.5, 0.25, 1.0, -0.5]), noise(&[3, 2], 4), f32s(&[1, 2], &[0.5, -0.75]));
    let turned = f32s(&[3, 2], &[0.5, 0.25, -2.0, 1.0, 1.5, -0.5]);
    let mut net = Net::default();
    let given = if trans_a { &turned } else { &a };
    let (left, shift) =
        if off { (uncertain(&mut net, given).0, 1.0) } else { (net.input(given.clone()), 0.0) };
    let (right, addend) = (net.constant(w.clone()), net.constant(c.clone()));
    let y = net.node(Gemm { alpha, beta, trans_a, trans_b: false }, &[left, right, addend]);
    let (alpha, beta) = (f64::from(alpha), f64::from(beta));
    let x: Vec<f64> = reals(&a).into_iter().map(|x| x + shift).collect();
    let machine = |draw: Draw<'_>| {
        let after = |factor: f64, x: f64, draw: Draw<'_>| {
            if factor > 1.0 { (x + draw()) * factor } else { x * factor + draw() }
        };
        // The first of the result's columns; the errors of the other one are not worse.
        let w: Vec<f64> = reals(&w).into_iter().step_by(2).map(|w| after(alpha, w, draw)).collect();
        let c = after(beta, reals(&c)[0], draw);
        product(&x, off, &w, 3, draw).into_iter().map(|y| y + c).collect()
    };
    let (worst, bounds) = (worst(&machine), bounds(&net.giving(y)).unwrap());
    for (worst, bound) in worst.iter().zip(reals(&bounds).iter().step_by(2)) {
        assert!((0.99..=1.000_001).contains(&(worst / bound)), "{alpha} {beta}: {worst} to {bound}");
    }
}

#[test]
fn factors_of_a_gemm_are_rounded_with_its_constants() {
    gemm(1.0, 1.0, false, false);
    gemm(0.5, 0.25, false, false);
    gemm(2.0, 3.0, true, false);
    gemm(1.5, 4.0, true, true);
}

#[test]
fn windows_sum_over_their_taps_and_channels() {
    // The transposed one covers one pixel of four channels, the other two cover pixels of two
    // channels.
    let x = f32s(&[1, 1, 2, 2], &[0.5, -1.5, 1.25, 0.75]);
    let w = f32s(&[1, 2, 2, 2], &[0.5, 0.0, -0.25, 1.5, 0.0, 1.0, 0.75, -0.5]);
    let bias = f32s(&[2], &[0.5, 0.0]);
    let plain = Conv { strides: [1; 2], dilations: [1; 2], pads: [0; 4], group: 1 };
    let turned =
        ConvTranspose { strides: [1; 2], dilations: [1; 2], pads: [0; 4], output_padding: [0; 2], group: 1 };
    for transposed in [false, true] {
        let mut net = Net::default();
        let reshaped = |tensor: &Tensor, shape: [usize; 4]| f32s(&shape, floats(tensor));
        let y = if transposed {
            let (x, weights) =
                (net.input(reshaped(&x, [1, 1, 1, 4])), net.constant(reshaped(&w, [1, 1, 4, 2])));
            let bias = net.constant(bias.clone());
            net.node(turned.clone(), &[x, weights, bias])
        } else {
            let (x, weights) = (net.input(x.clone()), net.constant(w.clone()));
            let bias = net.constant(bias.clone());
            net.node(plain.clone(), &[x, weights, bias])
        };
        let machine = |draw: Draw<'_>| {
            let (w, bias) = (stored(&w, draw), stored(&bias, draw));
            product(&reals(&x), false, &w, 4, draw).into_iter().zip(bias).map(|(y, b)| y + b).collect()
        };
        judge(&net.giving(y), &machine, 1.001);
    }
}

#[test]
fn arithmetic_is_off_by_its_operands() {
    let (x, c) = (f32s(&[1, 1, 1, 2], &[0.5, -2.5]), f32s(&[2], &[0.75, -1.5]));
    for kind in [BinaryKind::Add, BinaryKind::Sub, BinaryKind::Mul, BinaryKind::Max, BinaryKind::Min] {
        let mut net = Net::default();
        let ((sum, x), constant) = (uncertain(&mut net, &x), net.constant(c.clone()));
        let y = net.node(Binary { kind }, &[sum, constant]);
        let machine = |draw: Draw<'_>| {
            let c = stored(&c, draw);
            let apply = |(x, c): (&f64, f64)| {
                let x = x + draw();
                match kind {
                    BinaryKind::Add => x + c,
                    BinaryKind::Sub => x - c,
                    BinaryKind::Mul => x * c + draw(),
                    BinaryKind::Max => x.max(c),
                    _ => x.min(c),
                }
            };
            x.iter().zip(c).map(apply).collect()
        };
        judge(&net.giving(y), &machine, 1.01);
    }
    let parameters = [[0.5, -1.5], [1.0, 0.25], [0.5, -0.5], [3.0, 1.0]].map(|data| f32s(&[2], &data));
    let mut net = Net::default();
    let (sum, x) = uncertain(&mut net, &x);
    let constants = parameters.each_ref().map(|tensor| net.constant(tensor.clone()));
    let y = net.node(BatchNormalization { epsilon: 1.0 }, &[&[sum][..], &constants].concat());
    let machine = |draw: Draw<'_>| {
        let [scale, bias, mean, var] = parameters.each_ref().map(reals);
        let channel = |c: usize| {
            let factor = scale[c] / (var[c] + 1.0).sqrt();
            let addend = bias[c] - mean[c] * factor;
            (x[c] + draw()) * (factor + draw()) + draw() + addend + draw()
        };
        (0..2).map(channel).collect()
    };
    judge(&net.giving(y), &machine, 1.001);
}

/// Means, slopes and samples: weights that the machine stores, for operands of one magnitude.
#[test]
fn weights_of_means_and_slopes_are_rounded() {
    let x = f32s(&[1, 2, 2, 1], &[0.5, -2.5, 0.5, 0.5]);
    let weighted = |weights: &'static [f64]| {
        move |x: &[f64], draw: Draw<'_>| -> f64 {
            let term = |(x, w): (&f64, &f64)| (x + draw()) * (w + draw()) + draw();
            x.iter().zip(weights).map(term).sum()
        }
    };
    let mean = weighted(&[0.25; 4]);
    let slope = |x: &[f64], draw: Draw<'_>| (x[1] + draw()) * (0.25 + draw()) + draw();
    let corner = weighted(&[0.75 * 0.75, 0.75 * 0.25, 0.25 * 0.75, 0.25 * 0.25]);
    let axes = vec![1, 2];
    let pool = AveragePool { window: Window::plain([2, 2], [1, 1]), count_include_pad: false };
    let (mode, coordinates) = (ResizeMode::Linear, Coordinates::HalfPixel);
    let resize = Resize { size: [4, 4], scales: [2.0, 2.0], mode, coordinates };
    let mode = ResizeMode::LinearAntialiased;
    let shrunk = Resize { size: [1, 2], scales: [0.5, 1.0], mode, coordinates };
    let halves = weighted(&[0.5; 2]);
    let rows = |x: &[f64], draw: Draw<'_>| halves(&[x[0], x[2]], draw);
    type Literal<'a> = &'a dyn Fn(&[f64], Draw<'_>) -> f64;
    let to_one = Resize { size: [1, 1], scales: [0.5, 0.5], mode, coordinates };
    let cases: [(npukit_graph::Op, usize, Literal<'_>); 7] = [
        (Reduce { kind: ReduceKind::Mean, axes, keep_dims: false }.into(), 0, &mean),
        (Reduce { kind: ReduceKind::Mean, axes: vec![1], keep_dims: false }.into(), 0, &rows),
        (to_one.into(), 0, &mean),
        (pool.into(), 0, &mean),
        (LeakyRelu { alpha: 0.25 }.into(), 1, &slope),
        (resize.into(), 5, &corner),
        (shrunk.into(), 0, &rows),
    ];
    for (op, place, literal) in cases {
        let mut net = Net::default();
        let (sum, x) = uncertain(&mut net, &x);
        let y = net.node(op, &[sum]);
        let worst = worst(&|draw: Draw<'_>| vec![literal(&x, draw)])[0];
        let bounds = reals(&bounds(&net.giving(y)).unwrap());
        assert!((0.99..=1.000_001).contains(&(worst / bounds[place])), "{worst} to {}", bounds[place]);
    }
}

/// An operand at the upper end of a range can only decrease, one at the lower end only increase.
#[test]
fn both_ends_of_an_error_are_tried() {
    let mut net = Net::default();
    let (sum, _) = uncertain(&mut net, &f32s(&[1, 2], &[0.0, -5.0]));
    let one = net.constant(f32s(&[1, 2], &[1.0, 1.0]));
    let twice = net.node(Binary { kind: BinaryKind::Add }, &[sum, one]);
    let y = net.node(Clip { min: -3.0, max: 2.0 }, &[twice]);
    let machine = |draw: Draw<'_>| {
        let [min, max] = [-3.0 + draw(), 2.0 + draw()];
        [2.0, -3.0].iter().map(|x| (x + draw() + draw()).clamp(min, max)).collect()
    };
    // The limits of the range are rounded, too; at one end, the operand's own error hides that.
    judge(&net.giving(y), &machine, 1.501);
}

/// Numbers that are parameters instead of operands are rounded like constants.
#[test]
fn bounds_and_borders_are_rounded() {
    let x = f32s(&[1, 2], &[4.0, -7.0]);
    let mut net = Net::default();
    let (sum, x) = uncertain(&mut net, &x);
    let y = net.node(Clip { min: -3.0, max: 2.0 }, &[sum]);
    let machine = |draw: Draw<'_>| {
        let [min, max] = [-3.0 + draw(), 2.0 + draw()];
        x.iter().map(|x| (x + draw()).clamp(min, max)).collect()
    };
    judge(&net.giving(y), &machine, 1.001);
    let mut net = Net::default();
    let input = net.input(f32s(&[1, 2], &[4.0, -7.0]));
    let y = net.node(Pad { pads: vec![[0, 0], [1, 1]], mode: PadMode::Constant(0.5) }, &[input]);
    let bound = bounds(&net.giving(y)).unwrap();
    assert!(floats(&bound).iter().all(|bound| (STEP / 2.0..STEP / 2.0 * 1.001).contains(bound)), "{bound:?}");
    for (extrapolation, expected) in [(0.0, 0.0), (0.5, STEP / 2.0)] {
        let mut net = Net::default();
        let input = net.input(f32s(&[1, 1, 2, 1], &[4.0, -7.0]));
        let resize = Resize {
            size: [1, 2],
            scales: [1.0, 1.0],
            mode: ResizeMode::Nearest(NearestMode::Floor),
            coordinates: Coordinates::TfCropAndResize(Crop { roi: [[0.0, 1.0], [0.0, 3.0]], extrapolation }),
        };
        let y = net.node(resize, &[input]);
        let bound = floats(&bounds(&net.giving(y)).unwrap())[0];
        assert!((expected..=expected * 1.001 + 1e-6).contains(&bound), "{bound} for {extrapolation}");
    }
}
