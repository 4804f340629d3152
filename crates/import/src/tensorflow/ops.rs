//! Translation of the operators. One that the graph also has is an arm of `direct`. One that equals
//! an ONNX operator has a row in `standard`. The others have a file each, with a `mod` line and a
//! line in the list below.
//!
//! A handler reads its node through [`Context`], adds to the graph, and returns the node's
//! supported results in order. Attributes and operands that it does not read are reported.

mod add_n;
mod arg_max;
mod batch_matmul;
mod batch_normalization;
mod batch_to_space;
mod bias_add;
mod broadcast_to;
mod bucketize;
mod by_value;
mod cast;
mod compare;
mod composed;
mod concat;
mod constant;
mod conv;
mod conv_transpose;
mod depth_to_space;
mod depthwise_conv;
mod direct;
mod einsum;
mod expand_dims;
mod fake_quant;
mod fill;
mod gather;
mod identity;
mod lrn;
mod matmul;
mod matrix_diag;
mod one_hot;
mod pack;
mod pad;
mod placeholder;
mod pool;
mod range;
mod reduce;
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
mod squeeze;
mod standard;
mod strided_slice;
mod tile;
mod top_k;
mod transpose;
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
    broadcast_to: "BroadcastTo";
    bucketize: "Bucketize";
    by_value: "Unique", "UniqueV2", "Where";
    cast: "Cast";
    compare: "Equal", "Greater", "GreaterEqual", "Less", "LessEqual", "NotEqual";
    composed: "ClipByValue", "DivNoNan", "Erfc", "FloorDiv", "IsFinite", "Log1p", "MulNoNan", "Rsqrt", "Square",
        "SquaredDifference";
    concat: "Concat", "ConcatV2";
    constant: "Const";
    conv: "Conv2D";
    conv_transpose: "Conv2DBackpropInput";
    depth_to_space: "DepthToSpace", "SpaceToDepth";
    depthwise_conv: "DepthwiseConv2dNative";
    direct: "Abs", "Acos", "Acosh", "Add", "AddV2", "Asin", "Asinh", "Atan", "Atanh", "Ceil", "Cos", "Cosh", "Div",
        "Elu", "Erf", "Exp", "Floor", "FloorMod", "Inv", "LeakyRelu", "Log", "LogicalAnd", "LogicalNot", "LogicalOr",
        "Maximum", "Minimum", "Mod", "Mul", "Neg", "Pow", "RealDiv", "Reciprocal", "Relu", "Relu6", "Rint", "Round",
        "Selu", "Sigmoid", "Sign", "Sin", "Sinh", "Softplus", "Softsign", "Sqrt", "Sub", "Tan", "Tanh", "TruncateDiv",
        "TruncateMod";
    einsum: "Einsum";
    expand_dims: "ExpandDims";
    fake_quant: "FakeQuantWithMinMaxArgs", "FakeQuantWithMinMaxVars", "FakeQuantWithMinMaxVarsPerChannel";
    fill: "Fill", "OnesLike", "ZerosLike";
    gather: "Gather", "GatherV2";
    identity: "CheckNumerics", "EnsureShape", "Identity", "IdentityN", "NoOp", "PreventGradient", "ReadVariableOp",
        "Snapshot", "StopGradient";
    lrn: "LRN";
    matmul: "MatMul";
    matrix_diag: "MatrixDiag", "MatrixDiagV2", "MatrixDiagV3", "MatrixSetDiag", "MatrixSetDiagV2", "MatrixSetDiagV3";
    one_hot: "OneHot";
    pack: "Pack";
    pad: "MirrorPad", "Pad", "PadV2";
    placeholder: "Placeholder", "PlaceholderV2", "PlaceholderWithDefault";
    pool: "AvgPool", "MaxPool", "MaxPoolV2";
    range: "Range";
    reduce: "All", "Any", "Max", "Mean", "Min", "Prod", "Sum";
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
    squeeze: "Squeeze";
    standard: "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Cumprod", "Cumsum", "GatherNd", "Invert", "IsInf", "IsNan",
        "ReverseSequence", "TensorScatterAdd", "TensorScatterMax", "TensorScatterMin", "TensorScatterUpdate";
    strided_slice: "StridedSlice";
    tile: "Tile";
    top_k: "TopK", "TopKV2";
    transpose: "Transpose";
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
