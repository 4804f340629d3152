//! [`Choice`]: the method whose outputs are nearest to float on the samples.

use npukit_graph::quantise::{Method, Quantisation, Simulation};
use npukit_graph::{Graph, evaluate};
use npukit_numeric::Tensor;
use rayon::prelude::*;

use super::{Candidate, method_name};
use crate::batch::tensors;
use crate::error::Error;
use crate::inputs::Sample;

/// The methods that are tried when nobody names one. The first lets nothing saturate on the samples: of equals it
/// is taken.
pub(super) const METHODS: [Method; 4] =
    [Method::MinMax, Method::LeastSquares, Method::Percentile(99.99), Method::Percentile(99.9)];

/// A method and what it gives.
pub(super) struct Choice {
    pub method: Method,
    pub found: Quantisation,
    pub reason: String,
    pub candidates: Vec<Candidate>,
}

impl Choice {
    /// One with which no other is compared.
    pub fn given(method: Method, found: Quantisation) -> Self {
        Self { method, found, reason: "not compared with others".to_owned(), candidates: Vec::new() }
    }

    /// The one of [`METHODS`], whose fraction lengths `by` gives, with the outputs nearest to float. `done` is
    /// called after each evaluation of a sample.
    ///
    /// # Errors
    ///
    /// [`Error::Eval`] for samples that the graph cannot be evaluated with.
    pub fn by_outputs(
        graph: &Graph,
        samples: &[Sample],
        by: impl Fn(Method) -> Quantisation,
        done: &(dyn Fn() + Sync),
    ) -> Result<Self, Error> {
        let mut tried: Vec<(Method, Quantisation)> = Vec::new();
        for method in METHODS {
            let found = by(method);
            // What gives the scales of another one is that one.
            if tried.iter().all(|(_, other)| *other != found) {
                tried.push((method, found));
            }
        }
        if tried.len() == 1 {
            let (method, found) = tried.remove(0);
            let reason = "all methods give the same scales".to_owned();
            return Ok(Self { reason, ..Self::given(method, found) });
        }
        let errors = output_errors(graph, samples, &tried, done)?;
        let candidate = |((method, _), &output_error): (&(Method, Quantisation), &f64)| Candidate {
            method: method_name(*method),
            output_error,
        };
        let candidates: Vec<Candidate> = tried.iter().zip(&errors).map(candidate).collect();
        let best = (1..tried.len()).fold(0, |best, at| if errors[at] < errors[best] { at } else { best });
        let reason = reason(&candidates, best);
        let (method, found) = tried.swap_remove(best);
        Ok(Self { method, found, reason, candidates })
    }
}

/// Why the candidate at `best` was taken.
fn reason(candidates: &[Candidate], best: usize) -> String {
    let percent = |candidate: &Candidate| format!("{:.3} %", candidate.output_error * 100.0);
    let others = candidates.iter().enumerate().filter(|&(at, _)| at != best);
    let others: Vec<String> =
        others.map(|(_, other)| format!("with {} by {}", other.method, percent(other))).collect();
    let own = percent(&candidates[best]);
    format!("outputs are off by {own} on the samples, {}", others.join(", "))
}

/// For each quantisation, how far the outputs are from float.
fn output_errors(
    graph: &Graph,
    samples: &[Sample],
    found: &[(Method, Quantisation)],
    done: &(dyn Fn() + Sync),
) -> Result<Vec<f64>, Error> {
    let simulations: Vec<Simulation<'_>> =
        found.iter().map(|(_, quantisation)| Simulation::new(graph, quantisation)).collect();
    let one = |sample: &Sample| -> Result<Vec<Vec<Squares>>, Error> {
        let inputs = tensors(graph, sample)?;
        let float = evaluate(graph, &inputs)?;
        done();
        let squares = |simulation: &Simulation<'_>| {
            let outputs = simulation.outputs(&inputs)?;
            done();
            Ok(float.iter().zip(&outputs).map(|(float, found)| Squares::of(float, found)).collect())
        };
        let squares = simulations.iter().map(squares).collect();
        (found.len()..METHODS.len()).for_each(|_| done());
        squares
    };
    let all = samples.par_iter().map(one).collect::<Result<Vec<_>, Error>>()?;
    // Summed up in the order of the samples: the same on any number of cores.
    let error = |method: usize| {
        let outputs = graph.outputs.len();
        let shares = (0..outputs).map(|output| {
            let of_samples = all.iter().filter_map(|sample| sample.get(method)?.get(output));
            of_samples.fold(Squares::default(), |sum, one| sum.plus(*one)).share()
        });
        (shares.sum::<f64>() / outputs.max(1) as f64).sqrt()
    };
    Ok((0..found.len()).map(error).collect())
}

/// Sums of squares of an output.
#[derive(Clone, Copy, Debug, Default)]
struct Squares {
    signal: f64,
    error: f64,
}

impl Squares {
    /// Elements that are not a number in float count for nothing.
    fn of(float: &Tensor, found: &Tensor) -> Self {
        // Default: integers are not quantised, and have no error.
        let pairs = float.as_f32().unwrap_or_default().iter().zip(found.as_f32().unwrap_or_default());
        let finite = pairs.filter(|(float, _)| float.is_finite());
        finite.fold(Self::default(), |sum, (&float, &found)| {
            let (float, found) = (f64::from(float), f64::from(found));
            sum.plus(Self { signal: float * float, error: (float - found).powi(2) })
        })
    }

    fn plus(self, other: Self) -> Self {
        Self { signal: self.signal + other.signal, error: self.error + other.error }
    }

    /// Squared errors by squared elements; what is not a number is as bad as can be.
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
    use std::collections::{BTreeMap, BTreeSet};
    use std::sync::atomic::{AtomicUsize, Ordering};

    use npukit_graph::ValueInfo;
    use npukit_graph::op::Relu;
    use npukit_graph::quantise::{Distributions, Scheme, quantise};
    use npukit_numeric::ElementType;

    use super::super::{Job, Typical, observe};
    use super::*;

    /// A rectifier, and a sample of it.
    fn rectified(values: Vec<f32>) -> (Graph, Sample) {
        let shape = vec![1, values.len()];
        let mut graph = Graph::default();
        let x = graph.add_input("x", ValueInfo { shape: shape.clone(), element: ElementType::F32 });
        graph.outputs = graph.add_node("relu", Relu.into(), vec![x], &["y"]).unwrap();
        (graph, vec![("x".to_owned(), Tensor::from_f32(shape, values).unwrap())])
    }

    fn chosen(values: Vec<f32>) -> (Choice, Choice) {
        let (graph, sample) = rectified(values);
        let (scheme, samples) = (Scheme::default(), [sample]);
        let seen = observe(&graph, &samples, || Distributions::new(&graph)).unwrap();
        let by = |method| quantise(&graph, &seen, &scheme, method, &BTreeMap::new());
        let choice = Choice::by_outputs(&graph, &samples, by, &|| ()).unwrap();
        (choice, Choice::given(Method::LeastSquares, by(Method::LeastSquares)))
    }

    /// Values all alike, and `outlier`.
    fn values(outlier: f32) -> Vec<f32> {
        (0..4096).map(|i| i as f32 / 4096.0).chain([outlier]).collect()
    }

    #[test]
    fn what_saturates_is_taken_only_where_outputs_are_nearer() {
        // Twice as fine steps for 4,096 values are worth more than a quarter of one value.
        let (fine, least) = chosen(values(1.02));
        assert_eq!((fine.method, &fine.found), (Method::LeastSquares, &least.found));
        assert!(fine.candidates[1].output_error < fine.candidates[0].output_error, "{:?}", fine.candidates);
        assert!(fine.reason.contains("with min-max by"), "{}", fine.reason);
        // Not where that value is what the outputs are about.
        let (whole, _) = chosen(values(3.0));
        assert_eq!(whole.method, Method::MinMax);
        assert_eq!(chosen(vec![0.5, -0.25]).0.reason, "all methods give the same scales");
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
            let job = Job { graph: &graph, scheme: &scheme, host: &host, method, typical: &typical };
            let (_, report) = job.run_on(&samples, false, &count).unwrap();
            assert_eq!((done.into_inner(), job.evaluations()), (expected, expected));
            assert_eq!(report.candidates.len(), if method.is_none() { 2 } else { 0 });
            let saturated = report.tensors.iter().any(|tensor| tensor.saturated > 0.0);
            assert_eq!(saturated, report.method == "least-squares");
        }
    }
}
