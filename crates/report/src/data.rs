//! [`Report`]: content of the report page, as data.

use npukit_target::Area;
use npukit_trace::MemoryMap;
use serde::Serialize;
use serde_json::Value;

use crate::timeline::Timeline;

/// Schema name in the data of a page.
pub const SCHEMA: &str = "npukit.report/1";

/// One run, two runs to compare, or an exploration.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Report {
    /// Version of npukit.
    pub version: String,
    /// Title, in one line.
    pub title: String,
    /// The runs. The second is the baseline for the first.
    #[cfg_attr(feature = "schemas", schemars(with = "Vec<Run>"))]
    pub runs: Vec<Value>,
    /// Output of `npu explore --json`, in a report on an exploration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exploration: Option<Value>,
}

/// Program on its instance. Fields are missing if they were not requested or are unknown for the
/// program.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Run {
    /// Target and instance, and options that distinguish it from another run.
    pub label: String,
    /// Model or artifact.
    pub model: String,
    /// Target and instance.
    pub target: String,
    /// Version of npukit.
    pub version: String,
    /// Parameters of the instance.
    pub parameters: Value,
    /// FPGA resources of the instance.
    pub area: Option<Area>,
    /// Number format of its memories.
    pub format: Option<Format>,
    /// Output of `npu time --json`.
    pub time: Option<Value>,
    /// Output of `npu compile --json`.
    pub compile: Option<Value>,
    /// Output of `npu check --compile --json`.
    pub check: Option<Value>,
    /// Output of `npu run --compare --json`.
    pub run: Option<Value>,
    /// Activity of each unit over time.
    pub timeline: Option<Timeline>,
    /// Reason why the timeline is missing.
    pub timeline_missing: Option<String>,
    /// Use of each memory over time.
    pub memories: Vec<MemoryMap>,
    /// Network as it was compiled.
    pub graph: Network,
    /// Distribution of the values of each layer.
    pub distributions: Vec<Distribution>,
}

/// Number format.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Format {
    /// Description in words.
    pub name: String,
    /// Distance between adjacent numbers; `None` if it depends on the number.
    pub step: Option<f64>,
    /// Largest number that does not saturate.
    pub largest: f64,
}

/// Nodes and edges of a network.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Network {
    /// Nodes, producers first.
    pub nodes: Vec<GraphNode>,
    /// Producer and consumer of each result.
    pub edges: Vec<Edge>,
}

/// Indices of two nodes.
pub type Edge = [usize; 2];

/// Node of the network.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct GraphNode {
    /// Name of the node.
    pub name: String,
    /// Operator of the node.
    pub op: String,
    /// Index of its layer in the time report; -1 if it belongs to no layer.
    pub layer: i64,
    /// `chip` or `host`; empty if unknown.
    pub place: String,
    /// Multiply-accumulates.
    pub macs: u64,
    /// Shape of its first result.
    pub shape: Vec<usize>,
}

/// Histogram of the magnitudes of a layer's results, on the chip and in float, over all samples.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Distribution {
    /// Index of the layer in the comparison of layers.
    pub layer: usize,
    /// Name of the layer.
    pub name: String,
    /// Exponent of the first bin, which has magnitudes from `2^low` to twice that.
    pub low: i32,
    /// Counts on the chip. Each bin covers twice the magnitudes of the previous one.
    pub chip: Vec<u64>,
    /// Counts in float.
    pub float: Vec<u64>,
    /// Number of zeros on the chip.
    pub chip_zeros: u64,
    /// Number of zeros in float.
    pub float_zeros: u64,
    /// Distance between adjacent numbers of the format, in the model's scale.
    pub step: Option<f64>,
    /// Largest number of the format, in the model's scale.
    pub largest: Option<f64>,
}
