//! [`CompileOptions`]: options of a compilation beyond the model.

use std::collections::BTreeMap;
use std::sync::Arc;

use npukit_graph::quantize::Quantization;
use npukit_graph::rescale::Scales;
use npukit_numeric::Tensor;
use serde_json::{Map, Value};

use crate::files::cache::Cache;

/// Options with which a model was read, by name. Targets store them in artifacts unread.
pub type ModelReading = Map<String, Value>;

/// Options of a compilation beyond the model.
#[derive(Clone, Debug, Default)]
pub struct CompileOptions {
    /// File name of the model; artifacts are named after it.
    pub model_name: String,
    /// Options with which the model was read; empty for the defaults.
    pub reading: ModelReading,
    /// Target-specific options, by name.
    pub options: BTreeMap<String, String>,
    /// Whether the graph comes from [`Instance::prepare`](crate::Instance::prepare) and must be
    /// lowered unchanged.
    pub prepared: bool,
    /// Quantization of the graph's tensors, for an instance that [requires
    /// it](crate::InstanceInfo::quantization). The graph must then be a prepared one, and values
    /// have the numbers of that graph.
    pub quantization: Option<Quantization>,
    /// Power-of-two exponents of inputs and outputs, by name, for an instance that [scales
    /// ports](crate::Scaling::ports). The graph multiplies a scaled input where it enters, or a
    /// scaled output where it leaves; the host does this in its place.
    pub scales: Scales,
    /// Number of trailing graph outputs that exist only for inspection; the compiler bases no
    /// choice on them.
    pub kept: usize,
    /// Typical inputs of the graph, for an instance that [measures](crate::InstanceInfo::measures)
    /// programs on them.
    pub samples: TypicalInputs,
    /// Cache of earlier search results.
    pub cache: Cache,
    /// Whether compile time matters more than the program's run time: only its results are needed.
    pub draft: bool,
}

/// Inputs on which a compiler can measure how a choice affects the outputs.
#[derive(Clone, Debug, Default)]
pub struct TypicalInputs {
    /// Tensors of each sample, in the order of the graph's inputs.
    pub tensors: Arc<[Vec<Tensor>]>,
    /// Whether the samples are synthetic because the user gave none.
    pub made_up: bool,
}

/// When a compiler measures programs on typical inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measures {
    /// Never measures.
    Never,
    /// Only if the user gives samples.
    WhereGiven,
    /// Always; without samples of the user, synthetic ones are used.
    Always,
}
