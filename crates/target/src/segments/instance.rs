//! [`SegmentedInstance`]: an instance that compiles the supported part of a model and leaves the
//! rest to the host.

use std::collections::BTreeSet;
use std::sync::Arc;

use npukit_asm::analysis::Language;
use npukit_base::distinct;
use npukit_graph::Graph;
use npukit_lower::{Problem, Processor};
use serde_json::Value;

use super::cut::{Cut, joined};
use super::plan::SegmentPlan;
use super::program::{Part, SegmentedProgram, host_steps, together};
use crate::config::compile_options::{CompileOptions, Measures, TypicalInputs};
use crate::config::name::artifact_stem;
use crate::contract::instance::compile_estimate::CompileEstimate;
use crate::contract::instance::info::InstanceInfo;
use crate::contract::instance::{GraphForm, Instance};
use crate::contract::program::Compiled;
use crate::error::TargetError;
use crate::phase::Phase;

/// An instance with the plan for one model. It has the verbs of the instance's compiler; it has
/// no assembler.
pub struct SegmentedInstance {
    info: InstanceInfo,
    instance: Arc<dyn Instance>,
    plan: SegmentPlan,
}

impl SegmentedInstance {
    /// Creates an instance that compiles models by `plan`.
    pub fn new(instance: Arc<dyn Instance>, plan: SegmentPlan) -> Self {
        // Reports of segments have no parameters and no area. No user inputs exist for a segment,
        // so nothing can be measured on it.
        let info = InstanceInfo {
            parameters: Value::Null,
            area: None,
            measures: |_| Ok(Measures::Never),
            ..instance.info().clone()
        };
        Self { info, instance, plan }
    }

    fn cut(&self, graph: &Graph) -> Result<Vec<Cut>, TargetError> {
        self.plan.cut(graph).map_err(TargetError::failed)
    }

    /// Returns the graph with each segment replaced by the result of the callback.
    fn changed(
        &self,
        graph: &Graph,
        change: &dyn Fn(&Graph) -> Result<Graph, TargetError>,
    ) -> Result<Graph, TargetError> {
        let part = |Cut { place, graph }| match place {
            Processor::Chip => change(&graph),
            Processor::Host => Ok(graph),
        };
        let parts: Result<Vec<Graph>, _> = self.cut(graph)?.into_iter().map(part).collect();
        Ok(joined(graph, &parts?))
    }

    /// Calls the callback for each part of the graph and returns the results.
    fn parts<T>(
        &self,
        graph: &Graph,
        options: &CompileOptions,
        mut chip: impl FnMut(&Graph, &CompileOptions) -> Result<T, TargetError>,
        mut host: impl FnMut(Graph) -> T,
    ) -> Result<Vec<T>, TargetError> {
        let mut segment = 0;
        let part = |Cut { place, mut graph }: Cut| {
            // Fraction lengths refer to value numbers, which the callback changes.
            if place == Processor::Host || options.quantization.is_none() {
                graph.remove_dead();
            }
            if place == Processor::Host {
                return Ok(host(graph));
            }
            let model_name = of_segment(&options.model_name, segment);
            segment += 1;
            // The user's inputs do not apply to a segment.
            let samples = TypicalInputs::default();
            chip(&graph, &CompileOptions { model_name, samples, ..options.clone() })
        };
        self.cut(graph)?.into_iter().map(part).collect()
    }
}

/// Returns the file name of a model, with the number of a segment before its extension.
fn of_segment(model: &str, segment: usize) -> String {
    match model.rsplit_once('.') {
        Some((stem, ending)) => format!("{stem}_seg{segment}.{ending}"),
        None => format!("{model}_seg{segment}"),
    }
}

impl Instance for SegmentedInstance {
    fn info(&self) -> &InstanceInfo {
        &self.info
    }

    fn wider_formats(&self) -> Vec<Box<dyn Instance>> {
        let segmented = |wider| Box::new(Self::new(Arc::from(wider), self.plan.clone())) as Box<dyn Instance>;
        self.instance.wider_formats().into_iter().map(segmented).collect()
    }

    fn language(&self, name: &str) -> Option<Box<dyn Language>> {
        self.instance.language(name)
    }

    /// Returns no problems: the plan already avoids everything that the instance refuses.
    fn check(&self, _graph: &Graph, _options: &CompileOptions) -> Result<Vec<Problem>, TargetError> {
        Ok(Vec::new())
    }

    fn prepare(
        &self,
        graph: &Graph,
        options: &CompileOptions,
        form: GraphForm,
    ) -> Result<Graph, TargetError> {
        self.changed(graph, &|segment| self.instance.prepare(segment, options, form))
    }

    fn nodes_of_host(&self, graph: &Graph) -> Result<BTreeSet<String>, TargetError> {
        let of_host = self.cut(graph)?.into_iter().filter(|cut| cut.place == Processor::Host);
        Ok(of_host.flat_map(|cut| cut.graph.nodes).map(|node| node.name).collect())
    }

    fn compile(&self, graph: &Graph, options: &CompileOptions) -> Result<Box<dyn Compiled>, TargetError> {
        let phase = Phase::counting("compile segments", self.plan.parts.len());
        let chip = |graph: &Graph, options: &CompileOptions| {
            let compiled = self.instance.compile(graph, options)?;
            phase.advance();
            Ok(Part::Chip(compiled))
        };
        let parts = self.parts(graph, options, chip, |graph| Part::Host(Box::new(graph)))?;
        let model = Some(&options.model_name).filter(|name| !name.is_empty()).unwrap_or(&graph.name);
        let stem = artifact_stem(model, self.info.instance());
        let (target, reasons) = (self.info.name.clone(), self.plan.reasons.clone());
        let program = SegmentedProgram::new(stem, target, graph, parts, reasons);
        Ok(Box::new(SegmentedProgram { reading: options.reading.clone(), ..program }))
    }

    fn estimate(&self, graph: &Graph, options: &CompileOptions) -> Result<CompileEstimate, TargetError> {
        let reasons = &self.plan.reasons;
        let chip = |graph: &Graph, options: &CompileOptions| self.instance.estimate(graph, options);
        let host = |graph: Graph| CompileEstimate {
            host_macs: graph.macs(),
            host_steps: host_steps(&graph, reasons),
            ..CompileEstimate::default()
        };
        let parts = self.parts(graph, options, chip, host)?;
        Ok(CompileEstimate {
            macs: Some(graph.macs()),
            host_macs: parts.iter().map(|part| part.host_macs).fold(0, u64::saturating_add),
            is_idle: parts.iter().all(|part| part.segments == 0 || part.is_idle),
            segments: parts.iter().map(|part| part.segments).sum(),
            memory: together(parts.iter().map(|part| &part.memory)),
            warnings: distinct(parts.iter().flat_map(|part| &part.warnings)),
            host_steps: parts.into_iter().flat_map(|part| part.host_steps).collect(),
        })
    }

    fn emit(&self, graph: &Graph, options: &CompileOptions, stage: &str) -> Result<String, TargetError> {
        let chip = |graph: &Graph, options: &CompileOptions| self.instance.emit(graph, options, stage);
        let host = |graph: Graph| graph.to_string();
        let texts = self.parts(graph, options, chip, host)?;
        let mut text = String::new();
        let (mut segments, mut steps) = (0, 0);
        for (part, planned) in texts.iter().zip(&self.plan.parts) {
            let (place, count) = match planned.place {
                Processor::Chip => ("segment", &mut segments),
                Processor::Host => ("host", &mut steps),
            };
            text += &format!(
                "# {place} {count}: {} -> {}\n",
                planned.inputs.join(", "),
                planned.outputs.join(", ")
            );
            *count += 1;
            text += part;
            if !text.ends_with('\n') {
                text.push('\n');
            }
        }
        Ok(text)
    }
}
