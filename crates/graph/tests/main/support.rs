//! Shared test helpers: tensors in one line, and reproducible noise.

use npukit_graph::rescale::Limits;
use npukit_graph::{Graph, Op, OpError, Operator, ValueId, ValueInfo};
use npukit_numeric::{Tensor, TensorData};

/// Rescaling limits of FP16BP8.
pub const FP16BP8: Limits = Limits {
    largest: 32767.0 / 256.0,
    step: 1.0 / 256.0,
    margin: 1.0,
    fill: false,
    functions: false,
    balance: false,
    ports: false,
    addends: 1,
};

/// A tensor of floats.
pub fn f32s(shape: &[usize], data: &[f32]) -> Tensor {
    Tensor::from_f32(shape.to_vec(), data.to_vec()).unwrap()
}

/// A tensor of 64-bit integers.
pub fn i64s(shape: &[usize], data: &[i64]) -> Tensor {
    Tensor::new(shape.to_vec(), TensorData::I64(data.to_vec())).unwrap()
}

/// `0, 1, 2, ...`.
pub fn iota(shape: &[usize]) -> Tensor {
    let count: usize = shape.iter().product();
    f32s(shape, &(0..count).map(|i| i as f32).collect::<Vec<_>>())
}

/// Values between -1 and 1 that depend only on `seed`.
pub fn noise(shape: &[usize], seed: u64) -> Tensor {
    let count: usize = shape.iter().product();
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    };
    f32s(shape, &(0..count).map(|_| next()).collect::<Vec<_>>())
}

/// Returns the only result of an operator.
pub fn run(op: impl Into<Op>, operands: &[&Tensor]) -> Tensor {
    op.into().eval(operands).unwrap().remove(0)
}

/// Returns the error of an operator.
pub fn refuse(op: impl Into<Op>, operands: &[&Tensor]) -> OpError {
    op.into().eval(operands).unwrap_err()
}

/// Returns the floats of a tensor.
pub fn floats(tensor: &Tensor) -> &[f32] {
    tensor.as_f32().unwrap()
}

/// Returns the largest difference of two tensors of the same shape.
pub fn distance(left: &Tensor, right: &Tensor) -> f32 {
    assert_eq!(left.shape(), right.shape());
    floats(left).iter().zip(floats(right)).map(|(l, r)| (l - r).abs()).fold(0.0, f32::max)
}

/// A graph and tensors for its inputs, built in a few lines, with generated names.
#[derive(Default)]
pub struct Net {
    pub graph: Graph,
    pub inputs: Vec<Tensor>,
}

impl Net {
    pub fn input(&mut self, tensor: Tensor) -> ValueId {
        let info = ValueInfo { shape: tensor.shape().to_vec(), element: tensor.element() };
        self.inputs.push(tensor);
        let name = self.graph.fresh_name("x");
        self.graph.add_input(name, info)
    }

    pub fn constant(&mut self, tensor: Tensor) -> ValueId {
        let name = self.graph.fresh_name("c");
        self.graph.add_constant(name, tensor)
    }

    /// Adds a node, and returns its only result.
    pub fn node(&mut self, op: impl Into<Op>, inputs: &[ValueId]) -> ValueId {
        let op = op.into();
        let name = format!("n{}", self.graph.nodes.len());
        let values: Vec<_> = inputs.iter().map(|&id| self.graph.value(id)).collect();
        let count = op.infer(&values).unwrap().len();
        let names: Vec<String> = (0..count).map(|i| format!("{name}_{i}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        self.graph.add_node(name, op, inputs.to_vec(), &names).unwrap()[0]
    }

    /// Returns the graph with one output.
    pub fn giving(mut self, output: ValueId) -> Self {
        self.graph.outputs = vec![output];
        self.graph.validate().unwrap();
        self
    }
}
