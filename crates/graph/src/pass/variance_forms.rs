//! Means written as sums times the reciprocal of their number, and variances written as the mean of
//! squares minus the square of the mean.
//!
//! In narrow formats, a sum of many elements overflows, and the difference of two large, nearly
//! equal means is only rounding noise.

use super::edit::{has_single_use, insert_nodes, make_node};
use super::matching::{Pattern, is_near};
use super::{Pass, PassError};
use crate::ir::{Graph, ValueId};
use crate::op::{Binary, BinaryKind, Op, Reduce, ReduceKind};

pub(super) const PASS: Pass = Pass {
    name: "variance-forms",
    description: "rewrites sums divided by their number as means, and computes variances from differences to the mean",
    run,
};

fn run(graph: &mut Graph) -> Result<bool, PassError> {
    let (producers, consumers) = (graph.producers(), graph.consumers());
    let mut changed = false;
    for index in 0..graph.nodes.len() {
        let pattern = Pattern { graph, producers: &producers };
        let &[result] = graph.nodes[index].outputs.as_slice() else { continue };
        if let Some((sum, mean)) = mean(&pattern, result)
            && has_single_use(graph, &consumers, sum)
        {
            let operand =
                graph.node(producers[sum.0 as usize].expect("every sum has a producer")).inputs.clone();
            (graph.nodes[index].op, graph.nodes[index].inputs) = (mean.into(), operand);
            changed = true;
        } else if let Some((x, mean)) = variance(&pattern, result) {
            put(graph, index, x, &mean)?;
            // The nodes before it have moved.
            return Ok(true);
        }
    }
    Ok(changed)
}

/// Returns the sum that the value divides by its number of elements, and the equivalent mean.
fn mean(pattern: &Pattern<'_>, value: ValueId) -> Option<(ValueId, Reduce)> {
    let (sum, factor) = match pattern.with_scalar(value, BinaryKind::Div) {
        Some((sum, divisor)) => (sum, 1.0 / divisor),
        None => pattern.with_scalar(value, BinaryKind::Mul)?,
    };
    let node = pattern.producer(sum)?;
    let Op::Reduce(reduce) = &node.op else { return None };
    let shape = pattern.graph.shape(*node.inputs.first()?);
    let count: usize = reduce.axes.iter().map(|&axis| shape[axis]).product();
    let fits = reduce.kind == ReduceKind::Sum
        && is_near(factor, 1.0 / count as f64)
        && pattern.graph.value(sum).info == pattern.graph.value(value).info;
    fits.then(|| (sum, Reduce { kind: ReduceKind::Mean, ..reduce.clone() }))
}

/// Returns the operand of the variance that the value is, and the mean used in it.
fn variance(pattern: &Pattern<'_>, value: ValueId) -> Option<(ValueId, Reduce)> {
    let [of_squares, squared] = pattern.binary(value, BinaryKind::Sub)?;
    let mean = |value: ValueId| {
        let node = pattern.producer(value)?;
        let Op::Reduce(reduce) = &node.op else { return None };
        (reduce.kind == ReduceKind::Mean).then_some((*node.inputs.first()?, reduce.clone()))
    };
    let (squares, reduce) = mean(of_squares)?;
    let found = mean(pattern.square(squared)?)?;
    let x = pattern.square(squares)?;
    let same = pattern.graph.value(of_squares).info == pattern.graph.value(value).info;
    (same && found == (x, reduce)).then_some(found)
}

/// Turns the node at `index` into the mean of the squared differences from the mean.
fn put(graph: &mut Graph, index: usize, x: ValueId, mean: &Reduce) -> Result<(), PassError> {
    let base = graph.nodes[index].name.clone();
    let mut before = |what: &str, op: Op, inputs: Vec<ValueId>| {
        let node = make_node(graph, &format!("{base}/{what}"), op, inputs)?;
        Ok::<_, PassError>((node.outputs[0], (index, node)))
    };
    let (middle, first) = before("mean", Reduce { keep_dims: true, ..mean.clone() }.into(), vec![x])?;
    let (apart, second) = before("centered", Binary { kind: BinaryKind::Sub }.into(), vec![x, middle])?;
    let (squares, third) = before("squares", Binary { kind: BinaryKind::Mul }.into(), vec![apart; 2])?;
    (graph.nodes[index].op, graph.nodes[index].inputs) = (mean.clone().into(), vec![squares]);
    insert_nodes(graph, vec![first, second, third]);
    Ok(())
}
