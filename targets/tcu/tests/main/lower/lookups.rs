//! Functions with the lookup extension, compared with the evaluator. The bounds are relative to
//! `1 + |value|`, by function, format and number of tables, with the table sizes that the
//! instances' local memories allow.

use npukit_asm::{assemble, disassemble};
use npukit_graph::op::{
    Binary, BinaryKind, GeluForm, GroupNormalization, InstanceNormalization, LayerNormalization, LogSoftmax,
    LpNormalization, Lrn, MatMul, Norm, Pow, Reduce, ReduceKind, RmsNormalization, Softmax, Transpose, Unary,
    UnaryKind,
};
use npukit_graph::{Op, eval};
use npukit_numeric::Tensor;
use npukit_tcu::internals::artifact;
use npukit_tcu::internals::clock::Clock;
use npukit_tcu::internals::config::ClockParams;
use npukit_tcu::internals::lower::{self, Options, Order};
use npukit_tcu::internals::timing::estimate;
use npukit_tcu::{self as tcu, Config, DataType};

use super::{Net, config, run};

/// Returns an instance with `tables` lookup tables and `tables` registers.
fn lookups(data_type: DataType, tables: usize) -> Config {
    let base = config(8, 1024, 256);
    Config { data_type, lookup_tables: tables, simd_registers_depth: tables, ..base }
}

/// Returns the largest error, relative to `1 + |value|`, of `net` with inputs in `low..high`, in
/// both orders.
fn error(net: &Net, config: &Config, [low, high]: [f32; 2]) -> f32 {
    let mut source = Net::new();
    let inputs: Vec<Tensor> = net
        .graph
        .inputs
        .iter()
        .map(|&id| {
            let shape = net.graph.shape(id).to_vec();
            let numbers = source.numbers(shape.iter().product());
            let format = config.data_type.format();
            let data = numbers.into_iter().map(|x| format.round(low + (high - low) * (x + 1.0) / 2.0));
            Tensor::from_f32(shape, data.collect()).unwrap()
        })
        .collect();
    let names: Vec<String> = net.graph.outputs.iter().map(|&id| net.graph.value(id).name.clone()).collect();
    let expected = eval::evaluate(&net.graph, &inputs).unwrap();
    let mut worst = 0.0f32;
    for order in [Order::Default, Order::Upstream] {
        let compiled = lower::compile(&net.graph, config, &Options { order, ..Options::default() }).unwrap();
        assert!(compiled.program.host_steps.is_empty(), "the array does all of it");
        for (found, expected) in run(&compiled.program, &inputs, &names).iter().zip(&expected) {
            let pairs = found.as_f32().unwrap().iter().zip(expected.as_f32().unwrap());
            worst = pairs.map(|(x, y)| (x - y).abs() / (1.0 + y.abs())).fold(worst, f32::max);
        }
    }
    worst
}

fn unary(kind: UnaryKind) -> Net {
    let mut net = Net::new();
    let x = net.input(&[1, 5, 7, 11]);
    let y = net.node(Unary { kind }, &[x]);
    net.graph.outputs = vec![y];
    net
}

/// Bound of a table that is refused as too coarse.
const REFUSED: f32 = 0.0;
/// Two steps of FP16BP8: the roundings of value, slope, product and sum.
const TWO_STEPS: f32 = 2.0 / 256.0;

/// Functions, the range of their operands, and the bounds in FLOAT32 with 1, 2 and 3 tables. In
/// FP16BP8 all are within [`TWO_STEPS`].
const FUNCTIONS: &[(UnaryKind, [f32; 2], [f32; 3])] = &[
    (UnaryKind::Sigmoid, [-8.0, 8.0], [1e-3, 1e-5, 1e-5]),
    (UnaryKind::Tanh, [-6.0, 6.0], [2e-3, 1e-5, 1e-5]),
    (UnaryKind::Exp, [-6.0, 4.0], [REFUSED, 5e-3, 1e-4]),
    (UnaryKind::Erf, [-4.0, 4.0], [2e-3, 1e-5, 1e-5]),
    (UnaryKind::Gelu { form: GeluForm::Exact }, [-8.0, 8.0], [1.5e-2, 1e-5, 1e-5]),
    (UnaryKind::Gelu { form: GeluForm::Tanh }, [-8.0, 8.0], [1.5e-2, 1e-5, 1e-5]),
    (UnaryKind::Swish { alpha: 1.0 }, [-12.0, 12.0], [1.5e-2, 1e-5, 1e-5]),
    (UnaryKind::Mish, [-12.0, 12.0], [1.5e-2, 1e-5, 1e-5]),
    (UnaryKind::Softplus, [-12.0, 12.0], [1.5e-2, 1e-5, 1e-5]),
    (UnaryKind::Softsign, [-12.0, 12.0], [2e-3, 1e-5, 1e-5]),
    (UnaryKind::Elu { alpha: 1.0 }, [-12.0, 12.0], [1.5e-2, 2e-4, 1e-5]),
    (UnaryKind::Celu { alpha: 2.0 }, [-12.0, 12.0], [1.5e-2, 2e-4, 1e-5]),
    (UnaryKind::Selu { alpha: 1.673_263_2, gamma: 1.050_701 }, [-12.0, 12.0], [1.5e-2, 3e-4, 1e-5]),
    (UnaryKind::Sqrt, [0.0, 100.0], [6e-3, 2e-5, 1e-5]),
    (UnaryKind::Reciprocal, [0.25, 100.0], [2e-2, 4e-4, 1e-5]),
    (UnaryKind::Reciprocal, [-20.0, -0.25], [2e-2, 4e-4, 1e-5]),
    (UnaryKind::Log, [0.0625, 100.0], [6e-3, 4e-5, 1e-5]),
    (UnaryKind::Atan, [-9.0, 9.0], [2e-3, 1e-5, 1e-5]),
];

/// Returns `kind` between multiplications by constants.
fn between(before: f32, kind: UnaryKind, after: f32) -> Net {
    let mut net = Net::new();
    let x = net.input(&[1, 5, 7, 11]);
    let times = |net: &mut Net, x, factor: f32| {
        let name = format!("by {factor}");
        let factor = net.graph.add_constant(name, Tensor::from_f32(vec![], vec![factor]).unwrap());
        net.node(Binary { kind: BinaryKind::Mul }, &[x, factor])
    };
    let scaled = times(&mut net, x, before);
    let y = net.node(Unary { kind }, &[scaled]);
    let y = times(&mut net, y, after);
    net.graph.outputs = vec![y];
    net
}

/// A Sigmoid of an operand that is stored 16 times as large, and a result stored 64 times as large:
/// within two steps of the larger value, with the instructions of the function alone.
#[test]
fn powers_of_two_beside_a_function_become_part_of_its_table() {
    let config = lookups(DataType::Fp16Bp8, 2);
    let length = |net: &Net| {
        let compiled = lower::compile(&net.graph, &config, &Options::default()).unwrap();
        compiled.program.instructions.len()
    };
    for (kind, before, after, range) in [
        (UnaryKind::Sigmoid, 1.0 / 16.0, 64.0, [-120.0, 120.0]),
        (UnaryKind::Exp, 1.0 / 8.0, 64.0, [-120.0, 0.0]),
        (UnaryKind::Reciprocal, 1.0 / 64.0, 32.0, [60.0, 120.0]),
        (UnaryKind::Sqrt, 4.0, 1.0, [0.0, 120.0]),
    ] {
        let net = between(before, kind, after);
        let error = error(&net, &config, range);
        assert!(error <= TWO_STEPS, "{kind:?}: {error}");
        assert_eq!(length(&net), length(&unary(kind)), "{kind:?}");
        // A factor that is not a power of two stays a multiplication.
        assert!(length(&between(0.3, kind, after)) > length(&unary(kind)), "{kind:?}");
    }
}

#[test]
fn functions_are_within_their_bounds() {
    let mut wrong = Vec::new();
    for (kind, range, floats) in FUNCTIONS {
        for (tables, &float) in (1..).zip(floats) {
            for (data_type, bound) in [(DataType::Float32, float), (DataType::Fp16Bp8, TWO_STEPS)] {
                let (net, config) = (unary(*kind), lookups(data_type, tables));
                if bound == REFUSED {
                    assert!(!lower::check(&net.graph, &config).is_empty());
                    continue;
                }
                let error = error(&net, &config, *range);
                println!("{kind:?} {data_type:?} {tables} tables: {error:.2e}");
                if error > bound {
                    wrong.push(format!("{kind:?} {data_type:?} {tables}: {error} above {bound}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

fn composite(op: impl Into<Op>, shape: &[usize], parameters: usize) -> Net {
    let mut net = Net::new();
    let mut inputs = vec![net.input(shape)];
    for _ in 0..parameters {
        inputs.push(net.constant(&shape[shape.len() - 1..]));
    }
    let y = net.node(op, &inputs);
    net.graph.outputs = vec![y];
    net
}

/// Returns composite operators, the range of their operands, and the bounds in FLOAT32 with 2 and 3
/// tables and in FP16BP8 with either.
fn composites() -> Vec<(Net, [f32; 2], [f32; 3])> {
    let normal = |op: Op, parameters| composite(op, &[1, 6, 20], parameters);
    let reduce = |kind| normal(Reduce { kind, axes: vec![2], keep_dims: false }.into(), 0);
    let (wide, positive) = ([-4.0, 4.0], [0.5, 2.0]);
    let layer = LayerNormalization { axis: 2, epsilon: 1e-5 };
    let rms = RmsNormalization { axis: 2, epsilon: 1e-3 };
    let instance = InstanceNormalization { epsilon: 1e-3 };
    vec![
        (composite(Softmax { axis: 1, axis_end: 2 }, &[3, 10], 0), wide, [5e-3, 1e-4, TWO_STEPS]),
        (composite(Softmax { axis: 1, axis_end: 3 }, &[1, 4, 3, 5], 0), wide, [5e-3, 1e-4, TWO_STEPS]),
        (composite(LogSoftmax { axis: 3, axis_end: 4 }, &[1, 2, 3, 19], 0), wide, [5e-3, 1e-4, TWO_STEPS]),
        (normal(layer.into(), 2), wide, [1e-4, 1e-5, 3.0 * TWO_STEPS]),
        (normal(rms.into(), 1), wide, [1e-4, 1e-5, 2.0 * TWO_STEPS]),
        (composite(instance, &[1, 6, 5, 9], 2), wide, [1e-4, 1e-5, TWO_STEPS]),
        (normal(LpNormalization { axis: 2, norm: Norm::L2 }.into(), 0), positive, [1e-4, 1e-5, TWO_STEPS]),
        (normal(LpNormalization { axis: 1, norm: Norm::L1 }.into(), 0), positive, [1e-3, 2e-5, TWO_STEPS]),
        (
            composite(GroupNormalization { groups: 3, epsilon: 1e-3 }, &[1, 4, 5, 12], 2),
            wide,
            [1e-4, 1e-5, 2.0 * TWO_STEPS],
        ),
        (
            composite(Lrn { size: 4, alpha: 0.5, beta: 0.75, bias: 1.5 }, &[1, 4, 3, 11], 0),
            wide,
            [1e-4, 1e-5, 2.0 * TWO_STEPS],
        ),
        (reduce(ReduceKind::L2), positive, [2e-5, 1e-5, TWO_STEPS]),
        (reduce(ReduceKind::LogSum), positive, [1e-4, 1e-5, TWO_STEPS]),
        (reduce(ReduceKind::LogSumExp), [-1.0, 1.0], [5e-3, 1e-4, TWO_STEPS]),
        (quotient(), positive, [1e-3, 2e-5, TWO_STEPS]),
    ]
}

/// Returns an activation divided by another.
fn quotient() -> Net {
    let mut net = Net::new();
    let (x, y) = (net.input(&[1, 3, 4, 9]), net.input(&[1, 3, 4, 9]));
    let z = net.node(Binary { kind: BinaryKind::Div }, &[x, y]);
    net.graph.outputs = vec![z];
    net
}

#[test]
fn composites_are_within_their_bounds() {
    for (net, range, [two, three, fixed]) in composites() {
        let op = net.graph.nodes[0].op.to_string();
        let cases = [(DataType::Float32, 2, two), (DataType::Float32, 3, three)];
        let fixed = (1..=3).map(|tables| (DataType::Fp16Bp8, tables, fixed));
        for (data_type, tables, bound) in cases.into_iter().chain(fixed) {
            let error = error(&net, &lookups(data_type, tables), range);
            println!("{op} {data_type:?} {tables} tables: {error:.2e}");
            assert!(error <= bound, "{op} {data_type:?} {tables}: {error} above {bound}");
        }
    }
}

/// Attention: two products of activations with a Softmax in between, followed by a layer
/// normalization.
fn attention() -> Net {
    let mut net = Net::new();
    let x = net.input(&[2, 6, 8]);
    let turned = net.node(Transpose { perm: vec![0, 2, 1] }, &[x]);
    let scores = net.node(MatMul, &[x, turned]);
    let shares = net.node(Softmax { axis: 2, axis_end: 3 }, &[scores]);
    let mixed = net.node(MatMul, &[shares, x]);
    let (scale, bias) = (net.constant(&[8]), net.constant(&[8]));
    let normal = net.node(LayerNormalization { axis: 2, epsilon: 1e-2 }, &[mixed, scale, bias]);
    let exponent = net.constant_of(&[], vec![0.5]);
    let magnitude = net.node(Unary { kind: UnaryKind::Abs }, &[normal]);
    let root = net.node(Pow, &[magnitude, exponent]);
    let gelu = net.node(Unary { kind: UnaryKind::Gelu { form: GeluForm::Exact } }, &[normal]);
    net.graph.outputs = vec![gelu, root];
    net
}

#[test]
fn a_network_with_lookups_in_its_middle() {
    let config = lookups(DataType::Float32, 3);
    let error = error(&attention(), &config, [-1.0, 1.0]);
    assert!(error < 2e-3, "{error}");
    // A small machine needs several tiles, with tables of 168 keys.
    let small =
        Config { array_size: 4, local_depth: 512, accumulator_depth: 24, ..lookups(DataType::Fp16Bp8, 2) };
    let error = self::error(&attention(), &small, [-1.0, 1.0]);
    assert!(error < 0.02, "{error}");
}

#[test]
fn tables_are_loaded_once_for_all_tiles() {
    let mut net = Net::new();
    let x = net.input(&[1, 12, 12, 16]);
    let y = net.conv(x, [3, 3], 16, super::dense(3));
    let y = net.node(Unary { kind: UnaryKind::Sigmoid }, &[y]);
    net.graph.outputs = vec![y];
    let config = Config { accumulator_depth: 64, ..lookups(DataType::Fp16Bp8, 2) };
    let program = lower::compile(&net.graph, &config, &Options::default()).unwrap().program;
    assert_eq!(program.layers.len(), 1, "the lookup is done in the accumulators");
    let loads = program.instructions.iter().filter(|op| matches!(op, tcu::Op::LoadLut { .. })).count();
    assert_eq!(loads, 3);
}

#[test]
fn every_part_of_the_tool_takes_lookups() {
    let config = lookups(DataType::Fp16Bp8, 2);
    let program = lower::compile(&attention().graph, &config, &Options::default()).unwrap().program;
    let files: Vec<_> = artifact::write(&program).unwrap();
    let mut resolve = |name: &str| {
        let file = files.iter().find(|file| file.name == name);
        Ok(file.expect("one of the files").bytes.clone())
    };
    let manifest = artifact::read("net.tmodel", &files[0].bytes, &mut resolve).unwrap();
    assert_eq!(manifest, program);
    let (spec, bytes) = (tcu::isa(&config), tcu::encode_program(&config, &program.instructions).unwrap());
    let text = disassemble(&spec, &bytes).to_string();
    assert!(text.contains("lookup") && text.contains("loadlut"));
    assert_eq!(assemble(&spec, "net.s", &text).unwrap().bytes, bytes);
    assert!(estimate(&config, &program.instructions).kinds.contains_key("LoadLUT"));
    let clock = Clock::new(&config, ClockParams::with_latency(28)).unwrap();
    let timeline = clock.run(&program.instructions);
    assert_eq!(timeline.accept.len(), program.instructions.len(), "{:?}", timeline.hang);
}

#[test]
fn too_little_room_for_a_table_is_explained() {
    let net = unary(UnaryKind::Tan);
    let problems = lower::check(&net.graph, &Config { local_depth: 64, ..lookups(DataType::Float32, 1) });
    assert_eq!(problems.len(), 1);
    assert!(problems[0].reason.contains("keys") && problems[0].hint.contains("local memory"), "{problems:?}");
}

/// Without lookups, a sequence of functions at the end is left to the host.
#[test]
fn functions_at_the_end_are_the_hosts() {
    let kinds = [
        UnaryKind::Selu { alpha: 1.5, gamma: 1.25 },
        UnaryKind::Gelu { form: GeluForm::Tanh },
        UnaryKind::Swish { alpha: 0.7 },
        UnaryKind::Sigmoid,
    ];
    let mut net = Net::new();
    let x = net.input(&[1, 3, 4, 5]);
    let mut y = net.conv(x, [1, 1], 6, super::dense(1));
    for kind in kinds {
        y = net.node(Unary { kind }, &[y]);
    }
    let y = net.node(LogSoftmax { axis: 3, axis_end: 4 }, &[y]);
    let y = net.node(Transpose { perm: vec![0, 3, 1, 2] }, &[y]);
    net.graph.outputs = vec![y];
    let program = lower::compile(&net.graph, &config(4, 64, 16), &Options::default()).unwrap().program;
    let names: Vec<&str> = program.host_steps.iter().map(|step| step.op.name()).collect();
    assert_eq!(names, ["Selu", "Gelu", "Swish", "Sigmoid", "LogSoftmax"]);
    net.check(&[y], &config(4, 64, 16));
}

#[test]
fn a_function_in_the_middle_is_refused_without_lookups() {
    let mut net = Net::new();
    let x = net.input(&[1, 3, 4, 5]);
    let y = net.node(Unary { kind: UnaryKind::Sigmoid }, &[x]);
    let z = net.conv(y, [1, 1], 6, super::dense(1));
    net.graph.outputs = vec![z];
    let problems = lower::check(&net.graph, &config(4, 64, 16));
    assert_eq!(problems.len(), 1);
    assert!(
        problems[0].reason.contains("Sigmoid") && problems[0].hint.contains("lookup_tables"),
        "{problems:?}"
    );
}
