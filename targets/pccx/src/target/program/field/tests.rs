//! Programs that can be proved, and changed programs that cannot.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "the tables of these tests are their purpose")]

mod mutations;

use std::time::Instant;

use npukit_graph::op::{
    Binary, BinaryKind, Gemm, LayerNormalization, MatMul, Relu, RmsNormalization, Softmax, Unary, UnaryKind,
};
use npukit_graph::{Graph, Op, ValueId, ValueInfo};
use npukit_numeric::{ElementType, Tensor};
use npukit_target::Compiled;
use npukit_testing::small_graphs;
use npukit_verify::{Proof, prove};

use super::super::PccxProgram;
use crate::config::{Config, Reading};
use crate::lower::{Options, Weights, compile};

/// Graph under construction.
struct Net {
    graph: Graph,
    seed: u32,
}

impl Net {
    fn new() -> Self {
        Self { graph: Graph::default(), seed: 1 }
    }

    fn noise(&mut self) -> f32 {
        self.seed = self.seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (self.seed >> 8) as f32 / (1 << 23) as f32 - 1.0
    }

    fn input(&mut self, shape: &[usize]) -> ValueId {
        let name = format!("x{}", self.graph.inputs.len());
        self.graph.add_input(name, ValueInfo { shape: shape.to_vec(), element: ElementType::F32 })
    }

    fn random(&mut self, shape: &[usize]) -> ValueId {
        let values = (0..shape.iter().product()).map(|_| self.noise()).collect();
        let name = format!("c{}", self.graph.values.len());
        self.graph.add_constant(name, Tensor::from_f32(shape.to_vec(), values).unwrap())
    }

    fn op(&mut self, op: impl Into<Op>, inputs: &[ValueId]) -> ValueId {
        let name = format!("v{}", self.graph.values.len());
        self.graph.add_node(name.clone(), op.into(), inputs.to_vec(), &[&name]).unwrap()[0]
    }

    fn ends_in(mut self, outputs: &[ValueId]) -> Graph {
        self.graph.outputs = outputs.to_vec();
        self.graph
    }
}

const BY_ROWS: Gemm = Gemm { trans_b: true, ..Gemm::PLAIN };

/// Returns two layers with biases, functions between them, and a sum with the input.
fn perceptron() -> Graph {
    let mut net = Net::new();
    let x = net.input(&[2, 40]);
    let (w, b) = (net.random(&[24, 40]), net.random(&[24]));
    let y = net.op(BY_ROWS, &[x, w, b]);
    let y = net.op(Relu, &[y]);
    let y = net.op(Unary { kind: UnaryKind::Sigmoid }, &[y]);
    let (w, b) = (net.random(&[40, 24]), net.random(&[40]));
    let z = net.op(BY_ROWS, &[y, w, b]);
    let z = net.op(Binary { kind: BinaryKind::Add }, &[z, x]);
    net.ends_in(&[z])
}

/// Returns a norm, products after it, attention of two heads, a product with an addend, and a
/// softmax.
fn block() -> Graph {
    let mut net = Net::new();
    let (x, gain) = (net.input(&[4, 32]), net.random(&[32]));
    let normal = net.op(RmsNormalization { axis: 1, epsilon: 1e-5 }, &[x, gain]);
    let w = net.random(&[16, 32]);
    let queries = net.op(BY_ROWS, &[normal, w]);
    let (keys, values) = (net.input(&[16, 9]), net.input(&[9, 24]));
    let scores = net.op(MatMul, &[queries, keys]);
    let scale = net.graph.add_constant("scale", Tensor::from_f32(vec![], vec![0.3]).unwrap());
    let scores = net.op(Binary { kind: BinaryKind::Mul }, &[scores, scale]);
    let hidden = (0..36).map(|i| if i % 9 > 5 + i / 9 { f32::NEG_INFINITY } else { 0.1 * (i % 4) as f32 });
    let mask = Tensor::from_f32(vec![4, 9], hidden.collect()).unwrap();
    let mask = net.graph.add_constant("mask", mask);
    let scores = net.op(Binary { kind: BinaryKind::Add }, &[scores, mask]);
    let chances = net.op(Softmax { axis: 1, axis_end: 2 }, &[scores]);
    let context = net.op(MatMul, &[chances, values]);
    let w = net.random(&[24, 32]);
    let y = net.op(MatMul, &[context, w]);
    let y = net.op(Binary { kind: BinaryKind::Add }, &[y, x]);
    let (gain, bias, w) = (net.random(&[32]), net.random(&[32]), net.random(&[8, 32]));
    let normal = net.op(LayerNormalization { axis: 1, epsilon: 1e-5 }, &[y, gain, bias]);
    let z = net.op(BY_ROWS, &[normal, w]);
    let z = net.op(Softmax { axis: 1, axis_end: 2 }, &[z]);
    net.ends_in(&[y, z])
}

/// Returns instances with options.
fn ways() -> Vec<(&'static str, Config, Options)> {
    let [base, ext] = ["reference", "extended"].map(|name| Config::preset(name).unwrap());
    let seed = Config { reading: Reading::Seed, ..base.clone() };
    let way = |name, config: &Config, asked: &[(&str, &str)]| {
        let asked = asked.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
        (name, config.clone(), Options::parse(config, &asked).unwrap())
    };
    vec![
        way("base", &base, &[]),
        way("extended", &ext, &[]),
        way("base, all at the host", &base, &[("kv", "host"), ("norms", "host")]),
        way("page", &seed, &[("scales", "memset"), ("weights", "memcpy")]),
        way("page, scales of rows", &seed, &[("weights", "memcpy")]),
        way("two bytes", &base, &[("activations", "16")]),
        way("8 bits", &base, &[("weight_bits", "8")]),
        way("8 bits and two bytes", &ext, &[("weight_bits", "8"), ("activations", "16")]),
        way("page, 8 bits", &seed, &[("scales", "memset"), ("weights", "memcpy"), ("weight_bits", "8")]),
    ]
}

fn program(config: &Config, options: &Options, graph: &Graph) -> PccxProgram {
    let executable = compile(config, graph, options, &mut Weights::default()).unwrap();
    PccxProgram::new("test".to_owned(), "pccx".to_owned(), executable, config.clone())
}

/// Returns the proof; `None` if the program cannot be compared: 4-bit weights that the host makes
/// and MEMCPY brings.
fn proof(program: &PccxProgram, graph: &Graph) -> Option<Proof> {
    match prove(graph, &*program.in_field().unwrap(), &[1, 2]) {
        Ok(proof) => Some(proof),
        Err(error) => {
            assert!(error.to_string().contains("does not have 4-bit weights"), "{error}");
            None
        }
    }
}

#[test]
fn programs_are_proved() {
    let mut all = small_graphs();
    all.extend([("perceptron", perceptron()), ("block", block())]);
    let (mut proved, mut outside, mut failed) = (0, 0, Vec::new());
    for (name, graph) in &all {
        for (way, config, options) in ways() {
            let begin = Instant::now();
            let program = program(&config, &options, graph);
            let Some(proof) = proof(&program, graph) else {
                outside += 1;
                continue;
            };
            let agreement = npukit_verify::agreement(graph, &proof.unrounded, &[1, 2]).unwrap();
            let message =
                format!("{name} on {way}: {:?}, floats {agreement:?}, {:?}", proof.outputs, begin.elapsed());
            match proof.is_proved() && agreement.is_rounding() {
                true => proved += 1,
                false => failed.push(message),
            }
        }
    }
    println!("{proved} proved, {outside} not compared");
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
