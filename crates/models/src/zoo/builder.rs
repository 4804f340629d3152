//! [`Builder`]: ONNX messages, layer by layer.
//!
//! Layers are methods, in `builder/` by kind. Each takes [`Value`]s, which know their shape and
//! their [`Spread`], and gives one. A sketch has no weights: it only counts.

mod arithmetic;
mod attention;
mod conv;
mod dense;
mod normalisation;
mod pool;
mod shape;

use std::collections::BTreeMap;

use npukit_import::onnx::proto::{
    AttributeProto, DimensionProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto,
    TensorShapeProto, TensorTypeProto, TypeProto, ValueInfoProto, attribute_type, data_type,
};
use prost::Message;

pub(crate) use conv::Conv;
pub(crate) use pool::Window;

use crate::zoo::random::Random;
use crate::zoo::spread::Spread;

/// Version of the operators: the first with Gelu.
const OPSET: i64 = 20;
/// Version of the file format that came with it.
const IR_VERSION: i64 = 9;

/// How large a network is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Numbers that training finds; running statistics are not among them.
    pub parameters: u64,
    /// Multiply-accumulates, those on padding left out.
    pub macs: u64,
    /// The same with those on padding, as most publications count.
    pub padded_macs: u64,
    /// Convolutions and matrix products.
    pub layers: u64,
}

/// A value of the network.
#[derive(Clone, Debug)]
pub(crate) struct Value {
    name: String,
    pub(crate) shape: Vec<usize>,
    spread: Spread,
    /// Mean of each channel, where they differ and a normalisation is to take it away.
    offsets: Vec<f64>,
}

impl Value {
    /// Size of an axis; 1 for one that is not there.
    pub(crate) fn size(&self, axis: usize) -> usize {
        self.shape.get(axis).copied().unwrap_or(1)
    }
}

/// A network in the making.
pub(crate) struct Builder {
    graph: GraphProto,
    /// None for a sketch.
    seed: Option<u64>,
    counts: Counts,
    /// Nodes so far, by operator: they are numbered.
    nodes: BTreeMap<&'static str, usize>,
}

impl Builder {
    /// Makes weights for `seed`.
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            graph: GraphProto::default(),
            seed: Some(seed),
            counts: Counts::default(),
            nodes: BTreeMap::new(),
        }
    }

    /// Makes no weights.
    pub(crate) fn sketch() -> Self {
        Self { seed: None, ..Self::new(0) }
    }

    pub(crate) fn counts(&self) -> Counts {
        self.counts
    }

    /// The file.
    pub(crate) fn onnx(self, name: &str) -> Vec<u8> {
        let graph = GraphProto { name: name.to_owned(), ..self.graph };
        let opset = OperatorSetIdProto { domain: String::new(), version: OPSET };
        let model = ModelProto {
            ir_version: IR_VERSION,
            graph: Some(graph),
            opset_import: vec![opset],
            functions: Vec::new(),
        };
        model.encode_to_vec()
    }

    /// The network's input, of noise from -1 to 1.
    pub(crate) fn input(&mut self, name: &str, shape: &[usize]) -> Value {
        self.graph.input.push(value_info(name, shape));
        Value { name: name.to_owned(), shape: shape.to_vec(), spread: Spread::INPUT, offsets: Vec::new() }
    }

    /// Makes `value` an output.
    pub(crate) fn output(&mut self, value: &Value) {
        self.graph.output.push(value_info(&value.name, &value.shape));
    }

    /// A name for the next node of `operator`.
    fn name(&mut self, operator: &'static str) -> String {
        let number = self.nodes.entry(operator).or_default();
        *number += 1;
        format!("{}_{number}", operator.to_lowercase())
    }

    /// Adds the node called `name`; its result has its name too.
    fn node(
        &mut self,
        name: String,
        operator: &'static str,
        inputs: &[&str],
        attributes: Vec<AttributeProto>,
        (shape, spread): (Vec<usize>, Spread),
    ) -> Value {
        self.graph.node.push(NodeProto {
            input: inputs.iter().map(|&input| input.to_owned()).collect(),
            output: vec![name.clone()],
            name: name.clone(),
            op_type: operator.to_owned(),
            attribute: attributes,
            domain: String::new(),
            overload: String::new(),
        });
        Value { name, shape, spread, offsets: Vec::new() }
    }

    /// Numbers that training finds, `make` gives them; a sketch counts them only. Gives the name.
    fn weights(
        &mut self,
        name: String,
        shape: &[usize],
        make: impl FnOnce(&mut Random, usize) -> Vec<f32>,
    ) -> String {
        self.counts.parameters += shape.iter().product::<usize>() as u64;
        self.statistics(name, shape, make)
    }

    /// Numbers that training does not find.
    fn statistics(
        &mut self,
        name: String,
        shape: &[usize],
        make: impl FnOnce(&mut Random, usize) -> Vec<f32>,
    ) -> String {
        if let Some(seed) = self.seed {
            let values = make(&mut Random::new(seed, &name), shape.iter().product());
            let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
            self.tensor(&name, shape, data_type::FLOAT, bytes);
        }
        name
    }

    /// Whole numbers: shapes, sizes of pieces. Gives the name.
    fn integers(&mut self, name: String, values: &[i64]) -> String {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.tensor(&name, &[values.len()], data_type::INT64, bytes);
        name
    }

    /// Floats that belong to the operator. Gives the name.
    fn floats(&mut self, name: String, shape: &[usize], values: &[f32]) -> String {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.tensor(&name, shape, data_type::FLOAT, bytes);
        name
    }

    fn tensor(&mut self, name: &str, shape: &[usize], data_type: i32, bytes: Vec<u8>) {
        self.graph.initializer.push(TensorProto {
            dims: dims(shape),
            data_type,
            name: name.to_owned(),
            raw_data: Some(bytes),
            ..TensorProto::default()
        });
    }
}

fn dims(shape: &[usize]) -> Vec<i64> {
    shape.iter().map(|&size| size as i64).collect()
}

fn value_info(name: &str, shape: &[usize]) -> ValueInfoProto {
    let dimension = |size| DimensionProto { dim_value: Some(size), dim_param: None };
    let shape = TensorShapeProto { dim: dims(shape).into_iter().map(dimension).collect() };
    let tensor_type = Some(TensorTypeProto { elem_type: data_type::FLOAT, shape: Some(shape) });
    ValueInfoProto { name: name.to_owned(), r#type: Some(TypeProto { tensor_type }) }
}

fn integer(name: &str, value: i64) -> AttributeProto {
    let name = name.to_owned();
    AttributeProto { name, i: Some(value), r#type: attribute_type::INT, ..AttributeProto::default() }
}

fn integers(name: &str, values: &[usize]) -> AttributeProto {
    let (name, ints) = (name.to_owned(), dims(values));
    AttributeProto { name, ints, r#type: attribute_type::INTS, ..AttributeProto::default() }
}

fn float(name: &str, value: f32) -> AttributeProto {
    let name = name.to_owned();
    AttributeProto { name, f: Some(value), r#type: attribute_type::FLOAT, ..AttributeProto::default() }
}

fn text(name: &str, value: &str) -> AttributeProto {
    let (name, s) = (name.to_owned(), Some(value.as_bytes().to_vec()));
    AttributeProto { name, s, r#type: attribute_type::STRING, ..AttributeProto::default() }
}
