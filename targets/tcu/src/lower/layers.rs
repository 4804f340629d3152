//! Grouping of graph nodes into layers: chains whose intermediate values stay in the accumulators.
//!
//! A chain starts at a node and takes up, one after the other, the nodes that can work on its value
//! where it is, as long as their other operands are there already. A value that has other readers,
//! or that the host wants, is saved on the way.

mod limits;
mod ports;

use std::collections::{HashMap, HashSet};

use npukit_graph::{Graph, Node, Op, Operator, ValueId};

pub use limits::no_floats;

use super::Order;
use super::error::{LowerError, Memory, Problem};
use super::hir::{Layer, Lookup, Model, Port, Step};
use super::object::{ObjectKind, Objects, VecRef};
use super::ops;
use super::view::{View, natural_channels};
use crate::config::Config;
use crate::program::HostStep;

/// Why a node cannot be lowered.
#[derive(Debug)]
pub enum Reject {
    /// The array cannot do it.
    Unsupported {
        /// What the array cannot do.
        reason: String,
        /// What would help.
        hint: String,
    },
    /// Its constants alone are more than DRAM1 holds.
    Constants {
        /// Vectors of all constants up to this node's.
        needed: u64,
    },
}

impl Reject {
    /// A reason and what would help.
    pub fn new(reason: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Unsupported { reason: reason.into(), hint: hint.into() }
    }
}

/// What lowering a node gave.
pub enum Lowered {
    /// Its results are views; nothing is left to do.
    Views,
    /// A chain that starts with it.
    Chain(Chain),
}

/// A layer while it grows.
pub struct Chain {
    /// Nodes taken up.
    pub nodes: Vec<usize>,
    /// The value the grid holds.
    pub value: ValueId,
    /// Pixels of the grid.
    pub pixels: usize,
    /// Elements of a pixel.
    pub channels: usize,
    /// Multiply-accumulates.
    pub macs: u64,
    /// Steps so far.
    pub steps: Vec<Step>,
    /// The value is stored already.
    pub saved: bool,
}

/// Where the value of a chain goes.
enum Destiny {
    /// One reader, which may join the chain.
    Reader,
    /// Several readers, or none that can do without it in memory.
    Variable,
    /// The host reads it.
    Output,
}

/// Builds a [`Model`] from a graph.
pub struct Builder<'g> {
    /// The graph.
    pub graph: &'g Graph,
    /// The instance.
    pub config: &'g Config,
    /// Where biases enter.
    pub order: Order,
    /// Multiply-accumulates of the model's nodes by name.
    macs: HashMap<String, u64>,
    /// Objects so far.
    pub objects: Objects,
    layers: Vec<Layer>,
    views: HashMap<ValueId, View>,
    readers: HashMap<ValueId, Vec<usize>>,
    producers: HashMap<ValueId, usize>,
    outputs: HashSet<ValueId>,
    /// Values whose vectors the host reads, be it under another shape or through a host step.
    host_reads: HashSet<ValueId>,
    done: Vec<bool>,
    host_steps: Vec<HostStep>,
    /// Lookup tables made so far, by function.
    pub tables: HashMap<String, Lookup>,
    problems: Vec<Problem>,
    /// The first node whose constants are too many for DRAM1.
    insufficient: Option<LowerError>,
}

impl<'g> Builder<'g> {
    /// A builder for `graph`; `macs` are the multiply-accumulates of the model's nodes, by name.
    pub fn new(graph: &'g Graph, macs: HashMap<String, u64>, config: &'g Config, order: Order) -> Self {
        let mut readers: HashMap<ValueId, Vec<usize>> = HashMap::new();
        let mut producers = HashMap::new();
        for (i, node) in graph.nodes.iter().enumerate() {
            for &input in &node.inputs {
                readers.entry(input).or_default().push(i);
            }
            producers.extend(node.outputs.iter().map(|&output| (output, i)));
        }
        Self {
            graph,
            config,
            order,
            macs,
            objects: Objects::new(config.data_type.format(), config.array_size),
            layers: Vec::new(),
            views: HashMap::new(),
            readers,
            producers,
            outputs: graph.outputs.iter().copied().collect(),
            host_reads: HashSet::new(),
            done: vec![false; graph.nodes.len()],
            host_steps: Vec::new(),
            tables: HashMap::new(),
            problems: Vec::new(),
            insufficient: None,
        }
    }

    /// Lowers all nodes.
    pub fn build(mut self) -> Result<Model, LowerError> {
        self.require_inputs();
        self.find_host_reads();
        let inputs = self.bind_inputs();
        for i in 0..self.graph.nodes.len() {
            if !self.done[i] {
                self.lower(i);
            }
        }
        let outputs: Vec<Port> = self.graph.outputs.iter().map(|&value| self.bind_output(value)).collect();
        let Self { objects, layers, host_steps, problems, insufficient, .. } = self;
        match insufficient {
            _ if !problems.is_empty() => Err(LowerError::Unsupported { problems }),
            Some(insufficient) => Err(insufficient),
            None => Ok(Model { objects, layers, inputs, outputs, host_steps }),
        }
    }

    /// Vector length.
    pub fn array_size(&self) -> usize {
        self.config.array_size
    }

    /// The view of a value. Constants become objects when first asked for.
    ///
    /// Errors: a value that is not in memory; a constant without floats, or too large.
    pub fn view(&mut self, value: ValueId) -> Result<&View, Reject> {
        if !self.views.contains_key(&value) {
            let view = self.constant_view(value)?;
            self.views.insert(value, view);
        }
        Ok(&self.views[&value])
    }

    /// Says where a value's vectors are.
    pub fn set_view(&mut self, value: ValueId, view: View) {
        self.views.insert(value, view);
    }

    /// The only node that reads `value`, when the host does not read it as well.
    pub fn only_reader(&self, value: ValueId) -> Option<usize> {
        match (self.readers.get(&value).map(Vec::as_slice), self.is_output(value)) {
            (Some(&[reader]), false) => Some(reader),
            _ => None,
        }
    }

    /// Whether some node reads `value`.
    pub fn is_read(&self, value: ValueId) -> bool {
        self.readers.contains_key(&value)
    }

    /// The node that makes `value`; none makes inputs and constants.
    pub fn producer(&self, value: ValueId) -> Option<&'g Node> {
        self.producer_index(value).map(|i| self.node(i))
    }

    /// Its index.
    pub fn producer_index(&self, value: ValueId) -> Option<usize> {
        self.producers.get(&value).copied()
    }

    /// Whether `value` is an output of the graph.
    pub fn is_output(&self, value: ValueId) -> bool {
        self.outputs.contains(&value)
    }

    /// Multiply-accumulates of node `i` in the model.
    pub fn macs(&self, i: usize) -> u64 {
        self.macs.get(&self.node(i).name).copied().unwrap_or(0)
    }

    /// Adds a step of the host.
    pub fn add_host_step(&mut self, step: HostStep) {
        self.host_steps.push(step);
    }

    /// Stores the chain's value and ends the chain.
    pub fn finish(&mut self, mut chain: Chain) {
        self.save(&mut chain);
        self.push_layer(chain);
    }

    fn node(&self, i: usize) -> &'g Node {
        &self.graph.nodes[i]
    }

    fn lower(&mut self, i: usize) {
        self.done[i] = true;
        let lowered = self.require_operands(i).and_then(|()| ops::lower(self, i));
        match lowered {
            Ok(Lowered::Views) => {}
            Ok(Lowered::Chain(chain)) => {
                for &node in &chain.nodes {
                    self.done[node] = true;
                }
                self.grow(chain);
            }
            Err(reject) => self.reject(i, reject),
        }
    }

    /// Takes up followers until none fits.
    fn grow(&mut self, mut chain: Chain) {
        loop {
            if !matches!(self.destiny(chain.value), Destiny::Reader) {
                self.save(&mut chain);
            }
            let readers = self.readers.get(&chain.value).cloned().unwrap_or_default();
            let taken = readers.into_iter().find(|&i| !self.done[i] && self.try_follow(&mut chain, i));
            match taken {
                Some(i) => self.done[i] = true,
                None => break,
            }
        }
        self.finish(chain);
    }

    fn try_follow(&mut self, chain: &mut Chain, i: usize) -> bool {
        let steps = chain.steps.len();
        // A node that cannot be lowered at all is reported when it is lowered on its own.
        let followed = self.require_operands(i).is_ok() && matches!(ops::follow(self, chain, i), Ok(true));
        if followed {
            chain.nodes.push(i);
            chain.value = self.node(i).outputs[0];
            chain.saved = false;
        } else {
            chain.steps.truncate(steps);
        }
        followed
    }

    fn destiny(&self, value: ValueId) -> Destiny {
        if self.host_reads.contains(&value) {
            Destiny::Output
        } else if self.only_reader(value).is_some() {
            Destiny::Reader
        } else {
            Destiny::Variable
        }
    }

    fn save(&mut self, chain: &mut Chain) {
        if chain.saved {
            return;
        }
        chain.saved = true;
        let pixel_major = matches!(self.destiny(chain.value), Destiny::Output);
        let kind = if pixel_major { ObjectKind::Output } else { ObjectKind::Variable };
        let blocks = chain.channels.div_ceil(self.array_size()).max(1);
        let name = self.graph.value(chain.value).name.clone();
        let object = self.objects.add(name, kind, chain.pixels * blocks);
        let index = |p, b| if pixel_major { p * blocks + b } else { b * chain.pixels + p };
        let vectors = (0..chain.pixels)
            .flat_map(|p| (0..blocks).map(move |b| (p, b)))
            .map(|(p, b)| VecRef { object, index: index(p, b) as u32 })
            .collect();
        let view = View { shape: self.graph.shape(chain.value).to_vec(), channels: chain.channels, vectors };
        self.views.insert(chain.value, view);
        chain.steps.push(Step::Save { object, pixel_major });
    }

    /// Ends a chain whose steps say themselves where their results go.
    pub fn push_layer(&mut self, chain: Chain) {
        let nodes = chain.nodes.iter().map(|&i| self.node(i).name.clone()).collect();
        let blocks = chain.channels.div_ceil(self.array_size()).max(1);
        let Chain { macs, pixels, steps, .. } = chain;
        self.layers.push(Layer { nodes, macs, pixels, blocks, steps, kept: 0 });
    }

    /// Reports a node; what reads its results is still looked at.
    fn reject(&mut self, i: usize, reject: Reject) {
        let node = self.node(i);
        self.report(&node.name, node.op.name(), reject);
        for &output in &node.outputs {
            if self.require_size(output).is_ok() {
                let view = self.stored_view(output, ObjectKind::Variable, self.graph.shape(output));
                self.views.insert(output, view);
            }
        }
    }

    /// Notes that `op` of `node` stands in the way.
    fn report(&mut self, node: &str, op: &str, reject: Reject) {
        match reject {
            Reject::Unsupported { reason, hint } => {
                self.problems.push(Problem { node: node.to_owned(), op: op.to_owned(), reason, hint });
            }
            Reject::Constants { needed } => {
                let (layer, available) = (node.to_owned(), self.config.dram1_depth);
                let error = LowerError::Insufficient { layer, memory: Memory::Dram1, needed, available };
                self.insufficient.get_or_insert(error);
            }
        }
    }

    /// A new object that holds a tensor of `shape` pixel by pixel.
    fn stored_view(&mut self, value: ValueId, kind: ObjectKind, shape: &[usize]) -> View {
        let channels = natural_channels(shape);
        let elements: usize = shape.iter().product();
        let vectors = elements / channels.max(1) * channels.div_ceil(self.array_size()).max(1);
        let object = self.objects.add(self.graph.value(value).name.clone(), kind, vectors);
        let vectors = (0..vectors as u32).map(|index| VecRef { object, index }).collect();
        View { shape: shape.to_vec(), channels, vectors }
    }

    fn constant_view(&mut self, value: ValueId) -> Result<View, Reject> {
        let name = self.graph.value(value).name.clone();
        let Some(tensor) = self.graph.constant(value).cloned() else {
            return Err(Reject::new(
                format!("operand `{name}` is not in memory when it is read"),
                "put the nodes in an order in which each follows those it reads from",
            ));
        };
        let elements = tensor.as_f32().ok_or_else(|| no_floats(tensor.element()))?;
        let channels = natural_channels(tensor.shape()).max(1);
        let pixels = elements.len() / channels;
        let vectors = self.constant_vectors(name, pixels, channels, |p, c| elements[p * channels + c])?;
        Ok(View { shape: tensor.shape().to_vec(), channels, vectors })
    }

    /// `vectors` with a stored zero for every one that is stored nowhere.
    pub fn stored(&mut self, mut vectors: Vec<VecRef>) -> Vec<VecRef> {
        if vectors.iter().any(|vector| vector.is_zero()) {
            let zero = self.objects.splat(0.0);
            vectors.iter_mut().filter(|vector| vector.is_zero()).for_each(|vector| *vector = zero);
        }
        vectors
    }

    /// A constant object with one pixel after the other, each of `channels` elements.
    ///
    /// Errors: as [`Builder::require_constants`].
    pub fn constant_vectors(
        &mut self,
        name: String,
        pixels: usize,
        channels: usize,
        element: impl Fn(usize, usize) -> f32,
    ) -> Result<Vec<VecRef>, Reject> {
        let array_size = self.array_size();
        let blocks = channels.div_ceil(array_size).max(1);
        self.require_constants((pixels * blocks) as u64)?;
        let lanes = blocks * array_size;
        let mut data = Vec::with_capacity(pixels * lanes);
        for p in 0..pixels {
            for c in 0..lanes {
                data.push(if c < channels { self.objects.raw(element(p, c)) } else { 0 });
            }
        }
        let vectors = data.len() / array_size;
        let object = self.objects.add_constant(name, data);
        Ok((0..vectors as u32).map(|index| VecRef { object, index }).collect())
    }

    /// Follows the outputs back through nodes that leave the vectors where they are.
    fn find_host_reads(&mut self) {
        for &output in &self.graph.outputs {
            let mut value = output;
            if !self.host_reads.insert(value) {
                continue;
            }
            while let Some(node) = self.producer(value) {
                let moves = matches!(node.op, Op::Reshape(_) | Op::Transpose(_));
                if !moves && ops::host::of(self, &node.op).is_none() {
                    break;
                }
                value = node.inputs[0];
                if !self.host_reads.insert(value) {
                    break;
                }
            }
        }
    }
}
