//! Small graphs, and their results on machines.

use npukit_graph::op::{Binary, BinaryKind, Gemm, Unary, UnaryKind};
use npukit_graph::quantize::rows::Int4Rows;
use npukit_graph::{Graph, Op, ValueId, ValueInfo, evaluate};
use npukit_numeric::{ElementType, Tensor};
use npukit_pccx::Config;
use npukit_pccx::internals::host::HostStep;
use npukit_pccx::internals::lower::{Executable, Options, Weights, compile};

use crate::twice;

/// Graph under construction; all values are `f32`.
pub(crate) struct Net {
    pub(crate) graph: Graph,
    pub(crate) seed: u32,
}

impl Net {
    pub(crate) fn new() -> Self {
        Self { graph: Graph::default(), seed: 1 }
    }

    pub(crate) fn noise(&mut self, count: usize) -> Vec<f32> {
        let mut next = || {
            self.seed = self.seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (self.seed >> 8) as f32 / (1 << 23) as f32 - 1.0
        };
        (0..count).map(|_| next()).collect()
    }

    pub(crate) fn input(&mut self, shape: &[usize]) -> ValueId {
        let name = format!("x{}", self.graph.inputs.len());
        self.graph.add_input(name, ValueInfo { shape: shape.to_vec(), element: ElementType::F32 })
    }

    pub(crate) fn constant(&mut self, shape: &[usize], values: Vec<f32>) -> ValueId {
        let name = format!("c{}", self.graph.values.len());
        self.graph.add_constant(name, Tensor::from_f32(shape.to_vec(), values).unwrap())
    }

    pub(crate) fn random(&mut self, shape: &[usize]) -> ValueId {
        let values = self.noise(shape.iter().product());
        self.constant(shape, values)
    }

    /// Adds weights `[n, k]` that 4 bits represent exactly.
    pub(crate) fn weights(&mut self, n: usize, k: usize) -> ValueId {
        let values = self.noise(n * k);
        let values = Int4Rows::new(n, k, &values).unwrap().dequantized();
        self.constant(&[n, k], values)
    }

    pub(crate) fn op(&mut self, op: impl Into<Op>, inputs: &[ValueId]) -> ValueId {
        self.ops(op, inputs, 1)[0]
    }

    pub(crate) fn ops(&mut self, op: impl Into<Op>, inputs: &[ValueId], results: usize) -> Vec<ValueId> {
        let names: Vec<String> =
            (0..results).map(|result| format!("v{}_{result}", self.graph.values.len())).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        self.graph.add_node(names[0], op.into(), inputs.to_vec(), &names).unwrap()
    }

    pub(crate) fn unary(&mut self, kind: UnaryKind, x: ValueId) -> ValueId {
        self.op(Unary { kind }, &[x])
    }

    pub(crate) fn binary(&mut self, kind: BinaryKind, left: ValueId, right: ValueId) -> ValueId {
        self.op(Binary { kind }, &[left, right])
    }
}

/// Result of a graph on a machine.
pub(crate) struct GraphOutcome {
    /// Largest relative RMS error among the outputs.
    pub(crate) error: f64,
    /// Number of nodes that the host computes.
    pub(crate) hosts: usize,
}

/// Compiles and runs the graph on random inputs, and compares all outputs with the evaluator's.
pub(crate) fn run(net: &mut Net, config: &Config, outputs: &[ValueId]) -> GraphOutcome {
    run_with(net, config, &Options::of(config), outputs)
}

/// Compiles with `options`, and runs like [`run`].
pub(crate) fn run_with(
    net: &mut Net,
    config: &Config,
    options: &Options,
    outputs: &[ValueId],
) -> GraphOutcome {
    net.graph.outputs = outputs.to_vec();
    let inputs: Vec<Tensor> = net
        .graph
        .inputs
        .clone()
        .into_iter()
        .map(|id| {
            let shape = net.graph.shape(id).to_vec();
            let values = net.noise(shape.iter().product());
            Tensor::from_f32(shape, values).unwrap()
        })
        .collect();
    let executable = compile(config, &net.graph, options, &mut Weights::default()).unwrap();
    let program = &executable.program;
    program.check().unwrap();
    let found = twice::run(config, &executable, &inputs);
    let expected = evaluate(&net.graph, &inputs).unwrap();
    let error = |(found, expected): (&Tensor, &Tensor)| {
        let (found, expected) = (found.as_f32().unwrap(), expected.as_f32().unwrap());
        assert_eq!(found.len(), expected.len());
        let square = |x: f64| x * x;
        let error: f64 = found.iter().zip(expected).map(|(a, b)| square(f64::from(a - b))).sum();
        let energy: f64 = expected.iter().map(|&b| square(f64::from(b))).sum();
        (error / energy).sqrt()
    };
    let hosts = executable.host.layers.iter().filter(|layer| layer.host.is_some()).count();
    GraphOutcome { error: found.iter().zip(&expected).map(error).fold(0.0, f64::max), hosts }
}

/// Returns the program of a graph.
pub(crate) fn compiled(
    config: &Config,
    options: &Options,
    build: impl FnOnce(&mut Net) -> Vec<ValueId>,
) -> Executable {
    let mut net = Net::new();
    net.graph.outputs = build(&mut net);
    compile(config, &net.graph, options, &mut Weights::default()).unwrap()
}

/// Returns the operators that the host computes, and the reasons.
pub(crate) fn reasons(executable: &Executable) -> Vec<(&str, &str)> {
    let named = executable.host.layers.iter().filter_map(|layer| layer.host.as_ref());
    named.map(|(op, reason)| (op.as_str(), reason.as_str())).collect()
}

/// Returns the host steps with the instructions that follow them.
pub(crate) fn steps(executable: &Executable) -> Vec<(u32, HostStep)> {
    let decoded = executable.program.host_ops.iter().enumerate();
    decoded.map(|(index, op)| (op.position, HostStep::decode(index, op).unwrap())).collect()
}

/// Returns the instances without and with extensions.
pub(crate) fn instances() -> [Config; 2] {
    ["reference", "extended"].map(|name| Config::preset(name).unwrap())
}

/// Runs on both instances; `hosts` is the number of nodes that the host computes on each.
pub(crate) fn check(what: &str, most: f64, hosts: [usize; 2], build: impl Fn(&mut Net) -> Vec<ValueId>) {
    for (config, hosts) in instances().iter().zip(hosts) {
        let mut net = Net::new();
        let outputs = build(&mut net);
        let found = run(&mut net, config, &outputs);
        assert!(found.error <= most, "{what}, extensions {}: error {}", config.extensions, found.error);
        assert_eq!(found.hosts, hosts, "{what}, extensions {}", config.extensions);
    }
}

// Limits of [`GraphOutcome::error`]. Each is at most 20 % above the largest measured value.
/// BF16 rounding of a value: 0.00499 measured.
pub(crate) const ROUNDED: f64 = 0.005;
/// BF16 rounding between a few steps: 0.00595 measured.
pub(crate) const ROUNDED_TWICE: f64 = 1.2 * 0.005_95;
/// Blocks of 8 bits in a product: 0.01432 measured.
pub(crate) const PRODUCT: f64 = 1.2 * 0.0143;
/// Blocks of 8 bits, and 4-bit keys and values, in attention: 0.0997 measured.
pub(crate) const ATTENTION: f64 = 1.2 * 0.0997;

pub(crate) const BY_ROWS: Gemm = Gemm { trans_b: true, ..Gemm::PLAIN };
