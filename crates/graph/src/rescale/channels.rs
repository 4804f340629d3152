//! [`Group`]: values between layers, whose channels can be scaled separately.

use std::collections::BTreeMap;
use std::sync::Arc;

use npukit_numeric::Tensor;

use crate::classes::Classes;
use crate::ir::{Graph, Node, NodeId, ValueId};
use crate::op::{Binary, BinaryKind, Gemm, Op};

/// Values between convolutions and dense layers with one scale per channel. No operator in between
/// mixes channels or depends on their scale.
#[derive(Default)]
pub(crate) struct Group {
    pub values: Vec<ValueId>,
    /// Weights of the layers that produce them, by output channel.
    pub gives: Vec<Weights>,
    /// Addends of those layers, one element per channel.
    pub adds: Vec<Weights>,
    /// Weights of the layers that consume them, by input channel.
    pub takes: Vec<Weights>,
    /// Whether a node depends on their scale.
    is_fixed: bool,
}

/// A constant whose elements belong to channels: element `i` to `i / stride % count`.
#[derive(Clone, Copy)]
pub(crate) struct Weights {
    pub id: ValueId,
    stride: usize,
    pub count: usize,
}

/// The groups of a graph, by the value that represents each.
struct Groups<'g> {
    graph: &'g Graph,
    consumers: Vec<Vec<NodeId>>,
    classes: Vec<usize>,
    groups: BTreeMap<usize, Group>,
}

/// Returns the groups that can be scaled.
pub(crate) fn groups(graph: &Graph) -> Vec<Group> {
    Groups::of(graph).groups.into_values().filter(Group::is_free).collect()
}

impl<'g> Groups<'g> {
    fn of(graph: &'g Graph) -> Self {
        let mut classes = Classes::new(graph.values.len());
        graph.nodes.iter().filter(|node| is_between(graph, node)).for_each(|node| {
            classes.join(node.inputs.iter().chain(&node.outputs).copied());
        });
        let (consumers, classes) = (graph.consumers(), classes.representatives());
        let mut all = Self { graph, consumers, classes, groups: BTreeMap::new() };
        graph.inputs.iter().chain(&graph.outputs).for_each(|&id| all.group(id).is_fixed = true);
        graph.nodes.iter().for_each(|node| all.note(node));
        for index in 0..graph.values.len() {
            let id = ValueId(index as u32);
            all.group(id).values.push(id);
        }
        all
    }

    fn group(&mut self, id: ValueId) -> &mut Group {
        self.groups.entry(self.classes[id.0 as usize]).or_default()
    }

    /// Updates the groups of a node's operands and results.
    fn note(&mut self, node: &Node) {
        if is_between(self.graph, node) {
            return;
        }
        let layer = self.gives(node).zip(node.outputs.first().copied());
        let Some(((weights, bias), output)) = layer else {
            return node.inputs.iter().chain(&node.outputs).for_each(|&id| self.group(id).is_fixed = true);
        };
        let group = self.group(output);
        group.gives.push(weights);
        group.adds.extend(bias);
        match self.takes(node).zip(node.inputs.first().copied()) {
            Some((weights, input)) => self.group(input).takes.push(weights),
            None => node.inputs.iter().take(1).for_each(|&id| self.group(id).is_fixed = true),
        }
    }

    /// Whether the value is a float constant with a single reader.
    fn is_own(&self, id: ValueId) -> bool {
        let is_constant = self.graph.constant(id).is_some_and(|constant| constant.as_f32().is_some());
        is_constant && self.consumers[id.0 as usize].len() == 1
    }

    /// Returns the weights of a layer by output channel, and its addend.
    fn gives(&self, node: &Node) -> Option<(Weights, Option<Weights>)> {
        let &id = node.inputs.get(1).filter(|&&id| self.is_own(id))?;
        let weights = match (&node.op, self.graph.shape(id)) {
            (Op::Conv(_), &[.., filters]) => Weights { id, stride: 1, count: filters },
            (Op::Gemm(gemm), &[rows, columns]) if is_plain(gemm) => dense(id, gemm, [rows, columns])[1],
            _ => return None,
        };
        let bias = node.inputs.get(2).map(|&id| Weights { id, stride: 1, ..weights });
        let fits = |bias: &Weights| self.is_own(bias.id) && self.graph.shape(bias.id) == [bias.count];
        bias.iter().all(fits).then_some((weights, bias))
    }

    /// Returns the weights of a layer by input channel.
    fn takes(&self, node: &Node) -> Option<Weights> {
        let &id = node.inputs.get(1).filter(|&&id| self.is_own(id))?;
        match (&node.op, self.graph.shape(id)) {
            // Depthwise: one filter per channel.
            (Op::Conv(conv), &[_, _, 1, filters]) if filters == conv.group => {
                Some(Weights { id, stride: 1, count: filters })
            }
            (Op::Conv(conv), &[_, _, channels, filters]) if conv.group == 1 => {
                Some(Weights { id, stride: filters, count: channels })
            }
            (Op::Gemm(gemm), &[rows, columns]) if is_plain(gemm) => Some(dense(id, gemm, [rows, columns])[0]),
            _ => None,
        }
    }
}

/// Whether scaling a channel of the node's operands scales the same channel of its result.
fn is_between(graph: &Graph, node: &Node) -> bool {
    let is_computed = |id: &ValueId| graph.constant(*id).is_none();
    let alike =
        || node.inputs.iter().all(|&id| is_computed(&id) && graph.shape(id) == graph.shape(node.outputs[0]));
    match &node.op {
        Op::Relu(_) | Op::LeakyRelu(_) | Op::MaxPool(_) | Op::AveragePool(_) => node.outputs.len() == 1,
        Op::Reshape(_) => keeps_channels(graph, node),
        Op::Binary(Binary { kind: BinaryKind::Add }) => alike(),
        _ => false,
    }
}

/// Whether the last axis of the result holds the same channels as that of the operand.
fn keeps_channels(graph: &Graph, reshape: &Node) -> bool {
    let channels = |ids: &[ValueId]| {
        let shape = graph.shape(*ids.first()?);
        shape.last().copied().filter(|&last| last == shape.iter().product::<usize>())
    };
    let before = channels(&reshape.inputs);
    before.is_some() && before == channels(&reshape.outputs)
}

/// Returns the weights of a dense layer, by input channel and by output channel.
fn dense(id: ValueId, gemm: &Gemm, [rows, columns]: [usize; 2]) -> [Weights; 2] {
    let by_row = Weights { id, stride: columns, count: rows };
    let by_column = Weights { id, stride: 1, count: columns };
    if gemm.trans_b { [by_column, by_row] } else { [by_row, by_column] }
}

/// Whether the Gemm has no factors: a matrix product plus a bias.
fn is_plain(gemm: &Gemm) -> bool {
    Gemm { trans_b: false, ..gemm.clone() } == Gemm::PLAIN
}

impl Group {
    /// Whether the group has no fixed scale, and layers produce and consume all of it.
    fn is_free(&self) -> bool {
        let mut layers = self.gives.iter().chain(&self.takes);
        let count = self.gives.first().map(|weights| weights.count);
        !self.is_fixed && !self.takes.is_empty() && layers.all(|weights| Some(weights.count) == count)
    }

    /// Divides the values by a factor per channel, through the weights of the layers.
    pub fn divide(&self, graph: &mut Graph, factor: impl Fn(usize) -> f64) {
        self.gives.iter().chain(&self.adds).for_each(|weights| weights.scale(graph, |at| 1.0 / factor(at)));
        self.takes.iter().for_each(|weights| weights.scale(graph, &factor));
    }

    /// Marks the values by a suffix of their names, as they differ from the model's.
    pub fn rename(&self, graph: &mut Graph, suffix: &str) {
        self.values.iter().for_each(|id| graph.values[id.0 as usize].name.push_str(suffix));
    }
}

impl Weights {
    fn channel(&self, place: usize) -> usize {
        place / self.stride % self.count
    }

    /// Returns the elements.
    fn floats<'g>(&self, graph: &'g Graph) -> &'g [f32] {
        let constant = graph.constant(self.id).and_then(|constant| constant.as_f32());
        constant.expect("groups contain only float constants")
    }

    /// Raises `largest`, one element per channel, to the largest magnitude of each channel's
    /// weights.
    pub fn note_largest(&self, graph: &Graph, largest: &mut [f32]) {
        for (place, x) in self.floats(graph).iter().enumerate().filter(|(_, x)| x.is_finite()) {
            let most = &mut largest[self.channel(place)];
            *most = most.max(x.abs());
        }
    }

    /// Multiplies each element by the factor of its channel.
    fn scale(&self, graph: &mut Graph, factor: impl Fn(usize) -> f64) {
        let values = self.floats(graph).iter().enumerate();
        let scaled = values.map(|(place, &x)| (f64::from(x) * factor(self.channel(place))) as f32).collect();
        let scaled = Tensor::from_f32(graph.shape(self.id).to_vec(), scaled);
        let scaled = scaled.expect("the number of elements is unchanged");
        graph.values[self.id.0 as usize].constant = Some(Arc::new(scaled));
    }
}
