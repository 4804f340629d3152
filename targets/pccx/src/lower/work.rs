//! Work of a step: [`Work`].

use std::rc::Rc;

use npukit_graph::op::{BinaryKind, RotaryEmbedding, Window};
use npukit_graph::{NodeId, ValueId};

use crate::config::WORD_LANES;
use crate::isa::op::CvoFunc;
use crate::lower::limits::MAX_ROWS;
use crate::lower::reason::HostReason;
use crate::program::host::Tokens;

/// Work of a step. Operands are in the step, constants are here.
#[derive(Clone, Debug)]
pub enum Work {
    Product(Product),
    /// Product of patches that the host lays out.
    Convolution(Convolution),
    Attention(Attention),
    /// Products of two operands that are not constant.
    Live(Live),
    Norm(Norm),
    /// Rotation. The operand is rotated; the tables are constants with a row per position.
    Rotary(Rotary),
    /// A function of each value.
    Function(CvoFunc),
    /// Computes `1 / (1 + e^-x)`.
    Sigmoid,
    /// Computes `x / (1 + e^(-alpha x))`.
    Swish(f32),
    /// Computes `x * x`.
    Square,
    /// Computes `factor * x`.
    Factor(f32),
    /// Arithmetic of two operands of equal shape.
    Binary(BinaryKind),
    /// Only moves values: for each result, runs of elements.
    Move(Vec<Vec<Run>>),
    /// The host computes it, for this reason.
    Host(HostReason),
}

impl Work {
    /// Returns the product with a constant matrix, if the work has one.
    pub const fn product(&self) -> Option<&Product> {
        match self {
            Self::Product(product) | Self::Convolution(Convolution { product, .. }) => Some(product),
            _ => None,
        }
    }

    /// Returns the product with a constant matrix mutably, if the work has one.
    pub const fn product_mut(&mut self) -> Option<&mut Product> {
        match self {
            Self::Product(product) | Self::Convolution(Convolution { product, .. }) => Some(product),
            _ => None,
        }
    }
}

/// Bits of weights that a product uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bits {
    /// The 4 bits of the engines.
    #[default]
    Four,
    /// 8 bits as two 4-bit passes.
    Eight,
}

/// Product with a constant matrix.
#[derive(Clone, Debug)]
pub struct Product {
    /// Constant with the matrix.
    pub weights: ValueId,
    /// Gains of a norm that multiply the weights of each input.
    pub gain: Option<ValueId>,
    /// Whether the matrix has a row for each result.
    pub by_rows: bool,
    /// Factor by which the product is multiplied.
    pub alpha: f32,
    /// Initial value of each row of the result: a constant with the size of a row or of the whole
    /// result.
    pub bias: Option<ValueId>,
    /// Number of rows, inputs per row, results per row.
    pub size: [usize; 3],
    /// Whether the second operand is added.
    pub adds: bool,
    /// Whether the result is the softmax of each row.
    pub softmax: bool,
    /// Whether all weights have one scale, which MEMSET sets.
    pub one_scale: bool,
    /// Whether each row is divided by the second operand, which has one word per row.
    pub quotient: bool,
    /// Bits of the weights that are used.
    pub bits: Bits,
}

impl Product {
    /// Whether the results can be divided by a number per row.
    pub fn takes_quotient(&self) -> bool {
        let [m, _, n] = self.size;
        // A single row needs no alignment; several rows must begin at whole words.
        let has_rows = n.is_multiple_of(WORD_LANES) || m == 1 && n < WORD_LANES;
        self.bias.is_none() && !self.adds && !self.softmax && has_rows
    }

    /// Whether each row can be computed as one product, which finds the row's maximum.
    pub fn has_rows(&self) -> bool {
        let [m, k, n] = self.size;
        n <= MAX_ROWS && (m == 1 || n.is_multiple_of(WORD_LANES) && k.is_multiple_of(WORD_LANES))
    }
}

/// A convolution as a product of its patches.
#[derive(Clone, Debug)]
pub struct Convolution {
    /// Product that takes patches as rows.
    pub product: Product,
    /// Windows that define the patches.
    pub window: Window,
}

/// `softmax(factor * queries keys + bias + mask) values`, row by row, optionally with a soft cap of
/// the scores.
#[derive(Clone, Debug)]
pub struct Attention {
    /// Queries, `[.., rows, features]`.
    pub queries: ValueId,
    /// Keys, `[.., features, tokens]`.
    pub keys: ValueId,
    /// Values, `[.., tokens, features]`.
    pub values: ValueId,
    /// Factor by which the scores are multiplied.
    pub factor: f32,
    /// Bias of the scores, for each row and token; empty without a bias.
    pub bias: Rc<Vec<f32>>,
    /// Cap of the scores, if they are `cap * tanh(factor * queries keys)`.
    pub cap: Option<f32>,
    /// Tokens that each row sees; rows of all heads follow each other.
    pub seen: Vec<Rc<Tokens>>,
    /// Number of rows that share a matrix of keys, and of values.
    pub rows: [usize; 2],
    /// Features of a query, and of a result.
    pub features: [usize; 2],
    /// Nodes of the attention, the second to last first.
    pub nodes: Vec<NodeId>,
}

/// Several products of a matrix `[rows, k]` and a matrix `[k, n]`.
#[derive(Clone, Copy, Debug)]
pub struct Live {
    /// Number of matrix pairs.
    pub matrices: usize,
    /// Number of rows, inputs per row, results per row.
    pub size: [usize; 3],
}

/// Parameters of a norm.
#[derive(Clone, Debug)]
pub struct Norm {
    /// Added to the mean square or the variance.
    pub epsilon: f32,
    /// Whether the mean is subtracted first.
    pub centered: bool,
    /// Factor of each value of a row; `None` if folded into the weights of the products that
    /// follow.
    pub gain: Option<ValueId>,
    /// Bias of each value of a row; `None` if folded or absent.
    pub bias: Option<ValueId>,
    /// Number of values in a row.
    pub row: usize,
    /// Whether the results of products are divided instead. The step then gives the roots, one word
    /// per row.
    pub only_roots: bool,
    /// Whether the host gives the sum of squares of each row, because only MUL multiplies two
    /// values.
    pub squares_by_host: bool,
}

/// A rotation with its tables.
#[derive(Clone, Debug)]
pub struct Rotary {
    pub op: RotaryEmbedding,
    /// Tables `[positions, head]` with a value for each feature: cosines, then sines.
    pub cosines: ValueId,
    pub sines: ValueId,
    /// Number of features of a head.
    pub head: usize,
    /// Row of the tables for each head of the operand.
    pub positions: Vec<usize>,
    /// Whether the machine computes the tables from angles that the host sends.
    pub own_tables: bool,
    /// Whether two products rotate, with the tables as their scales, as the instance lacks MUL.
    pub by_products: bool,
}

/// Consecutive elements that stay consecutive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Index of the operand that contains them.
    pub operand: usize,
    /// Index of the first element in the operand.
    pub from: usize,
    /// Index of the first element in the result.
    pub to: usize,
    /// Number of elements in the run.
    pub length: usize,
}
