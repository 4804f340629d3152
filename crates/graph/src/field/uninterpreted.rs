//! Operators without a rule: functions of all that they are given, of which nothing else is known.
//!
//! Two nodes have the same results where operator, attributes and operands are the same, and look random beside each other
//! else. So nothing is taken for granted of the operator but that it is a function.

use std::sync::Arc;

use npukit_numeric::{Element, Tensor, TensorData};

use super::{FieldTensor, Operand, key};
use crate::ir::{Graph, Node, ValueId};

/// The results of a node, in the shapes that the graph has for them.
pub(super) fn apply(graph: &Graph, node: &Node, operands: &[Operand]) -> Vec<Operand> {
    let all = operands.iter().map(digest);
    // Names of attributes and their numbers: what is printed for readers may leave some out.
    let all = Element::hashed(key(&format!("{:?}", node.op)), all);
    let result = |(number, &id): (u64, _)| {
        let shape = graph.shape(id).to_vec();
        let count = shape.iter().product();
        let seed = Element::hashed(number, [all]).bits();
        Operand::Field(Arc::new(FieldTensor { shape, elements: Element::random(seed).take(count).collect() }))
    };
    (0..).zip(&node.outputs).map(result).collect()
}

/// Whether a node computes with what are no floats: the laws of the field are not theirs, since they wrap around, and their
/// quotients are rounded.
pub(super) fn is_of_integers(graph: &Graph, node: &Node, operands: &[Operand]) -> bool {
    let is_float = |&id: &ValueId| graph.value(id).info.element.is_float();
    let is_constant = |operand: &Operand| matches!(operand, Operand::Constant(_));
    let mut variables = node.inputs.iter().zip(operands).filter(|(_, operand)| !is_constant(operand));
    let is_known = operands.iter().all(is_constant);
    !is_known && (!variables.all(|(id, _)| is_float(id)) || !node.outputs.iter().all(is_float))
}

/// An element for all that an operand is: constants are told from elements, and shapes from each other.
fn digest(operand: &Operand) -> Element {
    let shape = || operand.shape().iter().map(|&size| Element::from_integer(size as i64));
    match operand {
        Operand::Field(tensor) => {
            let shape = Element::hashed(0, shape());
            Element::hashed(1, std::iter::once(shape).chain(tensor.elements.iter().copied()))
        }
        Operand::Constant(tensor) => {
            let kind = key(&format!("{:?}", tensor.element()));
            let shape = Element::hashed(kind, shape());
            Element::hashed(2, std::iter::once(shape).chain(numbers(tensor)))
        }
    }
}

/// The bits of a constant's numbers: what is no number has some, too.
fn numbers(tensor: &Tensor) -> Vec<Element> {
    let element = |bits: i64| Element::from_integer(bits);
    match tensor.data() {
        TensorData::F32(numbers) => numbers.iter().map(|x| element(x.to_bits().into())).collect(),
        // No integer of the field is as long: in halves.
        TensorData::I64(numbers) => {
            numbers.iter().flat_map(|x| [x >> 32, x & 0xffff_ffff].map(element)).collect()
        }
        TensorData::I32(numbers) => numbers.iter().map(|&x| element(x.into())).collect(),
        TensorData::Bool(truths) => truths.iter().map(|&truth| element(truth.into())).collect(),
    }
}
