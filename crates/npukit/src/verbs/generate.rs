//! `npu generate`: a language model continues a text, in float or on a machine; [`accuracy`] asks it about texts
//! that are held out.

mod language;

use std::collections::BTreeMap;
use std::time::Instant;

use npukit_graph::decoder::likeliest;
use npukit_target::{ArtifactFile, Generator, MakeProgram, Phase, Step, TimeOptions};
use rayon::prelude::*;
use serde::Serialize;

use super::time;
use crate::Context;
use crate::error::Error;
use language::{HeldOut, Language};

/// Which model, and where it runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// The model's description, a TOML file; the embedded adder when none.
    pub model: Option<String>,
    /// A target, or with `:` one of its instances; the float evaluator when none.
    pub target: Option<String>,
    /// The target's own options, by name.
    pub options: BTreeMap<String, String>,
    /// Most tokens to generate, as far as the model has room; 256 when none.
    pub tokens: Option<usize>,
    /// Whether the files of the last step's program are wanted.
    pub files: bool,
}

/// What was generated.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Report {
    /// Name of the model.
    pub model: String,
    /// Target and instance, or `float`.
    pub target: String,
    /// The prompt as the model reads it.
    pub prompt: String,
    /// What it generated, without what ended it.
    pub answer: String,
    /// Whether the model ended it.
    pub ended: bool,
    /// Tokens of the prompt.
    pub prompt_tokens: usize,
    /// Tokens generated, what ended it too.
    pub tokens: usize,
    /// Cycles of the machine for the prompt, up to the first token generated.
    pub prompt_cycles: Option<u64>,
    /// Cycles of the machine for the tokens after it.
    pub cycles: Option<u64>,
    /// The machine's clock.
    pub clock_mhz: Option<f64>,
    /// Tokens in a second at that clock, the prompt and its first token left out.
    pub tokens_per_second: Option<f64>,
    /// Where the time of the last step goes: that of one token, where more than one was generated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<time::Report>,
    /// What its user should know of.
    pub warnings: Vec<String>,
    /// Of everything, here.
    pub seconds: f64,
}

/// A model on a machine, and the bytes of its description, for a host that gives tokens itself.
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

/// How often a model answered rightly.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Accuracy {
    /// Name of the model.
    pub model: String,
    /// Target and instance, when there is one.
    pub target: Option<String>,
    /// Texts it was asked about.
    pub texts: usize,
    /// Share of them answered exactly rightly in float.
    pub exact_float: f64,
    /// The same on the machine.
    pub exact: Option<f64>,
    /// Share of them answered alike in float and on the machine.
    pub alike: Option<f64>,
    /// What its user should know of.
    pub warnings: Vec<String>,
    /// Of everything, here.
    pub seconds: f64,
}

/// The tokens that were generated, and what they took.
struct Generated {
    tokens: Vec<usize>,
    ended: bool,
    prompt_cycles: Option<u64>,
    cycles: Option<u64>,
    /// Makes the program that took the last tokens.
    program: Option<MakeProgram>,
}

/// Lets the model continue `prompt`; `show` is called with the prompt as the model reads it, then each token as it comes.
/// Also gives the files of the last step's program, where a machine ran one and they are wanted.
///
/// # Errors
///
/// [`Error::Read`] and [`Error::Description`] for the model; [`Error::NoText`] and [`Error::Prompt`] when it
/// cannot encode the prompt; those of [`resolve`](crate::targets::resolve), and [`Error::Target`] when the
/// target does not take decoders, lacks room or faults.
pub fn generate(
    request: &Request,
    prompt: &str,
    show: &mut dyn FnMut(&str),
    context: Context<'_>,
) -> Result<(Report, Vec<ArtifactFile>), Error> {
    let start = Instant::now();
    let language = Language::load(request.model.as_deref(), context.reader)?;
    let prompt = language.encode(prompt)?;
    let mut generator = language.generator(request, prompt.len(), context.reader)?;
    show(&language.text.decode(&prompt));
    let show_token = |token: usize| show(&language.text.decode(&[token]));
    let most = language.most(request, prompt.len());
    let generated = answer(&mut generator, &prompt, most, language.text.stop(), show_token)?;
    let further = generated.tokens.len().saturating_sub(1);
    let seconds = |cycles: u64| Some(cycles as f64 / (generator.clock_mhz? * 1e6));
    let program = generated.program.as_ref().map(|make| make());
    let step = match &program {
        Some(program) => Some(time::Report::new(&**program, Some(1), program.time(&TimeOptions::default())?)),
        None => None,
    };
    let wanted = program.filter(|_| request.files);
    // Default: without a program, in float, there are no files.
    let files = wanted.map(|program| program.files()).transpose()?.unwrap_or_default();
    let report = Report {
        model: language.model.config().name.clone(),
        target: generator.name,
        prompt: language.text.decode(&prompt),
        answer: language.text.decode(without_end(&generated)),
        ended: generated.ended,
        prompt_tokens: prompt.len(),
        tokens: generated.tokens.len(),
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

/// Generates at most `most` tokens, each the likeliest, until one of them is `stop`.
fn answer(
    generator: &mut Generator,
    prompt: &[usize],
    most: usize,
    stop: Option<usize>,
    mut show_token: impl FnMut(usize),
) -> Result<Generated, Error> {
    let Step { mut logits, cycles: prompt_cycles, mut program } = generator.take(prompt)?;
    let (mut tokens, mut cycles) = (Vec::new(), prompt_cycles.map(|_| 0));
    while tokens.len() < most {
        let token = likeliest(&logits);
        tokens.push(token);
        if Some(token) == stop {
            return Ok(Generated { tokens, ended: true, prompt_cycles, cycles, program });
        }
        show_token(token);
        // The last token need not be taken: nobody asks what follows it.
        if tokens.len() < most {
            let step = generator.take(&[token])?;
            (logits, program) = (step.logits, step.program);
            cycles = cycles.zip(step.cycles).map(|(sum, more)| sum + more);
        }
    }
    Ok(Generated { tokens, ended: false, prompt_cycles, cycles, program })
}

/// The tokens but the one that ended them.
fn without_end(generated: &Generated) -> &[usize] {
    &generated.tokens[..generated.tokens.len() - usize::from(generated.ended)]
}

/// Asks the model about held-out texts, lines of a prompt, a tab and the answer: those of the file
/// `held_out`, or those that the embedded model comes with.
///
/// # Errors
///
/// Those of [`generate`]; [`Error::NoHeldOut`], [`Error::HeldOut`] and [`Error::HeldOutPrompt`] for the
/// held-out texts.
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
        model: language.model.config().name.clone(),
        target: request.target.clone(),
        texts: texts.len(),
        exact_float: right(&float),
        exact: machine.as_deref().map(right),
        alike: machine.as_deref().map(alike),
        warnings: Language::warnings(request, context.reader)?,
        seconds: start.elapsed().as_secs_f64(),
    })
}

/// What the model answers to each prompt, over all cores.
fn answers(
    language: &Language,
    request: &Request,
    held_out: &HeldOut,
    context: Context<'_>,
) -> Result<Vec<String>, Error> {
    let texts = &held_out.texts;
    let phase = Phase::counting("generate", texts.len());
    // Default: without texts no prompt wants room.
    let longest = texts.iter().map(|(prompt, _)| prompt.len()).max().unwrap_or(0);
    let size = texts.len().div_ceil(rayon::current_num_threads()).max(1);
    let of_part = |(number, part): (usize, &[(Vec<usize>, String)])| -> Result<Vec<String>, Error> {
        let mut generator = language.generator(request, longest, context.reader)?;
        let mut one = |(index, (prompt, _)): (usize, &(Vec<usize>, String))| {
            generator.reset();
            let most = language.most(request, prompt.len());
            let generated = answer(&mut generator, prompt, most, language.text.stop(), |_| ());
            let generated = generated.map_err(|error| held_out.no_answer(number * size + index, error))?;
            phase.advance();
            Ok(language.text.decode(without_end(&generated)))
        };
        part.iter().enumerate().map(&mut one).collect()
    };
    let parts: Result<Vec<Vec<String>>, Error> = texts.par_chunks(size).enumerate().map(of_part).collect();
    Ok(parts?.concat())
}
