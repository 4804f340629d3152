//! HIR: layers as steps on a grid of vectors that stays in the accumulators.
//!
//! A [`Layer`] starts by filling its grid (a matrix product, or a load), changes it step by step,
//! and saves it where other layers or the host need it. Steps name vectors, not addresses.

use std::fmt::Write;

use crate::isa::op::SimdOp;
use crate::lower::memory::object::{ObjectId, ObjectKind, Objects, VecRef};
use crate::program::{HostStep, Layout};

/// A model as layers over objects.
#[derive(Clone, Debug)]
pub struct Model {
    /// Inputs, outputs, variables and constants.
    pub objects: Objects,
    /// Layers in order.
    pub layers: Vec<Layer>,
    /// Inputs of the program.
    pub inputs: Vec<Port>,
    /// Outputs of the program.
    pub outputs: Vec<Port>,
    /// Steps left to the host.
    pub host_steps: Vec<HostStep>,
}

/// An input or output.
#[derive(Clone, Debug)]
pub struct Port {
    /// The model's name.
    pub name: String,
    /// Where its vectors are.
    pub object: ObjectId,
    /// How the tensor lies in them.
    pub layout: Layout,
}

/// Steps on one grid. `pixels` and `blocks` are the size of the grid after the last step.
#[derive(Clone, Debug)]
pub struct Layer {
    /// Names of its graph nodes.
    pub nodes: Vec<String>,
    /// Multiply-accumulates of the model, padding left out.
    pub macs: u64,
    /// Pixels after the last step.
    pub pixels: usize,
    /// Vectors of a pixel; the same in all steps.
    pub blocks: usize,
    /// What is done, in order.
    pub steps: Vec<Step>,
    /// Accumulators at the start of all, which a sum takes that is kept there while the layer runs.
    pub kept: u64,
}

/// A step. Lists of references are pixel by pixel, block by block.
#[derive(Clone, Debug, Hash)]
pub enum Step {
    /// Fills the grid with a matrix product.
    MatMul(MatMul),
    /// Fills the grid with vectors.
    Load(Vec<VecRef>),
    /// Adds vectors to the grid.
    AddVectors(Vec<VecRef>),
    /// `op(grid, vectors)`, or with the operands swapped.
    Binary {
        /// Operation.
        op: SimdOp,
        /// The other operand.
        vectors: Vec<VecRef>,
        /// The other operand is the left one.
        swapped: bool,
    },
    /// `op(grid, operand)` with an operand that all pixels share, or with the operands swapped.
    ChannelWise {
        /// Operation.
        op: SimdOp,
        /// The other operand.
        operand: ChannelOperand,
        /// The other operand is the left one.
        swapped: bool,
    },
    /// A formula for each vector of the grid.
    Formula(Formula),
    /// A function of each element of the grid, by tables.
    Lookup(Lookup),
    /// The vectors of each window, combined lane by lane in the order of the window.
    Reduce {
        /// Operation; its operands may be swapped.
        op: SimdOp,
        /// The windows, none empty.
        windows: Windows,
    },
    /// The sum of each window, multiplied by the window's scale.
    AveragePool {
        /// The windows.
        windows: Windows,
        /// One over the divisor in all lanes, per window.
        scales: Vec<VecRef>,
    },
    /// The sum of each window's vectors times their weights, lane by lane.
    WeightedSum(WeightedSum),
    /// Starts with the grid that an earlier layer kept.
    Resume,
    /// Leaves the grid where it is for a later layer, and goes on with what the next step makes of it.
    Keep {
        /// What the grid is.
        object: ObjectId,
    },
    /// Stores the grid.
    Save {
        /// Where to.
        object: ObjectId,
        /// Pixel by pixel (what hosts expect) instead of block by block (what keeps runs long).
        pixel_major: bool,
        /// The pixels of the grid that are stored, ascending; all when `None`.
        pixels: Option<Vec<u32>>,
    },
}

impl Step {
    /// The windows, of a step that makes a new grid of windows of the one before.
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
    /// Zero.
    Zero,
    /// One vector per block, or one for all blocks.
    Blocks(Vec<VecRef>),
}

/// What the ALUs do to one vector of the grid after the other: the register takes `first`, then the
/// result of each operation; that of the last one goes back to the grid.
#[derive(Clone, Debug, Hash)]
pub struct Formula {
    /// What the register begins with.
    pub first: Operand,
    /// Operations, at least one.
    pub operations: Vec<Operation>,
}

impl Formula {
    /// All operands, in the order of their use.
    pub fn operands(&self) -> impl Iterator<Item = &Operand> {
        std::iter::once(&self.first).chain(self.operations.iter().map(|operation| &operation.operand))
    }
}

/// `op(operand, register)`, or with the operands swapped.
#[derive(Clone, Debug, Hash)]
pub struct Operation {
    /// Operation.
    pub op: SimdOp,
    /// The operand that is not the register.
    pub operand: Operand,
    /// The register is the left operand.
    pub swapped: bool,
}

/// A function by lookup: around the closest key, a polynomial of the difference to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lookup {
    /// The constant with all tables: the keys, then each coefficient's, the constant one first.
    pub object: ObjectId,
    /// Vectors of each table.
    pub vectors: u32,
    /// Tables, the keys counted.
    pub tables: u32,
    /// Coefficients of the polynomial, at least one; further tables are loaded, but not used.
    pub coefficients: usize,
}

/// An operand of a [`Formula`].
#[derive(Clone, Debug, Hash)]
pub enum Operand {
    /// The grid's vector.
    Grid,
    /// One vector per block, or one for all blocks.
    Blocks(Vec<VecRef>),
    /// One vector per vector of the grid.
    Vectors(Vec<VecRef>),
}

/// For each window: a bias, and the sum of its vectors times a weight each, in the order of the weights.
#[derive(Clone, Debug, Default, Hash)]
pub struct WeightedSum {
    /// The windows.
    pub windows: Windows,
    /// Which of the weights each vector of a window meets, in the order of the windows.
    pub which: Vec<u32>,
    /// The weights: each one vector per block, or one for all blocks.
    pub weights: Vec<Vec<VecRef>>,
    /// What sums begin with: one vector per block; zero when empty.
    pub bias: Vec<VecRef>,
}

/// Sets of pixels of the grid before the step, one per pixel of the grid after it.
#[derive(Clone, Debug, Default, Hash)]
pub struct Windows {
    starts: Vec<u32>,
    pixels: Vec<u32>,
}

impl Windows {
    /// Adds the window of the next pixel.
    pub fn push(&mut self, pixels: impl IntoIterator<Item = u32>) {
        if self.starts.is_empty() {
            self.starts.push(0);
        }
        self.pixels.extend(pixels);
        self.starts.push(self.pixels.len() as u32);
    }

    /// Number of windows.
    pub fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Positions of window `i`'s entries in the list of all entries.
    pub fn range(&self, i: usize) -> std::ops::Range<usize> {
        self.starts[i] as usize..self.starts[i + 1] as usize
    }

    /// Pixels of the largest window.
    pub fn longest(&self) -> usize {
        // Default: without windows there is no longest.
        (0..self.len()).map(|i| self.range(i).len()).max().unwrap_or(0)
    }

    /// The pixels of window `i`.
    pub fn get(&self, i: usize) -> &[u32] {
        &self.pixels[self.range(i)]
    }
}

/// A matrix product: for every pixel and output block, the sum over terms of an input vector times
/// the term's weights for that block.
#[derive(Clone, Debug, Hash)]
pub struct MatMul {
    /// One entry per tap and block of input channels.
    pub terms: Vec<Term>,
    /// Weights of term `t` for block `o` at `o * terms.len() + t`; `None` where all are zero.
    pub sets: Vec<Option<WeightSet>>,
}

impl MatMul {
    /// The weights of `term` for `block`.
    pub fn set(&self, term: usize, block: usize) -> Option<&WeightSet> {
        self.sets[block * self.terms.len() + term].as_ref()
    }

    /// The objects that hold weights; the same one may come several times.
    pub fn weights(&self) -> impl Iterator<Item = ObjectId> + '_ {
        self.sets.iter().flatten().flat_map(WeightSet::first_rows).map(|row| row.object)
    }
}

/// The input vectors that meet one array full of weights: one per pixel, [`VecRef::ZERO`] where the
/// tap lies in the padding.
#[derive(Clone, Debug, Hash)]
pub struct Term {
    /// Input vectors.
    pub inputs: Vec<VecRef>,
}

/// One array full of weights.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WeightSet {
    /// Where its rows are.
    pub rows: Rows,
    /// The bias that comes with them.
    pub bias: Bias,
}

impl WeightSet {
    /// The rows, of a constant only the first.
    fn first_rows(&self) -> &[VecRef] {
        match &self.rows {
            Rows::Constant(first) => std::slice::from_ref(first),
            Rows::Variable(rows) => rows,
        }
    }
}

/// The vectors that go into the array.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Rows {
    /// `array_size` rows of a constant, from this vector on; the bias is the row before them.
    Constant(VecRef),
    /// Vectors of variables, at most `array_size`; rows after them are zero. There is no bias.
    Variable(Vec<VecRef>),
}

/// What a set of weights adds to its sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bias {
    /// Nothing.
    None,
    /// A bias, to the sums of pixels that have an input.
    Present,
    /// A bias, to the sums of all pixels.
    All,
}

impl Layer {
    /// The nodes' names, joined.
    pub fn name(&self) -> String {
        self.nodes.join("+")
    }
}

impl Model {
    /// One line per layer: its nodes and the size of its grid.
    pub fn print_layers(&self) -> String {
        let mut text = String::new();
        for (i, layer) in self.layers.iter().enumerate() {
            let Layer { pixels, blocks, macs, .. } = layer;
            // Writing to a string cannot fail.
            let _ =
                writeln!(text, "layer {i} {}: {pixels} pixels x {blocks} blocks, {macs} MACs", layer.name());
        }
        for step in &self.host_steps {
            let _ = writeln!(text, "host {}: {:?} on {}: {}", step.node, step.op, step.output, step.reason);
        }
        text
    }

    /// The steps of every layer.
    pub fn print_steps(&self) -> String {
        let mut text = String::new();
        for (i, layer) in self.layers.iter().enumerate() {
            // Writing to a string cannot fail.
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
                // Default: a value that is stored whole needs no word.
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
            // Writing to a string cannot fail.
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

    /// Objects of a kind.
    pub fn objects_of(&self, kind: ObjectKind) -> impl Iterator<Item = ObjectId> + '_ {
        self.objects.iter().filter(move |(_, object)| object.kind == kind).map(|(id, _)| id)
    }
}

/// Visits the objects that steps read from memory or write to it.
pub fn for_each_object(steps: &[Step], mut visit: impl FnMut(ObjectId)) {
    let mut vectors = |list: &[VecRef]| {
        // Runs of one object are the rule; visiting each once is enough.
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
