//! `npu embed`: an encoder makes one vector of each text, in float.

use std::ops::Range;
use std::time::Instant;

use npukit_graph::language::{DecoderError, normalize};
use npukit_import::llm::{Checkpoint, LlmError};
use npukit_numeric::Tensor;
use npukit_numeric::npy::{NpyArray, write_npy};
use npukit_target::{Phase, ReadError, TargetError};
use serde::Serialize;

use crate::Context;
use crate::error::Error;
use crate::model::language::{layout, open, part};

/// Model to use, and its texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// Path of the model: a GGUF file, or a folder of a model hub.
    pub model: String,
    /// Texts; each becomes a vector.
    pub texts: Vec<String>,
    /// Whether to leave out the end of texts that are longer than the model is made for.
    pub truncate: bool,
}

/// Vectors of texts.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Report {
    /// Name of the model.
    pub model: String,
    /// Number of features of a vector.
    pub features: usize,
    /// Whether the vectors have the length 1.
    pub normalized: bool,
    /// Maximum number of tokens of a text, including the tokens that the model adds.
    pub limit: usize,
    /// Texts with their vectors, in the order of the request.
    pub texts: Vec<Text>,
    /// File `.npy` of the vectors, float32 `[texts, features]`.
    #[serde(skip)]
    pub array: Vec<u8>,
    /// Total time in seconds.
    pub seconds: f64,
}

/// Text with its vector.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Text {
    /// The text.
    pub text: String,
    /// Tokens of the text, including the tokens that the model adds.
    pub ids: Vec<usize>,
    /// Number of tokens that were left out.
    pub left_out: usize,
    /// Vector of the text.
    pub vector: Vec<f32>,
    /// Cosine of the angle between this vector and the vector of the first text, -1 to 1.
    pub similarity: f64,
}

/// Computes the vectors of the texts.
///
/// # Errors
///
/// Returns [`Error::Read`], [`Error::NotCheckpoint`] or [`Error::Checkpoint`] for the model, and
/// [`Error::LongText`] for a text that is too long, unless it may be shortened.
pub fn embed(request: &Request, context: Context<'_>) -> Result<Report, Error> {
    let start = Instant::now();
    let (path, reader) = (&request.model, context.reader);
    let Some(layout) = layout(path, reader) else {
        return Err(match reader.read_range(path, 0..1) {
            Err(error @ ReadError::Absent { .. }) => error.into(),
            _ => Error::NotCheckpoint { path: path.clone() },
        });
    };
    let wrong = |error| Error::Checkpoint { path: path.clone(), source: Box::new(error) };
    let files = |name: &str, range: Range<u64>| part(path, layout, reader, name, range);
    let checkpoint = open(path, layout, &files).map_err(wrong)?;
    let encoder = {
        let _phase = Phase::begin("read the model");
        checkpoint.encoder(&files).map_err(wrong)?
    };
    let sentence = checkpoint.sentence().ok_or_else(|| wrong(no_sentence(path)))?;
    let (of, context_limit) = (encoder.description(), encoder.description().limit());
    // Default: a model that states no limit reads what its context allows.
    let limit = sentence.limit.unwrap_or(context_limit).min(context_limit);
    let phase = Phase::counting("embed", request.texts.len());
    let mut texts: Vec<Text> = Vec::new();
    for (index, text) in request.texts.iter().enumerate() {
        let (ids, left_out) = tokens(request, index, &checkpoint, limit)?;
        let values = encoder.values(&ids).map_err(TargetError::failed)?;
        let mut vector = sentence.pooling.apply(&values, of.hidden);
        if sentence.normalizes {
            normalize(&mut vector);
        }
        let similarity = cosine(texts.first().map_or(&vector, |first| &first.vector), &vector);
        texts.push(Text { text: text.clone(), ids, left_out, vector, similarity });
        phase.advance();
    }
    Ok(Report {
        model: of.name.clone(),
        features: of.hidden,
        normalized: sentence.normalizes,
        limit,
        array: array(&texts, of.hidden)?,
        texts,
        seconds: start.elapsed().as_secs_f64(),
    })
}

/// Returns the tokens of the text at `index`, and the number of tokens that are left out.
fn tokens(
    request: &Request,
    index: usize,
    checkpoint: &Checkpoint,
    limit: usize,
) -> Result<(Vec<usize>, usize), Error> {
    let wrong = |error| Error::Checkpoint { path: request.model.clone(), source: Box::new(error) };
    let tokenizer = checkpoint.tokenizer().map_err(wrong)?;
    let mut ids = tokenizer.encode(&request.texts[index]);
    let found = ids.len();
    if found > limit && !request.truncate {
        return Err(Error::LongText { text: index + 1, found, limit });
    }
    tokenizer.shorten(&mut ids, limit);
    Ok((ids.clone(), found - ids.len()))
}

fn array(texts: &[Text], features: usize) -> Result<Vec<u8>, Error> {
    let all = texts.iter().flat_map(|text| text.vector.iter().copied()).collect();
    let tensor = Tensor::from_f32(vec![texts.len(), features], all);
    let tensor = tensor.map_err(|_| TargetError::failed(DecoderError::NoTokens))?;
    Ok(write_npy(NpyArray::from(&tensor)))
}

/// Returns the cosine of the angle between two vectors; 0 if one of them has no length.
fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let product =
        |a: &[f32], b: &[f32]| -> f64 { a.iter().zip(b).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum() };
    let lengths = (product(a, a) * product(b, b)).sqrt();
    if lengths > 0.0 { product(a, b) / lengths } else { 0.0 }
}

/// Returns the error for a model that is not an encoder.
fn no_sentence(path: &str) -> LlmError {
    LlmError::Structure { path: path.to_owned(), found: "a decoder", expected: "an encoder" }
}
