//! [`Session`]: a language model in use, which continues one [`Text`] after another.

use std::collections::VecDeque;
use std::sync::Arc;

use npukit_graph::decoder::DecoderError;
use npukit_graph::language::{Sampler, Sampling};
use npukit_import::llm::chat_template::Message;
use npukit_numeric::Tensor;
use npukit_target::{Generator, MakeProgram, Reader, Step, TargetError, added_cycles};
use serde::Serialize;

use super::Request;
use super::draft::{Draft, Drafted, common, follow};
use super::kept::{Kept, KeptFile};
use super::language::{Language, USUAL_TOKENS};
use super::shown::Shown;
use crate::Context;
use crate::error::Error;
use crate::model::language::USUAL_CONTEXT;

/// Language model in use. The tokens of the last text stay processed: a text that begins like it
/// only costs the rest.
pub struct Session {
    language: Arc<Language>,
    generator: Generator,
    /// Smaller model that proposes tokens.
    draft: Option<Draft>,
    /// Maximum number of tokens of a text.
    capacity: usize,
    /// Tokens that end a text.
    ends: Vec<usize>,
}

/// Properties of a continuation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Continuation {
    /// Maximum number of tokens, limited by the session's context; `None` for 256.
    pub tokens: Option<usize>,
    /// Choice of the tokens.
    pub sampling: Sampling,
    /// Texts that end the answer, which does not include them; not empty.
    pub stop: Vec<String>,
}

/// A text that a model continues.
pub struct Text {
    tokens: Vec<usize>,
    /// Number of tokens of the prompt.
    prompt: usize,
    /// Maximum number of further tokens.
    most: usize,
    sampler: Sampler,
    shown: Shown,
    answer: String,
    end: Option<End>,
    /// Logits of the next token, and of the tokens after those proposed, if they are known.
    logits: VecDeque<Vec<f32>>,
    /// Tokens that a smaller model proposed next.
    proposed: VecDeque<usize>,
    cost: Option<Cost>,
    drafted: Option<Drafted>,
}

/// Reason why a text has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum End {
    /// The model generated a token that ends texts.
    Token,
    /// The answer contained this text.
    Stop(String),
    /// The maximum number of tokens was reached.
    Length,
}

/// A generated token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// Number of the token.
    pub id: usize,
    /// Text that is complete with it. It is empty for a token that ends the text, and within a
    /// character; it may have characters of earlier tokens.
    pub text: String,
}

/// Cost of a text on the machine.
pub(super) struct Cost {
    /// Tokens of the prompt that were already processed.
    pub(super) reused: usize,
    /// Cycles up to the first token.
    pub(super) prompt_cycles: Option<u64>,
    /// Cycles of the further tokens, of a smaller model as well.
    pub(super) cycles: Option<u64>,
    /// Creates the program of the last step.
    pub(super) program: Option<MakeProgram>,
}

impl Session {
    /// Opens the model of a request for texts of at most [`Request::context`] tokens, by default
    /// 2048.
    ///
    /// # Errors
    ///
    /// The errors of [`generate`](super::generate) for the model and the target.
    pub fn open(request: &Request, context: Context<'_>) -> Result<Self, Error> {
        let language = Language::load(request.model.as_deref(), context.reader)?;
        let capacity = request.context.unwrap_or(USUAL_CONTEXT);
        Self::with_capacity(Arc::new(language), request, capacity, context.reader)
    }

    /// Creates a session for texts of at most `capacity` tokens, limited by the model.
    pub(super) fn with_capacity(
        mut language: Arc<Language>,
        request: &Request,
        capacity: usize,
        reader: &dyn Reader,
    ) -> Result<Self, Error> {
        let capacity = capacity.clamp(1, language.limit());
        let generator = match Arc::get_mut(&mut language) {
            Some(language) => language.last_generator(request, capacity, reader)?,
            None => language.generator(request, capacity, reader)?,
        };
        let draft = Draft::open(request, &language, capacity, reader)?;
        let ends = language.stops();
        Ok(Self { language, generator, draft, capacity, ends })
    }

    /// Creates a session that continues from the kept text of a request, if there is one. Also
    /// returns the file for the new text, and the messages of a kept conversation.
    ///
    /// # Errors
    ///
    /// [`Error::KeptText`] for a file of another kind or origin, and for a damaged one.
    pub(super) fn with_kept(
        language: Language,
        request: &Request,
        capacity: usize,
        reader: &dyn Reader,
    ) -> Result<(Self, Option<KeptFile>, Vec<Message>), Error> {
        let file = KeptFile::of(&language, request, reader)?;
        let kept = file.as_ref().map(|file| file.read(reader)).transpose()?.flatten();
        let capacity = kept.as_ref().map_or(capacity, |kept| kept.tokens.len().max(capacity));
        let mut session = Self::with_capacity(Arc::new(language), request, capacity, reader)?;
        let Some(kept) = kept else { return Ok((session, file, Vec::new())) };
        session.restore(&kept)?;
        Ok((session, file, kept.messages))
    }

    /// Continues from a kept text.
    ///
    /// # Errors
    ///
    /// [`Error::KeptText`] if its keys and values do not fit.
    fn restore(&mut self, kept: &Kept) -> Result<(), Error> {
        let fits = self.generator.restore(&kept.tokens, &kept.content);
        if fits { Ok(()) } else { Err(kept.damaged()) }
    }

    /// Returns the processed tokens, with their keys and values.
    pub(super) fn saved(&self) -> Option<(&[usize], Vec<u8>)> {
        self.generator.saved()
    }

    /// Name of the model.
    pub fn name(&self) -> &str {
        self.language.name()
    }

    /// Target and instance, or `float`.
    pub fn target(&self) -> &str {
        &self.generator.name
    }

    /// The machine's clock in MHz. `None` without a clock.
    pub fn clock_mhz(&self) -> Option<f64> {
        self.generator.clock_mhz
    }

    /// Notes on how the machine computes, and on the assumptions of its cycles.
    pub fn notes(&self) -> &[String] {
        &self.generator.notes
    }

    /// Maximum number of tokens of a text, including the prompt.
    pub fn context(&self) -> usize {
        self.capacity
    }

    /// Converts a text to tokens.
    ///
    /// # Errors
    ///
    /// [`Error::Prompt`] or [`Error::Checkpoint`] if the model cannot encode it.
    pub fn encode(&self, text: &str) -> Result<Vec<usize>, Error> {
        self.language.encode(text)
    }

    /// Converts a conversation to tokens, up to the begin of the model's next message.
    ///
    /// # Errors
    ///
    /// [`Error::Checkpoint`] if the model has no template for conversations, or if it refuses this
    /// one.
    pub fn encode_chat(&self, messages: &[Message]) -> Result<Vec<usize>, Error> {
        self.language.encode_chat(messages)
    }

    /// Returns the text of tokens, or their numbers without a tokenizer.
    pub fn decode(&self, tokens: &[usize]) -> String {
        self.language.decode(tokens)
    }

    /// Returns the logits after each token of a text, `[tokens, vocabulary]`.
    ///
    /// # Errors
    ///
    /// [`Error::Target`] for no tokens, tokens outside the vocabulary, too many tokens, and faults
    /// of the machine.
    pub fn logits(&mut self, tokens: &[usize]) -> Result<Tensor, Error> {
        self.generator.reset();
        let step = self.generator.take_all(tokens)?;
        self.matrix(tokens.len(), step.logits)
    }

    /// Begins to continue a prompt. Nothing is computed yet.
    ///
    /// # Errors
    ///
    /// [`Error::Sampling`] and [`Error::EmptyStop`] for an illegal continuation, [`Error::Target`]
    /// for a prompt that is longer than the session's context.
    pub fn begin(&self, prompt: Vec<usize>, continuation: &Continuation) -> Result<Text, Error> {
        let Continuation { tokens, sampling, stop } = continuation;
        if stop.iter().any(String::is_empty) {
            return Err(Error::EmptyStop);
        }
        let (found, limit) = (prompt.len(), self.capacity);
        if found > limit {
            return Err(TargetError::failed(DecoderError::TooLong { position: 0, found, limit }).into());
        }
        // Nothing follows the last token, so it needs no space.
        let room = limit + 1 - found;
        let most = tokens.unwrap_or(USUAL_TOKENS).min(room);
        Ok(Text {
            prompt: found,
            most,
            sampler: Sampler::new(*sampling)?,
            shown: Shown::new(&self.language, &prompt, stop),
            tokens: prompt,
            answer: String::new(),
            end: (most == 0).then_some(End::Length),
            logits: VecDeque::new(),
            proposed: VecDeque::new(),
            cost: None,
            drafted: self.draft.as_ref().map(Draft::unused),
        })
    }

    /// Processes the tokens of a text that the machine does not have yet.
    ///
    /// # Errors
    ///
    /// Like [`Self::logits`].
    pub fn read(&mut self, text: &mut Text) -> Result<(), Error> {
        if text.logits.is_empty() {
            self.process(text)?;
        }
        Ok(())
    }

    /// Processes the tokens of a text that the machine does not have yet, and after a prompt the
    /// tokens that a smaller model proposes next.
    fn process(&mut self, text: &mut Text) -> Result<(), Error> {
        let Some(draft) = self.draft.as_mut().filter(|_| text.cost.is_some()) else {
            let (reused, Step { logits, cycles, program }) = follow(&mut self.generator, &text.tokens)?;
            text.logits.push_back(logits);
            text.add(reused, cycles, program);
            return Ok(());
        };
        // One token follows all proposed ones.
        let most = text.most.saturating_sub(text.ids().len() + 1);
        let (proposed, draft_cycles) = draft.propose(&text.tokens, text.sampler.clone(), most)?;
        let common = common(&self.generator, &text.tokens);
        let reused = self.generator.keep(common);
        let new = [&text.tokens[common..], &proposed].concat();
        let Step { logits, cycles, program } = self.generator.take_all(&new)?;
        let vocabulary = logits.len() / new.len();
        let rows = logits.chunks_exact(vocabulary.max(1)).skip(text.tokens.len() - common - 1);
        text.logits.extend(rows.map(<[f32]>::to_vec));
        if let Some(drafted) = &mut text.drafted {
            drafted.proposed += proposed.len();
            drafted.cycles = added_cycles(drafted.cycles, draft_cycles);
        }
        text.proposed.extend(proposed);
        text.add(reused, added_cycles(cycles, draft_cycles), program);
        Ok(())
    }

    /// Processes the prompt of a text, and returns the logits after each of its tokens, `[tokens,
    /// vocabulary]`.
    ///
    /// # Errors
    ///
    /// Like [`Self::logits`].
    pub(super) fn read_all(&mut self, text: &mut Text) -> Result<Tensor, Error> {
        self.generator.reset();
        let Step { logits, cycles, program } = self.generator.take_all(&text.tokens)?;
        let vocabulary = logits.len() / text.tokens.len().max(1);
        text.logits.push_back(logits[logits.len() - vocabulary..].to_vec());
        text.add(0, cycles, program);
        self.matrix(text.tokens.len(), logits)
    }

    /// Returns the next token of a text; `None` if it has ended.
    ///
    /// # Errors
    ///
    /// Like [`Self::logits`].
    pub fn next(&mut self, text: &mut Text) -> Result<Option<Token>, Error> {
        if text.end.is_some() {
            return Ok(None);
        }
        self.read(text)?;
        let Some(logits) = text.logits.pop_front() else { return Ok(None) };
        let id = text.sampler.choose(&logits, &text.tokens);
        text.tokens.push(id);
        text.check(id);
        let ends = self.ends.contains(&id);
        let mut shown = if ends { String::new() } else { text.shown.next(&self.language, id) };
        if ends || text.ids().len() >= text.most {
            text.end = Some(if ends { End::Token } else { End::Length });
            if text.shown.stop().is_none() {
                shown += &text.shown.rest(&self.language);
            }
        }
        if let Some(stop) = text.shown.stop() {
            text.end = Some(End::Stop(stop.to_owned()));
        }
        text.answer += &shown;
        Ok(Some(Token { id, text: shown }))
    }

    /// Continues a prompt to its end.
    ///
    /// # Errors
    ///
    /// Like [`Self::begin`] and [`Self::logits`].
    pub fn answer(&mut self, prompt: Vec<usize>, continuation: &Continuation) -> Result<Text, Error> {
        let mut text = self.begin(prompt, continuation)?;
        self.read(&mut text)?;
        while self.next(&mut text)?.is_some() {}
        Ok(text)
    }

    fn matrix(&self, rows: usize, logits: Vec<f32>) -> Result<Tensor, Error> {
        let columns = logits.len() / rows.max(1);
        let tensor = Tensor::from_f32(vec![rows, columns], logits);
        Ok(tensor.map_err(|_| TargetError::failed(DecoderError::NoTokens))?)
    }
}

impl End {
    /// Returns the text of [`End::Stop`].
    pub fn stop(&self) -> Option<&str> {
        match self {
            Self::Stop(text) => Some(text),
            Self::Token | Self::Length => None,
        }
    }
}

impl Text {
    /// Tokens of the prompt.
    pub fn prompt_ids(&self) -> &[usize] {
        &self.tokens[..self.prompt]
    }

    /// Generated tokens, including one that ended the text.
    pub fn ids(&self) -> &[usize] {
        &self.tokens[self.prompt..]
    }

    /// Generated text, without what ended it.
    pub fn answer(&self) -> &str {
        &self.answer
    }

    /// Reason why the text has ended; `None` before its end.
    pub fn end(&self) -> Option<&End> {
        self.end.as_ref()
    }

    /// Number of tokens of the prompt that were already processed for the text before.
    pub fn reused(&self) -> usize {
        self.cost.as_ref().map_or(0, |cost| cost.reused)
    }

    /// Cycles of the machine: for the prompt, up to the first token, and for the further tokens.
    /// `None` without a clock, and before the first token.
    pub fn cycles(&self) -> Option<(u64, u64)> {
        let cost = self.cost.as_ref()?;
        cost.prompt_cycles.zip(cost.cycles)
    }

    pub(super) fn cost(&self) -> Option<&Cost> {
        self.cost.as_ref()
    }

    /// Use of a smaller model.
    pub(super) fn drafted(&self) -> Option<&Drafted> {
        self.drafted.as_ref()
    }

    /// Compares a token with the proposed one. If they differ, the logits after it are wrong.
    fn check(&mut self, id: usize) {
        if self.proposed.pop_front() == Some(id) {
            self.drafted.iter_mut().for_each(|drafted| drafted.accepted += 1);
        } else {
            self.proposed.clear();
            self.logits.clear();
        }
    }

    /// Adds the cost of a step.
    fn add(&mut self, reused: usize, cycles: Option<u64>, program: Option<MakeProgram>) {
        self.cost = Some(match self.cost.take() {
            None => Cost { reused, prompt_cycles: cycles, cycles: cycles.map(|_| 0), program },
            Some(cost) => Cost { cycles: added_cycles(cost.cycles, cycles), program, ..cost },
        });
    }
}
