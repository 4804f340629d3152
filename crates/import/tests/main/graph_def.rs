//! Builder of frozen TensorFlow graphs for tests: [`Graph`].

use npukit_graph::{Graph as Imported, evaluate};
use npukit_import::tensorflow::proto::{
    Attr, AttrValue, Dim, GraphDef, ListValue, NodeDef, TensorProto, TensorShapeProto,
};
use npukit_import::{ImportError, NodeProblem, Options, Reason, tensorflow};
use npukit_numeric::Tensor;
use prost::Message;

use crate::model::shape_and_numbers;

pub const FLOAT: i32 = 1;
const INT32: i32 = 3;
const INT64: i32 = 9;

/// Makes a node with operands.
pub fn node(op: &str, name: &str, inputs: &[&str]) -> NodeDef {
    let input = inputs.iter().map(|&input| input.to_owned()).collect();
    NodeDef { name: name.to_owned(), op: op.to_owned(), input, ..NodeDef::default() }
}

/// Adds attributes, as a chain of calls.
pub trait With: Sized {
    fn with(self, name: &str, value: Attr) -> Self;

    fn int(self, name: &str, value: i64) -> Self {
        self.with(name, Attr::I(value))
    }

    fn flag(self, name: &str, value: bool) -> Self {
        self.with(name, Attr::B(value))
    }

    fn float(self, name: &str, value: f32) -> Self {
        self.with(name, Attr::F(value))
    }

    fn string(self, name: &str, value: &str) -> Self {
        self.with(name, Attr::S(value.as_bytes().to_vec()))
    }

    fn ints(self, name: &str, values: &[i64]) -> Self {
        self.with(name, Attr::List(ListValue { i: values.to_vec(), ..ListValue::default() }))
    }
}

impl With for NodeDef {
    fn with(mut self, name: &str, value: Attr) -> Self {
        self.attr.insert(name.to_owned(), AttrValue { value: Some(value) });
        self
    }
}

/// A frozen graph under construction.
#[derive(Clone, Default)]
pub struct Graph {
    pub def: GraphDef,
    pub options: Options,
}

impl Graph {
    /// Adds a node to the graph.
    pub fn node(mut self, node: NodeDef) -> Self {
        self.def.node.push(node);
        self
    }

    /// Adds a float input; -1 leaves a dimension open.
    pub fn input(self, name: &str, sizes: &[i64]) -> Self {
        let placeholder = node("Placeholder", name, &[]).with("dtype", Attr::Type(FLOAT));
        self.node(placeholder.with("shape", Attr::Shape(shape(sizes))))
    }

    /// Adds a constant of floats.
    pub fn floats(self, name: &str, sizes: &[i64], values: &[f32]) -> Self {
        let tensor_shape = Some(shape(sizes));
        let float_val = values.to_vec();
        self.constant(name, TensorProto { dtype: FLOAT, tensor_shape, float_val, ..TensorProto::default() })
    }

    /// Adds a constant of 32-bit integers.
    pub fn integers(self, name: &str, sizes: &[i64], values: &[i32]) -> Self {
        let tensor_shape = Some(shape(sizes));
        let int_val = values.to_vec();
        self.constant(name, TensorProto { dtype: INT32, tensor_shape, int_val, ..TensorProto::default() })
    }

    /// Adds a constant of 64-bit integers.
    pub fn wide_integers(self, name: &str, sizes: &[i64], values: &[i64]) -> Self {
        let tensor_shape = Some(shape(sizes));
        let int64_val = values.to_vec();
        self.constant(name, TensorProto { dtype: INT64, tensor_shape, int64_val, ..TensorProto::default() })
    }

    /// Adds a constant to the graph.
    pub fn constant(self, name: &str, tensor: TensorProto) -> Self {
        let dtype = Attr::Type(tensor.dtype);
        self.node(node("Const", name, &[]).with("dtype", dtype).with("value", Attr::Tensor(tensor.into())))
    }

    /// Sets the outputs to import.
    pub fn outputs(mut self, names: &[&str]) -> Self {
        self.options.outputs = names.iter().map(|&name| name.to_owned()).collect();
        self
    }

    /// Encodes the file.
    pub fn bytes(&self) -> Vec<u8> {
        self.def.encode_to_vec()
    }

    /// Imports the graph, which must be valid.
    pub fn import(&self) -> Result<Imported, ImportError> {
        let graph = tensorflow::read(&self.bytes(), "test", &self.options)?.graph;
        graph.validate().unwrap();
        Ok(graph)
    }

    /// Imports and evaluates the graph: shape and elements of its first output.
    pub fn run(&self, inputs: &[Tensor]) -> (Vec<usize>, Vec<f32>) {
        shape_and_numbers(&evaluate(&self.import().unwrap(), inputs).unwrap()[0])
    }

    /// The reason of the only problem.
    pub fn reason(&self) -> Reason {
        let mut problems = self.problems();
        assert_eq!(problems.len(), 1, "{problems:?}");
        problems.remove(0).reason
    }

    /// Problems of the nodes.
    pub fn problems(&self) -> Vec<NodeProblem> {
        match self.import() {
            Err(ImportError::Problems { problems }) => problems,
            other => panic!("expected problems, found {other:?}"),
        }
    }
}

/// A shape with these sizes.
pub fn shape(sizes: &[i64]) -> TensorShapeProto {
    let dim = sizes.iter().map(|&size| Dim { size }).collect();
    TensorShapeProto { dim, unknown_rank: false }
}

/// Names of an imported graph's values.
pub fn names<'a>(graph: &'a Imported, ids: &[npukit_graph::ValueId]) -> Vec<&'a str> {
    ids.iter().map(|&id| graph.value(id).name.as_str()).collect()
}
