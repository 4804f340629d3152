//! [`language`]: the time of a language model from its shapes, for lengths of text and numbers of
//! texts.

use std::sync::Arc;

use npukit_graph::language::{Model, Part, Weights};
use npukit_target::{Instance, LanguageTime, LanguageTimeOptions};
use serde::Serialize;

use crate::Context;
use crate::error::Error;
use crate::model::language::{graph_options, place, shapes};
use crate::model::source::Source;
use crate::targets::resolve;

/// Numbers of tokens of a text without a choice.
const CONTEXTS: [usize; 5] = [128, 2048, 8192, 32_768, 131_072];
/// Numbers of texts without a choice.
const BATCHES: [usize; 3] = [1, 8, 64];

/// Language model to time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LanguageRequest {
    /// Path of the model, its target and options: a GGUF file, a folder of a model hub, or the
    /// `config.json` in it.
    pub source: Source,
    /// Numbers of tokens of a text; several by default.
    pub contexts: Vec<usize>,
    /// Numbers of texts that are decoded at once; several by default.
    pub batches: Vec<usize>,
    /// Whether to take the shapes of a folder from its `config.json`, as if it had no weights.
    pub shapes_only: bool,
    /// Names of further options that were given, and only apply to programs.
    pub others: Vec<&'static str>,
}

/// Time report of a language model.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct LanguageReport {
    /// Name of the model.
    pub name: String,
    /// Target and instance.
    pub target: String,
    /// Number of weights in matrices; a tied matrix counts once.
    pub weights: u64,
    /// Number of layers.
    pub layers: usize,
    /// Number of tokens in the vocabulary.
    pub vocabulary: usize,
    /// Number of positions that the model is made for.
    pub positions: usize,
    /// Time of every context with every batch.
    #[serde(flatten)]
    pub time: LanguageTime,
    /// Warnings for the user.
    pub warnings: Vec<String>,
}

/// Times a language model; returns `None` for a file of another kind.
///
/// # Errors
///
/// Returns [`Error::Checkpoint`] for a model that is not valid or not supported, and
/// [`Error::Inapplicable`] for options that only apply to another kind of model. Fails as
/// [`resolve`] does, and with [`Error::Target`] if the target does not support language models.
pub fn language(request: &LanguageRequest, context: Context<'_>) -> Result<Option<LanguageReport>, Error> {
    let Source { path, options, model: reading, calibration, .. } = &request.source;
    let wrong = |option: &'static str, found| {
        Err(Error::Inapplicable { path: path.clone(), option: option.to_owned(), found })
    };
    let Some((place, kind)) = place(path, context.reader) else {
        return match request {
            LanguageRequest { shapes_only: true, .. } => wrong("--shapes-only", "not a language model"),
            _ if !request.contexts.is_empty() => wrong("--context", "not a language model"),
            _ if request.batches.len() > 1 => wrong("--batch with several numbers", "not a language model"),
            _ => Ok(None),
        };
    };
    let inapplicable =
        graph_options(reading).into_iter().chain([("--calibrate", !calibration.inputs.is_empty())]);
    let given = inapplicable.filter(|(_, given)| *given).map(|(option, _)| option);
    if let Some(option) = given.chain(request.others.iter().copied()).next() {
        return wrong(option, "a language model");
    }
    let model = shapes(&place, kind, request.shapes_only, context.reader)?;
    let instance = resolve(request.source.target.as_deref().ok_or(Error::NoTarget)?, context.reader)?;
    let chosen = |given: &[usize], usual: &[usize]| if given.is_empty() { usual } else { given }.to_vec();
    let options = LanguageTimeOptions {
        contexts: chosen(&request.contexts, &CONTEXTS),
        batches: chosen(&request.batches, &BATCHES),
        options: options.clone(),
    };
    let time = timed(&*instance, &model, &options)?;
    let of = model.description();
    Ok(Some(LanguageReport {
        name: of.name.clone(),
        target: instance.info().name.clone(),
        weights: weights(&model),
        layers: of.layers.len(),
        vocabulary: of.vocabulary,
        positions: of.context,
        time,
        warnings: instance.info().warnings.clone(),
    }))
}

/// Times the texts of the options on an instance.
///
/// # Errors
///
/// [`Error::Target`] if the target does not support language models, or not this one.
pub(crate) fn timed(
    instance: &dyn Instance,
    model: &Arc<Model>,
    options: &LanguageTimeOptions,
) -> Result<LanguageTime, Error> {
    let language = instance.language_models();
    let language = language.ok_or_else(|| instance.info().unsupported("time of a language model"))?;
    Ok((language.time)(model, options)?)
}

/// Returns the number of weights in the matrices of a model.
fn weights(model: &Model) -> u64 {
    let size = |(part, layer): (Part, Option<usize>)| match model.weights(part, layer) {
        Some(Weights::Matrix(rows, _)) => rows.shape().into_iter().map(|size| size as u64).product(),
        _ => 0,
    };
    model.description().parts().map(size).sum()
}
