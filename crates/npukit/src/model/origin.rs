//! [`Origin`]: a model and the instance it is compiled for.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use npukit_base::counted;
use npukit_graph::quantise::{Method, Quantisation};
use npukit_graph::rescale::{Ranges, Rescaled, unfit_ends};
use npukit_graph::{Graph, Node, NodeId, Op, Operator, ValueId};
use npukit_numeric::Tensor;
use npukit_target::{
    Chosen, CompileOptions, Compiled, GraphForm, Instance, Phase, Problem, SEGMENTS, SegmentPlan,
    SegmentedInstance, Stage, Survey, TargetError,
};

use crate::error::Error;
use crate::inputs::Sample;
use crate::model::Model;
use crate::model::groups::causes;
use crate::model::remarks::Remarks;
use crate::numbers::quantise::{self, Job, Quantised, Typical};
use crate::numbers::rescale::{self, Exponents};
use crate::numbers::weights::{self, Weight};
use crate::report::check::Report;
use crate::report::rescale::{Remaining, Report as RescaleReport};
use crate::run::batch::machine;

/// What a program was made from.
pub(crate) struct Origin {
    pub instance: Arc<dyn Instance>,
    /// Its `simplified` graph is the one compiled, rescaled where that was chosen.
    pub model: Model,
    pub options: CompileOptions,
    /// Of the compiled graph's values.
    pub exponents: Exponents,
    /// What came of the calibration, if there was one.
    pub rescaling: Option<RescaleReport>,
    /// What came of the quantisation, for a target that asks for one.
    pub quantisation: Option<quantise::Report>,
    /// Whether its values have scales that the model itself states.
    pub is_scaled_as_stated: bool,
    /// Whether nodes that the instance refuses may be left to the host, between segments.
    may_cut: bool,
}

/// A model whose numbers are chosen, as far as no program is needed for that.
pub(crate) struct Quantized(pub Origin);

/// A program, and what it was made from.
pub(crate) struct CompiledModel {
    pub origin: Origin,
    pub program: Box<dyn Compiled>,
}

impl Origin {
    /// The model for its instance: as it is, or between real numbers where it passes through integers and the
    /// instance chooses those.
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
            quantisation: None,
            is_scaled_as_stated: false,
            may_cut,
        })
    }

    /// What there is to say of the model and of the instance, and of how numbers were chosen.
    pub(crate) fn remarks(&self) -> Remarks {
        let mut remarks = self.model.remarks.clone().with_instance(&*self.instance);
        remarks.warnings.extend(self.number_warnings());
        remarks
    }

    /// What the calibration and the quantisation warn of.
    pub(crate) fn number_warnings(&self) -> Vec<String> {
        let left = self.rescaling.iter().flat_map(|report| report.remaining.iter().map(Remaining::warning));
        left.chain(self.quantisation.iter().flat_map(|report| report.warnings.iter().cloned())).collect()
    }

    /// Whether the caller gave typical inputs, by which scales were chosen.
    pub(crate) fn is_calibrated(&self) -> bool {
        let quantised = self.quantisation.as_ref().is_some_and(|report| !report.made_up && !report.own);
        self.rescaling.is_some() || quantised
    }

    /// The program; of a model that the instance does not take whole, in segments.
    pub(crate) fn compile(&mut self) -> Result<Box<dyn Compiled>, Error> {
        self.whole_or_cut(|origin| {
            let _phase = Phase::begin("compile");
            origin.instance.compile(&origin.model.simplified, &origin.options)
        })
    }

    /// What the program would come to.
    pub(crate) fn survey(&mut self) -> Result<Survey, Error> {
        self.whole_or_cut(|origin| {
            let _phase = Phase::begin("survey nodes");
            origin.instance.survey(&origin.model.simplified, &origin.options)
        })
    }

    /// What the compiler has after `stage`, as text.
    pub(crate) fn emit(&mut self, stage: &str) -> Result<String, Error> {
        self.whole_or_cut(|origin| origin.instance.emit(&origin.model.simplified, &origin.options, stage))
    }

    /// What `lower` makes of the model, in segments when it is refused as a whole.
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

    /// Refuses a model with nodes that the instance does not take, unless it takes others: then it is cut into segments.
    pub(crate) fn admit(&mut self) -> Result<(), Error> {
        let _phase = Phase::begin("check nodes");
        match self.instance.check(&self.model.simplified, &self.options)? {
            problems if problems.is_empty() => Ok(()),
            problems => self.segment(problems),
        }
    }

    /// Makes the instance one that compiles what it takes of the model, and leaves the rest to the host.
    ///
    /// # Errors
    ///
    /// [`Error::Refused`] when there is nothing to be left to the machine, or it is not to be done.
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

    /// Leaves to the host what ends the model with results that the number format does not hold on these samples: as
    /// outputs are what they are, no scale helps there. Says whether there is such an end.
    pub(crate) fn leave_unfit_ends(&mut self, samples: &[Sample]) -> Result<bool, Error> {
        let format = self.instance.info().number_format.filter(|format| format.step().is_some());
        let Some(largest) = format.map(|format| format.largest()).filter(|_| self.may_cut) else {
            return Ok(false);
        };
        let graph = &self.model.simplified;
        let ranges = quantise::observe(graph, samples, || Ranges::new(graph))?;
        let problem = |id| {
            let node = graph.node(id);
            let reason = format!("its results are beyond {largest}, the largest number of the machine");
            Problem::new(&node.name, node.op.name(), reason, "divide the model's outputs by a number")
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

    /// The samples to scale by: those that the caller gives, and others where their values in float are beyond the
    /// number format. The model's notes name the others.
    pub(crate) fn samples_to_scale(&mut self, typical: Typical) -> Result<Option<Vec<Sample>>, Error> {
        let Typical { samples, from, assumed } = typical;
        if from == quantise::SampleOrigin::Given && !samples.is_empty() {
            return Ok(Some(samples));
        }
        let graph = &self.model.simplified;
        let (samples, made_up) = match assumed.described() {
            _ if !samples.is_empty() => (samples, None),
            Some(ranges) => (quantise::stand_ins(graph, &assumed), Some(ranges)),
            None => return Ok(None),
        };
        if !self.exceeds_format(&samples)? {
            return Ok(None);
        }
        match made_up {
            None => self.note_own(samples.len()),
            Some(ranges) => self.note(format!(
                "scales were chosen by made-up inputs ({ranges}); --calibrate takes typical inputs"
            )),
        }
        Ok(Some(samples))
    }

    /// Whether a value in float is larger on these samples than the machine's fixed-point numbers.
    fn exceeds_format(&self, samples: &[Sample]) -> Result<bool, Error> {
        let format = self.instance.info().number_format.filter(|format| format.step().is_some());
        let Some(largest) = format.map(|format| format.largest()) else { return Ok(false) };
        let graph = &self.model.simplified;
        let ranges = quantise::observe(graph, samples, || Ranges::new(graph))?;
        let ids = (0..graph.values.len() as u32).map(ValueId);
        Ok(ids.into_iter().any(|id| f64::from(ranges.of(id)) > largest))
    }

    /// The exponent with which an input is stored.
    pub(crate) fn input_exponent(&self, name: &str) -> i32 {
        rescale::exponent(&self.options.scales, name)
    }

    /// Whether the model states the ranges of its values, and they can be the scales.
    pub(crate) fn states_ranges(&self) -> bool {
        let may_scale = self.instance.info().scaling.ports && self.exponents.is_empty();
        may_scale && Ranges::stated(&self.model.simplified).is_some()
    }

    /// Gives the values of the model the scales that its ranges ask for, where that is legal.
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
            "the ranges that the model states are used: {} stored divided by powers of two (`--rescale never` for values as \
             they are)",
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

    /// The graph that the instance lowers.
    pub(crate) fn prepared(&self) -> Result<Graph, Error> {
        let graph = &self.model.simplified;
        if self.options.prepared {
            return Ok(graph.clone());
        }
        let lowered = self.instance.prepare(graph, &self.options, GraphForm::Lowered);
        lowered.map_err(|error| self.explained(error))
    }

    /// The weights that the machine does not have as the model does.
    pub(crate) fn altered_weights(&self) -> Result<Vec<Weight>, Error> {
        let _phase = Phase::begin("compare weights");
        let (model, lowered) = (&self.model.graph, self.prepared()?);
        let mut altered = weights::altered(model, &lowered, self.instance.info().number_format);
        altered.extend(self.quantisation.iter().flat_map(|report| weights::quantised(&lowered, report)));
        Ok(altered)
    }

    /// Makes the compiled graph the instance's own and its tensors integers, when the instance asks for that.
    /// Without a method it is the one that is nearest to float on the samples.
    pub(crate) fn quantise(&mut self, method: Option<Method>, typical: &Typical) -> Result<(), Error> {
        let Some(scheme) = self.instance.info().quantisation.clone() else { return Ok(()) };
        self.model.simplified = self.prepared()?;
        let host = self.host_nodes()?;
        let graph = &self.model.simplified;
        let run = |graph: &Graph, found: &Quantisation, samples: &[Sample]| {
            let quantisation = Some(found.clone());
            let options =
                CompileOptions { prepared: true, quantisation, draft: true, ..self.options.clone() };
            let Ok(compiled) = self.instance.compile(graph, &options) else { return Ok(None) };
            outputs_by_sample(graph, &*compiled, samples)
        };
        let job = Job { graph, scheme: &scheme, host: &host, method, typical, machine: Some(&run) };
        let Quantised { graph, found, report } = job.run()?;
        (self.options.prepared, self.options.quantisation) = (true, Some(found));
        if let Some(graph) = graph {
            self.model.simplified = graph;
        }
        if report.own {
            self.note_own(report.samples);
        }
        self.quantisation = Some(report);
        Ok(())
    }

    /// The nodes of the prepared graph that the host computes in floats, between segments. (A driver's own steps are on
    /// integers, whose scales must agree.)
    fn host_nodes(&self) -> Result<BTreeSet<NodeId>, Error> {
        let graph = &self.model.simplified;
        let steps = self.instance.nodes_of_host(graph)?;
        let mut named: BTreeMap<&str, Vec<NodeId>> = BTreeMap::new();
        for (id, node) in (0..).map(NodeId).zip(&graph.nodes).filter(|(_, node)| steps.contains(&node.name)) {
            named.entry(node.name.as_str()).or_default().push(id);
        }
        // Of several nodes by one name it is not known which one is meant.
        Ok(named.into_values().filter(|ids| ids.len() == 1).flatten().collect())
    }

    /// Notes that the run's own inputs chose the scales.
    fn note_own(&mut self, samples: usize) {
        let samples = counted(samples as u64, "sample");
        let note =
            format!("scales were chosen by the first {samples} of --input; --calibrate takes typical inputs");
        self.note(note);
    }

    fn note(&mut self, note: String) {
        self.model.remarks = std::mem::take(&mut self.model.remarks).with_notes(vec![note]);
    }

    /// The range that values are taken to have, where nothing shows theirs: that of the machine's fixed-point numbers.
    pub(crate) fn assumed_range(&self) -> Option<String> {
        let format = self.instance.info().number_format.filter(|format| format.step().is_some())?;
        let is_known = self.rescaling.is_some() || self.quantisation.is_some() || !self.exponents.is_empty();
        let note = || {
            format!(
                "values are taken to fit {format}: give typical inputs with --calibrate, or their range with --range"
            )
        };
        (!is_known).then(note)
    }

    /// A target's error, with consequences under their cause where it refuses nodes.
    pub(crate) fn explained(&self, error: TargetError) -> Error {
        let TargetError::Refused(mut problems) = error else { return error.into() };
        problems.iter_mut().filter(|problem| problem.op == "Loop").for_each(name_loop);
        let Remarks { notes, warnings } = self.remarks();
        let causes =
            causes(&self.model.simplified, &problems, |graph| self.instance.check(graph, &self.options).ok());
        let report =
            Report { notes, warnings, ..Report::refused(Some(&self.model.simplified), problems, &causes) };
        Error::Refused { report: Box::new(report) }
    }
}

/// The outputs of a program by sample, in the order of the graph's; none where the program does not give them all.
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

/// Takes a model between real numbers where it passes through integers, for an instance that has others, or none: that is
/// said.
fn lift(instance: &dyn Instance, model: &mut Model) -> Result<(), Error> {
    let passages = |model: &Model| {
        let is_one = |node: &&Node| matches!(node.op, Op::QuantizeLinear(_));
        model.simplified.nodes.iter().filter(is_one).count() as u64
    };
    let before = passages(model);
    if instance.info().quantisation.is_some() {
        return model.lift();
    }
    let Some(format) = instance.info().number_format.filter(|_| before > 0) else { return Ok(()) };
    model.lift_saturating()?;
    let gone = before.saturating_sub(passages(model));
    let note = format!(
        "{} of the model to integers of its own {} not done: the numbers that they stand for, cut off where they are, are held as {format}",
        counted(gone, "passage"),
        if gone == 1 { "is" } else { "are" },
    );
    model.remarks =
        std::mem::take(&mut model.remarks).with_notes((gone > 0).then_some(note).into_iter().collect());
    Ok(())
}

/// Says of a loop that is left in a model why: no program goes back by a value that it computes.
fn name_loop(problem: &mut Problem) {
    let reason = "how often it repeats its body is known only when it runs, or is more than is unrolled";
    let hint =
        "fix the input that says how often (`--set NAME=NUMBER`), or end the model before it (`--outputs`)";
    *problem = Problem::new(&problem.node, "Loop", reason, hint);
}

/// Whether a model may be cut, by the option as it was given.
fn may_cut(instance: &dyn Instance, given: Option<(String, String)>) -> Result<bool, Error> {
    let given: BTreeMap<String, String> = given.into_iter().collect();
    let chosen = Chosen::new(&instance.info().name, &[SEGMENTS], Stage::Compile, &given);
    let chosen = chosen.map_err(TargetError::from)?;
    Ok(chosen.text(SEGMENTS.key) != Some("no"))
}
