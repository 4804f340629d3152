//! Protobuf messages of an ONNX file, declared manually for the fields we read.
//!
//! The root is [`ModelProto`]. The decoder skips fields that are not declared here. Subgraphs and
//! other refused values are kept as undecoded bytes, so that decoding never recurses with the file.
//! Source: `onnx.proto` of the ONNX project, IR version 13.

/// A model: a graph and the operator sets it uses.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ModelProto {
    /// Version of the file format.
    #[prost(int64, tag = "1")]
    pub ir_version: i64,
    /// Graph of the model.
    #[prost(message, optional, tag = "7")]
    pub graph: Option<GraphProto>,
    /// Operator sets, one per domain.
    #[prost(message, repeated, tag = "8")]
    pub opset_import: Vec<OperatorSetIdProto>,
    /// Functions that nodes may call.
    #[prost(message, repeated, tag = "25")]
    pub functions: Vec<FunctionProto>,
}

/// A function: nodes that replace a call.
#[derive(Clone, PartialEq, prost::Message)]
pub struct FunctionProto {
    /// Name of the operator that calls it.
    #[prost(string, tag = "1")]
    pub name: String,
    /// Names of the operands within it.
    #[prost(string, repeated, tag = "4")]
    pub input: Vec<String>,
    /// Names of the results within it.
    #[prost(string, repeated, tag = "5")]
    pub output: Vec<String>,
    /// Names of attributes that have no default.
    #[prost(string, repeated, tag = "6")]
    pub attribute: Vec<String>,
    /// Nodes of the function.
    #[prost(message, repeated, tag = "7")]
    pub node: Vec<NodeProto>,
    /// Operator sets, one per domain.
    #[prost(message, repeated, tag = "9")]
    pub opset_import: Vec<OperatorSetIdProto>,
    /// Domain of the operator.
    #[prost(string, tag = "10")]
    pub domain: String,
    /// Attributes with their defaults.
    #[prost(message, repeated, tag = "11")]
    pub attribute_proto: Vec<AttributeProto>,
    /// Distinguishes functions with the same name.
    #[prost(string, tag = "13")]
    pub overload: String,
}

/// Version of a domain's operators.
#[derive(Clone, PartialEq, prost::Message)]
pub struct OperatorSetIdProto {
    /// Domain; empty or `ai.onnx` for the standard.
    #[prost(string, tag = "1")]
    pub domain: String,
    /// Version of the operator set.
    #[prost(int64, tag = "2")]
    pub version: i64,
}

/// A graph: nodes, tensors stored in the file, inputs and outputs.
#[derive(Clone, PartialEq, prost::Message)]
pub struct GraphProto {
    /// Nodes. The standard requires producers first.
    #[prost(message, repeated, tag = "1")]
    pub node: Vec<NodeProto>,
    /// Name of the graph.
    #[prost(string, tag = "2")]
    pub name: String,
    /// Tensors held by the file.
    #[prost(message, repeated, tag = "5")]
    pub initializer: Vec<TensorProto>,
    /// Inputs. Before IR version 4, the initializers are listed here too.
    #[prost(message, repeated, tag = "11")]
    pub input: Vec<ValueInfoProto>,
    /// Outputs of the graph.
    #[prost(message, repeated, tag = "12")]
    pub output: Vec<ValueInfoProto>,
    /// Sparse tensors of the file, which are detected and refused.
    #[prost(message, repeated, tag = "15")]
    pub sparse_initializer: Vec<SparseTensorProto>,
}

/// A sparse tensor, with only the fields that naming it needs.
#[derive(Clone, PartialEq, prost::Message)]
pub struct SparseTensorProto {
    /// Nonzero values; their tensor has the name.
    #[prost(message, optional, tag = "1")]
    pub values: Option<TensorProto>,
}

/// One operator applied to values.
#[derive(Clone, PartialEq, prost::Message)]
pub struct NodeProto {
    /// Names of the operands; an empty name is an absent optional operand.
    #[prost(string, repeated, tag = "1")]
    pub input: Vec<String>,
    /// Names of the results; an empty name is a result that is not wanted.
    #[prost(string, repeated, tag = "2")]
    pub output: Vec<String>,
    /// Name of the node; may be empty.
    #[prost(string, tag = "3")]
    pub name: String,
    /// Name of the operator.
    #[prost(string, tag = "4")]
    pub op_type: String,
    /// Attributes of the node.
    #[prost(message, repeated, tag = "5")]
    pub attribute: Vec<AttributeProto>,
    /// Domain of the operator; empty or `ai.onnx` for the standard's own.
    #[prost(string, tag = "7")]
    pub domain: String,
    /// Distinguishes functions with the same name.
    #[prost(string, tag = "8")]
    pub overload: String,
}

/// A named attribute. `type` determines which value field is set.
#[derive(Clone, PartialEq, prost::Message)]
pub struct AttributeProto {
    /// Name of the attribute.
    #[prost(string, tag = "1")]
    pub name: String,
    /// Value of a FLOAT attribute.
    #[prost(float, optional, tag = "2")]
    pub f: Option<f32>,
    /// Value of an INT attribute.
    #[prost(int64, optional, tag = "3")]
    pub i: Option<i64>,
    /// Value of a STRING attribute.
    #[prost(bytes = "vec", optional, tag = "4")]
    pub s: Option<Vec<u8>>,
    /// Value of a TENSOR attribute.
    #[prost(message, optional, boxed, tag = "5")]
    pub t: Option<Box<TensorProto>>,
    /// Value of a GRAPH attribute, undecoded.
    #[prost(bytes = "vec", optional, tag = "6")]
    pub g: Option<Vec<u8>>,
    /// Values of a FLOATS attribute.
    #[prost(float, repeated, tag = "7")]
    pub floats: Vec<f32>,
    /// Values of an INTS attribute.
    #[prost(int64, repeated, tag = "8")]
    pub ints: Vec<i64>,
    /// Values of a STRINGS attribute.
    #[prost(bytes = "vec", repeated, tag = "9")]
    pub strings: Vec<Vec<u8>>,
    /// Values of a GRAPHS attribute, undecoded.
    #[prost(bytes = "vec", repeated, tag = "11")]
    pub graphs: Vec<Vec<u8>>,
    /// Determines which field holds the value: a code of [`attribute_type`]; 0 in very old files.
    #[prost(int32, tag = "20")]
    pub r#type: i32,
    /// Name of the calling function's attribute that provides the value. Only set inside functions.
    #[prost(string, tag = "21")]
    pub ref_attr_name: String,
}

/// Codes of [`AttributeProto::type`](AttributeProto).
#[allow(missing_docs, reason = "the names are from the ONNX enumeration")]
pub mod attribute_type {
    pub const FLOAT: i32 = 1;
    pub const INT: i32 = 2;
    pub const STRING: i32 = 3;
    pub const TENSOR: i32 = 4;
    pub const GRAPH: i32 = 5;
    pub const FLOATS: i32 = 6;
    pub const INTS: i32 = 7;
    pub const STRINGS: i32 = 8;
    pub const GRAPHS: i32 = 10;
}

/// A tensor: dimensions, element type and elements in `raw_data` or a typed field.
#[derive(Clone, PartialEq, prost::Message)]
pub struct TensorProto {
    /// Sizes, outermost axis first.
    #[prost(int64, repeated, tag = "1")]
    pub dims: Vec<i64>,
    /// Element type: a code of [`data_type`].
    #[prost(int32, tag = "2")]
    pub data_type: i32,
    /// Segment of a larger tensor, undecoded; detected and refused.
    #[prost(bytes = "vec", optional, tag = "3")]
    pub segment: Option<Vec<u8>>,
    /// Elements of FLOAT tensors.
    #[prost(float, repeated, tag = "4")]
    pub float_data: Vec<f32>,
    /// Elements of INT32, BOOL and narrower types. Elements of 16, 8 and 6 bits are stored one per
    /// entry; elements of 4 and 2 bits are packed into bytes; floats are stored as their bits.
    #[prost(int32, repeated, tag = "5")]
    pub int32_data: Vec<i32>,
    /// Elements of INT64 tensors.
    #[prost(int64, repeated, tag = "7")]
    pub int64_data: Vec<i64>,
    /// Name of the tensor.
    #[prost(string, tag = "8")]
    pub name: String,
    /// Elements as little-endian bytes.
    #[prost(bytes = "vec", optional, tag = "9")]
    pub raw_data: Option<Vec<u8>>,
    /// Elements of DOUBLE tensors.
    #[prost(double, repeated, tag = "10")]
    pub double_data: Vec<f64>,
    /// Elements of UINT64 and UINT32 tensors.
    #[prost(uint64, repeated, tag = "11")]
    pub uint64_data: Vec<u64>,
    /// Location of elements in another file: `location`, `offset` and `length`.
    #[prost(message, repeated, tag = "13")]
    pub external_data: Vec<StringStringEntryProto>,
    /// 1 if the elements are in another file.
    #[prost(int32, tag = "14")]
    pub data_location: i32,
}

/// Codes of [`TensorProto::data_type`].
#[allow(missing_docs, reason = "the names are from the ONNX enumeration")]
pub mod data_type {
    pub const FLOAT: i32 = 1;
    pub const UINT8: i32 = 2;
    pub const INT8: i32 = 3;
    pub const UINT16: i32 = 4;
    pub const INT16: i32 = 5;
    pub const INT32: i32 = 6;
    pub const INT64: i32 = 7;
    pub const STRING: i32 = 8;
    pub const BOOL: i32 = 9;
    pub const FLOAT16: i32 = 10;
    pub const DOUBLE: i32 = 11;
    pub const UINT32: i32 = 12;
    pub const UINT64: i32 = 13;
    pub const COMPLEX64: i32 = 14;
    pub const COMPLEX128: i32 = 15;
    pub const BFLOAT16: i32 = 16;
    pub const FLOAT8E4M3FN: i32 = 17;
    pub const FLOAT8E4M3FNUZ: i32 = 18;
    pub const FLOAT8E5M2: i32 = 19;
    pub const FLOAT8E5M2FNUZ: i32 = 20;
    pub const UINT4: i32 = 21;
    pub const INT4: i32 = 22;
    pub const FLOAT4E2M1: i32 = 23;
    pub const FLOAT8E8M0: i32 = 24;
    pub const UINT2: i32 = 25;
    pub const INT2: i32 = 26;
    pub const FLOAT6E2M3: i32 = 27;
    pub const FLOAT6E3M2: i32 = 28;
}

/// A key and its value.
#[derive(Clone, PartialEq, prost::Message)]
pub struct StringStringEntryProto {
    /// Key of the entry.
    #[prost(string, tag = "1")]
    pub key: String,
    /// Value of the entry.
    #[prost(string, tag = "2")]
    pub value: String,
}

/// Name and type of a value.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ValueInfoProto {
    /// Name of the value.
    #[prost(string, tag = "1")]
    pub name: String,
    /// Type of the value.
    #[prost(message, optional, tag = "2")]
    pub r#type: Option<TypeProto>,
}

/// A type; only tensors are supported.
#[derive(Clone, PartialEq, prost::Message)]
pub struct TypeProto {
    /// Tensor type, if the value is a tensor.
    #[prost(message, optional, tag = "1")]
    pub tensor_type: Option<TensorTypeProto>,
}

/// The type of a tensor (`TypeProto.Tensor`).
#[derive(Clone, PartialEq, prost::Message)]
pub struct TensorTypeProto {
    /// Element type: a code of [`data_type`].
    #[prost(int32, tag = "1")]
    pub elem_type: i32,
    /// Shape; absent if the rank is unknown.
    #[prost(message, optional, tag = "2")]
    pub shape: Option<TensorShapeProto>,
}

/// A shape with possibly unknown dimensions.
#[derive(Clone, PartialEq, prost::Message)]
pub struct TensorShapeProto {
    /// Dimensions, outermost axis first.
    #[prost(message, repeated, tag = "1")]
    pub dim: Vec<DimensionProto>,
}

/// One dimension (`TensorShapeProto.Dimension`): a size, a name, or neither.
#[derive(Clone, PartialEq, prost::Message)]
pub struct DimensionProto {
    /// Size, if known.
    #[prost(int64, optional, tag = "1")]
    pub dim_value: Option<i64>,
    /// A name for the unknown size.
    #[prost(string, optional, tag = "2")]
    pub dim_param: Option<String>,
}
