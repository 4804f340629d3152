//! Operators without a rule, treated as uninterpreted functions of all their operands.
//!
//! Two nodes have the same results if operator, attributes and operands are equal. Otherwise their
//! results are pseudorandom and unrelated. The only assumption is that the operator is a function.

use std::sync::Arc;

use npukit_numeric::{Element, Tensor, TensorData};

use super::{FieldTensor, Operand, key};
use crate::ir::{Graph, Node, ValueId};

/// Returns the results of a node, in the shapes recorded in the graph.
pub(super) fn apply(graph: &Graph, node: &Node, operands: &[Operand]) -> Vec<Operand> {
    let all = operands.iter().map(digest);
    // Debug output has all attributes with their names; the display form may omit some.
    let all = Element::hashed(key(&format!("{:?}", node.op)), all);
    let result = |(number, &id): (u64, _)| {
        let shape = graph.shape(id).to_vec();
        let count = shape.iter().product();
        let seed = Element::hashed(number, [all]).bits();
        Operand::Field(Arc::new(FieldTensor { shape, elements: Element::random(seed).take(count).collect() }))
    };
    (0..).zip(&node.outputs).map(result).collect()
}

/// Whether a node computes with types other than floats. The laws of the field do not hold for
/// integers, which wrap around and round quotients.
pub(super) fn is_of_integers(graph: &Graph, node: &Node, operands: &[Operand]) -> bool {
    let is_float = |&id: &ValueId| graph.value(id).info.element.is_float();
    let is_constant = |operand: &Operand| matches!(operand, Operand::Constant(_));
    let mut variables = node.inputs.iter().zip(operands).filter(|(_, operand)| !is_constant(operand));
    let is_known = operands.iter().all(is_constant);
    !is_known && (!variables.all(|(id, _)| is_float(id)) || !node.outputs.iter().all(is_float))
}

/// Returns an element that depends on the whole operand. It distinguishes constants from elements,
/// and shapes from each other.
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

/// Returns the bits of a constant's numbers; NaN and infinities have bits, too.
fn numbers(tensor: &Tensor) -> Vec<Element> {
    let element = |bits: i64| Element::from_integer(bits);
    match tensor.data() {
        TensorData::F32(numbers) => numbers.iter().map(|x| element(x.to_bits().into())).collect(),
        // Field elements are shorter than 64 bits: split into halves.
        TensorData::I64(numbers) => {
            numbers.iter().flat_map(|x| [x >> 32, x & 0xffff_ffff].map(element)).collect()
        }
        TensorData::I32(numbers) => numbers.iter().map(|&x| element(x.into())).collect(),
        TensorData::Bool(truths) => truths.iter().map(|&truth| element(truth.into())).collect(),
    }
}
