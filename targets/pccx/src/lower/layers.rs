//! What is computed where: a graph as [`Step`]s, each of one node or several, for machine or host.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};

use npukit_graph::op::BinaryKind;
use npukit_graph::{Graph, NodeId, Op, Operator, ValueId};

use super::ops::{Attention, Context, Unfit, Work, find};
use super::options::{Activations, Isa, Kv, Options};

/// Why the host computes a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostReason(Cow<'static, str>);

impl From<&'static str> for HostReason {
    fn from(reason: &'static str) -> Self {
        Self(Cow::Borrowed(reason))
    }
}

impl From<String> for HostReason {
    fn from(reason: String) -> Self {
        Self(Cow::Owned(reason))
    }
}

impl std::fmt::Display for HostReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// One or several nodes computed as one.
#[derive(Clone, Debug)]
pub struct Step {
    /// What is computed.
    pub work: Work,
    /// Nodes, the one whose results these are last.
    pub nodes: Vec<NodeId>,
    /// What changes from run to run.
    pub operands: Vec<ValueId>,
    pub results: Vec<ValueId>,
}

impl Step {
    /// The node whose results these are.
    pub fn last(&self) -> NodeId {
        *self.nodes.last().expect("a step is made of at least one node")
    }
}

/// A graph's steps in order.
#[derive(Debug)]
pub struct Layers {
    /// The graph, with constants as the steps want them.
    pub graph: Graph,
    pub steps: Vec<Step>,
    /// Gelus by the error function that became the machine's.
    pub approximated: usize,
    /// Whether CVO's extensions may be used.
    pub extensions: bool,
    /// Whether products take 16 bits of their activations.
    pub finer: bool,
}

impl Layers {
    pub fn new(graph: &Graph, options: &Options) -> Self {
        let extensions = options.isa == Isa::Ext;
        let finer = options.activations == Activations::Bits16;
        let mut layers = Self { graph: graph.clone(), steps: Vec::new(), approximated: 0, extensions, finer };
        let (attentions, unfit) = attentions(graph, options);
        let inside: HashSet<NodeId> =
            attentions.values().flat_map(|attention| attention.nodes.iter().copied()).collect();
        for id in graph.node_ids() {
            let node = graph.node(id);
            let mut nodes = Vec::new();
            let (work, operands) = match attentions.get(&id) {
                Some(attention) => {
                    nodes.clone_from(&attention.nodes);
                    nodes.sort_unstable();
                    let operands = vec![attention.queries, attention.keys, attention.values];
                    (Work::Attention(attention.clone()), operands)
                }
                None if inside.contains(&id) => continue,
                None => match unfit.get(&id) {
                    Some(&reason) => (Work::Host(reason.into()), node.inputs.clone()),
                    None => layers.node(node, options),
                },
            };
            nodes.push(id);
            layers.steps.push(Step { work, nodes, operands, results: node.outputs.clone() });
        }
        layers.add_to_products();
        layers.leave_to_host();
        layers
    }

    /// Sums one of whose operands is a product that nobody else wants: the product adds to the other.
    fn add_to_products(&mut self) {
        let mut uses: BTreeMap<ValueId, usize> = BTreeMap::new();
        let all = self.steps.iter().flat_map(|step| step.operands.iter());
        all.chain(&self.graph.outputs).for_each(|&id| *uses.entry(id).or_default() += 1);
        let mut makers: HashMap<ValueId, usize> = HashMap::new();
        for (index, step) in self.steps.iter().enumerate() {
            step.results.iter().for_each(|&id| _ = makers.entry(id).or_insert(index));
        }
        let mut steps: Vec<Option<Step>> = std::mem::take(&mut self.steps).into_iter().map(Some).collect();
        let product = |steps: &[Option<Step>], id: ValueId| {
            let maker = *makers.get(&id)?;
            let Work::Product(product) = &steps[maker].as_ref()?.work else { return None };
            let alone = uses.get(&id) == Some(&1) && product.bias.is_none() && !product.adds;
            alone.then_some((maker, id))
        };
        for index in 0..steps.len() {
            let is_sum = |step: &&Step| matches!(step.work, Work::Binary(BinaryKind::Add));
            let Some(sum) = steps[index].as_ref().filter(is_sum) else { continue };
            let found = sum.operands.iter().rev().find_map(|&id| product(&steps, id));
            let other = found.and_then(|(_, id)| sum.operands.iter().copied().find(|other| *other != id));
            let (Some((maker, _)), Some(other)) = (found, other) else { continue };
            let (nodes, results) = (sum.nodes.clone(), sum.results.clone());
            let Some(mut taken) = steps[maker].take() else { continue };
            if let Work::Product(product) = &mut taken.work {
                product.adds = true;
            }
            taken.operands.push(other);
            taken.nodes.extend(nodes);
            steps[index] = Some(Step { results, ..taken });
        }
        self.steps = steps.into_iter().flatten().collect();
    }

    /// Elements that the host wants where the host moves them just as well stay there.
    fn leave_to_host(&mut self) {
        let mut wanted: HashSet<ValueId> = HashSet::new();
        for step in self.steps.iter_mut().rev() {
            if matches!(step.work, Work::Move(_)) && !step.results.iter().any(|id| wanted.contains(id)) {
                step.work = Work::Host("what comes of it is the host's".into());
            }
            let here = match &step.work {
                Work::Host(_) => &[],
                // Keys and values become weights at the host.
                Work::Attention(_) => &step.operands[..1],
                _ => &step.operands[..],
            };
            wanted.extend(here.iter().copied());
        }
    }
}

/// Attentions by their last node, and nodes of those that are the host's with the reason.
fn attentions(
    graph: &Graph,
    options: &Options,
) -> (BTreeMap<NodeId, Attention>, BTreeMap<NodeId, &'static str>) {
    let context = Context::new(graph);
    let (mut fits, mut unfit) = (BTreeMap::new(), BTreeMap::new());
    for id in graph.node_ids() {
        match find(&context, id) {
            None => {}
            Some(Ok(attention)) if options.kv == Kv::Npu => _ = fits.insert(id, attention),
            Some(Ok(attention)) => {
                let is_product = |id: &NodeId| matches!(graph.node(*id).op, Op::MatMul(_) | Op::Softmax(_));
                let nodes = attention.nodes.into_iter().chain([id]).filter(is_product);
                unfit.extend(nodes.map(|id| (id, "kv=host leaves attention to the host")));
            }
            Some(Err(Unfit { nodes, reason })) => unfit.extend(nodes.into_iter().map(|id| (id, reason))),
        }
    }
    (fits, unfit)
}

/// The operator a step is named after.
pub fn operator(graph: &Graph, step: &Step) -> &'static str {
    graph.node(step.last()).op.name()
}
