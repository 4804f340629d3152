//! Programs over a prime field: compiled programs are proved for all operators, and cases that
//! a proof cannot cover are rejected.

use std::collections::HashMap;

use npukit_graph::op::{Clip, LeakyRelu, MaxPool, Relu, Window};
use npukit_graph::quantize::{Kind, Quantization};
use npukit_graph::{Graph, Op, ValueId, ValueInfo, pass};
use npukit_import::onnx;
use npukit_numeric::{ElementType, Tensor};
use npukit_opu::OPU;
use npukit_opu::internals::artifact;
use npukit_opu::internals::program::Program;
use npukit_target::{CompileOptions, Compiled, InstanceSpec, ReadError, Reader};
use npukit_testing::{Random, small_graphs};
use npukit_verify::{Proof, judge};

struct Files(HashMap<String, Vec<u8>>);

impl Reader for Files {
    fn read(&self, path: &str) -> Result<Vec<u8>, ReadError> {
        self.0.get(path).cloned().ok_or_else(|| ReadError::Absent { path: path.to_owned() })
    }

    fn list(&self, _path: &str) -> Result<Vec<String>, ReadError> {
        Ok(self.0.keys().cloned().collect())
    }
}

/// Returns a network of the zoo, prepared for the compiler.
pub fn network(name: &str) -> Graph {
    let network = npukit_models::zoo::network(name).unwrap();
    let mut graph = onnx::read(&network.onnx(0), network.name, &onnx::Options::default()).unwrap().graph;
    pass::simplify(&mut graph).unwrap();
    graph
}

/// Compiles with fraction lengths of 3 or 4 bits, which differ between values.
fn compiled_for(graph: &Graph, instance: &str) -> Box<dyn Compiled> {
    let instance = OPU.instance(InstanceSpec::Preset(instance)).unwrap();
    let mut quantization = Quantization::new(instance.info().quantization.clone().unwrap_or_default());
    for (index, _) in graph.values.iter().enumerate().filter(|(_, value)| value.constant.is_none()) {
        quantization.set(ValueId(index as u32), Kind::Activation, 3 + index as i32 % 2);
    }
    let options = CompileOptions { quantization: Some(quantization), ..CompileOptions::default() };
    instance.compile(graph, &options).unwrap()
}

pub fn compiled(graph: &Graph) -> Box<dyn Compiled> {
    compiled_for(graph, "reference")
}

fn files(compiled: &dyn Compiled) -> (String, Files) {
    let files = compiled.files().unwrap();
    (files[0].name.clone(), Files(files.into_iter().map(|file| (file.name, file.bytes)).collect()))
}

pub fn program(compiled: &dyn Compiled) -> Program {
    let (name, files) = files(compiled);
    artifact::read(&name, &files.0[&name], &mut |name| files.read(name)).unwrap()
}

/// Reads a program from its files; `None` if they are rejected.
pub fn loaded(program: &Program) -> Option<Box<dyn Compiled>> {
    let files = artifact::write(program).ok()?;
    let name = files[0].name.clone();
    let files = Files(files.into_iter().map(|file| (file.name, file.bytes)).collect());
    OPU.load(&name, &files).ok()
}

/// Returns a sample of numbers up to `size`.
pub fn sample(graph: &Graph, seed: u64, size: f32) -> Vec<(String, Tensor)> {
    let mut random = Random::new(seed);
    let input = |&id: &ValueId| {
        let shape = graph.shape(id).to_vec();
        let numbers = random.numbers(shape.iter().product()).into_iter().map(|x| size * x).collect();
        (graph.value(id).name.clone(), Tensor::from_f32(shape, numbers).unwrap())
    };
    graph.inputs.iter().map(input).collect()
}

/// Returns the proof; `None` if the machine stops.
pub fn judged(graph: &Graph, compiled: &dyn Compiled) -> Option<Proof> {
    judge(graph, &*compiled.in_field().ok()?, &[1]).ok()
}

pub fn is_proved(graph: &Graph, compiled: &dyn Compiled) -> bool {
    judged(graph, compiled).is_some_and(|proof| proof.is_proved())
}

#[test]
fn programs_of_the_compiler_are_proved() {
    for name in ["mlp", "lenet5", "resnet20v2"] {
        let graph = network(name);
        let compiled = compiled(&graph);
        assert!(is_proved(&graph, &*compiled), "{name}");
        let (manifest, files) = files(&*compiled);
        assert!(is_proved(&graph, &*OPU.load(&manifest, &files).unwrap()), "{name}, from its files");
    }
    let mut proved = 0;
    for (name, graph) in small_graphs() {
        let instance = OPU.instance(InstanceSpec::Preset("reference")).unwrap();
        if !instance.check(&graph, &CompileOptions::default()).unwrap().is_empty() {
            continue;
        }
        assert!(is_proved(&graph, &*compiled(&graph)), "{name}");
        proved += 1;
    }
    assert!(proved >= 5, "{proved} small graphs");
}

/// Instances with all number types: integers, fixed point, floats.
#[test]
fn programs_of_every_instance_are_proved() {
    let graph = network("lenet5");
    for instance in ["int16", "fx12", "bf16", "fp16", "fp32"] {
        assert!(is_proved(&graph, &*compiled_for(&graph, instance)), "{instance}");
    }
}

/// Returns a graph that applies the operators in order.
fn chain(ops: &[Op]) -> Graph {
    let mut graph = Graph::default();
    let info = ValueInfo { shape: vec![1, 9, 7, 70], element: ElementType::F32 };
    let mut value = graph.add_input("x", info);
    for (index, op) in ops.iter().enumerate() {
        let name = format!("n{index}");
        value = graph.add_node(&name, op.clone(), vec![value], &[&name]).unwrap()[0];
    }
    graph.outputs = vec![value];
    graph
}

/// Cases that the compiler computes in another order than the model, or with other operators.
#[test]
fn what_is_done_otherwise_is_proved() {
    let window = Window { pads: [1, 1, 1, 0], ..Window::plain([3, 2], [2, 1]) };
    let pool: Op = MaxPool { window }.into();
    let (relu, leaky): (Op, Op) = (Relu.into(), LeakyRelu { alpha: 0.125 }.into());
    let clip = |max: f32| -> Op { Clip { min: 0.0, max }.into() };
    let chains = [
        vec![pool.clone(), relu.clone()],
        vec![pool.clone(), leaky.clone()],
        vec![leaky, pool.clone()],
        vec![relu, pool.clone(), pool.clone()],
        vec![clip(6.0)],
        vec![clip(100.0)],
        vec![pool.clone(), clip(6.0), pool],
    ];
    for ops in &chains {
        let graph = chain(ops);
        assert!(is_proved(&graph, &*compiled(&graph)), "{ops:?}");
    }
}

/// An artifact of integers without fraction lengths cannot be compared.
#[test]
fn artifacts_without_fraction_lengths_are_refused() {
    let mut program = program(&*compiled(&network("mlp")));
    program.fractions.clear();
    let loaded = loaded(&program).unwrap();
    let Err(error) = loaded.in_field() else { panic!("it is compared") };
    assert!(error.to_string().contains("fraction lengths"), "{error}");
}

/// A program of another model is rejected, or not proved.
#[test]
fn another_model_is_not_proved() {
    let [lenet, mlp] = ["lenet5", "mlp"].map(network);
    assert!(!is_proved(&mlp, &*compiled(&lenet)));
    assert!(!is_proved(&lenet, &*compiled(&mlp)));
}
