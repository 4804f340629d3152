//! `npu generate`: a language model continues a text, in float or on a machine: [`generate`]. A
//! [`Session`] continues any number of texts, and a [`Conversation`] has their history.
//!
//! The functions [`accuracy`] and [`perplexity`] evaluate a model on held-out texts.

mod conversation;
mod draft;
mod held_out;
mod kept;
mod language;
mod perplexity;
mod published;
mod session;
mod shown;

use std::collections::BTreeMap;
use std::time::Instant;

use npukit_numeric::npy::{NpyArray, write_npy};
use npukit_target::{ArtifactFile, Generator, TimeOptions};
use serde::Serialize;

use super::time;
use crate::Context;
use crate::error::Error;
pub use conversation::{Answer, Answers, Conversation, answers};
pub use draft::Drafted;
pub use held_out::{Accuracy, accuracy};
use language::Language;
#[doc(inline)]
pub use npukit_graph::language::Sampling;
#[doc(inline)]
pub use npukit_import::llm::chat_template::Message;
pub use perplexity::{FloatComparison, Forms, Perplexity, all_forms, perplexity};
pub use session::{Continuation, End, Session, Text, Token};

/// Model to use, and where it runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// Path of the model: a GGUF file, a folder of a model hub, or a description, a TOML file;
    /// `None` for the embedded adder.
    pub model: Option<String>,
    /// Prompt as tokens, instead of a text.
    pub ids: Option<Vec<usize>>,
    /// Whether to return the logits of the prompt.
    pub logits: bool,
    /// Target or instance; `None` for the float evaluator.
    pub target: Option<String>,
    /// Options of the target, by name.
    pub options: BTreeMap<String, String>,
    /// Path of a typical text, from which the target chooses the codes of weights.
    pub calibrate: Option<String>,
    /// Maximum number of tokens to generate, limited by the model; `None` for 256.
    pub tokens: Option<usize>,
    /// Maximum number of tokens of a text, including the prompt, limited by the model; `None` for
    /// what a single prompt needs, and for 2048 with several.
    pub context: Option<usize>,
    /// Path of a smaller model with the same tokens, which proposes tokens; `None` for none. The
    /// answer does not depend on it.
    pub draft: Option<String>,
    /// Number of tokens that the smaller model proposes at once; `None` for 4.
    pub proposals: Option<usize>,
    /// Choice of the tokens.
    pub sampling: Sampling,
    /// Texts that end the answer, which does not include them.
    pub stop: Vec<String>,
    /// Whether prompts are messages of a user, in the form of the model's conversations.
    pub chat: bool,
    /// Message of the system before them.
    pub system: Option<String>,
    /// Path of a file from which the text continues as far as it begins like it, if there is one.
    pub keep: Option<String>,
    /// Whether to return the files of the last step's program.
    pub files: bool,
}

/// Report of a generated text.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Report {
    /// Name of the model.
    pub model: String,
    /// Target and instance, or `float`.
    pub target: String,
    /// Prompt as the model reads it.
    pub prompt: String,
    /// Generated text, without the stop token or the text that ended it.
    pub answer: String,
    /// Tokens of the prompt.
    pub prompt_ids: Vec<usize>,
    /// Generated tokens, including the stop token.
    pub ids: Vec<usize>,
    /// Text of the generated tokens, including the stop token. Token numbers if the model's
    /// tokenizer is not supported.
    pub text: String,
    /// Whether the model ended the text with a stop token.
    pub ended: bool,
    /// Text that ended the answer, if one of those given did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop: Option<String>,
    /// Number of tokens of the prompt.
    pub prompt_tokens: usize,
    /// Number of generated tokens, including the stop token.
    pub tokens: usize,
    /// Cycles of the machine for the prompt, up to the first generated token.
    pub prompt_cycles: Option<u64>,
    /// Cycles of the machine for the tokens after the first one, of a smaller model as well.
    pub cycles: Option<u64>,
    /// Use of a smaller model, if one is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub draft: Option<Drafted>,
    /// Clock of the machine in MHz.
    pub clock_mhz: Option<f64>,
    /// Generated tokens per second at that clock, without the prompt and the first token.
    pub tokens_per_second: Option<f64>,
    /// Time report of the last step, which computes one token if more than one was generated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<time::Report>,
    /// File `.npy` of the logits after each token of the prompt, float32 `[tokens, vocabulary]`, if
    /// requested.
    #[serde(skip)]
    pub logits: Option<Vec<u8>>,
    /// Number of tokens of the prompt that were kept in a file.
    pub reused_tokens: usize,
    /// Content of a file from which the text continues, if requested.
    #[serde(skip)]
    pub kept: Option<Vec<u8>>,
    /// Notes on how the machine computes, and on the assumptions of its cycles.
    pub notes: Vec<String>,
    /// Warnings for the user.
    pub warnings: Vec<String>,
    /// Total time on the host in seconds.
    pub seconds: f64,
}

/// Returns a model on a machine, and the bytes of its description, for a host that supplies tokens
/// itself.
pub(super) fn machine(
    request: &Request,
    tokens: usize,
    context: Context<'_>,
) -> Result<(Generator, Vec<u8>), Error> {
    let language = Language::load(request.model.as_deref(), context.reader)?;
    let generator = language.generator(request, tokens.clamp(1, language.limit()), context.reader)?;
    Ok((generator, Language::description(request.model.as_deref(), context.reader)?))
}

/// Lets the model continue `prompt`. `show` is called with the prompt as the model reads it, then
/// with each token. Also returns the files of the last step's program, if a machine ran it and they
/// are requested.
///
/// # Errors
///
/// Returns [`Error::Read`], [`Error::Description`] or [`Error::Checkpoint`] for the model,
/// and [`Error::NoText`] or [`Error::Prompt`] if it cannot encode the prompt. Fails as
/// [`resolve`](crate::targets::resolve) does, and with [`Error::Target`] if the target does not
/// support language models, is too small, or faults.
pub fn generate(
    request: &Request,
    prompt: &str,
    show: &mut dyn FnMut(&str),
    context: Context<'_>,
) -> Result<(Report, Vec<ArtifactFile>), Error> {
    let start = Instant::now();
    let language = Language::load(request.model.as_deref(), context.reader)?;
    let prompt = match &request.ids {
        Some(ids) => ids.clone(),
        None if request.chat => language.encode_chat(&request.messages(prompt))?,
        None => language.encode(prompt)?,
    };
    // Default: what the prompt needs.
    let capacity = request.context.unwrap_or(Language::needed(prompt.len(), request.tokens));
    let (mut session, file, _) = Session::with_kept(language, request, capacity, context.reader)?;
    let mut text = session.begin(prompt, &request.continuation())?;
    if !request.chat {
        show(&session.decode(text.prompt_ids()));
    }
    let logits = request.logits.then(|| session.read_all(&mut text)).transpose()?;
    session.read(&mut text)?;
    while let Some(token) = session.next(&mut text)? {
        if !token.text.is_empty() {
            show(&token.text);
        }
    }
    let (mut report, files) = report(request, &session, &text)?;
    report.logits = logits.map(|logits| write_npy(NpyArray::from(&logits)));
    let saved = file.zip(session.saved());
    report.kept = saved.map(|(file, (text, saved))| file.write(text, &saved, &[]));
    report.warnings = Language::warnings(request, context.reader)?;
    report.seconds = start.elapsed().as_secs_f64();
    Ok((report, files))
}

/// Returns the report of a text that has ended, and the files of the last step's program if they
/// are requested.
fn report(request: &Request, session: &Session, text: &Text) -> Result<(Report, Vec<ArtifactFile>), Error> {
    let further = text.ids().len().saturating_sub(1);
    let cost = text.cost();
    let cycles = cost.and_then(|cost| cost.cycles);
    let seconds = |cycles: u64| Some(cycles as f64 / (session.clock_mhz()? * 1e6));
    let program = cost.and_then(|cost| cost.program.as_ref()).map(|make| make());
    let step = match &program {
        Some(program) => Some(time::Report::new(&**program, Some(1), program.time(&TimeOptions::default())?)),
        None => None,
    };
    let wanted = program.filter(|_| request.files);
    // Default: no files without a program, in float.
    let files = wanted.map(|program| program.files()).transpose()?.unwrap_or_default();
    let report = Report {
        model: session.name().to_owned(),
        target: session.target().to_owned(),
        prompt: session.decode(text.prompt_ids()),
        answer: text.answer().to_owned(),
        prompt_ids: text.prompt_ids().to_vec(),
        ids: text.ids().to_vec(),
        text: session.decode(text.ids()),
        ended: text.end() == Some(&End::Token),
        stop: text.end().and_then(End::stop).map(str::to_owned),
        prompt_tokens: text.prompt_ids().len(),
        tokens: text.ids().len(),
        prompt_cycles: cost.and_then(|cost| cost.prompt_cycles),
        cycles,
        draft: text.drafted().cloned(),
        clock_mhz: session.clock_mhz(),
        tokens_per_second: cycles.filter(|_| further > 0).and_then(seconds).map(|s| further as f64 / s),
        step,
        logits: None,
        reused_tokens: text.reused(),
        kept: None,
        notes: session.notes().to_vec(),
        warnings: Vec::new(),
        seconds: 0.0,
    };
    Ok((report, files))
}

impl Request {
    /// Properties of the continuation of each prompt.
    pub fn continuation(&self) -> Continuation {
        Continuation { tokens: self.tokens, sampling: self.sampling, stop: self.stop.clone() }
    }

    /// Returns a conversation of one message of a user.
    fn messages(&self, prompt: &str) -> Vec<Message> {
        let system = self.system.iter().map(|text| Message::new("system", text));
        system.chain([Message::new("user", prompt)]).collect()
    }
}
