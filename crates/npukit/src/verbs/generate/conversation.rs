//! Several answers with one model: [`Conversation`], and [`answers`] to the lines of a file.

use std::time::Instant;

use npukit_target::Phase;
use serde::Serialize;

use super::draft::Drafted;
use super::kept::KeptFile;
use super::language::Language;
use super::{Continuation, End, Message, Request, Session, Text};
use crate::Context;
use crate::error::{Error, text_of};
use crate::model::language::USUAL_CONTEXT;

/// Author of instructions to the model.
const SYSTEM: &str = "system";

/// Report of several answers.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Answers {
    /// Name of the model.
    pub model: String,
    /// Target and instance, or `float`.
    pub target: String,
    /// The answers, in the order of the prompts.
    pub answers: Vec<Answer>,
    /// Notes on how the machine computes, and on the assumptions of its cycles.
    pub notes: Vec<String>,
    /// Warnings for the user.
    pub warnings: Vec<String>,
    /// Content of a file from which the text continues, if requested.
    #[serde(skip)]
    pub kept: Option<Vec<u8>>,
    /// Total time on the host in seconds.
    pub seconds: f64,
}

/// An answer of several.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Answer {
    /// Prompt as given.
    pub prompt: String,
    /// Generated text, without what ended it.
    pub answer: String,
    /// Tokens of the prompt, in a conversation with all earlier messages.
    pub prompt_ids: Vec<usize>,
    /// Generated tokens, including the stop token.
    pub ids: Vec<usize>,
    /// Reason why the answer ended.
    pub end: End,
    /// Number of tokens of the prompt that were already processed for the prompt before.
    pub reused_tokens: usize,
    /// Cycles of the machine for the other tokens of the prompt.
    pub prompt_cycles: Option<u64>,
    /// Cycles of the machine for the tokens after the first one, of a smaller model as well.
    pub cycles: Option<u64>,
    /// Use of a smaller model, if one is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub draft: Option<Drafted>,
}

impl Answer {
    /// Returns the answer of a text that has ended.
    fn of(prompt: &str, text: &Text) -> Self {
        let cost = text.cost();
        Self {
            prompt: prompt.to_owned(),
            answer: text.answer().to_owned(),
            prompt_ids: text.prompt_ids().to_vec(),
            ids: text.ids().to_vec(),
            // Default: a text without a further token has its maximum length.
            end: text.end().cloned().unwrap_or(End::Length),
            reused_tokens: text.reused(),
            prompt_cycles: cost.and_then(|cost| cost.prompt_cycles),
            cycles: cost.and_then(|cost| cost.cycles),
            draft: text.drafted().cloned(),
        }
    }
}

/// A conversation with a language model, which knows all earlier messages.
pub struct Conversation {
    session: Session,
    messages: Vec<Message>,
    continuation: Continuation,
    report: Answers,
    /// File for the text.
    file: Option<KeptFile>,
    start: Instant,
}

impl Conversation {
    /// Opens the model of a request. A conversation in the file [`Request::keep`] is continued; a
    /// message of the system in the request replaces the one there.
    ///
    /// # Errors
    ///
    /// Like [`Session::open`], and [`Error::KeptText`] for a file of another kind or origin.
    pub fn open(request: &Request, context: Context<'_>) -> Result<Self, Error> {
        let start = Instant::now();
        let language = Language::load(request.model.as_deref(), context.reader)?;
        // Default: texts of a conversation have no known length.
        let capacity = request.context.unwrap_or(USUAL_CONTEXT);
        let (session, file, mut messages) = Session::with_kept(language, request, capacity, context.reader)?;
        if let Some(text) = &request.system {
            messages.retain(|message| message.role != SYSTEM);
            messages.insert(0, Message::new(SYSTEM, text));
        }
        let report = Answers {
            model: session.name().to_owned(),
            target: session.target().to_owned(),
            answers: Vec::new(),
            notes: session.notes().to_vec(),
            warnings: Language::warnings(request, context.reader)?,
            kept: None,
            seconds: 0.0,
        };
        Ok(Self { session, messages, continuation: request.continuation(), report, file, start })
    }

    /// Adds a message of the user, and the model's answer. `show` is called with each part of it.
    /// The seed of an answer is one larger than that of the answer before.
    ///
    /// # Errors
    ///
    /// Like [`Session::encode_chat`], [`Session::begin`] and [`Session::logits`]; the conversation
    /// is not changed then.
    pub fn say(&mut self, message: &str, show: &mut dyn FnMut(&str)) -> Result<&Answer, Error> {
        let mut messages = self.messages.clone();
        messages.push(Message::new("user", message));
        let prompt = self.session.encode_chat(&messages)?;
        let answer = self.answer(message, prompt, show)?;
        messages.push(Message::new("assistant", &answer.answer));
        self.messages = messages;
        self.continuation.sampling.seed = self.continuation.sampling.seed.wrapping_add(1);
        self.report.answers.push(answer);
        Ok(&self.report.answers[self.report.answers.len() - 1])
    }

    /// Returns the report of all answers, with the content of a requested file.
    pub fn report(mut self) -> Answers {
        let saved = self.file.as_ref().zip(self.session.saved());
        self.report.kept = saved.map(|(file, (text, saved))| file.write(text, &saved, &self.messages));
        self.report.seconds = self.start.elapsed().as_secs_f64();
        self.report
    }

    fn answer(
        &mut self,
        given: &str,
        prompt: Vec<usize>,
        show: &mut dyn FnMut(&str),
    ) -> Result<Answer, Error> {
        let mut text = self.session.begin(prompt, &self.continuation)?;
        self.session.read(&mut text)?;
        while let Some(token) = self.session.next(&mut text)? {
            if !token.text.is_empty() {
                show(&token.text);
            }
        }
        Ok(Answer::of(given, &text))
    }
}

/// Answers the prompts in the lines of the file at `path`, one after the other. `show` is called
/// with each prompt and each part of its answer. A prompt that begins like the one before only
/// costs the rest. All have the same seed.
///
/// # Errors
///
/// [`Error::Read`] and [`Error::NotText`] for the file, [`Error::HeldOutPrompt`] with the line of a
/// prompt that the model cannot take, and the errors of [`Session::open`].
pub fn answers(
    request: &Request,
    path: &str,
    show: &mut dyn FnMut(&str),
    context: Context<'_>,
) -> Result<Answers, Error> {
    let bytes = context.reader.read(path)?;
    let lines: Vec<&str> = text_of(path, &bytes)?.lines().collect();
    let mut all = Conversation::open(request, context)?;
    let phase = Phase::counting("generate", lines.len());
    for (index, line) in lines.into_iter().enumerate() {
        let prompt = match request.chat {
            true => all.session.encode_chat(&request.messages(line)),
            false => all.session.encode(line),
        };
        show(line);
        show("\n");
        let answer = prompt.and_then(|prompt| all.answer(line, prompt, show));
        let failed =
            |error| Error::HeldOutPrompt { path: path.to_owned(), line: index + 1, source: Box::new(error) };
        all.report.answers.push(answer.map_err(failed)?);
        show("\n\n");
        phase.advance();
    }
    Ok(all.report())
}
