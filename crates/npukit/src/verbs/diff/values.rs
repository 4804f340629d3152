//! `npu diff` for values: compares two sides of one network tensor by tensor, in the order of
//! layers.
//!
//! The second side is compared with the first. Rounding *explains* a tensor if every side that
//! rounds stays within `npukit_graph::rounding_bounds` of the layer in float, on its own operands.
//! Without such a bound, nothing is claimed.
//!
//! | module | contents |
//! |---|---|
//! | `sides` | both sides; one may take names and shapes from the other |
//! | `opened` | tensors that both sides have |
//! | `report` | report of the comparison |
//! | `sums` | statistics of a tensor |
//! | `judge` | whether rounding explains a side's values |

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

/// Parameters of a comparison.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// First side: a model, `MODEL@TARGET`, an artifact, an `.npz` file, `NAME=FILE.npy`, an `.npy`
    /// file for the only output of the other side, or `MEMORY=FILE`.
    pub before: String,
    /// Second side, in the same forms.
    pub after: String,
    /// Options for reading and lowering models; its path and target are ignored.
    pub source: Source,
    /// Model that an artifact was compiled from, unless the other side is that model.
    pub model: Option<String>,
    /// Program to which a memory image belongs, unless the other side is it: an artifact, or
    /// `MODEL@TARGET`.
    pub program: Option<String>,
    /// Inputs of the sides that are computed.
    pub inputs: Vec<InputFile>,
    /// Preprocessing of the inputs.
    pub preprocess: Preprocess,
    /// Largest accepted error of a tensor, in percent of its range. `None`: errors fail unless
    /// rounding explains them, and any difference from stored values fails.
    pub threshold: Option<f64>,
}

impl Request {
    /// Whether two names are sides with values; otherwise they are reports.
    pub fn is_of_values(before: &str, after: &str) -> bool {
        let is_side = |text: &str| crate::compare::traced::open::Named::parse(text).is_some();
        is_side(before) || is_side(after)
    }
}

/// Statistics of one sample, or merged over several samples.
#[derive(Default)]
struct Counted {
    tensors: Vec<TensorSums>,
    /// Statistics by side and layer.
    own: [Vec<Option<OwnSums>>; 2],
    saturations: [Saturations; 2],
}

/// Compares two sides.
///
/// # Errors
///
/// - [`Error::NotComparable`] for names that are not sides,
/// - [`Error::OtherTensors`] if no tensor is common or one has another size,
/// - [`Error::OtherModel`] if an artifact was not compiled from the model,
/// - all errors of [`run`](crate::verbs::run::run).
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

/// Returns the reason why a tensor fails: its error exceeds a percentage of its range.
fn beyond_threshold(tensor: &TensorReport, percent: f64) -> Option<String> {
    let share = tensor.relative_error.unwrap_or(if tensor.differing > 0 { f64::INFINITY } else { 0.0 });
    // NaN is above every limit.
    let passes = share * 100.0 <= percent;
    (!passes).then(|| format!("`{}` differs by {:.3} % of its range", tensor.name, share * 100.0))
}

/// Returns the reason why a tensor fails: it must be equal and is not, or rounding does not explain
/// the difference.
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

/// Collects statistics over all samples.
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
    // Default: empty statistics without samples.
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
    /// Merges the statistics of later samples.
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

/// Creates the report of a pair.
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

/// Describes an element that differs, with its index by axis and the instruction that wrote it.
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
