//! [`Generator`]: a language model on a machine, token by token.

use std::collections::BTreeMap;

use crate::contract::program::Compiled;
use crate::error::TargetError;

/// What a generator is asked for beyond the model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GeneratorOptions {
    /// Most tokens of a text, prompt and answer; at most the model's context.
    pub capacity: usize,
    /// The target's own options, by name.
    pub options: BTreeMap<String, String>,
}

/// What taking tokens gave.
pub struct Step {
    /// How likely each token of the vocabulary is to follow, as logits.
    pub logits: Vec<f32>,
    /// What it took, where the machine has a clock.
    pub cycles: Option<u64>,
    /// Makes the program that took the tokens, where the machine ran one.
    pub program: Option<MakeProgram>,
}

/// Makes a program.
pub type MakeProgram = Box<dyn Fn() -> Box<dyn Compiled> + Send>;
/// Takes tokens: at the beginning of a text, if it is told so, or following those taken before.
type Take = dyn FnMut(&[usize], bool) -> Result<Step, TargetError> + Send;

/// A language model on a machine, in the middle of a text.
///
/// The same tokens give the same logits, whether taken at once or one by one, up to the machine's rounding.
pub struct Generator {
    /// Target and instance, as `TARGET:INSTANCE`.
    pub name: String,
    /// The machine's clock in MHz, of which [`Step::cycles`] are. `None` without a clock.
    pub clock_mhz: Option<f64>,
    take: Box<Take>,
    /// Whether no tokens were taken since the last [`Self::reset`].
    begins: bool,
}

impl Generator {
    /// A model at the beginning of a text. `take` takes tokens, and forgets those before if its second argument is true.
    pub fn new(
        name: String,
        clock_mhz: Option<f64>,
        take: impl FnMut(&[usize], bool) -> Result<Step, TargetError> + Send + 'static,
    ) -> Self {
        Self { name, clock_mhz, take: Box::new(take), begins: true }
    }

    /// Forgets all tokens.
    pub fn reset(&mut self) {
        self.begins = true;
    }

    /// Takes tokens that follow those taken before: a prompt, or one that was generated.
    ///
    /// # Errors
    ///
    /// No tokens, tokens that are not of the vocabulary, more than the capacity; the machine's own.
    pub fn take(&mut self, tokens: &[usize]) -> Result<Step, TargetError> {
        (self.take)(tokens, std::mem::take(&mut self.begins))
    }
}
