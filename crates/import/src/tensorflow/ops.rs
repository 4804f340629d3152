//! Translation of the operators: one file per operator, with a `mod` line and a line in the list
//! below.
//!
//! A handler reads its node through [`Context`], adds to the graph, and returns the node's
//! supported results in order. Attributes and operands that it does not read are reported.

mod add_n;
mod arg_max;
mod batch_matmul;
mod batch_normalization;
mod batch_to_space;
mod bias_add;
mod binary;
mod broadcast_to;
mod bucketize;
mod by_value;
mod cast;
mod clip;
mod compare;
mod composed;
mod concat;
mod constant;
mod conv;
mod conv_transpose;
mod depth_to_space;
mod depthwise_conv;
mod div_no_nan;
mod einsum;
mod expand_dims;
mod fake_quant;
mod fill;
mod floor_div;
mod gather;
mod identity;
mod is_finite;
mod leaky_relu;
mod logic;
mod lrn;
mod matmul;
mod matrix_diag;
mod max_pool_v2;
mod no_op;
mod one_hot;
mod pack;
mod pad;
mod placeholder;
mod pool;
mod pow;
mod range;
mod reduce;
mod relu;
mod resample;
mod reshape;
mod resize;
mod reverse;
mod scatter;
mod select;
mod shape;
mod slice;
mod softmax;
mod space_to_batch;
mod split;
mod squared_difference;
mod squeeze;
mod standard;
mod strided_slice;
mod tile;
mod top_k;
mod transpose;
mod unary;
mod unpack;
mod volume;

use npukit_graph::ValueId;

use super::context::Context;
use super::error::Reason;
use super::proto::NodeDef;

/// Adds the operators of one node to the graph and returns its results.
pub(super) type Handler = fn(&mut Context<'_>) -> Result<Vec<ValueId>, Reason>;

macro_rules! operators {
    ($($module:ident: $($name:literal),+;)*) => {
        /// Handlers by operator name.
        const HANDLERS: &[(&str, Handler)] = &[$($(($name, $module::translate)),+),*];
    };
}

operators! {
    add_n: "AddN", "AccumulateNV2";
    arg_max: "ArgMax", "ArgMin";
    batch_matmul: "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3";
    batch_normalization: "FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3";
    batch_to_space: "BatchToSpace", "BatchToSpaceND";
    bias_add: "BiasAdd", "BiasAddV1";
    binary: "Add", "AddV2", "Div", "FloorMod", "Maximum", "Minimum", "Mod", "Mul", "RealDiv", "Sub",
        "TruncateDiv", "TruncateMod";
    broadcast_to: "BroadcastTo";
    bucketize: "Bucketize";
    by_value: "Unique", "UniqueV2", "Where";
    cast: "Cast";
    clip: "ClipByValue";
    compare: "Equal", "Greater", "GreaterEqual", "Less", "LessEqual", "NotEqual";
    composed: "Erfc", "Log1p", "Rsqrt", "Square";
    concat: "Concat", "ConcatV2";
    constant: "Const";
    conv: "Conv2D";
    conv_transpose: "Conv2DBackpropInput";
    depth_to_space: "DepthToSpace", "SpaceToDepth";
    depthwise_conv: "DepthwiseConv2dNative";
    div_no_nan: "DivNoNan", "MulNoNan";
    einsum: "Einsum";
    expand_dims: "ExpandDims";
    fake_quant: "FakeQuantWithMinMaxArgs", "FakeQuantWithMinMaxVars", "FakeQuantWithMinMaxVarsPerChannel";
    fill: "Fill", "OnesLike", "ZerosLike";
    floor_div: "FloorDiv";
    gather: "Gather", "GatherV2";
    identity: "CheckNumerics", "EnsureShape", "Identity", "IdentityN", "PreventGradient", "ReadVariableOp",
        "Snapshot", "StopGradient";
    is_finite: "IsFinite";
    leaky_relu: "LeakyRelu";
    logic: "LogicalAnd", "LogicalOr";
    lrn: "LRN";
    matmul: "MatMul";
    matrix_diag: "MatrixDiag", "MatrixDiagV2", "MatrixDiagV3", "MatrixSetDiag", "MatrixSetDiagV2", "MatrixSetDiagV3";
    max_pool_v2: "MaxPoolV2";
    no_op: "NoOp";
    one_hot: "OneHot";
    pack: "Pack";
    pad: "MirrorPad", "Pad", "PadV2";
    placeholder: "Placeholder", "PlaceholderV2", "PlaceholderWithDefault";
    pool: "AvgPool", "MaxPool";
    pow: "Pow";
    range: "Range";
    reduce: "All", "Any", "Max", "Mean", "Min", "Prod", "Sum";
    relu: "Relu", "Relu6";
    resample: "ResizeArea", "ResizeBicubic";
    reshape: "Reshape";
    resize: "ResizeBilinear", "ResizeNearestNeighbor";
    reverse: "ReverseV2", "Roll";
    scatter: "ScatterNd", "SegmentSum", "UnsortedSegmentMax", "UnsortedSegmentMin", "UnsortedSegmentProd",
        "UnsortedSegmentSum";
    select: "Select", "SelectV2";
    shape: "Rank", "Shape", "ShapeN", "Size";
    slice: "Slice";
    softmax: "LogSoftmax", "Softmax";
    space_to_batch: "SpaceToBatch", "SpaceToBatchND";
    split: "Split", "SplitV";
    squared_difference: "SquaredDifference";
    squeeze: "Squeeze";
    standard: "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Cumprod", "Cumsum", "GatherNd", "Invert", "IsInf", "IsNan",
        "ReverseSequence", "TensorScatterAdd", "TensorScatterMax", "TensorScatterMin", "TensorScatterUpdate";
    strided_slice: "StridedSlice";
    tile: "Tile";
    top_k: "TopK", "TopKV2";
    transpose: "Transpose";
    unary: "Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Ceil", "Cos", "Cosh", "Elu", "Erf", "Exp",
        "Floor", "Inv", "Log", "LogicalNot", "Neg", "Reciprocal", "Rint", "Round", "Selu", "Sigmoid", "Sign",
        "Sin", "Sinh", "Softplus", "Softsign", "Sqrt", "Tan", "Tanh";
    unpack: "Unpack";
    volume: "AvgPool3D", "Conv3D", "Conv3DBackpropInputV2", "MaxPool3D";
}

/// Returns the handler of a node, or `None` if its operator is not supported.
pub(super) fn handler(node: &NodeDef) -> Option<Handler> {
    HANDLERS.iter().find(|(name, _)| *name == node.op).map(|&(_, handler)| handler)
}

/// Names of all operators, in alphabetical order.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    let others = FLOW.into_iter().chain(LISTS);
    let mut names: Vec<&'static str> = HANDLERS.iter().map(|&(name, _)| name).chain(others).collect();
    names.sort_unstable();
    names.into_iter()
}

/// Whether the node belongs to conditions, loops or lists, which the importer translates itself.
pub(super) fn is_flow(node: &NodeDef) -> bool {
    let is_of_lists = LISTS.contains(&node.op.as_str());
    is_of_lists || FLOW.contains(&node.op.as_str())
}

/// Operators of conditions and loops.
const FLOW: [&str; 6] = ["Enter", "Exit", "LoopCond", "Merge", "NextIteration", "Switch"];

/// Operators on lists.
pub(super) const LISTS: [&str; 9] = [
    "EmptyTensorList",
    "TensorListFromTensor",
    "TensorListGather",
    "TensorListGetItem",
    "TensorListLength",
    "TensorListPushBack",
    "TensorListReserve",
    "TensorListSetItem",
    "TensorListStack",
];

/// Whether the node is an input of the graph.
pub(super) fn is_placeholder(node: &NodeDef) -> bool {
    matches!(node.op.as_str(), "Placeholder" | "PlaceholderV2" | "PlaceholderWithDefault")
}

/// Whether the node cannot be an output: it does not compute anything, or it is an input.
pub(super) fn has_no_outcome(node: &NodeDef) -> bool {
    is_placeholder(node) || matches!(node.op.as_str(), "Assert" | "Const" | "ControlTrigger" | "NoOp")
}
