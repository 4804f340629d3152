//! [`LanguageDecoder`]: a language model from its own files on the machine, token by token.

use std::collections::BTreeMap;
use std::sync::Arc;

use npukit_graph::language::{DecoderError, Model};
use npukit_target::UninitMemory;

use crate::clock;
use crate::config::Config;
use crate::lower::language::{Language, LanguageOptions, Logits, Template};
use crate::lower::{Executable, LowerError};
use crate::machine::Machine;
use crate::program::runtime::{RunError, Session, SessionState};
use crate::target::generate::{GARBAGE, GenerateError, Taken};

/// Maximum number of programs that are kept.
const MAX_PROGRAMS: usize = 16;

/// Number of tokens, room for earlier tokens, and the logits that a program computes.
pub type Key = (usize, usize, Logits);

/// Program with the weights that the host knows from its earlier runs.
struct Kept {
    template: Template,
    state: SessionState,
}

/// A language model within a text.
pub struct LanguageDecoder {
    config: Config,
    language: Arc<Language>,
    /// Machine for all tokens. Its memories contain garbage at first, and then the data of the last
    /// program.
    machine: Machine,
    capacity: usize,
    /// Largest number of tokens at once that L2 has room for, as far as known.
    tile: usize,
    tokens: Vec<usize>,
    programs: BTreeMap<Key, Kept>,
    /// Last program, and its number of earlier tokens.
    last: Option<(Key, usize)>,
    /// Holder of the caches between two programs.
    text: SessionState,
}

impl LanguageDecoder {
    /// Quantizes the weights of a model, and returns a decoder for an empty text of at most
    /// `capacity` tokens.
    ///
    /// # Errors
    /// [`DecoderError::TooLong`] if the capacity is 0 or exceeds the model's context; weights and
    /// sizes that the machine does not support.
    pub fn new(
        config: &Config,
        options: LanguageOptions,
        model: Arc<Model>,
        capacity: usize,
    ) -> Result<Self, GenerateError> {
        let limit = model.description().limit().min(Language::MOST_TOKENS);
        if capacity == 0 || capacity > limit {
            return Err(DecoderError::TooLong { position: 0, found: capacity, limit }.into());
        }
        let machine = Machine::with(config, UninitMemory::Garbage(GARBAGE)).map_err(RunError::Machine)?;
        Ok(Self {
            config: config.clone(),
            language: Arc::new(Language::new(config, model, options)?),
            machine,
            capacity,
            tile: usize::MAX,
            tokens: Vec::new(),
            programs: BTreeMap::new(),
            last: None,
            text: SessionState::default(),
        })
    }

    /// Returns notes on the forms of weights and on the machine's approximations.
    pub fn notes(&self) -> Vec<String> {
        self.language.notes()
    }

    /// Removes all tokens, to begin a new text.
    pub fn reset(&mut self) {
        self.keep(0);
    }

    /// Removes the tokens after the first `count`. If the caches cannot be shortened, the next call
    /// of [`Self::take`] also processes the first tokens again.
    pub fn keep(&mut self, count: usize) {
        if count >= self.tokens.len() {
            return;
        }
        let differ = self.language.model().description().rotations_differ(count, self.tokens.len());
        self.tokens.truncate(count);
        if count == 0 || differ || !self.text.keep(count) {
            self.text = SessionState::default();
        }
    }

    /// Returns the cached keys and values of the text, for [`Self::restore`].
    pub fn saved(&self) -> Vec<u8> {
        self.text.saved()
    }

    /// Replaces the text by a text with saved keys and values. Returns false, and changes nothing,
    /// if the bytes are damaged or belong to another text.
    pub fn restore(&mut self, tokens: &[usize], saved: &[u8]) -> bool {
        let fits = tokens.len() <= self.capacity
            && self.language.model().description().check_tokens(0, tokens).is_ok();
        let text = SessionState::restored(saved, tokens.len()).filter(|_| fits);
        let is_restored = text.is_some();
        if let Some(text) = text {
            (self.tokens, self.text) = (tokens.to_vec(), text);
        }
        is_restored
    }

    /// Returns the key of the last program, and its number of earlier tokens.
    pub fn last(&self) -> Option<(Key, usize)> {
        self.last
    }

    /// Returns a program for its number of earlier tokens.
    ///
    /// # Errors
    /// The errors of compiling it again, if it is no longer kept.
    pub fn program(&mut self, (key, position): (Key, usize)) -> Result<Executable, GenerateError> {
        self.prepare(key)?;
        let kept = self.programs.get_mut(&key).ok_or(LowerError::Fault("a program"))?;
        Ok(kept.template.at(position).clone())
    }

    /// Processes tokens, and returns the logits after the last one, or after each of them.
    ///
    /// # Errors
    /// [`GenerateError::Model`] for an empty list, tokens outside the vocabulary or too many
    /// tokens: then none is processed. After another error the text is empty.
    pub fn take(&mut self, tokens: &[usize], all: bool) -> Result<Taken, GenerateError> {
        let language = Arc::clone(&self.language);
        let (of, before) = (language.model().description(), self.tokens.len());
        of.check_tokens(before, tokens)?;
        let (after, limit) = (before + tokens.len(), self.capacity);
        if after > limit {
            return Err(DecoderError::TooLong { position: before, found: tokens.len(), limit }.into());
        }
        self.tokens.extend(tokens);
        // A longer text may change the rotations of all tokens. All tokens must then be processed
        // again.
        let again = before > 0 && (self.text.is_empty() || of.rotations_differ(before, after));
        if again {
            self.text = SessionState::default();
        }
        // In a thread of rayon's pool, even smaller products are worth several threads.
        let taken = rayon::scope(|_| self.process(if again { 0 } else { before }, before, all));
        if taken.is_err() {
            self.reset();
        }
        taken
    }

    /// Processes the tokens starting at `first`, and returns logits starting at `new`.
    fn process(&mut self, first: usize, new: usize, all: bool) -> Result<Taken, GenerateError> {
        let (mut position, end) = (first, self.tokens.len());
        let mut taken = Taken { logits: Vec::new(), cycles: 0 };
        while position < end {
            let limit = if position < new { new } else { end };
            let [count, room] = self.language.step(position, (limit - position).min(self.tile));
            let logits = match position + count {
                _ if all && position >= new => Logits::All,
                reached if reached == end => Logits::Last,
                _ => Logits::None,
            };
            match self.run((count, room, logits), position) {
                Ok(Taken { logits, cycles }) => {
                    taken.logits.extend(logits);
                    taken.cycles += cycles;
                    position += count;
                }
                // The program needs less of L2 if it processes fewer tokens at once.
                Err(GenerateError::Lower(LowerError::L2Full { .. })) if count > 1 => self.tile = count / 2,
                Err(error) => return Err(error),
            }
        }
        Ok(taken)
    }

    /// Runs a program for the tokens after `position` earlier tokens.
    fn run(&mut self, key: Key, position: usize) -> Result<Taken, GenerateError> {
        self.prepare(key)?;
        let tokens = &self.tokens[position..position + key.0];
        let inputs = self.language.inputs(tokens, position, self.tokens.len())?;
        let Some(Kept { template, state }) = self.programs.get_mut(&key) else {
            return Err(LowerError::Fault("a program").into());
        };
        let Executable { program, host } = template.at(position);
        let cycles = clock::run_with_host(&self.config, &program.code, &program.syncs()).cycles;
        let mut state = std::mem::take(state);
        state.take_caches(&mut self.text);
        let mut session = Session::resume(&mut self.machine, program, host, state);
        let results = session.run(&inputs);
        let mut state = session.pause();
        self.text.take_caches(&mut state);
        let mut logits = Vec::new();
        for row in results? {
            // All outputs of these programs are floats.
            logits.extend(row.as_f32().into_iter().flatten());
        }
        self.language.model().description().cap_logits(&mut logits);
        if let Some(kept) = self.programs.get_mut(&key) {
            kept.state = state;
        }
        self.last = Some((key, position));
        Ok(Taken { logits, cycles })
    }

    /// Makes a program, and windows large enough for it.
    fn prepare(&mut self, key: Key) -> Result<(), GenerateError> {
        if self.programs.contains_key(&key) {
            return Ok(());
        }
        let (tokens, room, logits) = key;
        let template = self.language.template(tokens, room, logits)?;
        for window in &template.executable.program.windows {
            let held = self.machine.window(window.direction, window.number).map_or(0, <[u8]>::len);
            let bytes = usize::try_from(window.size_bytes).unwrap_or(usize::MAX);
            if held < bytes {
                self.machine.open_window(window.direction, window.number, bytes).map_err(RunError::Access)?;
            }
        }
        if self.programs.len() >= MAX_PROGRAMS {
            self.programs.pop_first();
        }
        self.programs.insert(key, Kept { template, state: SessionState::default() });
        Ok(())
    }
}
