//! Removal of pixels that are never read.
//!
//! Suppose that all readers of an image step over pixels: a 1x1 convolution with a stride, a slice,
//! or a pixelwise node with such a reader. Then the producer of the image takes over the step, and
//! the readers lose it. A convolution computes every other pixel; a sum gets operands that step.
//! The remaining pixels are computed as before, so results are bit-identical. An operand that is
//! read in full elsewhere is sliced, which takes no instruction.

use std::collections::HashMap;

use npukit_graph::op::{AveragePool, MaxPool, Slice, SliceRange, Window};
use npukit_graph::{Graph, Node, NodeId, Op, Operator, Value, ValueId};

use super::{floats, name_of};

/// Vertical and horizontal distance between pixels that are read or computed.
type Steps = [usize; 2];

/// Every row and column.
const EACH: Steps = [1; 2];

/// Removes pixels that are never read.
pub fn rewrite(graph: &mut Graph) {
    slice_pools(graph);
    let plan = Plan::of(graph);
    if plan.taken.iter().any(|&steps| steps != EACH) {
        plan.apply(graph);
        bypass_whole_slices(graph);
    }
}

/// Replaces every pool with single-pixel windows by a slice: both maximum and mean return the
/// pixel.
fn slice_pools(graph: &mut Graph) {
    for index in 0..graph.nodes.len() {
        let node = &graph.nodes[index];
        let (Op::MaxPool(MaxPool { window }) | Op::AveragePool(AveragePool { window, .. })) = &node.op else {
            continue;
        };
        if window.kernel == EACH && window.pads == [0; 4] && window.strides != EACH {
            let (steps, image) = (window.strides, image(graph, node.outputs[0]));
            graph.nodes[index].op = slice(image, steps).into();
        }
    }
}

/// Returns a slice of every `steps`-th pixel, starting at the first, that covers `image`.
fn slice(image: [usize; 2], steps: Steps) -> Slice {
    let range = |axis: usize| SliceRange {
        axis: axis + 1,
        start: 0,
        length: image[axis],
        step: steps[axis] as isize,
    };
    Slice { ranges: (0..2).filter(|&axis| steps[axis] > 1).map(range).collect() }
}

/// Returns rows and columns of an image `[n, h, w, c]`; zeros for other tensors.
fn image(graph: &Graph, value: ValueId) -> [usize; 2] {
    match graph.shape(value) {
        &[_, rows, columns, _] => [rows, columns],
        _ => [0; 2],
    }
}

/// Decision about which pixels are computed.
struct Plan {
    /// For each value, the distance between its computed pixels.
    taken: Vec<Steps>,
    /// For each node, whether it works pixelwise, so that its operands step like its result.
    passes: Vec<bool>,
}

impl Plan {
    /// Finds the fewest pixels that the readers allow. A node passes a distance on to its operands
    /// only if at least one of them is computed at that distance.
    fn of(graph: &Graph) -> Self {
        let consumers = graph.consumers();
        let passes = graph.nodes.iter().map(|node| goes_by_pixel(graph, node)).collect();
        let mut plan = Self { taken: Vec::new(), passes };
        loop {
            plan.taken = vec![EACH; graph.values.len()];
            for (index, node) in graph.nodes.iter().enumerate().rev() {
                if let (&[output], true) = (node.outputs.as_slice(), plan.can_step(graph, index)) {
                    plan.taken[output.0 as usize] = plan.readable(graph, &consumers, output);
                }
            }
            let idle: Vec<usize> = (0..graph.nodes.len()).filter(|&node| plan.is_idle(graph, node)).collect();
            if idle.is_empty() {
                return plan;
            }
            idle.into_iter().for_each(|node| plan.passes[node] = false);
        }
    }

    fn steps(&self, value: ValueId) -> Steps {
        self.taken[value.0 as usize]
    }

    /// Returns the distance between the computed pixels of a node's result.
    fn own_steps(&self, node: &Node) -> Steps {
        // Default: a node without a result does not step.
        node.outputs.first().map_or(EACH, |&output| self.steps(output))
    }

    /// Whether the result of node `index` can be computed for only some of its pixels.
    fn can_step(&self, graph: &Graph, index: usize) -> bool {
        let windows = |window: &Window| !window.ceil_mode;
        match &graph.nodes[index].op {
            Op::Conv(_) => true,
            Op::Slice(slice) => slice.ranges.iter().all(|range| range.step > 0),
            Op::MaxPool(pool) => windows(&pool.window),
            Op::AveragePool(pool) => windows(&pool.window),
            _ => self.passes[index],
        }
    }

    /// Returns the distance between the pixels of an image that are read. All pixels of an output
    /// are read.
    fn readable(&self, graph: &Graph, consumers: &[Vec<NodeId>], value: ValueId) -> Steps {
        if graph.shape(value).len() != 4 || graph.is_output(value) {
            return EACH;
        }
        let read = consumers[value.0 as usize].iter().map(|&reader| self.read(graph, reader, value));
        // Default: a value without readers is not changed; dead code elimination removes it.
        read.reduce(|a, b| [gcd(a[0], b[0]), gcd(a[1], b[1])]).unwrap_or(EACH)
    }

    /// Returns the distance between the pixels of `value` that node `reader` reads, given the
    /// pixels it computes.
    fn read(&self, graph: &Graph, reader: NodeId, value: ValueId) -> Steps {
        let node = graph.node(reader);
        let own = self.own_steps(node);
        let along = |axis: usize| match &node.op {
            Op::Conv(conv) if node.inputs[1..].iter().all(|&input| input != value) => {
                // Default: windows of several pixels, or partly outside the image, may read any
                // pixel.
                pixel_stride(&conv.window(kernel(graph, node)), axis).map_or(1, |stride| stride * own[axis])
            }
            Op::Slice(slice) => {
                // Default: a slice that starts or ends elsewhere may read any pixel.
                slice_step(graph, slice, value, axis).map_or(1, |step| step * own[axis])
            }
            _ if self.passes[reader.0 as usize] && has_its_image(graph, node, value) => own[axis],
            _ => 1,
        };
        [along(0), along(1)]
    }

    /// Whether node `index` skips pixels, but all of its operands are computed at other distances.
    fn is_idle(&self, graph: &Graph, index: usize) -> bool {
        let node = &graph.nodes[index];
        let own = self.own_steps(node);
        self.passes[index] && own != EACH && node.inputs.iter().all(|&input| self.steps(input) != own)
    }

    /// Applies the plan to the nodes and to the shapes of their results.
    fn apply(&self, graph: &mut Graph) {
        let mut nodes = Vec::with_capacity(graph.nodes.len());
        let mut sliced = HashMap::new();
        for (index, mut node) in std::mem::take(&mut graph.nodes).into_iter().enumerate() {
            let own = self.own_steps(&node);
            // Default: a node without operands does not step.
            let before = node.inputs.first().map_or(EACH, |&input| self.steps(input));
            let step = |axis: usize, step: usize| step * own[axis] / before[axis];
            let stride = |strides: [usize; 2]| [step(0, strides[0]), step(1, strides[1])];
            match &mut node.op {
                Op::Conv(conv) => conv.strides = stride(conv.strides),
                Op::MaxPool(pool) => pool.window.strides = stride(pool.window.strides),
                Op::AveragePool(pool) => pool.window.strides = stride(pool.window.strides),
                Op::Slice(slice) if [before, own] != [EACH; 2] => {
                    *slice = stepped(slice, image(graph, node.outputs[0]), own, step);
                }
                _ if self.passes[index] && own != EACH => {
                    self.slice_operands(graph, &mut node, own, &mut nodes, &mut sliced);
                }
                _ => {}
            }
            nodes.push(node);
        }
        graph.nodes = nodes;
        for (value, steps) in graph.values.iter_mut().zip(&self.taken) {
            if let [_, rows, columns, _] = value.info.shape.as_mut_slice() {
                (*rows, *columns) = (rows.div_ceil(steps[0]), columns.div_ceil(steps[1]));
            }
        }
    }

    /// Slices the operands of a node that are computed at other distances than its result.
    fn slice_operands(
        &self,
        graph: &mut Graph,
        node: &mut Node,
        own: Steps,
        nodes: &mut Vec<Node>,
        sliced: &mut HashMap<(ValueId, Steps), ValueId>,
    ) {
        let result = node.outputs[0];
        for operand in &mut node.inputs {
            let before = self.steps(*operand);
            if before == own || image(graph, *operand) != image(graph, result) {
                continue;
            }
            let steps = [own[0] / before[0], own[1] / before[1]];
            *operand = *sliced.entry((*operand, steps)).or_insert_with(|| {
                let mut info = graph.value(*operand).info.clone();
                let kept = [1, 2].map(|axis| info.shape[axis].div_ceil(own[axis - 1]));
                info.shape[1..3].copy_from_slice(&kept);
                let name = graph.fresh_name(&format!("{}/read", name_of(graph, *operand)));
                let part = graph.add_value(Value { name: name.clone(), info, constant: None });
                let op = slice(kept, steps).into();
                // The node is inserted as early as possible, so that the producer's chain can
                // continue with it.
                let made = nodes.iter().rposition(|node| node.outputs.contains(operand));
                // Default: a value without a producer is available from the start.
                let at = made.map_or(0, |made| made + 1);
                nodes.insert(at, Node { name, op, inputs: vec![*operand], outputs: vec![part] });
                part
            });
        }
    }
}

/// Returns the slice to `image` that takes every `own`-th row and column. `step` returns the new
/// step along an axis.
fn stepped(slice: &Slice, image: [usize; 2], own: Steps, step: impl Fn(usize, usize) -> usize) -> Slice {
    let others = slice.ranges.iter().filter(|range| ![1, 2].contains(&range.axis)).copied();
    let along = |axis: usize| {
        let found = slice.ranges.iter().find(|range| range.axis == axis + 1);
        let whole = SliceRange { axis: axis + 1, start: 0, length: image[axis], step: 1 };
        // Default: an axis that is not sliced is taken as a whole.
        let range = found.copied().unwrap_or(whole);
        let step = step(axis, range.step.unsigned_abs()) as isize;
        SliceRange { length: range.length.div_ceil(own[axis]), step, ..range }
    };
    Slice { ranges: others.chain([along(0), along(1)]).collect() }
}

/// Whether a node computes its result pixel by pixel from operands with the same image; other
/// operands have one pixel.
fn goes_by_pixel(graph: &Graph, node: &Node) -> bool {
    let known = match &node.op {
        Op::Binary(_) | Op::PRelu(_) => true,
        Op::BatchNormalization(_) => node.inputs[1..].iter().all(|&input| floats(graph, input).is_some()),
        op => op.is_pointwise(),
    };
    let fits = |&input: &ValueId| {
        let of_one_pixel = |shape: &[usize]| shape.iter().rev().skip(1).take(2).all(|&size| size == 1);
        let is_image = graph.constant(input).is_none() && has_its_image(graph, node, input);
        is_image || of_one_pixel(graph.shape(input))
    };
    known && node.outputs.len() == 1 && node.inputs.iter().all(fits)
}

/// Whether `value` has the same number of images and pixels as the node's result.
fn has_its_image(graph: &Graph, node: &Node, value: ValueId) -> bool {
    let (own, result) = (graph.shape(value), graph.shape(node.outputs[0]));
    own.len() == 4 && result.len() == 4 && own[1..3] == result[1..3]
}

fn kernel(graph: &Graph, conv: &Node) -> [usize; 2] {
    let weights = graph.shape(conv.inputs[1]);
    [weights[0], weights[1]]
}

/// Returns the stride along an axis of single-pixel windows that stay inside the image; `None` for
/// other windows.
fn pixel_stride(window: &Window, axis: usize) -> Option<usize> {
    let is_pixel = window.kernel[axis] == 1 && window.pads[axis] == 0 && window.pads[axis + 2] == 0;
    is_pixel.then_some(window.strides[axis])
}

/// Returns the step of a slice that takes the first of an image's rows (`axis` 0) or columns and
/// every step-th one up to the end; `None` for other slices.
fn slice_step(graph: &Graph, slice: &Slice, value: ValueId, axis: usize) -> Option<usize> {
    let Some(range) = slice.ranges.iter().find(|range| range.axis == axis + 1) else { return Some(1) };
    let step = usize::try_from(range.step).ok()?;
    let size = image(graph, value)[axis];
    (range.start == 0 && range.length == size.div_ceil(step)).then_some(step)
}

/// Lets readers of a slice that takes all of its operand read the operand.
fn bypass_whole_slices(graph: &mut Graph) {
    let mut index = 0;
    while index < graph.nodes.len() {
        let Some((from, to)) = whole_slice(graph, &graph.nodes[index]) else {
            index += 1;
            continue;
        };
        graph.nodes.remove(index);
        let operands = graph.nodes.iter_mut().flat_map(|node| &mut node.inputs);
        operands.filter(|operand| **operand == to).for_each(|operand| *operand = from);
    }
}

/// Returns operand and result of a slice that takes all of its operand; `None` if the result is an
/// output.
fn whole_slice(graph: &Graph, node: &Node) -> Option<(ValueId, ValueId)> {
    let (Op::Slice(slice), &[from], &[to]) = (&node.op, &node.inputs[..], &node.outputs[..]) else {
        return None;
    };
    let is_whole = graph.shape(from) == graph.shape(to) && slice.ranges.iter().all(|range| range.step == 1);
    (is_whole && !graph.is_output(to)).then_some((from, to))
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}
