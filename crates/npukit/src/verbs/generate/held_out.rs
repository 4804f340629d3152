//! Accuracy of a language model's answers to held-out prompts: [`accuracy`].

use std::sync::Arc;
use std::time::Instant;

use npukit_target::Phase;
use rayon::prelude::*;
use serde::Serialize;

use super::language::{HeldOut, Language};
use super::{Request, Session};
use crate::Context;
use crate::error::Error;

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

/// Evaluates the model on held-out texts, with a prompt, a tab and the answer per line. They come
/// from the file `held_out`, or from the embedded model.
///
/// # Errors
///
/// Fails as [`generate`](super::generate) does, and with [`Error::NoHeldOut`],
/// [`Error::HeldOut`] or [`Error::HeldOutPrompt`] for the held-out texts.
pub fn accuracy(request: &Request, held_out: Option<&str>, context: Context<'_>) -> Result<Accuracy, Error> {
    let start = Instant::now();
    let language = Language::load(request.model.as_deref(), context.reader)?;
    let held_out = language.held_out(held_out, context.reader)?;
    let texts = &held_out.texts;
    let language = Arc::new(language);
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
    language: &Arc<Language>,
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
        let capacity = Language::needed(longest, request.tokens);
        let mut session = Session::with_capacity(Arc::clone(language), request, capacity, context.reader)?;
        let mut one = |(index, (prompt, _)): (usize, &(Vec<usize>, String))| {
            let answer = session.answer(prompt.clone(), &request.continuation());
            let answer = answer.map_err(|error| held_out.no_answer(number * size + index, error))?;
            phase.advance();
            Ok(answer.answer().to_owned())
        };
        part.iter().enumerate().map(&mut one).collect()
    };
    let parts: Result<Vec<Vec<String>>, Error> = texts.par_chunks(size).enumerate().map(of_part).collect();
    Ok(parts?.concat())
}
