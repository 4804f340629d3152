//! Perplexity of a language model on a text, in float and in the forms of a machine:
//! [`perplexity`] and [`all_forms`].

use std::collections::BTreeMap;
use std::time::Instant;

use npukit_graph::decoder::likeliest;
use npukit_target::{Generator, LanguageForm, MemoryClass, Phase, TimeOptions, added_cycles};
use serde::Serialize;

use super::Request;
use super::language::Language;
use crate::Context;
use crate::error::{Error, text_of};
use crate::targets::resolve;

/// Number of tokens of a window.
const WINDOW: usize = 512;

/// How well a language model predicts a text.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Perplexity {
    /// Name of the model.
    pub model: String,
    /// Target and instance, or `float`.
    pub target: String,
    /// Options of the target.
    pub options: BTreeMap<String, String>,
    /// Number of tokens of the text.
    pub tokens: usize,
    /// Number of tokens of a window: 512, or the model's context if that is shorter. Each window
    /// is predicted on its own.
    pub window: usize,
    /// Number of predicted tokens: all except the first one of each window.
    pub predictions: usize,
    /// Exponential of the mean negative logarithm of the predicted tokens' probabilities; 1 is
    /// perfect.
    pub perplexity: f64,
    /// Number of predicted tokens that were the most likely ones.
    pub top1: usize,
    /// Comparison with the model in float; missing without a machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub float: Option<FloatComparison>,
    /// Cycles of the machine for the whole text.
    pub cycles: Option<u64>,
    /// Cycles of a token after the last window but one token, processed alone.
    pub token_cycles: Option<u64>,
    /// Bytes of external memory for that token: weights, and values from and to the host.
    pub token_bytes: Option<u64>,
    /// Notes on how the machine computes, and on the assumptions of its cycles.
    pub notes: Vec<String>,
    /// Warnings for the user.
    pub warnings: Vec<String>,
    /// Total time on the host in seconds, of all forms together.
    pub seconds: f64,
}

/// Comparison of a machine with the model in float.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct FloatComparison {
    /// Perplexity in float.
    pub perplexity: f64,
    /// Perplexity of the machine, as a multiple of that in float.
    pub ratio: f64,
    /// Share of predictions whose most likely token is the same as in float, 0 to 1.
    pub agreement: f64,
}

/// The forms of a language model's weights on a machine, compared with the model in float.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Forms {
    /// Results by form.
    pub forms: Vec<Perplexity>,
}

/// Measures how well the model of a request predicts the text in the file at `path`. A machine is
/// compared with the model in float.
///
/// The text is divided into windows of 512 tokens. Logits of a window take 4 bytes per token and
/// entry of the vocabulary at once.
///
/// # Errors
///
/// [`Error::Read`] and [`Error::NotText`] for the file, [`Error::ShortText`] if there is nothing to
/// predict, and the errors of [`generate`](super::generate).
pub fn perplexity(request: &Request, path: &str, context: Context<'_>) -> Result<Perplexity, Error> {
    let mut all = measured(std::slice::from_ref(request), path, context)?;
    Ok(all.remove(0))
}

/// Measures each form of the weights that the request's machine has, like [`perplexity`].
///
/// # Errors
///
/// Like [`perplexity`].
pub fn all_forms(request: &Request, path: &str, context: Context<'_>) -> Result<Forms, Error> {
    let forms = match &request.target {
        Some(target) => resolve(target, context.reader)?.info().language_forms,
        None => &[],
    };
    let with = |form: &LanguageForm| {
        let mut request = request.clone();
        let (key, value) = form.option;
        request.options.insert(key.to_owned(), value.to_owned());
        if !form.is_calibrated {
            request.calibrate = None;
        }
        request
    };
    let requests: Vec<Request> = match forms {
        [] => vec![request.clone()],
        forms => forms.iter().map(with).collect(),
    };
    Ok(Forms { forms: measured(&requests, path, context)? })
}

/// Measures the requests, which have the same model, on the text in the file at `path`.
fn measured(requests: &[Request], path: &str, context: Context<'_>) -> Result<Vec<Perplexity>, Error> {
    let start = Instant::now();
    let Some(first) = requests.first() else { return Ok(Vec::new()) };
    let language = Language::load(first.model.as_deref(), context.reader)?;
    let tokens = tokens(&language, path, context)?;
    let window = WINDOW.min(language.limit());
    let form = |request: &Request| Ok(Form::new(language.generator(request, window, context.reader)?));
    let mut forms = requests.iter().map(form).collect::<Result<Vec<Form>, Error>>()?;
    let in_float = Request { target: None, options: BTreeMap::new(), ..first.clone() };
    let mut float = first.target.as_ref().map(|_| form(&in_float)).transpose()?;
    let phase = Phase::counting("generate", tokens.len().div_ceil(window));
    for window in tokens.chunks(window).filter(|window| window.len() > 1) {
        let likely = float.as_mut().map(|float| float.process(window, None)).transpose()?;
        forms.iter_mut().try_for_each(|form| form.process(window, likely.as_deref()).map(drop))?;
        phase.advance();
    }
    if forms.iter().all(|form| form.sum.predictions == 0) {
        return Err(Error::ShortText { path: path.to_owned(), found: tokens.len() });
    }
    let float = float.map(|float| float.sum.perplexity());
    let report = |(request, mut form): (&Request, Form)| {
        let (token_cycles, token_bytes) = form.token()?;
        Ok(Perplexity {
            model: language.name().to_owned(),
            options: request.options.clone(),
            tokens: tokens.len(),
            window,
            token_cycles,
            token_bytes,
            warnings: Language::warnings(request, context.reader)?,
            seconds: start.elapsed().as_secs_f64(),
            ..form.report(float)
        })
    };
    requests.iter().zip(forms).map(report).collect()
}

/// Returns the tokens of the text in the file at `path`.
fn tokens(language: &Language, path: &str, context: Context<'_>) -> Result<Vec<usize>, Error> {
    language.encode(text_of(path, &context.reader.read(path)?)?)
}

/// A form of the weights, with what was measured so far.
struct Form {
    generator: Generator,
    sum: Sum,
    /// Number of predictions whose most likely token is the same as in float.
    agreed: usize,
    cycles: Option<u64>,
}

impl Form {
    fn new(generator: Generator) -> Self {
        let cycles = generator.clock_mhz.map(|_| 0);
        Self { generator, sum: Sum::default(), agreed: 0, cycles }
    }

    /// Predicts the tokens of a window after its first one, and returns the most likely ones.
    /// `float` has the most likely tokens in float.
    fn process(&mut self, window: &[usize], float: Option<&[usize]>) -> Result<Vec<usize>, Error> {
        // Nothing follows the last token of a window.
        let (read, next) = (&window[..window.len() - 1], &window[1..]);
        self.generator.reset();
        let step = self.generator.take_all(read)?;
        let likely = self.sum.add(&step.logits, next);
        let pairs = likely.iter().zip(float.into_iter().flatten());
        self.agreed += pairs.filter(|(own, float)| own == float).count();
        self.cycles = added_cycles(self.cycles, step.cycles);
        Ok(likely)
    }

    /// Returns the cycles and the bytes of external memory of the last token, processed alone.
    fn token(&mut self) -> Result<(Option<u64>, Option<u64>), Error> {
        let Some((&last, first)) = self.generator.text().split_last() else { return Ok((None, None)) };
        let count = first.len();
        self.generator.keep(count);
        let step = self.generator.take(&[last])?;
        let Some(program) = step.program else { return Ok((step.cycles, None)) };
        let options = TimeOptions { counts_activity: true, ..TimeOptions::default() };
        let activity = program().time(&options)?.activity;
        let dram = activity.map(|activity| {
            let memories = activity.memories.iter().zip(&activity.total.bytes);
            memories.filter(|(memory, _)| memory.class == MemoryClass::Dram).map(|(_, bytes)| bytes).sum()
        });
        Ok((step.cycles, dram))
    }

    /// Returns what was measured, given the perplexity in float.
    fn report(self, float: Option<f64>) -> Perplexity {
        let Self { generator, sum, agreed, cycles } = self;
        let (perplexity, predictions) = (sum.perplexity(), sum.predictions);
        let compared = |float| FloatComparison {
            perplexity: float,
            ratio: perplexity / float,
            agreement: agreed as f64 / predictions as f64,
        };
        Perplexity {
            target: generator.name,
            notes: generator.notes,
            predictions,
            perplexity,
            top1: sum.top1,
            float: float.map(compared),
            cycles,
            ..Perplexity::default()
        }
    }
}

/// Sum over predictions.
#[derive(Clone, Debug, Default)]
struct Sum {
    predictions: usize,
    /// Negative logarithms of probabilities.
    nats: f64,
    top1: usize,
}

impl Sum {
    /// Returns the perplexity.
    fn perplexity(&self) -> f64 {
        (self.nats / self.predictions as f64).exp()
    }

    /// Adds the predictions of the tokens `next` from their logits, `[tokens, vocabulary]`; returns
    /// the most likely tokens.
    fn add(&mut self, logits: &[f32], next: &[usize]) -> Vec<usize> {
        let vocabulary = logits.len() / next.len().max(1);
        let mut likely = Vec::with_capacity(next.len());
        for (logits, &token) in logits.chunks_exact(vocabulary.max(1)).zip(next) {
            let largest = f64::from(logits.iter().copied().fold(f32::NEG_INFINITY, f32::max));
            let sum: f64 = logits.iter().map(|&logit| (f64::from(logit) - largest).exp()).sum();
            // Default: a token outside the vocabulary is impossible.
            let own = logits.get(token).map_or(f64::NEG_INFINITY, |&logit| f64::from(logit));
            self.nats += largest + sum.ln() - own;
            likely.push(likeliest(logits));
            self.top1 += usize::from(likely.last() == Some(&token));
            self.predictions += 1;
        }
        likely
    }
}
