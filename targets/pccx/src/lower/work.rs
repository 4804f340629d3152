//! What a step computes: [`Work`].

use std::rc::Rc;

use npukit_graph::op::{BinaryKind, RotaryEmbedding, Window};
use npukit_graph::{NodeId, ValueId};

use crate::config::WORD_LANES;
use crate::isa::op::CvoFunc;
use crate::lower::limits::MAX_ROWS;
use crate::lower::reason::HostReason;
use crate::program::host::Tokens;

/// What a step computes. Operands are the step's, constants stand here.
#[derive(Clone, Debug)]
pub enum Work {
    Product(Product),
    /// A product of patches that the host lays out.
    Convolution(Convolution),
    Attention(Attention),
    /// Products of two operands that change.
    Live(Live),
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
    Host(HostReason),
}

impl Work {
    /// Its product with a constant matrix.
    pub const fn product(&self) -> Option<&Product> {
        match self {
            Self::Product(product) | Self::Convolution(Convolution { product, .. }) => Some(product),
            _ => None,
        }
    }

    /// The same, to change it.
    pub const fn product_mut(&mut self) -> Option<&mut Product> {
        match self {
            Self::Product(product) | Self::Convolution(Convolution { product, .. }) => Some(product),
            _ => None,
        }
    }
}

/// How many bits of its weights a product takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bits {
    /// Those of the engines.
    #[default]
    Four,
    /// 4, then 4 of what they leave: two passes.
    Eight,
}

/// A product with a constant matrix.
#[derive(Clone, Debug)]
pub struct Product {
    /// The matrix.
    pub weights: ValueId,
    /// Gains of a norm, which multiply what meets each input.
    pub gain: Option<ValueId>,
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
    /// Whether the result is the softmax of each row.
    pub softmax: bool,
    /// Whether all weights have one scale, which MEMSET brings.
    pub one_scale: bool,
    /// Whether the second operand is what each row is divided by, in words of their own.
    pub quotient: bool,
    /// Bits of its weights.
    pub bits: Bits,
}

impl Product {
    /// Whether its results may be divided by a number for each row.
    pub fn takes_quotient(&self) -> bool {
        let [m, _, n] = self.size;
        // The same for one row as for several, which lie at whole words.
        let has_rows = n.is_multiple_of(WORD_LANES) || m == 1 && n < WORD_LANES;
        self.bias.is_none() && !self.adds && !self.softmax && has_rows
    }

    /// Whether its rows can be computed one by one, each as one product, which finds the row's largest.
    pub fn has_rows(&self) -> bool {
        let [m, k, n] = self.size;
        n <= MAX_ROWS && (m == 1 || n.is_multiple_of(WORD_LANES) && k.is_multiple_of(WORD_LANES))
    }
}

/// A convolution as a product of its patches.
#[derive(Clone, Debug)]
pub struct Convolution {
    /// The product, whose rows are patches.
    pub product: Product,
    /// The windows of which they are.
    pub window: Window,
}

/// `softmax(factor * queries keys + bias + mask) values`, row by row, or with a soft cap of the scores.
#[derive(Clone, Debug)]
pub struct Attention {
    /// Queries, `[.., rows, features]`.
    pub queries: ValueId,
    /// Keys, `[.., features, tokens]`.
    pub keys: ValueId,
    /// Values, `[.., tokens, features]`.
    pub values: ValueId,
    /// Factor of the scores.
    pub factor: f32,
    /// What is added to the scores, for every row and token; nothing where it is empty.
    pub bias: Rc<Vec<f32>>,
    /// The cap of the scores, where they are `cap * tanh(factor * queries keys)`.
    pub cap: Option<f32>,
    /// Which tokens each row sees; rows of all heads follow each other.
    pub seen: Vec<Rc<Tokens>>,
    /// Rows that share a matrix of keys, and of values.
    pub rows: [usize; 2],
    /// Features of a query, and of a result.
    pub features: [usize; 2],
    /// Its nodes, the last but one first.
    pub nodes: Vec<NodeId>,
}

/// As many products of a matrix `[rows, k]` with another `[k, n]`.
#[derive(Clone, Copy, Debug)]
pub struct Live {
    /// Products.
    pub matrices: usize,
    /// Rows, inputs of a row, results of a row.
    pub size: [usize; 3],
}

/// How a norm is computed.
#[derive(Clone, Debug)]
pub struct Norm {
    /// Added to the mean square or the variance.
    pub epsilon: f32,
    /// Whether the mean is taken off first.
    pub centred: bool,
    /// A factor for each value of a row, where it is not in the weights of the products behind the norm.
    pub gain: Option<ValueId>,
    /// What is added to each value of a row, the same.
    pub bias: Option<ValueId>,
    /// Values of a row.
    pub row: usize,
    /// Whether the results of products are divided instead: then these are the roots, a word for each row.
    pub only_roots: bool,
    /// Whether the host gives the sum of squares of each row: only MUL multiplies two values.
    pub squares_by_host: bool,
}

/// A rotation with its tables.
#[derive(Clone, Debug)]
pub struct Rotary {
    pub op: RotaryEmbedding,
    /// `[positions, head]`, a value for each feature.
    pub cosines: ValueId,
    pub sines: ValueId,
    /// Features of a head.
    pub head: usize,
    /// The row of the tables for each head of the operand.
    pub positions: Vec<usize>,
    /// Whether the machine computes the tables, of angles that the host sends.
    pub own_tables: bool,
    /// Whether two products rotate, with the tables in their scales, since there is no MUL.
    pub by_products: bool,
}

/// Elements next to each other that stay so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Which operand they are of.
    pub operand: usize,
    /// Place of the first among the operand's elements.
    pub from: usize,
    /// Its place among the result's.
    pub to: usize,
    /// Elements.
    pub length: usize,
}
