//! What is computed where: a graph as [`Step`]s, each for the machine or for the host.

mod node;

use std::collections::{BTreeMap, HashMap, HashSet};

use npukit_graph::op::{BinaryKind, RotaryEmbedding};
use npukit_graph::{Graph, NodeId, Op, ValueId};

use super::attention::{Attention, Context, Unfit, find};
use super::movement::Run;
use super::options::{Activations, Isa, Kv, Options};
use crate::op::CvoFunc;

/// A product with a constant matrix.
#[derive(Clone, Debug)]
pub(super) struct Product {
    /// The matrix.
    pub weights: ValueId,
    /// Whether it lies with a row for each result.
    pub by_rows: bool,
    /// Factor of the product.
    pub alpha: f32,
    /// What every row of the result starts from, a constant of as many values as a row or as the result.
    pub bias: Option<ValueId>,
    /// Rows, inputs of a row, results of a row.
    pub size: [usize; 3],
    /// Whether the second operand is added.
    pub adds: bool,
}

/// How a norm is computed.
#[derive(Clone, Debug)]
pub(super) struct Norm {
    /// Added to the mean square or the variance.
    pub epsilon: f32,
    /// Whether the mean is taken off first.
    pub centred: bool,
    /// A factor for each value of a row.
    pub gain: ValueId,
    /// What is added to each value of a row.
    pub bias: Option<ValueId>,
    /// Values of a row.
    pub row: usize,
}

/// What a step computes. Operands are the step's, constants stand here.
#[derive(Clone, Debug)]
pub(super) enum Work {
    Product(Product),
    Attention(Attention),
    Norm(Norm),
    /// The operands are what is rotated; the tables are constants of a row for each position.
    Rotary(Rotary),
    /// A function of each value.
    Function(CvoFunc),
    /// `1 / (1 + e^-x)`
    Sigmoid,
    /// `x / (1 + e^(-alpha x))`
    Swish(f32),
    /// `x * x`
    Square,
    /// `factor * x`
    Factor(f32),
    /// Of two operands of one shape.
    Binary(BinaryKind),
    /// Only moves values.
    Move(Vec<Vec<Run>>),
    /// The host's, and why.
    Host(String),
}

/// A rotation with its tables.
#[derive(Clone, Debug)]
pub(super) struct Rotary {
    pub op: RotaryEmbedding,
    /// `[positions, head]`, a value for each feature.
    pub cosines: ValueId,
    pub sines: ValueId,
    /// Features of a head.
    pub head: usize,
    /// The row of the tables for each head of the operand.
    pub positions: Vec<usize>,
}

/// One or several nodes computed as one.
#[derive(Clone, Debug)]
pub(super) struct Step {
    /// What is computed.
    pub work: Work,
    /// Nodes, the one whose results these are last.
    pub nodes: Vec<NodeId>,
    /// What changes from run to run.
    pub operands: Vec<ValueId>,
    pub results: Vec<ValueId>,
}

/// A graph's steps in order.
#[derive(Debug)]
pub(super) struct Plan {
    /// The graph, with constants as the steps want them.
    pub graph: Graph,
    pub steps: Vec<Step>,
    /// Gelus by the error function that became the machine's.
    pub approximated: usize,
    extensions: bool,
    /// Whether products take 16 bits of their activations.
    pub finer: bool,
}

impl Plan {
    pub fn new(graph: &Graph, options: &Options) -> Self {
        let extensions = options.isa == Isa::Ext;
        let finer = options.activations == Activations::Bits16;
        let mut plan = Self { graph: graph.clone(), steps: Vec::new(), approximated: 0, extensions, finer };
        let (attentions, unfit) = attentions(graph, options);
        let inside: HashSet<NodeId> =
            attentions.values().flat_map(|attention| attention.nodes.iter().copied()).collect();
        for id in graph.node_ids() {
            let node = graph.node(id);
            let (work, operands) = match attentions.get(&id) {
                Some(attention) => {
                    let operands = vec![attention.queries, attention.keys, attention.values];
                    (Work::Attention(attention.clone()), operands)
                }
                None if inside.contains(&id) => continue,
                None => match unfit.get(&id) {
                    Some(&reason) => (Work::Host(reason.to_owned()), node.inputs.clone()),
                    None => plan.node(node, options),
                },
            };
            let mut nodes = attentions.get(&id).map(|attention| attention.nodes.clone()).unwrap_or_default();
            nodes.sort_unstable();
            nodes.push(id);
            plan.steps.push(Step { work, nodes, operands, results: node.outputs.clone() });
        }
        plan.add_to_products();
        plan.leave_to_host();
        plan
    }

    /// Whether CVO's extensions may be used.
    pub const fn extensions(&self) -> bool {
        self.extensions
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
                step.work = Work::Host("what comes of it is the host's".to_owned());
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
pub(super) fn operator(graph: &Graph, step: &Step) -> &'static str {
    use npukit_graph::Operator;
    step.nodes.last().map_or("", |&id| graph.node(id).op.name())
}
