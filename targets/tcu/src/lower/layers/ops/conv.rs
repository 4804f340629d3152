//! Conv: one term per kernel tap and block of input channels. The sum of two convolutions without
//! other readers becomes one product with the terms of both.

use std::sync::Arc;

use npukit_graph::op::BinaryKind;
use npukit_graph::{NodeId, Op, ValueId, op};
use npukit_numeric::Tensor;

use super::natural_view;
use crate::lower::Order;
use crate::lower::layers::hir::Term;
use crate::lower::layers::ops::product::{self, Product, floats};
use crate::lower::layers::{Builder, Chain, Lowered, Reject};
use crate::lower::memory::object::VecRef;
use crate::lower::memory::view::View;

/// Parameters by which Conv and ConvTranspose differ.
pub struct Taps<'a> {
    /// Number of channel groups.
    pub group: usize,
    /// Maps an axis, an index of the result and an index of the kernel to the index of the operand.
    /// The index may be past the operand's end. `None` means padding before the operand, or between
    /// its elements.
    pub source: &'a dyn Fn(usize, usize, usize) -> Option<usize>,
}

/// Lowers a convolution with constant weights.
///
/// # Errors
///
/// Fails if the weights are not constant, the image has no view, or constants exceed DRAM1.
pub fn lower(builder: &mut Builder, id: NodeId, conv: &op::Conv) -> Result<Lowered, Reject> {
    match addend(builder, id) {
        // The later of the two convolutions is lowered together with this one.
        Some(Addend { node, .. }) if node > id => Ok(Lowered::Views),
        Some(addend) => {
            let lowered = both(builder, id, conv, &addend);
            if lowered.is_err() {
                builder.fusion.set_unmade(builder.graph.node(addend.node).outputs[0]);
            }
            lowered
        }
        None => {
            let only = Summand::of_conv(builder, id, conv)?;
            chain(builder, &only, None, &[id], id)
        }
    }
}

/// Lowers two convolutions as one product.
fn both(builder: &mut Builder, id: NodeId, conv: &op::Conv, addend: &Addend) -> Result<Lowered, Reject> {
    let &Addend { node, sum, .. } = addend;
    let first = Summand::of_conv(builder, node, &addend.conv)?;
    let second = Summand::of_conv(builder, id, conv)?;
    chain(builder, &first, Some(&second), &[node, id, sum], sum)
}

/// Lowers a product with one term per tap and block of input channels. Groups become blocks of a
/// matrix that is zero elsewhere; array loads that are all zero are omitted.
///
/// # Errors
///
/// Fails like [`lower`].
pub fn product(builder: &mut Builder, id: NodeId, conv: &Taps) -> Result<Lowered, Reject> {
    let only = Summand::new(builder, id, conv)?;
    chain(builder, &only, None, &[id], id)
}

/// A convolution with a result that is added to another convolution's result.
struct Addend {
    node: NodeId,
    conv: op::Conv,
    /// Node that adds the two results.
    sum: NodeId,
}

/// Returns the convolution to which node `id` is added, if both can be one product.
fn addend(builder: &Builder, id: NodeId) -> Option<Addend> {
    let graph = builder.graph;
    let dense = |id: NodeId| match &graph.node(id).op {
        Op::Conv(conv) if conv.group == 1 && has_weights(builder, id) => Some(conv.clone()),
        _ => None,
    };
    dense(id)?;
    let own = graph.node(id).outputs[0];
    let sum = builder.fusion.readers.only(own)?;
    let Op::Binary(op::Binary { kind: BinaryKind::Add }) = graph.node(sum).op else { return None };
    let other = *graph.node(sum).inputs.iter().find(|&&input| input != own)?;
    let node = builder.fusion.readers.producer(other)?;
    let conv = dense(node)?;
    let alone = builder.fusion.readers.only(other) == Some(sum);
    let alike = builder.graph.shape(own) == builder.graph.shape(other);
    (builder.order == Order::Default && alone && alike).then_some(Addend { node, conv, sum })
}

/// A convolution before its weights are laid out.
struct Summand {
    name: String,
    terms: Vec<Term>,
    weights: Arc<Tensor>,
    bias: Option<Arc<Tensor>>,
    /// Number of channel blocks of the operand.
    blocks: usize,
    /// Input and output channels per group.
    group: [usize; 2],
    channels: usize,
    array_size: usize,
}

impl Summand {
    fn of_conv(builder: &mut Builder, id: NodeId, conv: &op::Conv) -> Result<Self, Reject> {
        let source = |axis: usize, out: usize, tap: usize| {
            (out * conv.strides[axis] + tap * conv.dilations[axis]).checked_sub(conv.pads[axis])
        };
        Self::new(builder, id, &Taps { group: conv.group, source: &source })
    }

    fn new(builder: &mut Builder, id: NodeId, conv: &Taps) -> Result<Self, Reject> {
        let node = builder.graph.node(id);
        let weights = constant(builder, node.inputs[1], "weights")?;
        let bias = match node.inputs.get(2) {
            Some(&value) => Some(constant(builder, value, "bias")?),
            None => None,
        };
        let &[kernel_h, kernel_w, group_in, channels] = weights.shape() else {
            return Err(Reject::new(
                format!("weights of shape {:?} do not belong to a 2-D convolution", weights.shape()),
                "use a 2-D convolution",
            ));
        };
        let view = natural_view(builder, id, node.inputs[0])?;
        let output = builder.graph.shape(node.outputs[0]);
        let array_size = builder.array_size();
        let blocks = view.blocks(array_size);
        builder.require_uses([kernel_h, kernel_w, blocks].into_iter().chain(output[..3].iter().copied()))?;
        let mut taps = Vec::new();
        for ky in 0..kernel_h {
            for kx in 0..kernel_w {
                taps.push(tap_pixels(conv, &view.shape, output, ky, kx));
            }
        }
        let name = builder.graph.value(node.inputs[1]).name.clone();
        let (terms, group) = (terms(&view, &taps, blocks), [group_in, channels / conv.group]);
        Ok(Self { name, terms, weights, bias, blocks, group, channels, array_size })
    }

    /// Returns the weight from lane `lane` of term `term` to output channel `channel`.
    fn weight(&self, term: usize, lane: usize, channel: usize) -> f32 {
        let (tap, input) = (term / self.blocks, term % self.blocks * self.array_size + lane);
        let [group_in, group_out] = self.group;
        match input.checked_sub(channel / group_out * group_in) {
            Some(input) if input < group_in => {
                floats(&self.weights)[(tap * group_in + input) * self.channels + channel]
            }
            _ => 0.0,
        }
    }
}

/// Starts a chain with the product of all terms, of one convolution or of two that are added.
/// `last` is the node of `nodes` that gives the result.
fn chain(
    builder: &mut Builder,
    first: &Summand,
    second: Option<&Summand>,
    nodes: &[NodeId],
    last: NodeId,
) -> Result<Lowered, Reject> {
    let summands = || std::iter::once(first).chain(second);
    let names: Vec<&str> = summands().map(|summand| summand.name.as_str()).collect();
    let bias = bias(summands());
    let terms = summands().flat_map(|s| s.terms.iter().map(|term| Term { inputs: term.inputs.clone() }));
    let product = Product {
        name: names.join("+"),
        terms: terms.collect(),
        channels: first.channels,
        bias: bias.as_deref(),
        upstream_bias_term: first.blocks - 1,
    };
    let step = product::step(builder, &product, |term, lane, channel| {
        match (term.checked_sub(first.terms.len()), second) {
            (Some(term), Some(second)) => second.weight(term, lane, channel),
            _ => first.weight(term, lane, channel),
        }
    })?;
    let value = builder.graph.node(last).outputs[0];
    let pixels = builder.graph.shape(value)[..3].iter().product();
    let macs = nodes.iter().map(|&id| builder.macs(id)).sum();
    let (nodes, channels) = (nodes.to_vec(), first.channels);
    Ok(Lowered::Chain(Chain { nodes, value, pixels, channels, macs, steps: vec![step], saved: false }))
}

/// Returns the sum of all biases; `None` if no summand has one.
fn bias<'a>(summands: impl Iterator<Item = &'a Summand>) -> Option<Vec<f32>> {
    let mut biases = summands.filter_map(|summand| summand.bias.as_ref()).map(|bias| floats(bias));
    let first = biases.next()?.to_vec();
    Some(biases.fold(first, |sum, bias| sum.iter().zip(bias).map(|(a, b)| a + b).collect()))
}

/// Whether the weights and the bias of node `id` are float constants.
pub fn has_weights(builder: &Builder, id: NodeId) -> bool {
    builder.graph.node(id).inputs[1..].iter().all(|&value| constant(builder, value, "weights").is_ok())
}

/// Returns a float constant.
///
/// # Errors
///
/// Fails if the value is computed, or is not a float.
pub fn constant(builder: &Builder, value: ValueId, what: &str) -> Result<Arc<Tensor>, Reject> {
    let name = &builder.graph.value(value).name;
    let tensor = builder.graph.constant(value).filter(|tensor| tensor.as_f32().is_some());
    tensor.cloned().ok_or_else(|| {
        Reject::new(
            format!("its {what} `{name}` must be a float constant"),
            "export the model with constant weights",
        )
    })
}

/// Returns, for every output pixel, the input pixel under tap (`ky`, `kx`); `None` in the padding.
fn tap_pixels(conv: &Taps, input: &[usize], output: &[usize], ky: usize, kx: usize) -> Vec<Option<usize>> {
    let along =
        |axis: usize, out: usize, k: usize| (conv.source)(axis, out, k).filter(|&at| at < input[axis + 1]);
    let mut pixels = Vec::with_capacity(output[..3].iter().product());
    for image in 0..output[0] {
        for y in 0..output[1] {
            let row = along(0, y, ky);
            pixels.extend((0..output[2]).map(|x| {
                let (y, x) = (row?, along(1, x, kx)?);
                Some((image * input[1] + y) * input[2] + x)
            }));
        }
    }
    pixels
}

fn terms(view: &View, taps: &[Vec<Option<usize>>], blocks: usize) -> Vec<Term> {
    // Default: pixels outside the image are zero.
    let at = |pixel: Option<usize>, block| pixel.map_or(VecRef::ZERO, |p| view.vectors[p * blocks + block]);
    let term =
        |pixels: &[Option<usize>], block| Term { inputs: pixels.iter().map(|&p| at(p, block)).collect() };
    taps.iter().flat_map(|pixels| (0..blocks).map(move |block| term(pixels, block))).collect()
}
