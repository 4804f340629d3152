//! [`CompileJob`]: a model and the instance it is compiled for.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use npukit_base::counted;
use npukit_graph::quantize::{Method, Quantization};
use npukit_graph::rescale::{Ranges, Rescaled, unfit_ends};
use npukit_graph::{Graph, Node, NodeId, Op, Operator, ValueId};
use npukit_numeric::{NumberFormat, Tensor};
use npukit_target::{
    Chosen, CompileEstimate, CompileOptions, Compiled, GraphForm, Instance, Phase, Problem, SEGMENTS,
    SegmentPlan, SegmentedInstance, Stage, TargetError,
};

use crate::error::Error;
use crate::inputs::Sample;
use crate::model::Model;
use crate::model::problem_groups::causes;
use crate::model::remarks::Remarks;
use crate::numbers::quantize::{self, Job, Typical};
use crate::numbers::rescale::{self, Exponents};
use crate::numbers::weights::{self, Weight};
use crate::report::check::Report;
use crate::report::rescale::{Remaining, Report as RescaleReport};
use crate::run::batch::machine;

/// Model, instance and options from which a program is compiled.
pub(crate) struct CompileJob {
    pub instance: Arc<dyn Instance>,
    /// Model; its `simplified` graph is compiled, after rescaling if that was chosen.
    pub model: Model,
    pub options: CompileOptions,
    /// Exponents of the compiled graph's values.
    pub exponents: Exponents,
    /// Result of the calibration, if there was one.
    pub rescaling: Option<RescaleReport>,
    /// Result of the quantization, for a target that needs one.
    pub quantization: Option<quantize::Report>,
    /// Whether the scales come from ranges in the model.
    pub is_scaled_as_stated: bool,
    /// Ranges of generated inputs whose values in float were compared with the number format.
    pub generated: Option<String>,
    /// Whether nodes that the instance refuses may run on the host, between segments.
    may_cut: bool,
}

/// Model after quantization, as far as that needs no program.
pub(crate) struct Quantized(pub CompileJob);

/// Program, and the model it was compiled from.
pub(crate) struct CompiledModel {
    pub origin: CompileJob,
    pub program: Box<dyn Compiled>,
}

impl CompileJob {
    /// Prepares a model for its instance. If the model converts to integers and the instance
    /// chooses its own integers, those conversions are removed.
    pub(crate) fn new(
        instance: Box<dyn Instance>,
        mut model: Model,
        mut options: BTreeMap<String, String>,
    ) -> Result<Self, Error> {
        let may_cut = may_cut(&*instance, options.remove_entry(SEGMENTS.key))?;
        lift(&*instance, &mut model)?;
        let model_name = model.file_name.clone();
        let options = CompileOptions { model_name, options, ..CompileOptions::default() };
        let exponents = Exponents::new();
        let instance = Arc::from(instance);
        Ok(Self {
            instance,
            model,
            options,
            exponents,
            rescaling: None,
            quantization: None,
            is_scaled_as_stated: false,
            generated: None,
            may_cut,
        })
    }

    /// Returns notes and warnings on the model, the instance and the choice of number formats.
    pub(crate) fn remarks(&self) -> Remarks {
        let mut remarks = self.model.remarks.clone().with_instance(&*self.instance);
        remarks.warnings.extend(self.number_warnings());
        remarks
    }

    /// Returns the warnings of calibration and quantization.
    pub(crate) fn number_warnings(&self) -> Vec<String> {
        let left = self.rescaling.iter().flat_map(|report| report.remaining.iter().map(Remaining::warning));
        left.chain(self.quantization.iter().flat_map(|report| report.warnings.iter().cloned())).collect()
    }

    /// Whether the caller gave typical inputs, by which scales were chosen.
    pub(crate) fn is_calibrated(&self) -> bool {
        let quantized = self.quantization.as_ref().is_some_and(|report| !report.made_up && !report.own);
        self.rescaling.is_some() || quantized
    }

    /// Compiles the program; in segments, if the instance does not support the whole model.
    pub(crate) fn compile(&mut self) -> Result<Box<dyn Compiled>, Error> {
        self.whole_or_cut(|origin| {
            let _phase = Phase::begin("compile");
            origin.instance.compile(&origin.model.simplified, &origin.options)
        })
    }

    /// Estimates the size of the program.
    pub(crate) fn estimate(&mut self) -> Result<CompileEstimate, Error> {
        self.whole_or_cut(|origin| {
            let _phase = Phase::begin("survey nodes");
            origin.instance.estimate(&origin.model.simplified, &origin.options)
        })
    }

    /// Returns the compiler's result after `stage`, as text.
    pub(crate) fn emit(&mut self, stage: &str) -> Result<String, Error> {
        self.whole_or_cut(|origin| origin.instance.emit(&origin.model.simplified, &origin.options, stage))
    }

    /// Lowers the model with `lower`; in segments, if it is refused as a whole.
    fn whole_or_cut<T>(&mut self, lower: impl Fn(&Self) -> Result<T, TargetError>) -> Result<T, Error> {
        let lowered = match lower(self) {
            Err(TargetError::Refused(problems)) => {
                self.segment(problems)?;
                lower(self)
            }
            lowered => lowered,
        };
        lowered.map_err(|error| self.explained(error))
    }

    /// Refuses a model with unsupported nodes, unless other nodes are supported: then it is cut
    /// into segments.
    pub(crate) fn admit(&mut self) -> Result<(), Error> {
        let _phase = Phase::begin("check nodes");
        match self.instance.check(&self.model.simplified, &self.options)? {
            problems if problems.is_empty() => Ok(()),
            problems => self.segment(problems),
        }
    }

    /// Replaces the instance by one that compiles the supported nodes and leaves the rest to the
    /// host.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Refused`] if nothing is left for the machine, or if segments are disabled.
    fn segment(&mut self, problems: Vec<Problem>) -> Result<(), Error> {
        let graph = &self.model.simplified;
        let plan = if self.may_cut {
            SegmentPlan::new(&*self.instance, graph, &self.options, &problems)?
        } else {
            None
        };
        let Some(plan) = plan else { return Err(self.explained(TargetError::Refused(problems))) };
        self.cut_by(plan);
        Ok(())
    }

    /// Moves the last nodes to the host if their results exceed the number format on these samples.
    /// Outputs cannot be scaled, so no exponent helps there. Returns whether there were such nodes.
    pub(crate) fn leave_unfit_ends(&mut self, samples: &[Sample]) -> Result<bool, Error> {
        let Some(largest) = self.fixed_point().map(|format| format.largest()).filter(|_| self.may_cut) else {
            return Ok(false);
        };
        let graph = &self.model.simplified;
        let ranges = quantize::observe(graph, samples, || Ranges::new(graph))?;
        let problem = |id| {
            let node = graph.node(id);
            let reason = format!("its results exceed {largest}, the largest number of the machine");
            Problem::new(&node.name, node.op.name(), reason, "divide the model's outputs by a constant")
        };
        let problems: Vec<Problem> = unfit_ends(graph, &ranges, largest).into_iter().map(problem).collect();
        if problems.is_empty() {
            return Ok(false);
        }
        let plan = SegmentPlan::new(&*self.instance, graph, &self.options, &problems)?;
        let Some(plan) = plan else { return Ok(false) };
        self.cut_by(plan);
        Ok(true)
    }

    /// Returns the samples for choosing scales: the caller's samples, or generated ones if their
    /// values in float exceed the number format. A note reports generated ones, and their result.
    pub(crate) fn samples_to_scale(&mut self, typical: Typical) -> Result<Option<Vec<Sample>>, Error> {
        let Typical { samples, from, assumed } = typical;
        if from == quantize::SampleOrigin::Given && !samples.is_empty() {
            return Ok(Some(samples));
        }
        let graph = &self.model.simplified;
        let (samples, made_up) = match assumed.described() {
            _ if !samples.is_empty() => (samples, None),
            Some(ranges) => (quantize::stand_ins(graph, &assumed), Some(ranges)),
            None => return Ok(None),
        };
        let Some(format) = self.fixed_point() else { return Ok(None) };
        let exceeds = self.exceeds(format.largest(), &samples)?;
        match &made_up {
            None if exceeds => self.note_own(samples.len()),
            None => {}
            Some(ranges) if exceeds => self.note(format!(
                "scales were chosen from generated inputs ({ranges}); give typical inputs with --calibrate"
            )),
            Some(ranges) => self.note(format!(
                "values are not scaled: generated inputs ({ranges}) give values that fit {format}; give typical inputs with --calibrate"
            )),
        }
        self.generated = made_up;
        Ok(exceeds.then_some(samples))
    }

    /// Returns the machine's fixed-point format, if it has one.
    fn fixed_point(&self) -> Option<NumberFormat> {
        self.instance.info().number_format.filter(|format| format.step().is_some())
    }

    /// Whether a value in float exceeds the largest number of the machine on these samples.
    fn exceeds(&self, largest: f64, samples: &[Sample]) -> Result<bool, Error> {
        let graph = &self.model.simplified;
        let ranges = quantize::observe(graph, samples, || Ranges::new(graph))?;
        let ids = (0..graph.values.len() as u32).map(ValueId);
        Ok(ids.into_iter().any(|id| f64::from(ranges.of(id)) > largest))
    }

    /// Returns the exponent with which an input is stored.
    pub(crate) fn input_exponent(&self, name: &str) -> i32 {
        rescale::exponent(&self.options.scales, name)
    }

    /// Whether the model contains ranges of its values that can serve as scales.
    pub(crate) fn states_ranges(&self) -> bool {
        let may_scale = self.instance.info().scaling.ports && self.exponents.is_empty();
        may_scale && Ranges::stated(&self.model.simplified).is_some()
    }

    /// Gives values of the model the scales from its ranges, if that is legal.
    pub(crate) fn scale_as_stated(&mut self) -> Result<(), Error> {
        let found = rescale::as_stated(&*self.instance, &self.model, &self.options)?;
        let Some(Rescaled { graph, exponents, scales }) = found else { return Ok(()) };
        let options = CompileOptions { scales, ..self.options.clone() };
        if !self.instance.check(&graph, &options)?.is_empty() {
            return Ok(());
        }
        self.options = options;
        self.model.simplified = graph;
        self.exponents = exponents.into_iter().collect();
        self.is_scaled_as_stated = true;
        let note = format!(
            "scales were chosen from the ranges in the model: {} stored divided by powers of two (`--rescale never` stores \
             values unscaled)",
            match self.exponents.len() {
                1 => "1 tensor is".to_owned(),
                count => format!("{count} tensors are"),
            }
        );
        self.note(note);
        Ok(())
    }

    fn cut_by(&mut self, plan: SegmentPlan) {
        self.instance = Arc::new(SegmentedInstance::new(Arc::clone(&self.instance), plan));
        self.may_cut = false;
    }

    /// Returns the graph that the instance lowers.
    pub(crate) fn prepared(&self) -> Result<Graph, Error> {
        let graph = &self.model.simplified;
        if self.options.prepared {
            return Ok(graph.clone());
        }
        let lowered = self.instance.prepare(graph, &self.options, GraphForm::Lowered);
        lowered.map_err(|error| self.explained(error))
    }

    /// Returns the weights whose values on the machine differ from the model.
    pub(crate) fn altered_weights(&self) -> Result<Vec<Weight>, Error> {
        let _phase = Phase::begin("compare weights");
        let (model, lowered) = (&self.model.graph, self.prepared()?);
        let mut altered = weights::altered(model, &lowered, self.instance.info().number_format);
        altered.extend(self.quantization.iter().flat_map(|report| weights::quantized(&lowered, report)));
        Ok(altered)
    }

    /// Makes the tensors of the compiled graph integers, if the instance needs that. Without a
    /// method, chooses the one that is closest to float on the samples.
    pub(crate) fn quantize(&mut self, method: Option<Method>, typical: &Typical) -> Result<(), Error> {
        let Some(scheme) = self.instance.info().quantization.clone() else { return Ok(()) };
        self.model.simplified = self.prepared()?;
        let host = self.host_nodes()?;
        let graph = &self.model.simplified;
        let run = |graph: &Graph, found: &Quantization, samples: &[Sample]| {
            let quantization = Some(found.clone());
            let options =
                CompileOptions { prepared: true, quantization, draft: true, ..self.options.clone() };
            let Ok(compiled) = self.instance.compile(graph, &options) else { return Ok(None) };
            outputs_by_sample(graph, &*compiled, samples)
        };
        let job = Job { graph, scheme: &scheme, host: &host, method, typical, machine: Some(&run) };
        let quantize::Quantized { graph, found, report } = job.run()?;
        (self.options.prepared, self.options.quantization) = (true, Some(found));
        if let Some(graph) = graph {
            self.model.simplified = graph;
        }
        if report.own {
            self.note_own(report.samples);
        }
        self.quantization = Some(report);
        Ok(())
    }

    /// Returns the nodes of the prepared graph that the host computes in float, between segments.
    /// (A driver's own steps work on integers, whose scales must agree.)
    fn host_nodes(&self) -> Result<BTreeSet<NodeId>, Error> {
        let graph = &self.model.simplified;
        let steps = self.instance.nodes_of_host(graph)?;
        let mut named: BTreeMap<&str, Vec<NodeId>> = BTreeMap::new();
        for (id, node) in (0..).map(NodeId).zip(&graph.nodes).filter(|(_, node)| steps.contains(&node.name)) {
            named.entry(node.name.as_str()).or_default().push(id);
        }
        // A name shared by several nodes is ambiguous.
        Ok(named.into_values().filter(|ids| ids.len() == 1).flatten().collect())
    }

    /// Notes that the run's own inputs determined the scales.
    fn note_own(&mut self, samples: usize) {
        let samples = counted(samples as u64, "sample");
        let note = format!(
            "scales were chosen from the first {samples} of --input: give typical inputs with --calibrate, which `compile` needs to write the same program"
        );
        self.note(note);
    }

    fn note(&mut self, note: String) {
        self.model.remarks = std::mem::take(&mut self.model.remarks).with_notes(vec![note]);
    }

    /// Describes the assumed range of values without samples: the range of the machine's
    /// fixed-point numbers.
    pub(crate) fn assumed_range(&self) -> Option<String> {
        let format = self.fixed_point()?;
        let is_scaled = self.rescaling.is_some() || self.quantization.is_some() || !self.exponents.is_empty();
        let is_known = is_scaled || self.generated.is_some();
        let note = || {
            format!(
                "values are assumed to fit {format}: give typical inputs with --calibrate, or their range with --range"
            )
        };
        (!is_known).then(note)
    }

    /// Wraps an error of the target; refused nodes are grouped, with consequences below their
    /// cause.
    pub(crate) fn explained(&self, error: TargetError) -> Error {
        let TargetError::Refused(mut problems) = error else { return error.into() };
        problems.iter_mut().filter(|problem| problem.op == "Loop").for_each(name_loop);
        let Remarks { notes, warnings } = self.remarks();
        let causes =
            causes(&self.model.simplified, &problems, |graph| self.instance.check(graph, &self.options).ok());
        let target = &self.instance.info().name;
        let refused = Report::refused(target, Some(&self.model.simplified), problems, &causes);
        let report = Report { notes, warnings, ..refused };
        Error::Refused { report: Box::new(report) }
    }
}

/// Returns the outputs of a program by sample, in the order of the graph's outputs; `None` if the
/// program lacks one.
fn outputs_by_sample(
    graph: &Graph,
    compiled: &dyn Compiled,
    samples: &[Sample],
) -> Result<Option<Vec<Vec<Tensor>>>, Error> {
    let (stacks, _) = machine(compiled, samples)?;
    let samples_of = |&id: &ValueId| {
        let stack = stacks.iter().find(|stack| stack.name == graph.value(id).name)?;
        Some(stack.samples.iter())
    };
    let Some(mut outputs) = graph.outputs.iter().map(samples_of).collect::<Option<Vec<_>>>() else {
        return Ok(None);
    };
    let of_sample = |_| outputs.iter_mut().map(|output| output.next().cloned()).collect();
    Ok((0..samples.len()).map(of_sample).collect())
}

/// Removes conversions through integers from a model, for an instance with its own integers or
/// without integers. A note reports it.
fn lift(instance: &dyn Instance, model: &mut Model) -> Result<(), Error> {
    let passages = |model: &Model| {
        let is_one = |node: &&Node| matches!(node.op, Op::QuantizeLinear(_));
        model.simplified.nodes.iter().filter(is_one).count() as u64
    };
    let before = passages(model);
    if instance.info().quantization.is_some() {
        return model.lift();
    }
    let Some(format) = instance.info().number_format.filter(|_| before > 0) else { return Ok(()) };
    model.lift_saturating()?;
    let gone = before.saturating_sub(passages(model));
    let note = format!(
        "{} of the model to its own integers {} skipped: values are stored as {format}, saturated to the same range",
        counted(gone, "conversion"),
        if gone == 1 { "is" } else { "are" },
    );
    model.remarks =
        std::mem::take(&mut model.remarks).with_notes((gone > 0).then_some(note).into_iter().collect());
    Ok(())
}

/// Explains why a remaining loop is refused: programs cannot branch on computed values.
fn name_loop(problem: &mut Problem) {
    let reason = "its number of iterations is only known at run time, or too large to unroll";
    let hint = "fix the input with the number of iterations (`--const NAME=NUMBER`), or end the model before it (`--outputs`)";
    *problem = Problem::new(&problem.node, "Loop", reason, hint);
}

/// Whether a model may be cut into segments, by the option as given.
fn may_cut(instance: &dyn Instance, given: Option<(String, String)>) -> Result<bool, Error> {
    let given: BTreeMap<String, String> = given.into_iter().collect();
    let chosen = Chosen::new(&instance.info().name, &[SEGMENTS], Stage::Compile, &given);
    let chosen = chosen.map_err(TargetError::from)?;
    Ok(chosen.text(SEGMENTS.key) != Some("no"))
}
