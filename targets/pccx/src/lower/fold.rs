//! Folds gains and biases of norms into the weights of the products that follow: [`Folds`].
//!
//! `(g x + b) W` is `x (g W) + b W`. If only products with constants read a norm, neither the
//! machine nor the host multiplies by its gains.

use std::collections::{BTreeMap, BTreeSet};

use npukit_graph::op::BinaryKind;
use npukit_graph::{Graph, Node, NodeId, Op, ValueId};
use npukit_lower::Readers;

use super::ops::number;
use super::options::{Isa, Norms, Options};
use crate::lower::steps::{Folded, Folds, Step};
use crate::lower::work::Work;

impl Folds {
    /// Finds all possible folds of a graph; empty if the machine multiplies by gains.
    pub fn of(graph: &Graph, options: &Options) -> Self {
        let mut folds = Self::default();
        if options.norms == Norms::Host || options.isa == Isa::Ext {
            return folds;
        }
        let readers = Readers::of(graph);
        for id in graph.node_ids() {
            let node = graph.node(id);
            let Some((gain, bias)) = parameters(graph, node) else { continue };
            let normal = node.outputs[0];
            let folded = Folded { norm: id, normal, gain, bias, factor: 1.0, between: Vec::new() };
            let mut products = BTreeMap::new();
            if only_products(graph, &readers, normal, &folded, &mut products) && !products.is_empty() {
                folds.norms.insert(id);
                folds.products.extend(products);
            }
        }
        folds
    }

    /// Whether the gains of a norm are folded into products.
    pub fn has(&self, norm: NodeId) -> bool {
        self.norms.contains(&norm)
    }

    /// Returns the gains that are folded into a product.
    pub fn of_product(&self, product: NodeId) -> Option<&Folded> {
        self.products.get(&product)
    }

    /// Whether a node is between a norm and a product that takes over its effect.
    pub fn is_between(&self, node: NodeId) -> bool {
        self.products.values().any(|folded| folded.between.contains(&node))
    }

    /// Removes the norms that the machine does not compute completely: the norm and its products.
    /// Returns whether there was one.
    pub fn forget_of_host(&mut self, steps: &[Step]) -> bool {
        let host = steps.iter().filter(|step| matches!(step.work, Work::Host(_)));
        let host: BTreeSet<NodeId> = host.flat_map(|step| step.nodes.iter().copied()).collect();
        let of_product = self.products.iter().filter(|(product, _)| host.contains(product));
        let mut wrong: BTreeSet<NodeId> = of_product.map(|(_, folded)| folded.norm).collect();
        wrong.extend(self.norms.intersection(&host));
        self.norms.retain(|norm| !wrong.contains(norm));
        self.products.retain(|_, folded| !wrong.contains(&folded.norm));
        !wrong.is_empty()
    }
}

/// Returns gain and bias of a norm over the last axis, if they are constants with one value per
/// element of a row.
fn parameters(graph: &Graph, node: &Node) -> Option<(ValueId, Option<ValueId>)> {
    let (x, gain, bias, axis) = match (&node.op, &node.inputs[..]) {
        (Op::RmsNormalization(norm), &[x, gain]) => (x, gain, None, norm.axis),
        (Op::LayerNormalization(norm), &[x, gain, ref bias @ ..]) => {
            (x, gain, bias.first().copied(), norm.axis)
        }
        _ => return None,
    };
    let shape = graph.shape(x);
    let row = *shape.last()?;
    let has_row = |id: ValueId| {
        let values = graph.constant(id).and_then(|tensor| tensor.as_f32());
        values.is_some_and(|values| values.len() == row && values.iter().all(|value| value.is_finite()))
    };
    let fits = axis + 1 == shape.len() && has_row(gain) && bias.is_none_or(has_row);
    fits.then_some((gain, bias))
}

/// Whether only products of its rows with constants read a value. Reshapes that keep rows may be in
/// between, and factors if the norm has no bias. `found` gets the products and their folded norm.
fn only_products(
    graph: &Graph,
    readers: &Readers,
    value: ValueId,
    folded: &Folded,
    found: &mut BTreeMap<NodeId, Folded>,
) -> bool {
    let width = graph.shape(value).last();
    !readers.is_output(value)
        && readers.all(value).iter().all(|&id| {
            let node = graph.node(id);
            let through = |factor: f32, found: &mut BTreeMap<NodeId, Folded>| {
                let mut folded = folded.clone();
                folded.between.push(id);
                folded.factor *= factor;
                only_products(graph, readers, node.outputs[0], &folded, found)
            };
            match (&node.op, &node.inputs[..]) {
                (Op::Reshape(_), &[x, ..]) if x == value && graph.shape(node.outputs[0]).last() == width => {
                    through(1.0, found)
                }
                (Op::Binary(binary), &[left, right]) if folded.bias.is_none() => {
                    let factor = match binary.kind {
                        BinaryKind::Mul => number(graph, right).or(number(graph, left)),
                        BinaryKind::Div if left == value => number(graph, right).map(f32::recip),
                        _ => None,
                    };
                    let whole = graph.shape(node.outputs[0]) == graph.shape(value);
                    factor.is_some_and(|factor| whole && factor.is_finite() && through(factor, found))
                }
                (_, &[x, weights, ref others @ ..]) => {
                    let takes_rows = match &node.op {
                        Op::MatMul(_) => true,
                        Op::Gemm(gemm) => !gemm.trans_a,
                        _ => false,
                    };
                    let fits = takes_rows && x == value && graph.constant(weights).is_some();
                    fits && !others.contains(&value) && found.insert(id, folded.clone()).is_none()
                }
                _ => false,
            }
        })
}
