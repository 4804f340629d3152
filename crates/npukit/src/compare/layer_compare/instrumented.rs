//! [`InstrumentedProgram`]: programs that compute a graph and also return the results of its
//! layers.

use std::collections::{BTreeMap, BTreeSet};

use npukit_graph::rescale::Scales;
use npukit_graph::{Graph, ValueId};
use npukit_numeric::{NumberFormat, Tensor};
use npukit_target::{CompileOptions, Compiled, Instance, Output};

use super::part::changed;
use crate::error::Error;
use crate::inputs::Sample;
use crate::model::compile_job::CompileJob;
use crate::numbers::rescale::exponent;

/// Values on the machine for one sample, as stored: exponents are not applied.
#[derive(Debug, Default)]
pub(crate) struct MachineValues {
    /// Rounded inputs, results of layers and outputs, by their names in the compiled graph.
    pub values: BTreeMap<String, Tensor>,
    /// The machine's integers for results and outputs, if it has any.
    pub raw: BTreeMap<String, Vec<i32>>,
}

/// One program, or several if the memories cannot hold all results at once.
pub(crate) struct InstrumentedProgram {
    /// Graph that the programs compute.
    pub graph: Graph,
    programs: Vec<Box<dyn Compiled>>,
    /// Names of outputs and results of layers that at least one program returns.
    names: BTreeSet<String>,
    /// Exponents of inputs and outputs.
    scales: Scales,
}

impl InstrumentedProgram {
    /// Compiles the graph with the results of its layers as outputs. A result that does not fit
    /// even alone is left out.
    ///
    /// # Errors
    ///
    /// Fails as [`CompileJob::prepared`] does.
    pub fn new(origin: &CompileJob, compiled: &dyn Compiled) -> Result<Self, Error> {
        let graph = origin.prepared()?;
        let mut plain = origin.options.clone();
        plain.prepared = true;
        let mut options = plain.clone();
        // Reuses the choices of the first compilation.
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

    /// Compiles with `wanted` as additional outputs, in halves if that fails.
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

    /// Names of the values that are returned.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    /// Returns the number of programs.
    pub fn programs(&self) -> usize {
        self.programs.len()
    }

    /// Returns the machine's values for a sample. `sample` is in the program's form, `model_sample`
    /// in the model's shapes, and `plain` holds the results of the original program.
    ///
    /// # Errors
    ///
    /// Returns [`Error::KeptDiffers`] if an output differs from the result of the original program,
    /// and [`Error::Target`] if the machine faults.
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

/// Returns an input as the machine stores it: rounded, if its memories have a single format.
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
