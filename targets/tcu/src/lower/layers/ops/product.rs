//! Matrix-product step shared by convolutions and products: [`step`] lays out its weights.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use npukit_numeric::{NumberFormat, Tensor};
use rayon::prelude::*;

use crate::lower::Order;
use crate::lower::layers::hir::{Bias, MatMul, Rows, Step, Term, WeightSet};
use crate::lower::layers::{Builder, Reject};
use crate::lower::memory::object::{VecRef, converted};

/// A matrix product before its weights are laid out.
pub struct Product<'a> {
    /// Name of the weights' object.
    pub name: String,
    /// Terms with their input vectors.
    pub terms: Vec<Term>,
    /// Number of output channels.
    pub channels: usize,
    /// Bias, one element per output channel.
    pub bias: Option<&'a [f32]>,
    /// Term that carries the bias in the released compiler's order.
    pub upstream_bias_term: usize,
}

impl Product<'_> {
    /// Creates a product with terms that select lanes and keep their values.
    pub fn of_selections(name: String, terms: Vec<Term>, channels: usize) -> Self {
        Self { name, terms, channels, bias: None, upstream_bias_term: 0 }
    }
}

/// Lays out weights: for each output block, the rows of one term after another.
///
/// `weight(term, lane, channel)` is the weight from input lane `lane` of `term` to output
/// `channel`.
///
/// # Errors
///
/// Fails like [`Builder::require_constants`].
pub fn step(
    builder: &mut Builder,
    product: &Product,
    weight: impl Fn(usize, usize, usize) -> f32 + Sync,
) -> Result<Step, Reject> {
    let n = builder.array_size();
    let blocks = product.channels.div_ceil(n);
    let mut stored = Stored { n, data: Vec::new(), known: HashMap::new() };
    // For each set of weights: its first row and its bias.
    let mut sets: Vec<Option<(usize, Bias)>> = Vec::with_capacity(blocks * product.terms.len());
    for block in 0..blocks {
        let bias = bias_row(builder, product.bias, block);
        let format = builder.objects.format();
        let of_term = |term| {
            let weight = |lane, channel| weight(term, lane, channel);
            matrix(format, n, product.channels, block, weight)
        };
        let found: Vec<_> = (0..product.terms.len()).into_par_iter().map(of_term).collect();
        builder.objects.count_saturated(found.iter().map(|(_, saturated)| saturated).sum());
        let matrices: Vec<Option<Matrix>> = found.into_iter().map(|(matrix, _)| matrix).collect();
        let mut rows = stored.data.len() / n;
        for _ in matrices.iter().flatten() {
            rows += n;
            builder.require_constants(rows as u64)?;
        }
        let biases = match bias {
            Some(_) => bias_terms(builder.order, product, &matrices),
            None => Vec::new(),
        };
        for (term, rows) in matrices.into_iter().enumerate() {
            let kind = biases.iter().find(|&&(with, _)| with == term).map_or(Bias::None, |&(_, kind)| kind);
            let zeros = || Matrix { rows: vec![0; n * n], hash: 0 };
            let rows = if kind == Bias::None { rows } else { Some(rows.unwrap_or_else(zeros)) };
            let bias = bias.as_deref().filter(|_| kind != Bias::None);
            sets.push(rows.map(|matrix| (stored.add(matrix, bias), kind)));
        }
    }
    let object = builder.objects.add_constant(product.name.clone(), stored.data);
    let set = |(first_row, bias)| WeightSet {
        rows: Rows::Constant(VecRef { object, index: first_row as u32 }),
        bias,
    };
    let sets = sets.into_iter().map(|found| found.map(set)).collect();
    let terms = product.terms.iter().map(|term| Term { inputs: term.inputs.clone() }).collect();
    Ok(Step::MatMul(MatMul { terms, sets }))
}

/// Weight sets of a product, row by row.
struct Stored {
    /// Scalars of a row, and rows of a set without its bias.
    n: usize,
    data: Vec<i32>,
    /// Index of the first scalar of each set without a bias, by hash: equal sets are stored once.
    known: HashMap<u64, usize>,
}

impl Stored {
    /// Stores a set after its bias, if any, and returns its first row.
    fn add(&mut self, Matrix { rows, hash }: Matrix, bias: Option<&[i32]>) -> usize {
        let mut first = self.data.len();
        if bias.is_none() {
            first = *self.known.entry(hash).or_insert(first);
        }
        if first == self.data.len() || self.data[first..first + self.n * self.n] != rows {
            first = self.data.len();
            self.data.extend(bias.into_iter().flatten());
            self.data.extend(rows);
        }
        first / self.n
    }
}

pub(crate) fn hash(rows: &[i32]) -> u64 {
    let mut hasher = DefaultHasher::new();
    rows.hash(&mut hasher);
    hasher.finish()
}

/// Returns the terms that add a block's bias. A single term that no padding touches needs no extra
/// instruction, and neither do several terms that cover each pixel exactly once.
pub(crate) fn bias_terms(order: Order, product: &Product, matrices: &[Option<Matrix>]) -> Vec<(usize, Bias)> {
    if order == Order::Upstream {
        return vec![(product.upstream_bias_term, Bias::All)];
    }
    let present = |term: &usize| matrices[*term].is_some();
    let whole = |term: &usize| product.terms[*term].inputs.iter().all(|input| !input.is_zero());
    let all = 0..matrices.len();
    if let Some(whole) = all.clone().find(|t| present(t) && whole(t)) {
        return vec![(whole, Bias::All)];
    }
    // Default: without any weights, the first term carries the bias.
    let first = all.clone().find(present).unwrap_or(0);
    shared_out(product, all.filter(present)).unwrap_or_else(|| vec![(first, Bias::All)])
}

/// Picks terms, in order, such that each pixel has an input in exactly one of them; `None` if that
/// is impossible.
pub(crate) fn shared_out(
    product: &Product,
    terms: impl Iterator<Item = usize>,
) -> Option<Vec<(usize, Bias)>> {
    let pixels = product.terms.first()?.inputs.len();
    let (mut taken, mut left) = (vec![false; pixels], pixels);
    let mut chosen = Vec::new();
    for term in terms {
        let inputs = &product.terms[term].inputs;
        let has_input = || inputs.iter().enumerate().filter(|(_, input)| !input.is_zero()).map(|(i, _)| i);
        if has_input().any(|i| taken[i]) {
            continue;
        }
        has_input().for_each(|i| (taken[i], left) = (true, left - 1));
        chosen.push((term, Bias::Present));
    }
    (left == 0).then_some(chosen)
}

pub(crate) fn bias_row(builder: &mut Builder, bias: Option<&[f32]>, block: usize) -> Option<Vec<i32>> {
    let n = builder.array_size();
    let bias = bias?;
    // Default: lanes after the last channel are never read.
    let lane = |lane: usize| bias.get(block * n + lane).copied().unwrap_or(0.0);
    let row: Vec<i32> = (0..n).map(|l| builder.objects.raw(lane(l))).collect();
    row.iter().any(|&raw| raw != 0).then_some(row)
}

/// One array full of raw weights.
pub(crate) struct Matrix {
    /// Raw weights, row by row.
    rows: Vec<i32>,
    hash: u64,
}

/// Returns the weights of a block in arrays of `n`, `None` if all are zero, and the number of
/// saturated weights.
pub(crate) fn matrix(
    format: NumberFormat,
    n: usize,
    channels: usize,
    block: usize,
    weight: impl Fn(usize, usize) -> f32,
) -> (Option<Matrix>, u64) {
    let (mut rows, mut saturated) = (vec![0; n * n], 0);
    for (lane, row) in rows.chunks_exact_mut(n).enumerate() {
        for (raw, channel) in row.iter_mut().zip(block * n..channels) {
            let (value, saturates) = converted(format, weight(lane, channel));
            *raw = value;
            saturated += u64::from(saturates);
        }
    }
    let is_zero = rows.iter().all(|&raw| raw == 0);
    (if is_zero { None } else { Some(Matrix { hash: hash(&rows), rows }) }, saturated)
}

/// Returns one element per channel of a tensor of `shape` that has one per channel or one for all;
/// `None` for other shapes.
pub fn per_channel(elements: &[f32], shape: &[usize], channels: usize) -> Option<Vec<f32>> {
    match elements {
        &[only] => Some(vec![only; channels]),
        _ if elements.len() == channels && shape.last() == Some(&channels) => Some(elements.to_vec()),
        _ => None,
    }
}

/// Returns the elements of a constant that is known to hold floats, such as one from [`constant`].
pub fn floats(constant: &Tensor) -> &[f32] {
    constant.as_f32().expect("weights have been checked to be floats")
}
