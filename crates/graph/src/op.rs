//! Operators, one per file. To add one, add its file, its `mod`, and a line in the list below.

mod arg_max;
mod average_pool;
mod batch_normalization;
mod binary;
mod bit_cast;
mod bitwise;
mod body;
mod broadcasting;
mod cast;
mod clip;
mod compare;
mod concat;
mod conv;
mod conv_transpose;
mod cumulative;
mod dequantize_linear;
mod det;
mod dft;
mod error;
mod form;
mod gather;
mod gather_elements;
mod gather_nd;
mod gemm;
mod grid_sample;
mod group_normalization;
mod indexing;
mod instance_normalization;
mod interpolation;
mod is_nan;
mod layer_normalization;
mod leaky_relu;
mod log_softmax;
mod logic;
mod loop_op;
mod lp_normalization;
mod lrn;
mod matmul;
mod max_pool;
mod max_pool_indices;
mod normalization;
mod operands;
mod pad;
mod pooling;
mod pow;
mod prelu;
mod qlinear;
pub(crate) mod quantization;
mod quantize_linear;
mod reduce;
mod relu;
mod reshape;
mod resize;
mod rms_normalization;
mod roi_align;
mod rotary_embedding;
mod scatter_elements;
mod scatter_nd;
mod scattering;
mod slice;
mod softmax;
mod split;
mod tile;
mod top_k;
mod transpose;
mod trilu;
mod unary;
mod where_op;
mod window;

use npukit_numeric::Tensor;
use serde::{Deserialize, Serialize};

use crate::ir::{Value, ValueInfo};
pub use body::Body;
pub use error::{EvalError, OpError};
pub use scattering::ScatterKind;
pub use window::{Window, WindowSpan};

/// Interface of every operator.
pub trait Operator: std::fmt::Debug {
    /// Returns the operator's ONNX name.
    fn name(&self) -> &'static str;

    /// Infers shapes and types of the results.
    ///
    /// Operands are passed as values, since a result shape may depend on a constant operand.
    ///
    /// # Errors
    ///
    /// [`OpError`] with the first operand, shape, type or attribute that the operator rejects.
    fn infer(&self, inputs: &[&Value]) -> Result<Vec<ValueInfo>, OpError>;

    /// Computes the results as defined, on the elements as stored; floats in `f32`.
    ///
    /// An operator may ignore element types narrower than the stored ones: [`Op`] rounds floats and
    /// wraps integers to the inferred types.
    ///
    /// # Errors
    ///
    /// The errors of [`Operator::infer`], and values that the operator rejects, such as an index
    /// out of range.
    fn eval(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>, OpError>;

    /// Whether each element of the only result depends only on the element of the only operand at
    /// the same position.
    fn is_pointwise(&self) -> bool {
        false
    }

    /// Whether the operands are broadcast by NumPy's rule: aligned at their last axes and repeated
    /// to one shape.
    fn broadcasts(&self) -> bool {
        false
    }

    /// Returns the operator that computes the same on operands with permuted axes, with results
    /// permuted in the same way. Axis `i` is the former axis `perm[i]`; all operands and results
    /// have the same number of axes. `None` if no operator does. Passes use it to move a
    /// [`Transpose`] across an operator.
    fn permuted(&self, _perm: &[usize]) -> Option<Op> {
        None
    }
}

macro_rules! operators {
    ($($module:ident :: $name:ident),* $(,)?) => {
        $(pub use $module::*;)*

        /// An operator with its attributes.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(remote = "Self")]
        #[allow(missing_docs, reason = "each variant is documented at its type")]
        pub enum Op {
            $($name($name)),*
        }

        impl Op {
            fn operator(&self) -> &dyn Operator {
                match self {
                    $(Self::$name(op) => op),*
                }
            }
        }

        $(impl From<$name> for Op {
            fn from(op: $name) -> Self {
                Self::$name(op)
            }
        })*
    };
}

operators! {
    arg_max::ArgMax,
    average_pool::AveragePool,
    batch_normalization::BatchNormalization,
    binary::Binary,
    bit_cast::BitCast,
    bitwise::Bitwise,
    cast::Cast,
    clip::Clip,
    compare::Compare,
    concat::Concat,
    conv::Conv,
    conv_transpose::ConvTranspose,
    cumulative::Cumulative,
    dequantize_linear::DequantizeLinear,
    det::Det,
    dft::Dft,
    gather::Gather,
    gather_elements::GatherElements,
    gather_nd::GatherNd,
    gemm::Gemm,
    grid_sample::GridSample,
    group_normalization::GroupNormalization,
    instance_normalization::InstanceNormalization,
    is_nan::IsNaN,
    layer_normalization::LayerNormalization,
    leaky_relu::LeakyRelu,
    log_softmax::LogSoftmax,
    logic::Logic,
    loop_op::Loop,
    lp_normalization::LpNormalization,
    lrn::Lrn,
    matmul::MatMul,
    max_pool::MaxPool,
    max_pool_indices::MaxPoolIndices,
    pad::Pad,
    pow::Pow,
    prelu::PRelu,
    qlinear::QLinear,
    quantize_linear::QuantizeLinear,
    reduce::Reduce,
    relu::Relu,
    reshape::Reshape,
    resize::Resize,
    rms_normalization::RmsNormalization,
    roi_align::RoiAlign,
    rotary_embedding::RotaryEmbedding,
    scatter_elements::ScatterElements,
    scatter_nd::ScatterNd,
    slice::Slice,
    softmax::Softmax,
    split::Split,
    tile::Tile,
    top_k::TopK,
    transpose::Transpose,
    trilu::Trilu,
    unary::Unary,
    where_op::Where,
}

impl Operator for Op {
    fn name(&self) -> &'static str {
        self.operator().name()
    }

    fn infer(&self, inputs: &[&Value]) -> Result<Vec<ValueInfo>, OpError> {
        self.operator().infer(inputs)
    }

    fn eval(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>, OpError> {
        let (operator, infos) = (self.operator(), operands::infer_tensors(self.operator(), inputs)?);
        // Results without elements may still have axes of any size: no loop may run over them.
        if infos.iter().all(|info| info.shape.contains(&0)) {
            return operands::empty_results(operator, &infos);
        }
        operands::of_inferred_types(operator, &infos, operator.eval(inputs)?)
    }

    fn is_pointwise(&self) -> bool {
        self.operator().is_pointwise()
    }

    fn broadcasts(&self) -> bool {
        self.operator().broadcasts()
    }

    fn permuted(&self, perm: &[usize]) -> Option<Op> {
        self.operator().permuted(perm)
    }
}

/// Formats the operator with its attributes: `Softmax { axis: 1, axis_end: 2 }`.
impl std::fmt::Display for Op {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.operator())
    }
}
