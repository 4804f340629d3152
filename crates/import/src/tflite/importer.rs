//! [`import`]: from the tables of a file to a graph, operator by operator, in the file's order.

use std::collections::{HashMap, HashSet};

use npukit_graph::op::{DequantizeLinear, Op, Operator, QuantizeLinear, Reshape};
use npukit_graph::{ValueId, ValueInfo};
use npukit_numeric::{ElementType, Tensor, TensorData};

use super::Options;
use super::context::Context;
use super::model::{self, Model, Scales};
use super::ops;
use crate::builder::{Builder, FOLDING_ROOM, Names, first};
use crate::elements::{from_raw, typed};
use crate::error::{ImportError, NodeProblem, Reason};
use crate::format::Format;
use crate::node::NodeBuilder;
use crate::open::{self, Dimension, OpenInput};
use crate::remark::Imported;
use crate::shape::{shape, tensor};
use crate::tensorflow::Blocks;

/// A model being imported.
struct Importer<'a> {
    model: &'a Model<'a>,
    builder: Builder,
    /// Names of the tensors, each once.
    names: Vec<String>,
    /// What the tensors are in the graph, as far as they are known.
    values: HashMap<usize, ValueId>,
    /// The real numbers that tensors of integers stand for.
    reals: HashMap<usize, ValueId>,
    /// Tensors that are not known because of a problem that is recorded.
    failed: HashSet<usize>,
    /// Values that bear the name of a tensor.
    renamed: HashSet<ValueId>,
    blocks: Blocks,
    problems: Vec<NodeProblem>,
}

/// The graph of `model`, read from a file of `size_bytes`.
pub(super) fn import(
    model: &Model<'_>,
    name: &str,
    options: &Options,
    size_bytes: usize,
) -> Result<Imported, ImportError> {
    let mut unique = Names::new(HashSet::new());
    let named = |(i, tensor): (usize, &model::Tensor<'_>)| match tensor.name.as_str() {
        "" => unique.unique(&format!("tensor_{i}")),
        name => unique.unique(name),
    };
    let names: Vec<String> = model.tensors.iter().enumerate().map(named).collect();
    let reserved = names.iter().cloned().collect();
    let mut importer = Importer {
        model,
        builder: Builder::new(name, reserved, size_bytes.saturating_add(FOLDING_ROOM)),
        names,
        values: HashMap::new(),
        reals: HashMap::new(),
        failed: HashSet::new(),
        renamed: HashSet::new(),
        blocks: Blocks::default(),
        problems: Vec::new(),
    };
    let mut remarks = Vec::new();
    importer.add_inputs(options, &mut remarks)?;
    let wanted = importer.wanted(options)?;
    importer.check_results()?;
    for operator in &model.operators {
        importer.add_operator(operator);
    }
    importer.add_outputs(&wanted);
    if !importer.problems.is_empty() {
        return Err(ImportError::Problems { problems: importer.problems });
    }
    importer.builder.graph.remove_dead();
    Ok(Imported { graph: importer.builder.graph, remarks, defaults: Vec::new() })
}

/// The tensor of a number, unless there is none.
fn index(number: i32, count: usize) -> Option<usize> {
    usize::try_from(number).ok().filter(|&index| index < count)
}

impl<'a> Importer<'a> {
    fn problem(&mut self, node: &str, op: &str, reason: Reason) {
        self.problems.push(NodeProblem::new(Format::TensorFlowLite, node, op, reason));
    }

    /// The tensors of numbers that must be legal.
    fn indices(&self, numbers: &[i32], what: &str) -> Result<Vec<usize>, ImportError> {
        let one = |&number: &i32| {
            index(number, self.names.len()).ok_or_else(|| ImportError::NotModel {
                format: Format::TensorFlowLite,
                offset: 0,
                reason: format!("{what} is tensor {number}, of {}", self.names.len()),
            })
        };
        numbers.iter().map(one).collect()
    }

    fn add_inputs(
        &mut self,
        options: &Options,
        remarks: &mut Vec<crate::remark::Remark>,
    ) -> Result<(), ImportError> {
        let mut indices = self.indices(&self.model.inputs, "an input")?;
        let mut seen = HashSet::new();
        indices.retain(|&index| seen.insert(index));
        let stated = |&index: &usize| {
            let tensor = &self.model.tensors[index];
            let sizes = if tensor.signature.is_empty() { &tensor.shape } else { &tensor.signature };
            let dimension = |&size: &i32| match usize::try_from(size) {
                Ok(size) => Dimension::sized(size),
                Err(_) => Dimension::open(None),
            };
            let dimensions = Some(sizes.iter().map(dimension).collect());
            OpenInput { name: self.names[index].clone(), dimensions }
        };
        let mut inputs: Vec<OpenInput> = indices.iter().map(stated).collect();
        let available = || inputs.iter().map(|input| input.name.clone()).collect::<Vec<_>>();
        if let Some(name) =
            options.shapes.keys().chain(options.values.keys()).find(|&name| !available().contains(name))
        {
            return Err(ImportError::UnknownName {
                kind: "input",
                name: name.clone(),
                available: available(),
            });
        }
        open::fix(&mut inputs, options, remarks)?;
        open::check(&inputs)?;
        for (index, input) in indices.into_iter().zip(inputs) {
            let info = self.input(index, &input.sizes());
            let values = &options.values;
            match info.and_then(|info| self.builder.input_or_constant(&input.name, info, values)) {
                Ok(id) => {
                    self.values.insert(index, id);
                }
                Err(reason) => {
                    self.failed.insert(index);
                    self.problem(&input.name, "input", reason);
                }
            }
        }
        Ok(())
    }

    fn input(&self, index: usize, sizes: &[usize]) -> Result<ValueInfo, Reason> {
        let sizes: Vec<i64> = sizes.iter().map(|&size| i64::try_from(size).unwrap_or(i64::MAX)).collect();
        Ok(ValueInfo { shape: shape(&sizes)?, element: model::element_type(self.model.tensors[index].kind)? })
    }

    /// The outputs: the caller's, else the model's.
    fn wanted(&self, options: &Options) -> Result<Vec<usize>, ImportError> {
        if options.outputs.is_empty() {
            let outputs = self.indices(&self.model.outputs, "an output")?;
            let available = || self.names.clone();
            return if outputs.is_empty() {
                Err(ImportError::NoOutputs { available: available() })
            } else {
                Ok(outputs)
            };
        }
        let one = |name: &String| {
            self.names.iter().position(|known| known == name).ok_or_else(|| ImportError::UnknownName {
                kind: "value",
                name: name.clone(),
                available: self.names.clone(),
            })
        };
        options.outputs.iter().map(one).collect()
    }

    /// Refuses a tensor that two operators make, or that is an input or a constant and made.
    fn check_results(&self) -> Result<(), ImportError> {
        let mut made: HashSet<usize> = self.values.keys().chain(&self.failed).copied().collect();
        let results = self.model.operators.iter().flat_map(|operator| &operator.outputs);
        for tensor in results.filter_map(|&number| index(number, self.names.len())) {
            if !made.insert(tensor) || !self.model.tensors[tensor].data.is_empty() {
                return Err(ImportError::NotModel {
                    format: Format::TensorFlowLite,
                    offset: 0,
                    reason: format!("tensor {tensor} is made twice, or made though it is given"),
                });
            }
        }
        Ok(())
    }

    /// Translates one operator, unless something it needs failed.
    fn add_operator(&mut self, operator: &'a model::Operator<'a>) {
        let count = self.names.len();
        let results: Vec<usize> =
            operator.outputs.iter().filter_map(|&number| index(number, count)).collect();
        let name = results
            .first()
            .map_or_else(|| "(without results)".to_owned(), |&index| self.names[index].clone());
        let op = ops::name_of(operator);
        match self.translate(operator, &results, &name) {
            Ok(true) => {}
            Ok(false) => self.failed.extend(results),
            Err(reason) => {
                self.failed.extend(results);
                self.problem(&name, &op, reason);
            }
        }
    }

    /// Says whether all that the operator needs is known.
    fn translate(
        &mut self,
        operator: &'a model::Operator<'a>,
        results: &[usize],
        name: &str,
    ) -> Result<bool, Reason> {
        let unknown = || Reason::Operator { operator: ops::name_of(operator) };
        let (op, handler) = ops::handler(operator).ok_or_else(unknown)?;
        let mut operands = Vec::new();
        for &number in &operator.inputs {
            let operand = match number {
                -1 => None,
                number => {
                    let undefined = || Reason::Undefined { name: format!("tensor {number}") };
                    let tensor = index(number, self.names.len()).ok_or_else(undefined)?;
                    if self.failed.contains(&tensor) {
                        return Ok(false);
                    }
                    Some(self.real(tensor)?)
                }
            };
            operands.push(operand);
        }
        let result = match results.first() {
            Some(&first) => self.result_type(first)?,
            None => return Err(Reason::Output { index: 0, name: name.to_owned() }),
        };
        let mark = self.builder.graph.values.len();
        let node = (op, name.to_owned(), result);
        let mut context = Context::new(&mut self.builder, node, operands, operator.options, &mut self.blocks);
        let values = handler(&mut context)?;
        context.finish()?;
        for (place, &tensor) in results.iter().enumerate() {
            let missing = || Reason::Output { index: place, name: self.names[tensor].clone() };
            let value = *values.get(place).ok_or_else(missing)?;
            self.bind(tensor, value, mark)?;
        }
        Ok(true)
    }

    /// The type that a handler gives a result.
    fn result_type(&self, index: usize) -> Result<ElementType, Reason> {
        let tensor = &self.model.tensors[index];
        let element = model::element_type(tensor.kind)?;
        Ok(if tensor.scales.is_some() { ElementType::F32 } else { element })
    }

    /// Records that a tensor is what a handler made, or the integers that stand for it.
    fn bind(&mut self, index: usize, value: ValueId, mark: usize) -> Result<(), Reason> {
        let (name, tensor) = (self.names[index].clone(), &self.model.tensors[index]);
        let id = match (&tensor.scales, model::element_type(tensor.kind)?) {
            (Some(scales), to) => {
                let (axis, operands) = self.scales(&name, scales, to, value)?;
                let precision = ElementType::F32;
                let op = QuantizeLinear { to, axis, block: 0, saturate: true, precision };
                first(&self.builder.emit(&name, op.into(), operands)?, &name)?
            }
            (None, _) => value,
        };
        // Older values came in under their own name: this operator passes them through.
        let is_new = id.0 as usize >= mark && self.renamed.insert(id);
        if is_new && self.builder.graph.constant(id).is_none() {
            self.builder.rename(id, &name);
        }
        self.values.insert(index, id);
        Ok(())
    }

    /// The axis of scales, and the operands that QuantizeLinear and DequantizeLinear have with `value`.
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
            // One zero point, or none where all are 0, for every scale.
            zeros = zeros.first().copied().map_or_else(|| vec![0; count], |zero| vec![zero; count]);
        }
        let zero = typed(element, shape, TensorData::I32(zeros))?;
        let operands = [scale, zero].map(|tensor| self.builder.constant(name, tensor));
        Ok((axis, [value].into_iter().chain(operands).collect()))
    }

    /// A tensor as the real numbers that it stands for.
    fn real(&mut self, index: usize) -> Result<ValueId, Reason> {
        if let Some(&known) = self.reals.get(&index) {
            return Ok(known);
        }
        let value = self.value(index)?;
        let tensor = &self.model.tensors[index];
        let Some(scales) = &tensor.scales else { return Ok(value) };
        let name = format!("{}/real", self.names[index]);
        let (axis, operands) = self.scales(&name, scales, model::element_type(tensor.kind)?, value)?;
        let op = Op::from(DequantizeLinear { to: ElementType::F32, axis, block: 0 });
        let constants = operands.iter().map(|&id| self.builder.graph.constant(id).cloned());
        let single = self.builder.graph.shape(value).iter().product::<usize>() == 1;
        let real = match constants.collect::<Option<Vec<_>>>().filter(|_| single) {
            // A number that operators look at, as what PadV2 pads with.
            Some(constants) => {
                let tensors = op.eval(&constants.iter().map(AsRef::as_ref).collect::<Vec<&Tensor>>())?;
                let number = tensors.into_iter().next().ok_or(Reason::Undefined { name: name.clone() })?;
                self.builder.constant(&name, number)
            }
            None => first(&self.builder.emit(&name, op, operands)?, &name)?,
        };
        self.reals.insert(index, real);
        Ok(real)
    }

    /// What a tensor is in the graph: known, or a constant of the file.
    fn value(&mut self, index: usize) -> Result<ValueId, Reason> {
        if let Some(&known) = self.values.get(&index) {
            return Ok(known);
        }
        let (tensor, name) = (&self.model.tensors[index], &self.names[index]);
        if tensor.is_variable {
            return Err(Reason::TensorKind { kind: "variable" });
        }
        if tensor.is_sparse {
            return Err(Reason::TensorKind { kind: "sparse" });
        }
        let sizes: Vec<i64> = tensor.shape.iter().map(|&size| size.into()).collect();
        let shape = shape(&sizes)?;
        if tensor.data.is_empty() && shape.iter().product::<usize>() != 0 {
            return Err(Reason::Undefined { name: name.clone() });
        }
        self.builder.reserve(&shape)?;
        let constant = from_raw(model::element_type(tensor.kind)?, shape, tensor.data)?;
        let id = self.builder.graph.add_constant(name.clone(), constant);
        self.values.insert(index, id);
        Ok(id)
    }

    /// Adds the outputs under their names.
    fn add_outputs(&mut self, wanted: &[usize]) {
        for &index in wanted {
            if self.failed.contains(&index) {
                continue;
            }
            let name = self.names[index].clone();
            match self.value(index).and_then(|id| self.named(id, &name)) {
                Ok(id) => self.builder.graph.outputs.push(id),
                Err(reason) => self.problem(&name, "output", reason),
            }
        }
    }

    /// The value under that name: a copy, where it has another.
    fn named(&mut self, id: ValueId, name: &str) -> Result<ValueId, Reason> {
        let graph = &self.builder.graph;
        if graph.value(id).name == name && graph.constant(id).is_none() && !graph.outputs.contains(&id) {
            return Ok(id);
        }
        let shape = graph.shape(id).to_vec();
        let copy = first(&self.builder.emit(name, Reshape { shape }.into(), vec![id])?, name)?;
        self.builder.rename(copy, name);
        Ok(copy)
    }
}
