//! [`Machine`]: a program on the machine, with the results of its layers if its model is known.

use std::collections::{BTreeMap, BTreeSet};

use npukit_base::counted;
use npukit_graph::Graph;
use npukit_numeric::{NumberFormat, Tensor};
use npukit_target::{Compiled, Output, Port, ProgramPart, RunOptions, Writer};

use super::float::line;
use super::shown::shown_values;
use super::{Given, Line, SampleTensor, Shown, TensorKind, Values};
use crate::Context;
use crate::compare::layer_compare::{InstrumentedProgram, MachineValues, Part, parts, rounded};
use crate::compare::shape_source::ShapeSource;
use crate::error::Error;
use crate::inputs::{self, ReadText, Sample, wanted};
use crate::model::compile_job::{CompileJob, CompiledModel};
use crate::model::program::Program;
use crate::model::source::Source;
use crate::model::{self, Model};
use crate::run::batch::{in_model_shape, stacks};
use crate::run::stack::Stack;

/// Program, and samples for it.
pub(crate) struct Machine {
    compiled: Box<dyn Compiled>,
    /// Names and shapes of the model, for an artifact.
    like: Option<ShapeSource>,
    samples: Vec<Sample>,
    /// Samples in the model's shapes.
    pub model_samples: Vec<Sample>,
    /// Number format by which inputs are rounded, if there is a single one.
    format: Option<NumberFormat>,
    /// Layers of the program; `None` for an artifact without its model.
    pub layers: Option<Layers>,
    pub(super) lines: Vec<Line>,
}

/// Layers of a program whose results can be read.
pub(crate) struct Layers {
    pub origin: CompileJob,
    /// For an artifact: the model compiled here, and the path of the model.
    beside: Option<(Box<dyn Compiled>, String)>,
    instrumented: InstrumentedProgram,
    /// Name and form in the model of each value of the compiled graph.
    pub shown: BTreeMap<String, Shown>,
}

impl Layers {
    /// Returns the compiled graph.
    pub fn graph(&self) -> &Graph {
        &self.instrumented.graph
    }
}

/// Range of instructions of a layer.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Instructions {
    /// Program that contains the layer; empty if there is only one.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub program: String,
    /// Index of the first instruction, from 0.
    pub first: usize,
    /// Index of the last instruction; `None` for a layer that extends to the end.
    pub last: Option<usize>,
}

impl Machine {
    /// Prepares a program and its samples; a compiled model also gets the results of its layers.
    /// Also returns notes on how inputs were read.
    ///
    /// # Errors
    ///
    /// Fails if the samples cannot be read or the model cannot be compiled again.
    pub fn new(
        Program { compiled, origin, .. }: Program,
        given: Given<'_>,
        context: Context<'_>,
    ) -> Result<(Self, Vec<String>), Error> {
        let wanted = wanted::of_program(&*compiled, origin.as_ref().map(|origin| &origin.model));
        let read_text = |name: &str, bytes: &[u8]| compiled.read_text(name, bytes);
        let text = Some(&read_text as &ReadText<'_>);
        let found = inputs::samples(given.inputs, &wanted, given.preprocess, context.reader, text)?;
        let model_samples = in_model_shape(&*compiled, &found.samples);
        let layers = origin.map(|origin| Layers::new(origin, &*compiled, model_samples.first()));
        let mut machine = Self {
            format: format(&*compiled, layers.as_ref().and_then(|layers| layers.as_ref().ok())),
            compiled,
            like: None,
            samples: found.samples,
            model_samples,
            layers: layers.transpose()?,
            lines: Vec::new(),
        };
        machine.lines = machine.all_lines();
        Ok((machine, found.notes))
    }

    /// Opens an artifact with the model that it was compiled from. The model is read and lowered
    /// with the options of `source`, for the artifact's own instance.
    ///
    /// # Errors
    ///
    /// Returns [`Error::OtherModel`] for a model that does not match the artifact, or whose outputs
    /// differ from the artifact's in any bit. Also fails as [`Self::new`] does.
    pub fn of_artifact(
        program: Program,
        source: &Source,
        given: Given<'_>,
        context: Context<'_>,
    ) -> Result<(Self, Vec<String>), Error> {
        let compiled = program.compiled;
        let options = source.model.for_artifact(&*compiled)?;
        let model = model::load(&source.path, &options, given.inputs, context.reader)?;
        let like = ShapeSource::new(&*compiled, &model, &source.path)?;
        let read_text = |name: &str, bytes: &[u8]| compiled.read_text(name, bytes);
        let text = Some(&read_text as &ReadText<'_>);
        let found = inputs::samples(given.inputs, &like.inputs(), given.preprocess, context.reader, text)?;
        let mut notes = like.notes();
        notes.extend(found.notes);
        let model_samples: Vec<Sample> = in_model_shape(&*compiled, &found.samples);
        let samples: Vec<Sample> = found.samples.into_iter().map(|sample| like.packed(sample)).collect();
        let CompiledModel { origin, program: beside } = recompiled(source, model, &*compiled, context)?;
        notes.push(difference_note(&*compiled, &*beside));
        let layers = Layers::new(origin, &*beside, model_samples.first())?;
        let layers = Some(Layers { beside: Some((beside, source.path.clone())), ..layers });
        let format = format(&*compiled, layers.as_ref());
        let mut machine =
            Self { compiled, like: Some(like), samples, model_samples, format, layers, lines: Vec::new() };
        machine.lines = machine.all_lines();
        Ok((machine, notes))
    }

    pub(super) fn samples(&self) -> usize {
        self.samples.len()
    }

    /// Returns the tensors in the order of layers.
    pub fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// Returns the program.
    pub fn compiled(&self) -> &dyn Compiled {
        &*self.compiled
    }

    /// Returns the distance between adjacent numbers of its memories. `None` without a single
    /// format, or the format has no fixed step.
    pub fn step(&self) -> Option<f64> {
        self.format?.step()
    }

    /// Returns the program whose layers are seen.
    fn layered(&self) -> &dyn Compiled {
        let beside = self.layers.as_ref().and_then(|layers| layers.beside.as_ref());
        beside.map_or(&*self.compiled, |(beside, _)| &**beside)
    }

    /// Returns each layer as a part of the graph, after the names of its results. Parts start at
    /// the values that the machine holds, or at the values named in `held`.
    pub fn parts(&self, held: Option<&BTreeSet<String>>) -> Vec<(Vec<String>, Option<Part>)> {
        let Some(layers) = &self.layers else { return Vec::new() };
        let (origin, graph) = (&layers.origin, layers.graph());
        let found = match held {
            Some(held) => parts(origin, self.layered(), graph, held.iter().map(String::as_str)),
            None => parts(origin, self.layered(), graph, layers.instrumented.names()),
        };
        let named = self.layered().info().layers.iter().zip(found);
        named.map(|(layer, part)| (layer.results.clone(), part)).collect()
    }

    /// Returns its values for a sample.
    pub(super) fn values(&self, index: usize) -> Result<Values, Error> {
        let (Some(sample), Some(model_sample)) = (self.samples.get(index), self.model_samples.get(index))
        else {
            return Ok(Values::default());
        };
        let result = self.compiled.run_with(sample, &RunOptions::default())?;
        let saturations = result.saturations.clone();
        let Some(layers) = &self.layers else {
            let mut shown: BTreeMap<String, SampleTensor> = BTreeMap::new();
            let scales = &self.compiled.info().scales;
            let inputs = model_sample.iter().map(|(name, tensor)| {
                let tensor = rounded(name, tensor, self.format, scales);
                (name.clone(), SampleTensor { tensor, raw: Vec::new() })
            });
            shown.extend(inputs);
            let outputs = result.outputs.into_iter();
            shown.extend(
                outputs.map(|Output { name, values, raw }| (name, SampleTensor { tensor: values, raw })),
            );
            return Ok(Values { shown, saturations, ..Values::default() });
        };
        let outputs = match &self.like {
            Some(like) => by_model(like, &*self.compiled, result),
            None => result.outputs,
        };
        // An artifact takes rows; the program compiled here takes the model's shapes.
        let samples = if self.like.is_some() { [model_sample; 2] } else { [sample, model_sample] };
        let is_passed = |output: &&Output| model_sample.iter().any(|(name, _)| *name == output.name);
        let passed: Vec<Output> = outputs.iter().filter(is_passed).cloned().collect();
        let held = layers.instrumented.run(self.format, samples, outputs);
        let MachineValues { values, raw } = held.map_err(|error| layers.of_artifact(error))?;
        let mut shown = BTreeMap::new();
        for (name, tensor) in &values {
            if let Some(as_model) = layers.shown.get(name) {
                // Default: results computed by the host have no integers.
                let raw = raw.get(name).map(Vec::as_slice).unwrap_or_default();
                shown.insert(as_model.name.clone(), as_model.show(tensor, raw));
            }
        }
        // An input that is also an output is returned unchanged, even if the machine rounds it for
        // its layers.
        shown.extend(
            passed
                .into_iter()
                .map(|Output { name, values, raw }| (name, SampleTensor { tensor: values, raw })),
        );
        Ok(Values { shown, stored: values, saturations })
    }

    /// Returns the last instruction that writes an element of an output, if the program knows it.
    pub fn writer(&self, name: &str, element: usize) -> Option<Writer> {
        let at = match &self.like {
            // The artifact's outputs are named as in the model.
            Some(like) => like.output_of(name)?,
            None => name.to_owned(),
        };
        self.compiled.writer(&at, element)
    }

    /// Returns the instructions of each layer, by name.
    pub fn instructions(&self) -> BTreeMap<String, Instructions> {
        let mut found = BTreeMap::new();
        // A target without a disassembler reports no instructions.
        let Ok(words) = self.compiled.words() else { return found };
        for ProgramPart { name: program, layers, .. } in words.parts {
            for (place, (first, layer)) in layers.iter().enumerate() {
                let last = layers.get(place + 1).map(|(next, _)| next.saturating_sub(1));
                let one = Instructions { program: program.clone(), first: *first, last };
                found.entry(layer.clone()).or_insert(one);
            }
        }
        found
    }

    /// Lists the inputs, the results of layers in order, and the outputs that no layer computes.
    fn all_lines(&self) -> Vec<Line> {
        let Some(layers) = &self.layers else { return self.port_lines() };
        let graph = layers.graph();
        let of = |name: &str, layer: Option<&str>| {
            let (id, shown) = (graph.find_value(name)?, layers.shown.get(name)?);
            let line = line(graph, id, shown);
            let kind = match (line.kind, layer) {
                (TensorKind::Value, Some(_)) => TensorKind::Layer,
                (kind, _) => kind,
            };
            Some(Line { layer: layer.map(str::to_owned), kind, ..line })
        };
        let names: BTreeSet<&str> = layers.instrumented.names().collect();
        let mut lines: Vec<Line> = Vec::new();
        let mut add = |line: Option<Line>| {
            lines.extend(line.filter(|line| lines.iter().all(|other| other.name != line.name)));
        };
        graph.inputs.iter().for_each(|&id| add(of(&graph.value(id).name, None)));
        for layer in &self.layered().info().layers {
            let seen = layer.results.iter().filter(|name| names.contains(name.as_str()));
            seen.for_each(|name| add(of(name, Some(&layer.name))));
        }
        graph.outputs.iter().for_each(|&id| add(of(&graph.value(id).name, None)));
        lines
    }

    /// Describes the inputs and outputs of an artifact.
    fn port_lines(&self) -> Vec<Line> {
        let line =
            |port: Port, kind| Line { name: port.name, shape: port.shape, axes: None, layer: None, kind };
        let inputs = self.compiled.inputs().into_iter().map(|port| line(port, TensorKind::Input));
        let outputs = self.compiled.outputs().into_iter().map(|port| line(port, TensorKind::Output));
        // An output may also be an input.
        let mut lines: Vec<Line> = inputs.collect();
        let others = outputs.filter(|output| lines.iter().all(|input| input.name != output.name));
        let others: Vec<Line> = others.collect();
        lines.extend(others);
        lines
    }
}

impl Layers {
    fn new(origin: CompileJob, compiled: &dyn Compiled, sample: Option<&Sample>) -> Result<Self, Error> {
        let instrumented = InstrumentedProgram::new(&origin, compiled)?;
        let graph = &instrumented.graph;
        let inputs = graph.inputs.iter().map(|&id| graph.value(id).name.as_str());
        let names: BTreeSet<&str> = instrumented.names().chain(inputs).collect();
        let shown = shown_values([&origin.model.graph, graph], &names, &origin.exponents, sample)?;
        Ok(Self { origin, beside: None, instrumented, shown })
    }

    /// Turns the error of differing outputs into one about the model: with an artifact, it belongs
    /// to another model.
    fn of_artifact(&self, error: Error) -> Error {
        match (error, &self.beside) {
            (Error::KeptDiffers { output }, Some((_, path))) => {
                let message = "of the artifact differs from the output of the model compiled here";
                Error::OtherModel { path: path.clone(), reason: format!("output `{output}` {message}") }
            }
            (error, _) => error,
        }
    }
}

/// Returns the number format of a program's memories, or `None` without a single format.
fn format(compiled: &dyn Compiled, layers: Option<&Layers>) -> Option<NumberFormat> {
    match layers {
        Some(layers) => layers.origin.instance.info().number_format,
        None => compiled.words().ok()?.instance.info().number_format,
    }
}

/// Compiles the model for the instance of an artifact.
fn recompiled(
    source: &Source,
    model: Model,
    compiled: &dyn Compiled,
    context: Context<'_>,
) -> Result<CompiledModel, Error> {
    let origin = source.beside(compiled, model, context)?;
    source.calibrate(source.quantize(origin, context)?, context)
}

/// Describes whether the artifact equals the program that the model compiles to here.
fn difference_note(artifact: &dyn Compiled, beside: &dyn Compiled) -> String {
    let bytes = |compiled: &dyn Compiled| {
        let words = compiled.words().ok()?;
        Some(words.parts.into_iter().map(|part| part.bytes).collect::<Vec<_>>())
    };
    match (bytes(artifact), bytes(beside)) {
        (Some(a), Some(b)) if a == b => {
            "the artifact equals the program compiled here, word for word".to_owned()
        }
        _ => {
            let instructions = counted(beside.report().instructions as u64, "instruction");
            format!(
                "the artifact differs from the program compiled here ({instructions}): results of layers come from the \
                 latter, whose outputs equal the artifact's bit for bit"
            )
        }
    }
}

/// Returns the outputs of an artifact under the model's names and in its shapes.
fn by_model(like: &ShapeSource, compiled: &dyn Compiled, result: npukit_target::RunResult) -> Vec<Output> {
    let one = |mut stack: Stack| {
        let values: Tensor = stack.samples.pop()?;
        // Default: results computed by the host have no integers.
        Some(Output { name: stack.name, values, raw: stack.raw.pop().unwrap_or_default() })
    };
    like.unpacked(stacks(compiled, vec![result])).into_iter().filter_map(one).collect()
}
