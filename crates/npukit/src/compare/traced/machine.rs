//! [`Machine`]: a program on the machine, and with its model the results of its layers.

use std::collections::{BTreeMap, BTreeSet};

use npukit_base::counted;
use npukit_graph::Graph;
use npukit_numeric::{NumberFormat, Tensor};
use npukit_target::{Compiled, Output, Port, ProgramPart, RunOptions, Writer};

use super::float::line;
use super::shown::shown_values;
use super::{Given, Held, Line, Shown, TensorKind, Values};
use crate::Context;
use crate::compare::layer_compare::{InstrumentedProgram, MachineValues, Part, parts, rounded};
use crate::compare::like::Like;
use crate::error::Error;
use crate::inputs::{self, ReadText, Sample, wanted};
use crate::model::origin::{CompiledModel, Origin};
use crate::model::program::Program;
use crate::model::source::Source;
use crate::model::{self, Model};
use crate::run::batch::{in_model_shape, stacks};
use crate::run::stack::Stack;

/// A program, and samples for it.
pub(crate) struct Machine {
    compiled: Box<dyn Compiled>,
    /// Names and shapes for an artifact.
    like: Option<Like>,
    samples: Vec<Sample>,
    /// Those in the model's shapes.
    pub model_samples: Vec<Sample>,
    /// By which inputs are rounded, where that is one.
    format: Option<NumberFormat>,
    /// What is known of its layers: nothing of an artifact alone.
    pub layers: Option<Layers>,
    pub(super) lines: Vec<Line>,
}

/// The layers of a program, whose results are seen.
pub(crate) struct Layers {
    pub origin: Origin,
    /// What the model was compiled to here, beside an artifact, and the model's path.
    beside: Option<(Box<dyn Compiled>, String)>,
    instrumented: InstrumentedProgram,
    /// What the model calls the values of the compiled graph.
    pub shown: BTreeMap<String, Shown>,
}

impl Layers {
    /// The graph that is compiled.
    pub fn graph(&self) -> &Graph {
        &self.instrumented.graph
    }
}

/// The instructions of a layer.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Instructions {
    /// Which program, where there are several.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub program: String,
    /// The first one, from 0.
    pub first: usize,
    /// The last one; none for a layer that goes on to the end.
    pub last: Option<usize>,
}

impl Machine {
    /// A program and its samples; of a compiled model with the results of its layers. Also gives how inputs were
    /// understood.
    ///
    /// # Errors
    ///
    /// Those of reading samples and of compiling the model once more.
    pub fn new(
        Program { compiled, origin, .. }: Program,
        given: Given<'_>,
        context: Context<'_>,
    ) -> Result<(Self, Vec<String>), Error> {
        let wanted = wanted::of_program(compiled.inputs(), origin.as_ref().map(|origin| &origin.model));
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

    /// An artifact with the model that it was compiled from, as `source` reads and lowers it for the artifact's own
    /// instance.
    ///
    /// # Errors
    ///
    /// [`Error::NotLike`] for a model that lends no names, or whose outputs are not bit for bit the artifact's; those of
    /// [`Self::new`].
    pub fn of_artifact(
        program: Program,
        source: &Source,
        given: Given<'_>,
        context: Context<'_>,
    ) -> Result<(Self, Vec<String>), Error> {
        let compiled = program.compiled;
        let model = model::load(&source.path, &source.model, given.inputs, context.reader)?;
        let like = Like::new(&*compiled, &model, &source.path)?;
        let read_text = |name: &str, bytes: &[u8]| compiled.read_text(name, bytes);
        let text = Some(&read_text as &ReadText<'_>);
        let found = inputs::samples(given.inputs, &like.inputs(), given.preprocess, context.reader, text)?;
        let mut notes = like.notes();
        notes.extend(found.notes);
        let model_samples: Vec<Sample> = in_model_shape(&*compiled, &found.samples);
        let samples: Vec<Sample> = found.samples.into_iter().map(|sample| like.packed(sample)).collect();
        let CompiledModel { origin, program: beside } = recompiled(source, model, &*compiled, context)?;
        notes.push(told_of(&*compiled, &*beside));
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

    /// Its tensors in the order of layers.
    pub fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// The program.
    pub fn compiled(&self) -> &dyn Compiled {
        &*self.compiled
    }

    /// The distance of neighbouring numbers of its memories; none where there is no one format, or it has no steps.
    pub fn step(&self) -> Option<f64> {
        self.format?.step()
    }

    /// The program whose layers are seen.
    fn layered(&self) -> &dyn Compiled {
        let beside = self.layers.as_ref().and_then(|layers| layers.beside.as_ref());
        beside.map_or(&*self.compiled, |(beside, _)| &**beside)
    }

    /// Each layer as a part of the graph, behind the values that it ends in: between those that the machine holds, or that
    /// `held` names.
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

    /// The values that it has for a sample.
    pub(super) fn values(&self, index: usize) -> Result<Values, Error> {
        let (Some(sample), Some(model_sample)) = (self.samples.get(index), self.model_samples.get(index))
        else {
            return Ok(Values::default());
        };
        let result = self.compiled.run_with(sample, &RunOptions::default())?;
        let saturations = result.saturations.clone();
        let Some(layers) = &self.layers else {
            let mut shown: BTreeMap<String, Held> = BTreeMap::new();
            let scales = &self.compiled.info().scales;
            let inputs = model_sample.iter().map(|(name, tensor)| {
                let tensor = rounded(name, tensor, self.format, scales);
                (name.clone(), Held { tensor, raw: Vec::new() })
            });
            shown.extend(inputs);
            let outputs = result.outputs.into_iter();
            shown.extend(outputs.map(|Output { name, values, raw }| (name, Held { tensor: values, raw })));
            return Ok(Values { shown, saturations, ..Values::default() });
        };
        let outputs = match &self.like {
            Some(like) => by_model(like, &*self.compiled, result),
            None => result.outputs,
        };
        // An artifact takes rows, the program beside it the model's shapes.
        let samples = if self.like.is_some() { [model_sample; 2] } else { [sample, model_sample] };
        let is_passed = |output: &&Output| model_sample.iter().any(|(name, _)| *name == output.name);
        let passed: Vec<Output> = outputs.iter().filter(is_passed).cloned().collect();
        let held = layers.instrumented.run(self.format, samples, outputs);
        let MachineValues { values, raw } = held.map_err(|error| layers.of_artifact(error))?;
        let mut shown = BTreeMap::new();
        for (name, tensor) in &values {
            if let Some(as_model) = layers.shown.get(name) {
                // Default: what the host makes has no integers.
                let raw = raw.get(name).map(Vec::as_slice).unwrap_or_default();
                shown.insert(as_model.name.clone(), as_model.show(tensor, raw));
            }
        }
        // An input that is an output, too, comes out as it went in, however the machine rounds it for its layers.
        shown.extend(
            passed.into_iter().map(|Output { name, values, raw }| (name, Held { tensor: values, raw })),
        );
        Ok(Values { shown, stored: values, saturations })
    }

    /// The instruction that writes an element of an output last, as far as the program knows.
    pub fn writer(&self, name: &str, element: usize) -> Option<Writer> {
        let at = match &self.like {
            // The artifact's outputs stand as the model's.
            Some(like) => like.output_of(name)?,
            None => name.to_owned(),
        };
        self.compiled.writer(&at, element)
    }

    /// The instructions of each layer, by its name.
    pub fn instructions(&self) -> BTreeMap<String, Instructions> {
        let mut found = BTreeMap::new();
        // A target without a disassembler tells nothing.
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

    /// Inputs, results of layers in their order, and the outputs that no layer ends in.
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

    /// What the ports of an artifact say.
    fn port_lines(&self) -> Vec<Line> {
        let line =
            |port: Port, kind| Line { name: port.name, shape: port.shape, axes: None, layer: None, kind };
        let inputs = self.compiled.inputs().into_iter().map(|port| line(port, TensorKind::Input));
        let outputs = self.compiled.outputs().into_iter().map(|port| line(port, TensorKind::Output));
        // An output may be an input.
        let mut lines: Vec<Line> = inputs.collect();
        let others = outputs.filter(|output| lines.iter().all(|input| input.name != output.name));
        let others: Vec<Line> = others.collect();
        lines.extend(others);
        lines
    }
}

impl Layers {
    fn new(origin: Origin, compiled: &dyn Compiled, sample: Option<&Sample>) -> Result<Self, Error> {
        let instrumented = InstrumentedProgram::new(&origin, compiled)?;
        let graph = &instrumented.graph;
        let inputs = graph.inputs.iter().map(|&id| graph.value(id).name.as_str());
        let names: BTreeSet<&str> = instrumented.names().chain(inputs).collect();
        let shown = shown_values([&origin.model.graph, graph], &names, &origin.exponents, sample)?;
        Ok(Self { origin, beside: None, instrumented, shown })
    }

    /// Beside an artifact, other outputs are those of another model.
    fn of_artifact(&self, error: Error) -> Error {
        match (error, &self.beside) {
            (Error::KeptDiffers { output }, Some((_, path))) => {
                let told = "of the artifact is not, bit for bit, that of the model compiled here";
                Error::NotLike { path: path.clone(), reason: format!("output `{output}` {told}") }
            }
            (error, _) => error,
        }
    }
}

/// The number format of a program's memories; none where there is no one format.
fn format(compiled: &dyn Compiled, layers: Option<&Layers>) -> Option<NumberFormat> {
    match layers {
        Some(layers) => layers.origin.instance.info().number_format,
        None => compiled.words().ok()?.instance.info().number_format,
    }
}

/// The model compiled for the instance of an artifact.
fn recompiled(
    source: &Source,
    model: Model,
    compiled: &dyn Compiled,
    context: Context<'_>,
) -> Result<CompiledModel, Error> {
    let origin = source.beside(compiled, model, context)?;
    source.calibrate(source.quantize(origin, context)?, context)
}

/// Whether the artifact is what the model is compiled to here.
fn told_of(artifact: &dyn Compiled, beside: &dyn Compiled) -> String {
    let bytes = |compiled: &dyn Compiled| {
        let words = compiled.words().ok()?;
        Some(words.parts.into_iter().map(|part| part.bytes).collect::<Vec<_>>())
    };
    match (bytes(artifact), bytes(beside)) {
        (Some(a), Some(b)) if a == b => {
            "the artifact is what the model is compiled to here, word for word".to_owned()
        }
        _ => {
            let instructions = counted(beside.report().instructions as u64, "instruction");
            format!(
                "the artifact is another compilation than that of the model here ({instructions}): results of layers are the \
                 latter's, whose outputs are the artifact's bit for bit"
            )
        }
    }
}

/// The outputs of an artifact under the model's names and in its shapes.
fn by_model(like: &Like, compiled: &dyn Compiled, result: npukit_target::RunResult) -> Vec<Output> {
    let one = |mut stack: Stack| {
        let values: Tensor = stack.samples.pop()?;
        // Default: what the host makes has no integers.
        Some(Output { name: stack.name, values, raw: stack.raw.pop().unwrap_or_default() })
    };
    like.unpacked(stacks(compiled, vec![result])).into_iter().filter_map(one).collect()
}
