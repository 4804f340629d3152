//! [`Generator`]: a language model on a machine, token by token.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use npukit_graph::decoder::DecoderModel;
use npukit_graph::language::Model;

use crate::contract::program::Compiled;
use crate::error::TargetError;
use crate::report::language::{LanguageTime, LanguageTimeOptions};

/// A language model in one of its two forms.
pub enum LanguageModel<'a> {
    /// A model that becomes graphs.
    Described(&'a DecoderModel),
    /// A model from its own files.
    Published(Arc<Model>),
}

/// Creates a generator for a model, at the beginning of a text.
type MakeGenerator<'i> = dyn Fn(LanguageModel<'_>, &GeneratorOptions) -> Result<Generator, TargetError> + 'i;
/// Returns the time of a model for lengths of text and numbers of texts.
type TimeOfModel<'i> = dyn Fn(&Arc<Model>, &LanguageTimeOptions) -> Result<LanguageTime, TargetError> + 'i;

/// Language models on an instance. Both functions fail for a model whose sizes do not fit the
/// machine, and for invalid options.
pub struct LanguageModels<'i> {
    /// Puts a model on the machine.
    pub generator: Box<MakeGenerator<'i>>,
    /// Times a model. Only the shapes and formats of the weights are used.
    pub time: Box<TimeOfModel<'i>>,
}

/// Options of a generator beyond the model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GeneratorOptions {
    /// Maximum number of tokens of prompt and answer together; at most the model's context.
    pub capacity: usize,
    /// Tokens of a typical text, from which a machine may choose the codes of weights; empty
    /// without one.
    pub calibration: Vec<usize>,
    /// Target-specific options, by name.
    pub options: BTreeMap<String, String>,
}

/// Result of processing tokens.
pub struct Step {
    /// Logits of the next token, one per token of the vocabulary. After [`Generator::take_all`],
    /// logits after each of the tokens, `[tokens, vocabulary]`.
    pub logits: Vec<f32>,
    /// Cycles that it took, if the machine has a clock.
    pub cycles: Option<u64>,
    /// Creates the program that processed the tokens, or the last of them, if the machine ran one.
    pub program: Option<MakeProgram>,
}

/// Creates the program that processed some tokens.
pub type MakeProgram = Box<dyn Fn() -> Box<dyn Compiled> + Send>;

/// Tokens for a machine to process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tokens<'a> {
    /// Number of earlier tokens that the new ones follow. The machine first discards the others.
    pub keep: usize,
    /// Tokens to process.
    pub new: &'a [usize],
    /// Whether the logits after each token are requested, `[tokens, vocabulary]`; otherwise those
    /// after the last one, `[vocabulary]`.
    pub all: bool,
}

/// Processes tokens. If the flag is true they begin a new text, otherwise they follow the earlier
/// tokens.
type Take = dyn FnMut(&[usize], bool) -> Result<Step, TargetError>;

/// Processes tokens.
type Extend = dyn FnMut(Tokens<'_>) -> Result<Step, TargetError> + Send;

/// Returns keys and values.
type Saved = dyn Fn() -> Vec<u8> + Send;
/// Replaces tokens by others with keys and values.
type Restore = dyn Fn(&[usize], &[u8]) -> bool + Send;

/// Keys and values of a text, for a machine that can keep any number of its first tokens.
pub struct KeysAndValues {
    saved: Box<Saved>,
    restore: Box<Restore>,
}

impl KeysAndValues {
    /// Takes keys and values from a text that its generator shares. `saved` returns all of them as
    /// bytes. `restore` replaces all tokens by others with saved keys and values; it returns false,
    /// and changes nothing, if these do not belong to the model, or are damaged.
    pub fn shared<T: Send + 'static>(
        text: &Arc<Mutex<T>>,
        saved: fn(&T) -> Vec<u8>,
        restore: fn(&mut T, &[usize], &[u8]) -> bool,
    ) -> Self {
        let [of_saved, of_restored] = [Arc::clone(text), Arc::clone(text)];
        Self {
            saved: Box::new(move || saved(&locked(&of_saved))),
            restore: Box::new(move |tokens, bytes| restore(&mut locked(&of_restored), tokens, bytes)),
        }
    }
}

/// Locks a text that a generator shares. After a panic, its state is that of the last change.
pub fn locked<T>(text: &Mutex<T>) -> MutexGuard<'_, T> {
    text.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A language model on a machine, in the middle of a text.
///
/// The same tokens give the same logits, processed at once or one by one, up to the machine's
/// rounding.
pub struct Generator {
    /// Target and instance, as `TARGET:INSTANCE`.
    pub name: String,
    /// The machine's clock in MHz, to which [`Step::cycles`] refers. `None` without a clock.
    pub clock_mhz: Option<f64>,
    /// Notes on how the machine computes, and on the assumptions of its cycles.
    pub notes: Vec<String>,
    extend: Box<Extend>,
    /// Keys and values, if the machine can keep a part of its tokens; otherwise it keeps all or
    /// none.
    keys_and_values: Option<KeysAndValues>,
    /// Tokens of the text.
    text: Vec<usize>,
    /// Number of tokens of the text that the machine has processed and kept.
    held: usize,
}

impl Generator {
    /// Creates a generator at the beginning of a text, for a machine that keeps all of its tokens
    /// or none. `take` processes tokens and first discards the earlier ones if its second argument
    /// is true.
    pub fn new(
        name: String,
        clock_mhz: Option<f64>,
        mut take: impl FnMut(&[usize], bool) -> Result<Step, TargetError> + Send + 'static,
    ) -> Self {
        let extend = move |Tokens { keep, new, all }: Tokens<'_>| {
            let begins = keep == 0;
            if all { one_by_one(&mut take, new, begins) } else { take(new, begins) }
        };
        let (text, held, notes) = (Vec::new(), 0, Vec::new());
        Self { name, clock_mhz, notes, extend: Box::new(extend), keys_and_values: None, text, held }
    }

    /// Creates a generator at the beginning of a text, for a machine that can keep any number of
    /// its first tokens, and can return the logits after each token.
    pub fn with_memory(
        name: String,
        clock_mhz: Option<f64>,
        extend: impl FnMut(Tokens<'_>) -> Result<Step, TargetError> + Send + 'static,
        keys_and_values: KeysAndValues,
    ) -> Self {
        let (keys_and_values, text, held, notes) = (Some(keys_and_values), Vec::new(), 0, Vec::new());
        Self { name, clock_mhz, notes, extend: Box::new(extend), keys_and_values, text, held }
    }

    /// Sets the notes.
    #[must_use]
    pub fn with_notes(self, notes: Vec<String>) -> Self {
        Self { notes, ..self }
    }

    /// Tokens since the beginning of the text.
    pub fn text(&self) -> &[usize] {
        &self.text
    }

    /// Discards all tokens, to begin a new text.
    pub fn reset(&mut self) {
        self.keep(0);
    }

    /// Discards the tokens after the first `count`. A machine that cannot keep a part of them
    /// processes the first tokens again, together with the next ones. Returns the number of tokens
    /// that need not be processed again.
    pub fn keep(&mut self, count: usize) -> usize {
        if count < self.text.len() {
            self.text.truncate(count);
            self.held = if self.keys_and_values.is_some() { self.held.min(count) } else { 0 };
        }
        self.held
    }

    /// Returns the cached keys and values of the processed tokens, for [`Self::restore`]; `None` if
    /// the machine cannot keep a part of its tokens, or has processed none.
    pub fn saved(&self) -> Option<(&[usize], Vec<u8>)> {
        let saved = &self.keys_and_values.as_ref()?.saved;
        (self.held > 0 && self.held == self.text.len()).then(|| (&self.text[..], saved()))
    }

    /// Replaces the text by one whose keys and values were saved. Returns false if they are
    /// damaged, or belong to another model; the text is then empty.
    pub fn restore(&mut self, tokens: &[usize], saved: &[u8]) -> bool {
        self.reset();
        let is_restored = self.keys_and_values.as_ref().is_some_and(|own| (own.restore)(tokens, saved));
        if is_restored {
            self.text = tokens.to_vec();
            self.held = tokens.len();
        }
        is_restored
    }

    /// Processes tokens that follow the earlier ones: a prompt or a generated token.
    ///
    /// # Errors
    ///
    /// No tokens; tokens outside the vocabulary; more tokens than the capacity; errors of the
    /// machine. The text is not changed then.
    pub fn take(&mut self, tokens: &[usize]) -> Result<Step, TargetError> {
        self.extend(tokens, false)
    }

    /// Processes tokens that follow the earlier ones. Returns the logits after each of them,
    /// `[tokens, vocabulary]`.
    ///
    /// # Errors
    ///
    /// Like [`Self::take`].
    pub fn take_all(&mut self, tokens: &[usize]) -> Result<Step, TargetError> {
        self.extend(tokens, true)
    }

    fn extend(&mut self, tokens: &[usize], all: bool) -> Result<Step, TargetError> {
        let again = &self.text[self.held..];
        let result = if tokens.is_empty() || again.is_empty() {
            (self.extend)(Tokens { keep: self.held, new: tokens, all })
        } else if all {
            (self.extend)(Tokens { keep: self.held, new: again, all: false }).and_then(|first| {
                let rest = (self.extend)(Tokens { keep: self.text.len(), new: tokens, all })?;
                Ok(Step { cycles: added_cycles(first.cycles, rest.cycles), ..rest })
            })
        } else {
            (self.extend)(Tokens { keep: self.held, new: &[again, tokens].concat(), all })
        };
        // After an error, the state of the machine is unknown.
        self.held = 0;
        let step = result?;
        self.text.extend(tokens);
        self.held = self.text.len();
        Ok(step)
    }
}

/// Processes tokens one by one, and combines their logits.
fn one_by_one(take: &mut Take, tokens: &[usize], begins: bool) -> Result<Step, TargetError> {
    let (first, rest) = tokens.split_at(tokens.len().min(1));
    let mut all = take(first, begins)?;
    for token in rest {
        let step = take(std::slice::from_ref(token), false)?;
        all.logits.extend(step.logits);
        all =
            Step { logits: all.logits, cycles: added_cycles(all.cycles, step.cycles), program: step.program };
    }
    Ok(all)
}

/// Adds cycles; `None` without a clock.
pub fn added_cycles(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    one.zip(other).map(|(one, other)| one + other)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    /// Requests to a machine: kept tokens, new ones, and whether all logits are requested.
    type Log = Arc<Mutex<Vec<(usize, Vec<usize>, bool)>>>;

    /// Returns the only logit after each token: the sum of the text. Token 99 is an error.
    fn sums(text: &mut Vec<usize>, tokens: &[usize]) -> Result<Vec<f32>, TargetError> {
        if tokens.contains(&99) || tokens.is_empty() {
            return Err(TargetError::failed(std::fmt::Error));
        }
        let sums = tokens.iter().map(|&token| {
            text.push(token);
            text.iter().sum::<usize>() as f32
        });
        Ok(sums.collect())
    }

    fn step(logits: Vec<f32>, tokens: usize) -> Step {
        Step { logits, cycles: Some(10 * tokens as u64), program: None }
    }

    /// Returns a machine that keeps all tokens or none, and one that keeps any number.
    fn machines() -> [(Generator, Log); 2] {
        let (log, mut text) = (Log::default(), Vec::new());
        let own = Arc::clone(&log);
        let simple = Generator::new("simple".to_owned(), None, move |tokens, begins| {
            own.lock().unwrap().push((usize::from(!begins), tokens.to_vec(), false));
            if begins {
                text.clear();
            }
            let last = sums(&mut text, tokens)?.split_off(tokens.len() - 1);
            Ok(step(last, tokens.len()))
        });
        let other = Log::default();
        let own = Arc::clone(&other);
        let text = Arc::new(Mutex::new(Vec::new()));
        // Tokens are saved as bytes.
        let saved = |text: &Vec<usize>| text.iter().map(|&token| token as u8).collect();
        let restore = |text: &mut Vec<usize>, tokens: &[usize], saved: &[u8]| {
            let fits = tokens.len() == saved.len();
            if fits {
                *text = tokens.to_vec();
            }
            fits
        };
        let keys_and_values = KeysAndValues::shared(&text, saved, restore);
        let extend = move |Tokens { keep, new, all }: Tokens<'_>| {
            own.lock().unwrap().push((keep, new.to_vec(), all));
            let mut text = text.lock().unwrap();
            text.truncate(keep);
            let mut logits = sums(&mut text, new)?;
            Ok(step(if all { logits } else { logits.split_off(new.len() - 1) }, new.len()))
        };
        let dividing = Generator::with_memory("dividing".to_owned(), None, extend, keys_and_values);
        [(simple, log), (dividing, other)]
    }

    #[test]
    fn logits_only_depend_on_the_text() {
        for (mut generator, _) in machines() {
            assert_eq!(generator.take(&[1, 2]).unwrap().logits, [3.0]);
            let all = generator.take_all(&[3, 4]).unwrap();
            assert_eq!((all.logits, all.cycles), (vec![6.0, 10.0], Some(20)));
            assert_eq!(generator.keep(3), if generator.name == "simple" { 0 } else { 3 });
            assert_eq!(generator.take_all(&[5, 6]).unwrap().logits, [11.0, 17.0]);
            generator.keep(1);
            assert_eq!(generator.take(&[7]).unwrap().logits, [8.0]);
            assert_eq!(generator.text(), [1, 7]);
            generator.keep(9);
            assert_eq!(generator.text(), [1, 7]);
            generator.reset();
            assert_eq!(generator.take(&[2]).unwrap().logits, [2.0]);
        }
    }

    #[test]
    fn restored_texts_continue_like_their_originals() {
        let [(mut simple, _), (mut dividing, log)] = machines();
        assert!(dividing.saved().is_none());
        for generator in [&mut simple, &mut dividing] {
            generator.take(&[1, 2, 3]).unwrap();
        }
        assert!(simple.saved().is_none() && !simple.restore(&[1], &[1]) && simple.text().is_empty());
        let (text, saved) = dividing.saved().map(|(text, saved)| (text.to_vec(), saved)).unwrap();
        dividing.reset();
        assert!(!dividing.restore(&text, &saved[1..]) && dividing.text().is_empty());
        assert!(dividing.restore(&text, &saved));
        assert_eq!((dividing.keep(9), dividing.take(&[4]).unwrap().logits), (3, vec![10.0]));
        assert_eq!(log.lock().unwrap().last(), Some(&(3, vec![4], false)));
    }

    #[test]
    fn only_machines_that_cannot_keep_a_part_compute_it_again() {
        let [(mut simple, log), (mut dividing, other)] = machines();
        for generator in [&mut simple, &mut dividing] {
            generator.take(&[1, 2, 3]).unwrap();
            generator.keep(2);
            let step = generator.take_all(&[4, 5]).unwrap();
            assert_eq!(step.cycles, Some(if generator.name == "simple" { 40 } else { 20 }));
        }
        let calls = |calls: &[(usize, &[usize], bool)]| -> Vec<(usize, Vec<usize>, bool)> {
            calls.iter().map(|&(keep, tokens, all)| (keep, tokens.to_vec(), all)).collect()
        };
        let expected = [(0, &[1, 2, 3][..], false), (0, &[1, 2], false), (1, &[4], false), (1, &[5], false)];
        assert_eq!(*log.lock().unwrap(), calls(&expected));
        assert_eq!(*other.lock().unwrap(), calls(&[(0, &[1, 2, 3], false), (2, &[4, 5], true)]));
    }

    #[test]
    fn an_error_leaves_the_text_as_it_was() {
        for (mut generator, _) in machines() {
            generator.take(&[1, 2]).unwrap();
            assert!(generator.take(&[3, 99]).is_err());
            assert!(generator.take_all(&[]).is_err());
            assert_eq!(generator.text(), [1, 2]);
            assert_eq!(generator.take(&[4]).unwrap().logits, [7.0]);
        }
    }
}
