//! `npu diff` of values: two sides of one network tensor by tensor, in the order of layers.
//!
//! The first side is what the second is held against. A tensor is *explained* by rounding where every side that rounds
//! has, on its own operands, no element further from the layer in float than `npukit_graph::rounding_bounds` allows; where
//! there is no bound nothing is claimed.
//!
//! | module | is |
//! |---|---|
//! | `sides` | both sides, of which one may take names and shapes from the other |
//! | `opened` | the tensors that both have |
//! | `report` | what is said of them |
//! | `sums` | what is counted of a tensor |
//! | `judge` | whether rounding explains what a side has |

mod judge;
mod opened;
mod report;
mod sides;
mod sums;

use std::collections::HashSet;
use std::time::Instant;

use npukit_graph::shape::indices;
use npukit_target::{Phase, Saturations};
use rayon::prelude::*;

use crate::Context;
use crate::compare::layer_compare::Sums as OwnSums;
use crate::error::Error;
use crate::inputs::{InputFile, Preprocess};
use crate::model::source::Source;
use judge::Judges;
use opened::{Opened, Pair};
pub use report::{Difference, Explanation, Parting, Report, SideReport, TensorReport};
use sums::{Place, TensorSums};

/// What to compare, on what.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// A model, `MODEL@TARGET`, an artifact, an `.npz`, `NAME=FILE.npy` or `MEMORY=FILE`.
    pub before: String,
    /// The same.
    pub after: String,
    /// How models are read and lowered; its path and target do not count.
    pub source: Source,
    /// The model that an artifact was compiled from, where no side is it.
    pub model: Option<String>,
    /// The program whose memory an image is, where the other side is none: an artifact, or `MODEL@TARGET`.
    pub program: Option<String>,
    /// Inputs of the sides that compute.
    pub inputs: Vec<InputFile>,
    /// What is done to their values.
    pub preprocess: Preprocess,
    /// The largest error of a tensor that passes, in percent of its range; without it what rounding does not explain
    /// fails, and any difference from what was kept.
    pub threshold: Option<f64>,
}

impl Request {
    /// Whether two names are of sides that have values: else they are reports.
    pub fn is_of_values(before: &str, after: &str) -> bool {
        let is_side = |text: &str| crate::compare::traced::open::Named::parse(text).is_some();
        is_side(before) || is_side(after)
    }
}

/// What one sample gave, and after it several.
#[derive(Default)]
struct Counted {
    tensors: Vec<TensorSums>,
    /// By side and layer.
    own: [Vec<Option<OwnSums>>; 2],
    saturations: [Saturations; 2],
}

/// Compares two sides.
///
/// # Errors
///
/// [`Error::NotComparable`] for names of no side; [`Error::OtherTensors`] where no tensor is common or one is of another
/// size; [`Error::NotLike`] for a model from which an artifact does not come; those of [`run`](crate::verbs::run::run).
pub fn diff_values(request: &Request, context: Context<'_>) -> Result<Report, Error> {
    let start = Instant::now();
    let opened = Opened::new(request, context)?;
    let judges = Judges::new(&opened);
    let counted = counted(&opened, &judges)?;
    let tensors: Vec<TensorReport> =
        (0..opened.pairs.len()).map(|place| tensor(&opened, &judges, &counted, place)).collect();
    let parting = |tensor: &TensorReport| {
        let why = Some(tensor.explanation);
        let why = why.filter(|why| matches!(why, Explanation::Saturation | Explanation::BeyondRounding))?;
        Some(Parting { tensor: tensor.name.clone(), layer: tensor.layer.clone(), why })
    };
    let Opened { sides, only, notes, samples, .. } = &opened;
    let [before, after] = sides.each_ref().map(|side| side.report.clone());
    let failures = match request.threshold {
        Some(percent) => tensors.iter().filter_map(|tensor| beyond_threshold(tensor, percent)).collect(),
        None => tensors.iter().filter_map(|tensor| unexplained(tensor, opened.is_exact())).collect(),
    };
    Ok(Report {
        before,
        after,
        samples: *samples,
        same: tensors.iter().map(|tensor| tensor.elements - tensor.differing).sum(),
        first_difference: tensors.iter().find_map(|tensor| tensor.first.clone()),
        parts_at: tensors.iter().find_map(parting),
        tensors,
        only_before: only[0].clone(),
        only_after: only[1].clone(),
        notes: notes.clone(),
        failures,
        seconds: start.elapsed().as_secs_f64(),
    })
}

/// Why a tensor fails: by more than a share of its range.
fn beyond_threshold(tensor: &TensorReport, percent: f64) -> Option<String> {
    let share = tensor.relative_error.unwrap_or(if tensor.differing > 0 { f64::INFINITY } else { 0.0 });
    // A share that is no number is beyond every limit.
    let passes = share * 100.0 <= percent;
    (!passes).then(|| format!("`{}` differs by {:.3} % of its range", tensor.name, share * 100.0))
}

/// Why a tensor fails: it differs and is not to, or rounding does not explain it.
fn unexplained(tensor: &TensorReport, is_exact: bool) -> Option<String> {
    let TensorReport { name, differing, elements, explanation, .. } = tensor;
    let differs = || format!("`{name}` differs in {differing} of {elements} elements");
    match explanation {
        Explanation::Same => None,
        _ if is_exact => Some(differs()),
        Explanation::Saturation => {
            Some(format!("{}: values of its layer do not fit the number format", differs()))
        }
        Explanation::BeyondRounding => Some(format!("{}: by more than rounding explains", differs())),
        Explanation::Rounding | Explanation::NoBound => None,
    }
}

/// Goes through all samples.
fn counted(opened: &Opened, judges: &Judges) -> Result<Counted, Error> {
    let phase = Phase::counting("compare", opened.samples);
    let one = |index: usize| {
        let counted = sample(opened, judges, index);
        phase.advance();
        counted
    };
    let mut all: Option<Counted> = None;
    for chunk in (0..opened.samples).collect::<Vec<_>>().chunks(rayon::current_num_threads().max(1)) {
        for more in chunk.par_iter().map(|&index| one(index)).collect::<Result<Vec<_>, Error>>()? {
            all = Some(match all {
                Some(all) => all.merged(more),
                None => more,
            });
        }
    }
    // Default: without samples nothing is counted.
    Ok(all.unwrap_or_else(|| Counted {
        tensors: vec![TensorSums::default(); opened.pairs.len()],
        ..Counted::default()
    }))
}

fn sample(opened: &Opened, judges: &Judges, index: usize) -> Result<Counted, Error> {
    let wanted = |side: usize| -> HashSet<&str> {
        opened.pairs.iter().map(|pair| pair.names[side].as_str()).collect()
    };
    let [before, after] = [0, 1].map(|side| opened.sides[side].side.values(index, &wanted(side)));
    let values = [before?, after?];
    let mut tensors = Vec::with_capacity(opened.pairs.len());
    for pair in &opened.pairs {
        let [before, after] = opened.reals(pair, &values, index)?;
        tensors.push(TensorSums::of(index, [&before, &after], opened.is_exact(), pair.limit));
    }
    let own = |side: usize| judges.measure(opened, side, &values, index);
    let own = [own(0)?, own(1)?];
    Ok(Counted { tensors, own, saturations: values.map(|values| values.saturations) })
}

impl Counted {
    /// These and those of later samples.
    fn merged(mut self, other: Self) -> Self {
        let tensors = self.tensors.into_iter().zip(other.tensors);
        self.tensors = tensors.map(|(all, more)| all.merged(more)).collect();
        for (mine, more) in self.own.iter_mut().zip(other.own) {
            let all = std::mem::take(mine).into_iter().zip(more);
            *mine = all
                .map(|pair| match pair {
                    (Some(all), Some(more)) => Some(all.merge(more)),
                    (one, other) => one.or(other),
                })
                .collect();
        }
        self.saturations.iter_mut().zip(&other.saturations).for_each(|(mine, more)| mine.add(more));
        self
    }
}

/// The report of a pair.
fn tensor(opened: &Opened, judges: &Judges, counted: &Counted, place: usize) -> TensorReport {
    let pair = &opened.pairs[place];
    let sums = &counted.tensors[place];
    let judgement = judges.judgement(opened, place, counted);
    let line = &pair.line;
    let instructions = line.layer.as_ref().and_then(|layer| opened.instructions.get(layer).cloned());
    let difference = |place: &Place| difference(opened, pair, place);
    TensorReport {
        name: line.name.clone(),
        layer: line.layer.clone(),
        kind: line.kind,
        shape: line.shape.clone(),
        elements: sums.elements,
        differing: sums.differing,
        is_in_integers: pair.is_in_integers,
        max_abs_error: sums.errors.largest(),
        rms_error: sums.errors.rms(),
        relative_error: sums.errors.relative(),
        signal_to_noise_db: sums.errors.decibels(),
        correlation: sums.correlation(),
        explanation: if sums.differing == 0 { Explanation::Same } else { judgement.explanation() },
        rounding_bound: judgement.bound,
        beyond_rounding: judgement.beyond,
        saturations: judgement.saturations,
        instructions,
        first: sums.first.as_ref().map(difference),
        worst: sums.worst.as_ref().map(difference),
    }
}

/// An element that differs, with its place by axis and the instruction that wrote it.
fn difference(opened: &Opened, pair: &Pair, place: &Place) -> Difference {
    let line = &pair.line;
    let writer = opened.writer(pair, place.element);
    Difference {
        tensor: line.name.clone(),
        layer: line.layer.clone(),
        sample: place.sample,
        index: indices(place.element, &line.shape).collect(),
        axes: line.axes.as_ref().map(|axes| axes.iter().map(|&axis| axis.to_owned()).collect()),
        before: place.before,
        after: place.after,
        instruction: writer.as_ref().map(|writer| writer.instruction),
        instruction_text: writer.map(|writer| writer.text),
    }
}
