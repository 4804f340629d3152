//! Operators that only move elements: views of existing maps, and copies if no view is possible.

use npukit_graph::NodeId;
use npukit_graph::op::{self, PadMode};
use npukit_lower::Reject;

use crate::lower::builder::copies::identity;
use crate::lower::builder::{Builder, Lowered};
use crate::lower::map::View;
use crate::lower::product::{Part, Product, Term};

/// Lowers a reshape.
///
/// # Errors
///
/// The reshape regroups channels.
pub fn reshape(builder: &mut Builder, id: NodeId) -> Result<Lowered, Reject> {
    let node = builder.node(id);
    let view = builder.view(node.inputs[0])?;
    let to = builder.graph.shape(node.outputs[0]);
    // If the number of channels stays the same, only the number of pixels can be the problem.
    let keeps_channels = to.len() <= 4 && to.last() == Some(&view.channels());
    let extent = builder.extent(node.outputs[0]);
    let [rows, columns, channels] =
        extent.map_err(|reject| if keeps_channels { reject } else { regroups(builder, id) })?;
    let same = view.size == [rows, columns] && view.channels() == channels;
    let view = match view {
        view if same => view,
        view if [rows, columns] == [1, 1] => view.flattened(),
        view if view.channels() == channels && rows == 1 && view.size[1] == 1 => {
            turned(builder, &view, &node.name)
        }
        _ => return Err(regroups(builder, id)),
    };
    builder.fusion.set_view(node.outputs[0], view);
    Ok(Lowered::Views)
}

/// Returns the error of a reshape that moves elements between pixels.
fn regroups(builder: &Builder, id: NodeId) -> Reject {
    let node = builder.node(id);
    let [from, to] = [node.inputs[0], node.outputs[0]].map(|value| builder.graph.shape(value));
    let reason = format!("it regroups pixels and channels, {from:?} to {to:?}");
    Reject::new(reason, hint(builder, id, "flatten images, or cut the model before this node"))
}

/// Returns the hint for an operator that moves elements: `otherwise`, unless the operand is an
/// input. The host can lay out an input, but in one way only.
fn hint<'a>(builder: &Builder, id: NodeId, otherwise: &'a str) -> &'a str {
    if builder.graph.inputs.contains(&builder.node(id).inputs[0]) {
        "change the layout of the input to the one needed here, or remove the output with the other layout"
    } else {
        otherwise
    }
}

/// Returns a column of pixels as a row.
fn turned(builder: &mut Builder, view: &View, name: &str) -> View {
    let rows = view.size[0];
    let fraction = builder.planes.coarsest_fraction(view);
    let output = builder.planes.new_map(&format!("{name}/row"), [1, rows], view.channels(), fraction);
    for row in 0..rows {
        builder.copy_into(&view.window([row, 0], [1, 1]), output.window([0, row], [1, 1]), name);
    }
    output
}

/// Lowers a transposition that moves no element.
///
/// # Errors
///
/// The transposition moves elements.
pub fn transpose(builder: &mut Builder, id: NodeId, op: &op::Transpose) -> Result<Lowered, Reject> {
    let node = builder.node(id);
    let shape = builder.graph.shape(node.inputs[0]);
    let moved: Vec<usize> = op.perm.iter().copied().filter(|&axis| shape[axis] != 1).collect();
    if !moved.is_sorted() {
        let otherwise = "keep images in one axis order, or cut the model before this node; the host transposes inputs and outputs";
        let reason = format!("axes {:?} of {shape:?} change places", op.perm);
        return Err(Reject::new(reason, hint(builder, id, otherwise)));
    }
    reshape(builder, id)
}

/// Lowers a concatenation: along channels as a view, along rows and columns as adjacent copies.
///
/// # Errors
///
/// The feature maps have different sizes, or the axis is the batch axis.
pub fn concat(builder: &mut Builder, id: NodeId, op: &op::Concat) -> Result<Lowered, Reject> {
    let node = builder.node(id);
    let views = node.inputs.iter().map(|&input| builder.view(input)).collect::<Result<Vec<_>, _>>()?;
    let output = node.outputs[0];
    let [rows, columns, channels] = builder.extent(output)?;
    let shape = builder.graph.shape(output);
    let size = [rows, columns];
    if op.axis + 1 == shape.len() {
        let pieces = views.into_iter().flat_map(|view| view.pieces).collect();
        builder.fusion.set_view(output, View { size, pieces });
        return Ok(Lowered::Views);
    }
    let axis = match (shape.len(), op.axis) {
        (4, 1) => 0,
        (4, 2) => 1,
        (rank, axis) if rank != 4 && pixels(shape, axis).is_some() => 1,
        _ => {
            return Err(Reject::new(
                format!("it concatenates along axis {} of {shape:?}", op.axis),
                "concatenate rows, columns or channels of one image",
            ));
        }
    };
    let map =
        builder.planes.new_map(&builder.graph.value(output).name, size, channels, builder.fraction(output)?);
    let mut origin = [0, 0];
    for view in views {
        builder.copy_into(&view, map.window(origin, view.size), &node.name);
        origin[axis] += view.size[axis];
    }
    builder.fusion.set_view(output, map);
    Ok(Lowered::Views)
}

/// Lowers a split.
///
/// # Errors
///
/// The axis is not channels, rows or columns.
pub fn split(builder: &mut Builder, id: NodeId, op: &op::Split) -> Result<Lowered, Reject> {
    let node = builder.node(id);
    let mut start = 0;
    for (&output, &length) in node.outputs.iter().zip(&op.sizes) {
        let range = op::SliceRange { axis: op.axis, start, length, step: 1 };
        let view = builder.view(node.inputs[0])?;
        let view = part(builder.graph.shape(node.inputs[0]), &view, &range)?;
        builder.fusion.set_view(output, view);
        start += length;
    }
    Ok(Lowered::Views)
}

/// Lowers a slice: as a view, or as a copy if it skips pixels.
///
/// # Errors
///
/// The errors of [`split`], or negative steps.
pub fn slice(builder: &mut Builder, id: NodeId, op: &op::Slice) -> Result<Lowered, Reject> {
    let node = builder.node(id);
    let mut shape = builder.graph.shape(node.inputs[0]).to_vec();
    let mut view = builder.view(node.inputs[0])?;
    let mut strides = [1, 1];
    for range in &op.ranges {
        if range.step != 1 && range.length > 1 {
            let axis = [1, 2].iter().position(|&axis| shape.len() == 4 && axis == range.axis);
            match (axis, usize::try_from(range.step)) {
                (Some(axis), Ok(step)) => strides[axis] = step,
                _ => {
                    let reason = format!("it slices axis {} with steps of {}", range.axis, range.step);
                    return Err(Reject::new(
                        reason,
                        "use positive steps for rows and columns, and step 1 for channels",
                    ));
                }
            }
        }
        view = part(&shape, &view, range)?;
        shape[range.axis] = range.length;
    }
    let [rows, columns, channels] = builder.extent(node.outputs[0])?;
    if strides == [1, 1] {
        builder.fusion.set_view(node.outputs[0], View { size: [rows, columns], ..view });
        return Ok(Lowered::Views);
    }
    let parts = vec![Part { strides, ..identity(&view, 1.0) }];
    Ok(Lowered::Chain(
        builder.chain(id, Product { size: [rows, columns], channels, parts, factors: None, bias: None }),
    ))
}

/// Returns the elements of a range of a value of that shape, ignoring steps.
fn part(shape: &[usize], view: &View, range: &op::SliceRange) -> Result<View, Reject> {
    let &op::SliceRange { axis, start, length, .. } = range;
    let [rows, columns] = view.size;
    match (shape.len(), axis) {
        _ if axis + 1 == shape.len() => Ok(view.channel_range(start, length)),
        _ if length == shape[axis] => Ok(view.clone()),
        (4, 1) => Ok(view.window([start, 0], [length, columns])),
        (4, 2) => Ok(view.window([0, start], [rows, length])),
        _ => match pixels(shape, axis) {
            Some(each) => Ok(view.window([0, start * each], [rows, length * each])),
            None => Err(Reject::new(
                format!("it cuts axis {axis} of {shape:?}"),
                "cut rows, columns or channels of one image",
            )),
        },
    }
}

/// Returns the number of consecutive pixels per index of an axis, if all axes except the last are
/// pixels of one row. Returns `None` if the pixels of an index are not contiguous.
fn pixels(shape: &[usize], axis: usize) -> Option<usize> {
    let before = shape[..axis].iter().all(|&size| size == 1);
    before.then(|| shape[axis + 1..shape.len() - 1].iter().product())
}

/// Lowers a padding with zeros by reading the operand's border.
///
/// # Errors
///
/// The padding value is not zero, the axis is not supported, or the padding exceeds the maximum
/// border.
pub fn pad(builder: &mut Builder, id: NodeId, op: &op::Pad) -> Result<Lowered, Reject> {
    let node = builder.node(id);
    let [rows, columns, channels] = builder.extent(node.outputs[0])?;
    let zeros = matches!(op.mode, PadMode::Constant(value) if value == 0.0);
    let &[[0, 0], rows_by, columns_by, [0, 0]] = op.pads.as_slice() else { return Err(padding(op)) };
    if !zeros {
        return Err(padding(op));
    }
    let view = builder.view(node.inputs[0])?;
    let reach = rows_by[0].max(rows_by[1]).max(columns_by[0]).max(columns_by[1]);
    // Default: cropping, which is negative padding, reads no border.
    let view = builder.bordered(view, &node.name, usize::try_from(reach).unwrap_or(0))?;
    let identity = identity(&view, 1.0);
    let shifted =
        |term: &Term| Term { at: [term.at[0] - rows_by[0], term.at[1] - columns_by[0]], ..term.clone() };
    let terms = identity.terms.iter().map(shifted).collect();
    let parts = vec![Part { terms, ..identity }];
    Ok(Lowered::Chain(
        builder.chain(id, Product { size: [rows, columns], channels, parts, factors: None, bias: None }),
    ))
}

fn padding(op: &op::Pad) -> Reject {
    let reason = format!("it pads by {:?} in mode {:?}", op.pads, op.mode);
    Reject::new(reason, "pad rows and columns with zeros")
}
