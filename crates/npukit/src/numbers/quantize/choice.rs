//! [`Search`]: finds the scales whose outputs are closest to float on the samples.

use std::borrow::Cow;

use npukit_graph::quantize::{Distributions, Method, Quantization, Simulation};
use npukit_graph::{Graph, Work, evaluate};
use npukit_numeric::Tensor;
use rayon::prelude::*;

use super::{Candidate, method_name};
use crate::error::Error;
use crate::inputs::Sample;
use crate::run::batch::tensors;

/// Methods that are tried if none is named. With the first one, nothing saturates on the samples,
/// so it wins ties.
pub(super) const METHODS: [Method; 4] =
    [Method::MinMax, Method::LeastSquares, Method::Percentile(99.99), Method::Percentile(99.9)];

/// Limits of running candidates on the machine: number of candidates, samples of each, and
/// operations of all.
const MEASURED: usize = 7;
const MACHINE_SAMPLES: usize = 32;
const MACHINE_WORK: u64 = 1 << 33;

/// Function that returns the machine's outputs by sample for a quantized graph; `None` if the
/// machine has no program for it.
pub(crate) type Machine<'a> =
    dyn Fn(&Graph, &Quantization, &[Sample]) -> Result<Option<Vec<Vec<Tensor>>>, Error> + 'a;

/// Error of the outputs at which the search stops: 0.01, which is 40 dB.
const ENOUGH: f64 = 0.01;

/// Graph with statistics of its values on the samples.
pub(super) struct Basis<'a> {
    pub graph: Cow<'a, Graph>,
    pub seen: Distributions,
    /// Name among the candidates, if the graph differs from the job's.
    pub name: Option<&'static str>,
}

/// Method and its result.
pub(super) struct Choice {
    /// Quantized graph, if it differs from the job's.
    pub graph: Option<Graph>,
    pub method: Method,
    pub found: Quantization,
    pub reason: String,
    pub candidates: Vec<Candidate>,
}

impl Choice {
    /// Creates a choice without alternatives.
    pub fn given(method: Method, found: Quantization) -> Self {
        let reason = "not compared with other methods".to_owned();
        Self { graph: None, method, found, reason, candidates: Vec::new() }
    }
}

/// Candidates so far.
pub(super) struct Search<'a> {
    graph: &'a Graph,
    samples: &'a [Sample],
    /// Outputs in float, by sample.
    expected: Vec<Vec<Tensor>>,
    /// Function called after each evaluation of a sample.
    done: &'a (dyn Fn() + Sync),
    tried: Vec<Tried>,
}

/// Candidate that was simulated.
struct Tried {
    method: Method,
    /// Source of the scales, as in [`Basis::name`].
    basis: Option<&'static str>,
    /// Graph, if it differs from the job's.
    graph: Option<Graph>,
    found: Quantization,
    /// Error by simulation, as in [`Candidate::output_error`].
    error: f64,
    /// Error by running it on the machine; `None` if it was not run.
    measured: Option<f64>,
}

impl<'a> Search<'a> {
    /// Creates a search without candidates.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Eval`] if the graph cannot be evaluated on the samples.
    pub fn new(graph: &'a Graph, samples: &'a [Sample], done: &'a (dyn Fn() + Sync)) -> Result<Self, Error> {
        let float = |sample: &Sample| -> Result<Vec<Tensor>, Error> {
            let outputs = evaluate(graph, &tensors(graph, sample)?)?;
            done();
            Ok(outputs)
        };
        let expected = samples.par_iter().map(float).collect::<Result<_, _>>()?;
        Ok(Self { graph, samples, expected, done, tried: Vec::new() })
    }

    /// Simulates the result of `method`, unless a candidate has the same scales.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Eval`] if the graph cannot be evaluated on the samples.
    pub fn attempt(&mut self, basis: &Basis<'_>, method: Method, found: Quantization) -> Result<(), Error> {
        if self.tried.iter().any(|other| other.basis == basis.name && other.found == found) {
            self.samples.iter().for_each(|_| (self.done)());
            return Ok(());
        }
        let error = self.output_error(&basis.graph, &found)?;
        let graph = match &basis.graph {
            Cow::Borrowed(_) => None,
            Cow::Owned(graph) => Some(graph.clone()),
        };
        self.tried.push(Tried { method, basis: basis.name, graph, found, error, measured: None });
        Ok(())
    }

    /// Whether a candidate is good enough to stop.
    pub fn is_good(&self) -> bool {
        self.tried.iter().any(|tried| tried.error <= ENOUGH)
    }

    /// Runs the most promising candidates on the machine, whose sums may saturate in between,
    /// within the limit of [`MACHINE_WORK`]. Afterwards only candidates that were run are
    /// considered.
    ///
    /// # Errors
    ///
    /// Returns errors of running a program on the machine.
    pub fn measure(&mut self, machine: &Machine<'_>) -> Result<(), Error> {
        let samples = &self.samples[..self.samples.len().min(MACHINE_SAMPLES)];
        let runs = (samples.len() * MEASURED) as u64;
        if self.tried.len() < 2 || Work::of(self.graph).operations.saturating_mul(runs) > MACHINE_WORK {
            return Ok(());
        }
        let mut order: Vec<usize> = (1..self.tried.len()).collect();
        order.sort_by(|&a, &b| self.tried[a].error.total_cmp(&self.tried[b].error));
        for at in std::iter::once(0).chain(order).take(MEASURED) {
            let tried = &self.tried[at];
            let graph = tried.graph.as_ref().unwrap_or(self.graph);
            let Some(found) = machine(graph, &tried.found, samples)? else { continue };
            self.tried[at].measured = Some(share(&self.expected, &found));
        }
        Ok(())
    }

    /// Returns the first candidate with the smallest error; `None` without candidates.
    pub fn best(mut self) -> Option<Choice> {
        let is_measured = self.tried.iter().any(|tried| tried.measured.is_some());
        self.tried.retain(|tried| tried.measured.is_some() || !is_measured);
        let error = |at: usize| self.tried[at].measured.unwrap_or(self.tried[at].error);
        let best =
            (0..self.tried.len()).reduce(|best, at| if error(at) < error(best) { at } else { best })?;
        let candidates: Vec<Candidate> = self.tried.iter().map(Tried::candidate).collect();
        let (is_only, reason) = (self.tried.len() == 1, reason(&candidates, best));
        let Tried { graph, method, found, .. } = self.tried.swap_remove(best);
        if is_only {
            let reason = "all methods give the same scales".to_owned();
            return Some(Choice { graph, reason, ..Choice::given(method, found) });
        }
        Some(Choice { graph, method, found, reason, candidates })
    }

    /// Returns the error of the outputs if `graph` is quantized with `quantization`.
    fn output_error(&self, graph: &Graph, quantization: &Quantization) -> Result<f64, Error> {
        let simulation = Simulation::new(graph, quantization);
        let one = |sample: &Sample| -> Result<Vec<Tensor>, Error> {
            let outputs = simulation.outputs(&tensors(self.graph, sample)?)?;
            (self.done)();
            Ok(outputs)
        };
        let found: Vec<Vec<Tensor>> = self.samples.par_iter().map(one).collect::<Result<_, _>>()?;
        Ok(share(&self.expected, &found))
    }
}

/// Returns the error of outputs by sample, as defined for [`Candidate::output_error`]. There may be
/// fewer samples than expected ones.
fn share(expected: &[Vec<Tensor>], found: &[Vec<Tensor>]) -> f64 {
    let outputs = found.first().map_or(0, Vec::len);
    // Added up in the order of the samples, so that the sum does not depend on the number of cores.
    let shares = (0..outputs).map(|output| {
        let of_samples = expected
            .iter()
            .zip(found)
            .filter_map(|(expected, found)| Some(Squares::of(expected.get(output)?, found.get(output)?)));
        of_samples.fold(Squares::default(), Squares::plus).share()
    });
    (shares.sum::<f64>() / outputs.max(1) as f64).sqrt()
}

impl Tried {
    fn candidate(&self) -> Candidate {
        let method = method_name(self.method);
        let method = self.basis.map_or(method.clone(), |basis| format!("{method}, {basis}"));
        Candidate { method, output_error: self.measured.unwrap_or(self.error) }
    }
}

/// Returns the reason why the candidate at `best` was chosen.
fn reason(candidates: &[Candidate], best: usize) -> String {
    let percent = |candidate: &Candidate| format!("{:.3} %", candidate.output_error * 100.0);
    let others = candidates.iter().enumerate().filter(|&(at, _)| at != best);
    let others: Vec<String> =
        others.map(|(_, other)| format!("`{}` {}", other.method, percent(other))).collect();
    let own = &candidates[best];
    format!(
        "`{}` has the least error of the outputs on the samples, {} (others: {})",
        own.method,
        percent(own),
        others.join(", ")
    )
}

/// Sums of squares over an output.
#[derive(Clone, Copy, Debug, Default)]
struct Squares {
    signal: f64,
    error: f64,
}

impl Squares {
    /// Skips elements that are not finite in float.
    fn of(float: &Tensor, found: &Tensor) -> Self {
        let pairs = float.reals().into_iter().zip(found.reals());
        let finite = pairs.filter(|(float, _)| float.is_finite());
        finite.fold(Self::default(), |sum, (float, found)| {
            sum.plus(Self { signal: float * float, error: (float - found).powi(2) })
        })
    }

    fn plus(self, other: Self) -> Self {
        Self { signal: self.signal + other.signal, error: self.error + other.error }
    }

    /// Returns squared errors divided by squared elements; infinite if a result is not finite.
    fn share(self) -> f64 {
        match (self.error, self.signal) {
            (0.0, _) => 0.0,
            (error, signal) if error.is_finite() && signal > 0.0 => error / signal,
            _ => f64::INFINITY,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use std::collections::BTreeSet;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use npukit_graph::ValueInfo;
    use npukit_graph::op::Relu;
    use npukit_graph::quantize::Scheme;
    use npukit_numeric::ElementType;

    use super::super::{Job, Quantized, Typical};
    use super::*;

    /// Graph with a ReLU, and a sample for it.
    fn rectified(values: Vec<f32>) -> (Graph, Sample) {
        let shape = vec![1, values.len()];
        let mut graph = Graph::default();
        let x = graph.add_input("x", ValueInfo { shape: shape.clone(), element: ElementType::F32 });
        graph.outputs = graph.add_node("relu", Relu.into(), vec![x], &["y"]).unwrap();
        (graph, vec![("x".to_owned(), Tensor::from_f32(shape, values).unwrap())])
    }

    /// Returns the chosen quantization of a ReLU, and the one by least squares.
    fn chosen(values: Vec<f32>) -> (Quantized, Quantized) {
        let (graph, sample) = rectified(values);
        let scheme = Scheme::default();
        let (host, typical) = (BTreeSet::new(), Typical::given(vec![sample]));
        let by = |method| {
            let job =
                Job { graph: &graph, scheme: &scheme, host: &host, method, typical: &typical, machine: None };
            job.run().unwrap()
        };
        (by(None), by(Some(Method::LeastSquares)))
    }

    /// Equal values, and `outlier`.
    fn values(outlier: f32) -> Vec<f32> {
        (0..4096).map(|i| i as f32 / 4096.0).chain([outlier]).collect()
    }

    #[test]
    fn what_saturates_is_taken_only_where_outputs_are_nearer() {
        // Steps half as large for 4,096 values are worth more than a quarter of one value.
        let (Quantized { found, report, .. }, least) = chosen(values(1.02));
        assert_eq!((report.method.as_str(), &found), ("least-squares", &least.found));
        assert!(report.candidates[1].output_error < report.candidates[0].output_error, "{report:?}");
        let reason = "`least-squares` has the least error of the outputs on the samples, ";
        assert!(report.reason.starts_with(reason), "{}", report.reason);
        assert!(report.reason.contains(" (others: `min-max` "), "{}", report.reason);
        // Not if the outputs are dominated by that value.
        assert_eq!(chosen(values(3.0)).0.report.method, "min-max");
        assert_eq!(chosen(vec![0.5, -0.25]).0.report.reason, "all methods give the same scales");
    }

    #[test]
    fn nothing_that_is_given_is_compared_and_evaluations_are_counted() {
        let (graph, sample) = rectified(values(1.02));
        for (method, expected) in [(None, 7), (Some(Method::MinMax), 2)] {
            let done = AtomicUsize::new(0);
            let count = || _ = done.fetch_add(1, Ordering::Relaxed);
            let (scheme, samples) = (Scheme::default(), [sample.clone()]);
            let host = BTreeSet::new();
            let typical = Typical::given(samples.to_vec());
            let job =
                Job { graph: &graph, scheme: &scheme, host: &host, method, typical: &typical, machine: None };
            let Quantized { report, .. } = job.run_on(&samples, false, &count).unwrap();
            let done = done.into_inner();
            assert!(done == expected && done <= job.evaluations(), "{method:?}: {done}");
            assert_eq!(report.candidates.len(), if method.is_none() { 2 } else { 0 });
            let saturated = report.tensors.iter().any(|tensor| tensor.saturated > 0.0);
            assert_eq!(saturated, report.method == "least-squares");
        }
    }
}
