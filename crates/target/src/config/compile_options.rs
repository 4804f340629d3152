//! [`CompileOptions`]: what a compilation is asked to do beyond the model.

use std::collections::BTreeMap;
use std::sync::Arc;

use npukit_graph::quantise::Quantisation;
use npukit_graph::rescale::Scales;
use npukit_numeric::Tensor;

use crate::files::cache::Cache;

/// What a compilation is asked to do beyond the model.
#[derive(Clone, Debug, Default)]
pub struct CompileOptions {
    /// File name of the model; artifacts are named after it.
    pub model_name: String,
    /// The target's own options, by name.
    pub options: BTreeMap<String, String>,
    /// The graph comes from [`Instance::prepare`](crate::Instance::prepare) and is to be lowered as it is.
    pub prepared: bool,
    /// How the graph's tensors become integers, for an instance that [has to know](crate::InstanceInfo::quantisation); the graph
    /// is a prepared one then, and the values are numbered as there.
    pub quantisation: Option<Quantisation>,
    /// Exponents of inputs and outputs, by name, for an instance that [scales ports](crate::Scaling::ports): the graph
    /// multiplies such an input by a power of two where it enters, or such an output where it leaves, and the host does so
    /// in its place.
    pub scales: Scales,
    /// How many of the graph's last outputs are there to be looked at: nothing is chosen by them.
    pub kept: usize,
    /// Typical inputs of the graph, for an instance that [measures](crate::InstanceInfo::measures) programs on them.
    pub samples: TypicalInputs,
    /// Where searches look for what they have found before.
    pub cache: Cache,
    /// The program is made for what it computes, not for how long it takes: it may take longer, and is to be there
    /// soon.
    pub draft: bool,
}

/// Inputs by which a compiler may measure what a choice does to the outputs.
#[derive(Clone, Debug, Default)]
pub struct TypicalInputs {
    /// The tensors of each, in the order of the graph's inputs.
    pub tensors: Arc<[Vec<Tensor>]>,
    /// Whether nobody has given any, and these are made up.
    pub made_up: bool,
}

/// When a compiler measures programs on typical inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measures {
    /// Not at all.
    Never,
    /// Where somebody gives some.
    WhereGiven,
    /// Always: without any, some are made up.
    Always,
}
