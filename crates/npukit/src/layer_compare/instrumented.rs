//! [`InstrumentedProgram`]: programs that compute a graph and give out the results of its layers too.

use std::collections::{BTreeMap, BTreeSet};

use npukit_graph::{Graph, ValueId};
use npukit_numeric::Tensor;
use npukit_target::{CompileOptions, Compiled, Instance};

use super::Run;
use crate::error::Error;
use crate::origin::Origin;

/// One program or, when the memories do not hold all results at once, several.
pub(super) struct InstrumentedProgram {
    /// The graph they compute.
    pub graph: Graph,
    programs: Vec<Box<dyn Compiled>>,
    /// Outputs and layers' results that some program gives.
    names: BTreeSet<String>,
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
        for name in compiled.layers().iter().flat_map(|layer| &layer.results) {
            let known =
                graph.find_value(name).filter(|id| !graph.outputs.contains(id) && !wanted.contains(id));
            wanted.extend(known.filter(|&id| graph.constant(id).is_none()));
        }
        let mut instrumented = Self { graph: graph.clone(), programs: Vec::new(), names };
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
        let compiled = options.iter().find_map(|options| instance.compile(&with_more, options).ok());
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

    /// What the machine holds for a sample: inputs as it rounds them, results of layers, outputs.
    /// Values are as stored, exponents and all.
    ///
    /// # Errors
    ///
    /// [`Error::KeptDiffers`] when an output is not what the plain program gave; [`Error::Target`] when the
    /// machine faults.
    pub fn run(&self, run: &Run<'_>, index: usize) -> Result<BTreeMap<String, Tensor>, Error> {
        let mut values = BTreeMap::new();
        for stack in run.stacks {
            values.extend(stack.samples.get(index).map(|sample| (stack.name.clone(), sample.clone())));
        }
        for program in &self.programs {
            let result = program.run(&run.samples[index])?;
            for output in result.outputs {
                let plain = run.stacks.iter().find(|stack| stack.name == output.name);
                if plain.and_then(|stack| stack.raw.get(index)).is_some_and(|raw| *raw != output.raw) {
                    return Err(Error::KeptDiffers { output: output.name });
                }
                values.insert(output.name, output.values);
            }
        }
        let format = run.origin.instance.number_format();
        for (name, tensor) in &run.model_samples[index] {
            let rounded = tensor.as_f32().zip(format).and_then(|(x, format)| {
                let rounded = x.iter().map(|&x| format.round(x)).collect();
                Tensor::from_f32(tensor.shape().to_vec(), rounded).ok()
            });
            values.insert(name.clone(), rounded.unwrap_or_else(|| tensor.clone()));
        }
        Ok(values)
    }
}
