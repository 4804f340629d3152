//! [`Program`]: a program before it is written to files and after it was read from them.

pub(crate) mod any_run;
pub(crate) mod artifact;
pub(crate) mod layout;
pub(crate) mod lives;
pub(crate) mod run;
pub(crate) mod tensor;
pub(crate) mod usage;

use std::collections::BTreeMap;

pub use npukit_lower::{HostOp, HostStep};
use serde::{Deserialize, Serialize};

use crate::config::Config;
use crate::isa::op::{Op, WORD_BYTES};
use crate::program::layout::Planes;

/// A program: instructions, what memory holds before they run, and what its parts mean.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    /// Name; artifacts are named after it.
    pub name: String,
    /// Name of the instance it was made for.
    pub instance: String,
    /// The instance.
    pub config: Config,
    /// Byte address of the first word, a multiple of 64.
    pub address: u32,
    /// Instructions in order.
    pub instructions: Vec<Op>,
    /// What memory holds beside the words; all other bytes are 0.
    pub segments: Vec<Segment>,
    /// Inputs.
    pub inputs: Vec<Binding>,
    /// Outputs.
    pub outputs: Vec<Binding>,
    /// Steps left to the host, in order.
    pub host_steps: Vec<HostStep>,
    /// Layers in order; empty when unknown.
    pub layers: Vec<Layer>,
    /// Fraction lengths of the model's values, by name: what constants were rounded for. Empty when unknown, and for floats.
    pub fractions: BTreeMap<String, i32>,
    /// What the compiler chose, by option.
    pub choices: BTreeMap<String, String>,
    /// What its user should know of.
    pub warnings: Vec<String>,
}

/// Bytes at an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Byte address of the first.
    pub address: u32,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// An input or output of a program: a tensor of the model and a map in memory.
///
/// The tensor's axes, in the order `perm`, are those of the map: the last one counts channels, the one
/// before it columns, all others rows. The planes have the same channels and as many pixels, which follow
/// each other row by row: a row of the planes may have another number of pixels than the tensor has columns.
/// Elements are of ITYPE; one with the value `v` stands for `v * 2^-fraction`, where the value of an integer
/// type's element is the integer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Binding {
    /// Name in the model.
    pub name: String,
    /// Shape of a sample in the model's order of axes.
    pub shape: Vec<usize>,
    /// Axis `i` of the map's order is axis `perm[i]` of the model's.
    pub perm: Vec<usize>,
    /// Fraction bits of the values.
    pub fraction: i32,
    /// For an input: the map holds patches of the tensor instead of its pixels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patches: Option<Patches>,
    /// Where the map lies.
    pub planes: Planes,
}

/// Patches of a tensor as the pixels of a map, so that few input channels become many.
///
/// Pixel `(y, x)` of the map holds, as channel `(r * kernel[1] + s) * C + c`, channel `c` of `C` of the
/// tensor's pixel `(y * stride[0] + r - padding[0], x * stride[1] + s - padding[1])`; 0 outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Patches {
    /// Rows and columns of a patch.
    pub kernel: [u32; 2],
    /// Rows and columns from patch to patch.
    pub stride: [u32; 2],
    /// Zeros above and before the tensor.
    pub padding: [u32; 2],
}

/// A layer: the instructions made for a group of graph nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Layer {
    /// Names of the nodes, joined with `+`.
    pub name: String,
    /// Instructions `first .. first + count` are its.
    pub first: usize,
    /// Number of instructions.
    pub count: usize,
    /// Multiply-accumulates of the model, padding left out.
    pub macs: u64,
    /// Names of the graph's values that it ends in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<String>,
}

impl Program {
    /// Where programs are loaded when nothing else is said (specification, 3.5).
    pub const ADDRESS: u32 = 0xFFFF_0000;

    /// Instructions alone, loaded where programs are: nothing lies in memory before them, and nothing is known of their
    /// parts.
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
        }
    }

    /// By instruction, the place of its layer in [`Self::layers`], of the last one if there are several;
    /// the number of layers when it is of none.
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

    /// Where an instruction is, for messages: its index, its byte, its mnemonic, and its layer if known.
    pub fn place(&self, instruction: usize) -> String {
        let mnemonic = self.instructions.get(instruction).map_or("after the last one", Op::mnemonic);
        let offset = instruction * WORD_BYTES;
        let holds = |layer: &&Layer| instruction.checked_sub(layer.first).is_some_and(|i| i < layer.count);
        let layer = self.layers.iter().rev().find(holds);
        let layer = layer.map(|layer| format!(", of layer `{}`", layer.name)).unwrap_or_default();
        format!("instruction {instruction} (byte {offset:#x}), {mnemonic}{layer}")
    }
}
