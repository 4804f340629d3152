//! The layer IR: a [`Layer`] is a sum of products and what `store` does to it on the way to memory.

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
    /// Whether the instruction has fields for them.
    pub fn is_expressible(&self) -> bool {
        self.0.iter().all(|windows| windows.window.min(windows.size) <= POOL && windows.stride <= STRIDE)
    }
}

/// What is done to a sum on its way to memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// An activation.
    Activation(Activation),
    /// Adds another feature map.
    Residual(View),
    /// Takes maxima.
    Pool(Pooling),
}

/// One of the sequences of steps that `@post` has a form for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Post(Vec<Step>);

impl Post {
    /// The steps, in order.
    pub fn steps(&self) -> &[Step] {
        &self.0
    }

    /// Whether nothing is done.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The same with one more step, when there is a form for that.
    ///
    /// Activations are monotone: one after max pooling gives the same before it, where the form has it.
    pub fn with(&self, step: Step) -> Option<Self> {
        let mut steps = self.0.clone();
        let before_pool = matches!(step, Step::Activation(_)) && matches!(steps.last(), Some(Step::Pool(_)));
        steps.insert(steps.len() - usize::from(before_pool), step);
        let post = Self(steps);
        post.order().is_some().then_some(post)
    }

    /// The form's order, when there is a form.
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

    /// The activation.
    pub fn activation(&self) -> Activation {
        let activation =
            |step: &Step| if let Step::Activation(activation) = step { Some(*activation) } else { None };
        // Default: without a step that is one, the activation that does nothing.
        self.0.iter().find_map(activation).unwrap_or_default()
    }

    /// The feature map added.
    pub fn residual(&self) -> Option<&View> {
        self.0.iter().find_map(|step| if let Step::Residual(view) = step { Some(view) } else { None })
    }

    /// The windows of pooling.
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

/// What the machine does in one go, from feature maps in memory to one in memory.
#[derive(Clone, Debug)]
pub struct Layer {
    /// Nodes of the graph, joined with `+`.
    pub name: String,
    /// The same nodes.
    pub nodes: Vec<NodeId>,
    /// Multiply-accumulates of the model.
    pub macs: u64,
    /// What is computed.
    pub product: Product,
    /// What is done to it.
    pub post: Post,
    /// Rows and columns that each pixel becomes.
    pub copies: [usize; 2],
    /// Where it goes. Planes follow each other, each of up to 64 channels from channel 0 on.
    pub output: View,
    /// The value of the graph it ends in, when it is whole.
    pub result: Option<String>,
}

impl Layer {
    /// The planes that are read and written; some of them several times.
    pub fn planes(&self) -> impl Iterator<Item = PlaneId> {
        let terms = self.product.parts.iter().flat_map(|part| &part.terms).map(|term| term.plane);
        let added = self.post.residual().into_iter().flat_map(|view| &view.pieces);
        terms.chain(added.chain(&self.output.pieces).map(|piece| piece.plane))
    }

    /// A line for `--emit layers`.
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
