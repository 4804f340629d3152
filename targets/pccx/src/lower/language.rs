//! Language models as programs whose parameter is the position: [`Language`] has the weights, and
//! makes a [`Template`] for a number of tokens and of earlier ones.
//!
//! Keys and values of earlier tokens are in caches of the host, as weights. The number of earlier
//! tokens only changes lengths and sizes, which [`Template::at`] sets. The host computes embeddings
//! and the factors of rotations.

mod attention;
mod calibrated;
mod emit;
mod layout;
mod matrices;
mod notes;
mod parts;

use std::collections::BTreeMap;
use std::sync::Arc;

use npukit_graph::language::{Description, Model, Part};
use npukit_numeric::Tensor;
use rayon::prelude::*;

use super::extent::{CVO_LENGTH, PART, Patch};
use super::{Executable, Isa, LowerError, Options, WeightBits, check_orders};
use crate::config::Config;
use emit::Emitter;
use layout::HeadLayout;
use matrices::Source;

pub use matrices::{Form, Matrix};

/// Room for tokens in the first programs of a text.
const FIRST_ROOM: usize = 128;

/// Choices for a language model.
#[derive(Clone, Debug, PartialEq, Eq)]
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
    /// Maximum number of columns of a product, a multiple of 32.
    pub k_part: usize,
    /// Tokens of a typical text, for weights of 4 bits; empty without one.
    pub calibration: Vec<usize>,
}

impl LanguageOptions {
    /// Returns the choices of compile options. Without one, the codes of the file are kept.
    pub fn new(options: &Options) -> Self {
        let form = match options.weight_bits {
            WeightBits::Bits4 => Form::Four,
            WeightBits::Bits8 => Form::Eight,
            _ => Form::File,
        };
        Self {
            isa: options.isa,
            form,
            head: Form::Eight,
            kv_bits: options.kv_bits,
            tile: options.m_tile,
            // Default: all columns.
            k_part: options.k_part.unwrap_or(super::limits::LARGEST),
            calibration: Vec::new(),
        }
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

/// Rows of the values that a program computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rows {
    /// Successive tokens of a text.
    Tokens(usize),
    /// A token of each of some texts, at the same position. Each text has its own caches, and the
    /// caches of the first text come first.
    Texts(usize),
}

impl Rows {
    /// Returns the number of rows.
    pub const fn count(self) -> usize {
        match self {
            Self::Tokens(count) | Self::Texts(count) => count,
        }
    }
}

/// Language model with weights for an instance.
pub struct Language {
    config: Config,
    model: Arc<Model>,
    options: LanguageOptions,
    matrices: BTreeMap<(Option<usize>, Part), Matrix>,
}

/// Program for a number of tokens after at most `room` earlier tokens.
pub struct Template {
    /// The program, for the position that was set last.
    pub executable: Executable,
    /// Parts of the model, in the order of the host's layers.
    pub parts: Vec<ModelPart>,
    patches: Vec<Patch>,
}

/// Part of a model that instructions compute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ModelPart {
    /// Layer of the model; `None` outside of layers.
    pub layer: Option<usize>,
    /// Name of the part.
    pub name: &'static str,
}

impl std::fmt::Display for ModelPart {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.layer {
            Some(layer) => write!(f, "layer {layer} {}", self.name),
            None => f.write_str(self.name),
        }
    }
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
    /// Largest number of tokens of a text that runs: the largest size of weights. Longer texts have
    /// several products with keys and values, and are only timed.
    pub const MOST_TOKENS: usize = super::limits::LARGEST;

    /// Number of tokens of a product with keys or values of a longer text.
    pub const PRODUCT_TOKENS: usize = PART;

    /// Quantizes the weights of a model. With 4 bits in the layers, the model is first
    /// [rotated](Model::rotated), and a text for calibration lets the results change least.
    ///
    /// # Errors
    /// Weights that are not finite, sizes that the machine does not support, or a text for
    /// calibration that is not one of the model's.
    pub fn new(config: &Config, model: Arc<Model>, options: LanguageOptions) -> Result<Self, LowerError> {
        let mut language = Self::empty(config, model, options)?;
        if !language.options.calibration.is_empty() {
            let LanguageOptions { calibration, k_part, .. } = &language.options;
            language.matrices = calibrated::matrices(&language.model, calibration, *k_part)?;
        }
        let k_part = language.options.k_part;
        language.add(|source, form| source.matrix(form, k_part))
    }

    /// Takes the shapes and formats of the weights of a model, for programs that are only timed.
    ///
    /// # Errors
    /// Sizes that the machine does not support.
    pub fn of_shapes(
        config: &Config,
        model: Arc<Model>,
        options: LanguageOptions,
    ) -> Result<Self, LowerError> {
        let k_part = options.k_part;
        Self::empty(config, model, options)?.add(|source, form| source.shape(form, k_part))
    }

    /// Returns a model without matrices.
    fn empty(config: &Config, model: Arc<Model>, options: LanguageOptions) -> Result<Self, LowerError> {
        if let Some(streams) = &model.description().streams {
            return Err(LowerError::Streams(streams.count));
        }
        let model = if options.form == Form::Four { Arc::new(model.rotated()) } else { model };
        Ok(Self { config: config.clone(), model, options, matrices: BTreeMap::new() })
    }

    /// Adds the matrices that are still missing.
    fn add(
        mut self,
        make: impl Fn(&Source<'_>, Form) -> Result<Matrix, LowerError> + Sync,
    ) -> Result<Self, LowerError> {
        let of = self.model.description().clone();
        let in_layers = (0..of.layers.len()).flat_map(|layer| Part::LAYER.map(|part| (Some(layer), part)));
        let model = Arc::make_mut(&mut self.model);
        let taken = in_layers.chain([(None, Part::Head)]);
        let taken = taken.filter_map(|(layer, part)| Some(((layer, part), model.take_rows(part, layer)?)));
        let mut taken: Vec<((Option<usize>, Part), npukit_graph::language::Rows)> = taken.collect();
        taken.retain(|(key, _)| !self.matrices.contains_key(key));
        // The matrix's memory is freed as soon as the machine's weights have been made from it.
        let one = |(key, rows)| -> Result<_, LowerError> {
            let (layer, part): (Option<usize>, Part) = key;
            let form = if part == Part::Head { self.options.head } else { self.options.form };
            let weights = make(&source(&of, part, layer, &rows), form)?;
            Ok((key, weights))
        };
        let made = taken.into_par_iter().map(one).collect::<Result<Vec<_>, _>>()?;
        self.matrices.extend(made);
        Ok(self)
    }

    /// Returns the model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Returns the choices.
    pub const fn options(&self) -> &LanguageOptions {
        &self.options
    }

    /// Whether the values of heads are spread already, by the matrices that make and read them.
    fn has_spread_values(&self) -> bool {
        self.options.form == Form::Four
    }

    /// Returns a program for `tokens` tokens after at most `room` earlier ones.
    ///
    /// # Errors
    /// Values that do not fit into L2.
    pub fn template(&self, tokens: usize, room: usize, logits: Logits) -> Result<Template, LowerError> {
        let template = self.unchecked(Rows::Tokens(tokens), room, logits)?;
        check_orders(&self.config, &template.executable)?;
        Ok(template)
    }

    /// Returns a program without a check of its order. Only such a program can be made of shapes.
    ///
    /// # Errors
    /// Values that do not fit into L2.
    pub fn unchecked(&self, rows: Rows, room: usize, logits: Logits) -> Result<Template, LowerError> {
        Emitter::new(self, rows, room).program(logits)
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
        let tile = left.min(self.options.tile).min(Self::most_rows(of)).max(1);
        // The tile is shortened so that all rows of a program have the same number of full CVO
        // instructions.
        let tile = tile.min(CVO_LENGTH - position % CVO_LENGTH);
        let end = position + tile;
        let whole = end.next_multiple_of(CVO_LENGTH);
        let capacity = match end {
            ..=CVO_LENGTH => end.next_power_of_two().max(FIRST_ROOM),
            _ if end <= Self::MOST_TOKENS => whole.min(Self::MOST_TOKENS),
            _ => whole,
        };
        [tile, capacity - tile]
    }

    /// Returns the largest number of rows of a program: 1 if rows of values are not whole words.
    pub fn most_rows(of: &Description) -> usize {
        let widest = of.hidden.max(of.feed_forward).max(of.heads * HeadLayout::plain(of.head).width());
        if is_in_words(of) { super::code::Code::most_rows(widest) } else { 1 }
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
