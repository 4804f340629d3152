//! A compiled program, before it is written to files and after it was read from them.

pub(crate) mod artifact;
pub(crate) mod csv;
pub(crate) mod run;
pub(crate) mod symbolic_run;

pub use npukit_lower::{HostOp, HostStep};
use npukit_target::{ModelReading, OUTSIDE};

use crate::config::{Config, System};
use crate::isa::op::Op;

/// A run of DRAM0 vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Address of the first vector.
    pub base: u64,
    /// Number of vectors.
    pub size: u64,
}

/// Layout of a model's tensor in vectors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Shape in the model's axis order.
    pub model_shape: Vec<usize>,
    /// Permutation of axes: axis `i` of the packed tensor is axis `perm[i]` of the model's.
    pub perm: Vec<usize>,
    /// Size of the packed tensor's innermost axis, split into `ceil(channels / N)` vectors, the
    /// last one padded with zeros. All outer axes (row-major) enumerate the groups of vectors.
    pub channels: usize,
    /// Scale: the stored value is the model's value divided by `2^exponent`.
    pub exponent: i32,
}

/// An input or output of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// Name in the model.
    pub name: String,
    /// Location in DRAM0, as consecutive pieces.
    pub pieces: Vec<Piece>,
    /// Layout, if known; a published artifact does not record it.
    pub layout: Option<Layout>,
}

impl Binding {
    /// Returns the exponent of two by which the model's values are divided for storage.
    pub fn exponent(&self) -> i32 {
        // Default: a published artifact stores values unscaled.
        self.layout.as_ref().map_or(0, |layout| layout.exponent)
    }

    /// Returns the DRAM0 vector and the lane of an element, indexed in the model's order if the
    /// layout is known.
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

    /// Splits vectors into the parts for each piece, with the first vector of each piece; there may
    /// be fewer vectors than the pieces hold.
    pub fn parts<'v, T>(&'v self, vectors: &'v [T], lanes: usize) -> impl Iterator<Item = (u64, &'v [T])> {
        let mut rest = vectors;
        self.pieces.iter().map(move |piece| {
            let scalars = usize::try_from(piece.size).unwrap_or(usize::MAX).saturating_mul(lanes); // Default: a piece beyond the address range takes all of them.
            let (part, left) = rest.split_at(scalars.min(rest.len()));
            rest = left;
            (piece.base, part)
        })
    }
}

/// A layer: the instructions generated for a group of graph nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct Layer {
    /// Names of the nodes, joined with `+`.
    pub name: String,
    /// Index of the first instruction; the layer is `first .. first + count`.
    pub first: usize,
    /// Number of instructions.
    pub count: usize,
    /// Multiply-accumulates of the model, without padding.
    pub macs: u64,
}

/// Use of a memory, in vectors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Peak use: the highest number in use at once.
    pub maximum: u64,
    /// Sum of the sizes of all allocations.
    pub aggregate: u64,
}

/// Use of the memories by a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryUse {
    /// Use of DRAM0.
    pub dram0: Usage,
    /// Use of DRAM1, which holds constants.
    pub dram1: Usage,
    /// Use of local memory.
    pub local: Usage,
    /// Use of the accumulators.
    pub accumulators: Usage,
}

/// A compiled program.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    /// Name; artifacts are named after it.
    pub name: String,
    /// The instance it was compiled for.
    pub config: Config,
    /// Instructions in program order.
    pub instructions: Vec<Op>,
    /// Constants, stored from vector 0 of DRAM1, as raw scalars, `array_size` per vector.
    pub constants: Vec<i32>,
    /// Whether the driver copies the constants to local memory before the program starts.
    pub load_consts_to_local: bool,
    /// Inputs, ordered by `base`.
    pub inputs: Vec<Binding>,
    /// Outputs, ordered by `base`.
    pub outputs: Vec<Binding>,
    /// Steps that the host computes; empty for published artifacts.
    pub host_steps: Vec<HostStep>,
    /// Layers in order; empty if unknown (published artifacts).
    pub layers: Vec<Layer>,
    /// Memory use, if npukit compiled the program.
    pub memory: MemoryUse,
    /// The system it was compiled for; `None` if unknown (published artifacts).
    pub system: Option<System>,
    /// Options with which its model was read; empty if unknown (published artifacts).
    pub reading: ModelReading,
}

impl Program {
    /// Returns the index in [`Self::layers`] for each instruction, of the last layer if several
    /// contain it; the number of layers if no layer contains it.
    pub fn layer_of_each(&self) -> Vec<usize> {
        let total = self.instructions.len();
        let mut layers = vec![self.layers.len(); total];
        for (place, &Layer { first, count, .. }) in self.layers.iter().enumerate() {
            let end = first.saturating_add(count).min(total);
            layers[first.min(end)..end].fill(place);
        }
        layers
    }

    /// Describes an instruction for messages: index, byte offset, kind, and layer if known.
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
