//! HIR: layers as steps on a grid of vectors that stays in the accumulators.
//!
//! A [`Layer`] fills its grid with a matrix product or a load, changes it step by step, and saves
//! it where other layers or the host need it. Steps name vectors, not addresses.

use std::fmt::Write;

use crate::isa::op::SimdOp;
use crate::lower::memory::object::{ObjectId, ObjectKind, Objects, VecRef};
use crate::program::{HostStep, Layout};

/// A model as layers over objects.
#[derive(Clone, Debug)]
pub struct Model {
    /// Inputs, outputs, variables and constants.
    pub objects: Objects,
    /// Layers in execution order.
    pub layers: Vec<Layer>,
    /// Inputs of the program.
    pub inputs: Vec<Port>,
    /// Outputs of the program.
    pub outputs: Vec<Port>,
    /// Steps that the host computes after the program.
    pub host_steps: Vec<HostStep>,
}

/// An input or output of the program.
#[derive(Clone, Debug)]
pub struct Port {
    /// Name of the tensor in the model.
    pub name: String,
    /// Object that stores its vectors.
    pub object: ObjectId,
    /// Layout of the tensor in the vectors.
    pub layout: Layout,
}

/// Steps on one grid. `pixels` and `blocks` are the size of the grid after the last step.
#[derive(Clone, Debug)]
pub struct Layer {
    /// Names of the layer's graph nodes.
    pub nodes: Vec<String>,
    /// Multiply-accumulates of the model in this layer, without padding.
    pub macs: u64,
    /// Number of pixels of the grid after the last step.
    pub pixels: usize,
    /// Number of vectors per pixel; equal in all steps.
    pub blocks: usize,
    /// Steps in execution order.
    pub steps: Vec<Step>,
    /// Number of accumulators at the start of accumulator memory that hold a kept sum while the
    /// layer runs.
    pub kept: u64,
}

/// A step of a layer. Lists of vectors are ordered pixel by pixel, block by block.
#[derive(Clone, Debug, Hash)]
pub enum Step {
    /// Fills the grid with a matrix product.
    MatMul(MatMul),
    /// Fills the grid with vectors.
    Load(Vec<VecRef>),
    /// Adds vectors to the grid.
    AddVectors(Vec<VecRef>),
    /// Computes `op(grid, vectors)`, with swapped operands if `swapped`.
    Binary {
        /// SIMD operation.
        op: SimdOp,
        /// Operand that is not the grid.
        vectors: Vec<VecRef>,
        /// Whether `vectors` is the left operand.
        swapped: bool,
    },
    /// Computes `op(grid, operand)` with an operand that all pixels share, with swapped operands if
    /// `swapped`.
    ChannelWise {
        /// SIMD operation.
        op: SimdOp,
        /// Operand that is not the grid.
        operand: ChannelOperand,
        /// Whether `operand` is the left operand.
        swapped: bool,
    },
    /// Evaluates a formula for each vector of the grid.
    Formula(Formula),
    /// Applies a function to each element of the grid, by lookup tables.
    Lookup(Lookup),
    /// Combines the vectors of each window element by element, in window order.
    Reduce {
        /// SIMD operation; it is commutative.
        op: SimdOp,
        /// Windows, each with at least one pixel.
        windows: Windows,
    },
    /// Computes the sum of each window, multiplied by the window's scale.
    AveragePool {
        /// Windows to average.
        windows: Windows,
        /// For each window, a vector with one over the divisor in all lanes.
        scales: Vec<VecRef>,
    },
    /// Computes the sum of each window's vectors times their weights, element by element.
    WeightedSum(WeightedSum),
    /// Starts with the grid that an earlier layer kept.
    Resume,
    /// Leaves the grid in place for a later layer. The layer continues with the result of the next
    /// step.
    Keep {
        /// Object with the value that the grid holds.
        object: ObjectId,
    },
    /// Stores the grid in memory.
    Save {
        /// Object to write.
        object: ObjectId,
        /// Whether the order is pixel by pixel, as hosts expect, instead of block by block, which
        /// keeps runs long.
        pixel_major: bool,
        /// Pixels of the grid to store, ascending; `None` stores all.
        pixels: Option<Vec<u32>>,
    },
}

impl Step {
    /// Returns the windows if the step replaces the grid by windows of the previous grid.
    pub fn windows(&self) -> Option<&Windows> {
        match self {
            Self::Reduce { windows, .. }
            | Self::AveragePool { windows, .. }
            | Self::WeightedSum(WeightedSum { windows, .. }) => Some(windows),
            _ => None,
        }
    }
}

/// An operand that all pixels share.
#[derive(Clone, Debug, Hash)]
pub enum ChannelOperand {
    /// Zero in all lanes.
    Zero,
    /// One vector per block, or one for all blocks.
    Blocks(Vec<VecRef>),
}

/// ALU operations on each vector of the grid in turn. The register starts with `first` and takes
/// the result of each operation; the last result goes back to the grid.
#[derive(Clone, Debug, Hash)]
pub struct Formula {
    /// Initial value of the register.
    pub first: Operand,
    /// Operations, at least one.
    pub operations: Vec<Operation>,
}

impl Formula {
    /// Returns all operands in order of use.
    pub fn operands(&self) -> impl Iterator<Item = &Operand> {
        std::iter::once(&self.first).chain(self.operations.iter().map(|operation| &operation.operand))
    }
}

/// Computes `op(operand, register)`, with swapped operands if `swapped`.
#[derive(Clone, Debug, Hash)]
pub struct Operation {
    /// SIMD operation.
    pub op: SimdOp,
    /// Operand that is not the register.
    pub operand: Operand,
    /// Whether the register is the left operand.
    pub swapped: bool,
}

/// A function by lookup: a polynomial of the difference to the closest key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lookup {
    /// Constant that holds all tables: the keys, then one table per coefficient, constant term
    /// first.
    pub object: ObjectId,
    /// Number of vectors per table.
    pub vectors: u32,
    /// Number of tables, including the keys.
    pub tables: u32,
    /// Number of coefficients of the polynomial, at least one. Further tables are loaded but not
    /// used.
    pub coefficients: usize,
}

/// An operand of a [`Formula`].
#[derive(Clone, Debug, Hash)]
pub enum Operand {
    /// The current vector of the grid.
    Grid,
    /// One vector per block, or one for all blocks.
    Blocks(Vec<VecRef>),
    /// One vector per vector of the grid.
    Vectors(Vec<VecRef>),
}

/// For each window, a bias plus the sum of the window's vectors times one weight each. Additions
/// are in the order of the weights.
#[derive(Clone, Debug, Default, Hash)]
pub struct WeightedSum {
    /// Windows to sum.
    pub windows: Windows,
    /// For each entry of the windows, the index of its weight.
    pub which: Vec<u32>,
    /// Weights; each has one vector per block, or one for all blocks.
    pub weights: Vec<Vec<VecRef>>,
    /// Initial value of the sums: one vector per block; empty for zero.
    pub bias: Vec<VecRef>,
}

/// Sets of pixels of the previous grid, one per pixel of the new grid.
#[derive(Clone, Debug, Default, Hash)]
pub struct Windows {
    starts: Vec<u32>,
    pixels: Vec<u32>,
}

impl Windows {
    /// Appends the window of the next pixel.
    pub fn push(&mut self, pixels: impl IntoIterator<Item = u32>) {
        if self.starts.is_empty() {
            self.starts.push(0);
        }
        self.pixels.extend(pixels);
        self.starts.push(self.pixels.len() as u32);
    }

    /// Returns the number of windows.
    pub fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the positions of window `i` in the list of all entries.
    pub fn range(&self, i: usize) -> std::ops::Range<usize> {
        self.starts[i] as usize..self.starts[i + 1] as usize
    }

    /// Returns the number of pixels of the largest window.
    pub fn longest(&self) -> usize {
        // Default: without windows, the largest size is 0.
        (0..self.len()).map(|i| self.range(i).len()).max().unwrap_or(0)
    }

    /// Returns the pixels of window `i`.
    pub fn get(&self, i: usize) -> &[u32] {
        &self.pixels[self.range(i)]
    }
}

/// A matrix product. For every pixel and output block, it sums over terms an input vector times the
/// term's weights for that block.
#[derive(Clone, Debug, Hash)]
pub struct MatMul {
    /// One entry per kernel tap and block of input channels.
    pub terms: Vec<Term>,
    /// Weights of term `t` for block `o` at `o * terms.len() + t`; `None` if all are zero.
    pub sets: Vec<Option<WeightSet>>,
}

impl MatMul {
    /// Returns the weights of `term` for `block`; `None` if all are zero.
    pub fn set(&self, term: usize, block: usize) -> Option<&WeightSet> {
        self.sets[block * self.terms.len() + term].as_ref()
    }

    /// Returns the objects that hold weights; an object may occur several times.
    pub fn weights(&self) -> impl Iterator<Item = ObjectId> + '_ {
        self.sets.iter().flatten().flat_map(WeightSet::first_rows).map(|row| row.object)
    }
}

/// Input vectors that are multiplied by one array full of weights: one per pixel, [`VecRef::ZERO`]
/// where the tap is in the padding.
#[derive(Clone, Debug, Hash)]
pub struct Term {
    /// Input vectors, one per pixel.
    pub inputs: Vec<VecRef>,
}

/// One array full of weights.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WeightSet {
    /// Location of the rows.
    pub rows: Rows,
    /// Bias that is loaded with the rows.
    pub bias: Bias,
}

impl WeightSet {
    /// Returns the rows; of a constant, only the first.
    fn first_rows(&self) -> &[VecRef] {
        match &self.rows {
            Rows::Constant(first) => std::slice::from_ref(first),
            Rows::Variable(rows) => rows,
        }
    }
}

/// Vectors that fill the array's rows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Rows {
    /// `array_size` rows of a constant, starting at this vector; the bias is the row before them.
    Constant(VecRef),
    /// Vectors of variables, at most `array_size`. The remaining rows are zero, and so is the bias.
    Variable(Vec<VecRef>),
}

/// Bias that a set of weights adds to its sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bias {
    /// No bias.
    None,
    /// A bias for pixels that have an input in this term.
    Present,
    /// A bias for all pixels.
    All,
}

impl Layer {
    /// Returns the node names, joined by `+`.
    pub fn name(&self) -> String {
        self.nodes.join("+")
    }
}

impl Model {
    /// Formats one line per layer: its nodes and the size of its grid.
    pub fn print_layers(&self) -> String {
        let mut text = String::new();
        for (i, layer) in self.layers.iter().enumerate() {
            let Layer { pixels, blocks, macs, .. } = layer;
            // The result is ignored because writing to a string cannot fail.
            let _ =
                writeln!(text, "layer {i} {}: {pixels} pixels x {blocks} blocks, {macs} MACs", layer.name());
        }
        for step in &self.host_steps {
            let _ = writeln!(text, "host {}: {:?} on {}: {}", step.node, step.op, step.output, step.reason);
        }
        text
    }

    /// Formats the steps of every layer.
    pub fn print_steps(&self) -> String {
        let mut text = String::new();
        for (i, layer) in self.layers.iter().enumerate() {
            // The result is ignored because writing to a string cannot fail.
            let _ = writeln!(text, "layer {i} {}", layer.name());
            for step in &layer.steps {
                let _ = writeln!(text, "  {}", self.print_step(step));
            }
        }
        text
    }

    fn print_step(&self, step: &Step) -> String {
        match step {
            Step::MatMul(matmul) => {
                let sets = matmul.sets.iter().flatten().count();
                let weights = matmul.weights().next().map_or("nothing", |object| self.name(object));
                format!("matmul {weights}: {} terms, {sets} weight sets", matmul.terms.len())
            }
            Step::Load(vectors) => format!("load {}", self.print_vectors(vectors)),
            Step::AddVectors(vectors) => format!("add {}", self.print_vectors(vectors)),
            Step::Binary { op, vectors, swapped } => {
                format!("{op:?} {}{}", self.print_vectors(vectors), if *swapped { ", swapped" } else { "" })
            }
            Step::ChannelWise { op, operand, swapped } => {
                let operand = match operand {
                    ChannelOperand::Zero => "0".to_owned(),
                    ChannelOperand::Blocks(vectors) => self.print_vectors(vectors),
                };
                format!("{op:?} by channel with {operand}{}", if *swapped { ", swapped" } else { "" })
            }
            Step::Formula(formula) => self.print_formula(formula),
            Step::Lookup(Lookup { object, vectors, coefficients, .. }) => {
                format!(
                    "lookup {}: keys in {vectors} vectors, {coefficients} coefficients",
                    self.name(*object)
                )
            }
            Step::Reduce { op, windows } => format!("{op:?}, {} windows", windows.len()),
            Step::AveragePool { windows, .. } => format!("average pool, {} windows", windows.len()),
            Step::WeightedSum(sum) => {
                format!("weighted sum, {} windows, {} weights", sum.windows.len(), sum.weights.len())
            }
            Step::Resume => "resume".to_owned(),
            Step::Keep { object } => format!("keep {}", self.name(*object)),
            Step::Save { object, pixel_major, pixels } => {
                let order = if *pixel_major { " pixel-major" } else { "" };
                let part = pixels.as_ref().map(|pixels| format!(", {} pixels of it", pixels.len()));
                // Default: a value that is stored as a whole needs no note.
                format!("save {}{order}{}", self.name(*object), part.unwrap_or_default())
            }
        }
    }

    fn print_formula(&self, formula: &Formula) -> String {
        let operand = |operand: &Operand| match operand {
            Operand::Grid => "grid".to_owned(),
            Operand::Blocks(vectors) | Operand::Vectors(vectors) => self.print_vectors(vectors),
        };
        let mut text = format!("formula {}", operand(&formula.first));
        for Operation { op, operand: other, swapped } in &formula.operations {
            // The result is ignored because writing to a string cannot fail.
            let _ = write!(text, ", {op:?} {}{}", operand(other), if *swapped { " swapped" } else { "" });
        }
        text
    }

    fn print_vectors(&self, vectors: &[VecRef]) -> String {
        let mut names: Vec<&str> = Vec::new();
        for vector in vectors {
            let name = if vector.is_zero() { "zero" } else { self.name(vector.object) };
            if !names.contains(&name) {
                names.push(name);
            }
        }
        format!("{} ({} vectors)", names.join(", "), vectors.len())
    }

    fn name(&self, object: ObjectId) -> &str {
        &self.objects.get(object).name
    }

    /// Returns the objects of a kind.
    pub fn objects_of(&self, kind: ObjectKind) -> impl Iterator<Item = ObjectId> + '_ {
        self.objects.iter().filter(move |(_, object)| object.kind == kind).map(|(id, _)| id)
    }
}

/// Visits the objects that steps read from memory or write to it.
pub fn for_each_object(steps: &[Step], mut visit: impl FnMut(ObjectId)) {
    let mut vectors = |list: &[VecRef]| {
        // Most vectors come in runs that belong to one object. Visiting an object once per run is
        // enough.
        let mut last = VecRef::ZERO.object;
        for vector in list {
            if vector.object != last && !vector.is_zero() {
                last = vector.object;
                visit(last);
            }
        }
    };
    for step in steps {
        match step {
            Step::MatMul(matmul) => {
                matmul.terms.iter().for_each(|term| vectors(&term.inputs));
                matmul.weights().for_each(|object| vectors(&[VecRef { object, index: 0 }]));
            }
            Step::Load(list) | Step::AddVectors(list) | Step::Binary { vectors: list, .. } => vectors(list),
            Step::ChannelWise { operand: ChannelOperand::Blocks(list), .. } => vectors(list),
            Step::ChannelWise { .. } | Step::Reduce { .. } | Step::Resume | Step::Keep { .. } => {}
            Step::Formula(formula) => formula.operands().for_each(|operand| match operand {
                Operand::Grid => {}
                Operand::Blocks(list) | Operand::Vectors(list) => vectors(list),
            }),
            Step::Lookup(lookup) => vectors(&[VecRef { object: lookup.object, index: 0 }]),
            Step::AveragePool { scales: list, .. } => vectors(list),
            Step::WeightedSum(sum) => sum.weights.iter().chain([&sum.bias]).for_each(|list| vectors(list)),
            Step::Save { object, .. } => vectors(&[VecRef { object: *object, index: 0 }]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Windows;

    #[test]
    fn windows_are_what_was_pushed() {
        let mut windows = Windows::default();
        assert_eq!((windows.is_empty(), windows.len(), windows.longest()), (true, 0, 0));
        windows.push([4, 5, 8]);
        windows.push([]);
        windows.push([7]);
        assert_eq!((windows.is_empty(), windows.len(), windows.longest()), (false, 3, 3));
        assert_eq!([0, 1, 2].map(|i| windows.get(i)), [&[4, 5, 8][..], &[], &[7]]);
        assert_eq!(windows.range(2), 3..4);
    }
}
