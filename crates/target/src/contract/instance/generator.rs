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
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// How likely each token of the vocabulary is to follow, as logits.
    pub logits: Vec<f32>,
    /// What it took, where the machine has a clock.
    pub cycles: Option<u64>,
}

/// A language model on a machine, in the middle of a text.
///
/// The same tokens give the same logits, whether taken at once or one by one, up to the machine's rounding.
pub trait Generator: Send {
    /// Target and instance, as `TARGET:INSTANCE`.
    fn name(&self) -> String;

    /// The machine's clock, of which [`Step::cycles`] are.
    fn clock_mhz(&self) -> Option<f64> {
        None
    }

    /// The program that took the last tokens, where the machine ran one.
    fn program(&self) -> Option<Box<dyn Compiled>> {
        None
    }

    /// Forgets all tokens.
    fn reset(&mut self);

    /// Takes tokens that follow those taken before: a prompt, or one that was generated.
    ///
    /// # Errors
    ///
    /// No tokens, tokens that are not of the vocabulary, more than the capacity; the machine's own.
    fn take(&mut self, tokens: &[usize]) -> Result<Step, TargetError>;
}
