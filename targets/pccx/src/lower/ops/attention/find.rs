//! Recognizes attention in a graph: [`find`] goes from the product with the values back to the
//! product with the keys.

use std::collections::BTreeSet;
use std::ops::Range;
use std::rc::Rc;

use npukit_graph::op::{Binary, BinaryKind, CompareKind, ReduceKind, UnaryKind, Where};
use npukit_graph::{Graph, Node, NodeId, Op, Operator, ValueId};
use npukit_lower::Readers;
use npukit_numeric::{Tensor, TensorData};

use crate::config::WORD_LANES;
use crate::lower::limits::MAX_ROWS;
use crate::lower::reason::AttentionReason;
use crate::lower::work::Attention;
use crate::program::host::Tokens;

/// Scores below this are treated as hidden: masks in files use it instead of infinity.
const HIDDEN: f32 = -1e4;

/// Largest cap of scores: the sum of e^cap over all tokens must be finite.
const LARGEST_CAP: f32 = 64.0;

/// Maximum number of nodes that are searched between a softmax and a product.
const MAX_BETWEEN: usize = 64;

/// Graph and uses of values, to which patterns are matched.
pub struct Context<'a> {
    graph: &'a Graph,
    readers: Readers,
}

impl<'a> Context<'a> {
    pub fn new(graph: &'a Graph) -> Self {
        Self { graph, readers: Readers::of(graph) }
    }

    /// Returns the node that makes a value, if the value has no other user.
    fn only(&self, id: ValueId) -> Option<(NodeId, &'a Node)> {
        self.used_by(id, 1)
    }

    /// Returns the node that makes a value, if exactly `users` nodes use the value.
    fn used_by(&self, id: ValueId, users: usize) -> Option<(NodeId, &'a Node)> {
        let alone = self.readers.all(id).len() == users && !self.readers.is_output(id);
        let node = self.readers.producer(id).filter(|_| alone)?;
        Some((node, self.graph.node(node)))
    }

    /// Returns the nodes of the wanted operator from which a value derives, without crossing
    /// products or a softmax.
    fn makers(&self, id: ValueId, is: impl Fn(&Op) -> bool) -> Vec<NodeId> {
        let (mut found, mut seen, mut left) = (Vec::new(), BTreeSet::new(), vec![id]);
        while let Some(id) = left.pop() {
            let Some(maker) = self.readers.producer(id) else { continue };
            if !seen.insert(maker.0) || seen.len() > MAX_BETWEEN {
                continue;
            }
            let node = self.graph.node(maker);
            match &node.op {
                op if is(op) => found.push(maker),
                Op::MatMul(_) | Op::Gemm(_) | Op::Conv(_) | Op::Softmax(_) => {}
                _ => left.extend(&node.inputs),
            }
        }
        found
    }

    /// Returns the nodes that test whether all of `scores` in a row are hidden: `max(scores) =
    /// -infinity`.
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

/// Nodes of an attention that the host computes, and the reason.
pub struct Unfit {
    /// Products and softmax of the attention.
    pub nodes: Vec<NodeId>,
    pub reason: AttentionReason,
}

/// Returns the attention that ends with the node `last`, or the reason why the machine does not
/// compute it; `None` if no softmax gives the left operand.
pub fn find(context: &Context<'_>, last: NodeId) -> Option<Result<Attention, Unfit>> {
    let node = context.graph.node(last);
    let (Op::MatMul(_), &[chances, values]) = (&node.op, &node.inputs[..]) else { return None };
    let softmaxes = context.makers(chances, |op| matches!(op, Op::Softmax(_)));
    if softmaxes.is_empty() || context.graph.constant(values).is_some() {
        return None;
    }
    Some(fit(context, chances, values).map_err(|reason| {
        let scores = |&softmax: &NodeId| context.graph.node(softmax).inputs.first().copied();
        let products = softmaxes.iter().filter_map(scores);
        let products = products.flat_map(|id| context.makers(id, |op| matches!(op, Op::MatMul(_))));
        let changes = |id: &NodeId| {
            context.graph.node(*id).inputs.iter().all(|&id| context.graph.constant(id).is_none())
        };
        let products = products.filter(changes);
        Unfit { nodes: products.chain(softmaxes.iter().copied()).chain([last]).collect(), reason }
    }))
}

/// Goes from the weights of the values up to the softmax. Returns its operand, and the condition of
/// a guard against rows that see nothing, if there is one.
fn softmax_of(
    context: &Context<'_>,
    mut chances: ValueId,
    nodes: &mut Vec<NodeId>,
) -> Result<(ValueId, Option<ValueId>), AttentionReason> {
    let graph = context.graph;
    let mut blind = None;
    loop {
        let (id, node) = context.only(chances).ok_or(AttentionReason::UsedElsewhere)?;
        nodes.push(id);
        match (&node.op, &node.inputs[..]) {
            (Op::Reshape(_), &[x, ..]) if same_last_axis(graph, node) => chances = x,
            (Op::Cast(_), &[x]) if is_float(graph, x) => chances = x,
            (Op::Where(_), &[guard, zero, rest]) if blind.is_none() && number(graph, zero) == Some(0.0) => {
                blind = Some(guard);
                chances = rest;
            }
            (Op::Softmax(softmax), &[x]) if softmax.axis + 1 == graph.shape(chances).len() => {
                return Ok((x, blind));
            }
            (Op::Softmax(_), &[_]) => return Err(AttentionReason::SoftmaxAxes),
            _ => return Err(AttentionReason::AfterSoftmax),
        }
    }
}

/// Products of queries and keys, and all steps before the softmax.
struct Scores {
    queries: ValueId,
    keys: ValueId,
    factor: f32,
    /// Limit of the scores, by a tanh.
    cap: Option<f32>,
    bias: Vec<f32>,
    /// Whether each score is hidden.
    hidden: Vec<bool>,
}

impl Scores {
    /// Goes from `scores`, `count` numbers with `users` users, up to the product.
    fn of(
        context: &Context<'_>,
        mut scores: ValueId,
        mut users: usize,
        count: usize,
        nodes: &mut Vec<NodeId>,
    ) -> Result<Self, AttentionReason> {
        let graph = context.graph;
        let (mut factor, mut hidden) = (1.0, vec![false; count]);
        let (mut bias, mut cap, mut outside) = (Vec::new(), None, Vec::new());
        let (queries, keys) = loop {
            let (id, node) = context.used_by(scores, users).ok_or(AttentionReason::UsedElsewhere)?;
            nodes.push(id);
            users = 1;
            match (&node.op, &node.inputs[..]) {
                (Op::Reshape(_), &[x, ..]) if same_last_axis(graph, node) => scores = x,
                (Op::Cast(_), &[x]) if is_float(graph, x) => scores = x,
                (Op::Binary(binary), &[left, right]) => {
                    scores = factor_or_mask(graph, binary, left, right, &mut factor, &mut hidden, &mut bias)?;
                }
                // After this node, values are within the cap, provided that nothing is hidden or
                // added.
                (Op::Unary(unary), &[x])
                    if unary.kind == UnaryKind::Tanh && cap.is_none() && bias.is_empty() =>
                {
                    (cap, factor, outside) = (Some(factor), 1.0, hidden.clone());
                    scores = x;
                }
                (Op::Where(_), &[mask, shown, other]) => {
                    let hides = number(graph, other).is_some_and(|other| other * factor <= HIDDEN);
                    let masked = hide_unless(graph, mask, shown, &mut hidden).filter(|()| hides);
                    masked.ok_or(AttentionReason::Mask)?;
                    scores = shown;
                }
                (Op::MatMul(_), &[queries, keys]) => break (queries, keys),
                _ => return Err(AttentionReason::BeforeSoftmax),
            }
        };
        if cap.is_some() && (hidden != outside || !bias.is_empty()) {
            return Err(AttentionReason::BeforeSoftmax);
        }
        if cap.is_some_and(|cap| !(0.0..=LARGEST_CAP).contains(&cap)) {
            return Err(AttentionReason::Cap);
        }
        Ok(Self { queries, keys, factor, cap, bias, hidden })
    }
}

/// Returns the attention of these values, or the reason why the machine does not compute it.
fn fit(context: &Context<'_>, chances: ValueId, values: ValueId) -> Result<Attention, AttentionReason> {
    let graph = context.graph;
    let mut nodes = Vec::new();
    let (scores, blind) = softmax_of(context, chances, &mut nodes)?;
    let (&count, rows) = graph.shape(scores).split_last().ok_or(AttentionReason::Empty)?;
    let all: usize = rows.iter().product();
    if all * count == 0 {
        return Err(AttentionReason::Empty);
    }
    // Rows that see nothing are refused below.
    let no_guard = AttentionReason::UnknownGuard;
    let guard = blind.map(|blind| context.guard(blind, scores).ok_or(no_guard)).transpose()?;
    nodes.extend(guard.into_iter().flatten());
    let users = if guard.is_some() { 2 } else { 1 };
    let Scores { queries, keys, factor, cap, bias, hidden } =
        Scores::of(context, scores, users, all * count, &mut nodes)?;
    let [rows, features] =
        shape(graph, queries, keys, [chances, values], hidden.len()).ok_or(AttentionReason::Repeated)?;
    let seen = seen(&hidden, count).ok_or(AttentionReason::BlindRow)?;
    let whole = |width: usize| width.is_multiple_of(WORD_LANES) || all == 1;
    if !features.iter().all(|&width| width > 0 && whole(width)) {
        return Err(AttentionReason::Heads);
    }
    if !features.iter().chain([&count]).all(|&size| size <= MAX_ROWS) || !factor.is_finite() {
        return Err(AttentionReason::TooLarge);
    }
    if graph.constant(keys).is_some() {
        return Err(AttentionReason::ConstantKeys);
    }
    let bias = Rc::new(bias);
    Ok(Attention { queries, keys, values, factor, bias, cap, seen, rows, features, nodes })
}

fn is_float(graph: &Graph, id: ValueId) -> bool {
    graph.value(id).info.element.is_float()
}

/// Returns the rows that share a matrix, and the features, of both products. `None` if matrices of
/// keys are repeated, or matrices of values for rows that are not consecutive. There are `scores`
/// scores.
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
    let fits =
        size(batch) == size(key_batch) && all * count == scores && size(chance_batch) * chance_rows == all;
    let shared = size(repeated(chance_batch, value_batch)?) * chance_rows;
    fits.then_some([[rows, shared], [features, value_features]])
}

/// Returns the last axes of `batch`, along which `own` is repeated; `None` if it is repeated along
/// other axes.
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

/// Returns the value of a constant that is a single number.
pub fn number(graph: &Graph, id: ValueId) -> Option<f32> {
    let values = graph.constant(id)?.as_f32()?;
    let &first = values.first()?;
    values.iter().all(|&value| value == first).then_some(first)
}

/// Applies a factor, a mask that is added, or a bound below which scores are hidden; returns the
/// scores.
fn factor_or_mask(
    graph: &Graph,
    binary: &Binary,
    left: ValueId,
    right: ValueId,
    factor: &mut f32,
    hidden: &mut [bool],
    bias: &mut Vec<f32>,
) -> Result<ValueId, AttentionReason> {
    let (scores, constant) = if graph.constant(right).is_some() { (left, right) } else { (right, left) };
    let one = AttentionReason::Factors;
    match binary.kind {
        BinaryKind::Mul => *factor *= number(graph, constant).ok_or(one)?,
        BinaryKind::Div if constant == right => *factor /= number(graph, constant).ok_or(one)?,
        BinaryKind::Max if number(graph, constant).is_some_and(|least| least * *factor <= HIDDEN) => {}
        BinaryKind::Add => hide_or_add(graph, binary, [scores, constant], *factor, hidden, bias)
            .ok_or(AttentionReason::Mask)?,
        _ => return Err(AttentionReason::BeforeSoftmax),
    }
    Ok(scores)
}

/// Hides scores for which a constant mask is very small; the rest of the mask is added. Factors
/// found so far apply after the mask.
fn hide_or_add(
    graph: &Graph,
    add: &Binary,
    [scores, constant]: [ValueId; 2],
    factor: f32,
    hidden: &mut [bool],
    bias: &mut Vec<f32>,
) -> Option<()> {
    let zeros = Tensor::from_f32(graph.shape(scores).to_vec(), vec![0.0; hidden.len()]).ok()?;
    let sum = add.eval(&[&zeros, graph.constant(constant)?.as_ref()]).ok()?;
    let masks: Vec<f32> = sum.first()?.as_f32()?.iter().map(|mask| mask * factor).collect();
    if masks.len() != hidden.len() || masks.iter().any(|mask| mask.is_nan() || *mask == f32::INFINITY) {
        return None;
    }
    hidden.iter_mut().zip(&masks).for_each(|(hidden, &mask)| *hidden |= mask <= HIDDEN);
    let added = |&mask: &f32| if mask <= HIDDEN { 0.0 } else { mask };
    if masks.iter().any(|mask| added(mask) != 0.0) {
        bias.resize(masks.len(), 0.0);
        bias.iter_mut().zip(&masks).for_each(|(bias, mask)| *bias += added(mask));
    }
    Some(())
}

/// Hides the scores that a constant mask excludes.
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

/// Returns the tokens that each row sees; `None` if a row sees nothing.
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
