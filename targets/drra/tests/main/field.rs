//! Programs proved over a prime field, and programs that were changed, which are not.

use std::time::Instant;

use npukit_drra::internals::artifact::Model;
use npukit_drra::internals::fabric::Fabric;
use npukit_drra::internals::lower::plan::{Source, Task};
use npukit_drra::internals::lower::{Executable, Runner};
use npukit_graph::op::{
    AveragePool, BatchNormalization, Binary, BinaryKind, Clip, Conv, Gemm, LeakyRelu, MaxPool, Op, Reduce,
    ReduceKind, Relu, Reshape, Softmax, Unary, UnaryKind, Window,
};
use npukit_graph::{Graph, ValueId, ValueInfo};
use npukit_import::onnx;
use npukit_numeric::{ElementType, Tensor};
use npukit_target::{Compiled, Unset};
use npukit_verify::{Proof, ProofError, prove};

use crate::networks::{CALIBRATION, MLP, compile, fabrics, lenet, samples};

fn proof(executable: &Executable, graph: &Graph) -> Result<Proof, ProofError> {
    let (name, target) = ("m".to_owned(), "drra:test".to_owned());
    let model = Model { name, target, executable: executable.clone(), macs: 0 };
    prove(graph, &*model.in_field().unwrap(), &[1, 2])
}

/// The program is proved.
fn proved(what: &str, executable: &Executable, graph: &Graph) {
    let start = Instant::now();
    let proof = proof(executable, graph).unwrap();
    assert!(proof.is_proved(), "{what}: {:?} {:?} {:?}", proof.outputs, proof.gaps, proof.counterexample);
    eprintln!("{what}: proved in {:.2} s", start.elapsed().as_secs_f64());
}

/// Numbers from -1 to 1 that look random.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % limit.max(1)
    }

    fn tensor(&mut self, shape: &[usize]) -> Tensor {
        let values = (0..shape.iter().product()).map(|_| self.below(20_001) as f32 / 10_000.0 - 1.0);
        Tensor::from_f32(shape.to_vec(), values.collect()).unwrap()
    }
}

/// A graph in the making, of one input.
struct Net {
    graph: Graph,
    last: ValueId,
    random: Random,
}

impl Net {
    fn new(shape: &[usize]) -> Self {
        let mut graph = Graph::default();
        let info = ValueInfo { shape: shape.to_vec(), element: ElementType::F32 };
        let last = graph.add_input("x", info);
        Self { graph, last, random: Random(5) }
    }

    fn constant(&mut self, shape: &[usize]) -> ValueId {
        let name = format!("w{}", self.graph.values.len());
        let tensor = self.random.tensor(shape);
        self.graph.add_constant(name, tensor)
    }

    /// One more node, of the last value and constants of these shapes.
    fn then(mut self, op: impl Into<Op>, constants: &[&[usize]]) -> Self {
        let mut inputs = vec![self.last];
        for shape in constants {
            inputs.push(self.constant(shape));
        }
        let name = format!("y{}", self.graph.nodes.len());
        self.last = self.graph.add_node(name.clone(), op.into(), inputs, &[&name]).unwrap()[0];
        self.graph.outputs = vec![self.last];
        self
    }

    fn compiled(mut self, fabric: &Fabric) -> (Executable, Graph) {
        let shape = self.graph.shape(self.graph.inputs[0]).to_vec();
        let seen: Vec<Tensor> = (0..3).map(|_| self.random.tensor(&shape)).collect();
        (compile(fabric, &self.graph, &seen), self.graph)
    }
}

const CONV: Conv = Conv { strides: [1, 1], dilations: [1, 1], pads: [1, 1, 1, 1], group: 1 };

/// Operators of every fabric.
fn plain() -> Net {
    let pool = Window { pads: [1, 0, 0, 1], ..Window::plain([3, 2], [2, 2]) };
    Net::new(&[1, 6, 5, 2])
        .then(CONV, &[&[3, 3, 2, 3], &[3]])
        .then(Relu, &[])
        .then(MaxPool { window: pool }, &[])
        .then(Binary { kind: BinaryKind::Mul }, &[&[3]])
        .then(Clip { min: -0.25, max: 0.5 }, &[])
        .then(Binary { kind: BinaryKind::Max }, &[&[3]])
        .then(Reshape { shape: vec![1, 27] }, &[])
        .then(Gemm::PLAIN, &[&[27, 8], &[8]])
}

/// Operators of the extension, too.
fn extended() -> Net {
    let (norm, mean) = (BatchNormalization { epsilon: 1e-5 }, ReduceKind::Mean);
    let sub = Binary { kind: BinaryKind::Sub };
    let average = AveragePool { window: Window::plain([2, 2], [1, 1]), count_include_pad: true };
    let mut net = Net::new(&[1, 5, 5, 3]).then(CONV, &[&[3, 3, 3, 4], &[4]]);
    let parameters = ["scale", "shift", "mean"].map(|_| net.constant(&[4]));
    let variance = Tensor::from_f32(vec![4], vec![0.5, 1.0, 2.0, 0.7]).unwrap();
    let variance = net.graph.add_constant("variance", variance);
    let inputs = [&[net.last], &parameters[..], &[variance]].concat();
    net.last = net.graph.add_node("norm", norm.into(), inputs, &["norm"]).unwrap()[0];
    net.then(LeakyRelu { alpha: 0.1 }, &[])
        .then(average, &[])
        .then(sub, &[&[4]])
        .then(Unary { kind: UnaryKind::Swish { alpha: 1.0 } }, &[])
        .then(MaxPool { window: Window::plain([2, 2], [2, 2]) }, &[])
        .then(Reduce { kind: mean, axes: vec![1, 2], keep_dims: false }, &[])
        .then(Gemm::PLAIN, &[&[4, 6], &[6]])
        .then(Softmax { axis: 1, axis_end: 2 }, &[])
}

#[test]
fn networks_are_proved() {
    for (name, fabric) in fabrics() {
        let graph = onnx::read(MLP, "digits_mlp", &Default::default()).unwrap().graph;
        proved(
            &format!("digits perceptron, {name}"),
            &compile(&fabric, &graph, &samples(CALIBRATION)),
            &graph,
        );
        // Not yet proved without the extension: see `npu verify` in the README.
        if fabric.options.extensions {
            let (executable, graph) = plain().compiled(&fabric);
            proved(&format!("operators, {name}"), &executable, &graph);
        }
    }
    let [(_, wide), (_, narrow), _] = fabrics();
    let (executable, graph) = extended().compiled(&wide);
    proved("operators of the extension", &executable, &graph);
    let graph = lenet();
    let seen: Vec<Tensor> = (0..2).map(|seed| Random(seed).tensor(&[1, 32, 32, 1])).collect();
    for (name, fabric) in [("3x4 with extensions", wide), ("3x1 with 11 fraction bits", narrow)] {
        proved(&format!("LeNet-5, {name}"), &compile(&fabric, &graph, &seen), &graph);
    }
}

/// A root is computed by steps that are no root: named, and never proved.
#[test]
fn what_has_no_image_is_named() {
    let [(_, wide), ..] = fabrics();
    let abs = Unary { kind: UnaryKind::Abs };
    let net = Net::new(&[2, 5]).then(abs, &[]).then(Unary { kind: UnaryKind::Sqrt }, &[]);
    let (executable, graph) = net.compiled(&wide);
    let proof = proof(&executable, &graph).unwrap();
    assert!(!proof.is_proved());
    let gaps: Vec<&str> = proof.gaps.iter().map(|gap| gap.op.as_str()).collect();
    assert_eq!(gaps, ["Sqrt"]);
}

/// Changes something; what.
fn mutate(executable: &mut Executable, random: &mut Random) -> &'static str {
    let kernel = random.below(executable.kernels.len());
    let cells = &mut executable.kernels[kernel].compiled.program.cells;
    let chosen = random.below(cells.len());
    let words = cells.values_mut().nth(chosen).unwrap();
    let at = random.below(words.len());
    match random.below(7) {
        0..3 => {
            words[at] ^= 1 << random.below(32);
            "bit of an instruction"
        }
        3 => {
            let other = (at + 1) % words.len();
            words.swap(at, other);
            "instructions swapped"
        }
        4 => {
            words.remove(at);
            "instruction dropped"
        }
        5 => {
            let step = random.below(executable.plan.steps.len());
            for task in &mut executable.plan.steps[step].tasks {
                for gather in task.operands_mut() {
                    if let Source::Constant(words) = &mut gather.source {
                        let mut moved = words.to_vec();
                        let by = random.below(moved.len());
                        moved.rotate_left(by);
                        *words = moved.into();
                    }
                }
            }
            "constants moved"
        }
        _ => {
            let step = random.below(executable.plan.steps.len());
            if let Some(Task::Vectors { operands, .. }) = executable.plan.steps[step].tasks.first_mut() {
                operands.reverse();
            }
            for (call, _) in executable.calls[step].iter_mut().flatten().take(1) {
                let first = call.loads.first_mut().unwrap();
                first.vectors.start = first.vectors.start.saturating_sub(1);
            }
            "step of the driver"
        }
    }
}

/// Words of each output, or none where the machine stops.
fn outputs(executable: &Executable, inputs: &[Vec<i16>]) -> Option<Vec<Vec<i16>>> {
    let revision = executable.fabric.options.revision;
    let ran = Runner::new(executable, revision, Unset::Garbage(3)).run(inputs).ok()?;
    Some(executable.plan.outputs.iter().map(|&number| ran.values[number].clone()).collect())
}

/// What of changed programs came out: those that stop, compute the same, and differ; none differs and is proved.
fn mutants(what: &str, (executable, graph): (Executable, Graph), count: usize) -> usize {
    let mut random = Random(11);
    let value = &executable.plan.values[executable.plan.inputs[0]];
    let inputs: Vec<Vec<Vec<i16>>> = (0..3)
        .map(|_| vec![(0..value.elements()).map(|_| random.below(24_000) as i16 - 12_000).collect()])
        .collect();
    let expected: Vec<_> = inputs.iter().map(|inputs| outputs(&executable, inputs).unwrap()).collect();
    let (mut stopped, mut same, mut caught, mut stricter, mut missed) = (0, 0, 0, 0, Vec::new());
    for number in 0..count {
        let mut mutant = executable.clone();
        let change = mutate(&mut mutant, &mut random);
        let found: Option<Vec<_>> = inputs.iter().map(|inputs| outputs(&mutant, inputs)).collect();
        let is_proved = proof(&mutant, &graph).is_ok_and(|proof| proof.is_proved());
        match found {
            None => stopped += 1,
            Some(found) if found == expected => {
                same += 1;
                stricter += usize::from(!is_proved);
            }
            Some(_) if is_proved => missed.push((number, change)),
            Some(_) => caught += 1,
        }
    }
    eprintln!(
        "{what}: of {count} changed programs {stopped} stop, {caught} differ and are caught, {same} compute the same \
         ({stricter} of them are not proved), {} differ and are proved",
        missed.len()
    );
    assert!(missed.is_empty(), "{what}: {missed:?}");
    caught
}

#[test]
fn changed_programs_are_not_proved() {
    let [(_, wide), ..] = fabrics();
    let caught = mutants("operators, 3x4 with extensions", plain().compiled(&wide), 200)
        + mutants("operators of the extension, 3x4", extended().compiled(&wide), 100);
    assert!(caught > 50, "{caught}");
}
