//! [`InstrumentedProgram`]: programs that compute a graph and give out the results of its layers too.

use std::collections::{BTreeMap, BTreeSet};

use npukit_graph::rescale::Scales;
use npukit_graph::{Graph, ValueId};
use npukit_numeric::{NumberFormat, Tensor};
use npukit_target::{CompileOptions, Compiled, Instance, Output};

use super::part::changed;
use crate::error::Error;
use crate::inputs::Sample;
use crate::model::origin::Origin;
use crate::numbers::rescale::exponent;

/// What the machine holds for a sample, as stored: exponents are not applied.
#[derive(Debug, Default)]
pub(crate) struct MachineValues {
    /// Inputs as it rounds them, results of layers, outputs; by their names in the compiled graph.
    pub values: BTreeMap<String, Tensor>,
    /// Its integers of results and outputs, where it has any.
    pub raw: BTreeMap<String, Vec<i32>>,
}

/// One program or, when the memories do not hold all results at once, several.
pub(crate) struct InstrumentedProgram {
    /// The graph they compute.
    pub graph: Graph,
    programs: Vec<Box<dyn Compiled>>,
    /// Outputs and layers' results that some program gives.
    names: BTreeSet<String>,
    /// Exponents of inputs and outputs.
    scales: Scales,
}

impl InstrumentedProgram {
    /// Compiles the graph with its layers' results as outputs. A result that no program can keep
    /// even alone is left out.
    ///
    /// # Errors
    ///
    /// Those of [`Origin::prepared`].
    pub fn new(origin: &Origin, compiled: &dyn Compiled) -> Result<Self, Error> {
        let graph = origin.prepared()?;
        let mut plain = origin.options.clone();
        plain.prepared = true;
        let mut options = plain.clone();
        // The choices made once need not be made again.
        options.options.extend(compiled.report().choices);
        let outputs = graph.outputs.iter().map(|&id| graph.value(id).name.clone());
        let names = outputs.collect();
        let mut wanted: Vec<ValueId> = Vec::new();
        for name in compiled.info().layers.iter().flat_map(|layer| &layer.results) {
            let known =
                graph.find_value(name).filter(|id| !graph.outputs.contains(id) && !wanted.contains(id));
            wanted.extend(known.filter(|&id| graph.constant(id).is_none()));
        }
        let mut instrumented = Self {
            graph: graph.clone(),
            programs: Vec::new(),
            names,
            scales: compiled.info().scales.clone(),
        };
        instrumented.add(&*origin.instance, &graph, [&options, &plain], &wanted);
        Ok(instrumented)
    }

    /// Compiles with `wanted` as further outputs, in halves when that fails.
    fn add(
        &mut self,
        instance: &dyn Instance,
        graph: &Graph,
        options: [&CompileOptions; 2],
        wanted: &[ValueId],
    ) {
        if wanted.is_empty() {
            return;
        }
        let mut with_more = graph.clone();
        with_more.outputs.extend(wanted);
        let compiled = options.iter().find_map(|&options| {
            let options = CompileOptions { kept: wanted.len(), ..options.clone() };
            instance.compile(&with_more, &options).ok()
        });
        match compiled {
            Some(program) => {
                self.names.extend(wanted.iter().map(|&id| graph.value(id).name.clone()));
                self.programs.push(program);
            }
            None if wanted.len() > 1 => {
                let (first, rest) = wanted.split_at(wanted.len() / 2);
                self.add(instance, graph, options, first);
                self.add(instance, graph, options, rest);
            }
            None => {}
        }
    }

    /// Names of the values seen.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    /// How many programs there are.
    pub fn programs(&self) -> usize {
        self.programs.len()
    }

    /// What the machine holds for a sample, `sample` as the program takes it and `model_sample` in the model's shapes, of
    /// which the program itself gives `plain`.
    ///
    /// # Errors
    ///
    /// [`Error::KeptDiffers`] when an output is not what the plain program gave; [`Error::Target`] when the
    /// machine faults.
    pub fn run(
        &self,
        format: Option<NumberFormat>,
        [sample, model_sample]: [&Sample; 2],
        plain: Vec<Output>,
    ) -> Result<MachineValues, Error> {
        let mut held = MachineValues::default();
        plain.into_iter().for_each(|output| held.add(output));
        for program in &self.programs {
            for output in program.run(sample)?.outputs {
                if held.raw.get(&output.name).is_some_and(|plain| *plain != output.raw) {
                    return Err(Error::KeptDiffers { output: output.name });
                }
                held.add(output);
            }
        }
        for (name, tensor) in model_sample {
            held.values.insert(name.clone(), rounded(name, tensor, format, &self.scales));
        }
        Ok(held)
    }
}

/// An input as the machine holds it: rounded, where its memories have one format.
pub(crate) fn rounded(name: &str, tensor: &Tensor, format: Option<NumberFormat>, scales: &Scales) -> Tensor {
    let Some(format) = format else { return tensor.clone() };
    let exponent = exponent(scales, name);
    let factor = f64::from(exponent).exp2();
    changed(tensor, |x| match exponent {
        0 => format.round(x),
        _ => (f64::from(format.round((f64::from(x) / factor) as f32)) * factor) as f32,
    })
}

impl MachineValues {
    fn add(&mut self, Output { name, values, raw }: Output) {
        self.raw.insert(name.clone(), raw);
        self.values.insert(name, values);
    }
}
