//! Grouping of graph nodes into layers: chains whose intermediate values stay in the accumulators.
//!
//! A chain starts at a node and takes up, one after the other, the nodes that can work on its value
//! where it is, as long as their other operands are there already. A value that has other readers,
//! or that the host wants, is saved on the way.

use std::collections::{HashMap, HashSet};

use npukit_graph::{Graph, Node, Op, Operator, ValueId};

use super::Order;
use super::error::{LowerError, Memory, Problem};
use super::hir::{Layer, Model, Port, Step};
use super::object::{ObjectKind, Objects, VecRef};
use super::ops;
use super::view::{View, natural_channels};
use crate::config::Config;
use crate::program::{HostStep, Layout};

/// The most vectors a tensor may take, or a node may read: beyond, a program would fill the host's memory.
const MOST_VECTORS: u64 = 1 << 26;

/// Why a node cannot be lowered.
#[derive(Debug)]
pub struct Reject {
    /// What the array cannot do.
    pub reason: String,
    /// What would help.
    pub hint: String,
}

impl Reject {
    /// A reason and what would help.
    pub fn new(reason: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { reason: reason.into(), hint: hint.into() }
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

/// How an input is packed: its axes permuted, then read as `shape`.
#[derive(Clone, PartialEq)]
struct Packing {
    perm: Vec<usize>,
    shape: Vec<usize>,
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
    /// Objects so far.
    pub objects: Objects,
    layers: Vec<Layer>,
    views: HashMap<ValueId, View>,
    readers: HashMap<ValueId, Vec<usize>>,
    /// Values whose vectors the host reads, be it under another shape or through a host step.
    host_reads: HashSet<ValueId>,
    done: Vec<bool>,
    host_steps: Vec<HostStep>,
    problems: Vec<Problem>,
}

impl<'g> Builder<'g> {
    /// A builder for `graph`.
    pub fn new(graph: &'g Graph, config: &'g Config, order: Order) -> Self {
        let mut readers: HashMap<ValueId, Vec<usize>> = HashMap::new();
        for (i, node) in graph.nodes.iter().enumerate() {
            for &input in &node.inputs {
                readers.entry(input).or_default().push(i);
            }
        }
        Self {
            graph,
            config,
            order,
            objects: Objects::new(config.data_type.format(), config.array_size),
            layers: Vec::new(),
            views: HashMap::new(),
            readers,
            host_reads: HashSet::new(),
            done: vec![false; graph.nodes.len()],
            host_steps: Vec::new(),
            problems: Vec::new(),
        }
    }

    /// Lowers all nodes.
    pub fn build(mut self) -> Result<Model, LowerError> {
        self.require_sizes()?;
        self.find_host_reads();
        let inputs = self.bind_inputs();
        for i in 0..self.graph.nodes.len() {
            if !self.done[i] {
                self.lower(i);
            }
        }
        let outputs: Vec<Port> = self.graph.outputs.iter().map(|&value| self.bind_output(value)).collect();
        if !self.problems.is_empty() {
            return Err(LowerError::Unsupported { problems: self.problems });
        }
        let Self { objects, layers, host_steps, .. } = self;
        Ok(Model { objects, layers, inputs, outputs, host_steps })
    }

    /// Refuses a model with a tensor that DRAM0 could not hold, before anything of its size is made.
    fn require_sizes(&self) -> Result<(), LowerError> {
        let available = self.config.dram0_depth.min(MOST_VECTORS);
        for value in self.graph.values.iter().filter(|value| value.constant.is_none()) {
            let shape = &value.info.shape;
            let blocks = natural_channels(shape).div_ceil(self.array_size()) as u64;
            let pixels: u64 = shape.iter().rev().skip(1).map(|&size| size as u64).product();
            let needed = pixels.saturating_mul(blocks);
            if needed > available {
                let layer = value.name.clone();
                return Err(LowerError::Insufficient { layer, memory: Memory::Dram0, needed, available });
            }
        }
        Ok(())
    }

    /// Refuses a node that would list more than `MOST_VECTORS` vectors.
    pub fn require_uses(&self, uses: impl IntoIterator<Item = usize>) -> Result<(), Reject> {
        let uses = uses.into_iter().fold(1u64, |product, factor| product.saturating_mul(factor as u64));
        if uses <= MOST_VECTORS {
            return Ok(());
        }
        Err(Reject::new(
            format!("it reads {uses} vectors, counting each use; programs end at {MOST_VECTORS}"),
            "make the image, the kernel or the channels smaller",
        ))
    }

    /// Vector length.
    pub fn array_size(&self) -> usize {
        self.config.array_size
    }

    /// The view of a value, when it is in memory. Constants become objects when first asked for.
    pub fn view(&mut self, value: ValueId) -> Option<&View> {
        if !self.views.contains_key(&value) {
            let view = self.constant_view(value)?;
            self.views.insert(value, view);
        }
        self.views.get(&value)
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

    /// Whether `value` is an output of the graph.
    pub fn is_output(&self, value: ValueId) -> bool {
        self.graph.outputs.contains(&value)
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
        match ops::lower(self, i) {
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
        let followed = matches!(ops::follow(self, chain, i), Ok(true));
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
        self.layers.push(Layer { nodes, macs, pixels, blocks, steps });
    }

    /// Reports a node; what reads its results is still looked at.
    fn reject(&mut self, i: usize, Reject { reason, hint }: Reject) {
        let node = self.node(i);
        self.problems.push(Problem { node: node.name.clone(), op: node.op.name().to_owned(), reason, hint });
        for &output in &node.outputs {
            let view = self.stored_view(output, ObjectKind::Variable, self.graph.shape(output));
            self.views.insert(output, view);
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

    fn constant_view(&mut self, value: ValueId) -> Option<View> {
        let tensor = self.graph.constant(value)?.clone();
        let elements = tensor.as_f32()?;
        let channels = natural_channels(tensor.shape()).max(1);
        let name = self.graph.value(value).name.clone();
        let vectors = self
            .constant_vectors(name, elements.len() / channels, channels, |p, c| elements[p * channels + c]);
        Some(View { shape: tensor.shape().to_vec(), channels, vectors })
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
    pub fn constant_vectors(
        &mut self,
        name: String,
        pixels: usize,
        channels: usize,
        element: impl Fn(usize, usize) -> f32,
    ) -> Vec<VecRef> {
        let array_size = self.array_size();
        let lanes = channels.div_ceil(array_size).max(1) * array_size;
        let mut data = Vec::with_capacity(pixels * lanes);
        for p in 0..pixels {
            for c in 0..lanes {
                data.push(if c < channels { self.objects.raw(element(p, c)) } else { 0 });
            }
        }
        let vectors = data.len() / array_size;
        let object = self.objects.add_constant(name, data);
        (0..vectors as u32).map(|index| VecRef { object, index }).collect()
    }

    /// Follows the outputs back through nodes that leave the vectors where they are.
    fn find_host_reads(&mut self) {
        for &output in &self.graph.outputs {
            let mut value = output;
            self.host_reads.insert(value);
            while let Some(node) = self.producer(value) {
                if !matches!(node.op, Op::Reshape(_) | Op::Transpose(_) | Op::Softmax(_)) {
                    break;
                }
                value = node.inputs[0];
                self.host_reads.insert(value);
            }
        }
    }

    fn producer(&self, value: ValueId) -> Option<&'g Node> {
        self.graph.nodes.iter().find(|node| node.outputs.contains(&value))
    }

    /// Makes the inputs' objects. An input that is only read transposed or reshaped is packed that
    /// way: the host lays it out.
    fn bind_inputs(&mut self) -> Vec<Port> {
        let graph = self.graph;
        graph.inputs.iter().map(|&input| self.bind_input(input)).collect()
    }

    fn bind_input(&mut self, input: ValueId) -> Port {
        let model_shape = self.graph.shape(input).to_vec();
        let readers = self.readers.get(&input).cloned().unwrap_or_default();
        let packing = self.common_packing(&readers).filter(|_| !self.is_output(input));
        let natural = || Packing { perm: (0..model_shape.len()).collect(), shape: model_shape.clone() };
        let Packing { perm, shape } = packing.clone().unwrap_or_else(natural);
        let view = self.stored_view(input, ObjectKind::Input, &shape);
        let object = view.vectors.first().map_or(VecRef::ZERO.object, |vector| vector.object);
        let channels = view.channels;
        if packing.is_some() {
            for i in readers {
                self.done[i] = true;
                self.views.insert(self.node(i).outputs[0], view.clone());
            }
        } else {
            self.views.insert(input, view);
        }
        let name = self.graph.value(input).name.clone();
        Port { name, object, layout: Layout { model_shape, perm, channels } }
    }

    /// The packing that all `readers` ask for, when each is a Transpose or Reshape to the same.
    fn common_packing(&self, readers: &[usize]) -> Option<Packing> {
        let (&first, others) = readers.split_first()?;
        let packing = self.packing(first)?;
        others.iter().all(|&i| self.packing(i).as_ref() == Some(&packing)).then_some(packing)
    }

    fn packing(&self, i: usize) -> Option<Packing> {
        let node = self.node(i);
        let output = node.outputs[0];
        let perm = match &node.op {
            Op::Transpose(transpose) => transpose.perm.clone(),
            Op::Reshape(_) => (0..self.graph.shape(node.inputs[0]).len()).collect(),
            _ => return None,
        };
        (!self.is_output(output)).then(|| Packing { perm, shape: self.graph.shape(output).to_vec() })
    }

    /// Finds (or makes, by a copy) the run of DRAM0 vectors behind an output.
    fn bind_output(&mut self, output: ValueId) -> Port {
        let name = self.graph.value(output).name.clone();
        let model_shape = self.graph.shape(output).to_vec();
        let (stored, perm) = ops::output_layout(self, output);
        let view = match self.view(stored) {
            Some(view) => view.clone(),
            None => self.stored_view(stored, ObjectKind::Output, self.graph.shape(stored)),
        };
        let channels = view.channels;
        let object = match self.whole_output(&view) {
            Some(object) => object,
            None => self.copy_out(&name, view),
        };
        Port { name, object, layout: Layout { model_shape, perm, channels } }
    }

    /// The output object that holds exactly the vectors of `view` in order.
    fn whole_output(&self, view: &View) -> Option<super::object::ObjectId> {
        let object = view.vectors.first()?.object;
        let whole = view
            .vectors
            .iter()
            .enumerate()
            .all(|(i, vector)| vector.object == object && vector.index as usize == i);
        if !whole || view.vectors.first()?.is_zero() {
            return None;
        }
        let found = self.objects.get(object);
        (found.kind == ObjectKind::Output && found.vectors as usize == view.vectors.len()).then_some(object)
    }

    fn copy_out(&mut self, name: &str, view: View) -> super::object::ObjectId {
        let object = self.objects.add(name.to_owned(), ObjectKind::Output, view.vectors.len());
        let (pixels, blocks) = (view.pixels(self.array_size()), view.blocks(self.array_size()));
        let vectors = self.stored(view.vectors);
        let steps = vec![Step::Load(vectors), Step::Save { object, pixel_major: true }];
        self.layers.push(Layer { nodes: vec![format!("copy to {name}")], macs: 0, pixels, blocks, steps });
        object
    }
}
