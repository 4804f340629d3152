//! Which products take weights of 8 bits, in two passes: [`resolve`] makes what was asked for a choice for each product.
//!
//! With samples, programs are compiled and run on them. With all weights of 8 bits, each product in turn goes back to 4:
//! what that adds to the outputs' error, and the cycles that it saves, give an order. Then as few products as possible
//! take 8 bits, the ones with the most error a cycle first, so that the outputs come near those of 8 bits everywhere.

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

/// Why no choice can be made.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum ChoiceError {
    /// A program that does not compile.
    #[error(transparent)]
    Lower(#[from] LowerError),
    /// A program that does not run on a sample.
    #[error("to choose the bits of weights, sample {sample} is run: {error}")]
    Run {
        /// Which.
        sample: usize,
        /// Why not.
        error: Box<RunError>,
    },
    /// A sample that the model does not take.
    #[error("to choose the bits of weights, sample {sample} is evaluated: {error}")]
    Eval {
        /// Which.
        sample: usize,
        /// Why not.
        error: Box<EvalError>,
    },
}

/// What weights are, and what is to be told of it.
#[derive(Clone, Debug)]
pub struct Choice {
    /// With which bits are to be compiled: none left to be chosen.
    pub options: Options,
    /// What was chosen and what it costs; empty where nothing was to be chosen.
    pub told: Vec<String>,
}

/// Typical inputs to choose by.
#[derive(Clone, Copy, Debug)]
pub struct Samples<'a> {
    /// Tensors of each, in the order of the graph's inputs.
    pub tensors: &'a [Vec<Tensor>],
    /// Whether nobody has given any, and these are made up.
    pub made_up: bool,
}

/// Decides what was left open of `options`.
///
/// # Errors
///
/// [`ChoiceError`] when a program does not compile, or does not run on a sample.
pub fn resolve(
    config: &Config,
    graph: &Graph,
    options: &Options,
    samples: Samples<'_>,
) -> Result<Choice, ChoiceError> {
    let chosen = |weight_bits, told| Ok(Choice { options: Options { weight_bits, ..options.clone() }, told });
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
            let told = told_of_integers(config, graph, options, [steps.len(), products.len()], &steps)?;
            chosen(WeightBits::Steps { wide: Arc::new(steps), is_auto: false }, vec![told])
        }
        (WeightBits::Auto, []) => {
            let told =
                "without samples, weights of 8 bits are taken everywhere; `--calibrate` chooses by samples";
            chosen(WeightBits::Bits8, vec![told.to_owned()])
        }
        (WeightBits::Auto, _) => by_samples(config, graph, options, samples, Search::Each),
        (bits, _) => chosen(bits.clone(), Vec::new()),
    }
}

/// Decides what was left open for a graph whose last `kept` outputs are there to be looked at: as for the graph without
/// them.
///
/// # Errors
///
/// Those of [`resolve`].
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
    // More outputs may divide a step: its product is known by its nodes.
    let products = |graph| products(config, graph, options, Wide::IntegersOfEightBits).into_iter();
    let of_plain = products(&plain).filter(|product| wide.contains(&product.step));
    let nodes: BTreeSet<NodeId> = of_plain.flat_map(|product| product.nodes).collect();
    let of_graph = products(graph).filter(|product| product.nodes.iter().any(|node| nodes.contains(node)));
    *wide = Arc::new(of_graph.map(|product| product.step).collect());
    Ok(choice)
}

/// What is told of products whose weights the model has as integers of 8 bits.
fn told_of_integers(
    config: &Config,
    graph: &Graph,
    options: &Options,
    [count, all]: [usize; 2],
    steps: &BTreeSet<usize>,
) -> Result<String, ChoiceError> {
    let mut trial = Trial::new(config, graph, options, &[])?;
    let [plain, ours] = [trial.cycles(&BTreeSet::new())?, trial.cycles(steps)?];
    Ok(format!(
        "weights of {count} of {} are integers of 8 bits: they are kept, in two passes of 4 bits, for {} \
         (`weight_bits=4` takes one)",
        counted(all as u64, "product"),
        more_cycles(ours, plain),
    ))
}

/// How many cycles more than with weights of 4 bits.
fn more_cycles(ours: u64, plain: u64) -> String {
    let more = ours.saturating_sub(plain);
    let share = 100.0 * more as f64 / plain.max(1) as f64;
    format!("{} more ({share:.0} %)", counted(more, "cycle"))
}

/// Multiply-accumulates of all runs together, after which fewer samples have to do.
const MOST_MACS: u64 = 1 << 34;
/// Samples that are looked at, at most.
const MOST_SAMPLES: u64 = 32;
/// The outputs of a choice have at most this many times the error of 8 bits everywhere, as a mean square: 1 dB.
const NEAR: f64 = 1.26;

/// Between what is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Search {
    /// 4 bits everywhere and 8 everywhere: what few samples tell of single products does not hold for other inputs.
    Ends,
    /// Any bits of each product.
    Each,
}

/// The choice by samples.
fn by_samples(
    config: &Config,
    graph: &Graph,
    options: &Options,
    samples: Samples<'_>,
    search: Search,
) -> Result<Choice, ChoiceError> {
    let products = products(config, graph, options, Wide::LoseByFourBits);
    let macs: u64 = products.iter().map(|product| product.macs).fold(0, u64::saturating_add).max(1);
    // Each product, both ends, and a bisection.
    let runs = products.len() as u64 + 8;
    let affordable = MOST_MACS / macs.saturating_mul(2).saturating_mul(runs).max(1);
    let count = affordable.clamp(1, MOST_SAMPLES).min(samples.tensors.len() as u64) as usize;
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
    let told = told_of_samples(&products, &steps, [&measured, &plain, &best], count, samples.made_up);
    let is_auto = options.weight_bits == WeightBits::Auto;
    let weight_bits = if steps.is_empty() {
        WeightBits::Bits4
    } else {
        WeightBits::Steps { wide: Arc::new(steps), is_auto }
    };
    Ok(Choice { options: Options { weight_bits, ..options.clone() }, told: vec![told] })
}

/// Whether outputs are about as good as those of 8 bits everywhere.
fn is_near(ours: &Measured, best: &Measured) -> bool {
    ours.error <= NEAR * best.error && ours.agreeing >= best.agreeing
}

/// Products by what 4 bits add to the error of the outputs for each cycle that they save, the most first.
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

/// The same where running each alone takes too long: those that cost least first.
fn by_macs(products: &[ProductWeights], all: &BTreeSet<usize>) -> Vec<usize> {
    let mut found: Vec<&ProductWeights> =
        products.iter().filter(|product| all.contains(&product.step)).collect();
    found.sort_by_key(|product| (product.macs, product.step));
    found.into_iter().map(|product| product.step).collect()
}

/// As few products of an order as come near to 8 bits everywhere; none when only all of them do.
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

/// A sentence on a choice by samples.
fn told_of_samples(
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
        [first, .., last] if names.len() > MOST_NAMES => format!(" (`{first}` to `{last}`)"),
        _ => format!(" (`{}`)", names.join("`, `")),
    };
    format!(
        "weight_bits: by {samples}, {} of {} take weights of 8 bits{which}, for {}; signal to noise {}, with 4 bits {}, \
         with 8 everywhere {} and {}",
        steps.len(),
        counted(products.len() as u64, "product"),
        more_cycles(ours.cycles, plain.cycles),
        decibels(ours),
        decibels(plain),
        decibels(best),
        more_cycles(best.cycles, plain.cycles),
    )
}

/// Layers that are named one by one, at most.
const MOST_NAMES: usize = 6;
