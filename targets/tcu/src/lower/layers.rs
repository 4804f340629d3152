//! Grouping of graph nodes into layers: chains whose intermediate values stay in the accumulators.
//!
//! A chain starts at one node. Following nodes join it one by one if they can work on its value in
//! place and their other operands are already in memory. A value with other readers, or one that
//! the host reads, is also saved to memory.

pub(super) mod dead_stores;
pub(super) mod fused_add;
pub mod hir;
mod limits;
pub(super) mod lookup_table;
pub(super) mod ops;
mod ports;

use std::collections::{HashMap, HashSet};

use npukit_graph::{Graph, Node, NodeId, Op, ValueId};
use npukit_lower::{Fuse, Fusion, Problem, Refusals, fuse};

pub use limits::no_floats;

use super::Order;
use super::error::LowerError;
use super::layers::hir::{Layer, Lookup, Model, Port, Step};
use super::layers::lookup_table::Scaled;
use super::memory::object::{ObjectKind, Objects, VecRef};
use super::memory::view::{View, natural_channels};
use crate::config::Config;
use crate::lower::Options;
use crate::lower::layers::dead_stores::skip_unread;
use crate::lower::layers::fused_add::keep_sums;
use crate::lower::rewrite::rewrite;
use crate::program::HostStep;

/// Error: DRAM1 cannot hold the constants of a node, so they are not built.
#[derive(Clone, Copy, Debug)]
pub struct ConstantsShortage {
    /// Number of vectors that the constants take.
    pub vectors: u64,
}

/// Reason why a node cannot be lowered.
pub type Reject = npukit_lower::Reject<ConstantsShortage>;

/// Result of lowering a node.
pub type Lowered = npukit_lower::Lowered<Chain>;

/// A layer under construction.
pub struct Chain {
    /// Nodes of the layer, in order.
    pub nodes: Vec<NodeId>,
    /// Value that the grid currently holds.
    pub value: ValueId,
    /// Number of pixels of the grid.
    pub pixels: usize,
    /// Number of elements per pixel.
    pub channels: usize,
    /// Number of multiply-accumulates.
    pub macs: u64,
    /// Steps emitted so far.
    pub steps: Vec<Step>,
    /// Whether the value is already stored in memory.
    pub saved: bool,
}

/// Use of a chain's value.
enum Use {
    /// A single reader, which may join the chain.
    Reader,
    /// Several readers, or readers that need the value in memory.
    Variable,
    /// The host reads it.
    Output,
}

/// Builds a [`Model`] from a graph.
pub struct Builder<'g> {
    /// Graph to lower.
    pub graph: &'g Graph,
    /// Target instance.
    pub config: &'g Config,
    /// Order of operations: at which step biases are added.
    pub order: Order,
    /// Readers and producers of values, their views in memory, and the problems found.
    pub fusion: Fusion<'g, View, ConstantsShortage>,
    /// Multiply-accumulates of each product of the model, keyed by its result.
    macs: HashMap<ValueId, u64>,
    /// Objects created so far.
    pub objects: Objects,
    layers: Vec<Layer>,
    /// Values whose vectors the host reads: directly, reshaped, or through a host step.
    host_reads: HashSet<ValueId>,
    host_steps: Vec<HostStep>,
    /// Lookup tables built so far, with their functions.
    pub tables: Vec<(Scaled, Lookup)>,
    /// Multiplications merged into the preceding lookup table; their input is already multiplied.
    pub absorbed: HashSet<NodeId>,
}

impl<'g> Builder<'g> {
    /// Creates a builder for `graph`. `macs` holds the multiply-accumulates of each product of the
    /// model, keyed by its result.
    pub fn new(graph: &'g Graph, macs: HashMap<ValueId, u64>, config: &'g Config, order: Order) -> Self {
        Self {
            graph,
            config,
            order,
            fusion: Fusion::new(graph),
            macs,
            objects: Objects::new(config.data_type.format(), config.array_size),
            layers: Vec::new(),
            host_reads: HashSet::new(),
            host_steps: Vec::new(),
            tables: Vec::new(),
            absorbed: HashSet::new(),
        }
    }

    /// Lowers all nodes.
    ///
    /// # Errors
    ///
    /// Returns every problem found: nodes that cannot be lowered, and constants that exceed DRAM1.
    pub fn build(mut self) -> Result<Model, LowerError> {
        self.require_inputs();
        self.find_host_reads();
        let inputs = self.bind_inputs();
        fuse(&mut self);
        let outputs: Vec<Port> = self.graph.outputs.iter().map(|&value| self.bind_output(value)).collect();
        let Self { graph, objects, layers, host_steps, fusion, config, .. } = self;
        let Refusals { mut problems, shortages } = fusion.refusals;
        let unmade = shortages.iter().map(|shortage| shortage.vectors);
        let needed = unmade.fold(objects.constant_vectors(), u64::saturating_add);
        if !problems.is_empty() {
            problems.extend(constants_problem(graph, needed, config.dram1_depth));
            return Err(LowerError::Unsupported { problems });
        }
        if !shortages.is_empty() {
            return Err(LowerError::Constants { needed, available: config.dram1_depth });
        }
        Ok(Model { objects, layers, inputs, outputs, host_steps })
    }

    /// Returns the number of elements per vector.
    pub fn array_size(&self) -> usize {
        self.config.array_size
    }

    /// Returns the view of a value. Constants become objects on first use.
    ///
    /// # Errors
    ///
    /// Fails if the value is not in memory, or is a constant without floats or too large.
    pub fn view(&mut self, value: ValueId) -> Result<View, Reject> {
        if let Some(view) = self.fusion.view(value) {
            return Ok(view.clone());
        }
        let view = self.constant_view(value)?;
        self.fusion.set_view(value, view.clone());
        Ok(view)
    }

    /// Returns the multiply-accumulates of node `id` in the original model.
    pub fn macs(&self, id: NodeId) -> u64 {
        let product = self.graph.node(id).outputs.first().and_then(|result| self.macs.get(result));
        // Default: a product without an entry was added by the rewrite and is not work of the
        // model.
        product.copied().unwrap_or(0)
    }

    /// Appends a step for the host.
    pub fn add_host_step(&mut self, step: HostStep) {
        self.host_steps.push(step);
    }

    /// Returns the only node that reads a value; `None` if there are several or the host reads it.
    pub fn only_reader(&self, value: ValueId) -> Option<NodeId> {
        self.fusion.readers.only(value).filter(|_| !self.host_reads.contains(&value))
    }

    fn use_of(&self, value: ValueId) -> Use {
        if self.host_reads.contains(&value) {
            Use::Output
        } else if self.fusion.readers.only(value).is_some() {
            Use::Reader
        } else {
            Use::Variable
        }
    }

    fn save(&mut self, chain: &mut Chain) {
        if chain.saved {
            return;
        }
        chain.saved = true;
        let pixel_major = matches!(self.use_of(chain.value), Use::Output);
        let kind = if pixel_major { ObjectKind::Output } else { ObjectKind::Variable };
        let blocks = chain.channels.div_ceil(self.array_size()).max(1);
        let object = self.objects.add_value(self.graph, chain.value, kind, chain.pixels * blocks);
        let index = |p, b| if pixel_major { p * blocks + b } else { b * chain.pixels + p };
        let vectors = (0..chain.pixels)
            .flat_map(|p| (0..blocks).map(move |b| (p, b)))
            .map(|(p, b)| VecRef { object, index: index(p, b) as u32 })
            .collect();
        let view = View { shape: self.graph.shape(chain.value).to_vec(), channels: chain.channels, vectors };
        self.fusion.set_view(chain.value, view);
        chain.steps.push(Step::Save { object, pixel_major, pixels: None });
    }

    /// Ends a chain. The chain's steps already store the results.
    pub fn push_layer(&mut self, chain: Chain) {
        let nodes = chain.nodes.iter().map(|&id| self.graph.node(id).name.clone()).collect();
        let blocks = chain.channels.div_ceil(self.array_size()).max(1);
        let Chain { macs, pixels, steps, .. } = chain;
        self.layers.push(Layer { nodes, macs, pixels, blocks, steps, kept: 0 });
    }

    /// Creates an object that stores a tensor of `shape` pixel by pixel.
    fn stored_view(&mut self, value: ValueId, kind: ObjectKind, shape: &[usize]) -> View {
        let channels = natural_channels(shape);
        let elements: usize = shape.iter().product();
        let vectors = elements / channels.max(1) * channels.div_ceil(self.array_size()).max(1);
        let object = self.objects.add_value(self.graph, value, kind, vectors);
        let vectors = (0..vectors as u32).map(|index| VecRef { object, index }).collect();
        View { shape: shape.to_vec(), channels, vectors }
    }

    fn constant_view(&mut self, value: ValueId) -> Result<View, Reject> {
        let name = self.graph.value(value).name.clone();
        let Some(tensor) = self.graph.constant(value).cloned() else {
            if self.fusion.is_unmade(value) {
                return Err(Reject::Consequence);
            }
            return Err(Reject::new(
                format!("operand `{name}` is not in memory when the node reads it"),
                "sort the nodes topologically, so that each follows the nodes it reads",
            ));
        };
        let elements = tensor.as_f32().ok_or_else(|| no_floats(tensor.element()))?;
        let channels = natural_channels(tensor.shape()).max(1);
        let pixels = elements.len() / channels;
        let vectors = self.constant_vectors(name, pixels, channels, |p, c| elements[p * channels + c])?;
        Ok(View { shape: tensor.shape().to_vec(), channels, vectors })
    }

    /// Replaces every vector that has no storage by a stored zero.
    pub fn stored(&mut self, mut vectors: Vec<VecRef>) -> Vec<VecRef> {
        if vectors.iter().any(|vector| vector.is_zero()) {
            let zero = self.objects.splat(0.0);
            vectors.iter_mut().filter(|vector| vector.is_zero()).for_each(|vector| *vector = zero);
        }
        vectors
    }

    /// Creates a constant object that stores pixels one after another, each of `channels` elements.
    ///
    /// # Errors
    ///
    /// See [`Builder::require_constants`].
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

    /// Collects host reads by following the outputs backward through nodes that do not move
    /// vectors.
    fn find_host_reads(&mut self) {
        for &output in &self.graph.outputs {
            let mut value = output;
            if !self.host_reads.insert(value) {
                continue;
            }
            while let Some(id) = self.fusion.readers.producer(value) {
                let node = self.graph.node(id);
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

/// Returns the problem of a DRAM1 shortage, reported in addition to the nodes that cannot be
/// lowered.
fn constants_problem(graph: &Graph, needed: u64, available: u64) -> Option<Problem> {
    let reason =
        format!("constants of the other nodes need {needed} vectors of DRAM1, but it holds {available}");
    (needed > available)
        .then(|| Problem::new(&graph.name, "model", reason, "use an instance with a larger DRAM1"))
}

impl<'g> Fuse<'g> for Builder<'g> {
    type Chain = Chain;
    type View = View;
    type Shortage = ConstantsShortage;

    fn fusion(&mut self) -> &mut Fusion<'g, View, ConstantsShortage> {
        &mut self.fusion
    }

    fn start(&mut self, id: NodeId) -> Result<Lowered, Reject> {
        self.require_operands(id)?;
        ops::lower(self, id)
    }

    fn nodes(chain: &Chain) -> &[NodeId] {
        &chain.nodes
    }

    /// Returns all readers. A value with several readers, or one that the host reads, is saved
    /// first.
    fn candidates(&mut self, chain: &mut Chain) -> Vec<NodeId> {
        if !matches!(self.use_of(chain.value), Use::Reader) {
            self.save(chain);
        }
        self.fusion.readers.all(chain.value).to_vec()
    }

    fn follow(&mut self, chain: &mut Chain, id: NodeId) -> Result<bool, Reject> {
        let steps = chain.steps.len();
        // A node that cannot be lowered alone is not followed here; its error is reported when it
        // is lowered.
        let followed = self.require_operands(id).is_ok() && matches!(ops::follow(self, chain, id), Ok(true));
        if followed {
            chain.nodes.push(id);
            chain.value = self.graph.node(id).outputs[0];
            chain.saved = false;
        } else {
            chain.steps.truncate(steps);
        }
        Ok(followed)
    }

    /// Stores the chain's value and ends the chain.
    fn finish(&mut self, mut chain: Chain) -> Result<(), Reject> {
        self.save(&mut chain);
        self.push_layer(chain);
        Ok(())
    }

    fn stand_in(&mut self, value: ValueId) -> Option<View> {
        self.require_size(value).ok()?;
        Some(self.stored_view(value, ObjectKind::Variable, self.graph.shape(value)))
    }
}

/// Builds the layers of a graph.
///
/// # Errors
///
/// Returns [`LowerError::Unsupported`] with every node that cannot be lowered.
pub fn build(graph: &Graph, config: &Config, options: &Options) -> Result<Model, LowerError> {
    // The rewrite keeps the names of products' results, so a result identifies its original
    // product.
    let result = |(node, macs): (&Node, u64)| Some((*node.outputs.first()?, macs));
    let macs = graph.nodes.iter().zip(graph.macs_by_node()).filter_map(result).collect();
    let prepared = if options.prepared { None } else { rewrite(graph, config, options.order) };
    // Default: a graph that is not rewritten is lowered as it is.
    let mut model = Builder::new(prepared.as_ref().unwrap_or(graph), macs, config, options.order).build()?;
    if options.order == Order::Default {
        keep_sums(&mut model, config);
        skip_unread(&mut model);
    }
    Ok(model)
}
