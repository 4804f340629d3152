//! Builder of small ONNX models for tests: [`Model`] and [`node`].

use npukit_graph::{Graph, evaluate};
use npukit_import::onnx::proto::{
    AttributeProto, DimensionProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto,
    TensorShapeProto, TensorTypeProto, TypeProto, ValueInfoProto, attribute_type, data_type,
};
use npukit_import::onnx::{ImportError, Imported, NodeProblem, Options, Reason, read};
use npukit_numeric::{Tensor, TensorData};
use prost::Message;

/// A model under construction.
pub struct Model {
    pub proto: ModelProto,
}

impl Model {
    /// An empty model at `opset`.
    pub fn new(opset: i64) -> Self {
        let opset_import = vec![OperatorSetIdProto { domain: String::new(), version: opset }];
        let graph = Some(GraphProto { name: "g".to_owned(), ..GraphProto::default() });
        Self { proto: ModelProto { ir_version: 8, graph, opset_import, functions: Vec::new() } }
    }

    pub fn graph(&mut self) -> &mut GraphProto {
        self.proto.graph.as_mut().unwrap()
    }

    /// A float input; -1 is a dimension without a size.
    pub fn input(mut self, name: &str, dims: &[i64]) -> Self {
        self.graph().input.push(value_info(name, data_type::FLOAT, dims));
        self
    }

    pub fn output(mut self, name: &str) -> Self {
        self.graph().output.push(value_info(name, data_type::FLOAT, &[]));
        self
    }

    /// A float tensor in raw form.
    pub fn floats(mut self, name: &str, dims: &[i64], values: &[f32]) -> Self {
        self.graph().initializer.push(float_tensor(name, dims, values));
        self
    }

    /// Integers of one axis in typed form.
    pub fn ints(mut self, name: &str, values: &[i64]) -> Self {
        self.graph().initializer.push(int_tensor(name, &[values.len() as i64], values));
        self
    }

    pub fn node(mut self, node: NodeProto) -> Self {
        self.graph().node.push(node);
        self
    }

    pub fn bytes(&self) -> Vec<u8> {
        self.proto.encode_to_vec()
    }

    pub fn import(&self) -> Result<Graph, ImportError> {
        Ok(self.read(&Options::default())?.graph)
    }

    /// Imports the model.
    pub fn read(&self, options: &Options) -> Result<Imported, ImportError> {
        read(&self.bytes(), "test", options)
    }

    /// Returns the problems that the import reports.
    pub fn problems(&self) -> Vec<NodeProblem> {
        match self.import() {
            Err(ImportError::Problems { problems }) => problems,
            other => panic!("expected problems, found {other:?}"),
        }
    }

    /// Reason of the only problem.
    pub fn reason(&self) -> Reason {
        let mut problems = self.problems();
        assert_eq!(problems.len(), 1, "{problems:?}");
        problems.remove(0).reason
    }

    /// Imports and evaluates the model: shape and elements of its only output.
    pub fn run(&self, inputs: &[Tensor]) -> (Vec<usize>, Vec<f32>) {
        let graph = self.import().unwrap();
        shape_and_numbers(&evaluate(&graph, inputs).unwrap()[0])
    }
}

/// Shape and elements of a tensor of any type.
pub fn shape_and_numbers(tensor: &Tensor) -> (Vec<usize>, Vec<f32>) {
    let values = match tensor.data() {
        TensorData::F32(values) => values.clone(),
        TensorData::I64(values) => values.iter().map(|&value| value as f32).collect(),
        TensorData::I32(values) => values.iter().map(|&value| value as f32).collect(),
        TensorData::Bool(values) => values.iter().map(|&value| f32::from(u8::from(value))).collect(),
    };
    (tensor.shape().to_vec(), values)
}

/// A model of one node from `x` (of `dims`) to `y`; its other operands are `constants`.
pub fn unary(opset: i64, dims: &[i64], node: NodeProto, constants: Vec<TensorProto>) -> Model {
    let mut model = Model::new(opset).input("x", dims).node(node).output("y");
    model.graph().initializer = constants;
    model
}

/// A node without a name.
pub fn node(op: &str, inputs: &[&str], outputs: &[&str]) -> NodeProto {
    let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    NodeProto { op_type: op.to_owned(), input: owned(inputs), output: owned(outputs), ..NodeProto::default() }
}

/// Adds attributes to a node.
pub trait With: Sized {
    fn with(self, attribute: AttributeProto) -> Self;

    fn int(self, name: &str, value: i64) -> Self {
        self.with(attribute(name, attribute_type::INT, |a| a.i = Some(value)))
    }

    fn ints(self, name: &str, values: &[i64]) -> Self {
        self.with(attribute(name, attribute_type::INTS, |a| a.ints = values.to_vec()))
    }

    fn float(self, name: &str, value: f32) -> Self {
        self.with(attribute(name, attribute_type::FLOAT, |a| a.f = Some(value)))
    }

    fn floats(self, name: &str, values: &[f32]) -> Self {
        self.with(attribute(name, attribute_type::FLOATS, |a| a.floats = values.to_vec()))
    }

    fn string(self, name: &str, value: &str) -> Self {
        self.with(attribute(name, attribute_type::STRING, |a| a.s = Some(value.as_bytes().to_vec())))
    }

    fn tensor(self, name: &str, value: TensorProto) -> Self {
        self.with(attribute(name, attribute_type::TENSOR, |a| a.t = Some(Box::new(value))))
    }
}

impl With for NodeProto {
    fn with(mut self, attribute: AttributeProto) -> Self {
        self.attribute.push(attribute);
        self
    }
}

pub fn attribute(name: &str, kind: i32, set: impl FnOnce(&mut AttributeProto)) -> AttributeProto {
    let mut attribute = AttributeProto { name: name.to_owned(), r#type: kind, ..AttributeProto::default() };
    set(&mut attribute);
    attribute
}

pub fn float_tensor(name: &str, dims: &[i64], values: &[f32]) -> TensorProto {
    TensorProto {
        dims: dims.to_vec(),
        data_type: data_type::FLOAT,
        name: name.to_owned(),
        raw_data: Some(values.iter().flat_map(|value| value.to_le_bytes()).collect()),
        ..TensorProto::default()
    }
}

pub fn int_tensor(name: &str, dims: &[i64], values: &[i64]) -> TensorProto {
    TensorProto {
        dims: dims.to_vec(),
        data_type: data_type::INT64,
        name: name.to_owned(),
        int64_data: values.to_vec(),
        ..TensorProto::default()
    }
}

pub fn value_info(name: &str, elem_type: i32, dims: &[i64]) -> ValueInfoProto {
    let size = |&size: &i64| match size {
        -1 => DimensionProto { dim_value: None, dim_param: Some("open".to_owned()) },
        _ => DimensionProto { dim_value: Some(size), dim_param: None },
    };
    let shape = Some(TensorShapeProto { dim: dims.iter().map(size).collect() });
    let tensor_type = Some(TensorTypeProto { elem_type, shape });
    ValueInfoProto { name: name.to_owned(), r#type: Some(TypeProto { tensor_type }) }
}

pub fn floats(shape: &[usize], values: &[f32]) -> Tensor {
    Tensor::from_f32(shape.to_vec(), values.to_vec()).unwrap()
}

/// 0, 1, 2, .. in the given shape.
pub fn counting(shape: &[usize]) -> Tensor {
    let count = shape.iter().product();
    floats(shape, &(0..count).map(|value: usize| value as f32).collect::<Vec<_>>())
}
