//! Decoders described by a TOML file, with a safetensors file of weights next to it.
//!
//! ```toml
//! name = "adder"
//! weights = "adder.safetensors"  # next to this file
//! layers = 2
//! hidden = 64
//! heads = 4
//! kv_heads = 2                   # default: `heads`
//! head = 32                      # default: hidden / heads
//! feed_forward = 192
//! context = 12
//! activation = "gelu-tanh"       # or gelu, silu, relu
//! gated = false                  # default
//! tied_embeddings = true         # default: false; then a tensor `head` computes the logits
//! attention_scale = 0.5          # default: 1 / sqrt(head)
//!
//! [norm]
//! kind = "rms"                   # or layer; each of its tensors has a second one, NAME_bias
//! epsilon = 1e-6
//!
//! [positions]
//! kind = "rotary"                # or learned (a tensor `positions`), or none
//! theta = 100.0                  # default: 10000
//! pairs = "neighbors"           # or halves
//!
//! [text]                         # without it: vocabulary = 32000
//! alphabet = "\n +=0123456789"   # one token per character, in this order
//! stop = "\n"                    # generation ends with it
//! number_width = 3               # spaces pad shorter numbers of a prompt to this width
//! ```
//!
//! Each row of a tensor computes one result. The tensors are `embedding [vocabulary, hidden]`,
//! `final_norm [hidden]` and, with the prefix `layers.I.`, `attention_norm [hidden]`,
//! `query [heads * head, hidden]`, `key` and `value [kv_heads * head, hidden]`,
//! `output [hidden, heads * head]`, `feed_forward_norm [hidden]`, `up` (in gated models also
//! `gate`) `[feed_forward, hidden]`, and `down [hidden, feed_forward]`. Elements are F32, F16 or
//! BF16.

mod description;
mod error;
mod text;
mod weights;

use npukit_graph::decoder::DecoderModel;

use crate::sidecar_files::{ReadFile, inside};
pub use error::DecoderFileError;
pub use text::Text;

/// A decoder and the mapping of its tokens to text.
#[derive(Clone, Debug, PartialEq)]
pub struct Decoder {
    /// The decoder with its weights.
    pub model: DecoderModel,
    /// Mapping between tokens and text; `None` if the description has no `[text]`.
    pub text: Option<Text>,
}

/// Reads the decoder that the TOML text `description` describes. `files` reads the file of weights.
///
/// Memory is proportional to the size of the two files.
///
/// # Errors
///
/// [`DecoderFileError`] if the description is not TOML, lacks a key or has an illegal value; if the
/// file of weights is outside the folder or cannot be read; or if tensors are missing, superfluous,
/// or of another shape or type.
pub fn read(description: &[u8], files: &ReadFile<'_>) -> Result<Decoder, DecoderFileError> {
    let description::Description { config, text, weights: path } = description::read(description)?;
    let outside =
        || DecoderFileError::File { path: path.clone(), reason: "the path leaves the folder".to_owned() };
    let place = inside(&path).ok_or_else(outside)?;
    let bytes = files(&place).map_err(|reason| DecoderFileError::File { path: path.clone(), reason })?;
    Ok(Decoder { model: weights::model(config, &path, &bytes)?, text })
}
