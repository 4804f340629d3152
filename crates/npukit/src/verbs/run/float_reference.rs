//! [`FloatReference`]: comparison of a run with the float reference.

use npukit_base::counted;
use npukit_graph::{Graph, Observations, evaluate_with};
use npukit_target::{Compiled, Phase, Saturations};
use rayon::prelude::*;

use super::Request;
use crate::compare::comparison::compare;
use crate::compare::layer_compare;
use crate::error::Error;
use crate::inputs::{InputFile, Sample};
use crate::model::compile_job::CompileJob;
use crate::model::source::Source;
use crate::numbers::max_error::{MaxError, NO_INFORMATION};
use crate::numbers::non_finite::NonFinite;
use crate::numbers::squashed;
use crate::numbers::underflow::{self, Usage, Watch};
use crate::numbers::weights;
use crate::report::comparison::Comparison;
use crate::run::batch::{float, float_stacks, tensors};
use crate::run::stack::Stack;

/// Comparison of a run with the float reference.
#[derive(Default)]
pub(super) struct FloatReference {
    pub comparison: Option<Comparison>,
    /// Outputs in float; empty without a model.
    pub outputs: Vec<Stack>,
    pub non_finite: NonFinite,
    /// Constants of the model with NaN or infinity.
    bad_constants: Vec<String>,
    pub underflow: Option<underflow::Report>,
    /// Warning if outputs hide differences.
    pub squashed: Option<String>,
    pub layer_compare: Option<layer_compare::Report>,
    pub dump: Option<layer_compare::Dump>,
}

impl FloatReference {
    /// Collects the information that needs no model.
    pub fn of(samples: &[Sample], stacks: &[Stack]) -> Self {
        Self { non_finite: NonFinite::of(samples, stacks), ..Self::default() }
    }

    /// Evaluates the model, and compares it with the machine's outputs.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Eval`] if the evaluator refuses the model or a sample.
    pub fn compare(
        &mut self,
        origin: &CompileJob,
        compiled: &dyn Compiled,
        samples: &[Sample],
        stacks: &[Stack],
    ) -> Result<Comparison, Error> {
        let (graph, format) = (&origin.model.graph, origin.instance.info().number_format);
        let watch = Watch::new(graph, &compiled.info().layers, &origin.exponents, format);
        let (mut reference, seen) = watched(graph, samples, watch.as_ref())?;
        let order: Vec<String> = compiled.outputs().into_iter().map(|port| port.name).collect();
        reference.sort_by_key(|stack| order.iter().position(|name| *name == stack.name));
        self.non_finite = std::mem::take(&mut self.non_finite).beside(&reference);
        (self.non_finite.constants, self.bad_constants) = weights::non_finite_constants(graph);
        let report = |watch: &Watch, seen| watch.report(seen, &origin.model.simplified);
        self.underflow = watch.as_ref().zip(seen.as_ref()).map(|(watch, seen)| report(watch, seen));
        Ok(self.compare_outputs(graph, stacks, reference))
    }

    /// Like [`Self::compare`], for an artifact and the graph that it was compiled from. The outputs
    /// have the names and shapes of the model.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Eval`] if the evaluator refuses the model or a sample.
    pub fn compare_artifact(
        &mut self,
        graph: &Graph,
        samples: &[Sample],
        stacks: &[Stack],
    ) -> Result<(), Error> {
        let reference = float(graph, samples)?;
        self.non_finite = std::mem::take(&mut self.non_finite).beside(&reference);
        self.compare_outputs(graph, stacks, reference);
        Ok(())
    }

    fn compare_outputs(&mut self, graph: &Graph, stacks: &[Stack], reference: Vec<Stack>) -> Comparison {
        let found = compare(stacks, &reference);
        self.squashed = squashed::message(graph, stacks, &reference);
        self.comparison = Some(found);
        self.outputs = reference;
        found
    }

    /// Returns the reasons why the run failed.
    pub fn failures(&self, max_error: Option<MaxError>) -> Vec<String> {
        let Some(found) = &self.comparison else { return Vec::new() };
        let no_numbers = if self.non_finite.is_compared() {
            vec!["values that are NaN or infinite were compared".to_owned()]
        } else {
            Vec::new()
        };
        no_numbers.into_iter().chain(max_error.iter().flat_map(|limit| limit.failures(found))).collect()
    }

    pub fn warnings(
        &self,
        request: &Request,
        origin: Option<&CompileJob>,
        saturations: &Saturations,
    ) -> Vec<String> {
        let mut warnings = self.non_finite.warnings();
        warnings.extend(self.bad_constants.iter().cloned());
        if self.comparison.is_some_and(|found| !found.informative) && !self.non_finite.is_compared() {
            warnings.push(NO_INFORMATION.to_owned());
        }
        warnings.extend(self.squashed.clone());
        warnings.extend(self.underflow.as_ref().and_then(underflow::Report::warning));
        if let Some(origin) = origin.filter(|origin| self.suggests_calibration(origin, saturations)) {
            warnings.push(calibration_line(request, origin, saturations.results));
        }
        warnings
    }

    /// Whether the warnings suggest a calibration.
    pub fn suggests_calibration(&self, origin: &CompileJob, saturations: &Saturations) -> bool {
        let vanishes = || self.underflow.as_ref().is_some_and(|report| report.warning().is_some());
        uncalibrated(origin) && (saturations.results > 0 || vanishes())
    }
}

/// Whether a calibration was not requested but might help.
fn uncalibrated(origin: &CompileJob) -> bool {
    let has_steps = origin.instance.info().number_format.is_some_and(|format| format.step().is_some());
    has_steps && origin.rescaling.is_none() && origin.quantization.is_none()
}

/// Returns the suggested command line.
fn calibration_line(request: &Request, origin: &CompileJob, results: u64) -> String {
    let why = if results > 0 {
        let verb = if results == 1 { "does" } else { "do" };
        format!("{} {verb} not fit the number format", counted(results, "result"))
    } else {
        "the network's values use only a small part of the number format".to_owned()
    };
    let Source { path, target, .. } = &request.source;
    let target = target.clone().unwrap_or_else(|| origin.instance.info().name.clone());
    let input =
        |file: &InputFile| file.name.iter().map(|name| format!("{name}=")).collect::<String>() + &file.path;
    let inputs = request.inputs.iter().map(input).collect::<Vec<_>>().join(" ") + &request.preprocess.typed();
    format!(
        "{why}: `npu run {path} --target {target} --input {inputs} --calibrate TYPICAL_INPUTS.npy` scales layers by \
         powers of two, if that helps"
    )
}

/// Evaluates all samples in float on all cores, and observes the watched values.
fn watched(
    graph: &Graph,
    samples: &[Sample],
    watch: Option<&Watch>,
) -> Result<(Vec<Stack>, Option<Observations<Usage>>), Error> {
    let Some(watch) = watch else { return Ok((float(graph, samples)?, None)) };
    let phase = Phase::counting("evaluate in float", samples.len());
    let one = |sample: &Sample| -> Result<_, Error> {
        let mut seen = watch.empty();
        let inputs = tensors(graph, sample)?;
        graph.inputs.iter().zip(&inputs).for_each(|(&id, input)| watch.note(&mut seen, id, input));
        let outputs = evaluate_with(graph, &inputs, |node, results| {
            node.outputs.iter().zip(results).for_each(|(&id, result)| watch.note(&mut seen, id, result));
        })?;
        phase.advance();
        Ok((outputs, seen))
    };
    let (mut all, mut outputs) = (watch.empty(), Vec::new());
    for batch in samples.chunks(rayon::current_num_threads().max(1)) {
        for (output, seen) in batch.par_iter().map(one).collect::<Result<Vec<_>, Error>>()? {
            all = all.merge(&seen);
            outputs.push(output);
        }
    }
    Ok((float_stacks(graph, &outputs), Some(all)))
}
