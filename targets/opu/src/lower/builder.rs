//! Construction of layers: [`Builder`], and the operations that operators use.

pub(crate) mod copies;

use std::collections::{HashMap, HashSet};
use std::convert::Infallible;

use npukit_graph::quantize::Quantization;
use npukit_graph::{Graph, Node, NodeId, ValueId};
use npukit_lower::{Fusion, Reject};

use crate::config::datatype::DataType;
use crate::lower::Options;
use crate::lower::layer::{Layer, Post, Step};
use crate::lower::limits::MAP;
use crate::lower::map::{Planes, View};
use crate::lower::product::Product;

/// Layer under construction.
#[derive(Clone, Debug)]
pub struct Chain {
    /// Graph nodes of the layer, in order.
    pub nodes: Vec<NodeId>,
    /// Value of the graph that the layer computes so far.
    pub value: ValueId,
    /// Sum of products that is computed.
    pub product: Product,
    /// Steps applied to the sum.
    pub post: Post,
    /// Number of rows and columns to which each pixel is repeated.
    pub copies: [usize; 2],
}

/// Result of lowering a node.
pub type Lowered = npukit_lower::Lowered<Chain>;

/// Builds a [`Model`](crate::lower::layers::Model) from a graph.
pub struct Builder<'g> {
    /// Graph that is lowered.
    pub graph: &'g Graph,
    /// Fraction lengths of the graph's values; `None` for floats.
    pub quantization: Option<&'g Quantization>,
    /// Fraction bits of the element type itself: its integers have this many more than their
    /// values.
    pub unit: i32,
    /// Whether to approximate leaky ReLU of any slope by slope 1/8.
    pub approximate: bool,
    /// Feature maps created so far.
    pub planes: Planes,
    /// Readers and producers of values, their locations, and the problems so far.
    pub fusion: Fusion<'g, View, Infallible>,
    pub(super) layers: Vec<Layer>,
    /// Multiply-accumulates of each node.
    pub(super) macs: Vec<u64>,
    /// Sums that may still become part of another sum.
    pub(super) pending: HashMap<ValueId, Chain>,
    /// Inputs for which the host lays out windows as channels.
    pub(super) packed: HashSet<ValueId>,
    pub(super) notes: Vec<String>,
}

impl<'g> Builder<'g> {
    /// Creates a builder for `graph`.
    pub fn new(graph: &'g Graph, options: Options<'g>, itype: DataType) -> Self {
        Self {
            graph,
            quantization: options.quantization.filter(|_| itype.fixed().is_some()),
            // Default: floats have no fraction bits.
            unit: itype.fixed().map_or(0, |fixed| fixed.fraction()),
            approximate: options.approximate,
            planes: Planes::default(),
            fusion: Fusion::new(graph),
            layers: Vec::new(),
            macs: graph.macs_by_node().collect(),
            pending: HashMap::new(),
            packed: HashSet::new(),
            notes: Vec::new(),
        }
    }

    /// Returns the node with that id.
    pub fn node(&self, id: NodeId) -> &'g Node {
        self.graph.node(id)
    }

    /// Adds a note for the user, once.
    pub fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Returns the fraction length of a value; 0 for floats.
    ///
    /// # Errors
    ///
    /// Calibration found no fraction length for the value.
    pub fn fraction(&self, value: ValueId) -> Result<i32, Reject> {
        let Some(quantization) = self.quantization else { return Ok(0) };
        quantization.fraction(value).map(|fraction| fraction - self.unit).ok_or_else(|| {
            let name = &self.graph.value(value).name;
            Reject::new(
                format!("`{name}` has no fraction length"),
                "calibrate with samples for which all values are finite",
            )
        })
    }

    /// Returns the location of a value. A sum that was held back is stored now.
    ///
    /// # Errors
    ///
    /// The value is a constant or not in memory; a sum that was held back cannot be stored.
    pub fn view(&mut self, value: ValueId) -> Result<View, Reject> {
        if let Some(chain) = self.pending.remove(&value) {
            self.store(chain)?;
        }
        self.fusion.view(value).cloned().ok_or_else(|| self.missing(value))
    }

    /// Returns the reason why a value is not in memory.
    fn missing(&self, value: ValueId) -> Reject {
        if self.graph.constant(value).is_some() {
            return Reject::new(
                "an operand is a constant, but must be a feature map",
                "make it an input of the model, or fold it into the weights",
            );
        }
        if self.fusion.is_unmade(value) {
            return Reject::Consequence;
        }
        Reject::new("an operand is not in memory", "cut the model before this node")
    }

    /// Records that the host lays out the windows over an input as channels.
    pub fn set_packed(&mut self, value: ValueId) {
        self.packed.insert(value);
    }

    /// Whether the host lays out the windows over an input as channels.
    pub fn is_packed(&self, value: ValueId) -> bool {
        self.packed.contains(&value)
    }

    /// Holds back a sum of products, which may become part of another.
    pub fn hold(&mut self, chain: Chain) {
        self.pending.insert(chain.value, chain);
    }

    /// Takes the held-back sum of products that computes `value`, if there is one.
    pub fn take_pending(&mut self, value: ValueId) -> Option<Chain> {
        self.pending.remove(&value)
    }

    /// Returns rows, columns and channels of a value.
    ///
    /// # Errors
    ///
    /// The value has several images, or more pixels in a row than the machine can address.
    pub fn extent(&self, value: ValueId) -> Result<[usize; 3], Reject> {
        extent(self.graph.shape(value))
    }

    /// Creates a chain for node `id` that begins with `product`.
    pub fn chain(&self, id: NodeId, product: Product) -> Chain {
        let value = self.node(id).outputs[0];
        Chain { nodes: vec![id], value, product, post: Post::default(), copies: [1, 1] }
    }

    /// Stores the chain's value.
    pub(super) fn store(&mut self, chain: Chain) -> Result<(), Reject> {
        let [rows, columns, channels] = self.extent(chain.value)?;
        // A residual that is added by the store has the sum's fraction length.
        let added = chain.post.residual().and_then(|view| view.pieces.first());
        let fraction = match added {
            Some(piece) => self.planes.get(piece.plane).fraction,
            None => self.fraction(chain.value)?,
        };
        let value = self.graph.value(chain.value).name.clone();
        let output = self.planes.new_map(&value, [rows, columns], channels, fraction);
        self.fusion.set_view(chain.value, output.clone());
        let Chain { nodes, product, post, copies, .. } = chain;
        let (name, macs) = self.named(&nodes);
        self.layers.push(Layer { name, nodes, macs, product, post, copies, output, result: Some(value) });
        Ok(())
    }

    /// Adds a layer that does part of the work of `nodes` and computes no value of the graph.
    pub fn push_part(&mut self, nodes: &[NodeId], product: Product, post: Post, output: View) {
        let (name, macs) = self.named(nodes);
        let nodes = nodes.to_vec();
        self.layers.push(Layer { name, nodes, macs, product, post, copies: [1, 1], output, result: None });
    }

    /// Returns the name of a layer of `nodes`, and its multiply-accumulates.
    fn named(&self, nodes: &[NodeId]) -> (String, u64) {
        let names: Vec<&str> = nodes.iter().map(|&id| self.node(id).name.as_str()).collect();
        (names.join("+"), nodes.iter().map(|&id| self.macs[id.0 as usize]).sum())
    }

    /// Adds `step` to the chain if `@post` has a form for that; returns whether it did.
    pub fn add_step(chain: &mut Chain, step: Step) -> bool {
        let post = chain.post.with(step).filter(|_| chain.copies == [1, 1]);
        post.map(|post| chain.post = post).is_some()
    }
}

/// Returns rows, columns and channels of a tensor of that shape.
///
/// # Errors
///
/// The tensor has several images, no pixels, or more pixels in a row than the machine can address.
pub fn extent(shape: &[usize]) -> Result<[usize; 3], Reject> {
    let [rows, columns, channels] = match *shape {
        [1, rows, columns, channels] => [rows, columns, channels],
        [images, _, _, _] => {
            return Err(Reject::new(
                format!("it processes {images} images at once"),
                "export the model with batch size 1",
            ));
        }
        [.., channels] => [1, shape[..shape.len() - 1].iter().product(), channels],
        [] => [1, 1, 1],
    };
    if rows == 0 || columns == 0 || channels == 0 || rows > MAP || columns > MAP {
        return Err(Reject::new(
            format!(
                "a feature map of {rows} x {columns} pixels, {channels} channels: sides must be 1 to {MAP}"
            ),
            "use a smaller image",
        ));
    }
    Ok([rows, columns, channels])
}
