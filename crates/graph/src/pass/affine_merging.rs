//! Merging of chains of arithmetic with constants, such as decomposed batch normalization, into one
//! product and one sum.

use super::affine::Affine;
use super::edit::{Bypasses, add_floats, has_single_use, make_node};
use super::{Pass, PassError};
use crate::ir::{Graph, Node, NodeId, ValueId};
use crate::op::{Binary, BinaryKind, Op};

pub(super) const PASS: Pass = Pass {
    name: "affine-merging",
    description: "merges chains of arithmetic with per-channel constants into at most one Mul and one Add",
    run,
};

fn run(graph: &mut Graph) -> Result<bool, PassError> {
    let links = (graph.producers(), graph.consumers());
    let (mut bypasses, mut inserted) = (Bypasses::new(graph), Vec::new());
    let (mut dead, mut changed) = (vec![false; graph.nodes.len()], false);
    for index in (0..graph.nodes.len()).rev() {
        let Some(chain) = (!dead[index]).then(|| chain(graph, &links, index)).flatten() else { continue };
        let merged = usize::from(!chain.affine.only_adds()) + usize::from(!chain.affine.only_multiplies());
        let done = if merged == 0 {
            bypasses.take_out(graph, index, chain.affine.operand)
        } else if merged <= chain.before.len() {
            inserted.extend(replace(graph, index, &chain.affine)?.map(|product| (index, product)));
            true
        } else {
            false
        };
        if done {
            // They have no other users, and are not visited again.
            chain.before.iter().for_each(|&NodeId(node)| dead[node as usize] = true);
            changed = true;
        }
    }
    bypasses.apply(graph, inserted);
    Ok(changed)
}

/// A chain of consecutive nodes.
struct Chain {
    /// Nodes before the last; each has the next one as its only user.
    before: Vec<NodeId>,
    /// Function that the chain computes.
    affine: Affine,
}

/// Returns the longest chain of arithmetic with finite factors that ends with the node at `index`.
/// Batch normalization is not included: some targets support it.
fn chain(
    graph: &Graph,
    (producers, consumers): &(Vec<Option<NodeId>>, Vec<Vec<NodeId>>),
    index: usize,
) -> Option<Chain> {
    let arithmetic = |node: &Node| Affine::of(graph, node).filter(|_| matches!(node.op, Op::Binary(_)));
    let mut chain = Chain { before: Vec::new(), affine: arithmetic(&graph.nodes[index])? };
    while has_single_use(graph, consumers, chain.affine.operand)
        && let Some(producer) = producers[chain.affine.operand.0 as usize]
        && let Some(affine) = arithmetic(graph.node(producer)).map(|before| before.then(&chain.affine))
        && is_finite(&affine)
    {
        chain.before.push(producer);
        chain.affine = affine;
    }
    is_finite(&chain.affine).then_some(chain)
}

fn is_finite(affine: &Affine) -> bool {
    affine.factors.iter().flatten().all(|&factor| (factor as f32).is_finite())
}

/// Makes the node at `index` compute the function of its chain. Returns a node to insert before it,
/// if one is needed. The earlier nodes of the chain become dead.
fn replace(graph: &mut Graph, index: usize, affine: &Affine) -> Result<Option<Node>, PassError> {
    if affine.only_adds() {
        add(graph, index, affine.operand, affine)?;
        return Ok(None);
    }
    let name = graph.nodes[index].name.clone();
    let factors = column(graph, &format!("{name}_factor"), affine, 0)?;
    let (op, inputs) = (Binary { kind: BinaryKind::Mul }.into(), vec![affine.operand, factors]);
    if affine.only_multiplies() {
        (graph.nodes[index].op, graph.nodes[index].inputs) = (op, inputs);
        return Ok(None);
    }
    let product = make_node(graph, &format!("{name}_scaled"), op, inputs)?;
    add(graph, index, product.outputs[0], affine)?;
    Ok(Some(product))
}

/// Turns the node at `index` into the sum of `operand` and the addends.
fn add(graph: &mut Graph, index: usize, operand: ValueId, affine: &Affine) -> Result<(), PassError> {
    let name = format!("{}_offset", graph.nodes[index].name);
    let offsets = column(graph, &name, affine, 1)?;
    let op = Binary { kind: BinaryKind::Add }.into();
    (graph.nodes[index].op, graph.nodes[index].inputs) = (op, vec![operand, offsets]);
    Ok(())
}

/// Adds the factors (0) or addends (1) as a constant.
fn column(graph: &mut Graph, name: &str, affine: &Affine, part: usize) -> Result<ValueId, PassError> {
    let values = affine.factors.iter().map(|factors| factors[part] as f32).collect();
    add_floats(graph, name, vec![affine.factors.len()], values)
}
