//! [`Generator`]: a language model on a machine, token by token.

use std::collections::BTreeMap;
use std::sync::Arc;

use npukit_graph::decoder::DecoderModel;
use npukit_graph::language::Model;

use crate::contract::program::Compiled;
use crate::error::TargetError;

/// A language model in one of its two forms.
pub enum LanguageModel<'a> {
    /// A model that becomes graphs.
    Described(&'a DecoderModel),
    /// A model from its own files.
    Published(Arc<Model>),
}

/// Options of a generator beyond the model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GeneratorOptions {
    /// Maximum number of tokens of prompt and answer together; at most the model's context.
    pub capacity: usize,
    /// Target-specific options, by name.
    pub options: BTreeMap<String, String>,
}

/// Result of processing tokens.
pub struct Step {
    /// Logits of the next token, one per token of the vocabulary.
    pub logits: Vec<f32>,
    /// Cycles that it took, if the machine has a clock.
    pub cycles: Option<u64>,
    /// Creates the program that processed the tokens, if the machine ran one.
    pub program: Option<MakeProgram>,
}

/// Creates the program that processed some tokens.
pub type MakeProgram = Box<dyn Fn() -> Box<dyn Compiled> + Send>;
/// Processes tokens. If the flag is true they begin a new text, otherwise they follow the earlier
/// tokens.
type Take = dyn FnMut(&[usize], bool) -> Result<Step, TargetError> + Send;

/// A language model on a machine, in the middle of a text.
///
/// The same tokens give the same logits, processed at once or one by one, up to the machine's
/// rounding.
pub struct Generator {
    /// Target and instance, as `TARGET:INSTANCE`.
    pub name: String,
    /// The machine's clock in MHz, to which [`Step::cycles`] refers. `None` without a clock.
    pub clock_mhz: Option<f64>,
    take: Box<Take>,
    /// Whether no tokens were processed since the last [`Self::reset`].
    begins: bool,
}

impl Generator {
    /// Creates a generator at the beginning of a text. `take` processes tokens and first discards
    /// the earlier ones if its second argument is true.
    pub fn new(
        name: String,
        clock_mhz: Option<f64>,
        take: impl FnMut(&[usize], bool) -> Result<Step, TargetError> + Send + 'static,
    ) -> Self {
        Self { name, clock_mhz, take: Box::new(take), begins: true }
    }

    /// Discards all tokens, to begin a new text.
    pub fn reset(&mut self) {
        self.begins = true;
    }

    /// Processes tokens that follow the earlier ones: a prompt or a generated token.
    ///
    /// # Errors
    ///
    /// No tokens; tokens outside the vocabulary; more tokens than the capacity; errors of the
    /// machine.
    pub fn take(&mut self, tokens: &[usize]) -> Result<Step, TargetError> {
        (self.take)(tokens, std::mem::take(&mut self.begins))
    }
}
