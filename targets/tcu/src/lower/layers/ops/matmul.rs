//! Gemm and MatMul with constant weights on the right.

use npukit_graph::op::BinaryKind;
use npukit_graph::{NodeId, Op, ValueId, op};
use npukit_numeric::Tensor;

use super::{natural_view, variable_matmul};
use crate::isa::op::SimdOp;
use crate::lower::Order;
use crate::lower::layers::hir::{ChannelOperand, Step, Term};
use crate::lower::layers::ops::product::{Product, floats, per_channel, step};
use crate::lower::layers::ops::steps::with_scalar;
use crate::lower::layers::{Builder, Chain, Lowered, Reject};
use crate::lower::memory::object::VecRef;
use crate::lower::memory::view::View;

/// Lowers `A * B + C` with constant `C`.
///
/// # Errors
///
/// Fails if a required operand is not constant, or an operand is transposed.
pub fn lower_gemm(builder: &mut Builder, id: NodeId, gemm: &op::Gemm) -> Result<Lowered, Reject> {
    let node = builder.graph.node(id);
    let factor = if builder.graph.constant(node.inputs[1]).is_some() { 1.0 } else { gemm.alpha };
    if gemm.trans_a || gemm.trans_b || gemm.alpha != factor || gemm.beta != 1.0 {
        return Err(Reject::new(
            "it has factors or transposed operands, which simplification removes",
            "simplify the graph first (`npukit_graph::pass::simplify`)",
        ));
    }
    if builder.graph.constant(node.inputs[1]).is_some() {
        return lower(builder, id);
    }
    let Lowered::Chain(mut chain) = variable_matmul::lower(builder, id)? else { return Ok(Lowered::Views) };
    if factor != 1.0 {
        chain.steps.push(with_scalar(builder, SimdOp::Multiply, factor));
    }
    if let Some(&value) = node.inputs.get(2) {
        let addend = constant_bias(builder, value, chain.channels)?;
        let name = builder.graph.value(value).name.clone();
        let vectors = builder.constant_vectors(name, 1, chain.channels, |_, c| addend[c])?;
        let operand = ChannelOperand::Blocks(vectors);
        chain.steps.push(Step::ChannelWise { op: SimdOp::Add, operand, swapped: false });
    }
    Ok(Lowered::Chain(chain))
}

/// Lowers a product; the right operand may be constant or computed.
///
/// # Errors
///
/// Fails if an operand has no view, or the weights exceed DRAM1.
pub fn lower(builder: &mut Builder, id: NodeId) -> Result<Lowered, Reject> {
    let node = builder.graph.node(id);
    let Some((weights, [rows, columns])) = constant_matrix(builder, node.inputs[1]) else {
        return variable_matmul::lower(builder, id);
    };
    let mut bias = match node.inputs.get(2) {
        Some(&value) => Some(constant_bias(builder, value, columns)?),
        None => None,
    };
    let mut nodes = vec![id];
    let mut value = node.outputs[0];
    if let (None, Some((next, constant))) = (&bias, added_constant(builder, value, columns)) {
        bias = Some(constant);
        nodes.push(next);
        value = builder.graph.node(next).outputs[0];
    }
    let view = reduction_view(builder, id, node.inputs[0], rows)?;
    let terms = terms(&view, rows, builder.array_size());
    let (pixels, blocks) = (view.vectors.len() / terms.len(), view.blocks(builder.array_size()));
    let product = Product {
        name: builder.graph.value(node.inputs[1]).name.clone(),
        upstream_bias_term: terms.len() - 1,
        terms,
        channels: columns,
        bias: bias.as_deref(),
    };
    let elements = floats(&weights);
    let array_size = builder.array_size();
    let step = step(builder, &product, |term, lane, channel| {
        let in_pixel = term % blocks * array_size + lane;
        let row = term / blocks * view.channels + in_pixel;
        if in_pixel < view.channels { elements[row * columns + channel] } else { 0.0 }
    })?;
    let macs = builder.macs(id);
    Ok(Lowered::Chain(Chain {
        nodes,
        value,
        pixels,
        channels: columns,
        macs,
        steps: vec![step],
        saved: false,
    }))
}

/// Returns a constant matrix, or a constant vector as a single column, with its rows and columns.
fn constant_matrix(builder: &Builder, value: ValueId) -> Option<(std::sync::Arc<Tensor>, [usize; 2])> {
    let tensor = builder.graph.constant(value).filter(|tensor| tensor.as_f32().is_some())?;
    let sizes = match tensor.shape() {
        &[rows] => [rows, 1],
        [batch @ .., rows, columns] if batch.iter().all(|&size| size == 1) => [*rows, *columns],
        _ => return None,
    };
    Some((tensor.clone(), sizes))
}

fn constant_bias(builder: &Builder, value: ValueId, columns: usize) -> Result<Vec<f32>, Reject> {
    let constant = builder.graph.constant(value);
    let constant = constant.and_then(|tensor| per_channel(tensor.as_f32()?, tensor.shape(), columns));
    constant.ok_or_else(|| {
        let name = &builder.graph.value(value).name;
        Reject::new(
            format!("C (`{name}`) is not a constant with one element per column"),
            "add it with an Add after the product",
        )
    })
}

/// Returns the Add that is the only reader of `value`, with its constant. In the default order the
/// constant is a bias.
fn added_constant(builder: &Builder, value: ValueId, columns: usize) -> Option<(NodeId, Vec<f32>)> {
    if builder.order == Order::Upstream {
        return None;
    }
    let reader = builder.fusion.readers.only(value)?;
    let node = builder.graph.node(reader);
    match &node.op {
        Op::Binary(binary) if binary.kind == BinaryKind::Add => {}
        _ => return None,
    }
    let other = *node.inputs.iter().find(|&&input| input != value)?;
    let same_shape = builder.graph.shape(node.outputs[0]) == builder.graph.shape(value);
    let tensor = builder.graph.constant(other)?;
    let constant = per_channel(tensor.as_f32()?, tensor.shape(), columns)?;
    same_shape.then_some((reader, constant))
}

/// Returns the view of the left operand with pixels that divide a row evenly.
fn reduction_view(builder: &mut Builder, id: NodeId, value: ValueId, rows: usize) -> Result<View, Reject> {
    let view = builder.view(value)?;
    if rows.is_multiple_of(view.channels) { Ok(view) } else { natural_view(builder, id, value) }
}

/// Returns one term per block of the pixels that form a row of `rows` elements.
fn terms(view: &View, rows: usize, array_size: usize) -> Vec<Term> {
    let per_row = rows / view.channels * view.blocks(array_size);
    let input =
        |term: usize| view.vectors.iter().skip(term).step_by(per_row).copied().collect::<Vec<VecRef>>();
    (0..per_row).map(|term| Term { inputs: input(term) }).collect()
}
