//! Cost of a language model from its shapes: [`LanguageCost`] compiles the programs of a text and
//! runs the clock on them.
//!
//! Module `repeated` finds layers that cost the same, so that only some are compiled; module
//! `sampled` does so for positions of a long text. Module `tally` adds up the figures of the clock.

mod repeated;
mod sampled;
mod tally;
#[cfg(test)]
mod texts;

use std::sync::Arc;

use npukit_graph::language::{Description, Model};
use npukit_target::{LanguagePoint, LanguageStep, LanguageTime, LanguageTimeOptions};

use crate::clock::report::{assumptions, clock_source};
use crate::config::Config;
use crate::lower::LowerError;
use crate::lower::language::{Language, LanguageOptions, Logits, Rows, Template};
use repeated::Repeated;
use sampled::weights;
use tally::Tally;

/// Instructions of one program, times its positions, up to which every position is timed.
const MOST_TIMED: usize = 1 << 21;

/// Largest number of texts in a program, which bounds the number of instructions.
const MOST_TEXTS: usize = 512;

/// Largest number of tokens of a text: rows of scores of more tokens hardly fit in the largest L2.
const MOST_TOKENS: usize = 1 << 17;

/// Programs of a language model without its weights, and their cost.
pub struct LanguageCost {
    config: Config,
    description: Description,
    /// The model with its first layers.
    language: Language,
    /// Layers of the model for each compiled layer.
    repeated: Repeated,
    most_timed: usize,
}

/// Programs that only differ in their position.
struct Group {
    key: (Rows, usize, Logits),
    template: Template,
    positions: Vec<usize>,
}

impl LanguageCost {
    /// Takes the shapes of a model.
    ///
    /// # Errors
    /// Sizes that the machine does not support.
    pub fn new(config: &Config, model: &Model, options: LanguageOptions) -> Result<Self, LowerError> {
        let repeated = Repeated::of(model);
        Self::with(config, model, options, repeated, MOST_TIMED)
    }

    /// Takes the shapes of a model. Every layer and every position is timed.
    ///
    /// # Errors
    /// Sizes that the machine does not support.
    pub fn literal(config: &Config, model: &Model, options: LanguageOptions) -> Result<Self, LowerError> {
        let repeated = Repeated::none(model.description().layers.len());
        Self::with(config, model, options, repeated, usize::MAX)
    }

    fn with(
        config: &Config,
        model: &Model,
        options: LanguageOptions,
        repeated: Repeated,
        most_timed: usize,
    ) -> Result<Self, LowerError> {
        let description = model.description().clone();
        let first = Arc::new(model.with_first_layers(repeated.compiled()));
        let language = Language::of_shapes(config, first, options)?;
        Ok(Self { config: config.clone(), description, language, repeated, most_timed })
    }

    /// Times every position of programs that have together at most `instructions` instructions.
    #[must_use]
    pub fn timing_at_most(self, instructions: usize) -> Self {
        Self { most_timed: instructions, ..self }
    }

    /// Returns the cost of every context with every batch.
    pub fn report(&self, options: &LanguageTimeOptions) -> LanguageTime {
        let points = options.contexts.iter().flat_map(|&context| self.points(context, &options.batches));
        let points: Vec<LanguagePoint> = points.collect();
        let notes = self.notes(options, &points);
        LanguageTime {
            clock_mhz: self.config.timing.core_mhz,
            clock_source: clock_source(&self.config),
            points,
            assumptions: assumptions(&self.config),
            notes,
        }
    }

    /// Returns the cost of texts of `context` tokens, for some numbers of texts.
    pub fn points(&self, context: usize, batches: &[usize]) -> Vec<LanguagePoint> {
        let prefill = match self.refusal(context) {
            Some(reason) => Err(reason),
            None => self.texts([0, context]).map_err(|error| error.to_string()),
        };
        let steps = |batch: usize| -> Result<_, String> {
            let prefill = prefill.as_ref().map_err(String::clone)?.step(&self.config, context, batch);
            Ok((prefill, self.decode(context, batch).map_err(|error| error.to_string())?))
        };
        let point = |&batch: &usize| {
            let (refused, prefill, decode) = match steps(batch) {
                Ok((prefill, decode)) => (None, Some(prefill), Some(decode)),
                Err(reason) => (Some(reason), None, None),
            };
            LanguagePoint { context, batch, refused, prefill, decode }
        };
        batches.iter().map(point).collect()
    }

    /// Returns the reason why texts of a length have no program.
    fn refusal(&self, context: usize) -> Option<String> {
        let positions = self.description.context;
        if context > MOST_TOKENS {
            return Some(format!("texts of {context} tokens are not timed: legal are 1 to {MOST_TOKENS}"));
        }
        (self.description.learned_positions && context > positions)
            .then(|| format!("the model has learned vectors for {positions} positions"))
    }

    /// Returns the cost of all tokens of `batch` texts, which are processed one after the other.
    ///
    /// # Errors
    /// Too little room in L2.
    pub fn prefill(&self, context: usize, batch: usize) -> Result<LanguageStep, LowerError> {
        Ok(self.texts([0, context])?.step(&self.config, context, batch))
    }

    /// Adds up all tokens of a text: those before `new`, then those before `context`.
    fn texts(&self, [new, context]: [usize; 2]) -> Result<Tally, LowerError> {
        let (mut tally, mut tile, mut position) = (Tally::default(), usize::MAX, 0);
        let mut group: Option<Group> = None;
        while position < context {
            let end = if position < new { new } else { context };
            let [count, room] = self.language.step(position, (end - position).min(tile));
            let logits = if position + count == context { Logits::Last } else { Logits::None };
            let key = (Rows::Tokens(count), room, logits);
            if group.as_ref().is_none_or(|group| group.key != key) {
                let template = match self.language.unchecked(key.0, room, logits) {
                    // The program needs less of L2 if it processes fewer tokens at once.
                    Err(LowerError::L2Full { .. }) if count > 1 => {
                        tile = count / 2;
                        continue;
                    }
                    template => template?,
                };
                let next = Group { key, template, positions: Vec::new() };
                self.add(&mut tally, group.replace(next), 1);
            }
            group.iter_mut().for_each(|group| group.positions.push(position));
            position += count;
        }
        self.add(&mut tally, group, 1);
        Ok(tally)
    }

    /// Returns the cost of the last token of `batch` texts of `context` tokens.
    ///
    /// # Errors
    /// Too little room in L2.
    pub fn decode(&self, context: usize, batch: usize) -> Result<LanguageStep, LowerError> {
        let (position, mut tally) = (context.saturating_sub(1), Tally::default());
        if self.description.rotations_differ(position, context) {
            // These rotations depend on the text's length, so all tokens must be processed for each
            // new one.
            return Ok(self.texts([position, context])?.step(&self.config, 1, batch));
        }
        let [_, room] = self.language.step(position, 1);
        let mut rows = batch.min(Language::most_rows(&self.description)).clamp(1, MOST_TEXTS);
        let mut left = batch;
        while left > 0 {
            rows = rows.min(left);
            let (of, logits) = match rows {
                1 => (Rows::Tokens(1), Logits::Last),
                _ => (Rows::Texts(rows), Logits::All),
            };
            match self.language.unchecked(of, room, logits) {
                Ok(template) => {
                    let group = Group { key: (of, room, logits), template, positions: vec![position] };
                    self.add(&mut tally, Some(group), left / rows);
                    left %= rows;
                }
                Err(LowerError::L2Full { .. }) if rows > 1 => rows /= 2,
                Err(error) => return Err(error),
            }
        }
        Ok(tally.step(&self.config, batch, 1))
    }

    /// Adds the programs of a group. Each runs `times` times.
    fn add(&self, tally: &mut Tally, group: Option<Group>, times: usize) {
        let Some(Group { key: (rows, ..), mut template, positions }) = group else { return };
        let instructions = template.executable.program.code.len();
        let parts = std::mem::take(&mut template.parts);
        let is_long = instructions.saturating_mul(positions.len()) > self.most_timed;
        for (index, weight) in weights(positions.len(), rows.count(), is_long) {
            let executable = template.at(positions[index]);
            tally.add(&self.config, executable, &parts, &self.repeated, weight * times as f64);
        }
        tally.ran(rows.count(), positions.len() * times);
    }

    /// Returns notes on how the programs compute.
    fn notes(&self, options: &LanguageTimeOptions, points: &[LanguagePoint]) -> Vec<String> {
        let Description { layers, context, .. } = &self.description;
        let mut notes = vec![
            "weights are not read: cycles depend on their shapes and formats only".to_owned(),
            format!(
                "{} of {} layers are compiled; the others repeat their cycles",
                self.repeated.compiled(),
                layers.len()
            ),
            "work of the host itself takes no time: it appends keys and values to the caches, and without MUL it multiplies vectors"
                .to_owned(),
        ];
        notes.extend(self.language.notes());
        let mut steps = points.iter().flat_map(|point| [&point.prefill, &point.decode]).flatten();
        if steps.any(|step| step.interpolated) {
            notes.push("cycles of long texts are interpolated between positions that are timed".to_owned());
        }
        if options.batches.iter().any(|&batch| batch > 1) {
            notes.push(
                "texts of a batch are decoded together: they share the weights, and each has its own caches; they are prefilled one after the other"
                    .to_owned(),
            );
        }
        let (most, part) = (Language::MOST_TOKENS, Language::PRODUCT_TOKENS);
        if points.iter().any(|point| point.context > most && point.refused.is_none()) {
            notes.push(format!(
                "a product has at most {most} tokens: for more, keys and values are multiplied {part} tokens at a time, and adding a product with zeros finds the maximum of all scores; such programs are only timed"
            ));
        }
        if options.contexts.iter().any(|found| found > context) {
            notes.push(format!("the model was made for texts of at most {context} tokens"));
        }
        notes
    }
}
