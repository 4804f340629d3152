//! [`Net`]: builds an ONNX file node by node, with pseudo-random constants.

use npukit_import::onnx::proto::{
    AttributeProto, DimensionProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto,
    TensorShapeProto, TensorTypeProto, TypeProto, ValueInfoProto, attribute_type, data_type,
};
use npukit_numeric::SplitMix64;
use prost::Message;

/// Versions of the operators and of the corresponding file format.
const VERSIONS: (i64, i64) = (18, 8);

/// Network under construction. Values are named like their nodes.
pub struct Net {
    graph: GraphProto,
    random: SplitMix64,
}

/// Attribute of a node.
pub enum Attribute {
    /// List of integers.
    Integers(&'static str, Vec<i64>),
    /// Single integer.
    Integer(&'static str, i64),
    /// Single float.
    Float(&'static str, f32),
    /// String.
    Text(&'static str, &'static str),
}

impl Net {
    /// Creates a network without nodes.
    pub fn new() -> Self {
        Self {
            graph: GraphProto { name: "defects".to_owned(), ..GraphProto::default() },
            random: SplitMix64::new(7),
        }
    }

    /// Adds an input.
    pub fn input(&mut self, name: &str, shape: &[i64]) -> String {
        self.graph.input.push(info(name, shape));
        name.to_owned()
    }

    /// Adds a node; its only result has its name.
    pub fn node(&mut self, operator: &str, inputs: &[&str], attributes: Vec<Attribute>) -> String {
        self.node_of(operator, inputs, attributes, 1).remove(0)
    }

    /// Adds a node with several results.
    pub fn node_of(
        &mut self,
        operator: &str,
        inputs: &[&str],
        attributes: Vec<Attribute>,
        results: usize,
    ) -> Vec<String> {
        let name = format!("{}{}", operator.to_lowercase(), self.graph.node.len());
        let output: Vec<String> = match results {
            1 => vec![name.clone()],
            _ => (0..results).map(|result| format!("{name}_{result}")).collect(),
        };
        self.graph.node.push(NodeProto {
            input: inputs.iter().map(|&input| input.to_owned()).collect(),
            output: output.clone(),
            name,
            op_type: operator.to_owned(),
            attribute: attributes.into_iter().map(proto).collect(),
            ..NodeProto::default()
        });
        output
    }

    /// Adds a constant of distinct numbers from -`size` to `size`.
    pub fn random(&mut self, shape: &[i64], size: f32) -> String {
        let count = shape.iter().product();
        let number = |_: i64| ((self.random.bits() >> 40) as f32 / (1u64 << 23) as f32 - 1.0) * size;
        let numbers: Vec<f32> = (0..count).map(number).collect();
        self.floats(shape, &numbers)
    }

    /// Adds a constant of numbers from 0.5 to 1.5, for example for variances.
    pub fn positive(&mut self, shape: &[i64]) -> String {
        let count = shape.iter().product();
        let number = |_: i64| (self.random.bits() >> 40) as f32 / (1u64 << 24) as f32 + 0.5;
        let numbers: Vec<f32> = (0..count).map(number).collect();
        self.floats(shape, &numbers)
    }

    /// Adds a constant of floats.
    pub fn floats(&mut self, shape: &[i64], numbers: &[f32]) -> String {
        let bytes = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        self.tensor(shape, data_type::FLOAT, bytes)
    }

    /// Adds a one-dimensional constant of integers.
    pub fn integers(&mut self, numbers: &[i64]) -> String {
        let bytes = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        self.tensor(&[numbers.len() as i64], data_type::INT64, bytes)
    }

    fn tensor(&mut self, shape: &[i64], data_type: i32, bytes: Vec<u8>) -> String {
        let name = format!("c{}", self.graph.initializer.len());
        self.graph.initializer.push(TensorProto {
            dims: shape.to_vec(),
            data_type,
            name: name.clone(),
            raw_data: Some(bytes),
            ..TensorProto::default()
        });
        name
    }

    /// Returns the file, with outputs by name and shape.
    pub fn onnx(mut self, outputs: &[(&str, &[i64])]) -> Vec<u8> {
        self.graph.output = outputs.iter().map(|(name, shape)| info(name, shape)).collect();
        let (version, ir_version) = VERSIONS;
        let opset = OperatorSetIdProto { domain: String::new(), version };
        ModelProto { ir_version, graph: Some(self.graph), opset_import: vec![opset], functions: Vec::new() }
            .encode_to_vec()
    }
}

fn info(name: &str, shape: &[i64]) -> ValueInfoProto {
    let dim = |&size| DimensionProto { dim_value: Some(size), dim_param: None };
    let shape = TensorShapeProto { dim: shape.iter().map(dim).collect() };
    let tensor_type = Some(TensorTypeProto { elem_type: data_type::FLOAT, shape: Some(shape) });
    ValueInfoProto { name: name.to_owned(), r#type: Some(TypeProto { tensor_type }) }
}

fn proto(attribute: Attribute) -> AttributeProto {
    let plain = AttributeProto::default();
    match attribute {
        Attribute::Integers(name, ints) => {
            AttributeProto { name: name.to_owned(), ints, r#type: attribute_type::INTS, ..plain }
        }
        Attribute::Integer(name, number) => {
            AttributeProto { name: name.to_owned(), i: Some(number), r#type: attribute_type::INT, ..plain }
        }
        Attribute::Float(name, number) => {
            AttributeProto { name: name.to_owned(), f: Some(number), r#type: attribute_type::FLOAT, ..plain }
        }
        Attribute::Text(name, word) => {
            let s = Some(word.as_bytes().to_vec());
            AttributeProto { name: name.to_owned(), s, r#type: attribute_type::STRING, ..plain }
        }
    }
}
