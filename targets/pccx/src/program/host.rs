//! The host's part of a program: its data, and its operations between instructions.
//!
//! A [`Host`] has a graph whose nodes the host computes. The graph's values are "slots": tensors
//! that are exchanged with L2 through windows. [`HostStep`] is the typed form of a
//! [`HostOp`](crate::program::HostOp); [`runtime`](crate::program::runtime) executes it.

mod cache;
mod patches;
mod section;
mod step;

use std::collections::BTreeMap;

use npukit_graph::Graph;
use npukit_target::ModelReading;
use serde::{Deserialize, Serialize};

pub use cache::{Cache, CacheForm, HIGH, Role, eight_bits, split};
pub use patches::lay_out;
pub use section::{HOST, HostError, TENSORS};
pub use step::{HostStep, StepError, Tokens};

/// One or more nodes of the model that are computed together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layer {
    /// Names of the nodes, joined.
    pub name: String,
    /// Index after the layer's last instruction.
    pub end: u32,
    /// Multiply-accumulates of the nodes in the model.
    pub macs: u64,
    /// Names of the layer's results.
    pub results: Vec<String>,
    /// Operator, and the reason why the host computes it; `None` if the machine computes it.
    pub host: Option<(String, String)>,
    /// The host's contribution to a layer that the machine computes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// Whether the layer's product uses 8-bit weights, in two passes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_8_bit_weights: bool,
}

/// The host's contribution to a norm.
pub const SQUARES_HELP: &str =
    "the host computes the sum of squares of each row, because no instruction multiplies two values";

/// The host's contribution to a convolution.
pub const PATCHES_HELP: &str =
    "the host lays out the patches, because MEMCPY moves only consecutive whole words";

/// The host's part of a program.
#[derive(Clone, Debug, Default)]
pub struct Host {
    /// Graph of the slots, including constants; its inputs and outputs equal the program's.
    pub graph: Graph,
    /// Layers in the order of their instructions.
    pub layers: Vec<Layer>,
    /// Choices of the compiler, by option.
    pub choices: BTreeMap<String, String>,
    /// Warnings for the user of the program.
    pub warnings: Vec<String>,
    /// Maximum number of L2 words in use at once, and the total of all allocated words.
    pub words: [u64; 2],
    /// Options with which the model was read.
    pub reading: ModelReading,
}
