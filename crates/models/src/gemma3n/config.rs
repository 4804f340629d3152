//! [`Gemma3nConfig`]: configuration of a model, without its weights.

use npukit_numeric::ElementType;

use super::{Gate, TopK};
use npukit_graph::decoder::DecoderError;
use npukit_graph::decoder::config::{MAX, refuse, rotations};

/// Operand of a layer's attention.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttentionInput {
    /// The prediction of the first stream, as in the documents.
    Predicted,
    /// The first stream itself, as in the runtime.
    Stream,
}

/// Number format of cached keys and values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cache {
    /// Floats of a type, to which they are rounded.
    Floats(ElementType),
    /// 4-bit integers with one scale per token and head, like the accelerator's weights.
    Int4,
}

/// Configuration of a model, without its weights.
#[derive(Clone, Debug, PartialEq)]
pub struct Gemma3nConfig {
    /// Name of the model.
    pub name: String,
    /// Number of tokens in the vocabulary.
    pub vocabulary: usize,
    /// Number of layers, each with attention and a feed-forward part.
    pub layers: usize,
    /// Number of layers, from the first, that compute keys and values. Later layers use the last
    /// such layer of their kind, local or global.
    pub kv_layers: usize,
    /// Features of a stream.
    pub hidden: usize,
    /// Number of query heads.
    pub heads: usize,
    /// Number of key and value heads; neighboring query heads share one.
    pub kv_heads: usize,
    /// Features of a head.
    pub head: usize,
    /// Features inside the feed-forward part.
    pub feed_forward: usize,
    /// Number of streams between layers.
    pub streams: usize,
    /// Features inside the low-rank branch.
    pub laurel: usize,
    /// Features of a per-layer input.
    pub per_layer: usize,
    /// Period of global layers: the last layer of each group of this size is global.
    pub global_every: usize,
    /// Base of the rotation in local layers.
    pub local_theta: f32,
    /// Base of the rotation in global layers.
    pub global_theta: f32,
    /// Addend of the mean square.
    pub epsilon: f32,
    /// Divisor of the operand of routers.
    pub router_divisor: f32,
    /// Factor of the sum of attention and low-rank branch.
    pub laurel_scale: f32,
    /// Sparse gates, which pass only their largest values.
    pub top_k: TopK,
    /// Operand of the attention.
    pub attention_input: AttentionInput,
    /// Number format of cached keys and values, also used for the current token.
    pub cache: Cache,
    /// Bound on the logits, `softcap * tanh(x / softcap)`; `None` for unbounded logits.
    pub softcap: Option<f32>,
    /// Maximum number of rows of a matrix of the head. The vocabulary is split into as few parts of
    /// similar size as possible.
    pub head_rows: usize,
}

impl Gemma3nConfig {
    /// Gemma 3N E4B with the sizes and formulas of the documents.
    ///
    /// Source: 5.1 of the specification of the accelerator that was made for it.
    pub fn e4b() -> Self {
        Self {
            name: "gemma3n_e4b".to_owned(),
            vocabulary: 262_400,
            layers: 35,
            kv_layers: 20,
            hidden: 2048,
            heads: 8,
            kv_heads: 2,
            head: 256,
            feed_forward: 16_384,
            streams: 4,
            laurel: 64,
            per_layer: 256,
            global_every: 5,
            local_theta: 1e4,
            global_theta: 1e6,
            epsilon: 1e-6,
            router_divisor: 2048.0,
            laurel_scale: std::f32::consts::FRAC_1_SQRT_2,
            top_k: TopK { layers: 10, deviations: 1.644_853_6, gate: Gate::Above },
            attention_input: AttentionInput::Predicted,
            cache: Cache::Floats(ElementType::F32),
            softcap: Some(30.0),
            head_rows: 32_800,
        }
    }

    /// Checks every number and the relations between them.
    ///
    /// # Errors
    ///
    /// [`DecoderError::Config`] with the first number that is out of range or does not fit another.
    pub fn check(&self) -> Result<(), DecoderError> {
        for (key, found, least) in [
            ("vocabulary", self.vocabulary, 1),
            ("layers", self.layers, 1),
            ("kv_layers", self.kv_layers, 1),
            ("hidden", self.hidden, 1),
            ("heads", self.heads, 1),
            ("kv_heads", self.kv_heads, 1),
            ("head", self.head, 1),
            ("feed_forward", self.feed_forward, 1),
            ("streams", self.streams, 2),
            ("laurel", self.laurel, 1),
            ("per_layer", self.per_layer, 1),
            ("global_every", self.global_every, 1),
            ("head_rows", self.head_rows, 1),
        ] {
            refuse(found < least || found > MAX, key, &found, || format!("{least} to {MAX}"))?;
        }
        let groups = || format!("a multiple of `kv_heads`, which is {}", self.kv_heads);
        refuse(!self.heads.is_multiple_of(self.kv_heads), "heads", &self.heads, groups)?;
        refuse(!self.head.is_multiple_of(2), "head", &self.head, || "even, for the rotation".to_owned())?;
        for (key, found) in [
            ("local_theta", self.local_theta),
            ("global_theta", self.global_theta),
            ("epsilon", self.epsilon),
            ("router_divisor", self.router_divisor),
            ("laurel_scale", self.laurel_scale),
            ("deviations", self.top_k.deviations),
            ("softcap", self.softcap.unwrap_or(1.0)),
        ] {
            refuse(!(found > 0.0 && found.is_finite()), key, &found, || "a positive number".to_owned())?;
        }
        let held = matches!(self.cache, Cache::Floats(element) if !element.is_float());
        refuse(held, "cache", &format!("{:?}", self.cache), || "a float type".to_owned())?;
        let sources = || "enough for a local and a global source layer".to_owned();
        let mut readers = (self.kv_layers..self.layers).take(self.global_every);
        let orphan = readers.find(|&layer| self.kv_source(layer).is_none());
        refuse(orphan.is_some(), "kv_layers", &self.kv_layers, sources)
    }

    /// Whether a layer is global.
    pub fn is_global(&self, layer: usize) -> bool {
        layer % self.global_every.max(1) + 1 == self.global_every
    }

    /// Whether a layer computes keys and values.
    pub fn owns_kv(&self, layer: usize) -> bool {
        layer < self.kv_layers
    }

    /// Returns the layer whose keys and values a layer reads.
    pub fn kv_source(&self, layer: usize) -> Option<usize> {
        if self.owns_kv(layer) {
            return Some(layer);
        }
        (0..self.kv_layers).rev().find(|&owner| self.is_global(owner) == self.is_global(layer))
    }

    /// Returns the base of a layer's rotation.
    pub fn theta(&self, layer: usize) -> f32 {
        if self.is_global(layer) { self.global_theta } else { self.local_theta }
    }

    /// Returns cosines and sines of a layer's rotation at a position, `[head / 2]` each.
    pub fn rotation(&self, layer: usize, position: usize) -> [Vec<f32>; 2] {
        rotations(self.theta(layer), self.head, position, 1)
    }

    /// Returns the number of rows of each matrix of the head.
    pub fn head_parts(&self) -> impl Iterator<Item = usize> + use<> {
        let (vocabulary, parts) = (self.vocabulary, self.vocabulary.div_ceil(self.head_rows.max(1)));
        let most = vocabulary.div_ceil(parts.max(1)).max(1);
        (0..vocabulary).step_by(most).map(move |first| most.min(vocabulary - first))
    }
}
