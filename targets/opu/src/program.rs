//! [`Program`]: a program before it is written to files and after it was read from them.

use std::collections::BTreeMap;

use npukit_graph::{OpError, Operator, op};
use npukit_numeric::Tensor;
use serde::{Deserialize, Serialize};

use crate::codec::WORD_BYTES;
use crate::config::Config;
use crate::layout::Planes;
use crate::op::Op;

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
/// before it columns, all others rows. Elements are of ITYPE; one with the value `v` stands for
/// `v * 2^-fraction`, where the value of an integer type's element is the integer.
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

/// A step the machine cannot do; the host does it after the program, on an output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostStep {
    /// Node of the model.
    pub node: String,
    /// Output it applies to; its result has the same name and shape.
    pub output: String,
    /// Why the host does it.
    pub reason: String,
    /// What it computes.
    #[serde(flatten)]
    pub op: HostOp,
}

/// What a host step computes: an operator of the graph on an output in the model's shape, which it keeps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "op")]
pub enum HostOp {
    /// Softmax over some axes.
    Softmax {
        /// First axis summed over.
        axis: usize,
        /// One past the last axis summed over.
        axis_end: usize,
    },
    /// The logarithm of softmax.
    LogSoftmax {
        /// First axis summed over.
        axis: usize,
        /// One past the last axis summed over.
        axis_end: usize,
    },
    /// `1 / (1 + e^-x)`.
    Sigmoid,
    /// The hyperbolic tangent.
    Tanh,
    /// `e^x`.
    Exp,
}

impl HostOp {
    fn operator(&self) -> Box<dyn Operator> {
        let unary = |kind| Box::new(op::Unary { kind });
        match *self {
            Self::Softmax { axis, axis_end } => Box::new(op::Softmax { axis, axis_end }),
            Self::LogSoftmax { axis, axis_end } => Box::new(op::LogSoftmax { axis, axis_end }),
            Self::Sigmoid => unary(op::UnaryKind::Sigmoid),
            Self::Tanh => unary(op::UnaryKind::Tanh),
            Self::Exp => unary(op::UnaryKind::Exp),
        }
    }

    /// The operator's name, as ONNX spells it.
    pub fn name(&self) -> &'static str {
        self.operator().name()
    }

    /// The axes it works over, if it names some.
    pub const fn axes(&self) -> Option<(usize, usize)> {
        match *self {
            Self::Softmax { axis, axis_end } | Self::LogSoftmax { axis, axis_end } => Some((axis, axis_end)),
            _ => None,
        }
    }

    /// The step's result, as the graph's evaluator computes it.
    ///
    /// # Errors
    ///
    /// [`OpError`] for axes that the tensor does not have.
    pub fn apply(&self, tensor: &Tensor) -> Result<Tensor, OpError> {
        let results = self.operator().eval(&[tensor])?;
        Ok(results.into_iter().next().unwrap_or_else(|| tensor.clone()))
    }
}

impl Program {
    /// Where programs are loaded when nothing else is said (specification, 3.5).
    pub const ADDRESS: u32 = 0xFFFF_0000;
    /// What the address of a program is a multiple of.
    pub const ALIGNMENT: u32 = 64;

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
