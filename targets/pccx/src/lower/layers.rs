//! What is computed where: a graph as [`Step`]s, each of one node or several, for machine or host.

use std::collections::{BTreeMap, HashMap, HashSet};

use npukit_graph::op::BinaryKind;
use npukit_graph::{Graph, NodeId, Op, Operator, ValueId};

use super::ops::{Attention, Context, Product, Unfit, Work, find};
use super::options::{Activations, Isa, Kv, Options};
use super::reason::HostReason;

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
    pub two_byte_activations: bool,
}

impl Layers {
    pub fn new(graph: &Graph, options: &Options) -> Self {
        let extensions = options.isa == Isa::Ext;
        let two_byte_activations = options.activations == Activations::Bits16;
        let mut layers = Self {
            graph: graph.clone(),
            steps: Vec::new(),
            approximated: 0,
            extensions,
            two_byte_activations,
        };
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
                    Some(&reason) => (Work::Host(reason), node.inputs.clone()),
                    None => layers.node(node, options),
                },
            };
            nodes.push(id);
            layers.steps.push(Step { work, nodes, operands, results: node.outputs.clone() });
        }
        layers.join_products();
        layers.leave_to_host();
        layers
    }

    /// Joins products that nobody else wants with the sum or softmax behind them ([`Self::joined`]).
    ///
    /// The step takes the place of the last node, since what is added may be made between the two. A chain of
    /// [`npukit_lower::Fuse`] takes that of its first node, so this is not one.
    fn join_products(&mut self) {
        let mut uses: BTreeMap<ValueId, usize> = BTreeMap::new();
        let all = self.steps.iter().flat_map(|step| step.operands.iter());
        all.chain(&self.graph.outputs).for_each(|&id| *uses.entry(id).or_default() += 1);
        let mut makers: HashMap<ValueId, usize> = HashMap::new();
        for (index, step) in self.steps.iter().enumerate() {
            step.results.iter().for_each(|&id| _ = makers.entry(id).or_insert(index));
        }
        let mut steps: Vec<Option<Step>> = std::mem::take(&mut self.steps).into_iter().map(Some).collect();
        for index in 0..steps.len() {
            let Some(last) = &steps[index] else { continue };
            let found = last.operands.iter().rev().find_map(|&id| {
                let maker = *makers.get(&id).filter(|_| uses.get(&id) == Some(&1))?;
                let Work::Product(product) = &steps[maker].as_ref()?.work else { return None };
                Some((maker, id, self.joined(product, last)?))
            });
            let Some((maker, id, product)) = found else { continue };
            let Step { nodes, operands, results, .. } = last.clone();
            let Some(mut step) = steps[maker].take() else { continue };
            step.operands.extend(operands.into_iter().filter(|&other| other != id));
            step.nodes.extend(nodes);
            steps[index] = Some(Step { work: Work::Product(product), results, ..step });
        }
        self.steps = steps.into_iter().flatten().collect();
    }

    /// A product with what `last` makes of it: one that adds to the other operand of a sum, or the softmax of its rows,
    /// of each of which it finds the largest.
    fn joined(&self, product: &Product, last: &Step) -> Option<Product> {
        if product.softmax {
            return None;
        }
        match (&last.work, &self.graph.node(last.last()).op) {
            (Work::Binary(BinaryKind::Add), _) if product.bias.is_none() && !product.adds => {
                Some(Product { adds: true, ..product.clone() })
            }
            (Work::Host(HostReason::Softmax), Op::Softmax(softmax)) => {
                let shape = self.graph.shape(*last.results.first()?);
                let of_rows = softmax.axis + 1 == shape.len() && shape.last() == Some(&product.size[2]);
                (of_rows && product.has_rows()).then(|| Product { softmax: true, ..product.clone() })
            }
            _ => None,
        }
    }

    /// Elements that the host wants where the host moves them just as well stay there.
    fn leave_to_host(&mut self) {
        let mut wanted: HashSet<ValueId> = HashSet::new();
        for step in self.steps.iter_mut().rev() {
            if matches!(step.work, Work::Move(_)) && !step.results.iter().any(|id| wanted.contains(id)) {
                step.work = Work::Host(HostReason::ResultsAtHost);
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
) -> (BTreeMap<NodeId, Attention>, BTreeMap<NodeId, HostReason>) {
    let context = Context::new(graph);
    let (mut fits, mut unfit) = (BTreeMap::new(), BTreeMap::new());
    for id in graph.node_ids() {
        match find(&context, id) {
            None => {}
            Some(Ok(attention)) if options.kv == Kv::Npu => _ = fits.insert(id, attention),
            Some(Ok(attention)) => {
                let is_product = |id: &NodeId| matches!(graph.node(*id).op, Op::MatMul(_) | Op::Softmax(_));
                let nodes = attention.nodes.into_iter().chain([id]).filter(is_product);
                unfit.extend(nodes.map(|id| (id, HostReason::KvAtHost)));
            }
            Some(Err(Unfit { nodes, reason })) => {
                unfit.extend(nodes.into_iter().map(|id| (id, reason.into())))
            }
        }
    }
    (fits, unfit)
}

/// The operator a step is named after.
pub fn operator(graph: &Graph, step: &Step) -> &'static str {
    graph.node(step.last()).op.name()
}
