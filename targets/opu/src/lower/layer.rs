//! Layer IR: a [`Layer`] is a sum of products and the steps that `store` applies to it.

use std::fmt;

use npukit_graph::NodeId;

use super::limits::{POOL, STRIDE};
use super::map::{PlaneId, Planes, View};
use super::product::Product;
use super::windows::Windows;
use crate::isa::op::{Activation, Order};

/// Windows of max pooling, for rows and columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pooling(pub [Windows; 2]);

impl Pooling {
    /// Whether the fields of the instruction can express the windows.
    pub fn is_expressible(&self) -> bool {
        self.0.iter().all(|windows| windows.window.min(windows.size) <= POOL && windows.stride <= STRIDE)
    }
}

/// Step that is applied to a sum when it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Applies an activation.
    Activation(Activation),
    /// Adds another feature map.
    Residual(View),
    /// Takes the maximum of each window.
    Pool(Pooling),
}

/// Sequence of steps for which `@post` has a form.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Post(Vec<Step>);

impl Post {
    /// Returns the steps, in order.
    pub fn steps(&self) -> &[Step] {
        &self.0
    }

    /// Whether there are no steps.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the sequence with one more step, if `@post` has a form for that.
    ///
    /// Activations are monotone: an activation after max pooling has the same result before it, so
    /// that form is used if only it exists.
    pub fn with(&self, step: Step) -> Option<Self> {
        let mut steps = self.0.clone();
        let before_pool = matches!(step, Step::Activation(_)) && matches!(steps.last(), Some(Step::Pool(_)));
        steps.insert(steps.len() - usize::from(before_pool), step);
        let post = Self(steps);
        post.order().is_some().then_some(post)
    }

    /// Returns the order field of the form; `None` if there is no form.
    pub fn order(&self) -> Option<Order> {
        use Step::{Activation as A, Pool as P, Residual as R};
        match &self.0[..] {
            []
            | [A(_)]
            | [P(_)]
            | [R(_)]
            | [A(_), R(_)]
            | [A(_), P(_)]
            | [R(_), P(_)]
            | [A(_), R(_), P(_)] => Some(Order::ActResPool),
            [R(_), A(_)] | [R(_), A(_), P(_)] => Some(Order::ResActPool),
            [P(_), R(_)] | [A(_), P(_), R(_)] => Some(Order::ActPoolRes),
            _ => None,
        }
    }

    /// Returns the activation.
    pub fn activation(&self) -> Activation {
        let activation =
            |step: &Step| if let Step::Activation(activation) = step { Some(*activation) } else { None };
        // Default: without an activation step, the activation is the identity.
        self.0.iter().find_map(activation).unwrap_or_default()
    }

    /// Returns the feature map that is added, if any.
    pub fn residual(&self) -> Option<&View> {
        self.0.iter().find_map(|step| if let Step::Residual(view) = step { Some(view) } else { None })
    }

    /// Returns the windows of pooling, if any.
    pub fn pooling(&self) -> Option<Pooling> {
        self.0.iter().find_map(|step| if let Step::Pool(pooling) = step { Some(*pooling) } else { None })
    }

    /// Whether the feature map is added to pooled values.
    pub fn adds_to_pooled(&self) -> bool {
        self.order() == Some(Order::ActPoolRes)
    }
}

impl fmt::Display for Post {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for step in &self.0 {
            match step {
                Step::Activation(Activation::None) => {}
                Step::Activation(Activation::Relu) => write!(f, " relu")?,
                Step::Activation(Activation::Leaky) => write!(f, " leaky")?,
                Step::Residual(_) => write!(f, " residual")?,
                Step::Pool(Pooling([rows, columns])) => {
                    let (size, stride) = ([rows.window, columns.window], [rows.stride, columns.stride]);
                    write!(f, " pool {size:?} by {stride:?}")?;
                }
            }
        }
        Ok(())
    }
}

/// Unit of work of the machine, from feature maps in memory to one feature map in memory.
#[derive(Clone, Debug)]
pub struct Layer {
    /// Names of the graph's nodes, joined with `+`.
    pub name: String,
    /// Ids of the graph's nodes.
    pub nodes: Vec<NodeId>,
    /// Multiply-accumulates of the model.
    pub macs: u64,
    /// Sum of products that is computed.
    pub product: Product,
    /// Steps that are applied to the sum.
    pub post: Post,
    /// Number of rows and columns to which each pixel is repeated.
    pub copies: [usize; 2],
    /// Destination. Planes follow each other; each holds up to 64 channels, starting at channel 0.
    pub output: View,
    /// Name of the graph's value that the layer computes; `None` if it computes only a part.
    pub result: Option<String>,
}

impl Layer {
    /// Returns the planes that are read and written; some appear several times.
    pub fn planes(&self) -> impl Iterator<Item = PlaneId> {
        let terms = self.product.parts.iter().flat_map(|part| &part.terms).map(|term| term.plane);
        let added = self.post.residual().into_iter().flat_map(|view| &view.pieces);
        terms.chain(added.chain(&self.output.pieces).map(|piece| piece.plane))
    }

    /// Formats the layer as a line for `--emit layers`.
    pub fn print(&self, planes: &Planes) -> String {
        let Product { size, channels, parts, bias, .. } = &self.product;
        let terms: usize = parts.iter().map(|part| part.terms.len()).sum();
        let fraction = planes.get(self.output.pieces[0].plane).fraction;
        let bias = if bias.is_some() { " + bias" } else { "" };
        format!(
            "{}: {size:?} x {channels} = {terms} terms{bias}{}, fraction {fraction}, {} MACs\n",
            self.name, self.post, self.macs
        )
    }
}
