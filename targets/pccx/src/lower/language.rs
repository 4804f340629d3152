//! Language models as programs whose parameter is the position: [`Language`] has the weights, and
//! makes a [`Template`] for a number of tokens and of earlier ones.
//!
//! Keys and values of earlier tokens are in caches of the host, as weights. The number of earlier
//! tokens only changes lengths and sizes, which [`Template::at`] sets. The host computes embeddings
//! and the factors of rotations.

mod attention;
mod emit;
mod layout;
mod matrices;
mod parts;

use std::collections::BTreeMap;
use std::sync::Arc;

use npukit_graph::language::{Description, Model, Part, Weights};
use npukit_numeric::Tensor;
use rayon::prelude::*;

use super::extent::{CVO_LENGTH, Patch};
use super::{Executable, Isa, LowerError, Options, WeightBits, check_orders};
use crate::config::Config;
use emit::Emitter;
use layout::HeadLayout;
use matrices::Source;

pub use matrices::{Form, Matrix};

/// Room for tokens in the first programs of a text.
const FIRST_ROOM: usize = 128;

/// Choices for a language model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LanguageOptions {
    /// Instructions that may be used.
    pub isa: Isa,
    /// Form of the matrices in the layers.
    pub form: Form,
    /// Form of the matrix that computes the logits.
    pub head: Form,
    /// Bits of cached keys and values: 4 or 8.
    pub kv_bits: u32,
    /// Maximum number of tokens that are computed at once.
    pub tile: usize,
}

impl LanguageOptions {
    /// Returns the choices of compile options. Without one, the codes of the file are kept.
    pub fn new(options: &Options) -> Self {
        let form = match options.weight_bits {
            WeightBits::Bits4 => Form::Four,
            WeightBits::Bits8 => Form::Eight,
            _ => Form::File,
        };
        Self { isa: options.isa, form, head: Form::Eight, kv_bits: options.kv_bits, tile: options.m_tile }
    }
}

/// Logits that a program computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Logits {
    /// None: further tokens are known.
    None,
    /// Those after the last token.
    Last,
    /// Those after each token.
    All,
}

/// Language model with weights for an instance.
pub struct Language {
    config: Config,
    model: Arc<Model>,
    options: LanguageOptions,
    matrices: BTreeMap<(Option<usize>, Part), Matrix>,
}

/// Program for a number of tokens after at most `room` earlier ones.
pub struct Template {
    /// The program, for the position that was set last.
    pub executable: Executable,
    patches: Vec<Patch>,
}

impl Template {
    /// Sets the number of earlier tokens. Panics if the template has no room for them, or has more
    /// instructions than they need.
    pub fn at(&mut self, position: usize) -> &Executable {
        let serves = self.patches.iter().all(|patch| patch.extent.serves(position));
        assert!(serves, "the program is for other numbers of tokens than {position}");
        let code = &mut self.executable.program.code;
        self.patches.iter().for_each(|patch| patch.apply(code, position));
        &self.executable
    }
}

impl Language {
    /// Largest number of tokens of a text: the largest size of weights.
    pub const MOST_TOKENS: usize = super::limits::LARGEST;

    /// Quantizes the weights of a model.
    ///
    /// # Errors
    /// Weights that are not finite, or sizes that the machine does not support.
    pub fn new(config: &Config, model: Arc<Model>, options: LanguageOptions) -> Result<Self, LowerError> {
        let of = model.description();
        let in_layers = (0..of.layers.len()).flat_map(|layer| Part::LAYER.map(|part| (Some(layer), part)));
        let all: Vec<(Option<usize>, Part)> = in_layers.chain([(None, Part::Head)]).collect();
        let one = |key: (Option<usize>, Part)| -> Option<Result<_, LowerError>> {
            let (layer, part) = key;
            let Some(Weights::Matrix(weights, _)) = model.weights(part, layer) else { return None };
            let form = if part == Part::Head { options.head } else { options.form };
            let source = source(of, part, layer, weights);
            Some(source.matrix(form).map(|matrix| (key, matrix)))
        };
        let matrices = all.into_par_iter().filter_map(one).collect::<Result<BTreeMap<_, _>, _>>()?;
        Ok(Self { config: config.clone(), model, options, matrices })
    }

    /// Returns the model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Returns the choices.
    pub const fn options(&self) -> LanguageOptions {
        self.options
    }

    /// Returns a program for `tokens` tokens after at most `room` earlier ones.
    ///
    /// # Errors
    /// Values that do not fit into L2.
    pub fn template(&self, tokens: usize, room: usize, logits: Logits) -> Result<Template, LowerError> {
        let (executable, patches) = Emitter::new(self, tokens, room).program(logits)?;
        check_orders(&self.config, &executable)?;
        Ok(Template { executable, patches })
    }

    /// Returns the inputs of a program: values of the tokens after `position` earlier ones, and the
    /// factors of rotations in a text of `length` tokens.
    ///
    /// # Errors
    /// Tensors whose sizes do not match: an internal error.
    pub fn inputs(
        &self,
        tokens: &[usize],
        position: usize,
        length: usize,
    ) -> Result<Vec<Tensor>, LowerError> {
        let of = self.model.description();
        let tensor = |values: Vec<f32>| {
            let shape = vec![tokens.len(), values.len() / tokens.len().max(1)];
            Tensor::from_f32(shape, values).map_err(|_| LowerError::Fault("an input"))
        };
        let positions = position..position + tokens.len();
        let embedded = tokens
            .iter()
            .zip(positions.clone())
            .flat_map(|(&token, position)| self.model.embedded(token, position));
        let mut inputs = vec![tensor(embedded.collect())?];
        for rotation in &of.rotations {
            let layout = HeadLayout::rotated(of.head, rotation.features, of.pairs);
            let turns: Vec<[Vec<f32>; 2]> =
                positions.clone().map(|position| layout.turns(&rotation.turns(position, length))).collect();
            for heads in [of.heads, of.kv_heads] {
                for part in 0..2 {
                    let rows = turns.iter().flat_map(|turns| std::iter::repeat_n(&turns[part], heads));
                    inputs.push(tensor(rows.flatten().copied().collect())?);
                }
            }
        }
        Ok(inputs)
    }

    /// Returns the number of tokens, at most `left`, that are computed at once after `position`
    /// earlier ones, and the room of their program.
    pub fn step(&self, position: usize, left: usize) -> [usize; 2] {
        let of = self.model.description();
        let tile = if is_in_words(of) { self.options.tile } else { 1 };
        let tile = left.min(tile).min(Self::most_rows(of)).max(1);
        // All rows of a program have equally many full CVO instructions.
        let tile = tile.min(CVO_LENGTH - position % CVO_LENGTH);
        let end = position + tile;
        let capacity = match end {
            ..=CVO_LENGTH => end.next_power_of_two().max(FIRST_ROOM),
            _ => end.next_multiple_of(CVO_LENGTH),
        };
        [tile, capacity - tile]
    }

    /// Returns the largest number of rows of a product with each matrix.
    fn most_rows(of: &Description) -> usize {
        let widest = of.hidden.max(of.feed_forward).max(of.heads * HeadLayout::plain(of.head).width());
        super::code::Code::most_rows(widest)
    }
}

/// Whether rows of all values are whole words.
fn is_in_words(of: &Description) -> bool {
    [of.hidden, of.feed_forward].iter().all(|size| size.is_multiple_of(crate::config::WORD_LANES))
}

/// Returns the layout of the queries and keys of a layer.
fn layout(of: &Description, layer: usize) -> HeadLayout {
    let rotation = of.layers[layer].rotation.map(|index| &of.rotations[index]);
    match rotation {
        Some(rotation) => HeadLayout::rotated(of.head, rotation.features, of.pairs),
        None => HeadLayout::plain(of.head),
    }
}

/// Returns the rows of a matrix in the places of their results.
fn source<'a>(
    of: &Description,
    part: Part,
    layer: Option<usize>,
    weights: &'a npukit_graph::language::Rows,
) -> Source<'a> {
    let plain = HeadLayout::plain(of.head);
    let rotated = layer.map_or_else(|| plain.clone(), |layer| layout(of, layer));
    let rows = match part {
        Part::Query => rotated.features(of.heads, of.head),
        Part::Key => rotated.features(of.kv_heads, of.head),
        Part::Value => plain.features(of.kv_heads, of.head),
        _ => (0..weights.shape()[0]).map(Some).collect(),
    };
    let is_padded = plain.width() != of.head;
    let columns = (part == Part::Output && is_padded).then(|| plain.features(of.heads, of.head));
    let name = match layer {
        Some(layer) => format!("{part:?} of layer {layer}"),
        None => format!("{part:?}"),
    };
    Source { name, weights, rows, columns }
}
