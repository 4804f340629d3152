//! A compiled program, before it is written to files and after it was read from them.

pub(crate) mod any_run;
pub(crate) mod artifact;
pub(crate) mod csv;
pub(crate) mod run;

pub use npukit_lower::{HostOp, HostStep};
use npukit_target::OUTSIDE;

use crate::config::{Config, System};
use crate::isa::op::Op;

/// A run of DRAM0 vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// First vector.
    pub base: u64,
    /// Vectors.
    pub size: u64,
}

/// How a tensor of the model lies in vectors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Shape in the model's own order of axes.
    pub model_shape: Vec<usize>,
    /// Axis `i` of the packed tensor is axis `perm[i]` of the model's.
    pub perm: Vec<usize>,
    /// Size of the packed tensor's innermost axis, cut into `ceil(channels / N)` vectors, the last
    /// one filled up with zeros. All outer axes (row-major) count the groups of vectors.
    pub channels: usize,
    /// What is stored is the model's value divided by `2^exponent`.
    pub exponent: i32,
}

/// An input or output of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// Name in the model.
    pub name: String,
    /// Where it lies in DRAM0; pieces follow each other.
    pub pieces: Vec<Piece>,
    /// How, when known: a published artifact does not say.
    pub layout: Option<Layout>,
}

impl Binding {
    /// What is stored is the model's value divided by two to this power.
    pub fn exponent(&self) -> i32 {
        // Default: a published artifact holds values as they are.
        self.layout.as_ref().map_or(0, |layout| layout.exponent)
    }

    /// The vector of DRAM0 and the lane that hold an element, counted in the model's order where the layout is known.
    pub fn place(&self, element: usize, lanes: usize) -> Option<(u64, usize)> {
        let scalar = match &self.layout {
            Some(layout) => {
                let mut marks = vec![0; layout.scalars()?];
                *marks.get_mut(element)? = 1;
                layout.pack(&marks, lanes)?.iter().position(|&mark| mark == 1)?
            }
            None => element,
        };
        let mut vector = (scalar / lanes) as u64;
        for piece in &self.pieces {
            if vector < piece.size {
                return Some((piece.base.checked_add(vector)?, scalar % lanes));
            }
            vector -= piece.size;
        }
        None
    }

    /// The parts of its vectors, or of as many as there are, that lie in each of its pieces, with their first vectors.
    pub fn parts<'v, T>(&'v self, vectors: &'v [T], lanes: usize) -> impl Iterator<Item = (u64, &'v [T])> {
        let mut rest = vectors;
        self.pieces.iter().map(move |piece| {
            let scalars = usize::try_from(piece.size).unwrap_or(usize::MAX).saturating_mul(lanes); // Default: all of them.
            let (part, left) = rest.split_at(scalars.min(rest.len()));
            rest = left;
            (piece.base, part)
        })
    }
}

/// A layer: the instructions made for a group of graph nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct Layer {
    /// Names of the nodes, joined with `+`.
    pub name: String,
    /// Instructions `first .. first + count` are its.
    pub first: usize,
    /// Number of instructions.
    pub count: usize,
    /// Multiply-accumulates of the model, padding left out.
    pub macs: u64,
}

/// Vectors used of a memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Highest number in use at once.
    pub maximum: u64,
    /// Sum of all allocations.
    pub aggregate: u64,
}

/// Use of the memories by a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryUse {
    /// DRAM0.
    pub dram0: Usage,
    /// DRAM1 (constants).
    pub dram1: Usage,
    /// Local memory.
    pub local: Usage,
    /// Accumulators.
    pub accumulators: Usage,
}

/// A compiled program.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    /// Name; artifacts are named after it.
    pub name: String,
    /// The instance it was compiled for.
    pub config: Config,
    /// Instructions in order.
    pub instructions: Vec<Op>,
    /// Constants from vector 0 of DRAM1, raw scalars, `array_size` a vector.
    pub constants: Vec<i32>,
    /// The driver copies the constants to local memory before the program starts.
    pub load_consts_to_local: bool,
    /// Inputs, by `base`.
    pub inputs: Vec<Binding>,
    /// Outputs, by `base`.
    pub outputs: Vec<Binding>,
    /// Steps left to the host; empty for published artifacts.
    pub host_steps: Vec<HostStep>,
    /// Layers in order; empty when unknown (published artifacts).
    pub layers: Vec<Layer>,
    /// Memory use, when compiled here.
    pub memory: MemoryUse,
    /// The system it was compiled for; none when unknown (published artifacts).
    pub system: Option<System>,
}

impl Program {
    /// By instruction, the place of its layer in [`Self::layers`], of the last one if there are several;
    /// the number of layers when it is of none.
    pub fn layer_of_each(&self) -> Vec<usize> {
        let total = self.instructions.len();
        let mut layers = vec![self.layers.len(); total];
        for (place, &Layer { first, count, .. }) in self.layers.iter().enumerate() {
            let end = first.saturating_add(count).min(total);
            layers[first.min(end)..end].fill(place);
        }
        layers
    }

    /// Where an instruction is, for messages: its index, its bytes, its kind, and its layer if known.
    pub fn place(&self, instruction: usize) -> String {
        let kind = self.instructions.get(instruction).map_or("no instruction", crate::isa::kind::kind);
        let offset = instruction * self.config.layout().instruction_bytes();
        let layer = self
            .layers
            .iter()
            .rev()
            .find(|layer| instruction.checked_sub(layer.first).is_some_and(|index| index < layer.count));
        let name = match layer {
            Some(layer) => format!(", of layer `{}`", layer.name),
            None if self.layers.is_empty() => String::new(),
            None => format!(", of layer `{OUTSIDE}`"),
        };
        format!("instruction {instruction} (byte {offset:#x}), {kind}{name},")
    }
}
