//! Operators. One file each; adding one is its file, its `mod` and a line in the list below.

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
mod normalisation;
mod operands;
mod pad;
mod pooling;
mod pow;
mod prelu;
mod qlinear;
pub(crate) mod quantisation;
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

/// What every operator can say of itself.
pub trait Operator: std::fmt::Debug {
    /// The operator's name, as ONNX spells it.
    fn name(&self) -> &'static str;

    /// Shapes and types of the results.
    ///
    /// Operands come as values, so that an operator whose result shape depends on a constant
    /// operand can look at it.
    ///
    /// # Errors
    ///
    /// [`OpError`] with the first operand, shape, type or attribute that the operator does not take.
    fn infer(&self, inputs: &[&Value]) -> Result<Vec<ValueInfo>, OpError>;

    /// The results, computed literally on the elements as they are held, floats in `f32`.
    ///
    /// An operator need not know narrower types than those that are held: [`Op`] rounds floats and
    /// wraps integers to the types inferred.
    ///
    /// # Errors
    ///
    /// Those of [`Operator::infer`], and values that the operator does not take, such as an index that is not
    /// there.
    fn eval(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>, OpError>;

    /// Whether each element of the only result depends on one element of the only operand, at
    /// the same position.
    fn is_pointwise(&self) -> bool {
        false
    }

    /// Whether the operands are aligned at their last axes and repeated to one shape, NumPy's rule.
    fn broadcasts(&self) -> bool {
        false
    }

    /// The operator that does the same to operands whose axes are permuted (axis `i` is the
    /// former axis `perm[i]`), giving results permuted alike. `None` where there is none; an
    /// operator that has one lets passes move a [`Transpose`] across it. All operands and results
    /// have the same number of axes.
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

/// The operator with its attributes, as one writes it down: `Softmax { axis: 1, axis_end: 2 }`.
impl std::fmt::Display for Op {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.operator())
    }
}
