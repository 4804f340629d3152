//! Chains of arithmetic with constants, as decomposed batch normalisation is, into one product and
//! one sum.

use super::affine::Affine;
use super::edit::{add_floats, bypass_with, has_single_use, insert_nodes, make_node};
use super::{Pass, PassError};
use crate::ir::{Graph, Node, NodeId, ValueId};
use crate::op::{Binary, BinaryKind, Op};

pub(super) const PASS: Pass = Pass {
    name: "affine-merging",
    description: "makes one Mul and one Add, or fewer, of chains of arithmetic with constants by channel",
    run,
};

fn run(graph: &mut Graph) -> Result<bool, PassError> {
    let links = (graph.producers(), graph.consumers());
    let mut changed = false;
    // From the last on, so that nodes put in do not move those still to be looked at.
    let mut end = graph.nodes.len();
    while let Some(index) = end.checked_sub(1) {
        end = index;
        let Some(chain) = chain(graph, &links, index) else { continue };
        let merged = usize::from(!chain.affine.only_adds()) + usize::from(!chain.affine.only_multiplies());
        if merged == 0 {
            changed |= bypass_with(graph, index, chain.affine.operand);
        } else if merged < chain.length {
            replace(graph, index, &chain.affine)?;
            changed = true;
        }
    }
    Ok(changed)
}

/// Nodes that follow each other.
struct Chain {
    length: usize,
    /// What they do together.
    affine: Affine,
}

/// The longest chain of arithmetic that ends with the node at `index`. Batch normalisation is left to
/// targets, which may have it.
fn chain(
    graph: &Graph,
    (producers, consumers): &(Vec<Option<NodeId>>, Vec<Vec<NodeId>>),
    index: usize,
) -> Option<Chain> {
    let arithmetic = |node: &Node| Affine::of(graph, node).filter(|_| matches!(node.op, Op::Binary(_)));
    let mut chain = Chain { length: 1, affine: arithmetic(&graph.nodes[index])? };
    while has_single_use(graph, consumers, chain.affine.operand)
        && let Some(producer) = producers[chain.affine.operand.0 as usize]
        && let Some(before) = arithmetic(graph.node(producer))
    {
        chain = Chain { length: chain.length + 1, affine: before.then(&chain.affine) };
    }
    let finite = chain.affine.factors.iter().flatten().all(|&factor| (factor as f32).is_finite());
    finite.then_some(chain)
}

/// Lets the node at `index` do what the chain does. Those before it are left for dead.
fn replace(graph: &mut Graph, index: usize, affine: &Affine) -> Result<(), PassError> {
    if affine.only_adds() {
        return add(graph, index, affine.operand, affine);
    }
    let name = graph.nodes[index].name.clone();
    let factors = column(graph, &format!("{name}_factor"), affine, 0)?;
    let (op, inputs) = (Binary { kind: BinaryKind::Mul }.into(), vec![affine.operand, factors]);
    if affine.only_multiplies() {
        (graph.nodes[index].op, graph.nodes[index].inputs) = (op, inputs);
        return Ok(());
    }
    let product = make_node(graph, &format!("{name}_scaled"), op, inputs)?;
    add(graph, index, product.outputs[0], affine)?;
    insert_nodes(graph, vec![(index, product)]);
    Ok(())
}

/// Makes the node at `index` the sum of `operand` and the addends.
fn add(graph: &mut Graph, index: usize, operand: ValueId, affine: &Affine) -> Result<(), PassError> {
    let name = format!("{}_offset", graph.nodes[index].name);
    let offsets = column(graph, &name, affine, 1)?;
    let op = Binary { kind: BinaryKind::Add }.into();
    (graph.nodes[index].op, graph.nodes[index].inputs) = (op, vec![operand, offsets]);
    Ok(())
}

/// The factors (0) or addends (1) as a constant.
fn column(graph: &mut Graph, name: &str, affine: &Affine, part: usize) -> Result<ValueId, PassError> {
    let values = affine.factors.iter().map(|factors| factors[part] as f32).collect();
    add_floats(graph, name, vec![affine.factors.len()], values)
}
