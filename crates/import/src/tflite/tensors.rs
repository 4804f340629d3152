//! Tensors as values: constants of the file, quantized integers and their real numbers, and complex
//! numbers as pairs.

use npukit_graph::ValueId;
use npukit_graph::op::{
    Binary, BinaryKind, Cast, Concat, DequantizeLinear, Op, Operator, QuantizeLinear, Reshape, Slice,
    SliceRange,
};
use npukit_numeric::{ElementType, Tensor, TensorData};

use super::context::States;
use super::importer::Importer;
use super::model::{self, Scales};
use super::sparse;
use crate::builder::first;
use crate::elements::{from_raw, typed};
use crate::error::Reason;
use crate::node::NodeBuilder;
use crate::shape::{shape, tensor};

/// Operators that treat the real and imaginary parts of complex numbers separately.
const BY_PARTS: &[&str] = &[
    "ADD",
    "ADD_N",
    "CONCATENATION",
    "EXPAND_DIMS",
    "GATHER",
    "NEG",
    "PACK",
    "RESHAPE",
    "REVERSE_V2",
    "SLICE",
    "SPLIT",
    "SQUEEZE",
    "STRIDED_SLICE",
    "SUB",
    "SUM",
    "TRANSPOSE",
    "UNPACK",
];

/// Maximum number of elements of a sparse tensor per byte stored in the file.
const MAX_SPARSE: usize = 32;

impl Importer<'_> {
    /// Element type that a handler gives a result.
    pub(super) fn result_type(&self, index: usize) -> Result<ElementType, Reason> {
        let tensor = &self.frame.graph.tensors[index];
        let element = model::element_type(tensor.kind)?;
        Ok(if tensor.scales.is_some() { ElementType::F32 } else { element })
    }

    /// Binds a tensor to the result of a handler, or to its quantized integers.
    pub(super) fn bind(
        &mut self,
        index: usize,
        value: ValueId,
        mark: usize,
        away: bool,
    ) -> Result<(), Reason> {
        let name = self.frame.names[index].clone();
        let id = self.integers(index, value, &name, away)?;
        self.hold(index, id, mark);
        Ok(())
    }

    /// Binds a tensor to a value, and renames the value unless it already has a name.
    pub(super) fn hold(&mut self, index: usize, id: ValueId, mark: usize) {
        // Values created earlier keep their names: this operator passes them through.
        let is_new = self.depth == 0 && id.0 as usize >= mark && self.renamed.insert(id);
        if is_new && self.builder.graph.constant(id).is_none() {
            self.builder.rename(id, &self.frame.names[index]);
        }
        self.frame.values.insert(index, id);
    }

    /// Quantizes real numbers to the type of a tensor. Ties are rounded away from 0 if `away`,
    /// otherwise to even.
    pub(super) fn integers(
        &mut self,
        index: usize,
        value: ValueId,
        name: &str,
        away: bool,
    ) -> Result<ValueId, Reason> {
        let tensor = &self.frame.graph.tensors[index];
        let Some(scales) = &tensor.scales else { return Ok(value) };
        let to = model::element_type(tensor.kind)?;
        let (axis, operands) = self.scales(name, scales, to, value)?;
        let op = QuantizeLinear { to, axis, block: 0, saturate: true, precision: ElementType::F32, away };
        first(&self.builder.emit(name, op.into(), operands)?, name)
    }

    /// Axis of the scales, and the operands of QuantizeLinear and DequantizeLinear for `value`.
    fn scales(
        &mut self,
        name: &str,
        scales: &Scales,
        element: ElementType,
        value: ValueId,
    ) -> Result<(usize, Vec<ValueId>), Reason> {
        let count = scales.scale.len();
        let rank = self.builder.graph.shape(value).len();
        let (axis, shape) = match count {
            1 => (0, Vec::new()),
            _ => (NodeBuilder::axis("quantized_dimension", scales.axis.into(), rank)?, vec![count]),
        };
        let scale = tensor(shape.clone(), TensorData::F32(scales.scale.clone()))?;
        let mut zeros: Vec<i32> = scales
            .zero_point
            .iter()
            .map(|&zero| zero.clamp(i32::MIN.into(), i32::MAX.into()) as i32)
            .collect();
        if zeros.len() <= 1 {
            // One zero point, or an empty list (all are 0), applies to every scale.
            zeros = zeros.first().copied().map_or_else(|| vec![0; count], |zero| vec![zero; count]);
        }
        let zero = typed(element, shape, TensorData::I32(zeros))?;
        let operands = [scale, zero].map(|tensor| self.builder.constant(name, tensor));
        Ok((axis, [value].into_iter().chain(operands).collect()))
    }

    /// Returns a tensor as real numbers.
    pub(super) fn real(&mut self, index: usize) -> Result<ValueId, Reason> {
        if let Some(&known) = self.frame.reals.get(&index) {
            return Ok(known);
        }
        let value = self.value(index)?;
        let tensor = &self.frame.graph.tensors[index];
        let Some(scales) = &tensor.scales else { return Ok(value) };
        let name = format!("{}/real", self.frame.names[index]);
        let value = self.narrowed(value, &name)?;
        let element = self.builder.graph.value(value).info.element;
        if element == ElementType::I64 {
            let real = self.wide(value, scales, &name)?;
            self.frame.reals.insert(index, real);
            return Ok(real);
        }
        let (axis, operands) = self.scales(&name, scales, element, value)?;
        let op = Op::from(DequantizeLinear { to: ElementType::F32, axis, block: 0 });
        let constants = operands.iter().map(|&id| self.builder.graph.constant(id).cloned());
        let single = self.builder.graph.shape(value).iter().product::<usize>() == 1;
        let real = match constants.collect::<Option<Vec<_>>>().filter(|_| single) {
            // A number that operators examine, for example the padding value of PadV2.
            Some(constants) => {
                let tensors = op.eval(&constants.iter().map(AsRef::as_ref).collect::<Vec<&Tensor>>())?;
                let number = tensors.into_iter().next().ok_or(Reason::Undefined { name: name.clone() })?;
                self.builder.constant(&name, number)
            }
            None => first(&self.builder.emit(&name, op, operands)?, &name)?,
        };
        self.frame.reals.insert(index, real);
        Ok(real)
    }

    /// Narrows 64-bit constants to 32 bits if all their values fit, as biases of 16-bit activations
    /// do in most files.
    fn narrowed(&mut self, value: ValueId, name: &str) -> Result<ValueId, Reason> {
        let Some(constant) = self.builder.graph.constant(value) else { return Ok(value) };
        let TensorData::I64(wide) = constant.data() else { return Ok(value) };
        let narrow = wide.iter().map(|&number| i32::try_from(number)).collect::<Result<Vec<_>, _>>();
        let (Ok(narrow), ElementType::I64) = (narrow, constant.element()) else { return Ok(value) };
        let shape = constant.shape().to_vec();
        self.builder.reserve(&shape)?;
        Ok(self.builder.constant(name, typed(ElementType::I32, shape, TensorData::I32(narrow))?))
    }

    /// Multiplies 64-bit integers, which DequantizeLinear does not support, by their scales.
    fn wide(&mut self, value: ValueId, scales: &Scales, name: &str) -> Result<ValueId, Reason> {
        if scales.zero_point.iter().any(|&zero| zero != 0) {
            let (found, legal) = (format!("{:?}", scales.zero_point), "0 for integers of 64 bits".to_owned());
            return Err(Reason::AttributeValue { name: "zero_point", found, legal });
        }
        let shape = self.builder.graph.shape(value).to_vec();
        let mut spread = vec![1; shape.len()];
        if scales.scale.len() != 1 {
            let axis = NodeBuilder::axis("quantized_dimension", scales.axis.into(), shape.len())?;
            spread[axis] = scales.scale.len();
        }
        let scale = tensor(spread, TensorData::F32(scales.scale.clone()))?;
        let scale = self.builder.constant(name, scale);
        let floats = self.add(name, Cast::new(ElementType::F32), vec![value])?;
        self.add(name, Binary { kind: BinaryKind::Mul }, vec![floats, scale])
    }

    /// Returns the value of a tensor: a known value, or a constant of the file.
    pub(super) fn value(&mut self, index: usize) -> Result<ValueId, Reason> {
        if let Some(&known) = self.frame.values.get(&index) {
            return Ok(known);
        }
        let (tensor, name) = (&self.frame.graph.tensors[index], self.frame.names[index].clone());
        if tensor.is_variable {
            let id = self.state_of(index)?;
            self.frame.values.insert(index, id);
            return Ok(id);
        }
        let mut sizes: Vec<i64> = tensor.shape.iter().map(|&size| size.into()).collect();
        if tensor.kind == model::COMPLEX {
            sizes.push(2);
        }
        let shape = shape(&sizes)?;
        if tensor.data.is_empty() && shape.iter().product::<usize>() != 0 {
            return Err(Reason::Undefined { name });
        }
        if tensor.sparsity.is_some() {
            self.builder.allow(tensor.data.len().saturating_mul(MAX_SPARSE));
        }
        self.builder.reserve(&shape)?;
        let element = model::element_type(tensor.kind)?;
        let constant = match &tensor.sparsity {
            None => from_raw(element, shape, tensor.data)?,
            Some(parameters) => {
                let bytes = element.bits() / 8;
                if bytes == 0 {
                    return Err(Reason::TensorKind { kind: "sparse 4-bit" });
                }
                let dense = sparse::dense(parameters, &shape, bytes, tensor.data)?;
                from_raw(element, shape, &dense)?
            }
        };
        let id = match self.depth {
            0 => self.builder.graph.add_constant(name, constant),
            _ => self.builder.constant(&name, constant),
        };
        self.frame.values.insert(index, id);
        Ok(id)
    }

    /// For each operand, whether it is complex.
    pub(super) fn are_complex(&self, tensors: &[Option<usize>]) -> Vec<bool> {
        let kind = |index: usize| self.frame.graph.tensors[index].kind;
        tensors.iter().map(|tensor| tensor.is_some_and(|index| kind(index) == model::COMPLEX)).collect()
    }

    /// Applies an operator to both parts of complex numbers.
    pub(super) fn by_parts(
        &mut self,
        op: &'static str,
        name: &str,
        operands: Vec<Option<ValueId>>,
        complex: &[bool],
        apply: &mut impl FnMut(&mut Self, Vec<Option<ValueId>>) -> Result<(Vec<ValueId>, States), Reason>,
    ) -> Result<Vec<ValueId>, Reason> {
        if !BY_PARTS.contains(&op) {
            return Err(Reason::ElementType { name: format!("complex64 in {op}") });
        }
        let mut results = Vec::new();
        for part in 0..2 {
            let mut given = operands.clone();
            for (operand, _) in given.iter_mut().zip(complex).filter(|(_, complex)| **complex) {
                *operand = operand.map(|x| self.part(name, x, part)).transpose()?;
            }
            results.push(apply(self, given)?.0);
        }
        let [real, imaginary] = &results[..] else { return Ok(Vec::new()) };
        real.iter().zip(imaginary).map(|(&real, &imaginary)| self.pairs(name, [real, imaginary])).collect()
    }

    /// Returns the real or imaginary parts of complex numbers.
    fn part(&mut self, name: &str, x: ValueId, part: usize) -> Result<ValueId, Reason> {
        let mut shape = self.builder.graph.shape(x).to_vec();
        let axis = shape.len().saturating_sub(1);
        shape.pop();
        let ranges = vec![SliceRange { axis, start: part, length: 1, step: 1 }];
        let part = self.add(name, Slice { ranges }, vec![x])?;
        self.add(name, Reshape { shape }, vec![part])
    }

    fn pairs(&mut self, name: &str, parts: [ValueId; 2]) -> Result<ValueId, Reason> {
        let shape = self.builder.graph.shape(parts[0]).to_vec();
        let axis = shape.len();
        let mut apart = Vec::new();
        for part in parts {
            apart.push(self.add(name, Reshape { shape: [&shape[..], &[1]].concat() }, vec![part])?);
        }
        self.add(name, Concat { axis }, apart)
    }

    /// Adds an operator and returns its result.
    pub(super) fn add(
        &mut self,
        name: &str,
        op: impl Into<Op>,
        operands: Vec<ValueId>,
    ) -> Result<ValueId, Reason> {
        first(&self.builder.emit(name, op.into(), operands)?, name)
    }
}
