//! Decoders described in words: a TOML file, and a safetensors file of weights beside it.
//!
//! ```toml
//! name = "adder"
//! weights = "adder.safetensors"  # beside this file
//! layers = 2
//! hidden = 64
//! heads = 4
//! kv_heads = 2                   # `heads` when not given
//! head = 32                      # hidden / heads when not given
//! feed_forward = 192
//! context = 12
//! activation = "gelu-tanh"       # or gelu, silu, relu
//! gated = false                  # when not given
//! tied_embeddings = true         # false when not given: then a tensor `head` makes the logits
//! attention_scale = 0.5          # 1 / sqrt(head) when not given
//!
//! [norm]
//! kind = "rms"                   # or layer, whose tensors have another with `_bias` after its name
//! epsilon = 1e-6
//!
//! [positions]
//! kind = "rotary"                # or learned, a tensor `positions`; or none
//! theta = 100.0                  # 10000 when not given
//! pairs = "neighbours"           # or halves
//!
//! [text]                         # without it: vocabulary = 32000
//! alphabet = "\n +=0123456789"   # a token for each character, in this order
//! stop = "\n"                    # generation ends with it
//! number_width = 3               # spaces before shorter numbers of a prompt
//! ```
//!
//! Tensors, by rows that each make one result: `embedding [vocabulary, hidden]`, `final_norm [hidden]`, and
//! with `layers.I.` before their names `attention_norm [hidden]`, `query [heads * head, hidden]`,
//! `key` and `value [kv_heads * head, hidden]`, `output [hidden, heads * head]`, `feed_forward_norm [hidden]`,
//! `up` (in gated models `gate` too) `[feed_forward, hidden]`, `down [hidden, feed_forward]`.
//! Their elements are of F32, F16 or BF16.

mod description;
mod error;
mod safetensors;
mod text;
mod weights;

use npukit_graph::decoder::DecoderModel;

use crate::sidecar_files::{ReadFile, inside};
pub use error::DecoderFileError;
pub use text::Text;

/// A decoder and the text that its tokens stand for.
#[derive(Clone, Debug, PartialEq)]
pub struct Decoder {
    /// The decoder with its weights.
    pub model: DecoderModel,
    /// Its text; none when the description says nothing of it.
    pub text: Option<Text>,
}

/// The decoder that `description` describes; `files` gives the file of its weights.
///
/// Memory stays in proportion to the two files.
///
/// # Errors
///
/// [`DecoderFileError`]: a description that is not TOML, lacks a key or has a value that is not legal; a file
/// of weights outside the folder, or one that cannot be read; tensors that are missing, of another shape or
/// type, or more than the decoder has.
pub fn read(description: &[u8], files: &ReadFile<'_>) -> Result<Decoder, DecoderFileError> {
    let description::Description { config, text, weights: path } = description::read(description)?;
    let outside =
        || DecoderFileError::File { path: path.clone(), reason: "the path leaves the folder".to_owned() };
    let place = inside(&path).ok_or_else(outside)?;
    let bytes = files(&place).map_err(|reason| DecoderFileError::File { path: path.clone(), reason })?;
    Ok(Decoder { model: weights::model(config, &path, &bytes)?, text })
}
