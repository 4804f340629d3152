//! `npu generate`: a language model continues a text, in float or on a machine. The function
//! [`accuracy`] evaluates it on held-out texts.

mod language;
pub(super) mod published;

use std::collections::BTreeMap;
use std::time::Instant;

use npukit_graph::decoder::likeliest;
use npukit_numeric::npy::{NpyArray, write_npy};
use npukit_target::{ArtifactFile, Generator, MakeProgram, Phase, Step, TimeOptions};
use rayon::prelude::*;
use serde::Serialize;

use super::time;
use crate::Context;
use crate::error::Error;
use language::{HeldOut, Language};

/// Model to use, and where it runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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
    /// Maximum number of tokens to generate, limited by the model; `None` for 256.
    pub tokens: Option<usize>,
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
    /// Generated text, without the stop token.
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
    /// Number of tokens of the prompt.
    pub prompt_tokens: usize,
    /// Number of generated tokens, including the stop token.
    pub tokens: usize,
    /// Cycles of the machine for the prompt, up to the first generated token.
    pub prompt_cycles: Option<u64>,
    /// Cycles of the machine for the tokens after the first one.
    pub cycles: Option<u64>,
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
    let request = Request { tokens: Some(0), ..request.clone() };
    let generator = language.generator(&request, tokens, context.reader)?;
    Ok((generator, Language::description(request.model.as_deref(), context.reader)?))
}

/// Accuracy of a language model.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Accuracy {
    /// Name of the model.
    pub model: String,
    /// Target and instance; `None` without a machine.
    pub target: Option<String>,
    /// Number of texts.
    pub texts: usize,
    /// Share of texts answered exactly in float, 0 to 1.
    pub exact_float: f64,
    /// Share of texts answered exactly on the machine, 0 to 1.
    pub exact: Option<f64>,
    /// Share of texts with the same answer in float and on the machine, 0 to 1.
    pub alike: Option<f64>,
    /// Warnings for the user.
    pub warnings: Vec<String>,
    /// Total time on the host in seconds.
    pub seconds: f64,
}

/// Generated tokens, and their cost.
struct Generated {
    tokens: Vec<usize>,
    ended: bool,
    prompt_cycles: Option<u64>,
    cycles: Option<u64>,
    /// Function that creates the program of the last step.
    program: Option<MakeProgram>,
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
        None => language.encode(prompt)?,
    };
    let logits = request.logits.then(|| language.logits(request, &prompt, context.reader)).transpose()?;
    let mut generator = language.generator(request, prompt.len(), context.reader)?;
    show(&language.decode(&prompt));
    let mut shown = Shown::new(&language, &prompt);
    let most = language.most(request, prompt.len());
    let generated =
        answer(&mut generator, &prompt, most, &language.stops(), |token| show(&shown.next(token)))?;
    let further = generated.tokens.len().saturating_sub(1);
    let seconds = |cycles: u64| Some(cycles as f64 / (generator.clock_mhz? * 1e6));
    let program = generated.program.as_ref().map(|make| make());
    let step = match &program {
        Some(program) => Some(time::Report::new(&**program, Some(1), program.time(&TimeOptions::default())?)),
        None => None,
    };
    let wanted = program.filter(|_| request.files);
    // Default: no files without a program, in float.
    let files = wanted.map(|program| program.files()).transpose()?.unwrap_or_default();
    let report = Report {
        model: language.name().to_owned(),
        target: generator.name,
        prompt: language.decode(&prompt),
        answer: language.decode(without_end(&generated)),
        text: language.decode(&generated.tokens),
        ended: generated.ended,
        prompt_tokens: prompt.len(),
        prompt_ids: prompt,
        tokens: generated.tokens.len(),
        ids: generated.tokens,
        logits: logits.map(|logits| write_npy(NpyArray::from(&logits))),
        prompt_cycles: generated.prompt_cycles,
        cycles: generated.cycles,
        clock_mhz: generator.clock_mhz,
        tokens_per_second: generated
            .cycles
            .filter(|_| further > 0)
            .and_then(seconds)
            .map(|s| further as f64 / s),
        step,
        warnings: Language::warnings(request, context.reader)?,
        seconds: start.elapsed().as_secs_f64(),
    };
    Ok((report, files))
}

/// Text that has been shown.
struct Shown<'a> {
    language: &'a Language,
    tokens: Vec<usize>,
    /// Length of the shown text in bytes.
    length: usize,
}

impl<'a> Shown<'a> {
    /// Begins after the text of `prompt`.
    fn new(language: &'a Language, prompt: &[usize]) -> Self {
        let text = language.decode(prompt);
        let length = text.trim_end_matches(char::REPLACEMENT_CHARACTER).len();
        Self { language, tokens: prompt.to_vec(), length }
    }

    /// Returns the text that `token` adds. The first bytes of a character are kept until it is
    /// complete.
    fn next(&mut self, token: usize) -> String {
        self.tokens.push(token);
        let text = self.language.decode(&self.tokens);
        let complete = text.trim_end_matches(char::REPLACEMENT_CHARACTER);
        let added = complete.get(self.length..).map(str::to_owned).unwrap_or_default();
        self.length += added.len();
        added
    }
}

/// Generates at most `most` tokens, always the most likely one, until one of them is in `stops`.
fn answer(
    generator: &mut Generator,
    prompt: &[usize],
    most: usize,
    stops: &[usize],
    mut show_token: impl FnMut(usize),
) -> Result<Generated, Error> {
    let Step { mut logits, cycles: prompt_cycles, mut program } = generator.take(prompt)?;
    let (mut tokens, mut cycles) = (Vec::new(), prompt_cycles.map(|_| 0));
    while tokens.len() < most {
        let token = likeliest(&logits);
        tokens.push(token);
        if stops.contains(&token) {
            return Ok(Generated { tokens, ended: true, prompt_cycles, cycles, program });
        }
        show_token(token);
        // The last token need not be processed: nothing follows it.
        if tokens.len() < most {
            let step = generator.take(&[token])?;
            (logits, program) = (step.logits, step.program);
            cycles = cycles.zip(step.cycles).map(|(sum, more)| sum + more);
        }
    }
    Ok(Generated { tokens, ended: false, prompt_cycles, cycles, program })
}

/// Returns the tokens without the stop token.
fn without_end(generated: &Generated) -> &[usize] {
    &generated.tokens[..generated.tokens.len() - usize::from(generated.ended)]
}

/// Evaluates the model on held-out texts, with a prompt, a tab and the answer per line. They come
/// from the file `held_out`, or from the embedded model.
///
/// # Errors
///
/// Fails as [`generate`] does, and with [`Error::NoHeldOut`], [`Error::HeldOut`] or
/// [`Error::HeldOutPrompt`] for the held-out texts.
pub fn accuracy(request: &Request, held_out: Option<&str>, context: Context<'_>) -> Result<Accuracy, Error> {
    let start = Instant::now();
    let language = Language::load(request.model.as_deref(), context.reader)?;
    let held_out = language.held_out(held_out, context.reader)?;
    let texts = &held_out.texts;
    let float = answers(&language, &Request { target: None, ..request.clone() }, &held_out, context)?;
    let machine = match request.target {
        Some(_) => Some(answers(&language, request, &held_out, context)?),
        None => None,
    };
    let share = |count: usize| count as f64 / texts.len().max(1) as f64;
    let right =
        |found: &[String]| share(found.iter().zip(texts).filter(|(found, text)| **found == text.1).count());
    let alike =
        |found: &[String]| share(found.iter().zip(&float).filter(|(found, float)| found == float).count());
    Ok(Accuracy {
        model: language.name().to_owned(),
        target: request.target.clone(),
        texts: texts.len(),
        exact_float: right(&float),
        exact: machine.as_deref().map(right),
        alike: machine.as_deref().map(alike),
        warnings: Language::warnings(request, context.reader)?,
        seconds: start.elapsed().as_secs_f64(),
    })
}

/// Returns the model's answer to each prompt, computed on all cores.
fn answers(
    language: &Language,
    request: &Request,
    held_out: &HeldOut,
    context: Context<'_>,
) -> Result<Vec<String>, Error> {
    let texts = &held_out.texts;
    let phase = Phase::counting("generate", texts.len());
    // Default: 0 without texts.
    let longest = texts.iter().map(|(prompt, _)| prompt.len()).max().unwrap_or(0);
    let size = texts.len().div_ceil(rayon::current_num_threads()).max(1);
    let of_part = |(number, part): (usize, &[(Vec<usize>, String)])| -> Result<Vec<String>, Error> {
        let mut generator = language.generator(request, longest, context.reader)?;
        let mut one = |(index, (prompt, _)): (usize, &(Vec<usize>, String))| {
            generator.reset();
            let most = language.most(request, prompt.len());
            let generated = answer(&mut generator, prompt, most, &language.stops(), |_| ());
            let generated = generated.map_err(|error| held_out.no_answer(number * size + index, error))?;
            phase.advance();
            Ok(language.decode(without_end(&generated)))
        };
        part.iter().enumerate().map(&mut one).collect()
    };
    let parts: Result<Vec<Vec<String>>, Error> = texts.par_chunks(size).enumerate().map(of_part).collect();
    Ok(parts?.concat())
}
