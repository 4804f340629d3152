//! Protobuf messages of a frozen TensorFlow graph, declared manually for the fields we read.
//!
//! The root is [`GraphDef`]. The decoder skips fields that are not declared here. Functions and
//! other refused values are kept as undecoded bytes, so that decoding never recurses with the file.
//! Source: `graph.proto`, `node_def.proto`, `attr_value.proto`, `tensor.proto`,
//! `tensor_shape.proto` and `types.proto` of TensorFlow 2.15.

use std::collections::BTreeMap;

/// A graph: nodes in any order.
#[derive(Clone, PartialEq, prost::Message)]
pub struct GraphDef {
    /// Nodes of the graph.
    #[prost(message, repeated, tag = "1")]
    pub node: Vec<NodeDef>,
}

/// An operator applied to results of other nodes.
#[derive(Clone, PartialEq, prost::Message)]
pub struct NodeDef {
    /// Name of the node, unique in the graph.
    #[prost(string, tag = "1")]
    pub name: String,
    /// Name of the operator.
    #[prost(string, tag = "2")]
    pub op: String,
    /// Operands: `node` or `node:1` for a result, then `^node` for a control dependency.
    #[prost(string, repeated, tag = "3")]
    pub input: Vec<String>,
    /// Attributes by name. Attributes at their defaults may be omitted.
    #[prost(btree_map = "string, message", tag = "5")]
    pub attr: BTreeMap<String, AttrValue>,
}

/// The value of an attribute.
#[derive(Clone, PartialEq, prost::Message)]
pub struct AttrValue {
    /// Value; absent for an empty message.
    #[prost(oneof = "Attr", tags = "1, 2, 3, 4, 5, 6, 7, 8, 9, 10")]
    pub value: Option<Attr>,
}

/// Kinds of attribute values.
#[derive(Clone, PartialEq, prost::Oneof)]
pub enum Attr {
    /// Several values of one kind.
    #[prost(message, tag = "1")]
    List(ListValue),
    /// A string.
    #[prost(bytes = "vec", tag = "2")]
    S(Vec<u8>),
    /// A 64-bit integer.
    #[prost(int64, tag = "3")]
    I(i64),
    /// A 32-bit float.
    #[prost(float, tag = "4")]
    F(f32),
    /// A truth value.
    #[prost(bool, tag = "5")]
    B(bool),
    /// An element type: a code of TensorFlow's `DataType`.
    #[prost(int32, tag = "6")]
    Type(i32),
    /// A tensor shape.
    #[prost(message, tag = "7")]
    Shape(TensorShapeProto),
    /// A constant tensor.
    #[prost(message, boxed, tag = "8")]
    Tensor(Box<TensorProto>),
    /// A parameter of the enclosing function; only inside functions.
    #[prost(string, tag = "9")]
    Placeholder(String),
    /// A function, undecoded.
    #[prost(bytes = "vec", tag = "10")]
    Func(Vec<u8>),
}

/// Several values of one kind.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ListValue {
    /// Values of a list of strings.
    #[prost(bytes = "vec", repeated, tag = "2")]
    pub s: Vec<Vec<u8>>,
    /// Values of a list of integers.
    #[prost(int64, repeated, tag = "3")]
    pub i: Vec<i64>,
    /// Values of a list of floats.
    #[prost(float, repeated, tag = "4")]
    pub f: Vec<f32>,
}

/// A tensor: element type, shape, and elements as bytes or in the list of their type.
#[derive(Clone, PartialEq, prost::Message)]
pub struct TensorProto {
    /// Element type: a code of TensorFlow's `DataType`.
    #[prost(int32, tag = "1")]
    pub dtype: i32,
    /// Shape; absent for a scalar.
    #[prost(message, optional, tag = "2")]
    pub tensor_shape: Option<TensorShapeProto>,
    /// All elements as little-endian bytes. If empty, one of the lists below holds them.
    #[prost(bytes = "vec", tag = "4")]
    pub tensor_content: Vec<u8>,
    /// Elements of DT_FLOAT. In all lists, the last element is repeated for missing ones.
    #[prost(float, repeated, tag = "5")]
    pub float_val: Vec<f32>,
    /// Elements of DT_DOUBLE.
    #[prost(double, repeated, tag = "6")]
    pub double_val: Vec<f64>,
    /// Elements of DT_INT32, DT_INT16, DT_UINT16, DT_INT8, DT_UINT8.
    #[prost(int32, repeated, tag = "7")]
    pub int_val: Vec<i32>,
    /// Elements of DT_INT64.
    #[prost(int64, repeated, tag = "10")]
    pub int64_val: Vec<i64>,
    /// Elements of DT_BOOL.
    #[prost(bool, repeated, tag = "11")]
    pub bool_val: Vec<bool>,
    /// Elements of DT_HALF and DT_BFLOAT16, as their bits.
    #[prost(int32, repeated, tag = "13")]
    pub half_val: Vec<i32>,
    /// Elements of DT_UINT32.
    #[prost(uint32, repeated, tag = "16")]
    pub uint32_val: Vec<u32>,
    /// Elements of DT_UINT64.
    #[prost(uint64, repeated, tag = "17")]
    pub uint64_val: Vec<u64>,
    /// Elements of DT_FLOAT8_E5M2 and DT_FLOAT8_E4M3FN, as their bits.
    #[prost(bytes = "vec", tag = "18")]
    pub float8_val: Vec<u8>,
}

/// A shape with possibly unknown dimensions.
#[derive(Clone, PartialEq, prost::Message)]
pub struct TensorShapeProto {
    /// Dimensions, outermost axis first.
    #[prost(message, repeated, tag = "2")]
    pub dim: Vec<Dim>,
    /// Whether the rank is unknown.
    #[prost(bool, tag = "3")]
    pub unknown_rank: bool,
}

/// One dimension (`TensorShapeProto.Dim`).
#[derive(Clone, PartialEq, prost::Message)]
pub struct Dim {
    /// Size; -1 if it is unknown.
    #[prost(int64, tag = "1")]
    pub size: i64,
}
