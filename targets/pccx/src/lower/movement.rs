//! What a node that only moves elements does to them: [`movement`], found by moving their numbers.

use npukit_graph::{Graph, Node, Op, Operator};
use npukit_numeric::{Tensor, TensorData};

/// Elements next to each other that stay so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    /// Which operand they are of.
    pub operand: usize,
    /// Place of the first among the operand's elements.
    pub from: usize,
    /// Its place among the result's.
    pub to: usize,
    /// Elements.
    pub length: usize,
}

/// Most elements whose way is looked at.
const MOST: usize = 1 << 22;

/// For each result of `node` where its elements come from, in runs as long as possible; none when the
/// node does more than move elements of operands that are not constants.
pub(super) fn movement(graph: &Graph, node: &Node) -> Option<Vec<Vec<Run>>> {
    let moved = match node.op {
        Op::Concat(_) => node.inputs.len(),
        Op::Reshape(_) | Op::Transpose(_) | Op::Slice(_) | Op::Split(_) | Op::Tile(_) | Op::Gather(_) => 1,
        _ => return None,
    };
    let size = |id| graph.shape(id).iter().product::<usize>();
    if node.outputs.iter().chain(&node.inputs).map(|&id| size(id)).sum::<usize>() > MOST {
        return None;
    }
    let mut starts = vec![0];
    let mut operands = Vec::new();
    for (index, &id) in node.inputs.iter().enumerate() {
        let constant = graph.constant(id);
        if index >= moved {
            operands.push(Tensor::clone(constant?));
            continue;
        }
        let start = starts.last().copied().unwrap_or(0);
        starts.push(start + size(id));
        let numbers = (start as i64..(start + size(id)) as i64).collect();
        operands.push(Tensor::new(graph.shape(id).to_vec(), TensorData::I64(numbers)).ok()?);
    }
    let results = node.op.eval(&operands.iter().collect::<Vec<_>>()).ok()?;
    results.iter().map(|result| Some(runs(result.as_i64()?, &starts))).collect()
}

fn runs(numbers: &[i64], starts: &[usize]) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    let mut next = None;
    for (to, &number) in numbers.iter().enumerate() {
        let number = number as usize;
        let operand = starts.partition_point(|&start| start <= number) - 1;
        let begins = starts.get(operand) == Some(&number);
        match runs.last_mut() {
            Some(run) if next == Some(number) && !(begins && run.operand != operand) => run.length += 1,
            _ => runs.push(Run { operand, from: number - starts[operand], to, length: 1 }),
        }
        next = Some(number + 1);
    }
    runs
}

/// Whether the result is the operand, element by element.
pub(super) fn is_identity(results: &[Vec<Run>], values: usize) -> bool {
    let whole = Run { operand: 0, from: 0, to: 0, length: values };
    matches!(results, [runs] if runs[..] == [whole])
}
