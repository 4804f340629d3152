//! Conv3D, Conv3DBackpropInputV2 (transposed), MaxPool3D and AvgPool3D. They become ONNX's
//! operators, whose channels come before depth, rows and columns.

use npukit_graph::ValueId;
use npukit_graph::op::Transpose;

use super::super::attributes::unsupported;
use super::super::context::Context;
use super::super::error::Reason;
use crate::onnx::Given;
use crate::shape::shape;

/// Maximum stride, dilation or kernel, so that all computed sizes fit 64 bits.
const MAX_WINDOW: i64 = 1 << 24;

/// Permutation of weights `[kd, kh, kw, in, out]` to ONNX's layout. Transposed convolutions swap
/// the last two.
const WEIGHTS: [usize; 5] = [4, 3, 0, 1, 2];

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let is_last = match context.attributes.string("data_format")?.as_deref() {
        None | Some("NDHWC") => true,
        Some("NCDHW") => false,
        Some(other) => return Err(unsupported("data_format", other, "NDHWC or NCDHW")),
    };
    let mut attributes = vec![("auto_pad", padding(context)?)];
    for (name, standard) in [("strides", "strides"), ("dilations", "dilations"), ("ksize", "kernel_shape")] {
        if let Some(values) = triple(context, name, is_last)? {
            attributes.push((standard, Given::Ints(values)));
        }
    }
    let y = match context.op() {
        "Conv3D" => {
            let (x, weights) = (volume(context, 0, is_last)?, weights(context, 1)?);
            context.standard("Conv", &groups(context, x, weights, attributes), &[x, weights])?
        }
        "Conv3DBackpropInputV2" => {
            let sizes = shape(&context.required_integers(0, "input_sizes")?)?;
            let sizes = if is_last { sizes.get(1..4) } else { sizes.get(2..5) };
            let sizes = sizes.ok_or_else(|| unsupported("input_sizes", "too few", "5 sizes"))?;
            attributes.push(("output_shape", Given::Ints(sizes.iter().map(|&size| size as i64).collect())));
            let (x, weights) = (volume(context, 2, is_last)?, weights(context, 1)?);
            context.standard("ConvTranspose", &attributes, &[x, weights])?
        }
        op => {
            let x = volume(context, 0, is_last)?;
            context.standard(if op == "MaxPool3D" { "MaxPool" } else { "AveragePool" }, &attributes, &[x])?
        }
    };
    match is_last {
        true => Ok(vec![context.helper("ndhwc", Transpose { perm: vec![0, 2, 3, 4, 1] }, vec![y])?]),
        false => Ok(vec![y]),
    }
}

/// Number of groups: the operand's channels divided by the weights' input channels.
fn groups(
    context: &Context<'_>,
    x: ValueId,
    weights: ValueId,
    mut attributes: Vec<(&'static str, Given)>,
) -> Vec<(&'static str, Given)> {
    let (channels, depth) = (context.shape(x)[1], context.shape(weights)[1]);
    // Inference reports a mismatch.
    if depth > 0 && channels >= depth && channels % depth == 0 {
        attributes.push(("group", Given::Int((channels / depth) as i64)));
    }
    attributes
}

fn padding(context: &mut Context<'_>) -> Result<Given, Reason> {
    match context.attributes.string("padding")?.as_deref() {
        Some("SAME") => Ok(Given::Text("SAME_UPPER")),
        Some("VALID") => Ok(Given::Text("VALID")),
        Some(other) => Err(unsupported("padding", other, "SAME or VALID")),
        None => Err(Reason::AttributeMissing { name: "padding" }),
    }
}

/// Depth, rows and columns of a list with one number per axis. The numbers of the batch and
/// channels must be 1.
fn triple(context: &mut Context<'_>, name: &'static str, is_last: bool) -> Result<Option<Vec<i64>>, Reason> {
    let Some(values) = context.attributes.ints(name)?.filter(|values| !values.is_empty()) else {
        return Ok(None);
    };
    let legal = |values: &[i64]| values.iter().all(|value| (1..=MAX_WINDOW).contains(value));
    match (values, is_last) {
        (&[1, d, h, w, 1], true) | (&[1, 1, d, h, w], false) if legal(&[d, h, w]) => Ok(Some(vec![d, h, w])),
        _ => {
            let legal = format!("5 numbers from 1 to {MAX_WINDOW}, 1 for batch and channels");
            Err(unsupported(name, &values[..values.len().min(8)], legal))
        }
    }
}

/// Returns the operand at `index` as `[n, c, d, h, w]`.
fn volume(context: &mut Context<'_>, index: usize, is_last: bool) -> Result<ValueId, Reason> {
    let x = context.input(index, "input")?;
    five(context, x, "input")?;
    if is_last { context.permute(x, &[0, 4, 1, 2, 3], "ncdhw") } else { Ok(x) }
}

fn weights(context: &mut Context<'_>, index: usize) -> Result<ValueId, Reason> {
    let weights = context.input(index, "filter")?;
    five(context, weights, "filter")?;
    context.permute(weights, &WEIGHTS, "oidhw")
}

fn five(context: &Context<'_>, x: ValueId, operand: &'static str) -> Result<(), Reason> {
    if context.shape(x).len() == 5 {
        return Ok(());
    }
    let (found, legal) = (format!("{:?}", context.shape(x)), "5 axes".to_owned());
    Err(Reason::OperandValue { operand, found, legal })
}
