//! Cost of a language model, for lengths of text and numbers of texts at once: [`LanguageTime`],
//! with the keys of `npu time --json`.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::report::time::{KindTime, UnitTime};

/// Lengths of text and numbers of texts to time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LanguageTimeOptions {
    /// Numbers of tokens of a text.
    pub contexts: Vec<usize>,
    /// Numbers of texts that are decoded at once.
    pub batches: Vec<usize>,
    /// Target-specific options, by name.
    pub options: BTreeMap<String, String>,
}

/// Cost of a language model on an instance, without its weights.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct LanguageTime {
    /// Clock in MHz, to which all cycles refer.
    pub clock_mhz: f64,
    /// Source of the clock frequency.
    pub clock_source: String,
    /// Every context with every batch, in this order.
    pub points: Vec<LanguagePoint>,
    /// Assumptions of the figures.
    pub assumptions: Vec<String>,
    /// Notes on how the programs compute.
    pub notes: Vec<String>,
}

/// Cost of texts of one length.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct LanguagePoint {
    /// Number of tokens of each text.
    pub context: usize,
    /// Number of texts.
    pub batch: usize,
    /// Reason why the machine cannot compute it; null if it can.
    pub refused: Option<String>,
    /// All tokens of the texts, up to the logits after the last one of each.
    pub prefill: Option<LanguageStep>,
    /// The last token of each text, after the others.
    pub decode: Option<LanguageStep>,
}

/// Cost of some tokens.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct LanguageStep {
    /// Number of tokens.
    pub tokens: usize,
    /// Largest number of tokens that a program computes, which share each reading of the weights.
    pub rows: usize,
    /// Number of programs that run.
    pub programs: u64,
    /// Number of programs whose cycles were counted. If it is less than that of different programs,
    /// the cycles of the others are interpolated between them.
    pub timed_programs: u64,
    /// Whether cycles are interpolated.
    pub interpolated: bool,
    /// Number of instructions.
    pub instructions: u64,
    /// Core cycles.
    pub cycles: u64,
    /// Milliseconds at the clock.
    pub milliseconds: f64,
    /// Tokens per second.
    pub tokens_per_second: f64,
    /// Name of the largest lower bound.
    pub bound: String,
    /// Cycles as a multiple of the largest lower bound; null if that is 0.
    pub distance: Option<f64>,
    /// Lower bounds of the cycles, the largest first.
    pub bounds: Vec<LanguageBound>,
    /// Bytes and cycles of everything.
    #[serde(flatten)]
    pub traffic: Traffic,
    /// Parts of the model, summed over its layers, in the order of their first use.
    pub parts: Vec<LanguagePart>,
    /// Layers of the model, and the rest.
    pub layers: Vec<LanguageLayers>,
    /// Engines, with their waits by cause.
    pub units: Vec<UnitTime>,
    /// Instructions by kind and bound; their cycles add up to all cycles.
    pub kinds: Vec<KindTime>,
}

/// Lower bound of the cycles by one resource.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct LanguageBound {
    /// Name of the resource.
    pub what: String,
    /// Least cycles.
    pub cycles: u64,
}

/// Computations and bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Traffic {
    /// Number of multiply-accumulates.
    pub macs: u64,
    /// Bytes of weights from external memory.
    pub weight_bytes: u64,
    /// Bytes of cached keys and values from external memory.
    pub cache_bytes: u64,
    /// Bytes of values from and to the host.
    pub host_bytes: u64,
}

/// Cost of a part of the model.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct LanguagePart {
    /// Name of the part.
    pub part: String,
    /// Cycles by which the part extends the time. The cycles of all parts add up to all cycles.
    pub cycles: u64,
    /// Share of all cycles, 0 to 1.
    pub share: f64,
    /// Computations and bytes.
    #[serde(flatten)]
    pub traffic: Traffic,
}

/// Cost of consecutive layers with equal figures, or of everything outside of layers.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct LanguageLayers {
    /// Index of the first layer; null outside of layers.
    pub first: Option<usize>,
    /// Number of layers; 0 outside of layers.
    pub count: usize,
    /// Cycles of each layer.
    pub cycles: u64,
    /// Computations and bytes of each layer.
    #[serde(flatten)]
    pub traffic: Traffic,
}
