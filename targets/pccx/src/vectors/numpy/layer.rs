//! A layer and a sequence of tokens, with a cache of 16-bit floats.

use std::collections::BTreeMap;
use std::sync::Arc;

use npukit_graph::Graph;
use npukit_graph::decoder::DecoderError;
use npukit_models::gemma3n::{AttentionInput, Cache, Gate, Gemma3nConfig, Layer, TopK};
use npukit_numeric::{ElementType, Tensor};
use serde::Deserialize;

use super::{Int4, floats, tensor};

#[derive(Deserialize)]
pub(super) struct File {
    pub(super) layers: Vec<Described>,
}

#[derive(Deserialize)]
pub(super) struct Described {
    arch: Arch,
    layer_idx: usize,
    rope_theta: f32,
    altup_router_scale_dim: f32,
    laurel_scale: f32,
    weights: BTreeMap<String, Weights>,
    steps: Vec<Step>,
}

#[derive(Deserialize)]
struct Arch {
    hidden: usize,
    intermediate: usize,
    q_heads: usize,
    kv_heads: usize,
    head_dim: usize,
}

/// Weights: 4-bit rows, or floats `[operands, results]`.
#[derive(Deserialize)]
#[serde(untagged)]
enum Weights {
    Rows(Int4),
    Floats { shape: Vec<usize>, data: Vec<f32> },
}

/// Data of a token.
#[derive(Clone, Debug, Deserialize)]
pub struct Step {
    /// Position of the token.
    pub pos: usize,
    /// Streams before the layer, `[4, hidden]`.
    pub xs: Vec<f32>,
    /// Per-layer input.
    pub pli: Vec<f32>,
    /// Streams after the layer, as the runtime computes them.
    pub out: Vec<f32>,
}

/// A layer of the file.
#[derive(Clone, Debug)]
pub struct NumpyLayer {
    /// Configuration of the runtime, with its cache of 16-bit floats.
    pub config: Gemma3nConfig,
    /// Tensors of the layer. 4-bit tensors are dequantized.
    pub layer: Layer,
    /// Tokens in order.
    pub steps: Vec<Step>,
}

/// npukit's names of tensors, and the file's.
#[rustfmt::skip] // Not formatted: the rows are aligned as a table.
const NAMES: [(&str, &str); 24] = [
    ("altup_norm",              "altup_rn"),
    ("altup_router",            "altup_router"),
    ("altup_predict",           "altup_pred"),
    ("altup_correct",           "altup_corr"),
    ("altup_scale",             "altup_scale"),
    ("attention_norm",          "input_ln"),
    ("query",                   "W_q"),
    ("query_norm",              "gamma_q"),
    ("key",                     "W_k"),
    ("key_norm",                "gamma_k"),
    ("value",                   "W_v"),
    ("output",                  "W_o"),
    ("after_attention_norm",    "post_attn_ln"),
    ("laurel_left",             "laurel_left"),
    ("laurel_right",            "laurel_right"),
    ("laurel_norm",             "laurel_norm"),
    ("feed_forward_norm",       "pre_ffn_ln"),
    ("gate",                    "W_gate"),
    ("up",                      "W_up"),
    ("down",                    "W_down"),
    ("after_feed_forward_norm", "post_ffn_ln"),
    ("per_layer_gate",          "ple_gate"),
    ("per_layer_projection",    "ple_proj"),
    ("per_layer_norm",          "ple_post_ln"),
];

/// Tensors that the runtime multiplies from the left, so that they already have a row per result.
const BY_ROWS: [&str; 2] = ["altup_pred", "altup_corr"];

impl NumpyLayer {
    pub(super) fn new(file: &Described) -> Result<Self, String> {
        let config = file.config()?;
        let get = |name: &str, _: &[usize]| {
            let part = name.rsplit('.').next().unwrap_or(name);
            let theirs = NAMES.iter().find(|(ours, _)| *ours == part).map_or(part, |(_, theirs)| theirs);
            let weights = file.weights.get(theirs).ok_or_else(|| Error(format!("there is no {theirs}")))?;
            weights.tensor(theirs).map(Arc::new).map_err(Error)
        };
        let layer = Layer::new(&config, file.layer_idx, get).map_err(|Error(error)| error)?;
        Ok(Self { config, layer, steps: file.steps.clone() })
    }

    fn graph(&self, step: usize) -> Result<Graph, String> {
        let position = self.steps.get(step).ok_or_else(|| format!("step {step} does not exist"))?.pos;
        self.layer.step(&self.config, position, step).map_err(|error| error.to_string())
    }

    /// Returns the inputs of a step: streams, per-layer input, and keys and values of earlier
    /// steps, if any.
    fn inputs(&self, step: usize, held: &KeyValueCache) -> Result<Vec<Tensor>, String> {
        let Gemma3nConfig { streams, hidden, per_layer, .. } = self.config;
        let now = self.steps.get(step).ok_or_else(|| format!("step {step} does not exist"))?;
        let mut inputs =
            vec![tensor(&[streams, hidden], now.xs.clone())?, tensor(&[1, per_layer], now.pli.clone())?];
        inputs.extend(held.tensors(&self.config)?);
        Ok(inputs)
    }

    /// Returns the streams after each step. Each step is a graph, which `run` computes.
    ///
    /// # Errors
    /// The first error of `run`; a step whose data does not fit the shapes of the layer.
    pub fn streams(
        &self,
        mut run: impl FnMut(&Graph, &[Tensor]) -> Result<Vec<Tensor>, String>,
    ) -> Result<Vec<Vec<f32>>, String> {
        let mut held = KeyValueCache::default();
        let mut streams = Vec::new();
        for step in 0..self.steps.len() {
            let results = run(&self.graph(step)?, &self.inputs(step, &held)?)?;
            held.push(results.get(1..).unwrap_or_default());
            streams.push(floats(results.first()));
        }
        Ok(streams)
    }
}

/// Keys and values of earlier steps, each `[kv_heads, 1, head]`.
#[derive(Default)]
struct KeyValueCache(Vec<[Vec<f32>; 2]>);

impl KeyValueCache {
    /// Appends a step's keys and values.
    fn push(&mut self, keys_values: &[Tensor]) {
        self.0.push([floats(keys_values.first()), floats(keys_values.get(1))]);
    }

    /// Returns keys and values, `[kv_heads, steps, head]`; empty before the first step.
    fn tensors(&self, config: &Gemma3nConfig) -> Result<Vec<Tensor>, String> {
        let &Gemma3nConfig { kv_heads, head, .. } = config;
        let by_head = |part: usize| {
            let heads = (0..kv_heads).flat_map(|h| self.0.iter().map(move |step| (h, step)));
            let values = heads.flat_map(|(h, step)| step[part].iter().skip(h * head).take(head));
            tensor(&[kv_heads, self.0.len(), head], values.copied().collect())
        };
        if self.0.is_empty() { Ok(Vec::new()) } else { Ok(vec![by_head(0)?, by_head(1)?]) }
    }
}

impl Described {
    fn config(&self) -> Result<Gemma3nConfig, String> {
        let rows = |name: &str| match self.weights.get(name) {
            Some(Weights::Rows(rows)) => Ok(rows.packed.len()),
            _ => Err(format!("there is no {name} of 4 bits")),
        };
        let base = Gemma3nConfig::e4b();
        let config = Gemma3nConfig {
            name: "numpy".to_owned(),
            hidden: self.arch.hidden,
            heads: self.arch.q_heads,
            kv_heads: self.arch.kv_heads,
            head: self.arch.head_dim,
            feed_forward: self.arch.intermediate,
            laurel: rows("laurel_left")?,
            per_layer: rows("ple_gate")?,
            router_divisor: self.altup_router_scale_dim,
            laurel_scale: self.laurel_scale,
            top_k: TopK { deviations: 1.645, gate: Gate::Kept, ..base.top_k },
            attention_input: AttentionInput::Stream,
            cache: Cache::Floats(ElementType::F16),
            ..base
        };
        if config.theta(self.layer_idx) != self.rope_theta {
            return Err(format!("layer {} rotates by {}", self.layer_idx, config.theta(self.layer_idx)));
        }
        Ok(config)
    }
}

impl Weights {
    /// Returns a gain, or a matrix by rows.
    fn tensor(&self, name: &str) -> Result<Tensor, String> {
        match self {
            Self::Rows(rows) => {
                let (values, columns) = rows.dequantized()?;
                tensor(&[rows.packed.len(), columns], values)
            }
            Self::Floats { shape, data } => match shape[..] {
                [operands, results] if !BY_ROWS.contains(&name) => {
                    let columns = (0..results).flat_map(|c| data.iter().skip(c).step_by(results.max(1)));
                    tensor(&[results, operands], columns.copied().collect())
                }
                _ => tensor(shape, data.clone()),
            },
        }
    }
}

/// Error in a tensor.
struct Error(String);

impl From<DecoderError> for Error {
    fn from(error: DecoderError) -> Self {
        Self(error.to_string())
    }
}
