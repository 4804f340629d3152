//! Attention in a graph: [`find`], from the product with the values back to the product with the keys.

use std::ops::Range;
use std::rc::Rc;

use npukit_graph::op::{Binary, BinaryKind, CompareKind, ReduceKind, Where};
use npukit_graph::{Graph, Node, NodeId, Op, Operator, ValueId};
use npukit_numeric::{Tensor, TensorData};

use super::product::MOST_ROWS;
use crate::config::WORD_LANES;
use crate::host::Tokens;

/// A score below this one is as good as hidden: masks of files have it in place of infinity.
const HIDDEN: f32 = -1e4;

/// `softmax(factor * queries keys + mask) values`, row by row.
#[derive(Clone, Debug)]
pub(super) struct Attention {
    /// Queries, `[.., rows, features]`.
    pub queries: ValueId,
    /// Keys, `[.., features, tokens]`.
    pub keys: ValueId,
    /// Values, `[.., tokens, features]`.
    pub values: ValueId,
    /// Factor of the scores.
    pub factor: f32,
    /// Which tokens each row sees; rows of all heads follow each other.
    pub seen: Vec<Rc<Tokens>>,
    /// Rows that share a matrix of keys, and of values.
    pub rows: [usize; 2],
    /// Features of a query, and of a result.
    pub features: [usize; 2],
    /// Its nodes, the last but one first.
    pub nodes: Vec<NodeId>,
}

/// What is around a node.
pub(super) struct Context<'a> {
    pub graph: &'a Graph,
    pub producers: Vec<Option<NodeId>>,
    pub consumers: Vec<Vec<NodeId>>,
}

impl<'a> Context<'a> {
    pub fn new(graph: &'a Graph) -> Self {
        Self { graph, producers: graph.producers(), consumers: graph.consumers() }
    }

    /// The node that makes a value nobody else uses.
    fn only(&self, id: ValueId) -> Option<(NodeId, &'a Node)> {
        self.used_by(id, 1)
    }

    /// The node that makes a value which so many nodes use, and nobody else.
    fn used_by(&self, id: ValueId, users: usize) -> Option<(NodeId, &'a Node)> {
        let alone = self.consumers.get(id.0 as usize)?.len() == users && !self.graph.is_output(id);
        let node = self.producers.get(id.0 as usize).copied().flatten().filter(|_| alone)?;
        Some((node, self.graph.node(node)))
    }

    /// The nodes that find out whether all of `scores` are hidden in a row: `max(scores) = -infinity`.
    fn guard(&self, blind: ValueId, scores: ValueId) -> Option<[NodeId; 2]> {
        let (equal, node) = self.only(blind)?;
        let (Op::Compare(compare), &[largest, hidden]) = (&node.op, &node.inputs[..]) else { return None };
        let (reduce, node) = self.only(largest)?;
        let Op::Reduce(kind) = &node.op else { return None };
        let last = self.graph.shape(scores).len().checked_sub(1)?;
        let is_guard = compare.kind == CompareKind::Equal
            && number(self.graph, hidden)? <= HIDDEN
            && kind.kind == ReduceKind::Max
            && kind.axes == [last]
            && node.inputs == [scores];
        is_guard.then_some([equal, reduce])
    }
}

/// The attention whose last node is `node`.
pub(super) fn find(context: &Context<'_>, node: &Node) -> Option<Attention> {
    let graph = context.graph;
    let (Op::MatMul(_), &[mut chances, values]) = (&node.op, &node.inputs[..]) else { return None };
    let mut nodes = Vec::new();
    // Up to the softmax; rows that see nothing may be guarded against, and are refused below.
    let mut blind = None;
    loop {
        let (id, node) = context.only(chances)?;
        nodes.push(id);
        match &node.op {
            Op::Reshape(_) if same_last_axis(graph, node) => chances = *node.inputs.first()?,
            Op::Where(_) if blind.is_none() => {
                let &[guard, zero, rest] = &node.inputs[..] else { return None };
                blind = (number(graph, zero)? == 0.0).then_some(guard);
                blind?;
                chances = rest;
            }
            Op::Softmax(softmax) => {
                let rank = graph.shape(chances).len();
                if softmax.axis + 1 != rank || softmax.axis_end != rank {
                    return None;
                }
                chances = *node.inputs.first()?;
                break;
            }
            _ => return None,
        }
    }
    let count = *graph.shape(chances).last()?;
    let all: usize = graph.shape(chances).iter().product::<usize>().checked_div(count)?;
    let (mut factor, mut hidden) = (1.0, vec![false; all * count]);
    let guard = match blind {
        Some(blind) => Some(context.guard(blind, chances)?),
        None => None,
    };
    nodes.extend(guard.into_iter().flatten());
    let mut users = if guard.is_some() { 2 } else { 1 };
    let (queries, keys) = loop {
        let (id, node) = context.used_by(chances, users)?;
        nodes.push(id);
        users = 1;
        match (&node.op, &node.inputs[..]) {
            (Op::Reshape(_), _) if same_last_axis(graph, node) => chances = *node.inputs.first()?,
            (Op::Binary(binary), &[left, right]) => {
                chances = factor_or_mask(graph, binary, left, right, &mut factor, &mut hidden)?;
            }
            (Op::Where(_), &[mask, scores, other]) => {
                number(graph, other).filter(|other| other * factor <= HIDDEN)?;
                hide_unless(graph, mask, scores, &mut hidden)?;
                chances = scores;
            }
            (Op::MatMul(_), &[queries, keys]) => break (queries, keys),
            _ => return None,
        }
    };
    let [rows, features] = shape(graph, queries, keys, [*node.inputs.first()?, values], hidden.len())?;
    let seen = seen(&hidden, count)?;
    let whole = |width: usize| width.is_multiple_of(WORD_LANES) || all == 1;
    let fits = features.iter().all(|&width| width > 0 && whole(width))
        && features.iter().chain([&count]).all(|&size| size <= MOST_ROWS)
        && factor.is_finite();
    let floats = [queries, keys, values].into_iter().all(|id| graph.value(id).info.element.is_float());
    let moving = graph.constant(keys).is_none() && graph.constant(values).is_none();
    (fits && floats && moving).then_some(Attention {
        queries,
        keys,
        values,
        factor,
        seen,
        rows,
        features,
        nodes,
    })
}

/// Rows that share a matrix, and features, of both products; none when matrices of keys are repeated, or those of
/// values for other rows than such as follow each other. There are `scores` scores.
fn shape(
    graph: &Graph,
    queries: ValueId,
    keys: ValueId,
    [chances, values]: [ValueId; 2],
    scores: usize,
) -> Option<[[usize; 2]; 2]> {
    let matrices = |id: ValueId| {
        let shape = graph.shape(id);
        let (batch, matrix) = shape.split_at_checked(shape.len().checked_sub(2)?)?;
        let &[rows, columns] = matrix else { return None };
        Some((batch, rows, columns))
    };
    let size = |batch: &[usize]| batch.iter().product::<usize>();
    let (batch, rows, features) = matrices(queries)?;
    let (key_batch, _, count) = matrices(keys)?;
    let (chance_batch, chance_rows, _) = matrices(chances)?;
    let (value_batch, _, value_features) = matrices(values)?;
    let all = size(batch) * rows;
    let fits = size(batch) == size(key_batch)
        && all * count == scores
        && size(chance_batch) * chance_rows == all
        && all > 0;
    let shared = size(repeated(chance_batch, value_batch)?) * chance_rows;
    fits.then_some([[rows, shared], [features, value_features]])
}

/// The last axes of `batch`, along which `own` is repeated; none when it is along others.
fn repeated<'a>(batch: &'a [usize], own: &[usize]) -> Option<&'a [usize]> {
    let (more, own) = own.split_at(own.len().saturating_sub(batch.len()));
    let missing = std::iter::repeat_n(1, batch.len() - own.len());
    let own: Vec<usize> = missing.chain(own.iter().copied()).collect();
    let same = batch.iter().zip(&own).take_while(|(axis, own)| axis == own).count();
    let ones = more.iter().chain(own.iter().skip(same)).all(|&axis| axis == 1);
    batch.get(same..).filter(|_| ones)
}

fn same_last_axis(graph: &Graph, node: &Node) -> bool {
    let last = |ids: &[ValueId]| ids.first().and_then(|&id| graph.shape(id).last().copied());
    last(&node.inputs) == last(&node.outputs)
}

/// The constant that is one number.
pub(super) fn number(graph: &Graph, id: ValueId) -> Option<f32> {
    let values = graph.constant(id)?.as_f32()?;
    let &first = values.first()?;
    values.iter().all(|&value| value == first).then_some(first)
}

/// Takes a factor or a mask that is added; gives the scores.
fn factor_or_mask(
    graph: &Graph,
    binary: &Binary,
    left: ValueId,
    right: ValueId,
    factor: &mut f32,
    hidden: &mut [bool],
) -> Option<ValueId> {
    let (scores, constant) = if graph.constant(right).is_some() { (left, right) } else { (right, left) };
    match binary.kind {
        BinaryKind::Mul => *factor *= number(graph, constant)?,
        BinaryKind::Div if constant == right => *factor /= number(graph, constant)?,
        BinaryKind::Add => {
            let zeros = Tensor::from_f32(graph.shape(scores).to_vec(), vec![0.0; hidden.len()]).ok()?;
            let sum = binary.eval(&[&zeros, graph.constant(constant)?.as_ref()]).ok()?;
            for (hidden, &mask) in hidden.iter_mut().zip(sum.first()?.as_f32()?) {
                // Factors that have been found come behind the mask.
                let mask = mask * *factor;
                if mask <= HIDDEN {
                    *hidden = true;
                } else if mask != 0.0 {
                    return None;
                }
            }
        }
        _ => return None,
    }
    Some(scores)
}

/// Hides what a constant mask does not let through.
fn hide_unless(graph: &Graph, mask: ValueId, scores: ValueId, hidden: &mut [bool]) -> Option<()> {
    let ones = Tensor::from_f32(graph.shape(scores).to_vec(), vec![1.0; hidden.len()]).ok()?;
    let zero = Tensor::new(Vec::new(), TensorData::F32(vec![0.0])).ok()?;
    let chosen = Where.eval(&[graph.constant(mask)?.as_ref(), &ones, &zero]).ok()?;
    let chosen = chosen.first()?.as_f32()?;
    if chosen.len() != hidden.len() {
        return None;
    }
    hidden.iter_mut().zip(chosen).for_each(|(hidden, &chosen)| *hidden |= chosen == 0.0);
    Some(())
}

/// The tokens that each row sees; none when a row sees nothing.
fn seen(hidden: &[bool], count: usize) -> Option<Vec<Rc<Tokens>>> {
    let mut known: Vec<Rc<Tokens>> = Vec::new();
    let rows = hidden.chunks_exact(count.max(1)).map(|row| {
        let tokens = visible(row);
        if tokens.is_empty() {
            return None;
        }
        let same = known.iter().rev().find(|same| ***same == tokens).cloned();
        Some(same.unwrap_or_else(|| {
            known.push(Rc::new(tokens));
            Rc::clone(&known[known.len() - 1])
        }))
    });
    rows.collect()
}

fn visible(row: &[bool]) -> Tokens {
    let mut tokens: Vec<Range<u32>> = Vec::new();
    for (token, _) in (0u32..).zip(row).filter(|(_, hidden)| !**hidden) {
        match tokens.last_mut() {
            Some(run) if run.end == token => run.end += 1,
            _ => tokens.push(token..token + 1),
        }
    }
    tokens
}
