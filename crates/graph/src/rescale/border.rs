//! Powers of two at the border of a graph, applied by the host when it converts numbers:
//! [`Border`].

use std::collections::BTreeMap;

use npukit_numeric::Tensor;

use crate::ir::{Graph, Node, NodeId, Value, ValueId};
use crate::op::{Binary, BinaryKind, Op};

/// Exponents of inputs and outputs by name: the stored number is the value divided by `2^exponent`.
pub type Scales = BTreeMap<String, i32>;

/// A graph without the multiplications by powers of two at its border; its inputs and outputs are
/// the stored numbers.
#[derive(Clone, Debug)]
pub struct Border {
    /// The graph. An output that was a power of two times an inner value is that value now.
    pub graph: Graph,
    /// Nonzero exponents of its inputs and outputs.
    pub scales: Scales,
    /// For each input name, the name of the value that was its multiple.
    pub entered: BTreeMap<String, String>,
    /// For each output name that an inner value has now, the former name of that value.
    pub renamed: BTreeMap<String, String>,
    /// Removed outputs that are a multiple of another output: for each name, the name of that
    /// output.
    pub copies: BTreeMap<String, String>,
}

impl Border {
    /// Removes the multiplications by the powers of two in `scales` from a graph, unless other
    /// nodes read their operands.
    pub fn take_off(graph: &Graph, scales: &Scales) -> Self {
        let mut border = Self {
            graph: graph.clone(),
            scales: Scales::new(),
            entered: BTreeMap::new(),
            renamed: BTreeMap::new(),
            copies: BTreeMap::new(),
        };
        for (name, &exponent) in scales.iter().filter(|(_, exponent)| **exponent != 0) {
            let Some(id) = border.graph.find_value(name) else { continue };
            if border.graph.inputs.contains(&id) {
                border.take_off_input(id, exponent);
            } else if border.graph.is_output(id) {
                border.take_off_output(id, exponent);
            }
        }
        border
    }

    /// Returns a graph with these inputs and outputs, with the multiplications inserted again. Each
    /// factor is 2 or 1/2, which every number format has. Values get their former names.
    pub fn put_back(&self, graph: &Graph) -> Graph {
        let mut graph = graph.clone();
        for (name, &exponent) in &self.scales {
            let Some(id) = graph.find_value(name) else { continue };
            match (self.entered.get(name), self.renamed.get(name)) {
                (Some(stored), _) => put_back_input(&mut graph, id, stored, exponent),
                (None, Some(stored)) => put_back_output(&mut graph, id, stored, exponent),
                (None, None) => {}
            }
        }
        for (output, of) in &self.copies {
            // Default: a removed output has an exponent.
            let exponent = self.scales.get(output).copied().unwrap_or(0);
            if let Some(id) = graph.find_value(of) {
                put_back_copy(&mut graph, id, output, exponent);
            }
        }
        graph
    }

    fn take_off_input(&mut self, input: ValueId, exponent: i32) {
        let consumers = self.graph.consumers();
        let (mut at, mut left, mut chain) = (input, -exponent, Vec::new());
        while left != 0 {
            let &[reader] = consumers[at.0 as usize].as_slice() else { return };
            let Some((_, factor)) = power_of(&self.graph, reader, at) else { return };
            if self.graph.is_output(at) {
                return;
            }
            chain.push(reader);
            left -= factor;
            at = self.graph.node(reader).outputs[0];
            if chain.len() > LONGEST {
                return;
            }
        }
        if self.graph.is_output(at) {
            return;
        }
        self.remove(&chain);
        replace(&mut self.graph, at, input);
        let [name, stored] = [input, at].map(|id| self.graph.value(id).name.clone());
        // This name is needed for the value that replaces it when the multiplications are inserted
        // again.
        let unused = self.graph.fresh_name(&format!("{stored}/before"));
        self.rename(at, unused);
        self.scales.insert(name.clone(), exponent);
        self.entered.insert(name, stored);
    }

    fn take_off_output(&mut self, output: ValueId, exponent: i32) {
        let (producers, consumers) = (self.graph.producers(), self.graph.consumers());
        let (mut at, mut left, mut chain) = (output, exponent, Vec::<NodeId>::new());
        while left != 0 {
            let Some(node) = producers[at.0 as usize] else { return };
            let Some((from, factor)) = factor_of(&self.graph, node) else { return };
            let readers = consumers[at.0 as usize].iter().all(|reader| chain.contains(reader));
            if !readers || (at != output && self.graph.is_output(at)) || chain.len() > LONGEST {
                return;
            }
            chain.push(node);
            left -= factor;
            at = from;
        }
        // A program does not store values without a producer.
        if producers[at.0 as usize].is_none() {
            return;
        }
        let (name, inner) = (self.graph.value(output).name.clone(), self.graph.value(at).name.clone());
        if self.graph.is_output(at) {
            self.graph.outputs.retain(|&id| id != output);
            self.copies.insert(name.clone(), inner);
        } else {
            let outputs = self.graph.outputs.iter_mut();
            outputs.filter(|id| **id == output).for_each(|id| *id = at);
            let unused = self.graph.fresh_name(&format!("{name}/real"));
            self.rename(output, unused);
            self.rename(at, name.clone());
            self.renamed.insert(name.clone(), inner);
        }
        self.remove(&chain);
        self.scales.insert(name, exponent);
    }

    fn rename(&mut self, id: ValueId, name: String) {
        self.graph.values[id.0 as usize].name = name;
    }

    fn remove(&mut self, nodes: &[NodeId]) {
        let mut number = 0;
        self.graph.nodes.retain(|_| {
            number += 1;
            !nodes.contains(&NodeId(number - 1))
        });
    }
}

/// Maximum number of multiplications that form one power of two.
const LONGEST: usize = 64;

/// Returns the value that a node multiplies by a power of two, and the exponent.
fn factor_of(graph: &Graph, id: NodeId) -> Option<(ValueId, i32)> {
    let node = graph.node(id);
    let &[x, factor] = node.inputs.as_slice() else { return None };
    let is_product = matches!(node.op, Op::Binary(Binary { kind: BinaryKind::Mul }));
    let &[factor] = graph.constant(factor)?.as_f32()? else { return None };
    let exponent = f64::from(factor).log2();
    let keeps_shape = graph.shape(x) == graph.shape(*node.outputs.first()?);
    let is_power = factor > 0.0 && exponent.fract() == 0.0;
    (is_product && keeps_shape && is_power && graph.constant(x).is_none()).then_some((x, exponent as i32))
}

/// Like [`factor_of`], for a node whose other operand is `x`.
fn power_of(graph: &Graph, id: NodeId, x: ValueId) -> Option<(ValueId, i32)> {
    factor_of(graph, id).filter(|(from, _)| *from == x)
}

/// Replaces `old` by `new` in the operands of all nodes.
fn replace(graph: &mut Graph, old: ValueId, new: ValueId) {
    let operands = graph.nodes.iter_mut().flat_map(|node| &mut node.inputs);
    operands.filter(|id| **id == old).for_each(|id| *id = new);
}

fn put_back_input(graph: &mut Graph, input: ValueId, stored: &str, exponent: i32) {
    let stored = named(graph, input, stored);
    replace(graph, input, stored);
    let nodes = multiplications(graph, input, stored, -exponent);
    graph.nodes.splice(0..0, nodes);
}

fn put_back_output(graph: &mut Graph, output: ValueId, stored: &str, exponent: i32) {
    let name = std::mem::replace(&mut graph.values[output.0 as usize].name, stored.to_owned());
    let real = named(graph, output, &name);
    let outputs = graph.outputs.iter_mut();
    outputs.filter(|id| **id == output).for_each(|id| *id = real);
    let nodes = multiplications(graph, output, real, exponent);
    graph.nodes.extend(nodes);
}

fn put_back_copy(graph: &mut Graph, stored: ValueId, name: &str, exponent: i32) {
    let unused = graph.find_value(name);
    if let Some(unused) = unused {
        let before = graph.fresh_name(&format!("{name}/before"));
        graph.values[unused.0 as usize].name = before;
    }
    let real = named(graph, stored, name);
    graph.outputs.push(real);
    let nodes = multiplications(graph, stored, real, exponent);
    graph.nodes.extend(nodes);
}

/// Adds a value like `like`, with a new name based on `name`.
fn named(graph: &mut Graph, like: ValueId, name: &str) -> ValueId {
    let info = graph.value(like).info.clone();
    graph.add_value(Value { name: name.to_owned(), info, constant: None })
}

/// Adds a value with the shape and type of `id`.
fn like(graph: &mut Graph, id: ValueId, name: &str) -> ValueId {
    let info = graph.value(id).info.clone();
    let name = graph.fresh_name(name);
    graph.add_value(Value { name, info, constant: None })
}

/// Returns nodes that compute `to` as `from` times `2^exponent`.
fn multiplications(graph: &mut Graph, from: ValueId, to: ValueId, exponent: i32) -> Vec<Node> {
    let factor = if exponent < 0 { 0.5 } else { 2.0 };
    let Ok(tensor) = Tensor::from_f32(Vec::new(), vec![factor]) else { return Vec::new() };
    let name = graph.fresh_name(&format!("{factor}"));
    let factor = graph.add_constant(name, tensor);
    let (count, mut at, mut nodes) = (exponent.unsigned_abs(), from, Vec::new());
    for place in 1..=count {
        let next = if place == count { to } else { like(graph, to, "part") };
        let name = graph.value(next).name.clone();
        let op = Binary { kind: BinaryKind::Mul }.into();
        nodes.push(Node { name, op, inputs: vec![at, factor], outputs: vec![next] });
        at = next;
    }
    nodes
}
