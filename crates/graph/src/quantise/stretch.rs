//! [`stretch`]: values multiplied so that powers of two are the scales that the model states.
//!
//! An int8 model says of each tensor what its integers stand for, and where they end. Steps that are powers of two are up
//! to twice as coarse, and integers end elsewhere: what the model cuts off is then there. Between layers whose weights are
//! constants a tensor may be multiplied by any factor, which the weights before and after it make up for: with the right
//! one, the integers end where the model says. There are the same nodes as before, so that a program takes as long.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use npukit_numeric::Tensor;

use super::qdq_scales::largest_for;
use super::{Kind, Scheme};
use crate::classes::Classes;
use crate::ir::{Graph, Node, NodeId, Value, ValueId};
use crate::op::{BinaryKind, Op};
use crate::pass::PassError;
use crate::rescale::roles::{Role, is_float, role, scaled, scaled_operands};

/// A graph with stretched values.
#[derive(Clone, Debug)]
pub struct Stretched {
    /// Computes the same in real arithmetic; stretched values are called `NAME/stretched`, and nothing is stated of them
    /// in [`Graph::scales`].
    pub graph: Graph,
    /// The fraction lengths of stretched values.
    pub fractions: BTreeMap<ValueId, i32>,
}

/// Multiplies values of which `graph` states a scale that is not a power of two, where that costs nothing. `host` are
/// nodes that are computed in floats. `None` when there is nothing to change.
///
/// # Errors
///
/// [`PassError`] when the rewritten graph is not valid, which would be a fault of ours.
pub fn stretch(
    graph: &Graph,
    host: &BTreeSet<NodeId>,
    scheme: &Scheme,
) -> Result<Option<Stretched>, PassError> {
    if graph.scales.is_empty() {
        return Ok(None);
    }
    let factors = Factors::new(graph, host, scheme);
    if factors.by_class.is_empty() {
        return Ok(None);
    }
    let mut rewritten = graph.clone();
    for (node, id) in graph.nodes.iter().zip((0..).map(NodeId)).filter(|(_, id)| !host.contains(id)) {
        factors.rewrite(&mut rewritten, node, id);
    }
    let mut fractions = BTreeMap::new();
    for (index, value) in graph.values.iter().enumerate() {
        let id = ValueId(index as u32);
        let Some(&factor) = factors.of(id).filter(|_| value.constant.is_none()) else { continue };
        if let Some(stated) = rewritten.scales.remove(&id) {
            let range = stated.range().map(|end| end * factor);
            fractions.insert(id, largest_for(scheme, Kind::Activation, range));
        }
        let name = rewritten.fresh_name(&format!("{}/stretched", value.name));
        rewritten.values[index].name = name;
    }
    rewritten.validate()?;
    Ok(Some(Stretched { graph: rewritten, fractions }))
}

/// What values are multiplied by.
struct Factors {
    classes: Vec<usize>,
    by_class: BTreeMap<usize, f64>,
}

impl Factors {
    fn new(graph: &Graph, host: &BTreeSet<NodeId>, scheme: &Scheme) -> Self {
        let mut classes = Classes::new(graph.values.len());
        let is_host = |id: &NodeId| host.contains(id);
        let machines =
            || (0..).map(NodeId).zip(&graph.nodes).filter(|(id, _)| !is_host(id)).map(|(_, node)| node);
        for node in machines().filter(|node| role(graph, node) == Role::Homogeneous) {
            classes.join(kept(graph, node));
        }
        let classes = classes.representatives();
        let class = |id: ValueId| classes[id.0 as usize];
        let mut fixed: BTreeSet<usize> =
            graph.inputs.iter().chain(&graph.outputs).map(|&id| class(id)).collect();
        for (id, node) in (0..).map(NodeId).zip(&graph.nodes) {
            let place = if is_host(&id) { Place::None } else { Place::of(graph, node) };
            let values = node.inputs.iter().chain(&node.outputs).copied();
            fixed.extend(values.filter(|&value| !place.takes(graph, node, value)).map(class));
        }
        let mut reach: BTreeMap<usize, [f64; 2]> = BTreeMap::new();
        for (&id, stated) in graph.scales.iter().filter(|(id, _)| graph.constant(**id).is_none()) {
            if stated.fraction().is_some() || !is_float(graph, id) {
                fixed.insert(class(id));
            }
            let [low, high] = stated.range();
            let known = reach.entry(class(id)).or_insert([0.0; 2]);
            *known = [known[0].min(low), known[1].max(high)];
        }
        let free = reach.into_iter().filter(|(class, _)| !fixed.contains(class));
        let by_class = free.filter_map(|(class, range)| Some((class, factor(scheme, range)?.0))).collect();
        Self { classes, by_class }
    }

    fn of(&self, id: ValueId) -> Option<&f64> {
        self.by_class.get(self.classes.get(id.0 as usize)?)
    }

    fn factor(&self, id: ValueId) -> f64 {
        // Default: what is not stretched is as it was.
        self.of(id).copied().unwrap_or(1.0)
    }

    /// Changes a node and its constants for the factors of its values.
    fn rewrite(&self, graph: &mut Graph, node: &Node, id: NodeId) {
        let Some(y) = node.outputs.first().map(|&y| self.factor(y)) else { return };
        match Place::of(graph, node) {
            Place::Kept if y != 1.0 => {
                graph.nodes[id.0 as usize].op = scaled(&node.op, y as f32);
                for place in 0..node.inputs.len().min(scaled_operands(&node.op)) {
                    multiply(graph, id, place, y);
                }
            }
            Place::Weighted { x } => {
                let weights = y / node.inputs.get(x).map_or(1.0, |&x| self.factor(x));
                for place in (0..node.inputs.len()).filter(|&place| place != x) {
                    multiply(graph, id, place, if place == 2 { y } else { weights });
                }
            }
            Place::Kept | Place::None => {}
        }
    }
}

/// How a node takes stretched values.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    /// All of them alike.
    Kept,
    /// Operand `x` and the result by factors of their own, which the constants make up for.
    Weighted { x: usize },
    /// Not at all.
    None,
}

impl Place {
    fn of(graph: &Graph, node: &Node) -> Self {
        match (role(graph, node), &node.op) {
            (Role::Homogeneous, _) => Self::Kept,
            (Role::Linear { x }, Op::Conv(_) | Op::ConvTranspose(_) | Op::Gemm(_) | Op::MatMul(_)) => {
                Self::Weighted { x }
            }
            (Role::Linear { x }, Op::Binary(binary)) if binary.kind == BinaryKind::Mul => {
                Self::Weighted { x }
            }
            _ => Self::None,
        }
    }

    /// Whether an operand or result may be stretched; a constant may always, as it is the node's own.
    fn takes(self, graph: &Graph, node: &Node, value: ValueId) -> bool {
        match self {
            Self::Kept => true,
            Self::Weighted { x } => {
                let is_operand = node.inputs.get(x) == Some(&value);
                is_operand || node.outputs.contains(&value) || graph.constant(value).is_some()
            }
            Self::None => false,
        }
    }
}

/// The floats of a node that have one factor.
fn kept<'a>(graph: &'a Graph, node: &'a Node) -> impl Iterator<Item = ValueId> + 'a {
    let operands = node.inputs.iter().take(scaled_operands(&node.op));
    // A constant is copied for each of its readers, and joins nothing.
    let values = operands.chain(&node.outputs).copied();
    values.filter(|&id| is_float(graph, id) && graph.constant(id).is_none())
}

/// The factor with which a range takes all integers of activations, and their fraction length; none where the range has
/// no end, or needs none.
fn factor(scheme: &Scheme, [low, high]: [f64; 2]) -> Option<(f64, i32)> {
    let most = f64::from(scheme.bits(Kind::Activation) - 1).exp2();
    let step = (high / (most - 1.0)).max(-low / most);
    if !(step.is_finite() && step > 0.0) {
        return None;
    }
    let fraction = -(step.log2().round() as i32);
    let factor = f64::from(-fraction).exp2() / step;
    // Rounding of the factor must not be what makes a range one step too long.
    let range = [low, high].map(|end| end * factor);
    (factor != 1.0 && largest_for(scheme, Kind::Activation, range) == fraction).then_some((factor, fraction))
}

/// Multiplies a constant operand of a node, for that node alone.
fn multiply(graph: &mut Graph, node: NodeId, place: usize, by: f64) {
    let Some(&id) = graph.node(node).inputs.get(place) else { return };
    let Some(constant) = graph.constant(id).filter(|_| by != 1.0) else { return };
    let Some(values) = constant.as_f32() else { return };
    let values = values.iter().map(|&x| (f64::from(x) * by) as f32).collect();
    let Ok(multiplied) = Tensor::from_f32(constant.shape().to_vec(), values) else { return };
    let Value { name, info, .. } = graph.value(id).clone();
    let name = graph.fresh_name(&format!("{name}/stretched"));
    let own = graph.add_value(Value { name, info, constant: Some(Arc::new(multiplied)) });
    graph.nodes[node.0 as usize].inputs[place] = own;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_take_all_integers() {
        let scheme = Scheme::default();
        for range in [[0.0, 10.04], [-3.0, 3.1], [-12.4, 4.4], [0.0, 32.4], [-1e-3, 0.0]] {
            let (by, fraction) = factor(&scheme, range).expect("not a power of two");
            let ends = range.map(|end| end * by * f64::from(fraction).exp2());
            let is_full = (ends[1] - 127.0).abs() < 1e-9 || (ends[0] + 128.0).abs() < 1e-9;
            assert!(is_full && ends[0] >= -128.0 - 1e-9 && ends[1] <= 127.0 + 1e-9, "{range:?}: {ends:?}");
            assert!((0.7..1.42).contains(&by), "{by}");
        }
        for range in [[0.0, 0.0], [f64::NEG_INFINITY, 1.0], [-1.0, 127.0 / 128.0]] {
            assert_eq!(factor(&scheme, range), None, "{range:?}");
        }
    }
}
