//! Inputs and their layout by the host. Few channels under a large kernel become many: the elements
//! of each window are consecutive channels, and the convolution is pointwise.

use npukit_graph::{Op, ValueId, op};
use npukit_lower::Reject;
use npukit_numeric::ElementType;

use super::super::limits::{LANES, filters, lanes, pixel_cycles};
use crate::lower::builder::Builder;
use crate::lower::host::HostInput;
use crate::program::Patches;

/// Creates the planes of all inputs.
pub fn bind(builder: &mut Builder) -> Vec<HostInput> {
    let inputs = builder.graph.inputs.clone();
    inputs.into_iter().filter_map(|input| bind_one(builder, input)).collect()
}

fn bind_one(builder: &mut Builder, input: ValueId) -> Option<HostInput> {
    let (name, shape) = (builder.graph.value(input).name.clone(), builder.graph.shape(input).to_vec());
    let element = builder.graph.value(input).info.element;
    if element != ElementType::F32 {
        let hint = "make it a float, or cut the model after the node that reads it";
        builder.fusion.report(
            &name,
            "input",
            Reject::new(format!("its element type is {element:?}, but must be float"), hint),
        );
    }
    let (value, perm) = transposed(builder, input);
    let (extent, fraction) = match (builder.extent(value), builder.fraction(value)) {
        (Ok(extent), Ok(fraction)) => (extent, fraction),
        (Err(reject), _) | (_, Err(reject)) => {
            builder.fusion.report(&name, "input", reject);
            [input, value].into_iter().for_each(|value| builder.fusion.set_unmade(value));
            return None;
        }
    };
    let packing = packing(builder, value);
    let [rows, columns, channels] = extent;
    let (size, channels) = match &packing {
        Some(Packed { size, channels, .. }) => (*size, *channels),
        None => ([rows, columns], channels),
    };
    let view = builder.planes.new_map(&name, size, channels, fraction);
    let planes = view.pieces.iter().map(|piece| piece.plane).collect();
    builder.fusion.set_view(value, view);
    if packing.is_some() {
        builder.set_packed(value);
    }
    Some(HostInput { name, shape, perm, patches: packing.map(|packed| packed.patches), planes })
}

/// Returns the value after changes of the input's axes by the graph, if it has no other reader, and
/// the permutation.
fn transposed(builder: &mut Builder, input: ValueId) -> (ValueId, Vec<usize>) {
    let shape = builder.graph.shape(input);
    let natural = || (0..shape.len()).collect();
    let Some(reader) = builder.fusion.readers.only(input) else { return (input, natural()) };
    let node = builder.node(reader);
    let Some(&output) = node.outputs.first() else { return (input, natural()) };
    let perm = match &node.op {
        Op::Transpose(op) => Some(op.perm.clone()),
        Op::Reshape(_) => moved_ones(shape, builder.graph.shape(output)),
        _ => None,
    };
    let perm = perm.filter(|_| !builder.graph.is_output(output));
    perm.map_or_else(
        || (input, natural()),
        |perm| {
            builder.fusion.set_done(reader);
            (output, perm)
        },
    )
}

/// Returns the permutation that a reshape is equal to, if it only moves axes of length 1.
pub(super) fn moved_ones(from: &[usize], to: &[usize]) -> Option<Vec<usize>> {
    let axes = |ones: bool| (0..from.len()).filter(move |&axis| (from[axis] == 1) == ones);
    let (mut ones, mut others) = (axes(true), axes(false));
    let perm = to.iter().map(|&size| if size == 1 { ones.next() } else { others.next() });
    let perm: Vec<usize> = perm.collect::<Option<_>>()?;
    let same = perm.len() == from.len() && perm.iter().zip(to).all(|(&axis, &size)| from[axis] == size);
    same.then_some(perm)
}

struct Packed {
    patches: Patches,
    size: [usize; 2],
    channels: usize,
}

/// Returns the windows of the convolution that is the only reader of `input`, if packing them takes
/// fewer cycles.
fn packing(builder: &Builder, input: ValueId) -> Option<Packed> {
    let node = builder.node(builder.fusion.readers.only(input)?);
    let Op::Conv(op @ op::Conv { group: 1, .. }) = &node.op else { return None };
    let &[rows, columns, channels, outputs] = builder.graph.constant(*node.inputs.get(1)?)?.shape() else {
        return None;
    };
    let [height, width, _] = builder.extent(*node.outputs.first()?).ok()?;
    let all = rows * columns * channels;
    if channels >= LANES || op.dilations != [1, 1] {
        return None;
    }
    if cycles(all, outputs) >= rows * columns * cycles(channels, outputs) {
        return None;
    }
    let field = |sizes: [usize; 2]| sizes.map(|size| size as u32);
    let (kernel, stride) = (field([rows, columns]), field(op.strides));
    let padding = field([op.pads[0], op.pads[1]]);
    Some(Packed { patches: Patches { kernel, stride, padding }, size: [height, width], channels: all })
}

/// Returns the cycles per pixel of a pointwise convolution.
fn cycles(channels: usize, outputs: usize) -> usize {
    let parts = |all: usize| (0..all).step_by(LANES).map(move |first| LANES.min(all - first));
    let block = |input: usize| {
        parts(outputs).map(|output| pixel_cycles(lanes(input), filters(output))).sum::<usize>()
    };
    parts(channels).map(block).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_of_length_1_may_move() {
        for (from, to, expected) in [
            (&[1, 1, 1, 3][..], &[1, 3, 1, 1][..], Some(vec![0, 3, 1, 2])),
            (&[1, 4, 3], &[4, 1, 3], Some(vec![1, 0, 2])),
            (&[1, 4, 3], &[1, 3, 4], None),
            (&[1, 4, 3], &[4, 3], None),
            (&[1, 4, 3], &[1, 1, 12], None),
            (&[4, 3], &[1, 4, 3], None),
            (&[2, 3], &[3, 2], None),
        ] {
            assert_eq!(moved_ones(from, to), expected, "{from:?} to {to:?}");
        }
    }

    /// There are 1 024 multipliers, and 64 channels at a time.
    #[test]
    fn cycles_of_a_pixel_are_those_of_its_blocks() {
        for (channels, outputs, expected) in [
            (3, 16, 1),
            (64, 64, 4),
            (32, 64, 2),
            (70, 64, 5),
            (64, 70, 5),
            (70, 70, 4 + 1 + 1 + 1),
            (192, 64, 12),
        ] {
            assert_eq!(cycles(channels, outputs), expected, "{channels} to {outputs}");
        }
    }
}
