//! Pixel grouping: adjacent pixels with few channels share a vector.
//!
//! A vector has N lanes; a pixel of 16 channels on an array of 32 leaves half of them idle, in
//! every product, SIMD pass and move. Reshaped to `[n, h, w / r, r c]`, a tensor holds the same
//! elements in the same order, with r pixels per vector. A convolution between grouped tensors is
//! again a convolution, with weights that are zero between pixels that no tap connects. Array loads
//! that are all zero are omitted.
//!
//! A slice of rows and columns whose pixels are whole vectors takes pixels out of groups and groups
//! them again. Values that share a grid (sums, rectifications) have the same grouping: they form a
//! *class*. Array rows, weight loads and vectors are counted to decide which classes are grouped,
//! and by how much.

mod convolution;

use std::collections::{BTreeMap, HashMap};

use npukit_graph::op::{Reshape, Slice};
use npukit_graph::{Graph, Node, Op, Operator, ValueId};

use super::parts::{Parts, replace_nodes};
use super::{floats, is_dense};
use crate::config::Config;
use crate::lower::memory::view::natural_channels;
use convolution::Grouped;

/// Group sizes to try.
const SIZES: [usize; 3] = [2, 4, 8];

/// Cycles per vector apart from products: a SIMD pass and a move.
const VECTOR_COST: u64 = 4;

/// Groups pixels if that saves cycles.
pub fn rewrite(graph: &mut Graph, config: &Config) {
    let classes = Classes::of(graph, config.array_size);
    if !classes.any_partial_vector(graph, config.array_size) {
        return;
    }
    let mut search = Search::new(graph, &classes, config.array_size);
    let Some(sizes) = search.best() else { return };
    apply(graph, &classes, &sizes);
}

/// Classes of values that must have the same grouping.
struct Classes {
    /// Class of each value; `None` for values that are not images.
    of_value: Vec<Option<usize>>,
    /// Number of columns of each class's images; 0 for a class that must not be grouped, for
    /// example because its values have different numbers of columns.
    columns: Vec<usize>,
}

impl Classes {
    fn of(graph: &Graph, array_size: usize) -> Self {
        let mut sets = Sets((0..graph.values.len()).collect());
        let mut fixed: Vec<ValueId> = graph.inputs.iter().chain(&graph.outputs).copied().collect();
        for node in &graph.nodes {
            match Role::of(graph, node) {
                Role::Product => {}
                Role::Slice if natural_channels(graph.shape(node.outputs[0])).is_multiple_of(array_size) => {}
                Role::Pointwise(others) => others.iter().for_each(|&other| sets.join(node.outputs[0], other)),
                Role::Slice | Role::Other => {
                    fixed.extend(activations(graph, &node.inputs).chain(node.outputs.iter().copied()))
                }
            }
        }
        let mut numbers: BTreeMap<usize, usize> = BTreeMap::new();
        let mut columns = Vec::new();
        let of_value: Vec<Option<usize>> = (0..graph.values.len())
            .map(|value| {
                let id = ValueId(value as u32);
                if graph.constant(id).is_some() {
                    return None;
                }
                let class = *numbers.entry(sets.find(value)).or_insert_with(|| {
                    columns.push(image_columns(graph, id));
                    columns.len() - 1
                });
                if image_columns(graph, id) != columns[class] {
                    columns[class] = 0;
                }
                Some(class)
            })
            .collect();
        for id in fixed {
            if let Some(class) = of_value[id.0 as usize] {
                columns[class] = 0;
            }
        }
        Self { of_value, columns }
    }

    /// Returns the group size of a value.
    fn size(&self, value: ValueId, sizes: &[usize]) -> usize {
        self.of_value[value.0 as usize].map_or(1, |class| sizes[class])
    }

    /// Whether some image that may be grouped leaves lanes idle.
    fn any_partial_vector(&self, graph: &Graph, array_size: usize) -> bool {
        self.of_value.iter().enumerate().any(|(value, class)| {
            let channels = natural_channels(graph.shape(ValueId(value as u32)));
            class.is_some_and(|class| self.columns[class] > 1) && !channels.is_multiple_of(array_size)
        })
    }
}

/// Returns the number of columns of an image `[n, h, w, c]`; 0 for other tensors.
fn image_columns(graph: &Graph, value: ValueId) -> usize {
    match graph.shape(value) {
        &[_, _, columns, _] => columns,
        _ => 0,
    }
}

fn activations<'g>(graph: &'g Graph, values: &'g [ValueId]) -> impl Iterator<Item = ValueId> + 'g {
    values.iter().copied().filter(|&value| graph.constant(value).is_none())
}

/// How a node relates the groupings of its operands and its result.
enum Role {
    /// A convolution: operand and result are grouped independently.
    Product,
    /// A slice of rows and columns: operand and result are grouped independently if no lane moves.
    Slice,
    /// The result has the same grouping as these operands.
    Pointwise(Vec<ValueId>),
    /// Images must not be grouped.
    Other,
}

impl Role {
    fn of(graph: &Graph, node: &Node) -> Self {
        match &node.op {
            _ if is_dense(graph, node) => Self::Product,
            Op::Binary(_) => Self::of_broadcast(graph, node),
            Op::Slice(Slice { ranges }) if ranges.iter().all(|range| [1, 2].contains(&range.axis)) => {
                Self::Slice
            }
            Op::BatchNormalization(_) if node.inputs[1..].iter().all(|&id| floats(graph, id).is_some()) => {
                Self::Pointwise(vec![node.inputs[0]])
            }
            op if op.is_pointwise() && node.inputs.len() == 1 && node.outputs.len() == 1 => {
                Self::Pointwise(vec![node.inputs[0]])
            }
            _ => Self::Other,
        }
    }

    /// Pointwise role if all operands are as large as the result, or constants with one element in
    /// total or one per channel.
    fn of_broadcast(graph: &Graph, node: &Node) -> Self {
        let shape = graph.shape(node.outputs[0]);
        let by_channel = |id: ValueId| {
            let own = graph.shape(id);
            let outer = own.len().saturating_sub(1);
            let channels = natural_channels(own);
            own[..outer].iter().all(|&size| size == 1) && (channels == 1 || Some(&channels) == shape.last())
        };
        let fits = |&id: &ValueId| match floats(graph, id) {
            Some(_) => by_channel(id),
            None => graph.shape(id) == shape,
        };
        if !node.inputs.iter().all(fits) {
            return Self::Other;
        }
        Self::Pointwise(activations(graph, &node.inputs).collect())
    }
}

/// Disjoint sets of values (union-find).
struct Sets(Vec<usize>);

impl Sets {
    fn find(&mut self, mut value: usize) -> usize {
        while self.0[value] != value {
            self.0[value] = self.0[self.0[value]];
            value = self.0[value];
        }
        value
    }

    fn join(&mut self, a: ValueId, b: ValueId) {
        let (a, b) = (self.find(a.0 as usize), self.find(b.0 as usize));
        self.0[a] = b;
    }
}

/// Search for the group sizes with the least cost.
struct Search<'a> {
    graph: &'a Graph,
    /// Nodes with a cost that depends on group sizes.
    products: Vec<&'a Node>,
    classes: &'a Classes,
    array_size: usize,
    /// Cost of a convolution by product and group sizes; `None` if these sizes are impossible.
    known: HashMap<(usize, usize, usize), Option<u64>>,
}

impl<'a> Search<'a> {
    fn new(graph: &'a Graph, classes: &'a Classes, array_size: usize) -> Self {
        let products = graph.nodes.iter().filter(|node| is_dense(graph, node)).collect();
        Self { graph, products, classes, array_size, known: HashMap::new() }
    }

    /// Returns the group size of each class; `None` if grouping does not pay. All classes with the
    /// same number of columns are tried together first, since a class rarely pays alone; then each
    /// class is tried by itself.
    fn best(&mut self) -> Option<Vec<usize>> {
        let mut sizes = vec![1; self.classes.columns.len()];
        let mut cost = self.cost(&sizes)?;
        let mut widths: Vec<usize> =
            self.classes.columns.iter().copied().filter(|&columns| columns > 1).collect();
        widths.sort_unstable();
        widths.dedup();
        let together = widths.into_iter().map(|width| {
            let same = |&class: &usize| self.classes.columns[class] == width;
            (0..sizes.len()).filter(same).collect::<Vec<usize>>()
        });
        let alone =
            (0..sizes.len()).filter(|&class| self.classes.columns[class] > 1).map(|class| vec![class]);
        for members in together.chain(alone).collect::<Vec<_>>() {
            for size in [1].into_iter().chain(SIZES) {
                let fits = |&class: &usize| self.classes.columns[class].is_multiple_of(size);
                if !members.iter().all(fits) {
                    continue;
                }
                let mut candidate = sizes.clone();
                members.iter().for_each(|&class| candidate[class] = size);
                if let Some(cheaper) = self.cost(&candidate).filter(|&other| other < cost) {
                    (cost, sizes) = (cheaper, candidate);
                }
            }
        }
        Some(sizes)
    }

    fn cost(&mut self, sizes: &[usize]) -> Option<u64> {
        let mut cost = 0;
        for (index, &node) in self.products.iter().enumerate() {
            let from = self.classes.size(node.inputs[0], sizes);
            let to = self.classes.size(node.outputs[0], sizes);
            let (graph, array_size) = (self.graph, self.array_size);
            let product = self.known.entry((index, from, to));
            let product =
                product.or_insert_with(|| Some(Grouped::new(graph, node, from, to)?.cost(array_size)));
            cost += (*product)? + self.vectors(node.outputs[0], to) * VECTOR_COST;
        }
        Some(cost)
    }

    fn vectors(&self, value: ValueId, size: usize) -> u64 {
        let shape = self.graph.shape(value);
        let channels = shape[shape.len() - 1];
        let pixels: usize = shape[..shape.len() - 1].iter().product();
        (pixels / size * (channels * size).div_ceil(self.array_size)) as u64
    }
}

/// Reshapes the classes' values into groups.
fn apply(graph: &mut Graph, classes: &Classes, sizes: &[usize]) {
    for index in 0..graph.nodes.len() {
        let node = graph.nodes[index].clone();
        match Role::of(graph, &node) {
            Role::Product => {
                let (from, to) = (classes.size(node.inputs[0], sizes), classes.size(node.outputs[0], sizes));
                if let Some(grouped) = Grouped::new(graph, &node, from, to).filter(|_| (from, to) != (1, 1)) {
                    let node = grouped.node(graph);
                    graph.nodes[index] = node;
                }
            }
            Role::Pointwise(_) => {
                let size = classes.size(node.outputs[0], sizes);
                for (operand, &id) in node.inputs.iter().enumerate() {
                    // A single number applies to all channels of all pixels in a group, so it needs
                    // no copies.
                    let is_one = floats(graph, id).is_some_and(|data| data.len() == 1);
                    if is_one && matches!(node.op, Op::Binary(_)) {
                        continue;
                    }
                    if let Some(repeated) = repeated(graph, id, size) {
                        graph.nodes[index].inputs[operand] = repeated;
                    }
                }
            }
            Role::Slice | Role::Other => {}
        }
    }
    // Shapes change last because roles are derived from the old shapes.
    for (value, class) in graph.values.iter_mut().zip(&classes.of_value) {
        let size = class.map_or(1, |class| sizes[class]);
        if let [_, _, columns, channels] = value.info.shape.as_mut_slice() {
            (*columns, *channels) = (*columns / size, *channels * size);
        }
    }
    replace_nodes(graph, |parts, node| slice_groups(parts, node, classes, sizes));
}

/// Rewrites a slice between grouped tensors: pixels are sliced and then grouped again.
fn slice_groups(parts: &mut Parts<'_>, node: &Node, classes: &Classes, sizes: &[usize]) -> Option<()> {
    let (Op::Slice(slice), &[from], &[to]) = (&node.op, &node.inputs[..], &node.outputs[..]) else {
        return None;
    };
    let size = |value| classes.size(value, sizes);
    if (size(from), size(to)) == (1, 1) {
        return None;
    }
    let &[images, rows, columns, channels] = parts.graph.shape(from) else { return None };
    let apart = vec![images, rows, columns * size(from), channels / size(from)];
    let grouped = parts.graph.shape(to).to_vec();
    let pixels = parts.add("apart", Reshape { shape: apart }, &[from])?;
    let sliced = parts.add("sliced", slice.clone(), &[pixels])?;
    parts.add("grouped", Reshape { shape: grouped }, &[sliced])?;
    Some(())
}

/// Repeats a constant with one element per channel for each pixel of a group.
fn repeated(graph: &mut Graph, id: ValueId, size: usize) -> Option<ValueId> {
    let data = floats(graph, id).filter(|_| size > 1)?.repeat(size);
    let name = graph.value(id).name.clone();
    super::add_floats(graph, &name, vec![data.len()], data)
}
