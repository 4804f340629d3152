//! [`Origin`]: a model and the instance it is compiled for.

use std::collections::BTreeMap;

use npukit_graph::quantise::Method;
use npukit_graph::{Graph, Node, Op};
use npukit_target::{CompileOptions, Compiled, Instance, Phase, Problem, TargetError};

use crate::error::Error;
use crate::groups::causes;
use crate::inputs::Sample;
use crate::model::Model;
use crate::quantise::{self, Job};
use crate::refusal::Report;
use crate::remarks::Remarks;
use crate::rescale::{self, Exponents, Remaining};
use crate::weights::{self, Weight};

/// What a program was made from.
pub(crate) struct Origin {
    pub instance: Box<dyn Instance>,
    /// Its `simplified` graph is the one compiled, rescaled where that was chosen.
    pub model: Model,
    pub options: CompileOptions,
    /// Of the compiled graph's values.
    pub exponents: Exponents,
    /// What came of the calibration, if there was one.
    pub rescaling: Option<rescale::Report>,
    /// What came of the quantisation, for a target that asks for one.
    pub quantisation: Option<quantise::Report>,
}

impl Origin {
    /// The model for its instance: as it is, or between real numbers where it passes through integers and the
    /// instance chooses those.
    pub(crate) fn new(
        instance: Box<dyn Instance>,
        mut model: Model,
        options: BTreeMap<String, String>,
    ) -> Result<Self, Error> {
        if instance.quantisation().is_some() {
            model.lift()?;
        }
        let model_name = model.file_name.clone();
        let options = CompileOptions { model_name, options, ..CompileOptions::default() };
        let exponents = Exponents::new();
        Ok(Self { instance, model, options, exponents, rescaling: None, quantisation: None })
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

    /// The program.
    pub(crate) fn compile(&self) -> Result<Box<dyn Compiled>, Error> {
        self.refuse_loops()?;
        let _phase = Phase::begin("compile");
        let compiled = self.instance.compile(&self.model.simplified, &self.options);
        compiled.map_err(|error| self.explained(error))
    }

    /// Refuses a model with nodes that the instance does not take.
    pub(crate) fn admit(&self) -> Result<(), Error> {
        self.refuse_loops()?;
        let _phase = Phase::begin("check nodes");
        match self.instance.check(&self.model.simplified, &self.options)? {
            problems if problems.is_empty() => Ok(()),
            problems => Err(self.explained(TargetError::Refused(problems))),
        }
    }

    /// Refuses a model with loops that are left in it: no program goes back by a value that it computes.
    fn refuse_loops(&self) -> Result<(), Error> {
        let graph = &self.model.simplified;
        let loops: Vec<&Node> = graph.nodes.iter().filter(|node| matches!(node.op, Op::Loop(_))).collect();
        if loops.is_empty() {
            return Ok(());
        }
        let mut problems = self.instance.check(graph, &self.options)?;
        problems.retain(|problem| problem.op != "Loop");
        problems.extend(loops.into_iter().map(|node| {
            let reason = "how often it repeats its body is known only when it runs, or is more than is unrolled";
            let hint = "fix the input that says how often (`--set NAME=NUMBER`), or end the model before it (`--outputs`)";
            Problem::new(&node.name, "Loop", reason, hint)
        }));
        Err(self.explained(TargetError::Refused(problems)))
    }

    /// The graph that the instance lowers.
    pub(crate) fn prepared(&self) -> Result<Graph, Error> {
        let graph = &self.model.simplified;
        if self.options.prepared {
            return Ok(graph.clone());
        }
        self.instance.prepare(graph, &self.options).map_err(|error| self.explained(error))
    }

    /// The weights that the machine does not have as the model does.
    pub(crate) fn altered_weights(&self) -> Result<Vec<Weight>, Error> {
        let _phase = Phase::begin("compare weights");
        let (model, lowered) = (&self.model.graph, self.prepared()?);
        let mut altered = weights::altered(model, &lowered, self.instance.number_format());
        altered.extend(self.quantisation.iter().flat_map(|report| weights::quantised(&lowered, report)));
        Ok(altered)
    }

    /// Makes the compiled graph the instance's own and its tensors integers, when the instance asks for that.
    /// Without a method it is the one that is nearest to float on the samples.
    pub(crate) fn quantise(&mut self, method: Option<Method>, samples: &[Sample]) -> Result<(), Error> {
        let Some(scheme) = self.instance.quantisation() else { return Ok(()) };
        self.model.simplified = self.prepared()?;
        let job = Job { graph: &self.model.simplified, scheme: &scheme, method, samples };
        let (quantisation, report) = job.run()?;
        (self.options.prepared, self.options.quantisation) = (true, Some(quantisation));
        self.quantisation = Some(report);
        Ok(())
    }

    /// A target's error, with consequences under their cause where it refuses nodes.
    pub(crate) fn explained(&self, error: TargetError) -> Error {
        let TargetError::Refused(problems) = error else { return error.into() };
        let Remarks { notes, warnings } = self.remarks();
        let causes =
            causes(&self.model.simplified, &problems, |graph| self.instance.check(graph, &self.options).ok());
        let report =
            Report { notes, warnings, ..Report::refused(Some(&self.model.simplified), problems, &causes) };
        Error::Refused { report: Box::new(report) }
    }
}
