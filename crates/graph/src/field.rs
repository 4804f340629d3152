//! Computation of a graph in a prime field: [`walk`] goes from node to node, [`apply`] computes one
//! operator.
//!
//! Nothing rounds here. Sums and products yield polynomials. Maxima, signs and functions of one
//! element keep the laws that `npukit_numeric`'s [`Element`] documents. For an operator that only
//! moves elements, its own evaluator moves their numbers.
//!
//! | module | operators |
//! |---|---|
//! | `moved` | operators that move elements |
//! | `pointwise` | elementwise operators of one or two operands |
//! | `products` | matrix products and convolutions |
//! | `uninterpreted` | operators without a rule, which both sides compute by the same code |
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

/// A tensor of field elements, row-major.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldTensor {
    /// Size of each axis, outermost first.
    pub shape: Vec<usize>,
    /// Elements; their number is the product of the shape.
    pub elements: Vec<Element>,
}

/// Mapping of numbers and functions to the field.
pub trait Images {
    /// Returns the image of a model constant as a machine stores it; `None` without an image.
    fn constant(&self, value: f32) -> Option<Element>;

    /// Returns the images of a non-polynomial elementwise function `op` for each of `arguments`.
    ///
    /// # Errors
    ///
    /// The machine computes another function instead.
    fn function(&self, op: &Op, arguments: &[Element]) -> Result<Vec<Element>, NoImage> {
        let key = key(&op.to_string());
        Ok(arguments.iter().map(|&argument| Element::hashed(key, [argument])).collect())
    }

    /// Returns the results of an operator that a machine computes in its own way; `None` if
    /// [`apply`] is right for it.
    fn operator(&self, _op: &Op, _operands: &Operands<'_>) -> Option<Result<Vec<FieldTensor>, NoImage>> {
        None
    }

    /// Whether both sides compute operators by the graph evaluator. Then operators without a rule,
    /// and integer operators, are treated as uninterpreted functions.
    fn is_evaluator(&self) -> bool {
        false
    }
}

/// Images of the graph evaluator: every float is exact, and every operator is a function.
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

/// Images in which every float is exact.
#[derive(Clone, Copy, Debug, Default)]
pub struct Exact;

impl Images for Exact {
    fn constant(&self, value: f32) -> Option<Element> {
        Element::from_f32(value)
    }
}

/// An operand. Constants stay numbers, since some of them are parameters of an operator.
#[derive(Clone, Debug)]
pub enum Operand {
    /// Field elements.
    Field(Arc<FieldTensor>),
    /// Numbers fixed by the model.
    Constant(Arc<Tensor>),
}

/// Reason why an operator has no image in the field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoImage {
    /// The operator has no rule.
    #[error("its operator has no rule in the field")]
    Operator,
    /// An operand must be a constant, but is not.
    #[error("it needs a constant operand")]
    Variable,
    /// A constant contains a number without an image.
    #[error("it has a constant without a value in the field, such as infinity")]
    Constant,
    /// The machine uses a lookup table instead.
    #[error("the machine computes it with lookup tables, which are not compared")]
    Table,
    /// The operator computes with types other than floats.
    #[error("it computes with types other than floats")]
    Element,
}

/// A node whose results are unknown in the field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gap {
    /// Name of the node.
    pub node: String,
    /// Operator of the node.
    pub op: String,
    /// Reason why the results are unknown.
    pub reason: NoImage,
}

/// A value of the graph in the field.
#[derive(Clone, Debug)]
pub enum Value {
    /// The value is known.
    Known(Operand),
    /// The value is unknown because of the gap with this index.
    Unknown(usize),
}

/// Result of computing a graph in the field.
#[derive(Clone, Debug)]
pub struct Walked {
    /// Outputs of the graph, in order.
    pub outputs: Vec<Value>,
    /// Nodes without an image.
    pub gaps: Vec<Gap>,
}

/// Computes a graph in the field; `inputs` are in the order of the graph's inputs and have their
/// shapes. `images`, called with the index of a node, returns the mapping of constants. Nodes with
/// constant operands only are computed in `f32`. `observe` sees every value of the field.
///
/// In an invalid graph, values without a producer are gaps.
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

/// Returns a value that was computed, or a constant.
fn value(graph: &Graph, values: &BTreeMap<ValueId, Value>, id: ValueId) -> Option<Value> {
    let constant = || graph.constant(id).map(|tensor| Value::Known(Operand::Constant(Arc::clone(tensor))));
    values.get(&id).cloned().or_else(constant)
}

/// Returns the results of a node.
///
/// # Errors
///
/// The index of the gap that an operand comes from, or the reason why the node is a gap itself.
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

/// Returns the results of a node of a graph. If the operator has no rule and both sides use the
/// evaluator, they are an uninterpreted function of all operands.
///
/// # Errors
///
/// The reason why the result is unknown in the field.
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

/// Returns the elements of a constant of any type that is used as it is. Integers and booleans map
/// to themselves; each number without an image gets a distinct element.
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

/// Returns the results of an operator; they are constants if all operands are.
///
/// # Errors
///
/// The reason why the result is unknown in the field.
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
    /// Returns the tensor of a constant.
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

    /// Returns an operand in the field; constants are mapped to their images.
    ///
    /// # Errors
    ///
    /// The operand is missing or has no image.
    pub fn field(&self, index: usize) -> Result<Arc<FieldTensor>, NoImage> {
        match self.get(index)? {
            Operand::Field(tensor) => Ok(Arc::clone(tensor)),
            Operand::Constant(tensor) => self.image(tensor).map(Arc::new),
        }
    }

    /// Returns an optional operand, if present.
    fn optional(&self, index: usize) -> Result<Option<Arc<FieldTensor>>, NoImage> {
        if index < self.list.len() { self.field(index).map(Some) } else { Ok(None) }
    }

    fn image(&self, tensor: &Tensor) -> Result<FieldTensor, NoImage> {
        let numbers = tensor.as_f32().ok_or(NoImage::Element)?;
        let elements = numbers.iter().map(|&number| self.constant(number)).collect::<Result<_, _>>()?;
        Ok(FieldTensor { shape: tensor.shape().to_vec(), elements })
    }

    /// Returns all operands.
    pub fn all(&self) -> &[Operand] {
        self.list
    }

    /// Returns the results of another operator on the same operands.
    ///
    /// # Errors
    ///
    /// The reason why the result is unknown in the field.
    pub fn applied(&self, op: &Op) -> Result<Vec<FieldTensor>, NoImage> {
        let found = moved::apply(op, self)
            .or_else(|| pointwise::apply(op, self))
            .or_else(|| products::apply(op, self))
            .or_else(|| windows::apply(op, self));
        found.unwrap_or(Err(NoImage::Operator)) // Default: an operator that no module covers.
    }

    /// Returns the image of a number.
    ///
    /// # Errors
    ///
    /// The number has no image.
    pub fn constant(&self, number: f32) -> Result<Element, NoImage> {
        self.images.constant(number).ok_or(NoImage::Constant)
    }
}

/// Returns a key for [`Element::hashed`] from a text.
pub fn key(text: &str) -> u64 {
    Element::hashed(0, text.bytes().map(|byte| Element::from_integer(byte.into()))).bits()
}

#[cfg(test)]
mod tests;
