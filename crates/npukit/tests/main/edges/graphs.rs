//! Random small networks with unusual features: outputs that are constants, inputs, or named twice;
//! unused inputs; infinity and NaN; scalars; axes of size 1; several images; types other than
//! floats; no nodes at all.

use npukit_import::onnx::proto::{
    AttributeProto, DimensionProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto,
    TensorShapeProto, TensorTypeProto, TypeProto, ValueInfoProto, attribute_type, data_type,
};
use npukit_numeric::npy::{NpyArray, write_npz};
use npukit_numeric::{SplitMix64, Tensor, TensorData};
use prost::Message;

use super::nodes;

/// Whether to use types other than 32-bit floats: integer, boolean and half-precision inputs, and
/// nodes that compute or take them.
const ALL_TYPES: bool = true;

/// Network, and inputs for it.
pub struct Network {
    /// ONNX file.
    pub model: Vec<u8>,
    /// Contents of an `.npz` file; `None` for a network without inputs.
    pub inputs: Option<Vec<u8>>,
    /// Description with one line per node, input and output.
    pub text: String,
    /// Whether all constants are finite; machines saturate other numbers.
    pub is_finite: bool,
}

/// Value of a network under construction.
#[derive(Clone, Debug)]
pub struct Value {
    pub name: String,
    pub shape: Vec<usize>,
    /// Code of the element type (`data_type`).
    pub element: i32,
    pub is_input: bool,
}

impl Value {
    pub fn is_float(&self) -> bool {
        self.element == data_type::FLOAT
    }

    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }
}

/// Network under construction.
pub struct Builder {
    pub random: SplitMix64,
    graph: GraphProto,
    pub values: Vec<Value>,
    numbers: Vec<(String, Tensor)>,
    text: String,
    is_finite: bool,
}

/// Returns the network of a seed.
pub fn network(seed: u64) -> Network {
    let random = SplitMix64::new(seed.wrapping_mul(0x9e37_79b9).wrapping_add(7));
    let graph = GraphProto { name: format!("edges{seed}"), ..GraphProto::default() };
    let mut builder = Builder {
        random,
        graph,
        values: Vec::new(),
        numbers: Vec::new(),
        text: String::new(),
        is_finite: true,
    };
    builder.inputs();
    let count = builder.below(8);
    for _ in 0..count {
        nodes::add(&mut builder, ALL_TYPES);
    }
    builder.outputs();
    builder.finish()
}

impl Builder {
    /// Returns a random number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        (self.random.bits() % end.max(1) as u64) as usize
    }

    /// Returns true with probability 1/`of`.
    pub fn once_in(&mut self, of: usize) -> bool {
        self.below(of) == 0
    }

    pub fn pick<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())].clone()
    }

    /// Returns a random value that meets a condition; later values are more likely.
    pub fn value(&mut self, condition: impl Fn(&Value) -> bool) -> Option<Value> {
        let fitting: Vec<Value> = self.values.iter().filter(|value| condition(value)).cloned().collect();
        let last = fitting.last()?.clone();
        Some(if self.once_in(2) { last } else { self.pick(&fitting) })
    }

    fn shape(&mut self) -> Vec<usize> {
        let rank = self.pick(&[0, 1, 2, 2, 3, 3, 4, 4, 4, 5]);
        let sizes = [1, 1, 2, 3, 4, 6, 8];
        let mut shape: Vec<usize> = (0..rank).map(|_| self.pick(&sizes)).collect();
        if rank == 4 && !self.once_in(4) {
            shape[0] = 1;
        }
        while shape.iter().product::<usize>() > nodes::MOST {
            shape.pop();
        }
        shape
    }

    fn inputs(&mut self) {
        let count = self.pick(&[0, 1, 1, 1, 1, 2, 2, 3]);
        for number in 0..count {
            let others =
                [data_type::BOOL, data_type::INT64, data_type::INT32, data_type::UINT8, data_type::FLOAT16];
            let element = if ALL_TYPES && self.once_in(5) { self.pick(&others) } else { data_type::FLOAT };
            let (name, shape) = (format!("x{number}"), self.shape());
            self.graph.input.push(info(&name, &shape, element));
            let tensor = self.sample(&shape, element);
            self.text += &format!("input {name}: {shape:?} of type {element}\n");
            self.numbers.push((name.clone(), tensor));
            self.values.push(Value { name, shape, element, is_input: true });
        }
        if count == 0 || self.once_in(6) {
            let shape = self.shape();
            self.floats(&shape);
        }
    }

    fn sample(&mut self, shape: &[usize], element: i32) -> Tensor {
        let count = shape.iter().product();
        let has_special = self.once_in(12);
        let data = match element {
            data_type::BOOL => TensorData::Bool((0..count).map(|_| self.once_in(2)).collect()),
            data_type::INT64 => TensorData::I64((0..count).map(|_| self.below(3) as i64).collect()),
            data_type::INT32 | data_type::UINT8 => {
                TensorData::I32((0..count).map(|_| self.below(3) as i32).collect())
            }
            _ => TensorData::F32((0..count).map(|_| self.number(has_special)).collect()),
        };
        let element = match element {
            data_type::UINT8 => npukit::ElementType::U8,
            data_type::FLOAT16 => npukit::ElementType::F16,
            _ => data.storage().element(),
        };
        Tensor::new(shape.to_vec(), data).unwrap().with_element(element).unwrap()
    }

    /// Returns a random multiple of 1/64 from -1 to 1; with `special`, occasionally NaN or
    /// infinity.
    fn number(&mut self, special: bool) -> f32 {
        if special && self.once_in(3) {
            return self.pick(&[f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 0.0, 1e30]);
        }
        self.below(129) as f32 / 64.0 - 1.0
    }

    /// Adds a constant of floats, as a value like any other.
    pub fn floats(&mut self, shape: &[usize]) -> Value {
        let has_special = self.once_in(12);
        let count: usize = shape.iter().product();
        let floats: Vec<f32> = (0..count).map(|_| self.number(has_special)).collect();
        self.constant(shape, data_type::FLOAT, floats.iter().flat_map(|x| x.to_le_bytes()).collect())
    }

    /// Adds a constant with one float.
    pub fn float(&mut self, value: f32) -> Value {
        self.constant(&[], data_type::FLOAT, value.to_le_bytes().to_vec())
    }

    /// Adds a one-dimensional constant of integers.
    pub fn integers(&mut self, values: &[i64]) -> Value {
        let bytes = values.iter().flat_map(|x| x.to_le_bytes()).collect();
        self.constant(&[values.len()], data_type::INT64, bytes)
    }

    fn constant(&mut self, shape: &[usize], element: i32, bytes: Vec<u8>) -> Value {
        let name = format!("c{}", self.graph.initializer.len());
        let dims = shape.iter().map(|&size| size as i64).collect();
        let is_float = element == data_type::FLOAT;
        let is_number =
            |bytes: &[u8]| bytes.try_into().is_ok_and(|bytes| f32::from_le_bytes(bytes).abs() <= 1e6);
        self.is_finite &= !is_float || bytes.chunks_exact(4).all(is_number);
        let raw_data = Some(bytes);
        let tensor =
            TensorProto { dims, data_type: element, name: name.clone(), raw_data, ..TensorProto::default() };
        self.graph.initializer.push(tensor);
        let value = Value { name, shape: shape.to_vec(), element, is_input: false };
        if is_float {
            self.values.push(value.clone());
        }
        value
    }

    /// Adds a node; its result becomes a value.
    pub fn node(
        &mut self,
        op: &str,
        inputs: &[&Value],
        attributes: Vec<AttributeProto>,
        shape: &[usize],
        element: i32,
    ) {
        let name = format!("v{}", self.graph.node.len());
        let inputs: Vec<String> = inputs.iter().map(|value| value.name.clone()).collect();
        let messages: Vec<String> =
            attributes.iter().map(|a| format!("{}={:?}{:?}{:?}", a.name, a.i, a.f, a.ints)).collect();
        self.text += &format!("{name} = {op}({}) {} -> {shape:?}\n", inputs.join(", "), messages.join(" "));
        self.graph.node.push(NodeProto {
            input: inputs,
            output: vec![name.clone()],
            name: format!("n{}", self.graph.node.len()),
            op_type: op.to_owned(),
            attribute: attributes,
            ..NodeProto::default()
        });
        self.values.push(Value { name, shape: shape.to_vec(), element, is_input: false });
    }

    fn outputs(&mut self) {
        let last = self.values.last().unwrap().clone();
        let mut outputs = vec![last];
        for _ in 0..self.pick(&[0, 0, 0, 1, 1, 2]) {
            let any = self.pick(&self.values.clone());
            outputs.push(any);
        }
        if self.once_in(8) {
            outputs.push(outputs[0].clone());
        }
        if self.once_in(3) {
            outputs.reverse();
        }
        for Value { name, shape, element, .. } in outputs {
            self.text += &format!("output {name}: {shape:?} of type {element}\n");
            self.graph.output.push(info(&name, &shape, element));
        }
    }

    fn finish(self) -> Network {
        let opset = OperatorSetIdProto { domain: String::new(), version: 17 };
        let model = ModelProto {
            ir_version: 8,
            graph: Some(self.graph),
            opset_import: vec![opset],
            functions: Vec::new(),
        };
        let arrays: Vec<(&str, NpyArray<'_>)> =
            self.numbers.iter().map(|(name, tensor)| (name.as_str(), NpyArray::from(tensor))).collect();
        let inputs = (!arrays.is_empty()).then(|| write_npz(&arrays).unwrap());
        Network { model: model.encode_to_vec(), inputs, text: self.text, is_finite: self.is_finite }
    }
}

fn info(name: &str, shape: &[usize], element: i32) -> ValueInfoProto {
    let dimension = |&size: &usize| DimensionProto { dim_value: Some(size as i64), dim_param: None };
    let shape = TensorShapeProto { dim: shape.iter().map(dimension).collect() };
    let tensor_type = Some(TensorTypeProto { elem_type: element, shape: Some(shape) });
    ValueInfoProto { name: name.to_owned(), r#type: Some(TypeProto { tensor_type }) }
}

pub fn int(name: &str, value: i64) -> AttributeProto {
    AttributeProto {
        name: name.into(),
        i: Some(value),
        r#type: attribute_type::INT,
        ..AttributeProto::default()
    }
}

pub fn ints(name: &str, values: &[usize]) -> AttributeProto {
    let ints = values.iter().map(|&value| value as i64).collect();
    AttributeProto { name: name.into(), ints, r#type: attribute_type::INTS, ..AttributeProto::default() }
}

pub fn real(name: &str, value: f32) -> AttributeProto {
    AttributeProto {
        name: name.into(),
        f: Some(value),
        r#type: attribute_type::FLOAT,
        ..AttributeProto::default()
    }
}
