//! A graph computed in a prime field: [`walk`] goes from node to node, [`apply`] is one operator.
//!
//! Nothing rounds here. Sums, products and what is made of them are polynomials; maxima, signs and functions of one
//! element keep the laws that `npukit_numeric`'s [`Element`] documents. An operator that only moves elements is asked
//! where it moves them: its own evaluator computes with their numbers.
//!
//! | module | operators |
//! |---|---|
//! | `moved` | those that move elements |
//! | `pointwise` | those of one element, or of one of each operand |
//! | `products` | products of matrices and convolutions |
//! | `uninterpreted` | those without a rule, where both sides compute them by the same code |
//! | `windows` | pooling, reductions, means, and functions of several elements |

mod moved;
mod pointwise;
mod products;
mod uninterpreted;
mod windows;

use std::collections::BTreeMap;
use std::sync::Arc;

use npukit_numeric::{Element, ElementType, Tensor, TensorData};

use crate::eval::last_uses;
use crate::ir::{Graph, Node, ValueId};
use crate::op::{Op, Operator};

/// Elements of the field, row-major.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldTensor {
    /// Outermost axis first.
    pub shape: Vec<usize>,
    /// As many as the shape says.
    pub elements: Vec<Element>,
}

/// What numbers and functions are in the field.
pub trait Images {
    /// The image of a constant of the model, as a machine has it; none where it has none.
    fn constant(&self, value: f32) -> Option<Element>;

    /// A function of one element that is no polynomial, of each of `arguments`.
    ///
    /// # Errors
    ///
    /// A machine has something else in its place.
    fn function(&self, op: &Op, arguments: &[Element]) -> Result<Vec<Element>, NoImage> {
        let key = key(&op.to_string());
        Ok(arguments.iter().map(|&argument| Element::hashed(key, [argument])).collect())
    }

    /// The results of an operator that a machine computes in its own way; none where it does as [`apply`] does.
    fn operator(&self, _op: &Op, _operands: &Operands<'_>) -> Option<Result<Vec<FieldTensor>, NoImage>> {
        None
    }

    /// Whether operators are computed by the evaluator of graphs, whoever asks: those without a rule, and those of integers
    /// that are computed, are then functions of which nothing is known but that they are the same ones.
    fn is_evaluator(&self) -> bool {
        false
    }
}

/// The evaluator of graphs: every float as it is, and every operator a function.
#[derive(Clone, Copy, Debug, Default)]
pub struct Evaluator;

impl Images for Evaluator {
    fn constant(&self, value: f32) -> Option<Element> {
        Element::from_f32(value)
    }

    fn is_evaluator(&self) -> bool {
        true
    }
}

/// Every float as it is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Exact;

impl Images for Exact {
    fn constant(&self, value: f32) -> Option<Element> {
        Element::from_f32(value)
    }
}

/// An operand: constants stay numbers, since some of them say what an operator does.
#[derive(Clone, Debug)]
pub enum Operand {
    /// Elements of the field.
    Field(Arc<FieldTensor>),
    /// Numbers that the model fixes.
    Constant(Arc<Tensor>),
}

/// Why an operator has no image: what it is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoImage {
    /// There is no rule for the operator.
    #[error("its operator has no image in the field")]
    Operator,
    /// An operand is to be a constant.
    #[error("it needs an operand that is a constant")]
    Variable,
    /// A constant of no numbers that have an image.
    #[error("it has a constant that has no image in the field: an infinite one, for instance")]
    Constant,
    /// A table has its place on the machine.
    #[error("the machine looks its function up in tables, which are not compared with it")]
    Table,
    /// Numbers that are no floats.
    #[error("it computes with what are no floats")]
    Element,
}

/// A node whose results are not known in the field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The node.
    pub node: String,
    /// Its operator.
    pub op: String,
    /// Why.
    pub reason: NoImage,
}

/// A value of the graph in the field.
#[derive(Clone, Debug)]
pub enum Value {
    /// What it is.
    Known(Operand),
    /// Nobody knows, for the sake of the gap of this number.
    Unknown(usize),
}

/// What became of a graph.
#[derive(Clone, Debug)]
pub struct Walked {
    /// Its outputs, in their order.
    pub outputs: Vec<Value>,
    /// Nodes without an image.
    pub gaps: Vec<Gap>,
}

/// Computes a graph in the field; `inputs` are those of the graph, in their order and shapes. Constants become what
/// `images` of the node's number says, and nodes of constants alone are computed in `f32`. `observe` sees every value of
/// the field.
///
/// A graph that is not valid may have values that nobody computes: they count as gaps.
pub fn walk<'i>(
    graph: &Graph,
    inputs: Vec<FieldTensor>,
    images: &dyn Fn(usize) -> &'i dyn Images,
    mut observe: impl FnMut(ValueId, &FieldTensor),
) -> Walked {
    let mut values: BTreeMap<ValueId, Value> = BTreeMap::new();
    let mut gaps = Vec::new();
    for (&id, tensor) in graph.inputs.iter().zip(inputs) {
        observe(id, &tensor);
        values.insert(id, Value::Known(Operand::Field(Arc::new(tensor))));
    }
    let last_use = last_uses(graph);
    for (index, node) in graph.nodes.iter().enumerate() {
        let results = results(graph, node, &values, images(index)).unwrap_or_else(|gap| {
            let number = gap.unwrap_or_else(|reason| {
                gaps.push(Gap { node: node.name.clone(), op: node.op.name().to_owned(), reason });
                gaps.len() - 1
            });
            vec![Value::Unknown(number); node.outputs.len()]
        });
        for (&id, value) in node.outputs.iter().zip(results) {
            if let Value::Known(Operand::Field(tensor)) = &value {
                observe(id, tensor);
            }
            values.insert(id, value);
        }
        for id in node.inputs.iter().chain(&node.outputs) {
            if last_use.get(id.0 as usize).is_some_and(|last| last.is_none_or(|last| last <= index)) {
                values.remove(id);
            }
        }
    }
    let outputs = graph.outputs.iter().map(|&id| {
        value(graph, &values, id).unwrap_or_else(|| {
            let (node, op) = (graph.value(id).name.clone(), "outputs".to_owned());
            gaps.push(Gap { node, op, reason: NoImage::Variable });
            Value::Unknown(gaps.len() - 1)
        })
    });
    let outputs = outputs.collect();
    Walked { outputs, gaps }
}

/// A value that was computed, or a constant.
fn value(graph: &Graph, values: &BTreeMap<ValueId, Value>, id: ValueId) -> Option<Value> {
    let constant = || graph.constant(id).map(|tensor| Value::Known(Operand::Constant(Arc::clone(tensor))));
    values.get(&id).cloned().or_else(constant)
}

/// The results of a node.
///
/// # Errors
///
/// The number of the gap that an operand comes from, or why the node is one itself.
fn results(
    graph: &Graph,
    node: &Node,
    values: &BTreeMap<ValueId, Value>,
    images: &dyn Images,
) -> Result<Vec<Value>, Result<usize, NoImage>> {
    let operand = |&id: &ValueId| match value(graph, values, id) {
        Some(Value::Known(operand)) => Ok(operand),
        Some(Value::Unknown(gap)) => Err(Ok(gap)),
        None => Err(Err(NoImage::Variable)),
    };
    let operands = node.inputs.iter().map(operand).collect::<Result<Vec<_>, _>>()?;
    let results = apply_node(graph, node, &operands, images).map_err(Err)?;
    Ok(results.into_iter().map(Value::Known).collect())
}

/// The results of a node of a graph; where the evaluator computes them and there is no rule, a function of all operands.
///
/// # Errors
///
/// Why there are none in the field.
pub fn apply_node(
    graph: &Graph,
    node: &Node,
    operands: &[Operand],
    images: &dyn Images,
) -> Result<Vec<Operand>, NoImage> {
    let uninterpreted = || uninterpreted::apply(graph, node, operands);
    if !images.is_evaluator() {
        apply(&node.op, operands, images)
    } else if uninterpreted::is_of_integers(graph, node, operands) {
        Ok(uninterpreted())
    } else {
        // Default: an operator without a rule.
        Ok(apply(&node.op, operands, images).unwrap_or_else(|_| uninterpreted()))
    }
}

/// The elements of a constant of any type that is handed out as it is: integers and truth values are themselves, and what
/// has no image is an element of its own.
pub fn constant_elements(tensor: &Tensor, images: &dyn Images) -> Vec<Element> {
    match tensor.data() {
        TensorData::F32(numbers) => {
            let own = |x: f32| Element::hashed(NO_NUMBER, [Element::from_integer(x.to_bits().into())]);
            numbers.iter().map(|&x| images.constant(x).unwrap_or_else(|| own(x))).collect()
        }
        TensorData::I64(numbers) => numbers.iter().map(|&x| Element::from_integer(x)).collect(),
        TensorData::I32(numbers) => numbers.iter().map(|&x| Element::from_integer(x.into())).collect(),
        TensorData::Bool(truths) => truths.iter().map(|&truth| Element::from_integer(truth.into())).collect(),
    }
}

/// Key of the elements for infinities and NaN.
const NO_NUMBER: u64 = 0x4e61;

/// The results of an operator. Those of constants alone are constants.
///
/// # Errors
///
/// Why there are none in the field.
pub fn apply(op: &Op, operands: &[Operand], images: &dyn Images) -> Result<Vec<Operand>, NoImage> {
    let constants: Option<Vec<&Tensor>> = operands.iter().map(Operand::tensor).collect();
    if let Some(constants) = constants.filter(|constants| !constants.is_empty()) {
        let results = op.eval(&constants).map_err(|_| NoImage::Operator)?;
        return Ok(results.into_iter().map(|tensor| Operand::Constant(Arc::new(tensor))).collect());
    }
    let operands = Operands { list: operands, images };
    let results = images.operator(op, &operands).unwrap_or_else(|| operands.applied(op))?;
    Ok(results.into_iter().map(|tensor| Operand::Field(Arc::new(tensor))).collect())
}

impl Operand {
    /// The numbers of a constant.
    fn tensor(&self) -> Option<&Tensor> {
        match self {
            Self::Constant(tensor) => Some(tensor),
            Self::Field(_) => None,
        }
    }

    fn shape(&self) -> &[usize] {
        match self {
            Self::Constant(tensor) => tensor.shape(),
            Self::Field(tensor) => &tensor.shape,
        }
    }

    fn element(&self) -> ElementType {
        self.tensor().map_or(ElementType::F32, Tensor::element)
    }
}

/// The operands of an operator.
pub struct Operands<'a> {
    list: &'a [Operand],
    images: &'a dyn Images,
}

impl Operands<'_> {
    fn get(&self, index: usize) -> Result<&Operand, NoImage> {
        self.list.get(index).ok_or(NoImage::Variable)
    }

    /// An operand in the field, constants by their images.
    ///
    /// # Errors
    ///
    /// An operand that is not there, or has no image.
    pub fn field(&self, index: usize) -> Result<Arc<FieldTensor>, NoImage> {
        match self.get(index)? {
            Operand::Field(tensor) => Ok(Arc::clone(tensor)),
            Operand::Constant(tensor) => self.image(tensor).map(Arc::new),
        }
    }

    /// An operand that may not be there.
    fn optional(&self, index: usize) -> Result<Option<Arc<FieldTensor>>, NoImage> {
        if index < self.list.len() { self.field(index).map(Some) } else { Ok(None) }
    }

    fn image(&self, tensor: &Tensor) -> Result<FieldTensor, NoImage> {
        let numbers = tensor.as_f32().ok_or(NoImage::Element)?;
        let elements = numbers.iter().map(|&number| self.constant(number)).collect::<Result<_, _>>()?;
        Ok(FieldTensor { shape: tensor.shape().to_vec(), elements })
    }

    /// All operands.
    pub fn all(&self) -> &[Operand] {
        self.list
    }

    /// The results of another operator of the same operands.
    ///
    /// # Errors
    ///
    /// Why there are none in the field.
    pub fn applied(&self, op: &Op) -> Result<Vec<FieldTensor>, NoImage> {
        let found = moved::apply(op, self)
            .or_else(|| pointwise::apply(op, self))
            .or_else(|| products::apply(op, self))
            .or_else(|| windows::apply(op, self));
        found.unwrap_or(Err(NoImage::Operator)) // Default: an operator of no module.
    }

    /// The image of a number.
    ///
    /// # Errors
    ///
    /// It has none.
    pub fn constant(&self, number: f32) -> Result<Element, NoImage> {
        self.images.constant(number).ok_or(NoImage::Constant)
    }
}

/// A key of [`Element::hashed`] for a text.
pub fn key(text: &str) -> u64 {
    Element::hashed(0, text.bytes().map(|byte| Element::from_integer(byte.into()))).bits()
}

#[cfg(test)]
mod tests;
