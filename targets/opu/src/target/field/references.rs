//! Graph that a program should compute: the model with its constants as the machine represents
//! them, [`of`].
//!
//! Layers define which nodes are computed together, and with which numbers. A node with products
//! gets these numbers; per-channel factors that were folded into them are removed; means become
//! convolutions with the machine's taps; a clip becomes the differences and ReLUs that implement
//! it.

use std::collections::HashMap;
use std::sync::Arc;

use npukit_graph::op::{Binary, BinaryKind, Conv, Gemm, LeakyRelu, Relu, Reshape};
use npukit_graph::quantize::{Kind, Quantization};
use npukit_graph::{Affine, Graph, Node, NodeId, Op, OpError, ValueId};
use npukit_numeric::Tensor;
use npukit_target::{Reference, TargetError};

use crate::config::Types;
use crate::lower::constants::Rounded;
use crate::lower::layer::Layer;
use crate::lower::layers::Model;
use crate::lower::product::{Part, Product, Weights};
use crate::lower::{Options, layers};
use crate::program::Program;
use crate::target::OpuInstance;
use crate::target::diagnose::lower_error;
use crate::target::scheme::scheme;

/// Reason why there is no such graph.
#[derive(Debug, thiserror::Error)]
enum ReferenceError {
    /// Several operands share one factor, but each was rounded separately.
    #[error("layer `{0}` multiplies a sum of several maps by factors, which is not covered")]
    Factors(String),
    /// A number cannot be represented as `f32`.
    #[error("layer `{layer}` has the constant {value} on the machine, which is not a 32-bit float")]
    Inexact {
        /// Name of the layer.
        layer: String,
        /// Value of the constant.
        value: f64,
    },
    /// A node's numbers do not belong to any product of its layer.
    #[error("node `{0}` does not match the computation of its layer")]
    Node(String),
    /// An operator does not fit its operands.
    #[error(transparent)]
    Op(#[from] OpError),
}

/// Returns the fraction lengths with which a program was made; `None` for floats.
pub(in crate::target) fn quantization_of(graph: &Graph, program: &Program) -> Option<Quantization> {
    let instance = OpuInstance::new(&program.instance, program.config.clone());
    let mut quantization = Quantization::new(scheme(&instance.config.types)?);
    for (id, value) in (0..).map(ValueId).zip(&graph.values) {
        if let Some(&fraction) = program.fractions.get(&value.name) {
            quantization.set(id, Kind::Activation, fraction);
        }
    }
    Some(quantization)
}

/// Returns the reference of a program.
///
/// # Errors
///
/// The instance does not accept the model with these fraction lengths, or the model uses an
/// uncovered case.
pub(super) fn of(graph: &Graph, program: &Program) -> Result<Reference, TargetError> {
    let config = &program.config;
    let quantization = quantization_of(graph, program);
    let options = Options { quantization: quantization.as_ref(), approximate: true, ..Options::default() };
    let model = layers(graph, config, options).map_err(lower_error)?;
    let made = |is_rounded| {
        Rewriter { graph: graph.clone(), source: graph, model: &model, types: &config.types, is_rounded }
            .rewritten()
            .map_err(TargetError::failed)
    };
    let [graph, unrounded] = [made(true)?, made(false)?];
    Ok(Reference { order: String::new(), graph, unrounded, approximated: Vec::new(), parts: Vec::new() })
}

/// Rewrites a graph node by node.
struct Rewriter<'a> {
    /// New graph, which keeps all values of the source.
    graph: Graph,
    source: &'a Graph,
    model: &'a Model,
    types: &'a Types,
    /// Whether constants are rounded to the machine's.
    is_rounded: bool,
}

/// Layer with its numbers.
struct Numbers<'a> {
    layer: &'a Layer,
    rounded: Rounded<'a>,
    is_rounded: bool,
}

impl Numbers<'_> {
    fn weight(&self, part: usize, row: usize, column: usize) -> Result<f32, ReferenceError> {
        if !self.is_rounded {
            let product = &self.layer.product;
            return Ok(product.weight(&product.parts[part], row, column));
        }
        self.single(self.rounded.weight(part, row, column))
    }

    fn biases(&self) -> Result<Option<Vec<f32>>, ReferenceError> {
        if !self.is_rounded {
            return Ok(self.layer.product.bias.clone());
        }
        let biases = self.rounded.biases();
        biases.map(|biases| biases.iter().map(|&bias| self.single(bias)).collect()).transpose()
    }

    fn single(&self, value: f64) -> Result<f32, ReferenceError> {
        let layer = || self.layer.name.clone();
        let single = value as f32;
        let is_exact = f64::from(single).to_bits() == value.to_bits() || value == 0.0;
        is_exact.then_some(single).ok_or_else(|| ReferenceError::Inexact { layer: layer(), value })
    }
}

/// Whether the operator computes products.
const fn is_linear(op: &Op) -> bool {
    matches!(op, Op::Conv(_) | Op::Gemm(_) | Op::MatMul(_) | Op::AveragePool(_) | Op::Reduce(_))
}

/// Whether the machine applies the operator in a `store`.
const fn is_activation(op: &Op) -> bool {
    matches!(op, Op::Relu(_) | Op::LeakyRelu(_))
}

/// Returns an activation as the machine computes it.
fn activation(op: &Op) -> Op {
    match op {
        Op::LeakyRelu(_) => LeakyRelu { alpha: 0.125 }.into(),
        op => op.clone(),
    }
}

impl<'a> Rewriter<'a> {
    fn rewritten(mut self) -> Result<Graph, ReferenceError> {
        // The last layer takes precedence: a clip that begins a layer may also be the only node of
        // the previous layer.
        let mut owners: HashMap<NodeId, usize> = HashMap::new();
        for (index, layer) in self.model.layers.iter().enumerate() {
            owners.extend(layer.nodes.iter().map(|&id| (id, index)));
        }
        self.graph.nodes.clear();
        for (number, node) in (0..).zip(&self.source.nodes) {
            let id = NodeId(number);
            match owners.get(&id) {
                Some(&owner) => self.node(id, node, owner)?,
                None => self.graph.nodes.push(node.clone()),
            }
        }
        Ok(self.graph)
    }

    fn numbers(&self, owner: usize) -> Numbers<'a> {
        let layer = &self.model.layers[owner];
        let rounded = Rounded::new(layer, &self.model.planes, self.types);
        Numbers { layer, rounded, is_rounded: self.is_rounded }
    }

    /// Returns the first node of the layer that uses its numbers: its own products, or factors.
    fn first_with_numbers(&self, layer: &Layer) -> Option<NodeId> {
        let affine = |id: NodeId| Affine::of(self.source, self.source.node(id)).is_some();
        let linear = layer.nodes.iter().copied().find(|&id| is_linear(&self.source.node(id).op));
        linear.or_else(|| layer.nodes.iter().copied().find(|&id| affine(id)))
    }

    fn node(&mut self, id: NodeId, node: &Node, owner: usize) -> Result<(), ReferenceError> {
        match &node.op {
            Op::MaxPool(_) => self.pool(node, owner),
            Op::Relu(_) | Op::LeakyRelu(_) if self.is_behind_pool(node, owner) => {
                let shape = self.source.shape(node.outputs[0]).to_vec();
                self.end(node, Reshape { shape }.into(), node.inputs.clone())
            }
            Op::LeakyRelu(_) => self.end(node, activation(&node.op), node.inputs.clone()),
            Op::Clip(_) => self.clip(id, node, owner),
            op if is_linear(op) => self.linear(id, node, owner),
            Op::Binary(Binary { kind: BinaryKind::Add }) if self.has_numbers_before_sums(id, owner) => {
                self.sum(node, owner)
            }
            _ => match Affine::of(self.source, node) {
                Some(affine) => self.affine(id, node, owner, affine.operand),
                None => {
                    self.graph.nodes.push(node.clone());
                    Ok(())
                }
            },
        }
    }

    /// Adds max pooling, after the activation that follows it in the same layer: activations are
    /// monotone, and the machine applies them first.
    fn pool(&mut self, node: &Node, owner: usize) -> Result<(), ReferenceError> {
        let mut nodes = self.model.layers[owner].nodes.iter().map(|&id| self.source.node(id));
        let behind =
            nodes.find(|next| is_activation(&next.op) && next.inputs.first() == node.outputs.first());
        let operand = match behind {
            Some(next) => self.between(activation(&next.op), vec![node.inputs[0]])?,
            None => node.inputs[0],
        };
        self.end(node, node.op.clone(), vec![operand])
    }

    /// Whether an activation follows max pooling in the same layer.
    fn is_behind_pool(&self, node: &Node, owner: usize) -> bool {
        let mut nodes = self.model.layers[owner].nodes.iter().map(|&id| self.source.node(id));
        nodes.any(|before| {
            matches!(before.op, Op::MaxPool(_)) && before.outputs.first() == node.inputs.first()
        })
    }

    /// Adds a node of products, with the numbers of its layer.
    fn linear(&mut self, id: NodeId, node: &Node, owner: usize) -> Result<(), ReferenceError> {
        let numbers = self.numbers(owner);
        let is_first = self.first_with_numbers(numbers.layer) == Some(id);
        let bias = numbers.biases()?.filter(|_| is_first);
        let bias = bias.map(|bias| self.constant(vec![bias.len()], bias)).transpose()?;
        let part = self.part(id, node, numbers.layer);
        match &node.op {
            Op::AveragePool(_) | Op::Reduce(_) => self.mean(node, &numbers, part, bias),
            op => {
                let part = part.ok_or_else(|| ReferenceError::Node(node.name.clone()))?;
                let weights = self.weights(node, &numbers, part)?;
                let inputs = [node.inputs[0], weights].into_iter();
                match (op, bias) {
                    (Op::Gemm(op), bias) => {
                        let op = Gemm { alpha: 1.0, beta: 1.0, ..op.clone() };
                        self.end(node, op.into(), inputs.chain(bias).collect())
                    }
                    (Op::MatMul(_), Some(bias)) => {
                        let product = self.between(op.clone(), inputs.collect())?;
                        self.end(node, Binary { kind: BinaryKind::Add }.into(), vec![product, bias])
                    }
                    (op, bias) => self.end(node, op.clone(), inputs.chain(bias).collect()),
                }
            }
        }
    }

    /// Returns the part of the layer's product to which the node belongs.
    fn part(&self, id: NodeId, node: &Node, layer: &Layer) -> Option<usize> {
        let matrix = |node: &Node| node.inputs.get(1).and_then(|&value| self.source.constant(value));
        let is_mean = |node: &Node| matches!(node.op, Op::AveragePool(_) | Op::Reduce(_));
        let alike = |other: &Node| match (is_mean(node), is_mean(other)) {
            (true, true) => true,
            (false, false) => matrix(node).zip(matrix(other)).is_some_and(|(a, b)| Arc::ptr_eq(a, b)),
            _ => false,
        };
        // If several nodes have the same matrix, each node is one part.
        let linear = layer.nodes.iter().filter(|&&id| is_linear(&self.source.node(id).op));
        let mut before: Vec<NodeId> = linear.copied().filter(|&id| alike(self.source.node(id))).collect();
        before.sort();
        let place = before.iter().position(|&other| other == id)?;
        let fits = |weights: &Weights| match weights {
            Weights::Rows { matrix: own, .. }
            | Weights::Columns { matrix: own, .. }
            | Weights::Grouped { matrix: own, .. } => {
                matrix(node).is_some_and(|other| Arc::ptr_eq(own, other))
            }
            Weights::Diagonal { taps, .. } => is_mean(node) && *taps > 1,
        };
        let parts = layer.product.parts.iter().enumerate().filter(|(_, part)| fits(&part.weights));
        parts.map(|(index, _)| index).nth(place)
    }

    /// Returns the weights of a part, in the shape of the node's own.
    fn weights(
        &mut self,
        node: &Node,
        numbers: &Numbers<'_>,
        part: usize,
    ) -> Result<ValueId, ReferenceError> {
        let shape = self.source.shape(node.inputs[1]).to_vec();
        let place = |index: usize| match &numbers.layer.product.parts[part].weights {
            Weights::Rows { columns, .. } => [index / columns, index % columns],
            Weights::Columns { rows, .. } => [index % rows, index / rows],
            Weights::Grouped { group, channels, .. } => {
                let (row, column) = (index / channels[1], index % channels[1]);
                let channel = column / group[1] * group[0] + row % group[0];
                [row / group[0] * channels[0] + channel, column]
            }
            Weights::Diagonal { factors, .. } => [index, index % factors.len()],
        };
        let elements = (0..shape.iter().product()).map(place);
        let elements = elements.map(|[row, column]| numbers.weight(part, row, column));
        let elements = elements.collect::<Result<_, _>>()?;
        self.constant(shape, elements)
    }

    /// Adds a mean, or sum, over windows as a depthwise convolution.
    fn mean(
        &mut self,
        node: &Node,
        numbers: &Numbers<'_>,
        part: Option<usize>,
        bias: Option<ValueId>,
    ) -> Result<(), ReferenceError> {
        let Some(part) = part else {
            // A window of one pixel is a copy, which only has factors.
            let has_numbers = numbers.layer.product.factors.is_some() || bias.is_some();
            self.graph.nodes.push(node.clone());
            return if has_numbers { Err(ReferenceError::Node(node.name.clone())) } else { Ok(()) };
        };
        let shape = self.source.shape(node.inputs[0]);
        let &[_, rows, columns, group] = shape else { return Err(ReferenceError::Node(node.name.clone())) };
        let (kernel, conv) = match &node.op {
            Op::AveragePool(pool) => {
                let window = &pool.window;
                let (strides, dilations, pads) = (window.strides, window.dilations, window.pads);
                (window.kernel, Conv { strides, dilations, pads, group })
            }
            _ => ([rows, columns], Conv { strides: [1, 1], dilations: [1, 1], pads: [0; 4], group }),
        };
        let taps = (0..kernel[0] * kernel[1] * group).map(|row| numbers.weight(part, row, row % group));
        let taps = taps.collect::<Result<_, _>>()?;
        let weights = self.constant(vec![kernel[0], kernel[1], 1, group], taps)?;
        let inputs = [node.inputs[0], weights].into_iter().chain(bias).collect();
        let sums = self.between(conv.into(), inputs)?;
        let shape = self.source.shape(node.outputs[0]).to_vec();
        if self.graph.shape(sums).iter().product::<usize>() != shape.iter().product::<usize>() {
            return Err(ReferenceError::Node(node.name.clone()));
        }
        self.end(node, Reshape { shape }.into(), vec![sums])
    }

    /// Adds per-channel factors: the layer's factors if no earlier node uses its numbers, otherwise
    /// nothing.
    fn affine(
        &mut self,
        id: NodeId,
        node: &Node,
        owner: usize,
        operand: ValueId,
    ) -> Result<(), ReferenceError> {
        let numbers = self.numbers(owner);
        let operand = match self.first_with_numbers(numbers.layer) == Some(id) {
            true => self.scaled(operand, &numbers)?,
            false => operand,
        };
        let shape = self.source.shape(node.outputs[0]).to_vec();
        self.end(node, Reshape { shape }.into(), vec![operand])
    }

    /// Whether node `id` adds maps to products of the same layer, all times the layer's factors. A
    /// map that the store adds, which the last one may be, has no factors.
    fn has_numbers_before_sums(&self, id: NodeId, owner: usize) -> bool {
        let layer = &self.model.layers[owner];
        let is_sum = |id: NodeId| {
            matches!(self.source.node(id).op, Op::Binary(Binary { kind: BinaryKind::Add }))
                && Affine::of(self.source, self.source.node(id)).is_none()
        };
        let last = layer.nodes.iter().copied().filter(|&id| is_sum(id)).max();
        let is_residual = layer.post.residual().is_some() && last == Some(id);
        let has_products = layer.nodes.iter().any(|&id| is_linear(&self.source.node(id).op));
        layer.product.factors.is_some() && has_products && is_sum(id) && !is_residual
    }

    /// Adds a sum whose operands from memory have the factors of the layer.
    fn sum(&mut self, node: &Node, owner: usize) -> Result<(), ReferenceError> {
        let numbers = self.numbers(owner);
        let nodes = || numbers.layer.nodes.iter().map(|&id| self.source.node(id));
        let is_own = |value: &ValueId| nodes().any(|node| node.outputs.contains(value));
        let from_memory: Vec<bool> = node.inputs.iter().map(|value| !is_own(value)).collect();
        let mut inputs = Vec::new();
        for (&value, from_memory) in node.inputs.iter().zip(from_memory) {
            inputs.push(if from_memory { self.times_factors(value, &numbers)? } else { value });
        }
        self.end(node, node.op.clone(), inputs)
    }

    /// Returns a map, or the sum of several maps, times the factors of a layer that only copies.
    fn scaled(&mut self, operand: ValueId, numbers: &Numbers<'_>) -> Result<ValueId, ReferenceError> {
        let product = self.times_factors(operand, numbers)?;
        let Some(biases) = numbers.biases()? else { return Ok(product) };
        let biases = self.constant(vec![biases.len()], biases)?;
        self.between(Binary { kind: BinaryKind::Add }.into(), vec![product, biases])
    }

    /// Returns a map times the factors of the layer's copies.
    fn times_factors(&mut self, operand: ValueId, numbers: &Numbers<'_>) -> Result<ValueId, ReferenceError> {
        let Product { channels, ref parts, .. } = numbers.layer.product;
        let copies = |part: &Part| matches!(part.weights, Weights::Diagonal { taps: 1, .. });
        let copies: Vec<usize> = (0..parts.len()).filter(|&index| copies(&parts[index])).collect();
        let unknown = || ReferenceError::Factors(numbers.layer.name.clone());
        let factor = |column: usize| {
            let factor = |&part: &usize| numbers.weight(part, column, column);
            let all = copies.iter().map(factor).collect::<Result<Vec<f32>, _>>()?;
            let same = all.first().filter(|first| all.iter().all(|other| other.to_bits() == first.to_bits()));
            same.copied().ok_or_else(unknown)
        };
        let factors = (0..channels).map(factor).collect::<Result<_, _>>()?;
        let factors = self.constant(vec![channels], factors)?;
        self.between(Binary { kind: BinaryKind::Mul }.into(), vec![operand, factors])
    }

    /// Adds a clip: two ReLUs, each after a difference to the bound. A single ReLU suffices if the
    /// bound is above all numbers of the type, where saturation has the same effect.
    fn clip(&mut self, id: NodeId, node: &Node, owner: usize) -> Result<(), ReferenceError> {
        let numbers = self.numbers(owner);
        let mut operand = node.inputs[0];
        let is_below = numbers.layer.nodes.first() == Some(&id) && numbers.layer.product.factors.is_some();
        let before = self.source_of(numbers.layer).filter(|_| is_below);
        if before.is_none() && !self.is_rounded {
            return self.end(node, node.op.clone(), node.inputs.clone());
        }
        if let Some(before) = before {
            let first = self.numbers(before);
            if self.first_with_numbers(first.layer).is_none() {
                operand = self.scaled(operand, &first)?;
            }
            let rest = self.between(Relu.into(), vec![operand])?;
            operand = self.scaled(rest, &numbers)?;
        }
        self.end(node, Relu.into(), vec![operand])
    }

    /// Returns the layer that computes the first map that a layer reads.
    fn source_of(&self, layer: &Layer) -> Option<usize> {
        let plane = layer.product.parts.first()?.terms.first()?.plane;
        let makes = |layer: &Layer| layer.output.pieces.iter().any(|piece| piece.plane == plane);
        self.model.layers.iter().position(makes)
    }

    /// Adds a node with a new intermediate result.
    fn between(&mut self, op: Op, inputs: Vec<ValueId>) -> Result<ValueId, ReferenceError> {
        let name = self.graph.fresh_name("on the machine");
        let results = self.graph.add_node(name.clone(), op, inputs, &[&name])?;
        results.first().copied().ok_or(ReferenceError::Node(name))
    }

    /// Adds the node that computes the result of `node`.
    fn end(&mut self, node: &Node, op: Op, inputs: Vec<ValueId>) -> Result<(), ReferenceError> {
        self.graph.nodes.push(Node { op, inputs, ..node.clone() });
        Ok(())
    }

    fn constant(&mut self, shape: Vec<usize>, elements: Vec<f32>) -> Result<ValueId, ReferenceError> {
        let name = self.graph.fresh_name("on the machine");
        let tensor = Tensor::from_f32(shape, elements).map_err(|_| ReferenceError::Node(name.clone()))?;
        Ok(self.graph.add_constant(name, tensor))
    }
}
