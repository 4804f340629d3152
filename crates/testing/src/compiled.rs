//! [`Subject`]: a small graph, prepared for an instance.

use npukit_graph::quantize::{Distributions, Method, quantize, stated_fractions};
use npukit_graph::{Graph, evaluate};
use npukit_numeric::Tensor;
use npukit_target::{CompileOptions, Compiled, GraphForm, Instance, Problem, TargetError};

use crate::{Random, Suite, random_graph, small_graphs};

/// A graph prepared for an instance, with samples.
pub struct Subject {
    /// Names of the instance and the graph, for messages.
    pub name: String,
    /// Graph in the form that the instance compiles.
    pub graph: Graph,
    /// Compile options.
    pub options: CompileOptions,
    /// One sample: an input tensor per input of the graph, in order.
    pub sample: Vec<Tensor>,
}

/// Number of random graphs.
const GRAPHS: u64 = 12;
/// Number of samples that determine the quantization.
const SAMPLES: u64 = 8;

impl Subject {
    /// Outputs of the graph for the sample.
    pub fn expected(&self) -> Vec<Tensor> {
        evaluate(&self.graph, &self.sample).unwrap_or_else(|error| panic!("{}: {error}", self.name))
    }

    /// Input tensors of the sample, with their names.
    pub fn inputs(&self) -> Vec<(String, Tensor)> {
        let name = |&id| self.graph.value(id).name.clone();
        self.graph.inputs.iter().map(name).zip(self.sample.iter().cloned()).collect()
    }

    pub fn new(instance: &dyn Instance, name: &str, graph: &Graph) -> Self {
        let name = format!("{name} on {}", instance.info().name);
        let fails = |error: &dyn std::fmt::Display| -> ! { panic!("{name}: {error}") };
        let mut options = CompileOptions { model_name: "small.onnx".to_owned(), ..CompileOptions::default() };
        let graph =
            instance.prepare(graph, &options, GraphForm::Lowered).unwrap_or_else(|error| fails(&error));
        options.prepared = true;
        if let Some(scheme) = instance.info().quantization.clone() {
            let mut seen = Distributions::new(&graph);
            for seed in 0..SAMPLES {
                seen.observe(&graph, &sample(&graph, seed)).unwrap_or_else(|error| fails(&error));
            }
            let stated = stated_fractions(&graph, &scheme);
            options.quantization = Some(quantize(&graph, &seen, &scheme, Method::MinMax, &stated));
        }
        let sample = sample(&graph, 0);
        Self { name, graph, options, sample }
    }
}

/// Makes random inputs.
fn sample(graph: &Graph, seed: u64) -> Vec<Tensor> {
    let mut random = Random::new(seed);
    let tensor = |&id| {
        let shape = graph.shape(id).to_vec();
        let values = random.numbers(shape.iter().product());
        Tensor::from_f32(shape, values).expect("the number of elements matches the shape")
    };
    graph.inputs.iter().map(tensor).collect()
}

impl Suite {
    /// Calls `each` with every small graph that an instance compiles, and its program.
    pub(crate) fn each_compiled(&self, mut each: impl FnMut(&dyn Instance, &Subject, &dyn Compiled)) {
        for (instance, refused) in self.instances() {
            for (name, graph) in small_graphs() {
                if refused.contains(&name) {
                    continue;
                }
                let subject = Subject::new(&*instance, name, &graph);
                let compiled = instance.compile(&subject.graph, &subject.options);
                let compiled = compiled.unwrap_or_else(|error| panic!("{}: {error}", subject.name));
                each(&*instance, &subject, &*compiled);
            }
        }
    }

    /// Calls `each` with random graphs that instances can compile, and their programs.
    pub(crate) fn each_random(&self, mut each: impl FnMut(&Subject, &dyn Compiled)) {
        for (instance, _) in self.instances() {
            for seed in 0..GRAPHS {
                let name = format!("random graph {seed}");
                let subject = Subject::new(&*instance, &name, &random_graph(seed));
                match instance.compile(&subject.graph, &subject.options) {
                    Ok(compiled) => each(&subject, &*compiled),
                    Err(TargetError::Refused(_)) => {}
                    Err(error) => panic!("{}: {error}", subject.name),
                }
            }
        }
    }

    /// Tests refusals: `check` and `compile` refuse exactly the listed graphs, with equal reasons.
    pub(crate) fn refusals(&self) {
        for (instance, refused) in self.instances() {
            for (name, graph) in small_graphs() {
                let subject = Subject::new(&*instance, name, &graph);
                let checked = instance.check(&graph, &CompileOptions::default());
                let checked = checked.unwrap_or_else(|error| panic!("{}: {error}", subject.name));
                assert_eq!(!checked.is_empty(), refused.contains(&name), "{}: {checked:?}", subject.name);
                for Problem { node, op, reason, hint } in &checked {
                    let empty = [node, op, reason, hint].iter().any(|text| text.is_empty());
                    assert!(!empty, "{}: a refusal leaves something open: {checked:?}", subject.name);
                }
                let compiled = match instance.compile(&subject.graph, &subject.options) {
                    Ok(_) => Vec::new(),
                    Err(TargetError::Refused(problems)) => problems,
                    Err(error) => panic!("{}: {error}", subject.name),
                };
                assert_eq!(compiled, checked, "{}: compile and check", subject.name);
            }
        }
    }
}
