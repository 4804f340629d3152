//! [`SegmentedProgram`]: segments and host steps in order.

mod field;
mod machine;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::ControlFlow;
use std::sync::OnceLock;

use npukit_base::distinct;
use npukit_graph::{Graph, Node, Operator, ValueInfo, evaluate};
use npukit_numeric::{ElementType, Tensor};

use super::{SegmentError, manifest};
use crate::config::compile_options::ModelReading;
use crate::config::run_options::RunOptions;
use crate::contract::convert::{as_element, to_element};
use crate::contract::cosim::{CosimJudge, CosimOptions};
use crate::contract::machine::{Machine, MachineOptions};
use crate::contract::output::{Inputs, Output, RunResult};
use crate::contract::port::Port;
use crate::contract::program::{Compiled, HostWork, Layer, ProgramInfo, ProgramPart, ProgramWords};
use crate::contract::proof::FieldProgram;
use crate::error::TargetError;
use crate::files::parts::ArtifactFile;
use crate::lint::Finding;
use crate::report::time::{TimeOptions, TimeReport};
use crate::report::{HostStepReport, MemoryReport, ProgramReport, Saturations};
use field::SegmentedField;
use machine::SegmentedMachine;

/// A part of a segmented program.
pub(super) enum Part {
    /// A program of the machine. Its ports have the names of the model's values.
    Chip(Box<dyn Compiled>),
    /// A graph that the host computes in `f32`.
    Host(Box<Graph>),
}

/// An input or output of the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct End {
    pub name: String,
    pub info: ValueInfo,
}

/// Programs of a machine, with host steps in between.
pub(super) struct SegmentedProgram {
    pub name: String,
    pub target: String,
    pub inputs: Vec<End>,
    pub outputs: Vec<End>,
    pub parts: Vec<Part>,
    /// Reasons why the machine refuses nodes, by node name.
    pub reasons: BTreeMap<String, String>,
    /// Multiply-accumulates of the model.
    pub macs: u64,
    /// Options with which the model was read.
    pub reading: ModelReading,
    /// Names of the model's values in which layers may end; empty for a program that was read from
    /// files.
    pub known: HashSet<String>,
    /// Info of the program, computed at first use.
    pub info: OnceLock<ProgramInfo>,
}

/// Reason why the host computes a node that the machine supports.
const BESIDE: &str = "it is cheap and next to other host steps";

impl SegmentedProgram {
    pub fn new(
        name: String,
        target: String,
        graph: &Graph,
        parts: Vec<Part>,
        reasons: BTreeMap<String, String>,
    ) -> Self {
        let end = |&id| {
            let value = graph.value(id);
            End { name: value.name.clone(), info: value.info.clone() }
        };
        let (inputs, outputs) =
            (graph.inputs.iter().map(end).collect(), graph.outputs.iter().map(end).collect());
        let known = graph.values.iter().map(|value| value.name.clone()).collect();
        Self {
            name,
            target,
            inputs,
            outputs,
            parts,
            reasons,
            macs: graph.macs(),
            reading: ModelReading::new(),
            known,
            info: OnceLock::new(),
        }
    }

    /// Returns the programs of the machine, in order.
    pub fn chips(&self) -> impl Iterator<Item = &dyn Compiled> {
        self.parts.iter().filter_map(|part| match part {
            Part::Chip(compiled) => Some(&**compiled),
            Part::Host(_) => None,
        })
    }

    fn hosts(&self) -> impl Iterator<Item = &Graph> {
        self.parts.iter().filter_map(|part| match part {
            Part::Chip(_) => None,
            Part::Host(graph) => Some(&**graph),
        })
    }

    /// Returns why the host computes a node.
    pub fn reason(&self, node: &Node) -> &str {
        reason(&self.reasons, node)
    }

    /// Returns all host steps in order: nodes between segments, and steps left over from segments.
    pub fn host_steps(&self) -> Vec<HostStepReport> {
        let steps = |part: &Part| match part {
            Part::Chip(compiled) => compiled.info().report.host_steps.clone(),
            Part::Host(graph) => host_steps(graph, &self.reasons),
        };
        self.parts.iter().flat_map(steps).collect()
    }

    /// Runs a part on the existing values, and adds its results.
    pub fn run_part(
        &self,
        part: &Part,
        values: &mut Values,
        options: &RunOptions,
        saturations: &mut Saturations,
    ) -> Result<(), TargetError> {
        match part {
            Part::Chip(compiled) => {
                let result = compiled.run_with(&self.sample(&**compiled, values)?, options)?;
                saturations.add(&result.saturations);
                add(values, result.outputs);
            }
            Part::Host(graph) => run_host(graph, values)?,
        }
        Ok(())
    }

    /// Selects a segment's inputs from the existing values.
    pub fn sample(
        &self,
        compiled: &dyn Compiled,
        values: &Values,
    ) -> Result<Vec<(String, Tensor)>, TargetError> {
        let sample = compiled.inputs().into_iter().map(|port| {
            // Default: a machine takes real numbers.
            let element = port.element.unwrap_or(ElementType::F32);
            let tensor = as_element(read(values, &self.name, &port.name)?, element);
            Ok((port.name, tensor))
        });
        sample.collect()
    }

    /// Selects the model's outputs from the existing values.
    fn ends(&self, values: &Values) -> Result<Vec<Output>, TargetError> {
        let output = |end: &End| find(values, "the model's end", &end.name).cloned();
        self.outputs.iter().map(output).collect()
    }
}

/// Computes a host part and adds its values.
fn run_host(graph: &Graph, values: &mut Values) -> Result<(), TargetError> {
    let tensor = |&id| {
        let value = graph.value(id);
        let tensor = read(values, "a host step", &value.name)?;
        Ok(as_element(tensor, value.info.element))
    };
    let tensors: Vec<Tensor> = graph.inputs.iter().map(tensor).collect::<Result<_, TargetError>>()?;
    let found = evaluate(graph, &tensors).map_err(SegmentError::from).map_err(TargetError::failed)?;
    let named = graph.outputs.iter().map(|&id| graph.value(id).name.clone()).zip(found);
    add(values, named.map(|(name, values)| Output { name, values, raw: Vec::new() }));
    Ok(())
}

/// Values of a run, by name.
pub(super) type Values = HashMap<String, Output>;

fn add(values: &mut Values, outputs: impl IntoIterator<Item = Output>) {
    values.extend(outputs.into_iter().map(|output| (output.name.clone(), output)));
}

/// Returns the values that exist before the first part.
pub(super) fn values_of(program: &SegmentedProgram, inputs: &Inputs) -> Result<Values, TargetError> {
    let mut values = Values::new();
    for end in &program.inputs {
        let tensor = end.port().tensor(inputs).map_err(TargetError::failed)?;
        let tensor = to_element(&end.name, tensor, end.info.element).map_err(TargetError::failed)?;
        let output = Output { name: end.name.clone(), values: tensor, raw: Vec::new() };
        values.insert(end.name.clone(), output);
    }
    Ok(values)
}

/// Returns why the host computes a node, given the machine's reasons.
fn reason<'a>(reasons: &'a BTreeMap<String, String>, node: &Node) -> &'a str {
    reasons.get(&node.name).map_or(BESIDE, String::as_str)
}

/// Returns the nodes of a host part.
pub(super) fn host_steps(graph: &Graph, reasons: &BTreeMap<String, String>) -> Vec<HostStepReport> {
    let step = |node: &Node| HostStepReport {
        node: node.name.clone(),
        op: node.op.name().to_owned(),
        output: node.outputs.iter().map(|&id| &*graph.value(id).name).collect::<Vec<_>>().join(", "),
        reason: reason(reasons, node).to_owned(),
    };
    graph.nodes.iter().map(step).collect()
}

/// Returns the number of elements of a node's results.
fn elements(graph: &Graph, node: &Node) -> u64 {
    let count = |&id| graph.shape(id).iter().fold(1, |all: u64, &size| all.saturating_mul(size as u64));
    node.outputs.iter().map(count).fold(0, u64::saturating_add)
}

/// Combines the memory use of segments that run in sequence.
pub(super) fn together<'a>(
    segments: impl Iterator<Item = &'a BTreeMap<String, MemoryReport>>,
) -> BTreeMap<String, MemoryReport> {
    let mut memory: BTreeMap<String, MemoryReport> = BTreeMap::new();
    for (name, of_segment) in segments.flatten() {
        match memory.get_mut(name) {
            Some(all) => {
                all.maximum = all.maximum.max(of_segment.maximum);
                all.aggregate = all.aggregate.saturating_add(of_segment.aggregate);
            }
            None => {
                memory.insert(name.clone(), of_segment.clone());
            }
        }
    }
    memory
}

/// Returns the tensor that `reader` reads.
fn read<'a>(values: &'a Values, reader: &str, name: &str) -> Result<&'a Tensor, TargetError> {
    find(values, reader, name).map(|output| &output.values)
}

fn find<'a>(values: &'a Values, reader: &str, name: &str) -> Result<&'a Output, TargetError> {
    let missing = || SegmentError::Missing { reader: reader.to_owned(), value: name.to_owned() };
    values.get(name).ok_or_else(|| TargetError::failed(missing()))
}

impl End {
    fn port(&self) -> Port {
        Port {
            name: self.name.clone(),
            shape: self.info.shape.clone(),
            vectors: None,
            element: Some(self.info.element),
        }
    }
}

impl SegmentedProgram {
    fn report(&self) -> ProgramReport {
        let reports: Vec<&ProgramReport> = self.chips().map(|chip| &chip.info().report).collect();
        let memory = together(reports.iter().map(|report| &report.memory));
        // A choice applies to the whole program if all segments share it.
        let (first, rest) =
            reports.split_first().map_or((None, &[][..]), |(first, rest)| (Some(*first), rest));
        let is_common = |(key, value): &(&String, &String)| {
            rest.iter().all(|report| report.choices.get(*key) == Some(*value))
        };
        let choices = first.into_iter().flat_map(|report| report.choices.iter().filter(is_common));
        let saturated = reports.iter().map(|report| report.saturated_constants);
        ProgramReport {
            name: self.name.clone(),
            target: self.target.clone(),
            instructions: reports.iter().map(|report| report.instructions).sum(),
            macs: Some(self.macs),
            memory,
            host_steps: self.host_steps(),
            choices: choices.map(|(key, value)| (key.clone(), value.clone())).collect(),
            saturated_constants: saturated.sum(),
            layers: reports.iter().flat_map(|report| report.layers.iter().cloned()).collect(),
            warnings: distinct(reports.iter().flat_map(|report| &report.warnings)),
        }
    }

    /// Returns the work of the host: its steps in order, and the values that it copies to and from
    /// each segment.
    fn host_work(&self) -> HostWork {
        let of_part = |part: &Part| match part {
            Part::Chip(compiled) => compiled.info().host.elements.clone(),
            Part::Host(graph) => graph.nodes.iter().map(|node| Some(elements(graph, node))).collect(),
        };
        HostWork {
            elements: self.parts.iter().flat_map(of_part).collect(),
            copied_bytes: self.chips().map(|chip| chip.info().host.copied_bytes).sum(),
        }
    }

    /// Whether all parts that read an integer input convert it to real numbers.
    fn becomes_real(&self, name: &str) -> bool {
        let of_part = |part: &Part| match part {
            Part::Chip(compiled) => {
                let info = compiled.info();
                let is_read = info.inputs.iter().any(|port| port.name == *name);
                is_read.then(|| info.real_inputs.iter().any(|real| real == name))
            }
            Part::Host(graph) => {
                let input = graph.inputs.iter().find(|&&id| graph.value(id).name == *name);
                input.map(|&id| graph.becomes_real(id))
            }
        };
        let mut readers = self.parts.iter().filter_map(of_part).peekable();
        readers.peek().is_some() && readers.all(|is_real| is_real)
    }

    fn made_info(&self) -> ProgramInfo {
        let of_segments: Vec<&ProgramInfo> = self.chips().map(Compiled::info).collect();
        let host_macs = of_segments.iter().map(|info| info.host_macs);
        let segments = of_segments.iter().map(|info| info.segments.unwrap_or(1)); // Default: a program that is not segmented is one program.
        let layer = |mut layer: Layer| {
            // Two segments may use the same name for internal values.
            layer.results.retain(|name| self.known.contains(name));
            layer
        };
        let ports = |ends: &[End]| ends.iter().map(End::port).collect();
        let names = || self.inputs.iter().map(|end| &end.name);
        ProgramInfo {
            host_macs: self.hosts().map(Graph::macs).chain(host_macs).fold(0, u64::saturating_add),
            host: self.host_work(),
            reading: self.reading.clone(),
            real_inputs: names().filter(|name| self.becomes_real(name)).cloned().collect(),
            segments: Some(segments.sum()),
            // Between segments the host has real values.
            scales: of_segments.iter().flat_map(|info| info.scales.clone()).collect(),
            layers: of_segments.iter().flat_map(|info| info.layers.clone()).map(layer).collect(),
            ..ProgramInfo::new(self.report(), ports(&self.inputs), ports(&self.outputs))
        }
    }
}

impl Compiled for SegmentedProgram {
    fn info(&self) -> &ProgramInfo {
        self.info.get_or_init(|| self.made_info())
    }

    fn files(&self) -> Result<Vec<ArtifactFile>, TargetError> {
        manifest::write(self)
    }

    fn words(&self) -> Result<ProgramWords, TargetError> {
        let mut words: Option<ProgramWords> = None;
        for (segment, compiled) in self.chips().enumerate() {
            let ProgramWords { instance, parts } = compiled.words()?;
            let named = parts.into_iter().map(|part| {
                let name = [format!("segment {segment}"), part.name.clone()];
                let name = name.into_iter().filter(|name| !name.is_empty()).collect::<Vec<_>>().join(", ");
                ProgramPart { name, ..part }
            });
            match &mut words {
                Some(words) => words.parts.extend(named),
                None => words = Some(ProgramWords { instance, parts: named.collect() }),
            }
        }
        words.ok_or_else(|| self.info().unsupported("disasm of a program with host steps only"))
    }

    fn run_with(&self, inputs: &Inputs, options: &RunOptions) -> Result<RunResult, TargetError> {
        let mut values = values_of(self, inputs)?;
        let mut saturations = Saturations::default();
        for part in &self.parts {
            self.run_part(part, &mut values, options, &mut saturations)?;
        }
        Ok(RunResult { outputs: self.ends(&values)?, saturations, data: Vec::new() })
    }

    fn cosim(
        &self,
        inputs: &Inputs,
        options: &CosimOptions,
        judge: &mut CosimJudge<'_>,
    ) -> Result<ControlFlow<(), Vec<Output>>, TargetError> {
        let mut values = values_of(self, inputs)?;
        for part in &self.parts {
            match part {
                Part::Host(graph) => run_host(graph, &mut values)?,
                Part::Chip(compiled) => {
                    match compiled.cosim(&self.sample(&**compiled, &values)?, options, judge)? {
                        ControlFlow::Break(()) => return Ok(ControlFlow::Break(())),
                        ControlFlow::Continue(outputs) => add(&mut values, outputs),
                    }
                }
            }
        }
        Ok(ControlFlow::Continue(self.ends(&values)?))
    }

    fn machine(
        &self,
        inputs: &Inputs,
        options: &MachineOptions<'_>,
    ) -> Result<Box<dyn Machine>, TargetError> {
        Ok(Box::new(SegmentedMachine::new(self, inputs, options)?))
    }

    fn in_field(&self) -> Result<Box<dyn FieldProgram + '_>, TargetError> {
        Ok(Box::new(SegmentedField::new(self)?))
    }

    fn lint(&self) -> Result<Vec<Finding>, TargetError> {
        let findings = self.chips().map(Compiled::lint).collect::<Result<Vec<_>, _>>()?;
        Ok(findings.into_iter().flatten().collect())
    }

    fn time(&self, options: &TimeOptions) -> Result<TimeReport, TargetError> {
        let times = self.chips().map(|compiled| compiled.time(options)).collect::<Result<Vec<_>, _>>()?;
        Ok(super::time::sum(times, self.host_steps().len()))
    }
}
