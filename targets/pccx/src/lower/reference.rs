//! Graph of the computation of a compiled program: [`reference`], with which `npu verify` compares
//! the program.
//!
//! It follows the steps of the compiler and describes each as graph nodes, without addresses or
//! instructions. Products are of integer codes, followed by a factor per row; constants for L2 are
//! rounded to BF16. `Constants::Exact` rounds nothing: that graph must equal the model, which a
//! computation in float shows.

mod parts;

use npukit_graph::op::{
    Binary, BinaryKind, Concat, Gather, GeluForm, MatMul, Reduce, ReduceKind, Relu, Reshape, Unary, UnaryKind,
};
use npukit_graph::{Graph, Node, Op, Operator, ValueId};
use npukit_numeric::{Tensor, TensorData};

use super::LowerError;
use super::ops::Weights;
use super::options::Options;
use crate::config::Config;
use crate::isa::op::CvoFunc;
use crate::lower::steps::{Layers, Step};
use crate::lower::work::Work;
use crate::machine::bf16::{bf, val};

/// Treatment of constants in the reference graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Constants {
    /// Rounded as on the machine.
    Machine,
    /// Unchanged, as in the model.
    Exact,
}

/// Reason why a program's computation cannot be expressed as a graph.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ReferenceError {
    /// Weights that the machine cannot represent.
    #[error(transparent)]
    Lower(#[from] LowerError),
    /// Rotations with sines that the machine computes.
    #[error(
        "sines and cosines that the machine computes itself (`rotations=npu`) cannot be compared with a model"
    )]
    OwnSines,
    /// The last tile of a product is a single row.
    #[error(
        "a last row of {inputs} values that is alone in its tile, with 16-bit activations, cannot be compared"
    )]
    LastRow {
        /// Number of values in the row.
        inputs: usize,
    },
    /// The codes of a weight are not the nearest codes.
    #[error(
        "weights `{name}`: {} of input {input} and result {output} is not the nearest to {weight}",
        listed(.codes)
    )]
    Code {
        /// Name of the constant.
        name: String,
        /// Index of the input, starting at 0.
        input: usize,
        /// Index of the result, starting at 0.
        output: usize,
        /// Value of the weight in the model.
        weight: f32,
        /// Code and scale of each pass in the program.
        codes: Vec<[f32; 2]>,
    },
    /// A step that cannot be expressed.
    #[error("the comparison does not support {0}: an error in npukit")]
    Unmade(&'static str),
}

/// Lists codes with their scales.
fn listed(codes: &[[f32; 2]]) -> String {
    let codes: Vec<String> =
        codes.iter().map(|[code, scale]| format!("code {code} with scale {scale}")).collect();
    codes.join(" and ")
}

/// Returns the graph that a program for `graph` computes.
///
/// # Errors
/// Any [`ReferenceError`].
pub fn reference(
    config: &Config,
    graph: &Graph,
    options: &Options,
    constants: Constants,
) -> Result<Graph, ReferenceError> {
    let layers = Layers::new(graph, options, config.l2_words);
    let mut graph = layers.graph.clone();
    graph.nodes.clear();
    let (two_bytes, l2_words) = (layers.two_byte_activations, layers.l2_words);
    let weights = Weights::default();
    let mut builder = Builder { graph, constants, two_bytes, l2_words, weights, roots: Vec::new() };
    layers.steps.iter().try_for_each(|step| builder.step(&layers, step))?;
    Ok(builder.graph)
}

/// Graph under construction.
struct Builder {
    graph: Graph,
    constants: Constants,
    /// Whether products use 16 bits of their activations.
    two_bytes: bool,
    l2_words: usize,
    weights: Weights,
    /// Roots of norms with a later division: value in the model, and here, `[rows, 1]`.
    roots: Vec<(ValueId, ValueId)>,
}

impl Builder {
    fn step(&mut self, layers: &Layers, step: &Step) -> Result<(), ReferenceError> {
        let node = layers.graph.node(step.last());
        let (&[first, ..], &[result, ..]) = (&step.operands[..], &step.results[..]) else {
            return self.as_it_is(node);
        };
        let made = match &step.work {
            Work::Host(_) | Work::Move(_) => return self.as_it_is(node),
            Work::Live(live) => self.live(live, &step.operands)?,
            Work::Product(product) => self.product(product, &step.operands)?,
            Work::Convolution(convolution) => self.convolution(convolution, node, first)?,
            Work::Attention(attention) => self.attention(attention)?,
            Work::Norm(norm) if norm.only_roots => {
                let x = self.rows(first, norm.row)?;
                let roots = self.roots_of(norm, x, x)?;
                self.roots.push((result, roots));
                return Ok(());
            }
            Work::Norm(norm) => self.norm(norm, first)?,
            Work::Rotary(rotary) => self.rotary(rotary, first)?,
            Work::Function(function) => {
                let x = self.operand(first)?;
                self.function(*function, x)?
            }
            Work::Sigmoid => {
                let x = self.operand(first)?;
                self.sigmoid(x, 1.0)?
            }
            Work::Swish(alpha) => {
                let x = self.operand(first)?;
                let sigmoid = self.sigmoid(x, *alpha)?;
                self.binary(BinaryKind::Mul, x, sigmoid)?
            }
            Work::Square => {
                let x = self.operand(first)?;
                self.binary(BinaryKind::Mul, x, x)?
            }
            Work::Factor(factor) => {
                let (x, factor) = (self.operand(first)?, self.number(*factor)?);
                self.binary(BinaryKind::Mul, x, factor)?
            }
            Work::Binary(kind) => {
                let [left, right] = self.two_operands(&step.operands)?;
                self.binary(*kind, left, right)?
            }
        };
        let (shape, name) = (self.graph.shape(result).to_vec(), node.name.clone());
        let op = Op::from(Reshape { shape });
        self.graph.nodes.push(Node { name, op, inputs: vec![made], outputs: vec![result] });
        Ok(())
    }

    fn two_operands(&mut self, operands: &[ValueId]) -> Result<[ValueId; 2], ReferenceError> {
        let &[left, right, ..] = operands else { return Err(ReferenceError::Unmade("a sum")) };
        Ok([self.operand(left)?, self.operand(right)?])
    }

    /// Copies a node of the model. A node of constants only becomes a constant.
    fn as_it_is(&mut self, node: &Node) -> Result<(), ReferenceError> {
        let constants: Option<Vec<&Tensor>> =
            node.inputs.iter().map(|&id| self.graph.constant(id).map(AsRef::as_ref)).collect();
        let results = constants.filter(|all| !all.is_empty()).map(|all| node.op.eval(&all));
        match results {
            Some(results) => {
                let results = results.map_err(|_| ReferenceError::Unmade("constants"))?;
                for (&id, tensor) in node.outputs.iter().zip(results) {
                    self.graph.values[id.0 as usize].constant = Some(tensor.into());
                }
            }
            None => self.graph.nodes.push(node.clone()),
        }
        Ok(())
    }

    /// Adds a node and returns its result.
    fn make(&mut self, op: impl Into<Op>, inputs: &[ValueId]) -> Result<ValueId, ReferenceError> {
        let name = format!("reference {}", self.graph.values.len());
        let made = self.graph.add_node(name.clone(), op.into(), inputs.to_vec(), &[&name]);
        made.ok().and_then(|made| made.first().copied()).ok_or(ReferenceError::Unmade("a reference"))
    }

    fn binary(&mut self, kind: BinaryKind, left: ValueId, right: ValueId) -> Result<ValueId, ReferenceError> {
        self.make(Binary { kind }, &[left, right])
    }

    fn unary(&mut self, kind: UnaryKind, x: ValueId) -> Result<ValueId, ReferenceError> {
        self.make(Unary { kind }, &[x])
    }

    fn reshape(&mut self, x: ValueId, shape: &[usize]) -> Result<ValueId, ReferenceError> {
        if self.graph.shape(x) == shape {
            return Ok(x);
        }
        self.make(Reshape { shape: shape.to_vec() }, &[x])
    }

    /// Reshapes an operand to rows of `row` elements.
    fn rows(&mut self, id: ValueId, row: usize) -> Result<ValueId, ReferenceError> {
        let x = self.operand(id)?;
        let count: usize = self.graph.shape(x).iter().product();
        self.reshape(x, &[count / row.max(1), row])
    }

    /// Reduces the last axis, which is kept.
    fn reduce(&mut self, kind: ReduceKind, x: ValueId) -> Result<ValueId, ReferenceError> {
        let last = self.graph.shape(x).len().saturating_sub(1);
        self.make(Reduce { kind, axes: vec![last], keep_dims: true }, &[x])
    }

    /// Gathers elements of an axis.
    fn gather(&mut self, x: ValueId, axis: usize, places: &[usize]) -> Result<ValueId, ReferenceError> {
        let numbers: Vec<i64> = places.iter().map(|&place| place as i64).collect();
        let tensor = Tensor::new(vec![numbers.len()], TensorData::I64(numbers));
        let tensor = tensor.map_err(|_| ReferenceError::Unmade("places"))?;
        let name = format!("reference {}", self.graph.values.len());
        let places = self.graph.add_constant(name, tensor);
        self.make(Gather { axis }, &[x, places])
    }

    fn concat(&mut self, parts: &[ValueId]) -> Result<ValueId, ReferenceError> {
        if let &[part] = parts { Ok(part) } else { self.make(Concat { axis: 0 }, parts) }
    }

    /// Adds a constant with exactly these numbers.
    fn exactly(&mut self, shape: &[usize], values: Vec<f32>) -> Result<ValueId, ReferenceError> {
        let tensor =
            Tensor::from_f32(shape.to_vec(), values).map_err(|_| ReferenceError::Unmade("a constant"))?;
        let name = format!("reference {}", self.graph.values.len());
        Ok(self.graph.add_constant(name, tensor))
    }

    /// Adds a constant that is sent to L2.
    fn sent(&mut self, shape: &[usize], values: &[f32]) -> Result<ValueId, ReferenceError> {
        let sent = |&value: &f32| match self.constants {
            Constants::Machine => val(bf(value)),
            Constants::Exact => value,
        };
        let values = values.iter().map(sent).collect();
        self.exactly(shape, values)
    }

    fn number(&mut self, value: f32) -> Result<ValueId, ReferenceError> {
        self.sent(&[1], &[value])
    }

    /// Returns an operand of the machine.
    fn operand(&mut self, id: ValueId) -> Result<ValueId, ReferenceError> {
        let Some(tensor) = self.graph.constant(id).cloned() else { return Ok(id) };
        let values = tensor.as_f32().ok_or(ReferenceError::Unmade("an operand"))?;
        self.sent(tensor.shape(), values)
    }

    fn function(&mut self, function: CvoFunc, x: ValueId) -> Result<ValueId, ReferenceError> {
        let kind = match function {
            CvoFunc::Exp => UnaryKind::Exp,
            CvoFunc::Sqrt => UnaryKind::Sqrt,
            CvoFunc::Gelu => UnaryKind::Gelu { form: GeluForm::Tanh },
            CvoFunc::Sin => UnaryKind::Sin,
            CvoFunc::Cos => UnaryKind::Cos,
            CvoFunc::Tanh => UnaryKind::Tanh,
            CvoFunc::Recip => UnaryKind::Reciprocal,
            CvoFunc::Relu => return self.make(Relu, &[x]),
            CvoFunc::ReduceSum | CvoFunc::Scale | CvoFunc::Mul => {
                return Err(ReferenceError::Unmade("a function"));
            }
        };
        self.unary(kind, x)
    }

    /// Computes `1 / (1 + e^(-alpha x))`.
    fn sigmoid(&mut self, x: ValueId, alpha: f32) -> Result<ValueId, ReferenceError> {
        let (minus, one) = (self.number(-alpha)?, self.number(1.0)?);
        let scaled = self.binary(BinaryKind::Mul, x, minus)?;
        let power = self.unary(UnaryKind::Exp, scaled)?;
        let sum = self.binary(BinaryKind::Add, power, one)?;
        self.unary(UnaryKind::Reciprocal, sum)
    }

    /// Computes the softmax of each row; with a cap of scores, no maximum is subtracted.
    fn softmax(&mut self, mut x: ValueId, shifted: bool) -> Result<ValueId, ReferenceError> {
        if shifted {
            let largest = self.reduce(ReduceKind::Max, x)?;
            x = self.binary(BinaryKind::Sub, x, largest)?;
        }
        let powers = self.unary(UnaryKind::Exp, x)?;
        let sum = self.reduce(ReduceKind::Sum, powers)?;
        let share = self.unary(UnaryKind::Reciprocal, sum)?;
        self.binary(BinaryKind::Mul, powers, share)
    }

    fn matmul(&mut self, left: ValueId, right: ValueId) -> Result<ValueId, ReferenceError> {
        self.make(MatMul, &[left, right])
    }
}
