//! Graph to layers: [`Builder`].
//!
//! A chain starts at a node that sums up products and takes up, one after the other, the nodes that `store`
//! can do on the way to memory. Other readers, and the host, need a value in memory: there a chain ends.

use std::collections::{HashMap, HashSet};

use npukit_graph::quantise::Quantisation;
use npukit_graph::{Graph, Node, Operator, ValueId};

use super::Options;
use super::error::{LowerError, Problem, Reject};
use super::host::{HostInput, HostOutput};
use super::layer::{Layer, Post, Step};
use super::limits::{BORDER, MAP};
use super::map::{Piece, PlaneId, Planes, View};
use super::ops;
use super::product::{Part, Product, Term, Weights};
use crate::datatype::DataType;

/// A layer while it grows.
#[derive(Clone, Debug)]
pub struct Chain {
    /// Nodes taken up.
    pub nodes: Vec<usize>,
    /// The value it ends in.
    pub value: ValueId,
    /// What is computed.
    pub product: Product,
    /// What is done to it.
    pub post: Post,
    /// Rows and columns that each pixel becomes.
    pub copies: [usize; 2],
}

/// What lowering a node gave.
pub enum Lowered {
    /// Its results are views of what is there.
    Views,
    /// A chain that starts with it.
    Chain(Chain),
}

/// What the network is on the machine.
#[derive(Clone, Debug, Default)]
pub struct Model {
    /// Feature maps.
    pub planes: Planes,
    /// Layers in order.
    pub layers: Vec<Layer>,
    /// Inputs.
    pub inputs: Vec<HostInput>,
    /// Outputs.
    pub outputs: Vec<HostOutput>,
    /// What the user should know of.
    pub notes: Vec<String>,
}

/// Builds a [`Model`] from a graph.
pub struct Builder<'g> {
    /// The graph.
    pub graph: &'g Graph,
    /// Fraction lengths; none for floats.
    pub quantisation: Option<&'g Quantisation>,
    /// Fraction bits of the element type itself, which its integers have beyond those of its values.
    pub unit: i32,
    /// Takes leaky rectification of any slope for that of 1/8.
    pub approximate: bool,
    /// Feature maps so far.
    pub planes: Planes,
    layers: Vec<Layer>,
    macs: Vec<u64>,
    views: HashMap<ValueId, View>,
    /// Values that have no place, since what makes them is refused.
    unmade: HashSet<ValueId>,
    /// Sums that may still become part of another.
    pending: HashMap<ValueId, Chain>,
    readers: HashMap<ValueId, Vec<usize>>,
    producers: HashMap<ValueId, usize>,
    /// Inputs whose windows the host lays out as channels.
    packed: HashSet<ValueId>,
    done: Vec<bool>,
    problems: Vec<Problem>,
    notes: Vec<String>,
}

impl<'g> Builder<'g> {
    /// A builder for `graph`.
    pub fn new(graph: &'g Graph, options: Options<'g>, itype: DataType) -> Self {
        let quantisation = options.quantisation.filter(|_| itype.fixed().is_some());
        let mut readers: HashMap<ValueId, Vec<usize>> = HashMap::new();
        let mut producers = HashMap::new();
        for (i, node) in graph.nodes.iter().enumerate() {
            node.inputs.iter().for_each(|&input| readers.entry(input).or_default().push(i));
            producers.extend(node.outputs.iter().map(|&output| (output, i)));
        }
        Self {
            graph,
            quantisation,
            unit: itype.fixed().map_or(0, |fixed| fixed.fraction()),
            approximate: options.approximate,
            planes: Planes::default(),
            layers: Vec::new(),
            macs: graph.macs_by_node().collect(),
            views: HashMap::new(),
            unmade: HashSet::new(),
            pending: HashMap::new(),
            readers,
            producers,
            packed: HashSet::new(),
            done: vec![false; graph.nodes.len()],
            problems: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Lowers all nodes.
    pub fn build(mut self) -> Result<Model, LowerError> {
        let outputs: Vec<_> =
            self.graph.outputs.iter().map(|&output| ops::host::way_out(&mut self, output)).collect();
        let inputs = ops::input::bind(&mut self);
        for i in 0..self.graph.nodes.len() {
            if !self.done[i] {
                self.lower(i);
            }
        }
        let outputs: Vec<_> = outputs.into_iter().filter_map(|way_out| self.bind_output(way_out)).collect();
        inputs.iter().for_each(|input| self.align_borders(&input.planes));
        for output in &outputs {
            self.align_borders(&output.view.pieces.iter().map(|piece| piece.plane).collect::<Vec<_>>());
        }
        let Self { planes, layers, problems, notes, .. } = self;
        if problems.is_empty() {
            Ok(Model { planes, layers, inputs, outputs, notes })
        } else {
            Err(LowerError::Unsupported { problems })
        }
    }

    fn bind_output(&mut self, way_out: ops::host::WayOut) -> Option<HostOutput> {
        let ops::host::WayOut { value, output } = way_out;
        match self.view(value) {
            Ok(view) => {
                let view = if self.is_plain(&view) { view } else { self.copied(&view, &output.name) };
                Some(HostOutput { view, ..output })
            }
            Err(reject) => {
                // A node without a view was reported itself.
                if self.graph.constant(value).is_some() {
                    let hint = "leave it out of the outputs: whoever has the model knows it";
                    self.report(
                        &output.name,
                        "output",
                        Reject::new("it is a constant: nothing computes it", hint),
                    );
                } else if self.producer(value).is_none() {
                    self.report(&output.name, "output", reject);
                }
                None
            }
        }
    }

    /// Whether a view is whole planes of one fraction length.
    fn is_plain(&self, view: &View) -> bool {
        let plane = |piece: &Piece| self.planes.get(piece.plane);
        let whole = |piece: &Piece| piece.lane == 0 && piece.channels == plane(piece).channels;
        let alike = |pair: &[Piece]| plane(&pair[0]).fraction == plane(&pair[1]).fraction;
        self.planes.covers(view) && view.pieces.iter().all(whole) && view.pieces.windows(2).all(alike)
    }

    /// The host addresses all planes of a map alike: their borders become the same.
    fn align_borders(&mut self, planes: &[PlaneId]) {
        let border = planes.iter().map(|&plane| self.planes.get(plane).border).max().unwrap_or(0);
        planes.iter().for_each(|&plane| self.planes.get_mut(plane).border = border);
    }

    /// Node `i`.
    pub fn node(&self, i: usize) -> &'g Node {
        &self.graph.nodes[i]
    }

    /// Says that node `i` needs no lowering any more.
    pub fn set_done(&mut self, i: usize) {
        self.done[i] = true;
    }

    /// Notes what the user should know of, once.
    pub fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Notes that `op` of `node` stands in the way.
    pub fn report(&mut self, node: &str, op: &str, reject: Reject) {
        let Reject { reason, hint, is_consequence } = reject;
        if is_consequence {
            return;
        }
        self.problems.push(Problem { node: node.to_owned(), op: op.to_owned(), reason, hint });
    }

    /// The fraction length of a value; 0 for floats.
    ///
    /// Errors: the samples gave it none.
    pub fn fraction(&self, value: ValueId) -> Result<i32, Reject> {
        let Some(quantisation) = self.quantisation else { return Ok(0) };
        quantisation.fraction(value).map(|fraction| fraction - self.unit).ok_or_else(|| {
            let name = &self.graph.value(value).name;
            Reject::new(
                format!("`{name}` has no fraction length"),
                "calibrate with samples on which all values are finite",
            )
        })
    }

    /// Where a value lies. A sum that was held back for another is stored now.
    pub fn view(&mut self, value: ValueId) -> Result<View, Reject> {
        if let Some(chain) = self.pending.remove(&value) {
            self.finish(chain)?;
        }
        self.views.get(&value).cloned().ok_or_else(|| self.missing(value))
    }

    /// Why a value is not in memory.
    fn missing(&self, value: ValueId) -> Reject {
        if self.graph.constant(value).is_some() {
            return Reject::new(
                "an operand is a constant where the machine takes a feature map",
                "give it as an input of the model, or fold it into the weights",
            );
        }
        let reject = Reject::new("an operand is not in memory", "end the model before it");
        Reject { is_consequence: self.unmade.contains(&value), ..reject }
    }

    /// Where a value lies, when it does already.
    pub fn stored_view(&self, value: ValueId) -> Option<&View> {
        self.views.get(&value)
    }

    /// Says where a value lies.
    pub fn set_view(&mut self, value: ValueId, view: View) {
        self.views.insert(value, view);
    }

    /// Says that the host lays out the windows over an input as channels.
    pub fn set_packed(&mut self, value: ValueId) {
        self.packed.insert(value);
    }

    /// Whether it does.
    pub fn is_packed(&self, value: ValueId) -> bool {
        self.packed.contains(&value)
    }

    /// Holds a sum of products back: it may become part of another.
    pub fn hold(&mut self, chain: Chain) {
        self.pending.insert(chain.value, chain);
    }

    /// The sum of products behind `value`, when it was held back.
    pub fn take_pending(&mut self, value: ValueId) -> Option<Chain> {
        self.pending.remove(&value)
    }

    /// The only node that reads `value`, when the host does not read it as well.
    pub fn only_reader(&self, value: ValueId) -> Option<usize> {
        match (self.readers.get(&value).map(Vec::as_slice), self.graph.is_output(value)) {
            (Some(&[reader]), false) => Some(reader),
            _ => None,
        }
    }

    /// Nodes that read `value`.
    pub fn readers(&self, value: ValueId) -> &[usize] {
        self.readers.get(&value).map_or(&[], Vec::as_slice)
    }

    /// The node that makes `value`.
    pub fn producer(&self, value: ValueId) -> Option<usize> {
        self.producers.get(&value).copied()
    }

    /// Rows, columns and channels of a value.
    ///
    /// Errors: several images; more pixels in a row than the machine addresses.
    pub fn extent(&self, value: ValueId) -> Result<[usize; 3], Reject> {
        extent(self.graph.shape(value))
    }

    /// A chain that begins with `product`, made of node `i`.
    pub fn chain(&self, i: usize, product: Product) -> Lowered {
        let value = self.node(i).outputs.first().copied().unwrap_or(ValueId(0));
        Lowered::Chain(Chain { nodes: vec![i], value, product, post: Post::default(), copies: [1, 1] })
    }

    /// `view` such that `reach` zeros on all sides of it can be read: a copy, when it is part of something larger.
    pub fn bordered(&mut self, view: View, name: &str, reach: usize) -> Result<View, Reject> {
        if reach > BORDER {
            return Err(Reject::new(
                format!("it reads {reach} pixels beyond the image, at most {BORDER} are possible"),
                "use a smaller padding",
            ));
        }
        if let Some(size) = view.size.iter().find(|&&size| size + 2 * reach > MAP) {
            return Err(Reject::new(
                format!(
                    "its operand has {size} pixels along an axis, with a border of {reach} more than {MAP}"
                ),
                "use a smaller image",
            ));
        }
        let view = if reach > 0 && !self.planes.covers(&view) { self.copied(&view, name) } else { view };
        for piece in &view.pieces {
            let plane = self.planes.get_mut(piece.plane);
            plane.border = plane.border.max(reach);
        }
        Ok(view)
    }

    /// A feature map with the elements of `view`, in planes of its own.
    pub fn copied(&mut self, view: &View, name: &str) -> View {
        let fractions = view.pieces.iter().map(|piece| self.planes.get(piece.plane).fraction);
        let fraction = fractions.min().unwrap_or(0);
        let output = self.planes.new_map(&format!("{name}/copy"), view.size, view.channels(), fraction);
        self.copy_into(view, output.clone(), name);
        output
    }

    /// A layer that copies `view` to `output`.
    pub fn copy_into(&mut self, view: &View, output: View, name: &str) {
        let product = Product {
            size: view.size,
            channels: view.channels(),
            parts: vec![identity(view, 1.0)],
            factors: None,
            bias: None,
        };
        let (name, post) = (format!("copy for {name}"), Post::default());
        self.layers.push(Layer { name, macs: 0, product, post, copies: [1, 1], output, result: None });
    }

    fn lower(&mut self, i: usize) {
        self.done[i] = true;
        match ops::lower(self, i).and_then(|lowered| match lowered {
            Lowered::Views => Ok(()),
            Lowered::Chain(chain) => self.grow(chain),
        }) {
            Ok(()) => {}
            Err(reject) => self.reject(i, reject),
        }
    }

    /// Reports a node; what reads its results is still looked at.
    fn reject(&mut self, i: usize, reject: Reject) {
        let node = self.node(i);
        self.report(&node.name, node.op.name(), reject);
        for &output in &node.outputs {
            if let Ok([rows, columns, channels]) = self.extent(output) {
                let view = self.planes.new_map(&self.graph.value(output).name, [rows, columns], channels, 0);
                self.views.insert(output, view);
            } else {
                self.unmade.insert(output);
            }
        }
    }

    /// Says that a value has no place in memory, since what makes it is refused.
    pub fn set_unmade(&mut self, value: ValueId) {
        self.unmade.insert(value);
    }

    /// Takes up followers until none fits.
    fn grow(&mut self, mut chain: Chain) -> Result<(), Reject> {
        while let Some(i) = self.only_reader(chain.value).filter(|&i| !self.done[i]) {
            if !ops::follow(self, &mut chain, i)? {
                break;
            }
            self.done[i] = true;
            chain.nodes.push(i);
            chain.value = self.node(i).outputs.first().copied().unwrap_or(chain.value);
        }
        let reader = self.only_reader(chain.value).filter(|&i| !self.done[i]);
        if chain.post.is_empty()
            && chain.copies == [1, 1]
            && reader.is_some_and(|i| ops::elementwise::is_sum(&self.node(i).op))
        {
            self.hold(chain);
            return Ok(());
        }
        self.finish(chain)
    }

    /// Stores the chain's value.
    fn finish(&mut self, chain: Chain) -> Result<(), Reject> {
        let [rows, columns, channels] = self.extent(chain.value)?;
        // What is added on the way to memory is held as the sum is.
        let added = chain.post.residual().and_then(|view| view.pieces.first());
        let fraction = match added {
            Some(piece) => self.planes.get(piece.plane).fraction,
            None => self.fraction(chain.value)?,
        };
        let value = self.graph.value(chain.value).name.clone();
        let output = self.planes.new_map(&value, [rows, columns], channels, fraction);
        self.views.insert(chain.value, output.clone());
        let Chain { nodes, product, post, copies, .. } = chain;
        let names: Vec<&str> = nodes.iter().map(|&i| self.node(i).name.as_str()).collect();
        let macs = nodes.iter().map(|&i| self.macs.get(i).copied().unwrap_or(0)).sum();
        self.layers.push(Layer {
            name: names.join("+"),
            macs,
            product,
            post,
            copies,
            output,
            result: Some(value),
        });
        Ok(())
    }

    /// Takes `step` up into the chain, when there is a form for that.
    pub fn take_step(chain: &mut Chain, step: Step) -> bool {
        let post = chain.post.with(step).filter(|_| chain.copies == [1, 1]);
        post.map(|post| chain.post = post).is_some()
    }
}

/// The terms that take each channel of `view` to the same channel of the result, times `factor`.
pub fn identity(view: &View, factor: f32) -> Part {
    let mut row = 0;
    let term = |piece: &Piece| {
        row += piece.channels;
        let at = piece.origin.map(|at| at as isize);
        Term { plane: piece.plane, lane: piece.lane, channels: piece.channels, at, row: row - piece.channels }
    };
    let terms = view.pieces.iter().map(term).collect();
    Part { weights: Weights::identity(view.channels(), factor), strides: [1, 1], terms }
}

/// Rows, columns and channels of a tensor of that shape.
pub fn extent(shape: &[usize]) -> Result<[usize; 3], Reject> {
    let [rows, columns, channels] = match *shape {
        [1, rows, columns, channels] => [rows, columns, channels],
        [images, _, _, _] => {
            return Err(Reject::new(
                format!("it works on {images} images at once"),
                "export the model for one image",
            ));
        }
        [.., channels] => [1, shape[..shape.len() - 1].iter().product(), channels],
        [] => [1, 1, 1],
    };
    if rows == 0 || columns == 0 || channels == 0 || rows > MAP || columns > MAP {
        return Err(Reject::new(
            format!(
                "a feature map of {rows} x {columns} pixels, {channels} channels is not of 1 to {MAP} a side"
            ),
            "use a smaller image",
        ));
    }
    Ok([rows, columns, channels])
}
