//! Quantization errors and distributions, checked element by element.

use npukit_graph::op::{MatMul, Relu};
use npukit_graph::quantize::rows::{dequantize_weights, quantize_weights};
use npukit_graph::quantize::{
    Distributions, Kind, Loss, Losses, Method, Quantization, Rounding, Scheme, quantize,
};
use npukit_graph::rescale::Ranges;
use npukit_graph::{Statistic, ValueId, evaluate};
use npukit_numeric::Tensor;
use proptest::prelude::*;

use crate::support::{Net, f32s, floats, noise};

const ID: ValueId = ValueId(1);

fn scheme(bits: u32) -> Scheme {
    Scheme { activations: bits, rounding: Rounding::HalfEven, ..Scheme::default() }
}

/// Checks a loss against a computation over all elements at once.
fn judge(loss: &Loss, values: &[f32], held: Option<(u32, i32)>) {
    let finite: Vec<f64> = values.iter().filter(|x| x.is_finite()).map(|&x| f64::from(x)).collect();
    let extreme = |of: fn(f64, f64) -> f64| finite.iter().copied().reduce(of).unwrap_or(0.0) as f32;
    assert_eq!([loss.minimum(), loss.maximum()], [extreme(f64::min), extreme(f64::max)]);
    let Some((bits, fraction)) = held else {
        assert_eq!((loss.saturated(), loss.underflowed(), loss.bits_used()), (0.0, 0.0, 0));
        assert_eq!((loss.relative(), loss.decibels()), (0.0, None));
        return;
    };
    let step = 2f64.powi(-fraction);
    let (least, most) = (-(1i64 << (bits - 1)), (1i64 << (bits - 1)) - 1);
    let wanted: Vec<i64> = finite.iter().map(|x| (x / step).round_ties_even() as i64).collect();
    let integers: Vec<i64> = wanted.iter().map(|&integer| integer.clamp(least, most)).collect();
    let share = |count: usize| count as f64 / finite.len().max(1) as f64;
    assert_eq!(loss.saturated(), share(wanted.iter().zip(&integers).filter(|(a, b)| a != b).count()));
    let lost = finite.iter().zip(&integers).filter(|(x, integer)| **x != 0.0 && **integer == 0).count();
    assert_eq!(loss.underflowed(), share(lost));
    let holds = |bits: u32| integers.iter().all(|x| x.unsigned_abs() < 1 << (bits - 1));
    assert_eq!(loss.bits_used(), if holds(1) { 0 } else { (2..=33).find(|&bits| holds(bits)).unwrap() });
    let signal: f64 = finite.iter().map(|x| x * x).sum();
    let noise: f64 = finite.iter().zip(&integers).map(|(x, i)| (x - *i as f64 * step).powi(2)).sum();
    if noise == 0.0 {
        assert_eq!((loss.relative(), loss.decibels()), (0.0, None));
    } else {
        let near = |found: f64, expected: f64| (found - expected).abs() <= 1e-9 * expected.abs().max(1.0);
        assert!(near(loss.relative(), (noise / signal).sqrt()), "{} of {values:?}", loss.relative());
        assert!(near(loss.decibels().unwrap(), 10.0 * (signal / noise).log10()));
    }
}

fn values() -> impl Strategy<Value = Vec<f32>> {
    let special = prop::sample::select(vec![0.0, -0.0, f32::NAN, f32::INFINITY, f32::NEG_INFINITY]);
    prop::collection::vec(prop_oneof![special, -300.0..300.0f32, -1.0..1.0f32], 0..12)
}

fn tensor(values: &[f32]) -> Tensor {
    f32s(&[values.len()], values)
}

proptest! {
    #[test]
    fn losses_are_told_of_all_elements(
        parts in prop::collection::vec(values(), 1..4),
        (bits, fraction) in (2..12u32, -3..8i32),
        held in any::<bool>(),
    ) {
        let mut quantization = Quantization::new(scheme(bits));
        if held {
            quantization.set(ID, Kind::Activation, fraction);
        }
        let empty = Loss::new(&quantization, ID);
        let held = held.then_some((bits, fraction));
        judge(&empty, &[], held);
        let (mut whole, mut merged) = (empty.clone(), empty.clone());
        for part in &parts {
            let mut alone = empty.clone();
            alone.note(&tensor(part));
            judge(&alone, part, held);
            whole.note(&tensor(part));
            merged.merge(&alone);
        }
        let all = parts.concat();
        judge(&whole, &all, held);
        judge(&merged, &all, held);
        // Integer values are multiples of the step.
        let expected = held.map(|(bits, fraction)| {
            all.iter().map(|&x| quantization.scheme.integer(x, fraction, bits)).collect::<Vec<_>>()
        });
        prop_assert_eq!(quantization.integers(ID, &all), expected);
    }

    /// A percentile, checked through a fraction length that just holds it: larger elements are
    /// counted directly.
    #[test]
    fn percentiles_leave_out_so_many(
        values in prop::collection::vec(prop_oneof![Just(0.0f32), -100.0..100.0f32, -1.0..1.0f32], 1..60),
        percent in prop::sample::select(vec![50.0, 75.0, 90.0, 100.0]),
    ) {
        let mut net = Net::default();
        let x = net.input(tensor(&values));
        let y = net.node(Relu, &[x]);
        let net = net.giving(y);
        let mut seen = Distributions::new(&net.graph);
        seen.observe(&net.graph, &net.inputs).unwrap();
        let stated = std::collections::BTreeMap::new();
        let found = quantize(&net.graph, &seen, &Scheme::default(), Method::Percentile(percent), &stated);
        let fraction = found.fraction(y).unwrap();
        // The input is hidden: only a rectifier reads it, which saturates in the same way.
        let rectified = values.iter().map(|x| x.max(0.0)).collect::<Vec<_>>();
        let saturated = |fraction: i32| {
            rectified.iter().filter(|x| (f64::from(**x) * 2f64.powi(fraction)).round() > 127.0).count()
        };
        let allowed = ((1.0 - percent / 100.0) * values.len() as f64) as usize;
        prop_assert!(saturated(fraction) <= allowed, "{} of {} with {fraction}", saturated(fraction), values.len());
        // A step of the histogram is at most 2^-10 of the largest.
        let step = f64::from(rectified.iter().copied().fold(0.0, f32::max)) / 1024.0;
        let finer = rectified.iter().filter(|x| {
            let most = f64::from(**x) + step;
            (most * 2f64.powi(fraction + 1)).round() > 127.0
        });
        let zeros = rectified.iter().filter(|x| **x == 0.0).count();
        prop_assert!(finer.count() > allowed || zeros + allowed >= values.len(), "one more bit of fraction would fit as well");
    }
}

#[test]
fn constants_count_where_they_are_quantized() {
    let mut net = Net::default();
    let x = net.input(noise(&[1, 2], 1));
    let [w, other] = [[0.4, -1.1], [9.0, 9.0]].map(|data| net.constant(f32s(&[2, 1], &data)));
    let y = net.node(MatMul, &[x, w]);
    let z = net.node(MatMul, &[x, other]);
    net.graph.outputs.push(z);
    let net = net.giving(y);
    let mut quantization = Quantization::new(Scheme::default());
    quantization.set(w, Kind::Weight, 2);
    quantization.set(y, Kind::Activation, 2);
    let mut losses = Losses::of(&net.graph, &quantization);
    losses.note_constants(&net.graph, &quantization);
    let [of_w, of_other, of_y] = [w, other, y].map(|id| losses.get(id).unwrap());
    judge(of_w, &[0.4, -1.1], Some((8, 2)));
    judge(of_other, &[], None);
    judge(of_y, &[], Some((8, 2)));
    assert_eq!(quantization.constant(&net.graph, w), Some(vec![2, -4]));
    assert_eq!([other, x, y].map(|id| quantization.constant(&net.graph, id)), [None, None, None]);
}

/// Merging the ranges of separate samples gives the range of all samples.
#[test]
fn ranges_merge() {
    let mut net = Net::default();
    let x = net.input(f32s(&[2], &[1.0, f32::INFINITY]));
    let y = net.node(Relu, &[x]);
    let net = net.giving(y);
    let of = |values: [f32; 2]| {
        let mut ranges = Ranges::new(&net.graph);
        ranges.observe(&net.graph, &[f32s(&[2], &values)]).unwrap();
        ranges
    };
    let (low, high) = (of([-5.0, f32::INFINITY]), of([3.0, 4.0]));
    for merged in [low.clone().merge(&high), high.merge(&low)] {
        assert_eq!([x, y].map(|id| merged.of(id)), [5.0, 4.0]);
    }
}

/// Weights of a Gemm are stored by rows or by columns; both are quantized to 4 bits per output
/// channel.
#[test]
fn rows_are_output_channels() {
    use npukit_graph::op::Gemm;
    let (columns, rows) = ([7.0, 1.0, 3.0, 14.0, -6.4, 2.0], [7.0, 3.0, -6.4, 1.0, 14.0, 2.0]);
    for (trans_b, shape, data, expected) in [
        (false, [3, 2], columns, [7.0, 0.0, 3.0, 14.0, -6.0, 2.0]),
        (true, [2, 3], rows, [7.0, 3.0, -6.0, 0.0, 14.0, 2.0]),
    ] {
        let mut net = Net::default();
        let (x, w) = (net.input(noise(&[1, 3], 1)), net.constant(f32s(&shape, &data)));
        let y = net.node(Gemm { alpha: 1.0, beta: 1.0, trans_a: false, trans_b }, &[x, w]);
        let net = net.giving(y);
        let [found] = &quantize_weights(&net.graph).unwrap()[..] else { panic!("one matrix") };
        assert_eq!((found.rows.rows(), found.rows.columns(), found.by_rows), (2, 3, trans_b));
        assert_eq!(found.rows.codes(), [7, 3, -6, 0, 7, 1]);
        let dequantized = dequantize_weights(&net.graph).unwrap();
        assert_eq!(floats(dequantized.constant(w).unwrap()), expected);
        assert_eq!(evaluate(&dequantized, &net.inputs).unwrap()[0].shape(), [1, 2]);
    }
}
