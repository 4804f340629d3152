//! Decomposition of operators that the lookup extension makes possible: Softmax, LogSoftmax,
//! normalizations by statistics of their operand, LRN, division by an activation, and reductions
//! that end with a function. One over a root becomes a single function.
//!
//! Means of whole images are taken axis by axis, so that sums stay small in a fixed-point format.

use std::collections::HashSet;

use npukit_graph::op::{
    Binary, BinaryKind, GroupNormalization, Lrn, MatMul, Norm, Pow, Reduce, ReduceKind, Unary, UnaryKind,
};
use npukit_graph::{Graph, Node, Op, ValueId};

use super::add_floats;
use super::parts::{Parts, replace_nodes};
use crate::config::Config;

/// Maximum number of channels for which groups or neighbors are described by a square matrix.
const MAX_CHANNELS: usize = 1024;

/// Decomposes every such operator.
pub fn rewrite(graph: &mut Graph, config: &Config) {
    // One table is a step function, which is too coarse for an exponential in floats.
    if !config.has_lookup() || config.lookup_tables == 1 && config.data_type.format().step().is_none() {
        return;
    }
    replace_nodes(graph, |parts, node| parts.write(node));
    remove_unread_roots(graph);
}

/// Removes roots without readers; values keep their numbers.
fn remove_unread_roots(graph: &mut Graph) {
    let read: HashSet<ValueId> =
        graph.nodes.iter().flat_map(|node| &node.inputs).chain(&graph.outputs).copied().collect();
    graph.nodes.retain(|node| !is_root(node) || node.outputs.iter().any(|output| read.contains(output)));
}

fn is_root(node: &Node) -> bool {
    matches!(node.op, Op::Unary(Unary { kind: UnaryKind::Sqrt }))
}

impl Parts<'_> {
    /// Emits the parts of `node`, with its result last; `None` if it is not decomposed.
    fn write(&mut self, node: &Node) -> Option<()> {
        let x = *node.inputs.first()?;
        match &node.op {
            Op::Softmax(op) => {
                let (_, powers, sum) = self.exponentials(x, (op.axis..op.axis_end).collect())?;
                let inverse = self.unary(UnaryKind::Reciprocal, sum)?;
                self.binary(BinaryKind::Mul, powers, inverse)?;
            }
            Op::LogSoftmax(op) => {
                let (shifted, _, sum) = self.exponentials(x, (op.axis..op.axis_end).collect())?;
                let logarithm = self.unary(UnaryKind::Log, sum)?;
                self.binary(BinaryKind::Sub, shifted, logarithm)?;
            }
            Op::Binary(op) if op.kind == BinaryKind::Div => {
                let divisor = *node.inputs.get(1)?;
                if self.graph.constant(divisor).is_some() {
                    return None;
                }
                let inverse = self.inverse(divisor)?;
                self.binary(BinaryKind::Mul, x, inverse)?;
            }
            Op::Unary(Unary { kind: UnaryKind::Reciprocal }) => {
                let root = self.root_of(x)?;
                self.inverse_root(root)?;
            }
            Op::Reduce(op) => self.reduction(x, op)?,
            Op::GroupNormalization(op) => self.group_normalization(node, x, op)?,
            Op::Lrn(op) => self.response_normalization(x, op)?,
            _ => self.normalization(node, x)?,
        }
        Some(())
    }

    /// Emits a reduction that ends with a function.
    fn reduction(&mut self, x: ValueId, reduce: &Reduce) -> Option<()> {
        let with = |kind| Reduce { kind, ..reduce.clone() };
        let (operand, kind, last) = match reduce.kind {
            ReduceKind::L2 => (x, ReduceKind::SumSquare, UnaryKind::Sqrt),
            ReduceKind::LogSum => (x, ReduceKind::Sum, UnaryKind::Log),
            ReduceKind::LogSumExp => (self.unary(UnaryKind::Exp, x)?, ReduceKind::Sum, UnaryKind::Log),
            _ => return None,
        };
        let reduced = self.add("reduced", with(kind), &[operand])?;
        self.unary(last, reduced)?;
        Some(())
    }

    /// Emits a normalization by statistics of its operand; images are `[n, .., c]`.
    fn normalization(&mut self, node: &Node, x: ValueId) -> Option<()> {
        let rank = self.graph.shape(x).len();
        let (normal, parameters) = match &node.op {
            Op::LayerNormalization(op) => {
                let centered = self.centered(x, &[(op.axis..rank).collect()])?;
                (self.divided(centered, &[(op.axis..rank).collect()], op.epsilon)?, 1)
            }
            Op::InstanceNormalization(op) => {
                let axes: Vec<Vec<usize>> = (1..rank.checked_sub(1)?).map(|axis| vec![axis]).collect();
                let centered = self.centered(x, &axes)?;
                (self.divided(centered, &axes, op.epsilon)?, 1)
            }
            Op::RmsNormalization(op) => (self.divided(x, &[(op.axis..rank).collect()], op.epsilon)?, 1),
            Op::LpNormalization(op) => {
                let kind = match op.norm {
                    Norm::L1 => ReduceKind::L1,
                    Norm::L2 => ReduceKind::SumSquare,
                };
                let norm = self.reduce(kind, vec![op.axis], x)?;
                let inverse = match op.norm {
                    Norm::L1 => self.unary(UnaryKind::Reciprocal, norm)?,
                    Norm::L2 => self.inverse_root(norm)?,
                };
                (self.binary(BinaryKind::Mul, x, inverse)?, node.inputs.len())
            }
            _ => return None,
        };
        self.scaled(normal, node.inputs.get(parameters..)?)
    }

    /// Emits a group normalization. Means of channel groups are products with a matrix, after the
    /// means over positions.
    fn group_normalization(&mut self, node: &Node, x: ValueId, op: &GroupNormalization) -> Option<()> {
        let (&channels, outer) = self.graph.shape(x).split_last()?;
        let (axes, width) = (1..outer.len(), channels.checked_div(op.groups)?);
        let share = move |a: usize, b: usize| if a / width == b / width { 1.0 / width as f32 } else { 0.0 };
        let groups = self.matrix("groups", channels, share)?;
        let mean = |parts: &mut Self, value| {
            let along = |value, axis| parts.reduce(ReduceKind::Mean, vec![axis], value);
            let positions = axes.clone().try_fold(value, along)?;
            parts.add("mean", MatMul, &[positions, groups])
        };
        let middle = mean(self, x)?;
        let centered = self.binary(BinaryKind::Sub, x, middle)?;
        let squares = self.binary(BinaryKind::Mul, centered, centered)?;
        let variance = mean(self, squares)?;
        let normal = self.over_root(centered, variance, op.epsilon)?;
        self.scaled(normal, node.inputs.get(1..)?)
    }

    /// Emits local response normalization: `x` times a power of the bias plus the sum of squares of
    /// neighboring channels, which is a product.
    fn response_normalization(&mut self, x: ValueId, op: &Lrn) -> Option<()> {
        let &channels = self.graph.shape(x).last()?;
        let (before, after) = (op.size.checked_sub(1)? / 2, op.size / 2);
        let weight = op.alpha / op.size as f32;
        let near = |from: usize, to: usize| from + before >= to && from <= to + after;
        let element = |from, to| if near(from, to) { weight } else { 0.0 };
        let window = self.matrix("window", channels, element)?;
        let squares = self.binary(BinaryKind::Mul, x, x)?;
        let sum = self.add("sum", MatMul, &[squares, window])?;
        let bias = self.scalar("bias", op.bias)?;
        let base = self.binary(BinaryKind::Add, sum, bias)?;
        let exponent = self.scalar("exponent", -op.beta)?;
        let factor = self.add("power", Pow, &[base, exponent])?;
        self.binary(BinaryKind::Mul, x, factor)?;
        Some(())
    }

    /// Adds a constant matrix; `None` if it would be too large.
    fn matrix(&mut self, what: &str, size: usize, element: impl Fn(usize, usize) -> f32) -> Option<ValueId> {
        if size > MAX_CHANNELS {
            return None;
        }
        let elements = (0..size * size).map(|i| element(i / size, i % size)).collect();
        add_floats(self.graph, &format!("{}/{what}", self.name), vec![size, size], elements)
    }

    /// Emits `value` times the first parameter, plus the second.
    fn scaled(&mut self, value: ValueId, parameters: &[ValueId]) -> Option<()> {
        let kinds = [BinaryKind::Mul, BinaryKind::Add];
        let mut steps = kinds.into_iter().zip(parameters);
        steps.try_fold(value, |value, (kind, &parameter)| self.binary(kind, value, parameter)).map(drop)
    }

    /// Emits `x` minus its maximum along `axes`, the exponentials of that, and their sum.
    fn exponentials(&mut self, x: ValueId, axes: Vec<usize>) -> Option<(ValueId, ValueId, ValueId)> {
        let maximum = self.reduce(ReduceKind::Max, axes.clone(), x)?;
        let shifted = self.binary(BinaryKind::Sub, x, maximum)?;
        let powers = self.unary(UnaryKind::Exp, shifted)?;
        Some((shifted, powers, self.reduce(ReduceKind::Sum, axes, powers)?))
    }

    /// Emits `x` minus its mean.
    fn centered(&mut self, x: ValueId, axes: &[Vec<usize>]) -> Option<ValueId> {
        let mean = self.mean(x, axes)?;
        self.binary(BinaryKind::Sub, x, mean)
    }

    /// Emits `x / sqrt(mean of squares + epsilon)`.
    fn divided(&mut self, x: ValueId, axes: &[Vec<usize>], epsilon: f32) -> Option<ValueId> {
        let squares = self.binary(BinaryKind::Mul, x, x)?;
        let mean = self.mean(squares, axes)?;
        self.over_root(x, mean, epsilon)
    }

    /// Emits `x / sqrt(variance + epsilon)`.
    fn over_root(&mut self, x: ValueId, variance: ValueId, epsilon: f32) -> Option<ValueId> {
        let epsilon = self.scalar("epsilon", epsilon)?;
        let variance = self.binary(BinaryKind::Add, variance, epsilon)?;
        let inverse = self.inverse_root(variance)?;
        self.binary(BinaryKind::Mul, x, inverse)
    }

    /// Emits the mean along groups of axes, one group after another.
    fn mean(&mut self, x: ValueId, axes: &[Vec<usize>]) -> Option<ValueId> {
        axes.iter().try_fold(x, |value, axes| self.reduce(ReduceKind::Mean, axes.clone(), value))
    }

    /// Emits `1 / x`.
    fn inverse(&mut self, x: ValueId) -> Option<ValueId> {
        match self.root_of(x) {
            Some(square) => self.inverse_root(square),
            None => self.unary(UnaryKind::Reciprocal, x),
        }
    }

    /// Returns the value that has the square root `x`; `None` if `x` is not a square root.
    fn root_of(&self, x: ValueId) -> Option<ValueId> {
        let node = self.graph.nodes.iter().rev().find(|node| node.outputs.contains(&x))?;
        is_root(node).then(|| node.inputs.first().copied()).flatten()
    }

    /// Emits `1 / sqrt(x)` as one function: rounding the root first would lose most bits of a small
    /// one.
    fn inverse_root(&mut self, x: ValueId) -> Option<ValueId> {
        let exponent = self.scalar("exponent", -0.5)?;
        self.add("inverse_root", Pow, &[x, exponent])
    }

    fn scalar(&mut self, what: &str, value: f32) -> Option<ValueId> {
        add_floats(self.graph, &format!("{}/{what}", self.name), Vec::new(), vec![value])
    }

    fn reduce(&mut self, kind: ReduceKind, axes: Vec<usize>, x: ValueId) -> Option<ValueId> {
        self.add("reduced", Reduce { kind, axes, keep_dims: true }, &[x])
    }

    fn binary(&mut self, kind: BinaryKind, left: ValueId, right: ValueId) -> Option<ValueId> {
        self.add("combined", Binary { kind }, &[left, right])
    }

    fn unary(&mut self, kind: UnaryKind, x: ValueId) -> Option<ValueId> {
        self.add("function", Unary { kind }, &[x])
    }
}
