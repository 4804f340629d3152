//! Operators that equal TensorFlow's. [`ROWS`] holds the names, and maps fields of the options to
//! attributes.

use npukit_graph::ValueId;
use npukit_numeric::ElementType;

use super::super::context::Context;
use crate::error::Reason;
use crate::node::unsupported;
use crate::tensorflow::proto::{Attr, ListValue};

/// Mapping of one operator.
pub(super) struct Row {
    /// Number of the operator in the schema.
    pub(super) code: i32,
    /// Name of the operator in the schema.
    pub(super) name: &'static str,
    /// Name of TensorFlow's operator.
    operator: &'static str,
    /// Attributes of TensorFlow's operator, with their sources.
    attributes: &'static [(&'static str, Field)],
    /// Field of the activation function of its result.
    activation: Option<usize>,
}

/// Source of an attribute: a field of the options with its default, or the type of the result.
enum Field {
    Int(usize),
    Flag(usize),
    Float(usize),
    Floats(usize),
    Ints(usize),
    Mirror(usize),
    Result,
}

use Field::{Flag, Float, Floats, Int, Ints, Mirror, Result as Kind};

const fn row(code: i32, name: &'static str, operator: &'static str) -> Row {
    Row { code, name, operator, attributes: &[], activation: None }
}

const fn with(
    code: i32,
    name: &'static str,
    operator: &'static str,
    attributes: &'static [(&'static str, Field)],
) -> Row {
    Row { attributes, ..row(code, name, operator) }
}

const fn active(code: i32, name: &'static str, operator: &'static str) -> Row {
    Row { activation: Some(0), ..row(code, name, operator) }
}

const KEEP: &[(&str, Field)] = &[("keep_dims", Flag(0))];

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    active(0, "ADD", "AddV2"),
    with(5, "DEPTH_TO_SPACE", "DepthToSpace", &[("block_size", Int(0))]),
    row(8, "FLOOR", "Floor"),
    with(13, "LOCAL_RESPONSE_NORMALIZATION", "LRN",
        &[("depth_radius", Int(0)), ("bias", Float(1)), ("alpha", Float(2)), ("beta", Float(3))]),
    row(14, "LOGISTIC", "Sigmoid"),
    active(18, "MUL", "Mul"),
    row(19, "RELU", "Relu"),
    row(21, "RELU6", "Relu6"),
    with(23, "RESIZE_BILINEAR", "ResizeBilinear", &[("align_corners", Flag(2)), ("half_pixel_centers", Flag(3))]),
    with(26, "SPACE_TO_DEPTH", "SpaceToDepth", &[("block_size", Int(0))]),
    row(28, "TANH", "Tanh"),
    row(34, "PAD", "Pad"),
    row(37, "BATCH_TO_SPACE_ND", "BatchToSpaceND"),
    row(38, "SPACE_TO_BATCH_ND", "SpaceToBatchND"),
    row(39, "TRANSPOSE", "Transpose"),
    with(40, "MEAN", "Mean", KEEP),
    active(41, "SUB", "Sub"),
    active(42, "DIV", "RealDiv"),
    with(43, "SQUEEZE", "Squeeze", &[("squeeze_dims", Ints(0))]),
    with(45, "STRIDED_SLICE", "StridedSlice",
        &[("begin_mask", Int(0)), ("end_mask", Int(1)), ("ellipsis_mask", Int(2)), ("new_axis_mask", Int(3)),
          ("shrink_axis_mask", Int(4))]),
    row(47, "EXP", "Exp"),
    row(48, "TOPK_V2", "TopKV2"),
    with(49, "SPLIT", "Split", &[("num_split", Int(0))]),
    row(50, "LOG_SOFTMAX", "LogSoftmax"),
    row(55, "MAXIMUM", "Maximum"),
    with(56, "ARG_MAX", "ArgMax", &[("output_type", Kind)]),
    row(57, "MINIMUM", "Minimum"),
    row(58, "LESS", "Less"),
    row(59, "NEG", "Neg"),
    row(60, "PADV2", "PadV2"),
    row(61, "GREATER", "Greater"),
    row(62, "GREATER_EQUAL", "GreaterEqual"),
    row(63, "LESS_EQUAL", "LessEqual"),
    row(64, "SELECT", "Select"),
    row(65, "SLICE", "Slice"),
    row(66, "SIN", "Sin"),
    row(69, "TILE", "Tile"),
    row(70, "EXPAND_DIMS", "ExpandDims"),
    row(71, "EQUAL", "Equal"),
    row(72, "NOT_EQUAL", "NotEqual"),
    row(73, "LOG", "Log"),
    with(74, "SUM", "Sum", KEEP),
    row(75, "SQRT", "Sqrt"),
    row(76, "RSQRT", "Rsqrt"),
    with(77, "SHAPE", "Shape", &[("out_type", Kind)]),
    row(78, "POW", "Pow"),
    with(79, "ARG_MIN", "ArgMin", &[("output_type", Kind)]),
    with(80, "FAKE_QUANT", "FakeQuantWithMinMaxArgs",
        &[("min", Float(0)), ("max", Float(1)), ("num_bits", Int(2)), ("narrow_range", Flag(3))]),
    with(81, "REDUCE_PROD", "Prod", KEEP),
    with(82, "REDUCE_MAX", "Max", KEEP),
    with(83, "PACK", "Pack", &[("axis", Int(1))]),
    row(84, "LOGICAL_OR", "LogicalOr"),
    with(85, "ONE_HOT", "OneHot", &[("axis", Int(0))]),
    row(86, "LOGICAL_AND", "LogicalAnd"),
    row(87, "LOGICAL_NOT", "LogicalNot"),
    with(88, "UNPACK", "Unpack", &[("num", Int(0)), ("axis", Int(1))]),
    with(89, "REDUCE_MIN", "Min", KEEP),
    row(90, "FLOOR_DIV", "FloorDiv"),
    with(91, "REDUCE_ANY", "Any", KEEP),
    row(92, "SQUARE", "Square"),
    row(93, "ZEROS_LIKE", "ZerosLike"),
    row(94, "FILL", "Fill"),
    row(95, "FLOOR_MOD", "FloorMod"),
    row(96, "RANGE", "Range"),
    with(97, "RESIZE_NEAREST_NEIGHBOR", "ResizeNearestNeighbor",
        &[("align_corners", Flag(0)), ("half_pixel_centers", Flag(1))]),
    with(98, "LEAKY_RELU", "LeakyRelu", &[("alpha", Float(0))]),
    row(99, "SQUARED_DIFFERENCE", "SquaredDifference"),
    with(100, "MIRROR_PAD", "MirrorPad", &[("mode", Mirror(0))]),
    row(101, "ABS", "Abs"),
    with(102, "SPLIT_V", "SplitV", &[("num_split", Int(0))]),
    row(103, "UNIQUE", "Unique"),
    row(104, "CEIL", "Ceil"),
    row(105, "REVERSE_V2", "ReverseV2"),
    row(106, "ADD_N", "AddN"),
    row(107, "GATHER_ND", "GatherNd"),
    row(108, "COS", "Cos"),
    row(109, "WHERE", "Where"),
    row(110, "RANK", "Rank"),
    row(111, "ELU", "Elu"),
    with(112, "REVERSE_SEQUENCE", "ReverseSequence", &[("seq_dim", Int(0)), ("batch_dim", Int(1))]),
    row(113, "MATRIX_DIAG", "MatrixDiag"),
    row(115, "MATRIX_SET_DIAG", "MatrixSetDiag"),
    row(116, "ROUND", "Round"),
    row(122, "SCATTER_ND", "ScatterNd"),
    row(123, "SELECT_V2", "SelectV2"),
    row(125, "SEGMENT_SUM", "SegmentSum"),
    with(126, "BATCH_MATMUL", "BatchMatMulV2", &[("adj_x", Flag(0)), ("adj_y", Flag(1))]),
    with(128, "CUMSUM", "Cumsum", &[("exclusive", Flag(0)), ("reverse", Flag(1))]),
    row(130, "BROADCAST_TO", "BroadcastTo"),
    with(140, "REDUCE_ALL", "All", KEEP),
    with(147, "BUCKETIZE", "Bucketize", &[("boundaries", Floats(0))]),
    row(153, "UNSORTED_SEGMENT_PROD", "UnsortedSegmentProd"),
    row(154, "UNSORTED_SEGMENT_MAX", "UnsortedSegmentMax"),
    row(155, "UNSORTED_SEGMENT_SUM", "UnsortedSegmentSum"),
    row(157, "UNSORTED_SEGMENT_MIN", "UnsortedSegmentMin"),
    row(158, "SIGN", "Sign"),
    row(160, "BITWISE_XOR", "BitwiseXor"),
];

/// Translates one operator of the file and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let unknown = || Reason::Operator { operator: context.op.to_owned() };
    let row = ROWS.iter().find(|row| row.name == context.op).ok_or_else(unknown)?;
    if row.name == "STRIDED_SLICE" && context.flag(5)? {
        return Err(unsupported("offset", true, "false: ends that are counted as begins are"));
    }
    let attributes = row.attributes.iter().map(|(name, field)| Ok((*name, attribute(context, field)?)));
    let attributes = attributes.collect::<Result<Vec<_>, Reason>>()?;
    let operands = context.all_operands();
    let results = context.tensorflow(row.operator, attributes, operands)?;
    let Some(field) = row.activation else { return Ok(results) };
    results.into_iter().map(|result| context.activated(result, field)).collect()
}

fn attribute(context: &Context<'_>, field: &Field) -> Result<Attr, Reason> {
    Ok(match *field {
        Int(field) => Attr::I(context.int(field, 0)?.into()),
        Flag(field) => Attr::B(context.flag(field)?),
        Float(field) => Attr::F(context.float(field, 0.0)?),
        Floats(field) => {
            let f = context.floats_of(field)?;
            Attr::List(ListValue { f, ..ListValue::default() })
        }
        Ints(field) => {
            let i = context.ints(field)?.into_iter().map(i64::from).collect();
            Attr::List(ListValue { i, ..ListValue::default() })
        }
        Mirror(field) => match context.code(field)? {
            0 => Attr::S(b"REFLECT".to_vec()),
            1 => Attr::S(b"SYMMETRIC".to_vec()),
            other => return Err(unsupported("mode", other, "REFLECT (0) or SYMMETRIC (1)")),
        },
        Kind => Attr::Type(type_code(context.result)?),
    })
}

/// TensorFlow's code of an element type.
fn type_code(element: ElementType) -> Result<i32, Reason> {
    Ok(match element {
        ElementType::F32 => 1,
        ElementType::F64 => 2,
        ElementType::I32 => 3,
        ElementType::U8 => 4,
        ElementType::I16 => 5,
        ElementType::I8 => 6,
        ElementType::I64 => 9,
        ElementType::Bool => 10,
        ElementType::U16 => 17,
        ElementType::F16 => 19,
        ElementType::U32 => 22,
        ElementType::U64 => 23,
        other => return Err(Reason::ElementType { name: other.name().to_owned() }),
    })
}
