//! Chooses the products with 8-bit weights in two passes: [`resolve`] decides for each product.
//!
//! With samples, programs are compiled and run on them. Starting from 8 bits everywhere, each
//! product in turn is reduced to 4 bits. The added output error and the saved cycles give an order.
//! Then as few products as possible get 8 bits, those with the most error per cycle first, until
//! the outputs are close to the outputs with 8 bits everywhere.

mod measure;

use std::collections::BTreeSet;
use std::sync::Arc;

use npukit_base::counted;
use npukit_graph::{EvalError, Graph, NodeId};
use npukit_numeric::Tensor;
use thiserror::Error;

use crate::config::Config;
use crate::lower::{LowerError, Options, ProductWeights, WeightBits, Wide, products};
use crate::program::runtime::RunError;
use measure::{Measured, Trial};

/// Reason why no choice can be made.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum ChoiceError {
    /// A program that cannot be compiled.
    #[error(transparent)]
    Lower(#[from] LowerError),
    /// A program that fails on a sample.
    #[error("choosing weight bits, sample {sample} cannot be run: {error}")]
    Run {
        /// Index of the sample, starting at 0.
        sample: usize,
        /// Reason why the program fails.
        error: Box<RunError>,
    },
    /// A sample that the model rejects.
    #[error("choosing weight bits, sample {sample} cannot be evaluated: {error}")]
    Eval {
        /// Index of the sample, starting at 0.
        sample: usize,
        /// Reason why the model rejects the sample.
        error: Box<EvalError>,
    },
}

/// Chosen options, and messages about the choice.
#[derive(Clone, Debug)]
pub struct Choice {
    /// Options in which the bits of all weights are decided.
    pub options: Options,
    /// Sentences on the choice and its cost; empty if there was nothing to choose.
    pub notes: Vec<String>,
}

/// Typical inputs for the choice.
#[derive(Clone, Copy, Debug)]
pub struct Samples<'a> {
    /// For each sample, its tensors in the order of the graph's inputs.
    pub tensors: &'a [Vec<Tensor>],
    /// Whether the samples are made up, as none were given.
    pub made_up: bool,
}

/// Decides the bits that `options` leaves open.
///
/// # Errors
/// [`ChoiceError`] if a program cannot be compiled, or fails on a sample.
pub fn resolve(
    config: &Config,
    graph: &Graph,
    options: &Options,
    samples: Samples<'_>,
) -> Result<Choice, ChoiceError> {
    let chosen =
        |weight_bits, notes| Ok(Choice { options: Options { weight_bits, ..options.clone() }, notes });
    let has_samples = !samples.tensors.is_empty() && !samples.made_up;
    match (&options.weight_bits, samples.tensors) {
        (WeightBits::Fitting, _) if has_samples => by_samples(config, graph, options, samples, Search::Ends),
        (WeightBits::Fitting, _) => {
            let products = products(config, graph, options, Wide::IntegersOfEightBits);
            let steps = products.iter().filter(|product| product.are_wide);
            let steps: BTreeSet<usize> = steps.map(|product| product.step).collect();
            if steps.is_empty() {
                return chosen(WeightBits::Bits4, Vec::new());
            }
            let notes = note_on_integers(config, graph, options, [steps.len(), products.len()], &steps)?;
            chosen(WeightBits::Steps { wide: Arc::new(steps), is_auto: false }, vec![notes])
        }
        (WeightBits::Auto, []) => {
            let notes = "without samples, all weights have 8 bits; `--calibrate` chooses by samples";
            chosen(WeightBits::Bits8, vec![notes.to_owned()])
        }
        (WeightBits::Auto, _) => by_samples(config, graph, options, samples, Search::Each),
        (bits, _) => chosen(bits.clone(), Vec::new()),
    }
}

/// Decides the open bits for a graph without its last `kept` outputs, which exist only for
/// inspection.
///
/// # Errors
/// The errors of [`resolve`].
pub fn resolve_without(
    kept: usize,
    config: &Config,
    graph: &Graph,
    options: &Options,
    samples: Samples<'_>,
) -> Result<Choice, ChoiceError> {
    if kept == 0 {
        return resolve(config, graph, options, samples);
    }
    let mut plain = graph.clone();
    plain.outputs.truncate(graph.outputs.len().saturating_sub(kept));
    let mut choice = resolve(config, &plain, options, samples)?;
    let WeightBits::Steps { wide, .. } = &mut choice.options.weight_bits else { return Ok(choice) };
    // Additional outputs may split a step, so products are identified by their nodes.
    let products = |graph| products(config, graph, options, Wide::IntegersOfEightBits).into_iter();
    let of_plain = products(&plain).filter(|product| wide.contains(&product.step));
    let nodes: BTreeSet<NodeId> = of_plain.flat_map(|product| product.nodes).collect();
    let of_graph = products(graph).filter(|product| product.nodes.iter().any(|node| nodes.contains(node)));
    *wide = Arc::new(of_graph.map(|product| product.step).collect());
    Ok(choice)
}

/// Describes products that have 8-bit integer weights in the model.
fn note_on_integers(
    config: &Config,
    graph: &Graph,
    options: &Options,
    [count, all]: [usize; 2],
    steps: &BTreeSet<usize>,
) -> Result<String, ChoiceError> {
    let mut trial = Trial::new(config, graph, options, &[])?;
    let [plain, ours] = [trial.cycles(&BTreeSet::new())?, trial.cycles(steps)?];
    Ok(format!(
        "weights of {count} of {} are 8-bit integers: they are kept exactly, in two passes of 4 bits, for {} \
         (`weight_bits=4` needs one pass)",
        counted(all as u64, "product"),
        more_cycles(ours, plain),
    ))
}

/// Formats the additional cycles compared with 4-bit weights.
fn more_cycles(ours: u64, plain: u64) -> String {
    let more = ours.saturating_sub(plain);
    let share = 100.0 * more as f64 / plain.max(1) as f64;
    format!("{} more ({share:.0} %)", counted(more, "cycle"))
}

/// Limit of multiply-accumulates of all runs together; beyond it, fewer samples are used.
const MAX_MACS: u64 = 1 << 34;
/// Maximum number of samples that are used.
const MAX_SAMPLES: u64 = 32;
/// Maximum ratio of the mean square error of a choice to that of 8 bits everywhere: 1 dB.
const NEAR: f64 = 1.26;

/// Search space of a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Search {
    /// Only 4 or 8 bits everywhere. A few samples are not enough to judge single products.
    Ends,
    /// Bits of each product separately.
    Each,
}

/// Chooses the bits of products by running programs on samples.
fn by_samples(
    config: &Config,
    graph: &Graph,
    options: &Options,
    samples: Samples<'_>,
    search: Search,
) -> Result<Choice, ChoiceError> {
    let products = products(config, graph, options, Wide::LoseByFourBits);
    let macs: u64 = products.iter().map(|product| product.macs).fold(0, u64::saturating_add).max(1);
    // The search takes one run per product, two runs for the extremes, and a bisection.
    let runs = products.len() as u64 + 8;
    let affordable = MAX_MACS / macs.saturating_mul(2).saturating_mul(runs).max(1);
    let count = affordable.clamp(1, MAX_SAMPLES).min(samples.tensors.len() as u64) as usize;
    let mut trial = Trial::new(config, graph, options, &samples.tensors[..count])?;
    let all: BTreeSet<usize> =
        products.iter().filter(|product| product.are_wide).map(|product| product.step).collect();
    let plain = trial.measure(&BTreeSet::new())?;
    let best = trial.measure(&all)?;
    let found = if is_near(&plain, &best) {
        (BTreeSet::new(), plain)
    } else if search == Search::Ends {
        (all, best)
    } else {
        let order = match affordable {
            0 => by_macs(&products, &all),
            _ => by_loss(&mut trial, &all, &best)?,
        };
        fewest(&mut trial, &order, &best)?.unwrap_or((all, best))
    };
    let (steps, measured) = found;
    let notes = note_on_samples(&products, &steps, [&measured, &plain, &best], count, samples.made_up);
    let is_auto = options.weight_bits == WeightBits::Auto;
    let weight_bits = if steps.is_empty() {
        WeightBits::Bits4
    } else {
        WeightBits::Steps { wide: Arc::new(steps), is_auto }
    };
    Ok(Choice { options: Options { weight_bits, ..options.clone() }, notes: vec![notes] })
}

/// Whether outputs are nearly as good as with 8 bits everywhere.
fn is_near(ours: &Measured, best: &Measured) -> bool {
    ours.error <= NEAR * best.error && ours.agreeing >= best.agreeing
}

/// Sorts products by the output error that 4 bits add per saved cycle, largest first.
fn by_loss(trial: &mut Trial<'_>, all: &BTreeSet<usize>, best: &Measured) -> Result<Vec<usize>, ChoiceError> {
    let mut losses = Vec::with_capacity(all.len());
    for &step in all {
        let mut others = all.clone();
        others.remove(&step);
        let without = trial.measure(&others)?;
        let saved = best.cycles.saturating_sub(without.cycles).max(1);
        losses.push(((without.error - best.error) / saved as f64, step));
    }
    losses.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    Ok(losses.into_iter().map(|(_, step)| step).collect())
}

/// Sorts products by cost, cheapest first, if running each of them alone takes too long.
fn by_macs(products: &[ProductWeights], all: &BTreeSet<usize>) -> Vec<usize> {
    let mut found: Vec<&ProductWeights> =
        products.iter().filter(|product| all.contains(&product.step)).collect();
    found.sort_by_key(|product| (product.macs, product.step));
    found.into_iter().map(|product| product.step).collect()
}

/// Returns the shortest prefix of the order for which the outputs are nearly as good as with 8 bits
/// everywhere; `None` if all products are needed.
fn fewest(
    trial: &mut Trial<'_>,
    order: &[usize],
    best: &Measured,
) -> Result<Option<(BTreeSet<usize>, Measured)>, ChoiceError> {
    let (mut too_few, mut enough, mut found) = (0, order.len(), None);
    while too_few + 1 < enough {
        let middle = usize::midpoint(too_few, enough);
        let steps: BTreeSet<usize> = order[..middle].iter().copied().collect();
        let measured = trial.measure(&steps)?;
        if is_near(&measured, best) {
            (enough, found) = (middle, Some((steps, measured)));
        } else {
            too_few = middle;
        }
    }
    Ok(found)
}

/// Describes a choice by samples in a sentence.
fn note_on_samples(
    products: &[ProductWeights],
    steps: &BTreeSet<usize>,
    [ours, plain, best]: [&Measured; 3],
    count: usize,
    made_up: bool,
) -> String {
    let samples = match made_up {
        true => format!("{} made up", counted(count as u64, "sample")),
        false => counted(count as u64, "sample"),
    };
    let decibels = |measured: &Measured| match measured.error {
        0.0 => "exact".to_owned(),
        error => format!("{:.1} dB", -10.0 * error.log10()),
    };
    let names: Vec<&str> = products
        .iter()
        .filter(|product| steps.contains(&product.step))
        .map(|product| product.layer.as_str())
        .collect();
    let which = match names[..] {
        [] => String::new(),
        [first, .., last] if names.len() > MAX_NAMES => format!(" (`{first}` to `{last}`)"),
        _ => format!(" (`{}`)", names.join("`, `")),
    };
    format!(
        "weight_bits: by {samples}, {} of {} have 8-bit weights{which}, for {}; signal-to-noise ratio {}, with 4 bits {}, \
         with 8 bits everywhere {} and {}",
        steps.len(),
        counted(products.len() as u64, "product"),
        more_cycles(ours.cycles, plain.cycles),
        decibels(ours),
        decibels(plain),
        decibels(best),
        more_cycles(best.cycles, plain.cycles),
    )
}

/// Maximum number of layers that are named individually.
const MAX_NAMES: usize = 6;
