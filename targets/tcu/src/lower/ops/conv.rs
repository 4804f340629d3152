//! Conv: one term per kernel tap and block of input channels.

use npukit_graph::{ValueId, op};

use super::matmul::{self, Product};
use super::natural_view;
use crate::lower::hir::Term;
use crate::lower::layers::{Builder, Chain, Lowered, Reject};
use crate::lower::object::VecRef;
use crate::lower::view::View;

/// What tells one kind of convolution from the other.
pub struct Taps<'a> {
    /// Number of groups the channels are divided into.
    pub group: usize,
    /// For an axis, an index of the result and one of the kernel: the index of the operand that meets
    /// them, which may lie behind its end; `None` for padding before it, or between its elements.
    pub source: &'a dyn Fn(usize, usize, usize) -> Option<usize>,
}

/// Lowers a convolution with constant weights.
pub fn lower(builder: &mut Builder, i: usize, conv: &op::Conv) -> Result<Lowered, Reject> {
    let source = |axis: usize, out: usize, tap: usize| {
        (out * conv.strides[axis] + tap * conv.dilations[axis]).checked_sub(conv.pads[axis])
    };
    product(builder, i, &Taps { group: conv.group, source: &source })
}

/// A product with one term per tap and block of input channels. Groups become blocks of a matrix
/// that is zero elsewhere; array loads that are zero altogether are left out.
pub fn product(builder: &mut Builder, i: usize, conv: &Taps) -> Result<Lowered, Reject> {
    let node = &builder.graph.nodes[i];
    let weights = constant(builder, node.inputs[1], "weights")?;
    let bias = match node.inputs.get(2) {
        Some(&value) => Some(constant(builder, value, "bias")?),
        None => None,
    };
    let shape = builder.graph.value(node.inputs[1]).info.shape.clone();
    let &[kernel_h, kernel_w, group_in, channels] = shape.as_slice() else {
        return Err(Reject::new(
            format!("weights of shape {shape:?} are not those of an image"),
            "use a 2-D convolution",
        ));
    };
    let view = natural_view(builder, i, node.inputs[0])?;
    let output = builder.graph.shape(node.outputs[0]);
    let blocks = view.blocks(builder.array_size());
    builder.require_uses([kernel_h, kernel_w, blocks].into_iter().chain(output[..3].iter().copied()))?;
    let mut taps = Vec::new();
    for ky in 0..kernel_h {
        for kx in 0..kernel_w {
            taps.push(tap_pixels(conv, &view.shape, output, ky, kx));
        }
    }
    let n = builder.array_size();
    let product = Product {
        name: builder.graph.value(node.inputs[1]).name.clone(),
        terms: terms(&view, &taps, blocks),
        channels,
        bias: bias.as_ref().and_then(|tensor| tensor.as_f32()),
        upstream_bias_term: blocks - 1,
    };
    let elements = weights.as_f32().unwrap_or_default();
    let group_out = channels / conv.group;
    let step = matmul::step(builder, &product, |term, lane, channel| {
        let (tap, input) = (term / blocks, term % blocks * n + lane);
        match input.checked_sub(channel / group_out * group_in) {
            Some(input) if input < group_in => elements[(tap * group_in + input) * channels + channel],
            _ => 0.0,
        }
    })?;
    let pixels = output[..3].iter().product();
    let macs = builder.macs(i);
    let value = node.outputs[0];
    Ok(Lowered::Chain(Chain {
        nodes: vec![i],
        value,
        pixels,
        channels,
        macs,
        steps: vec![step],
        saved: false,
    }))
}

/// Whether the weights of node `i`, and its bias, are constants of floats.
pub fn has_weights(builder: &Builder, i: usize) -> bool {
    builder.graph.nodes[i].inputs[1..].iter().all(|&value| constant(builder, value, "weights").is_ok())
}

/// A constant of floats.
pub fn constant(
    builder: &Builder,
    value: ValueId,
    what: &str,
) -> Result<std::sync::Arc<npukit_numeric::Tensor>, Reject> {
    let name = &builder.graph.value(value).name;
    let tensor = builder.graph.constant(value).filter(|tensor| tensor.as_f32().is_some());
    tensor.cloned().ok_or_else(|| {
        Reject::new(
            format!("its {what} `{name}` are not a constant of floats"),
            "export the model with constant weights",
        )
    })
}

/// For every output pixel, the input pixel that tap (`ky`, `kx`) meets; `None` where there is none.
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
    let at = |pixel: Option<usize>, block| pixel.map_or(VecRef::ZERO, |p| view.vectors[p * blocks + block]);
    let term =
        |pixels: &[Option<usize>], block| Term { inputs: pixels.iter().map(|&p| at(p, block)).collect() };
    taps.iter().flat_map(|pixels| (0..blocks).map(move |block| term(pixels, block))).collect()
}
