//! [`Report`]: what the page shows, as data.

use npukit_target::Area;
use npukit_trace::MemoryMap;
use serde::Serialize;
use serde_json::Value;

use crate::timeline::Timeline;

/// What the data of a page say they are.
pub const SCHEMA: &str = "npukit.report/1";

/// Runs beside each other, or an exploration.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Report {
    /// Version of npukit.
    pub version: String,
    /// What it is of, in a line.
    pub title: String,
    /// What was run; the second is what the first is held against.
    #[cfg_attr(feature = "schemas", schemars(with = "Vec<Run>"))]
    pub runs: Vec<Value>,
    /// What `npu explore --json` prints, in a report of that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exploration: Option<Value>,
}

/// A program on its machine. What is missing was not asked for, or is not known of such a program.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Run {
    /// Target and instance, and what else tells it from another run.
    pub label: String,
    /// The model or the artifact.
    pub model: String,
    /// Target and instance.
    pub target: String,
    /// Version of npukit.
    pub version: String,
    /// Parameters of the instance.
    pub parameters: Value,
    /// What the instance takes of an FPGA.
    pub area: Option<Area>,
    /// The format of numbers in its memories.
    pub format: Option<Format>,
    /// What `npu time --json` prints.
    pub time: Option<Value>,
    /// What `npu compile --json` prints.
    pub compile: Option<Value>,
    /// What `npu check --compile --json` prints.
    pub check: Option<Value>,
    /// What `npu run --compare --json` prints.
    pub run: Option<Value>,
    /// What each unit does when.
    pub timeline: Option<Timeline>,
    /// Why there is no timeline.
    pub timeline_missing: Option<String>,
    /// Who needs which places of each memory when.
    pub memories: Vec<MemoryMap>,
    /// The network as it was compiled.
    pub graph: Network,
    /// Values of each layer.
    pub distributions: Vec<Distribution>,
}

/// A format of numbers.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Format {
    /// In words.
    pub name: String,
    /// Distance of neighbours; none where it depends on the number.
    pub step: Option<f64>,
    /// The largest number that does not saturate.
    pub largest: f64,
}

/// Nodes, and who uses whose results.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Network {
    /// Producers first.
    pub nodes: Vec<GraphNode>,
    /// Who makes something, and who uses it.
    pub edges: Vec<Edge>,
}

/// Places of two nodes.
pub type Edge = [usize; 2];

/// A node of the network.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct GraphNode {
    /// Its name.
    pub name: String,
    /// Its operator.
    pub op: String,
    /// The place of its layer in the report of time; -1 for a node of no layer.
    pub layer: i64,
    /// `chip` or `host`; empty where it is not known.
    pub place: String,
    /// Multiply-accumulates.
    pub macs: u64,
    /// Shape of its first result.
    pub shape: Vec<usize>,
}

/// How large the results of a layer are, on the chip and in float, over all samples.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Distribution {
    /// Place of the layer in the comparison of layers.
    pub layer: usize,
    /// Name of the layer.
    pub name: String,
    /// The first counts are of sizes from `2^low` up to twice that.
    pub low: i32,
    /// On the chip: each of twice the size of the one before.
    pub chip: Vec<u64>,
    /// In float.
    pub float: Vec<u64>,
    /// Zeros on the chip.
    pub chip_zeros: u64,
    /// Zeros in float.
    pub float_zeros: u64,
    /// Distance of neighbours of the format, in the model's scale.
    pub step: Option<f64>,
    /// The largest number of the format, in the model's scale.
    pub largest: Option<f64>,
}
