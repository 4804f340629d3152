//! Translation of the operators. One that the graph also has is an arm of `direct`; the others have
//! a file each, with a `mod` line and a line in the list below.
//!
//! A handler reads its node through [`Context`], adds to the graph, and returns the node's results
//! in order. Attributes and operands that it does not read are reported as unsupported.

mod affine_grid;
mod attention;
mod batch_normalization;
mod bitwise;
mod by_value;
mod cast;
mod causal_conv;
mod center_crop_pad;
mod clip;
mod col2im;
mod concat;
mod constant;
mod constant_of_shape;
mod contrib_attention;
mod contrib_fused;
mod contrib_gelu;
mod contrib_normalization;
mod conv;
mod conv_transpose;
mod cumulative;
mod deform_conv;
mod depth_to_space;
mod dequantize_linear;
mod dft;
mod direct;
mod dropout;
mod dynamic_quantize_linear;
mod einsum;
mod eye_like;
mod flatten;
mod gather;
mod gather_block_quantized;
mod gemm;
mod grid_sample;
mod group_normalization;
mod is_inf;
mod layer_normalization;
mod linear_attention;
mod loss;
mod lp_pool;
mod lrn;
mod matmul_nbits;
mod max_unpool;
mod mean_variance_normalization;
mod non_max_suppression;
mod one_hot;
mod optional;
mod pad;
mod pool;
mod qlinear_concat;
mod qlinear_conv;
mod qlinear_matmul;
mod qlinear_pointwise;
mod qlinear_pool;
mod qlinear_softmax;
mod qonnx;
mod quantize_linear;
mod random;
mod range;
mod recurrent;
mod reduce;
mod reshape;
mod resize;
mod reverse_sequence;
mod roi_align;
mod rotary_embedding;
mod scatter;
mod shape;
mod shrink;
mod slice;
mod split;
mod squeeze;
mod stft;
mod swiglu;
mod tensor_scatter;
mod tile;
mod top_k;
mod transpose;
mod trilu;
mod unary;
mod upsample;
mod variadic;
mod window_function;

use std::borrow::Cow;

use npukit_graph::ValueId;

use super::context::Context;
use super::error::Reason;
use super::proto::NodeProto;

/// Function that translates one node.
pub(super) type Handler = fn(&mut Context<'_>) -> Result<Vec<ValueId>, Reason>;

macro_rules! operators {
    ($($module:ident: $($name:literal),+;)*) => {
        /// Handlers by operator name.
        const HANDLERS: &[(&str, Handler)] = &[$($(($name, $module::translate)),+),*];
    };
}

operators! {
    affine_grid: "AffineGrid";
    attention: "Attention", "ai.onnx.preview::FlexAttention";
    batch_normalization: "BatchNormalization";
    bitwise: "BitShift", "BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor";
    by_value: "Compress", "NonZero", "Unique";
    cast: "Cast", "CastLike";
    causal_conv: "CausalConvWithState";
    center_crop_pad: "CenterCropPad";
    clip: "Clip";
    col2im: "Col2Im";
    concat: "Concat";
    constant: "Constant";
    constant_of_shape: "ConstantOfShape";
    contrib_attention: "com.microsoft::Attention", "com.microsoft::GroupQueryAttention", "com.microsoft::MultiHeadAttention",
        "com.microsoft::QAttention", "com.microsoft::RotaryEmbedding";
    contrib_fused: "com.microsoft::FusedConv", "com.microsoft::FusedGemm", "com.microsoft::FusedMatMul";
    contrib_gelu: "com.microsoft::BiasGelu", "com.microsoft::FastGelu", "com.microsoft::Gelu", "com.microsoft::QuickGelu";
    contrib_normalization: "com.microsoft::EmbedLayerNormalization", "com.microsoft::SkipLayerNormalization",
        "com.microsoft::SkipSimplifiedLayerNormalization";
    conv: "Conv";
    conv_transpose: "ConvTranspose";
    cumulative: "CumProd", "CumSum";
    deform_conv: "DeformConv";
    depth_to_space: "DepthToSpace", "SpaceToDepth";
    dequantize_linear: "DequantizeLinear", "com.microsoft::DequantizeLinear";
    dft: "DFT";
    direct: "Add", "And", "ArgMax", "ArgMin", "BitCast", "Det", "Div", "Equal", "Greater", "GreaterOrEqual", "IsNaN",
        "LeakyRelu", "Less", "LessOrEqual", "LogSoftmax", "LpNormalization", "MatMul", "Mod", "Mul", "Or", "PRelu",
        "Pow", "RMSNormalization", "Relu", "SimplifiedLayerNormalization", "Softmax", "Sub", "Where", "Xor";
    dropout: "Dropout";
    dynamic_quantize_linear: "DynamicQuantizeLinear";
    einsum: "Einsum";
    eye_like: "EyeLike";
    flatten: "Flatten";
    gather: "Gather", "GatherElements", "GatherND";
    gather_block_quantized: "com.microsoft::GatherBlockQuantized";
    gemm: "Gemm";
    grid_sample: "GridSample";
    group_normalization: "GroupNormalization";
    is_inf: "IsInf";
    layer_normalization: "LayerNormalization";
    linear_attention: "LinearAttention";
    loss: "NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss";
    lp_pool: "GlobalLpPool", "LpPool";
    lrn: "InstanceNormalization", "LRN";
    matmul_nbits: "com.microsoft::MatMulNBits";
    max_unpool: "MaxUnpool";
    mean_variance_normalization: "MeanVarianceNormalization";
    non_max_suppression: "NonMaxSuppression";
    one_hot: "Hardmax", "OneHot";
    optional: "Identity", "OptionalGetElement", "OptionalHasElement";
    pad: "Pad";
    pool: "AveragePool", "GlobalAveragePool", "GlobalMaxPool", "MaxPool";
    qlinear_concat: "com.microsoft::QLinearConcat";
    qlinear_conv: "ConvInteger", "QLinearConv";
    qlinear_matmul: "MatMulInteger", "QLinearMatMul", "com.microsoft::DynamicQuantizeMatMul",
        "com.microsoft::MatMulIntegerToFloat", "com.microsoft::QGemm";
    qlinear_pointwise: "com.microsoft::QLinearAdd", "com.microsoft::QLinearLeakyRelu", "com.microsoft::QLinearMul",
        "com.microsoft::QLinearSigmoid";
    qlinear_pool: "com.microsoft::QLinearAveragePool", "com.microsoft::QLinearGlobalAveragePool";
    qlinear_softmax: "com.microsoft::QLinearSoftmax";
    qonnx: "finn.custom_op.general::BipolarQuant", "finn.custom_op.general::Quant", "finn.custom_op.general::Trunc",
        "onnx.brevitas::BipolarQuant", "onnx.brevitas::Quant", "onnx.brevitas::Trunc",
        "qonnx.custom_op.general::BipolarQuant", "qonnx.custom_op.general::IntQuant", "qonnx.custom_op.general::Quant",
        "qonnx.custom_op.general::Trunc";
    quantize_linear: "QuantizeLinear", "com.microsoft::QuantizeLinear";
    random: "Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike";
    range: "Range";
    recurrent: "GRU", "LSTM", "RNN", "com.microsoft::DynamicQuantizeLSTM";
    reduce: "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin",
        "ReduceProd", "ReduceSum", "ReduceSumSquare";
    reshape: "Reshape";
    resize: "Resize";
    reverse_sequence: "ReverseSequence";
    roi_align: "RoiAlign";
    rotary_embedding: "RotaryEmbedding";
    scatter: "Scatter", "ScatterElements", "ScatterND";
    shape: "Shape", "Size";
    shrink: "Shrink";
    slice: "Slice";
    split: "Split";
    squeeze: "Squeeze", "Unsqueeze";
    stft: "STFT";
    swiglu: "SwiGLU";
    tensor_scatter: "TensorScatter";
    tile: "Expand", "Tile";
    top_k: "TopK";
    transpose: "Transpose";
    trilu: "Trilu";
    unary: "Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Ceil", "Celu", "Cos", "Cosh", "Elu", "Erf",
        "Exp", "Floor", "Gelu", "HardSigmoid", "HardSwish", "Log", "Mish", "Neg", "Not", "Reciprocal", "Round",
        "Selu", "Sigmoid", "Sign", "Sin", "Sinh", "Softplus", "Softsign", "Sqrt", "Swish", "Tan", "Tanh",
        "ThresholdedRelu";
    upsample: "Upsample";
    variadic: "Max", "Mean", "Min", "Sum";
    window_function: "BlackmanWindow", "HammingWindow", "HannWindow", "MelWeightMatrix";
}

/// Returns the handler of a node, or `None` if its operator is not supported.
pub(super) fn handler(node: &NodeProto) -> Option<Handler> {
    let wanted = qualified(node);
    HANDLERS.iter().find(|(name, _)| *name == wanted).map(|&(_, handler)| handler)
}

/// Name of the operator, with its domain unless it is a standard operator.
pub(super) fn qualified(node: &NodeProto) -> Cow<'_, str> {
    match node.domain.as_str() {
        "" | "ai.onnx" => Cow::Borrowed(&node.op_type),
        domain => Cow::Owned(format!("{domain}::{}", node.op_type)),
    }
}

/// Operators on sequences.
const SEQUENCES: [&str; 8] = [
    "ConcatFromSequence",
    "SequenceAt",
    "SequenceConstruct",
    "SequenceEmpty",
    "SequenceErase",
    "SequenceInsert",
    "SequenceLength",
    "SplitToSequence",
];

/// Whether the node takes or returns a sequence.
pub(super) fn is_of_sequences(node: &NodeProto) -> bool {
    matches!(node.domain.as_str(), "" | "ai.onnx") && SEQUENCES.contains(&node.op_type.as_str())
}

/// Names of all operators, in alphabetical order.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    // The importer translates nodes with graphs and sequences itself.
    let others = ["If", "Loop", "Scan"].into_iter().chain(SEQUENCES);
    let mut names: Vec<&'static str> = HANDLERS.iter().map(|&(name, _)| name).chain(others).collect();
    names.sort_unstable();
    names.into_iter()
}
