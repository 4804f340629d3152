//! Integers for targets that take nothing else: `--calibrate` and `--quantise`.
//!
//! A [`Job`] evaluates samples in float and chooses fraction lengths for the values of the graph that the
//! instance lowers. Without samples it makes up some, and says so.

mod choice;
pub(crate) mod report;

use std::collections::BTreeSet;

use npukit_graph::quantise::{
    Distributions, Kind, Losses, Method, Quantisation, Scheme, is_settled, quantise_without, restated, shown,
    stated_fractions,
};
use npukit_graph::{Graph, NodeId, Observations, Statistic, ValueId, Work, intervals};
use npukit_numeric::Tensor;
use npukit_target::Phase;
use rayon::prelude::*;

use crate::assumed::AssumedRanges;
use crate::batch::tensors;
use crate::error::Error;
use crate::inputs::Sample;
pub use report::{Candidate, QuantisedTensor, Report};

/// What a method is called on the command line.
pub fn method_name(method: Method) -> String {
    match method {
        Method::MinMax => "min-max".to_owned(),
        Method::Percentile(percent) => format!("percentile={percent}"),
        Method::LeastSquares => "least-squares".to_owned(),
    }
}

/// The method called `name`; none when there is none.
pub fn method(name: &str) -> Option<Method> {
    match name.split_once('=') {
        None if name == "min-max" => Some(Method::MinMax),
        None if name == "least-squares" => Some(Method::LeastSquares),
        Some(("percentile", percent)) => {
            percent.parse().ok().filter(|percent| (50.0..=100.0).contains(percent)).map(Method::Percentile)
        }
        _ => None,
    }
}

/// What is to be quantised, and by which samples.
pub(crate) struct Job<'a> {
    /// The graph that the instance lowers.
    pub graph: &'a Graph,
    pub scheme: &'a Scheme,
    /// The nodes that the host computes in floats.
    pub host: &'a BTreeSet<NodeId>,
    /// How; by the outputs on the samples when nobody says it.
    pub method: Option<Method>,
    /// Typical inputs; without any, some are made up.
    pub typical: &'a Typical,
}

/// Inputs that choose scales.
#[derive(Clone, Debug, Default)]
pub(crate) struct Typical {
    /// The inputs.
    pub samples: Vec<Sample>,
    /// Where they come from.
    pub from: SampleOrigin,
    /// Ranges of inputs that are made up instead.
    pub assumed: AssumedRanges,
}

impl Typical {
    /// Samples that the caller gives.
    pub fn given(samples: Vec<Sample>) -> Self {
        Self { samples, ..Self::default() }
    }
}

/// Where samples come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum SampleOrigin {
    /// The caller gives them as typical.
    #[default]
    Given,
    /// They are the inputs of the run, which a model with scales of its own does not need.
    Run,
}

impl Job<'_> {
    /// Chooses fraction lengths where the model states none, and says what each tensor loses.
    pub(crate) fn run(&self) -> Result<(Quantisation, Report), Error> {
        let Typical { samples, from, assumed } = self.typical;
        let stated = stated_fractions(self.graph, self.scheme);
        let is_needless = *from == SampleOrigin::Run && is_settled(self.graph, &stated, self.host);
        let made_up = samples.is_empty() || is_needless;
        let stand_ins = if made_up { stand_ins(self.graph, assumed) } else { Vec::new() };
        let samples = if made_up { &stand_ins } else { samples };
        let phase = Phase::counting("calibrate", samples.len() * self.evaluations());
        self.run_on(samples, made_up, &|| phase.advance())
    }

    /// How often each sample is evaluated, at most.
    const fn evaluations(&self) -> usize {
        let tried = self.method.is_none() && !self.typical.samples.is_empty();
        if tried { 3 + choice::METHODS.len() } else { 2 }
    }

    /// As [`Self::run`]; `count` is called after each evaluation of a sample.
    fn run_on(
        &self,
        samples: &[Sample],
        made_up: bool,
        count: &(dyn Fn() + Sync),
    ) -> Result<(Quantisation, Report), Error> {
        let seen = observe_counted(self.graph, samples, || Distributions::of(self.graph), count)?;
        let headroom = if made_up { headroom(self.scheme) } else { 0 };
        // Default: without headroom no bounds limit it.
        let bounds =
            (headroom > 0).then(|| intervals(self.graph, &self.typical.assumed.of_graph(self.graph)));
        let seen = seen.with_headroom(headroom, &bounds.unwrap_or_default());
        let stated = stated_fractions(self.graph, self.scheme);
        let by = |method| quantise_without(self.graph, self.host, &seen, self.scheme, method, &stated);
        let choice::Choice { method, found, reason, candidates } = match self.method {
            Some(method) => choice::Choice::given(method, by(method)),
            // Outputs for made-up inputs tell nothing.
            None if made_up => choice::Choice::given(Method::MinMax, by(Method::MinMax)),
            None => choice::Choice::by_outputs(self.graph, samples, by, count)?,
        };
        tracing::info!(method = method_name(method), reason, "scales chosen");
        let empty = || Losses::of(self.graph, &found);
        let mut losses = observe_counted(self.graph, samples, empty, count)?;
        losses.note_constants(self.graph, &found);
        let tensors = shown(self.graph, &found).into_iter().filter_map(|id| self.tensor(&found, &losses, id));
        let tensors: Vec<QuantisedTensor> = tensors.collect();
        let unfounded = made_up && !is_settled(self.graph, &stated, self.host);
        let mut warnings = Vec::from_iter(
            unfounded.then(|| made_up_warning(samples.len(), headroom, &self.typical.assumed)),
        );
        warnings.extend(tensors.iter().filter_map(QuantisedTensor::warning));
        warnings.extend(restated(self.graph, &found).iter().map(ToString::to_string));
        let report = Report {
            method: method_name(method),
            reason,
            candidates,
            samples: samples.len(),
            made_up,
            own: !made_up && self.typical.from == SampleOrigin::Run,
            tensors,
            warnings,
        };
        Ok((found, report))
    }

    fn tensor(&self, found: &Quantisation, losses: &Losses, id: ValueId) -> Option<QuantisedTensor> {
        let loss = losses.get(id)?;
        Some(QuantisedTensor {
            name: self.graph.value(id).name.clone(),
            kind: match found.kind(id)? {
                Kind::Activation => "activation",
                Kind::Weight => "weights",
                Kind::Bias => "bias",
            },
            bits: found.bits(id)?,
            fraction: found.fraction(id)?,
            minimum: loss.minimum(),
            maximum: loss.maximum(),
            saturated: loss.saturated(),
            underflowed: loss.underflowed(),
            bits_used: loss.bits_used(),
            relative_rms_error: loss.relative(),
            signal_to_noise_db: loss.decibels(),
        })
    }
}

/// Evaluates the samples over the host's cores, and gathers what they tell of each value. What it gives does not
/// depend on how many cores there are.
pub(crate) fn observe<S: Statistic + Send + Sync>(
    graph: &Graph,
    samples: &[Sample],
    empty: impl Fn() -> Observations<S> + Sync + Send,
) -> Result<Observations<S>, Error> {
    observe_counted(graph, samples, empty, &|| ())
}

/// As [`observe`]; `done` is called after each sample.
fn observe_counted<S: Statistic + Send + Sync>(
    graph: &Graph,
    samples: &[Sample],
    empty: impl Fn() -> Observations<S> + Sync + Send,
    done: &(dyn Fn() + Sync),
) -> Result<Observations<S>, Error> {
    let one = |sample: &Sample| -> Result<Observations<S>, Error> {
        let inputs: Vec<Tensor> = tensors(graph, sample)?;
        let mut found = empty();
        found.observe(graph, &inputs)?;
        done();
        Ok(found)
    };
    let mut all = empty();
    // One at a time for each core, so that memory does not grow with the samples; and in their order, so that sums
    // do not depend on the number of cores.
    for batch in samples.chunks(rayon::current_num_threads().max(1)) {
        let seen = batch.par_iter().map(one).collect::<Result<Vec<_>, _>>()?;
        all = seen.iter().fold(all, Observations::merge);
    }
    Ok(all)
}

/// Operations of a network from which on one made-up sample has to do.
const LARGE: u64 = 1 << 29;
/// Made-up samples of a smaller one.
const STAND_INS: u64 = 8;

/// Made-up inputs, the same on every machine.
pub(crate) fn stand_ins(graph: &Graph, assumed: &AssumedRanges) -> Vec<Sample> {
    let count = if Work::of(graph).operations < LARGE { STAND_INS } else { 1 };
    (1..=count).map(|seed| assumed.made_up(graph, seed)).collect()
}

/// Bits with which values are still exact to a thousandth; what is wider gives the rest to values beyond made-up
/// inputs.
const ENOUGH: u32 = 12;

/// Bits left free where nobody knows how large values become.
fn headroom(scheme: &Scheme) -> u32 {
    scheme.activations.saturating_sub(ENOUGH)
}

fn made_up_warning(samples: usize, headroom: u32, assumed: &AssumedRanges) -> String {
    let inputs =
        if samples == 1 { "a made-up input".to_owned() } else { format!("{samples} made-up inputs") };
    let ranges = assumed.described().map(|ranges| format!(", {ranges},")).unwrap_or_default();
    let room = match headroom {
        0 => String::new(),
        bits => format!(" with room for values {} times as large", 1u64 << bits),
    };
    format!(
        "the network was quantised by {inputs}{ranges}{room}: times are right, accuracy is not; give typical inputs with \
         --calibrate"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_have_names() {
        for name in ["min-max", "least-squares", "percentile=99.9", "percentile=100"] {
            assert_eq!(method(name).map(method_name).as_deref(), Some(name));
        }
        for name in
            ["", "minmax", "percentile", "percentile=x", "percentile=NaN", "percentile=101", "min-max=1"]
        {
            assert_eq!(method(name), None, "{name}");
        }
    }
}
