//! [`Family`]: common properties of the models of a family, one file per family in `families/`.

use npukit_graph::language::{Activation, NormKind, Pairs, Part};

/// Row of a table of names: a part, and the name of its tensor without `.weight` or `.bias`. `{}`
/// is the index of the layer. Consecutive parts with one name are consecutive rows of one tensor.
pub(super) type Name = (Part, &'static str);

/// Layers that only attend to a window of the latest positions, if the model states a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Windows {
    /// No layer.
    Never,
    /// All layers.
    Always,
    /// All layers, if a key `use_sliding_window` is true.
    IfUsed,
    /// All layers but each of this number.
    ExceptEach(usize),
}

/// Common properties of the models of a family.
#[derive(Clone, Copy, Debug)]
pub(super) struct Family {
    /// Values of `model_type` in a `config.json`.
    pub(super) model_types: &'static [&'static str],
    /// Values of `general.architecture` in a GGUF file.
    pub(super) architectures: &'static [&'static str],
    /// Names of the tensors in a folder.
    pub(super) folder_names: &'static [Name],
    /// Names of the tensors in a GGUF file.
    pub(super) gguf_names: &'static [Name],
    /// Features that are rotated together, in a GGUF file. In a folder, these are halves.
    pub(super) gguf_pairs: Pairs,
    /// Whether matrices in a folder have a row per operand instead of per result.
    pub(super) folder_transposed: bool,
    /// Whether gains in a folder lack 1.
    pub(super) folder_gains_lack_1: bool,
    /// Begins of the names of unused tensors in a folder: tables, and weights for training tasks.
    pub(super) unused: &'static [&'static str],
    /// Whether the models are encoders.
    pub(super) encoder: bool,
    /// Parts that must have a bias.
    pub(super) biases: &'static [Part],
    /// Normalization.
    pub(super) norm: NormKind,
    /// Whether query and key heads are normalized.
    pub(super) query_key_norms: bool,
    /// Whether results of attention and feed-forward part are normalized.
    pub(super) norms_after: bool,
    /// Activation function; a stated one takes precedence if `states_activation` is true.
    pub(super) activation: Activation,
    /// Whether a `config.json` decides the activation function.
    pub(super) states_activation: bool,
    /// Whether the feed-forward part is gated.
    pub(super) gated: bool,
    /// Whether positions are learned vectors instead of rotations.
    pub(super) learned_positions: bool,
    /// Whether the head is tied to the embeddings if a `config.json` does not specify it.
    pub(super) tied: bool,
    /// Whether embeddings are multiplied by the square root of their size.
    pub(super) scaled_embeddings: bool,
    /// Whether products of queries and keys are not scaled.
    pub(super) unscaled_attention: bool,
    /// Whether a token has several values between the layers.
    pub(super) streams: bool,
    /// Bound of the logits if a GGUF file does not specify it.
    pub(super) gguf_final_cap: Option<f64>,
    /// Layers with a window.
    pub(super) windows: Windows,
    /// Base of the rotations of layers with a window; `None` if it is that of the others.
    pub(super) window_theta: Option<f64>,
    /// Numbers of layers of the family's models whose attention scale is that of `hidden / heads`
    /// features, which a GGUF file does not specify.
    pub(super) scaled_by_hidden: &'static [usize],
}

impl Family {
    /// Whether a layer has a window, if the model states one. `used` is the key
    /// `use_sliding_window`.
    pub(super) fn has_window(&self, layer: usize, used: bool) -> bool {
        match self.windows {
            Windows::Never => false,
            Windows::Always => true,
            Windows::IfUsed => used,
            Windows::ExceptEach(number) => !(layer + 1).is_multiple_of(number),
        }
    }
}
