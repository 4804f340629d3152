//! Quantization for integer-only targets: `--calibrate` and `--quantize`.
//!
//! A [`Job`] evaluates samples in float and chooses fraction lengths for the values of the graph
//! that the instance lowers. Without samples, it generates some, and a warning reports it.

mod choice;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use npukit_graph::pass::PassError;
use npukit_graph::quantize::{
    Distributions, Kind, Losses, Method, Quantization, Scheme, fill, is_settled, quantize_without, restated,
    shown, stated_fractions,
};
use npukit_graph::rescale::equalize;
use npukit_graph::{Graph, NodeId, Observations, Statistic, Value, ValueId, Work, intervals};
use npukit_numeric::Tensor;
use npukit_target::Phase;
use rayon::prelude::*;

use crate::error::Error;
use crate::inputs::Sample;
use crate::numbers::assumed::AssumedRanges;
pub use crate::report::quantize::{Candidate, QuantizedTensor, Report};
use crate::run::batch::tensors;
use choice::{Basis, Choice, METHODS, Machine, Search};

/// Returns the name of a method on the command line.
pub fn method_name(method: Method) -> String {
    match method {
        Method::MinMax => "min-max".to_owned(),
        Method::Percentile(percent) => format!("percentile={percent}"),
        Method::LeastSquares => "least-squares".to_owned(),
    }
}

/// Parses the name of a method; returns `None` if it is unknown.
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

/// Graph to quantize, with the samples to use.
pub(crate) struct Job<'a> {
    /// Graph that the instance lowers.
    pub graph: &'a Graph,
    pub scheme: &'a Scheme,
    /// Nodes that the host computes in float.
    pub host: &'a BTreeSet<NodeId>,
    /// Method; `None` to choose by the error of the outputs on the samples.
    pub method: Option<Method>,
    /// Typical inputs; if empty, some are generated.
    pub typical: &'a Typical,
    /// Machine for running candidates.
    pub machine: Option<&'a Machine<'a>>,
}

/// Number of bits up to which intermediate saturation of a sum matters.
const NARROW: u32 = 8;

/// Inputs for choosing scales.
#[derive(Clone, Debug, Default)]
pub(crate) struct Typical {
    /// Samples; may be empty.
    pub samples: Vec<Sample>,
    /// Source of the samples.
    pub from: SampleOrigin,
    /// Ranges of inputs, for generating samples.
    pub assumed: AssumedRanges,
}

impl Typical {
    /// Samples given by the caller.
    pub fn given(samples: Vec<Sample>) -> Self {
        Self { samples, ..Self::default() }
    }
}

/// Source of samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum SampleOrigin {
    /// The caller gave them as typical inputs.
    #[default]
    Given,
    /// They are the inputs of the run. They are not needed if the machine uses the scales in the
    /// model.
    Run,
}

/// Result of quantizing a graph.
pub(crate) struct Quantized {
    /// Quantized graph, if it differs from the job's: scales between the channels of its layers may
    /// have changed.
    pub graph: Option<Graph>,
    /// Number format of each tensor.
    pub found: Quantization,
    /// Errors caused by quantization.
    pub report: Report,
}

/// Fraction lengths by value.
type Fractions = BTreeMap<ValueId, i32>;

impl Job<'_> {
    /// Chooses fraction lengths, and reports the error of each tensor. Fraction lengths in the
    /// model are kept unless samples show better ones.
    pub(crate) fn run(&self) -> Result<Quantized, Error> {
        let Typical { samples, from, assumed } = self.typical;
        let is_needless = *from == SampleOrigin::Run && self.has_stated_scales();
        let made_up = samples.is_empty() || is_needless;
        let stand_ins = if made_up { stand_ins(self.graph, assumed) } else { Vec::new() };
        let samples = if made_up { &stand_ins } else { samples };
        let phase = Phase::counting("calibrate", samples.len() * self.evaluations());
        self.run_on(samples, made_up, &|| phase.advance())
    }

    /// Maximum number of evaluations of each sample.
    const fn evaluations(&self) -> usize {
        let tried = self.method.is_none() && !self.typical.samples.is_empty();
        if tried { 9 + 4 * METHODS.len() } else { 2 }
    }

    /// Whether the machine's integers use the scales in the model.
    fn has_stated_scales(&self) -> bool {
        let stated = stated_fractions(self.graph, self.scheme);
        let seen = Distributions::of(self.graph);
        let found = quantize_without(self.graph, self.host, &seen, self.scheme, Method::MinMax, &stated);
        is_settled(self.graph, &stated, self.host) && restated(self.graph, &found).is_empty()
    }

    /// Like [`Self::run`]; `count` is called after each evaluation of a sample.
    fn run_on(
        &self,
        samples: &[Sample],
        made_up: bool,
        count: &(dyn Fn() + Sync),
    ) -> Result<Quantized, Error> {
        let seen = observe_counted(self.graph, samples, || Distributions::of(self.graph), count)?;
        let headroom = if made_up { headroom(self.scheme) } else { 0 };
        // Default: no bounds without headroom.
        let bounds =
            (headroom > 0).then(|| intervals(self.graph, &self.typical.assumed.of_graph(self.graph)));
        let seen = seen.with_headroom(headroom, &bounds.unwrap_or_default());
        let stated = stated_fractions(self.graph, self.scheme);
        let own = Basis { graph: Cow::Borrowed(self.graph), seen, name: None };
        let Choice { graph, method, found, reason, candidates } = match self.method {
            Some(method) => Choice::given(method, self.by(&own, method, &stated)),
            // Outputs for generated inputs are not meaningful.
            None if made_up => Choice::given(Method::MinMax, self.by(&own, Method::MinMax, &stated)),
            None => self.nearest(samples, &own, stated.clone(), count)?,
        };
        tracing::info!(method = method_name(method), reason, "scales chosen");
        let taken = graph.as_ref().unwrap_or(self.graph);
        let empty = || Losses::of(taken, &found);
        let mut losses = observe_counted(taken, samples, empty, count)?;
        losses.note_constants(taken, &found);
        let tensors = shown(taken, &found).into_iter().filter_map(|id| tensor(taken, &found, &losses, id));
        let tensors: Vec<QuantizedTensor> = tensors.collect();
        let unfounded = made_up && !is_settled(self.graph, &stated, self.host);
        let mut warnings = Vec::from_iter(
            unfounded.then(|| made_up_warning(samples.len(), headroom, &self.typical.assumed)),
        );
        warnings.extend(tensors.iter().filter_map(QuantizedTensor::warning));
        warnings.extend(restated(taken, &found).iter().map(ToString::to_string));
        let report = Report {
            method: method_name(method),
            reason,
            candidates,
            rescaled: graph.is_some(),
            samples: samples.len(),
            made_up,
            own: !made_up && self.typical.from == SampleOrigin::Run,
            tensors,
            warnings,
        };
        Ok(Quantized { graph, found, report })
    }

    /// Returns the scales whose outputs are closest to float: among the scales in the model, and
    /// the scales of each method for the graph as it is and with other scales between layers. On a
    /// machine with narrow integers, the best of them are run.
    fn nearest(
        &self,
        samples: &[Sample],
        own: &Basis<'_>,
        stated: Fractions,
        count: &(dyn Fn() + Sync),
    ) -> Result<Choice, Error> {
        let mut search = Search::new(self.graph, samples, count)?;
        let found = self.by(own, Method::MinMax, &stated);
        let (is_settled, mut filled) = (is_settled(self.graph, &stated, self.host), None);
        if is_settled {
            search.attempt(own, Method::MinMax, found.clone())?;
            if !search.is_good() {
                filled = self.filled(own, samples, count)?;
            }
            if let Some(filled) = &filled {
                let stated = stated_fractions(&filled.graph, self.scheme);
                search.attempt(filled, Method::MinMax, self.by(filled, Method::MinMax, &stated))?;
            }
        }
        if search.is_good() {
            return Ok(search.best().unwrap_or_else(|| Choice::given(Method::MinMax, found)));
        }
        let stated = if is_settled { Fractions::new() } else { stated };
        for method in METHODS {
            search.attempt(own, method, self.by(own, method, &stated))?;
        }
        let mut others = Vec::new();
        if !search.is_good() {
            if filled.is_none() {
                filled = self.filled(own, samples, count)?;
            }
            others.extend(filled);
            let even = self.equalized(samples, count)?;
            others.extend(even.as_ref().map(|even| self.filled(even, samples, count)).transpose()?.flatten());
            others.extend(even);
        }
        // Scales in the model are invalid for values and weights that were multiplied.
        let same = |a: &Value, b: &Value| a.name == b.name && a.constant == b.constant;
        let kept = |basis: &Basis<'_>| -> Fractions {
            let is_kept = |id: ValueId| same(basis.graph.value(id), self.graph.value(id));
            stated.iter().filter(|(id, _)| is_kept(**id)).map(|(&id, &fraction)| (id, fraction)).collect()
        };
        for basis in &others {
            for method in METHODS {
                search.attempt(basis, method, self.by(basis, method, &kept(basis)))?;
            }
        }
        if let Some(machine) = self.machine.filter(|_| self.scheme.activations <= NARROW && !search.is_good())
        {
            search.measure(machine)?;
        }
        // Default: there is a candidate for each method.
        Ok(search.best().unwrap_or_else(|| Choice::given(Method::MinMax, found)))
    }

    /// Returns the graph with values between layers scaled to fill their integers; `None` if they
    /// already do.
    fn filled(
        &self,
        basis: &Basis<'_>,
        samples: &[Sample],
        count: &(dyn Fn() + Sync),
    ) -> Result<Option<Basis<'static>>, Error> {
        let graph = fill(&basis.graph, &basis.seen, self.scheme).map_err(|source| self.failed(source))?;
        let name = if basis.name.is_some() { "equalized, filled" } else { "filled" };
        graph.map(|graph| self.basis(graph, name, samples, count)).transpose()
    }

    /// Returns the graph with equalized channels of adjacent layers; `None` if they already are.
    fn equalized(
        &self,
        samples: &[Sample],
        count: &(dyn Fn() + Sync),
    ) -> Result<Option<Basis<'static>>, Error> {
        let graph = equalize(self.graph).map_err(|source| self.failed(source))?;
        graph.map(|graph| self.basis(graph, "equalized", samples, count)).transpose()
    }

    fn basis(
        &self,
        graph: Graph,
        name: &'static str,
        samples: &[Sample],
        count: &(dyn Fn() + Sync),
    ) -> Result<Basis<'static>, Error> {
        let seen = observe_counted(&graph, samples, || Distributions::of(&graph), count)?;
        Ok(Basis { graph: Cow::Owned(graph), seen, name: Some(name) })
    }

    fn failed(&self, source: PassError) -> Error {
        Error::Simplify { path: self.graph.name.clone(), source: source.into() }
    }

    /// Returns the fraction lengths by a method.
    fn by(&self, basis: &Basis<'_>, method: Method, stated: &Fractions) -> Quantization {
        quantize_without(&basis.graph, self.host, &basis.seen, self.scheme, method, stated)
    }
}

/// Returns the report's entry for a value.
fn tensor(graph: &Graph, found: &Quantization, losses: &Losses, id: ValueId) -> Option<QuantizedTensor> {
    let loss = losses.get(id)?;
    Some(QuantizedTensor {
        name: graph.value(id).name.clone(),
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

/// Evaluates the samples on all cores, and collects statistics of each value. The result does not
/// depend on the number of cores.
pub(crate) fn observe<S: Statistic + Send + Sync>(
    graph: &Graph,
    samples: &[Sample],
    empty: impl Fn() -> Observations<S> + Sync + Send,
) -> Result<Observations<S>, Error> {
    observe_counted(graph, samples, empty, &|| ())
}

/// Like [`observe`]; `done` is called after each sample.
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
    // Each core evaluates one sample at a time, so that memory does not grow with the number of
    // samples. Results are merged in sample order, so that sums do not depend on the number of
    // cores.
    for batch in samples.chunks(rayon::current_num_threads().max(1)) {
        let seen = batch.par_iter().map(one).collect::<Result<Vec<_>, _>>()?;
        all = seen.iter().fold(all, Observations::merge);
    }
    Ok(all)
}

/// Number of operations of a network from which one generated sample is enough.
const LARGE: u64 = 1 << 29;
/// Number of generated samples for smaller networks.
const STAND_INS: u64 = 8;

/// Generates inputs that are identical on every computer.
pub(crate) fn stand_ins(graph: &Graph, assumed: &AssumedRanges) -> Vec<Sample> {
    let count = if Work::of(graph).operations < LARGE { STAND_INS } else { 1 };
    (1..=count).map(|seed| assumed.made_up(graph, seed)).collect()
}

/// Number of bits with which values are exact to a thousandth. Wider formats reserve the rest for
/// values beyond the generated inputs.
const ENOUGH: u32 = 12;

/// Number of bits reserved if the range of values is unknown.
fn headroom(scheme: &Scheme) -> u32 {
    scheme.activations.saturating_sub(ENOUGH)
}

fn made_up_warning(samples: usize, headroom: u32, assumed: &AssumedRanges) -> String {
    let inputs =
        if samples == 1 { "a generated input".to_owned() } else { format!("{samples} generated inputs") };
    let ranges = assumed.described().map(|ranges| format!(", {ranges},")).unwrap_or_default();
    let room = match headroom {
        0 => String::new(),
        bits => format!(" with headroom for values {} times as large", 1u64 << bits),
    };
    format!(
        "the network was quantized with {inputs}{ranges}{room}: times are right, but not the accuracy; give typical inputs with \
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
