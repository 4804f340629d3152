//! The host's part of a program: what it keeps, and what it does between two instructions.
//!
//! A [`Host`] is a graph of which the host computes every node, and tensors ("slots", one for each value
//! of the graph) that go to L2 and come from it through windows. [`HostStep`] is the typed form of a
//! [`HostOp`](crate::program::HostOp); [`runtime`](crate::program::runtime) performs it.

mod patches;
mod section;
mod step;

use std::collections::BTreeMap;

use npukit_graph::Graph;
use serde::{Deserialize, Serialize};

pub use patches::lay_out;
pub use section::{HOST, HostError, TENSORS};
pub use step::{HostStep, StepError, Tokens};

/// A node of the model, or several that are computed as one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layer {
    /// Names of the nodes.
    pub name: String,
    /// One past its last instruction.
    pub end: u32,
    /// Multiply-accumulates of the model.
    pub macs: u64,
    /// Names of the values it ends in.
    pub results: Vec<String>,
    /// Its operator and why the host computes it, when the host does.
    pub host: Option<(String, String)>,
    /// What the host does of it, when the machine computes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// Whether its product takes weights of 8 bits, in two passes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_8_bit_weights: bool,
}

/// What the host does of a norm.
pub const SQUARES_HELP: &str =
    "the host gives one scalar a row, the sum of its squares, since no instruction multiplies two values";

/// What the host does of a convolution.
pub const PATCHES_HELP: &str =
    "the host lays out its patches, since MEMCPY moves whole words that follow each other";

/// The host's part of a program.
#[derive(Clone, Debug, Default)]
pub struct Host {
    /// Slots are its values, constants among them; inputs and outputs are the program's.
    pub graph: Graph,
    /// Layers in the order of their instructions.
    pub layers: Vec<Layer>,
    /// What the compiler chose, by option.
    pub choices: BTreeMap<String, String>,
    /// What the program's user should know of.
    pub warnings: Vec<String>,
    /// Most words of L2 in use at once, and the words of all that was ever placed there.
    pub words: [u64; 2],
}
