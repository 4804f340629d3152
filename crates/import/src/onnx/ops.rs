//! The operators: one file each, its `mod` and its line in the list below.
//!
//! A handler reads its node through [`Context`], adds to the graph and gives the node's results
//! in order. Attributes and operands that it leaves unread are reported as unsupported.

mod arg_max;
mod attention;
mod average_pool;
mod batch_normalization;
mod binary;
mod cast;
mod clip;
mod compare;
mod concat;
mod constant;
mod constant_of_shape;
mod conv;
mod conv_transpose;
mod depth_to_space;
mod dequantize_linear;
mod dft;
mod dropout;
mod dynamic_quantize_linear;
mod einsum;
mod flatten;
mod gather;
mod gemm;
mod global_average_pool;
mod global_max_pool;
mod group_normalization;
mod identity;
mod instance_normalization;
mod layer_normalization;
mod leaky_relu;
mod logic;
mod lp_normalization;
mod lrn;
mod matmul;
mod max_pool;
mod pad;
mod pow;
mod prelu;
mod qlinear_concat;
mod qlinear_conv;
mod qlinear_matmul;
mod qlinear_pointwise;
mod qlinear_pool;
mod qlinear_softmax;
mod qonnx;
mod quantize_linear;
mod range;
mod reduce;
mod relu;
mod reshape;
mod resize;
mod rms_normalization;
mod rotary_embedding;
mod shape;
mod size;
mod slice;
mod softmax;
mod split;
mod squeeze;
mod tile;
mod transpose;
mod trilu;
mod unary;
mod unsqueeze;
mod upsample;
mod variadic;
mod where_op;

use std::borrow::Cow;

use npukit_graph::ValueId;

use super::context::Context;
use super::error::Reason;
use super::proto::NodeProto;

/// Translates one node.
pub(super) type Handler = fn(&mut Context<'_>) -> Result<Vec<ValueId>, Reason>;

macro_rules! operators {
    ($($module:ident: $($name:literal),+;)*) => {
        /// Handlers by operator name.
        const HANDLERS: &[(&str, Handler)] = &[$($(($name, $module::translate)),+),*];
    };
}

operators! {
    arg_max: "ArgMax", "ArgMin";
    attention: "Attention";
    average_pool: "AveragePool";
    batch_normalization: "BatchNormalization";
    binary: "Add", "Sub", "Mul", "Div", "Mod";
    cast: "Cast", "CastLike";
    clip: "Clip";
    compare: "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual";
    concat: "Concat";
    constant: "Constant";
    constant_of_shape: "ConstantOfShape";
    conv: "Conv";
    conv_transpose: "ConvTranspose";
    depth_to_space: "DepthToSpace", "SpaceToDepth";
    dequantize_linear: "DequantizeLinear", "com.microsoft::DequantizeLinear";
    dft: "DFT";
    dropout: "Dropout";
    dynamic_quantize_linear: "DynamicQuantizeLinear";
    einsum: "Einsum";
    flatten: "Flatten";
    gather: "Gather";
    gemm: "Gemm";
    global_average_pool: "GlobalAveragePool";
    global_max_pool: "GlobalMaxPool";
    group_normalization: "GroupNormalization";
    identity: "Identity";
    instance_normalization: "InstanceNormalization";
    layer_normalization: "LayerNormalization";
    leaky_relu: "LeakyRelu";
    logic: "And", "Or", "Xor";
    lp_normalization: "LpNormalization";
    lrn: "LRN";
    matmul: "MatMul";
    max_pool: "MaxPool";
    pad: "Pad";
    pow: "Pow";
    prelu: "PRelu";
    qlinear_concat: "com.microsoft::QLinearConcat";
    qlinear_conv: "ConvInteger", "QLinearConv";
    qlinear_matmul: "MatMulInteger", "QLinearMatMul", "com.microsoft::QGemm";
    qlinear_pointwise: "com.microsoft::QLinearAdd", "com.microsoft::QLinearLeakyRelu", "com.microsoft::QLinearMul",
        "com.microsoft::QLinearSigmoid";
    qlinear_pool: "com.microsoft::QLinearAveragePool", "com.microsoft::QLinearGlobalAveragePool";
    qlinear_softmax: "com.microsoft::QLinearSoftmax";
    qonnx: "finn.custom_op.general::BipolarQuant", "finn.custom_op.general::Quant", "finn.custom_op.general::Trunc",
        "onnx.brevitas::BipolarQuant", "onnx.brevitas::Quant", "onnx.brevitas::Trunc",
        "qonnx.custom_op.general::BipolarQuant", "qonnx.custom_op.general::IntQuant", "qonnx.custom_op.general::Quant",
        "qonnx.custom_op.general::Trunc";
    quantize_linear: "QuantizeLinear", "com.microsoft::QuantizeLinear";
    range: "Range";
    reduce: "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin",
        "ReduceProd", "ReduceSum", "ReduceSumSquare";
    relu: "Relu";
    reshape: "Reshape";
    resize: "Resize";
    rms_normalization: "RMSNormalization", "SimplifiedLayerNormalization";
    rotary_embedding: "RotaryEmbedding";
    shape: "Shape";
    size: "Size";
    slice: "Slice";
    softmax: "LogSoftmax", "Softmax";
    split: "Split";
    squeeze: "Squeeze";
    tile: "Expand", "Tile";
    transpose: "Transpose";
    trilu: "Trilu";
    unary: "Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Ceil", "Celu", "Cos", "Cosh", "Elu", "Erf",
        "Exp", "Floor", "Gelu", "HardSigmoid", "HardSwish", "Log", "Mish", "Neg", "Not", "Reciprocal", "Round",
        "Selu", "Sigmoid", "Sign", "Sin", "Sinh", "Softplus", "Softsign", "Sqrt", "Swish", "Tan", "Tanh",
        "ThresholdedRelu";
    unsqueeze: "Unsqueeze";
    upsample: "Upsample";
    variadic: "Max", "Mean", "Min", "Sum";
    where_op: "Where";
}

/// The handler of a node, when its operator is one of the list.
pub(super) fn handler(node: &NodeProto) -> Option<Handler> {
    let wanted = qualified(node);
    HANDLERS.iter().find(|(name, _)| *name == wanted).map(|&(_, handler)| handler)
}

/// The operator's name, after its domain unless it is one of the standard.
pub(super) fn qualified(node: &NodeProto) -> Cow<'_, str> {
    match node.domain.as_str() {
        "" | "ai.onnx" => Cow::Borrowed(&node.op_type),
        domain => Cow::Owned(format!("{domain}::{}", node.op_type)),
    }
}

/// The names of all operators, in alphabetical order.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    // An If is more than one node: the importer takes one of its branches.
    let mut names: Vec<&'static str> = HANDLERS.iter().map(|&(name, _)| name).chain(["If"]).collect();
    names.sort_unstable();
    names.into_iter()
}
