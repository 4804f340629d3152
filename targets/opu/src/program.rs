//! [`Program`]: the in-memory form of a program, from which artifacts are written and into which
//! they are read.

pub(crate) mod artifact;
pub(crate) mod layout;
pub(crate) mod liveness;
pub(crate) mod run;
pub(crate) mod symbolic_run;
pub(crate) mod tensor;
pub(crate) mod usage;

use std::collections::BTreeMap;

pub use npukit_lower::{HostOp, HostStep};
use npukit_target::ModelReading;
use serde::{Deserialize, Serialize};

use crate::config::Config;
use crate::isa::op::{Op, WORD_BYTES};
use crate::program::layout::Planes;

/// Program: instructions, initial memory contents, and a description of its parts.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    /// Name of the program; its artifact files are named after it.
    pub name: String,
    /// Name of the instance for which the program was made.
    pub instance: String,
    /// Instance for which the program was made.
    pub config: Config,
    /// Byte address of the first word, a multiple of 64.
    pub address: u32,
    /// Instructions in order.
    pub instructions: Vec<Op>,
    /// Initial memory contents in addition to the words; all other bytes are 0.
    pub segments: Vec<Segment>,
    /// Inputs of the program.
    pub inputs: Vec<Binding>,
    /// Outputs of the program.
    pub outputs: Vec<Binding>,
    /// Steps that the host executes, in order.
    pub host_steps: Vec<HostStep>,
    /// Layers in order; empty when unknown.
    pub layers: Vec<Layer>,
    /// Fraction lengths of the model's values, by name; constants were rounded to them. Empty if
    /// unknown, and for floats.
    pub fractions: BTreeMap<String, i32>,
    /// Choices of the compiler, by option name.
    pub choices: BTreeMap<String, String>,
    /// Warnings for the user of the program.
    pub warnings: Vec<String>,
    /// Options with which its model was read.
    pub reading: ModelReading,
}

/// Bytes at a fixed address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Address of the first byte.
    pub address: u32,
    /// Contents.
    pub bytes: Vec<u8>,
}

/// Input or output of a program: a tensor of the model and its map in memory.
///
/// The axes of the map are the tensor's, in the order `perm`: the last one is the channels, the one
/// before it the columns, all others are rows. The planes have the same channels and the same
/// number of pixels, which follow each other row by row; a row of the planes may have a different
/// number of pixels than the tensor has columns. Elements have type ITYPE; an element of value `v`
/// represents `v * 2^-fraction`, where the value of an element of an integer type is the integer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Binding {
    /// Name of the tensor in the model.
    pub name: String,
    /// Shape of one sample, in the model's axis order.
    pub shape: Vec<usize>,
    /// Permutation of the axes: axis `i` of the map is axis `perm[i]` of the model's tensor.
    pub perm: Vec<usize>,
    /// Number of fraction bits of the values.
    pub fraction: i32,
    /// Patches of an input that the map holds instead of the tensor's pixels; `None` if it holds
    /// the pixels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patches: Option<Patches>,
    /// Location of the map in memory.
    pub planes: Planes,
}

/// Patches of a tensor as the pixels of a map, which turns few input channels into many.
///
/// Channel `(r * kernel[1] + s) * C + c` of the map's pixel `(y, x)` holds channel `c` (of `C`) of
/// the tensor's pixel `(y * stride[0] + r - padding[0], x * stride[1] + s - padding[1])`; 0 outside
/// the tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Patches {
    /// Rows and columns of a patch.
    pub kernel: [u32; 2],
    /// Distance between adjacent patches, in rows and columns.
    pub stride: [u32; 2],
    /// Rows of zeros above the tensor and columns of zeros left of it.
    pub padding: [u32; 2],
}

/// Layer: the instructions for a group of graph nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Layer {
    /// Names of the nodes, joined with `+`.
    pub name: String,
    /// Index of the first instruction; the layer has `first .. first + count`.
    pub first: usize,
    /// Number of instructions.
    pub count: usize,
    /// Multiply-accumulates of the model, without padding.
    pub macs: u64,
    /// Names of the graph's values that the layer computes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<String>,
}

impl Program {
    /// Default load address of programs (specification, 3.5).
    pub const ADDRESS: u32 = 0xFFFF_0000;

    /// Creates a program from instructions alone, at the default load address. It has no initial
    /// memory contents, inputs, outputs or layers.
    pub fn of(name: String, instance: String, config: Config, instructions: Vec<Op>) -> Self {
        Self {
            name,
            instance,
            config,
            address: Self::ADDRESS,
            instructions,
            segments: Vec::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            host_steps: Vec::new(),
            layers: Vec::new(),
            fractions: BTreeMap::new(),
            choices: BTreeMap::new(),
            warnings: Vec::new(),
            reading: ModelReading::new(),
        }
    }

    /// Returns for each instruction the index of its layer in [`Self::layers`]: the last one if it
    /// belongs to several, the number of layers if it belongs to none.
    pub fn layer_of_each(&self) -> Vec<usize> {
        let total = self.instructions.len();
        let mut layers = vec![self.layers.len(); total];
        for (place, &Layer { first, count, .. }) in self.layers.iter().enumerate() {
            let end = first.saturating_add(count).min(total);
            if let Some(owned) = layers.get_mut(first.min(end)..end) {
                owned.fill(place);
            }
        }
        layers
    }

    /// Describes the location of an instruction for messages: index, byte offset, mnemonic, and
    /// layer if known.
    pub fn place(&self, instruction: usize) -> String {
        let mnemonic = self.instructions.get(instruction).map_or("after the last one", Op::mnemonic);
        let offset = instruction * WORD_BYTES;
        let holds = |layer: &&Layer| instruction.checked_sub(layer.first).is_some_and(|i| i < layer.count);
        let layer = self.layers.iter().rev().find(holds);
        let layer = layer.map(|layer| format!(", layer `{}`", layer.name)).unwrap_or_default();
        format!("instruction {instruction} (byte {offset:#x}), {mnemonic}{layer}")
    }
}
