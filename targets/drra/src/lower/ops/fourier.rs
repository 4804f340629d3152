//! Fourier transforms: radix 2 for powers of two, with one stream per stage; matrix products for
//! other lengths.
//!
//! After stage `s`, a value holds `L = 2^s` results of each of `M = length / L` sums over every
//! `M`-th point, at `k M + m`. The next stage computes from `a` at `k M + m` and `b` at `k M + m +
//! M / 2` the results `a + w b` for `k` and `a - w b` for `k + L`, with `w = e^(-i pi k / L)`.
//! These are sums of four products of the parts of `a` and `b`, without subtractions. Results end
//! up in order.

use npukit_graph::op::Dft;
use npukit_graph::{Node, ValueId};
use npukit_lower::Reject;

use super::dense::dots;
use super::layout::padded;
use super::{operand, result};
use crate::lower::Lowering;
use crate::lower::format::{Products, largest_fraction};
use crate::machine::exec::word::integer;
use crate::program::gather::{Axes, Gather, Source, Tail};
use crate::program::plan::{Place, Task};

/// Maximum number of elements of a transform's matrix.
const MAX_FACTORS: usize = 1 << 22;

/// Signals along an axis of a tensor `[outer, points, inner, parts]`.
struct Signals {
    outer: usize,
    points: usize,
    inner: usize,
    /// 1 if real, 2 if complex.
    parts: usize,
}

impl Signals {
    fn shape(&self) -> [usize; 4] {
        [self.outer, self.points, self.inner, self.parts]
    }
}

/// Lowers a Fourier transform.
///
/// # Errors
///
/// The reason why the node cannot be lowered, and what to change.
pub fn dft(lowering: &mut Lowering<'_>, node: &Node, dft: &Dft) -> Result<(), Reject> {
    let x = operand(node, 0)?;
    let missing = || Reject::new("its operand does not have the axis", "check the model");
    let (before, after) = lowering.graph.shape(x).split_at_checked(dft.axis).ok_or_else(missing)?;
    let &[points, ref inner @ .., parts] = after else { return Err(missing()) };
    let (outer, inner) = (before.iter().product(), inner.iter().product());
    let signals = Signals { outer, points, inner, parts };
    match dft.length.is_power_of_two() && dft.length > 2 {
        true => radix_2(lowering, node, dft, signals),
        false => matrix(lowering, node, dft, &signals),
    }
}

/// Lowers stages of butterflies. Intermediate values are bounded by both the operand and the
/// results.
fn radix_2(lowering: &mut Lowering<'_>, node: &Node, dft: &Dft, mut signals: Signals) -> Result<(), Reject> {
    let (x, y) = (operand(node, 0)?, result(node)?);
    let stages = dft.length.ilog2();
    let (from, to) = (lowering.format.fraction(x), lowering.format.fraction(y));
    let mut value = lowering.read(node, x, from)?;
    if signals.points != dft.length {
        value = resized(lowering, node, value, &mut signals, dft.length, from);
    }
    let shape = [signals.outer, dft.length, signals.inner, 2];
    let full = if dft.onesided { lowering.temporary(&node.name, shape.to_vec(), to) } else { y.0 as usize };
    let mut fraction = from;
    for stage in 0..stages {
        // Every stage at most doubles values. The inverse halves them before each stage. A part may
        // grow by another half bit.
        let (grown, left) = (stage as i32 + 1, (stages - stage) as i32 - 1);
        let next = match dft.inverse {
            false => (from - grown).max(to) - 1,
            true => from.max(to - left) - 1,
        };
        let (next, is_last) = if left == 0 { (to, true) } else { (next, false) };
        let butterflies = Butterflies { dft, signals: &signals, done: 1 << stage };
        let factors = butterflies.factors();
        let exact = largest_fraction(factors.iter().copied());
        let products = lowering.format.products([fraction, exact], [false, true], next, None)?;
        let [own, of_factors] = products.operands;
        if let Source::Value(number) = value {
            value = Source::Value(lowering.scaled(node, number, own));
        }
        let words = factors.iter().map(|&factor| integer(factor, of_factors)).collect();
        let next = products.result;
        let result = match is_last && next == to {
            true => full,
            false => lowering.temporary(&node.name, shape.to_vec(), next),
        };
        lowering.push(node, result, butterflies.tasks(value, Source::Constant(words), &products));
        if is_last && result != full {
            lowering.scale(node, result, full);
        }
        (value, fraction, signals.parts) = (Source::Value(if is_last { full } else { result }), next, 2);
    }
    if dft.onesided {
        lowering.push(node, y.0 as usize, vec![first_results(dft, &signals, value)]);
    }
    Ok(())
}

/// Copies the results of a one-sided transform from the whole spectrum.
fn first_results(dft: &Dft, signals: &Signals, whole: Source) -> Task {
    let rest = signals.inner * 2;
    let elements = vec![(signals.outer, dft.length * rest), (dft.results() * rest, 1)];
    let from = Gather { elements, ..Gather::rows(whole, 1, 1) };
    Task::Move { from, to: Place::all(signals.outer * dft.results() * rest), shift: 0 }
}

/// Returns signals of `length` points, padded with zeros or truncated.
fn resized(
    lowering: &mut Lowering<'_>,
    node: &Node,
    source: Source,
    signals: &mut Signals,
    length: usize,
    fraction: i32,
) -> Source {
    let (own, kept) = (signals.shape(), signals.points.min(length));
    signals.points = length;
    let shape = signals.shape();
    let value = lowering.temporary(&node.name, shape.to_vec(), fraction);
    let mut tasks = padded(source, &[own[0], kept, own[2], own[3]], &shape, &[0; 4], 0);
    if let Some(Task::Move { from, .. }) = tasks.last_mut() {
        let rest = own[2] * own[3];
        from.elements = vec![(own[0], own[1] * rest), (kept * rest, 1)];
    }
    lowering.push(node, value, tasks);
    Source::Value(value)
}

/// Stage of a radix-2 transform.
struct Butterflies<'a> {
    dft: &'a Dft,
    signals: &'a Signals,
    /// Number of results of each sum so far, `L`.
    done: usize,
}

impl Butterflies<'_> {
    /// Distance between `a` and `b`, `M / 2`.
    const fn half(&self) -> usize {
        self.dft.length / self.done / 2
    }

    /// Factors of the parts of `a` and `b` for each part of the result, for `k + L t`, `t` = 0
    /// first. Real points are combined in the first stage, in which `w` is 1.
    fn factors(&self) -> Vec<f64> {
        let factor = if self.dft.inverse { 0.5 } else { 1.0 };
        let results = [true, false].into_iter().flat_map(|adds| (0..self.done).map(move |k| (adds, k)));
        let all = results.flat_map(|(adds, k)| {
            let [re, im] = self.dft.root(k * self.half()).map(|part| if adds { part } else { -part });
            match self.signals.parts {
                1 => vec![1.0, re],
                _ => vec![1.0, 0.0, re, -im, 0.0, 1.0, im, re],
            }
        });
        all.map(|value| value * factor).collect()
    }

    fn tasks(&self, value: Source, factors: Source, products: &Products) -> Vec<Task> {
        let Signals { outer, inner, parts, .. } = *self.signals;
        let (rest, half) = (inner * parts, self.half());
        // The number of parts of a result, and the number of words per part.
        let (results, words) = (parts, 2 * parts);
        let axes = |of_value: bool| -> Axes {
            let pick = |own: usize, other: usize| if of_value { own } else { other };
            vec![
                (outer, pick(self.dft.length * rest, 0)),
                (2, pick(0, self.done * results * words)),
                (self.done, pick(2 * half * rest, results * words)),
                (half, pick(rest, 0)),
                (inner, pick(parts, 0)),
                (results, pick(0, words)),
            ]
        };
        let gather = |source, of_value, elements| Gather {
            source,
            offset: 0,
            vectors: axes(of_value),
            elements,
            tail: Tail::None,
        };
        let operands = vec![
            gather(value, true, vec![(2, half * rest), (parts, 1)]),
            gather(factors, false, vec![(words, 1)]),
        ];
        let count = operands[0].count();
        // Sums of real points have imaginary parts of 0.
        let to = Place { offset: 0, axes: vec![(count, 2 / parts)] };
        let stage = Task::Vectors { work: products.sum, operands, to };
        if parts == 1 { vec![Task::Fill(0), stage] } else { vec![stage] }
    }
}

/// Lowers every result as a sum over all points.
fn matrix(lowering: &mut Lowering<'_>, node: &Node, dft: &Dft, signals: &Signals) -> Result<(), Reject> {
    let (x, y): (ValueId, ValueId) = (operand(node, 0)?, result(node)?);
    let Signals { outer, points, inner, parts } = *signals;
    let (kept, results) = (points.min(dft.length), dft.results());
    let words = kept * parts;
    if words.saturating_mul(2 * results) > MAX_FACTORS {
        let reason = format!("a transform of {kept} points to {results}, which is not a power of two");
        return Err(Reject::new(reason, "pad the signal to a power of two"));
    }
    let factor = if dft.inverse { 1.0 / dft.length as f64 } else { 1.0 };
    let columns = (0..results).flat_map(|k| [(k, 0), (k, 1)]);
    let factors: Vec<f64> = columns
        .flat_map(|(k, part)| (0..kept).map(move |n| (k, part, n)))
        .flat_map(|(k, part, n)| {
            let [re, im] = dft.root(k * n);
            let own = if part == 0 { [re, -im] } else { [im, re] };
            own.into_iter().take(parts).map(|value| value * factor)
        })
        .collect();
    let exact = largest_fraction(factors.iter().copied());
    let fraction = |id| lowering.format.fraction(id);
    let products = lowering.format.products([fraction(x), exact], [false, true], fraction(y), None)?;
    let [own, of_factors] = products.operands;
    let source = lowering.read(node, x, own)?;
    let constant = Source::Constant(factors.iter().map(|&factor| integer(factor, of_factors)).collect());
    let columns = Gather::rows(constant, 2 * results, words);
    let mut tasks = Vec::new();
    for number in 0..outer {
        let offset = number * points * inner * parts;
        let (vectors, elements) = (vec![(inner, parts)], vec![(kept, inner * parts), (parts, 1)]);
        let signal = Gather { source: source.clone(), offset, vectors, elements, tail: Tail::None };
        let axes = vec![(inner, 2), (results, inner * 2), (2, 1)];
        let to = Place { offset: number * results * inner * 2, axes };
        tasks.push(dots(products.sum, signal, columns.clone(), to)?);
    }
    let to = lowering.unscaled(node, y, products.result);
    lowering.push(node, to, tasks);
    lowering.finish(node, to, y);
    Ok(())
}
