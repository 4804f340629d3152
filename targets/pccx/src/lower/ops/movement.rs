//! Nodes that only move elements. [`movement`] finds the destinations by evaluating the node on
//! element indices.

use npukit_graph::{Graph, Node, Op, Operator, ValueId};
use npukit_numeric::{Tensor, TensorData};

use super::NodeWork;
use crate::config::WORD_LANES;
use crate::lower::LowerError;
use crate::lower::emit::Lowering;
use crate::lower::limits::MAX_PIECES;
use crate::lower::macros::Macros;
use crate::lower::reason::HostReason;
use crate::lower::steps::Layers;
use crate::lower::work::{Run, Work};

/// Maximum number of elements that are traced.
const MAX_VALUES: usize = 1 << 22;

/// Returns the source of each result's elements, in runs as long as possible; `None` if the node
/// does more than move elements of operands that are not constant.
pub fn movement(graph: &Graph, node: &Node) -> Option<Vec<Vec<Run>>> {
    let moved = match node.op {
        Op::Concat(_) => node.inputs.len(),
        Op::Reshape(_) | Op::Transpose(_) | Op::Slice(_) | Op::Split(_) | Op::Tile(_) | Op::Gather(_) => 1,
        _ => return None,
    };
    let size = |id| graph.shape(id).iter().product::<usize>();
    if node.outputs.iter().chain(&node.inputs).map(|&id| size(id)).sum::<usize>() > MAX_VALUES {
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
        let start = starts[starts.len() - 1];
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
        match runs.last_mut() {
            Some(run) if next == Some(number) && run.operand == operand => run.length += 1,
            _ => runs.push(Run { operand, from: number - starts[operand], to, length: 1 }),
        }
        next = Some(number + 1);
    }
    runs
}

/// Whether the result equals the operand, element by element.
pub fn is_identity(results: &[Vec<Run>], values: usize) -> bool {
    let whole = Run { operand: 0, from: 0, to: 0, length: values };
    matches!(results, [runs] if runs[..] == [whole])
}

impl Layers {
    /// Returns the work of a node that moves `runs` of its operands.
    ///
    /// # Errors
    /// The reason why the host computes it.
    pub(super) fn moved(&self, node: &Node, runs: Vec<Vec<Run>>) -> NodeWork {
        let operands = match node.op {
            Op::Concat(_) => node.inputs.clone(),
            _ => node.inputs.iter().take(1).copied().collect(),
        };
        if operands.iter().any(|&id| !self.graph.value(id).info.element.is_float()) {
            return Err(HostReason::NotFloat);
        }
        let values = self.size(operands[0]);
        let whole =
            |run: &Run| [run.from, run.to, run.length].iter().all(|place| place.is_multiple_of(WORD_LANES));
        if is_identity(&runs, values) {
            return Ok((Work::Move(runs), operands));
        }
        if !runs.iter().flatten().all(whole) {
            return Err(HostReason::PartsOfWords);
        }
        let pieces = runs.iter().map(Vec::len).sum::<usize>();
        if pieces > MAX_PIECES {
            return Err(HostReason::Pieces);
        }
        Ok((Work::Move(runs), operands))
    }
}

impl Lowering<'_> {
    /// Emits moves of values; results that equal the operand share its region.
    ///
    /// # Errors
    /// Too little room in L2.
    pub(super) fn rearrange(
        &mut self,
        runs: &[Vec<Run>],
        operands: &[ValueId],
        results: &[ValueId],
    ) -> Result<(), LowerError> {
        let (&[first, ..], &[result, ..]) = (operands, results) else {
            return Err(LowerError::Fault("a move"));
        };
        if is_identity(runs, self.values(first)) {
            self.share(first, result);
            return Ok(());
        }
        for (runs, &result) in runs.iter().zip(results) {
            let region = self.allocate(self.values(result))?;
            for run in runs {
                let source = self.fetch(operands[run.operand])?;
                self.code.copy(source.at(run.from), region.at(run.to), run.length);
            }
            self.place(result, region);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use npukit_graph::op::{Concat, Reshape, Split, Transpose};
    use npukit_graph::{NodeId, ValueInfo};
    use npukit_numeric::ElementType;

    use super::*;

    /// Returns operand, source, destination and length of each run, for each result.
    fn found(op: impl Into<Op>, shapes: &[&[usize]], results: usize) -> Option<Vec<Vec<[usize; 4]>>> {
        let mut graph = Graph::default();
        let input = |(index, shape): (usize, &&[usize])| {
            let info = ValueInfo { shape: shape.to_vec(), element: ElementType::F32 };
            graph.add_input(index.to_string(), info)
        };
        let inputs = shapes.iter().enumerate().map(input).collect();
        graph.add_node("n", op.into(), inputs, &["a", "b"][..results]).unwrap();
        let runs = movement(&graph, graph.node(NodeId(0)))?;
        let plain = |run: &Run| [run.operand, run.from, run.to, run.length];
        Some(runs.iter().map(|runs| runs.iter().map(plain).collect()).collect())
    }

    #[test]
    fn runs_are_as_long_as_elements_stay_neighbors() {
        let reshape = Reshape { shape: vec![6] };
        assert_eq!(found(reshape, &[&[2, 3]], 1), Some(vec![vec![[0, 0, 0, 6]]]));
        // Adjacent operands give separate runs. Empty operands give no run.
        let concat = Concat { axis: 0 };
        assert_eq!(
            found(concat.clone(), &[&[2], &[3], &[1]], 1),
            Some(vec![vec![[0, 0, 0, 2], [1, 0, 2, 3], [2, 0, 5, 1]]])
        );
        assert_eq!(found(concat, &[&[2], &[0], &[1]], 1), Some(vec![vec![[0, 0, 0, 2], [2, 0, 2, 1]]]));
        assert_eq!(
            found(Concat { axis: 1 }, &[&[2, 1], &[2, 2]], 1),
            Some(vec![vec![[0, 0, 0, 1], [1, 0, 1, 2], [0, 1, 3, 1], [1, 2, 4, 2]]])
        );
        assert_eq!(
            found(Split { axis: 0, sizes: vec![1, 3] }, &[&[4, 2]], 2),
            Some(vec![vec![[0, 0, 0, 2]], vec![[0, 2, 0, 6]]])
        );
        assert_eq!(
            found(Transpose { perm: vec![1, 0] }, &[&[2, 2]], 1),
            Some(vec![vec![[0, 0, 0, 1], [0, 2, 1, 1], [0, 1, 2, 1], [0, 3, 3, 1]]])
        );
        assert_eq!(found(npukit_graph::op::Relu, &[&[2]], 1), None);
    }

    /// The limit applies to operands and results together.
    #[test]
    fn the_way_of_four_million_elements_is_looked_at() {
        let flat = |count: usize| found(Reshape { shape: vec![count] }, &[&[1, count]], 1);
        assert_eq!(flat(1 << 21), Some(vec![vec![[0, 0, 0, 1 << 21]]]));
        assert_eq!(flat((1 << 21) + 1), None);
    }
}
