//! Proofs of programs over a prime field. `mutations` has changed programs, which must not be
//! proved.

use std::time::Instant;

use npukit_drra::internals::artifact::Model;
use npukit_drra::internals::executable::Executable;
use npukit_drra::internals::fabric::Fabric;
use npukit_drra::internals::lower::{check, prepare};
use npukit_graph::op::{
    AveragePool, BatchNormalization, Binary, BinaryKind, Clip, Conv, Dft, GeluForm, Gemm, LeakyRelu, MatMul,
    MaxPool, Op, Pad, PadMode, Reduce, ReduceKind, Relu, Reshape, Softmax, Unary, UnaryKind, Window,
};
use npukit_graph::{Graph, ValueId, ValueInfo};
use npukit_import::onnx;
use npukit_numeric::{ElementType, Tensor};
use npukit_target::Compiled;
use npukit_verify::{Proof, ProofError, prove};

use crate::networks::{CALIBRATION, MLP, compile, fabrics, lenet, samples};

fn proof(executable: &Executable, graph: &Graph) -> Result<Proof, ProofError> {
    let (name, target) = ("m".to_owned(), "drra:test".to_owned());
    let model = Model::new(name, target, executable.clone(), 0);
    prove(graph, &*model.in_field().unwrap(), &[1, 2])
}

/// Asserts that the program is proved.
fn proved(what: &str, executable: &Executable, graph: &Graph) {
    let start = Instant::now();
    let proof = proof(executable, graph).unwrap();
    assert!(proof.is_proved(), "{what}: {:?} {:?} {:?}", proof.outputs, proof.gaps, proof.counterexample);
    eprintln!("{what}: proved in {:.2} s", start.elapsed().as_secs_f64());
}

/// Pseudorandom numbers from -1 to 1.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % limit.max(1)
    }

    pub fn tensor(&mut self, shape: &[usize]) -> Tensor {
        let values = (0..shape.iter().product()).map(|_| self.below(20_001) as f32 / 10_000.0 - 1.0);
        Tensor::from_f32(shape.to_vec(), values.collect()).unwrap()
    }
}

/// Graph under construction, with one input.
pub struct Net {
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

    /// Adds a node on the last value and on constants of these shapes.
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

    pub fn compiled(mut self, fabric: &Fabric) -> (Executable, Graph) {
        let shape = self.graph.shape(self.graph.inputs[0]).to_vec();
        let seen: Vec<Tensor> = (0..3).map(|_| self.random.tensor(&shape)).collect();
        (compile(fabric, &self.graph, &seen), self.graph)
    }
}

const CONV: Conv = Conv { strides: [1, 1], dilations: [1, 1], pads: [1, 1, 1, 1], group: 1 };

/// Network of operators that every fabric has.
pub fn plain() -> Net {
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

/// Network that includes operators of the extension.
pub fn extended() -> Net {
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

/// Single operators on a tensor of one shape.
fn single() -> Vec<(&'static str, Net)> {
    let (image, matrix) = (|| Net::new(&[1, 6, 5, 2]), || Net::new(&[3, 4]));
    let binary = |kind| Binary { kind };
    let unary = |kind| Unary { kind };
    let reduce = |kind, axes: &[usize]| Reduce { kind, axes: axes.to_vec(), keep_dims: false };
    let pool =
        |pads, dilations| MaxPool { window: Window { pads, dilations, ..Window::plain([3, 2], [1, 1]) } };
    let pad = |mode| Pad { pads: vec![[0, 0], [1, 2], [0, 1], [0, 0]], mode };
    let average = AveragePool { window: Window::plain([2, 2], [2, 1]), count_include_pad: true };
    // The constants have no spare bit, so the field must refuse them.
    let limit = |kind| {
        let mut net = Net::new(&[2, 3]);
        let far = Tensor::from_f32(vec![3], vec![-9.0, 0.25, 9.0]).unwrap();
        let far = net.graph.add_constant("far", far);
        net.last = net.graph.add_node("y", binary(kind).into(), vec![net.last, far], &["y"]).unwrap()[0];
        net.graph.outputs = vec![net.last];
        net
    };
    let both = |kind| {
        let mut net = matrix().then(binary(BinaryKind::Mul), &[&[4]]);
        let x = net.graph.inputs[0];
        net.last = net.graph.add_node("both", binary(kind).into(), vec![net.last, x], &["both"]).unwrap()[0];
        net.graph.outputs = vec![net.last];
        net
    };
    vec![
        ("Relu", matrix().then(Relu, &[])),
        ("Clip below 0", matrix().then(Clip { min: -0.75, max: 0.0 }, &[])),
        ("Clip on one side", matrix().then(Clip { min: f32::NEG_INFINITY, max: 0.5 }, &[])),
        (
            "Clip twice",
            matrix().then(Clip { min: -0.5, max: 0.5 }, &[]).then(Clip { min: -0.25, max: 0.75 }, &[]),
        ),
        ("LeakyRelu", matrix().then(LeakyRelu { alpha: 0.1 }, &[])),
        ("LeakyRelu, steep", matrix().then(LeakyRelu { alpha: 1.5 }, &[])),
        ("Abs", matrix().then(unary(UnaryKind::Abs), &[])),
        ("Sqrt", matrix().then(unary(UnaryKind::Abs), &[]).then(unary(UnaryKind::Sqrt), &[])),
        ("Neg", matrix().then(unary(UnaryKind::Neg), &[])),
        ("HardSwish", matrix().then(unary(UnaryKind::HardSwish), &[])),
        ("Gelu", matrix().then(unary(UnaryKind::Gelu { form: GeluForm::Exact }), &[])),
        ("Tanh", matrix().then(unary(UnaryKind::Tanh), &[])),
        ("Exp", matrix().then(unary(UnaryKind::Exp), &[])),
        ("Sub", matrix().then(binary(BinaryKind::Sub), &[&[3, 4]])),
        ("Sub of values", both(BinaryKind::Sub)),
        ("Max of values", both(BinaryKind::Max)),
        ("Min of values", both(BinaryKind::Min)),
        ("Mul of values", both(BinaryKind::Mul)),
        ("Max of far constants", limit(BinaryKind::Max)),
        ("Min of far constants", limit(BinaryKind::Min)),
        ("MaxPool over a border", image().then(pool([2, 1, 1, 0], [1, 1]), &[])),
        ("MaxPool with holes", image().then(pool([2, 1, 2, 1], [2, 2]), &[])),
        ("ReduceMax", image().then(reduce(ReduceKind::Max, &[1, 3]), &[])),
        ("ReduceMin", image().then(reduce(ReduceKind::Min, &[2]), &[])),
        ("ReduceSum", image().then(reduce(ReduceKind::Sum, &[1]), &[])),
        ("ReduceSumSquare", image().then(reduce(ReduceKind::SumSquare, &[1]), &[])),
        ("ReduceMean", image().then(reduce(ReduceKind::Mean, &[1, 2]), &[])),
        ("AveragePool", image().then(average, &[])),
        ("Pad", image().then(pad(PadMode::Constant(0.5)), &[])),
        ("Pad with the border", image().then(pad(PadMode::Edge), &[])),
        ("Conv in groups", image().then(Conv { group: 2, ..CONV }, &[&[3, 3, 1, 4], &[4]])),
        ("Softmax", matrix().then(Softmax { axis: 1, axis_end: 2 }, &[])),
        ("MatMul of values", matrix().then(MatMul, &[&[4, 70]]).then(Relu, &[]).then(MatMul, &[&[70, 2]])),
    ]
}

/// Compiles the network, or returns `None` if the fabric refuses it.
fn taken(net: Net, fabric: &Fabric) -> Option<(Executable, Graph)> {
    let graph = prepare(&net.graph).unwrap();
    if !check(fabric, &graph).is_empty() {
        return None;
    }
    Some(net.compiled(fabric))
}

/// Most operators are supported by every fabric.
#[test]
fn operators_are_proved() {
    for (name, fabric) in fabrics() {
        let (mut refused, mut unproved) = (Vec::new(), Vec::new());
        for (operator, net) in single() {
            let Some((executable, graph)) = taken(net, &fabric) else {
                refused.push(operator);
                continue;
            };
            let found = proof(&executable, &graph).unwrap();
            if !found.is_proved() {
                unproved.push(format!("{operator}: {:?} {:?}", found.gaps, found.counterexample));
            }
        }
        assert!(unproved.is_empty(), "{name}: {unproved:#?}");
        assert!(refused.len() < if fabric.options.extensions { 1 } else { 16 }, "{name}: {refused:?}");
    }
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
        let (executable, graph) = plain().compiled(&fabric);
        proved(&format!("operators, {name}"), &executable, &graph);
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

/// A model's program is refused for another model, with the first value that differs.
#[test]
fn another_model_is_refused() {
    let [(_, wide), ..] = fabrics();
    let net = |size| Net::new(&[2, 3]).then(Relu, &[]).then(MatMul, &[&[3, size]]);
    let (executable, _) = net(4).compiled(&wide);
    let message = |graph: &Graph| proof(&executable, graph).unwrap_err().to_string();
    assert_eq!(message(&net(5).graph), "value `w2` has shape [3, 5] in the model and [3, 4] in the plan");
    let other = net(4).then(Relu, &[]);
    assert_eq!(message(&other.graph), "value `y2` of the model is missing in the plan");
}

/// A transform has no rule in the field: it is reported, and never proved.
#[test]
fn what_has_no_image_is_named() {
    let [(_, wide), ..] = fabrics();
    let dft = Dft { axis: 0, length: 8, inverse: false, onesided: true };
    let (executable, graph) = Net::new(&[8, 1]).then(dft, &[]).compiled(&wide);
    let proof = proof(&executable, &graph).unwrap();
    assert!(!proof.is_proved());
    let gaps: Vec<&str> = proof.gaps.iter().map(|gap| gap.op.as_str()).collect();
    assert_eq!(gaps, ["DFT"]);
}
