//! Parser of the TOML file: [`read`] returns a configuration and the path of its weights.

use npukit_graph::decoder::{self as graph, DecoderConfig, NormKind, Pairs, Positions};
use npukit_graph::op::GeluForm;
use serde::Deserialize;

use super::{DecoderFileError, Text};

/// Content of a description.
pub(super) struct Description {
    pub(super) config: DecoderConfig,
    pub(super) text: Option<Text>,
    /// Path of the weights file, relative to the description.
    pub(super) weights: String,
}

/// Keys of the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Keys {
    name: String,
    weights: String,
    vocabulary: Option<usize>,
    layers: usize,
    hidden: usize,
    heads: usize,
    kv_heads: Option<usize>,
    head: Option<usize>,
    feed_forward: usize,
    context: usize,
    activation: Activation,
    #[serde(default)]
    gated: bool,
    #[serde(default)]
    tied_embeddings: bool,
    attention_scale: Option<f32>,
    norm: NormKeys,
    positions: PositionKeys,
    text: Option<TextKeys>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Activation {
    Gelu,
    GeluTanh,
    Silu,
    Relu,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NormKeys {
    kind: NormName,
    epsilon: f32,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum NormName {
    Rms,
    Layer,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
enum PositionKeys {
    None {},
    Learned {},
    Rotary {
        #[serde(default = "usual_theta")]
        theta: f32,
        pairs: PairsName,
    },
}

fn usual_theta() -> f32 {
    10_000.0
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum PairsName {
    #[serde(alias = "neighbours")]
    Neighbors,
    Halves,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TextKeys {
    alphabet: String,
    stop: Option<char>,
    #[serde(default)]
    number_width: usize,
}

/// Parses the file.
pub(super) fn read(bytes: &[u8]) -> Result<Description, DecoderFileError> {
    let text = std::str::from_utf8(bytes)
        .map_err(|error| DecoderFileError::NotText { offset: error.valid_up_to() })?;
    let keys: Keys = toml::from_str(text).map_err(|error| toml_error(text, &error))?;
    let text = keys.text.as_ref().map(TextKeys::text).transpose()?;
    let config = keys.config(text.as_ref())?;
    config.check()?;
    Ok(Description { config, text, weights: keys.weights })
}

fn toml_error(text: &str, error: &toml::de::Error) -> DecoderFileError {
    let offset = error.span().map_or(0, |span| span.start);
    let before = text.get(..offset).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    DecoderFileError::Toml { line, column, message: error.message().replace('\n', ", ") }
}

impl TextKeys {
    fn text(&self) -> Result<Text, DecoderFileError> {
        Text::new(&self.alphabet, self.stop, self.number_width)
    }
}

impl Keys {
    fn config(&self, text: Option<&Text>) -> Result<DecoderConfig, DecoderFileError> {
        let head = self.head()?;
        let attention_scale = self.attention_scale.unwrap_or_else(|| 1.0 / (head as f32).sqrt());
        Ok(DecoderConfig {
            name: self.name.clone(),
            vocabulary: self.vocabulary(text)?,
            context: self.context,
            layers: self.layers,
            hidden: self.hidden,
            heads: self.heads,
            kv_heads: self.kv_heads.unwrap_or(self.heads),
            head,
            feed_forward: self.feed_forward,
            norm: match self.norm.kind {
                NormName::Rms => NormKind::Rms,
                NormName::Layer => NormKind::Layer,
            },
            epsilon: self.norm.epsilon,
            activation: match self.activation {
                Activation::Gelu => graph::Activation::Gelu(GeluForm::Exact),
                Activation::GeluTanh => graph::Activation::Gelu(GeluForm::Tanh),
                Activation::Silu => graph::Activation::Silu,
                Activation::Relu => graph::Activation::Relu,
            },
            gated: self.gated,
            positions: match &self.positions {
                PositionKeys::None {} => Positions::None,
                PositionKeys::Learned {} => Positions::Learned,
                PositionKeys::Rotary { theta, pairs: PairsName::Neighbors } => {
                    Positions::Rotary { theta: *theta, pairs: Pairs::Neighbors }
                }
                PositionKeys::Rotary { theta, pairs: PairsName::Halves } => {
                    Positions::Rotary { theta: *theta, pairs: Pairs::Halves }
                }
            },
            attention_scale,
            tied: self.tied_embeddings,
        })
    }

    fn head(&self) -> Result<usize, DecoderFileError> {
        match self.head {
            Some(head) => Ok(head),
            None if self.heads > 0 && self.hidden.is_multiple_of(self.heads) => Ok(self.hidden / self.heads),
            None => Err(DecoderFileError::Key {
                key: "head",
                found: "not given".to_owned(),
                legal: format!(
                    "a number, as `hidden`, {}, is not a multiple of `heads`, {}",
                    self.hidden, self.heads
                ),
            }),
        }
    }

    fn vocabulary(&self, text: Option<&Text>) -> Result<usize, DecoderFileError> {
        let key = |found: String, legal: String| DecoderFileError::Key { key: "vocabulary", found, legal };
        match (self.vocabulary, text.map(Text::vocabulary)) {
            (Some(stated), Some(own)) if stated != own => {
                Err(key(stated.to_string(), format!("the length of the alphabet, {own}")))
            }
            (_, Some(own)) => Ok(own),
            (Some(stated), None) => Ok(stated),
            (None, None) => Err(key("not given".to_owned(), "a number, or a table `text`".to_owned())),
        }
    }
}
