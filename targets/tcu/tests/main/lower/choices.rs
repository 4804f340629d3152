//! Choices of the compiler and its printed stages, compared with manually counted figures:
//! instructions, vectors, places.

use super::edges::refused;
use super::sweep::{residual, sum_of_convolutions};
use super::*;
use npukit_graph::op::{PRelu, Unary, UnaryKind};
use npukit_target::{Cache, UninitMemory, digest};
use npukit_tcu::internals::lower::{Minimize, Stages};
use npukit_tcu::internals::op::DataMoveKind;
use npukit_tcu::internals::program::Usage;
use npukit_tcu::internals::run::Driver;
use proptest::strategy::Strategy as _;

fn program(net: &Net, config: &Config) -> Program {
    let (strategy, minimize) = (Some(Strategy::LocalIsolated), Some(Minimize::Estimator));
    lower::compile(&net.graph, config, &Options { strategy, minimize, ..Options::default() }).unwrap().program
}

fn stages(net: &Net, config: &Config) -> Stages {
    lower::stages(&net.graph, config, &Options::default()).unwrap()
}

/// Returns the number of vectors moved by instructions of `kind`.
fn moved(program: &Program, kind: DataMoveKind) -> u64 {
    let size = |op: &npukit_tcu::Op| match op {
        npukit_tcu::Op::DataMove { kind: of, size, .. } if *of == kind => *size,
        _ => 0,
    };
    program.instructions.iter().map(size).sum()
}

fn simd(program: &Program) -> usize {
    program.instructions.iter().filter(|op| matches!(op, npukit_tcu::Op::Simd { .. })).count()
}

/// Sums of 16 pixels in two blocks of four lanes: they are kept in at most half of the
/// accumulators.
#[test]
fn sums_are_kept_where_nothing_stands_in_the_way() {
    let kept = |case, depth| {
        let mut net = Net::new();
        net.graph.outputs = residual(&mut net, case);
        let hir = stages(&net, &config(4, 1000, depth)).hir;
        let count = |word| hir.lines().filter(|line| line.trim_start().starts_with(word)).count();
        assert_eq!(count("keep "), count("resume"), "{hir}");
        count("keep ")
    };
    for (case, expected) in [1, 2, 0, 0, 0, 0, 0, 0, 1].into_iter().enumerate() {
        assert_eq!(kept(case, 200), expected, "case {case}");
    }
    assert_eq!([63, 64].map(|depth| kept(0, depth)), [0, 1]);
}

/// Blocks of four channels; a block's vector without effect is skipped, with its register.
#[test]
fn factors_of_one_and_addends_of_zero_cost_nothing() {
    for (kind, neutral) in [(BinaryKind::Mul, 1.0), (BinaryKind::Add, 0.0)] {
        let count = |operand: [f32; 2]| {
            let mut net = Net::new();
            let x = net.input(&[1, 2, 3, 8]);
            let operand = operand.into_iter().flat_map(|value| [value; 4]).collect();
            let operand = net.constant_of(&[8], operand);
            net.graph.outputs = vec![net.node(Binary { kind }, &[x, operand])];
            simd(&program(&net, &config(4, 200, 64)))
        };
        let other = 0.5;
        assert_eq!(count([other, other]), 2 * (6 + 1), "{kind:?}");
        assert_eq!(count([neutral, other]), 6 + 1, "{kind:?}");
        assert_eq!(count([other, neutral]), 6 + 1, "{kind:?}");
        assert_eq!(count([neutral, neutral]), 0, "{kind:?}");
    }
}

/// A chain of convolutions with more variables than fit in local memory. The variables that fit
/// stay there; the others go through DRAM0. The results are equal, bit for bit, to a program's with
/// all variables in DRAM0.
#[test]
fn variables_that_fit_stay_in_local_memory() {
    // The channel count is once a multiple of the array size, once not.
    for channels in [8, 6] {
        let mut net = Net::new();
        let x = net.input(&[1, 8, 8, channels]);
        let wide = net.conv(x, [1, 1], 4 * channels, dense(1));
        let narrow = net.conv(wide, [3, 3], 4, dense(3));
        let pooled = net.node(MaxPool { window: window(4, 4, [0; 4]) }, &[narrow]);
        let summed = net.conv(pooled, [1, 1], channels, dense(1));
        net.graph.outputs = vec![net.conv(summed, [1, 1], 4, dense(1))];
        let config = Config { data_type: DataType::Fp16Bp8, ..config(4, 260, 64) };
        let compiled = |strategy| {
            let options = Options { strategy: Some(strategy), ..Options::default() };
            lower::compile(&net.graph, &config, &options).unwrap().program
        };
        let (isolated, partial) = (compiled(Strategy::LocalIsolated), compiled(Strategy::LocalVars));
        let plan = |strategy| {
            let options = Options { strategy: Some(strategy), ..Options::default() };
            lower::stages(&net.graph, &config, &options).unwrap().plan
        };
        let (here, there) = (plan(Strategy::LocalVars), plan(Strategy::LocalIsolated));
        let count = |plan: &str, home: &str| {
            plan.lines().filter(|line| line.starts_with(home) && line.contains("Variable")).count()
        };
        assert!(count(&here, "local") > 0 && count(&here, "DRAM0") > 0, "{here}");
        assert_eq!(count(&there, "local"), 0, "{there}");
        let input: Vec<i32> = (0..64 * channels as i32).map(|i| (i * 37) % 401 - 200).collect();
        let packed = isolated.inputs[0].layout.as_ref().unwrap().pack(&input, 4).unwrap();
        let result = |program: &Program| {
            let mut driver = Driver::new(program, UninitMemory::Poison, &[]).unwrap();
            driven::run(&mut driver, program, std::slice::from_ref(&packed))
        };
        assert_eq!(result(&partial), result(&isolated), "{channels} channels");
    }
}

/// For a single pixel, only one of the nine taps of a kernel matters.
#[test]
fn weights_that_meet_only_padding_are_not_loaded() {
    let mut net = Net::new();
    let x = net.input(&[1, 1, 1, 4]);
    let weights = net.constant(&[3, 3, 4, 4]);
    net.graph.outputs = vec![net.node(dense(3), &[x, weights])];
    let program = program(&net, &config(4, 200, 64));
    assert_eq!(moved(&program, DataMoveKind::Dram1ToLocal), 4);
}

/// Pixels without any tap are zero, independent of the accumulators' content.
#[test]
fn what_lies_in_the_padding_altogether_is_zero() {
    let mut net = Net::new();
    let x = net.input(&[1, 4, 4, 4]);
    let one = net.constant_of(&[4], vec![1.0; 4]);
    let full = net.node(Binary { kind: BinaryKind::Max }, &[x, one]);
    let weights = net.constant(&[1, 1, 4, 4]);
    let wide = Conv { strides: [1, 1], dilations: [1, 1], pads: [2, 1, 1, 2], group: 1 };
    let y = net.node(wide, &[full, weights]);
    net.check(&[y], &config(4, 200, 64));
}

/// A 4 x 4 image of one block in tiles of accumulators: 16, and four of the pool's windows.
#[test]
fn the_use_of_memories_is_that_of_the_grids() {
    let pool = |depth| {
        let mut net = Net::new();
        let x = net.input(&[1, 4, 4, 4]);
        net.graph.outputs = vec![net.node(MaxPool { window: window(2, 2, [0; 4]) }, &[x])];
        program(&net, &config(4, 200, depth)).memory
    };
    let used = Usage { maximum: 20, aggregate: 20 };
    assert_eq!(pool(64).accumulators, used);
    assert_eq!(pool(20).accumulators, used, "it just fits");
    assert!(pool(19).accumulators.maximum < 20, "tiles");
    assert_eq!(pool(64).local, Usage { maximum: 16 + 4, aggregate: 16 + 4 });
    assert_eq!(pool(64).dram0, Usage { maximum: 16 + 4, aggregate: 16 + 4 });
}

/// Accumulators of a kept sum's layer: the sum at the start, followed by its own grid.
#[test]
fn a_kept_sum_has_accumulators_of_its_own() {
    let mut net = Net::new();
    net.graph.outputs = residual(&mut net, 0);
    let usage = program(&net, &config(4, 1000, 400)).memory.accumulators;
    // 32 vectors stay. After them, 32 vectors each for the result of the first layer and of the
    // next one alternate; the second resumes the first 32.
    assert_eq!(usage, Usage { maximum: 96, aggregate: 32 });
}

/// Outputs that the host can read in place, transposed, reshaped or through its own steps, are not
/// copied.
#[test]
fn outputs_are_read_where_they_are() {
    for case in 0..6 {
        let mut net = Net::new();
        let x = net.input(&[1, 3, 4, 8]);
        let y = net.conv(x, [1, 1], 8, dense(1));
        let shape = vec![1, 12, 8];
        let outputs = match case {
            0 => vec![y],
            1 => vec![net.node(Reshape { shape }, &[y])],
            2 => vec![net.node(Transpose { perm: vec![0, 3, 1, 2] }, &[y])],
            3 => {
                let flat = net.node(Reshape { shape }, &[y]);
                vec![net.node(Unary { kind: UnaryKind::Sigmoid }, &[flat])]
            }
            4 => {
                let soft = net.node(Softmax { axis: 3, axis_end: 4 }, &[y]);
                vec![net.node(Transpose { perm: vec![0, 3, 1, 2] }, &[soft])]
            }
            _ => {
                let flat = net.node(Reshape { shape }, &[y]);
                vec![flat, net.node(Relu, &[y])]
            }
        };
        net.graph.outputs = outputs.clone();
        let layers: Vec<String> =
            program(&net, &config(4, 200, 64)).layers.into_iter().map(|layer| layer.name).collect();
        assert_eq!(
            layers.iter().filter(|name| name.starts_with("copy")).count(),
            0,
            "case {case}: {layers:?}"
        );
        net.check(&outputs, &config(4, 200, 64));
    }
}

/// A draft computes the same bits, at any cost.
#[test]
fn a_draft_gives_the_same_values() {
    let mut others = 0;
    for case in 0..9 {
        let mut net = Net::new();
        net.graph.outputs = residual(&mut net, case);
        let config = Config { data_type: DataType::Fp16Bp8, ..config(4, 100, 64) };
        let compiled = |draft| {
            let options = Options { draft, ..Options::default() };
            lower::compile(&net.graph, &config, &options).unwrap().program
        };
        let [whole, draft] = [compiled(false), compiled(true)];
        let raw = net.numbers(80).into_iter().map(|x| (x * 512.0) as i32).collect::<Vec<_>>();
        let packed = [whole.inputs[0].layout.as_ref().unwrap().pack(&raw, config.array_size).unwrap()];
        assert_eq!(driven::outputs(&whole, &packed), driven::outputs(&draft, &packed), "case {case}");
        others += usize::from(whole.instructions != draft.instructions);
    }
    assert!(others > 4, "{others} of nine programs differ");
}

/// Only inputs and outputs: all strategies are equally good.
#[test]
fn of_strategies_that_cost_the_same_the_simplest_is_taken() {
    let mut net = Net::new();
    let x = net.input(&[1, 4, 4, 4]);
    net.graph.outputs = vec![net.node(Relu, &[x])];
    for minimize in [None, Some(Minimize::Estimator)] {
        let options = Options { minimize, ..Options::default() };
        let compiled = lower::compile(&net.graph, &config(4, 200, 64), &options).unwrap();
        assert_eq!(compiled.strategy, Strategy::LocalIsolated);
    }
}

/// The clock overlaps work that the estimator adds up. Each of them must rank its own cheapest
/// program at most as expensive as the other's.
#[test]
fn each_meter_finds_its_program_the_cheapest() {
    use npukit_tcu::internals::clock::Clock;
    use npukit_tcu::internals::config::ClockParams;
    let params = ClockParams::with_latency(28);
    let mut net = Net::new();
    let x = net.input(&[1, 8, 8, 8]);
    let y = net.conv(x, [3, 3], 16, dense(3));
    let y = net.node(Relu, &[y]);
    let y = net.conv(y, [3, 3], 8, dense(3));
    net.graph.outputs = vec![net.node(Relu, &[y])];
    let config = Config { data_type: DataType::Fp16Bp8, ..config(8, 300, 80) };
    let programs = [Minimize::Clock(params), Minimize::Estimator].map(|minimize| {
        let options = Options { minimize: Some(minimize), ..Options::default() };
        lower::compile(&net.graph, &config, &options).unwrap().program.instructions
    });
    let [quick, plain] = programs.map(|ops| Clock::new(&config, params).unwrap().run(&ops).total);
    assert!(quick < plain, "{quick} and {plain} cycles");
}

#[test]
fn constants_may_fill_dram1_and_no_more() {
    // The SIMD unit computes nine taps of one block each in fewer cycles than the array computes
    // nine squares of 16 rows.
    let compiled = |depth| {
        let mut net = Net::new();
        let x = net.input(&[1, 3, 3, 16]);
        let weights = net.constant(&[3, 3, 1, 16]);
        net.graph.outputs = vec![net.node(Conv { group: 16, ..dense(3) }, &[x, weights])];
        let config = Config { dram1_depth: depth, ..config(16, 400, 200) };
        lower::compile(&net.graph, &config, &Options::default())
            .map(|compiled| compiled.program.constants.len())
    };
    assert_eq!(compiled(9), Ok(9 * 16));
    assert_eq!(compiled(8), Err(LowerError::Constants { needed: 9, available: 8 }));
}

#[test]
fn multiply_accumulates_are_those_of_the_model() {
    let macs = |conv: Conv, channels: usize, n: usize| {
        let mut net = Net::new();
        let x = net.input(&[1, 3, 3, 6]);
        net.graph.outputs = vec![net.conv(x, [3, 3], channels, conv)];
        let program = program(&net, &config(n, 400, 200));
        program.layers.iter().map(|layer| layer.macs).sum::<u64>()
    };
    // Corners use four of the nine taps and edges six: 4 * 4 + 4 * 6 + 9.
    for n in [4, 16] {
        assert_eq!(macs(dense(3), 5, n), 49 * 6 * 5);
        assert_eq!(macs(Conv { group: 6, ..dense(3) }, 6, n), 49 * 6);
    }
}

#[test]
fn strategies_have_names_and_homes() {
    for (strategy, name, vars, consts) in [
        (Strategy::LocalIsolated, "local-isolated", false, false),
        (Strategy::LocalVars, "local-vars", true, false),
        (Strategy::LocalConsts, "local-consts", false, true),
        (Strategy::LocalVarsAndConsts, "local-vars-and-consts", true, true),
    ] {
        assert_eq!((strategy.name(), strategy.to_string().as_str()), (name, name));
        assert_eq!(name.parse(), Ok(strategy));
        assert_eq!((strategy.local_vars(), strategy.local_consts()), (vars, consts));
        let mut net = Net::new();
        let x = net.input(&[1, 2, 2, 4]);
        let y = net.conv(x, [1, 1], 4, dense(1));
        let z = net.node(MaxPool { window: window(2, 1, [0, 0, 1, 1]) }, &[y]);
        let z = net.conv(z, [1, 1], 4, dense(1));
        net.graph.outputs = vec![z];
        let options = Options { strategy: Some(strategy), ..Options::default() };
        let plan = lower::stages(&net.graph, &config(4, 100, 64), &options).unwrap().plan;
        let of = |kind: &str| -> Vec<String> {
            let lines = plan.lines().filter(|line| line.contains(&format!(" {kind} ")));
            lines.map(|line| line.split(' ').next().unwrap().to_owned()).collect()
        };
        let (var, constant) = (if vars { "local" } else { "DRAM0" }, if consts { "local" } else { "DRAM1" });
        assert!(of("Variable").iter().all(|home| home == var) && of("Variable").len() == 1, "{plan}");
        assert!(of("Constant").iter().all(|home| home == constant) && of("Constant").len() == 2, "{plan}");
    }
    let unknown = "local".parse::<Strategy>().unwrap_err().to_string();
    assert!(unknown.contains("unknown strategy `local`") && unknown.contains("local-vars"), "{unknown}");
}

#[test]
fn every_stage_is_printed() {
    let mut net = Net::new();
    let x = net.input(&[1, 2, 3, 4]);
    let weights = net.constant(&[1, 1, 4, 4]);
    let y = net.node(dense(1), &[x, weights]);
    let relu = net.node(Relu, &[y]);
    let swish = net.node(Unary { kind: UnaryKind::HardSwish }, &[relu]);
    let soft = net.node(Softmax { axis: 3, axis_end: 4 }, &[swish]);
    net.graph.outputs = vec![soft];
    let Stages { layers, hir, plan, lir } = stages(&net, &config(4, 100, 64));
    assert!(
        layers.starts_with("layer 0 node0+node1+node2: 6 pixels x 1 blocks, 96 MACs\nhost node3: "),
        "{layers}"
    );
    assert!(
        hir.starts_with("layer 0 node0+node1+node2\n  matmul constant1: 1 terms, 1 weight sets\n"),
        "{hir}"
    );
    let formula = "  formula splat(0.16666667) (1 vectors), Multiply grid, Add splat(0.5) (1 vectors), ";
    assert!(hir.contains(formula), "{hir}");
    assert!(plan.starts_with("strategy local-"), "{plan}");
    assert!(plan.contains("DRAM0 0: 6 vectors, Input input0\n"), "{plan}");
    assert!(
        lir.starts_with("; node0+node1+node2: tiles of 6 of 6 pixels x 1 of 1 blocks, weights stay\n"),
        "{lir}"
    );
    assert!(lir.lines().count() > 10, "{lir}");
}

#[test]
fn problems_are_listed_with_reasons_and_hints() {
    let mut net = Net::new();
    let x = net.input(&[1, 4, 4, 6]);
    let root = net.node(Unary { kind: UnaryKind::Sqrt }, &[x]);
    net.graph.outputs = vec![net.conv(root, [1, 1], 6, dense(1))];
    let error = lower::compile(&net.graph, &config(4, 128, 64), &Options::default()).unwrap_err();
    let problem = &lower::check(&net.graph, &config(4, 128, 64))[0];
    let text = error.to_string();
    assert!(text.contains(&format!("\n  node0 (Sqrt): {}; {}", problem.reason, problem.hint)), "{text}");
}

/// Values of the graph that each layer saves or keeps.
#[test]
fn results_of_a_layer_bear_the_names_of_the_graph() {
    let mut net = Net::new();
    net.graph.outputs = residual(&mut net, 0);
    let compiled = lower::compile(&net.graph, &config(4, 1000, 400), &Options::default()).unwrap();
    // The first result list has the sum and the input of the next convolution. The second has the
    // output.
    assert_eq!(compiled.results, [vec!["value0_0", "value1_0"], vec!["value4_0"]]);
    let prepared = lower::prepare(&net.graph, &config(4, 1000, 400), Order::Default);
    let options = Options { prepared: true, ..Options::default() };
    let again = lower::compile(&prepared, &config(4, 1000, 400), &options).unwrap();
    assert_eq!(again.program.instructions, compiled.program.instructions);
}

/// The host steps of an output are not part of the layer that copies it.
#[test]
fn the_result_of_a_copy_is_what_it_copies() {
    let mut net = Net::new();
    let x = net.input(&[1, 2, 2, 8]);
    let parts = net.nodes(Split { axis: 3, sizes: vec![4, 4] }, &[x], 2);
    let soft = net.node(Softmax { axis: 3, axis_end: 4 }, &[parts[1]]);
    net.graph.outputs = vec![parts[0], soft];
    let compiled = lower::compile(&net.graph, &config(4, 128, 64), &Options::default()).unwrap();
    let name = |id| vec![net.graph.value(id).name.clone()];
    assert_eq!(compiled.results, [name(parts[0]), name(parts[1])]);
    assert_eq!(compiled.program.layers[1].name, format!("copy to {}", name(soft)[0]));
}

#[test]
fn two_convolutions_are_one_product_where_nothing_else_reads_them() {
    for (case, expected) in [true, false, false, false, false, false].into_iter().enumerate() {
        let mut net = Net::new();
        net.graph.outputs = sum_of_convolutions(&mut net, case);
        let hir = stages(&net, &config(4, 400, 200)).hir;
        let joined = hir.lines().any(|line| line.contains("matmul") && line.contains("+constant"));
        assert_eq!(joined, expected, "case {case}: {hir}");
    }
}

/// The error names the convolution without constant weights, not the one that it is added to.
#[test]
fn a_convolution_without_constant_weights_is_refused_by_itself() {
    let mut net = Net::new();
    let (x, weights) = (net.input(&[1, 3, 3, 4]), net.input(&[1, 1, 4, 4]));
    let a = net.node(dense(1), &[x, weights]);
    let b = net.conv(x, [1, 1], 4, dense(1));
    let sum = net.node(Binary { kind: BinaryKind::Add }, &[a, b]);
    assert_eq!(refused(net, &[sum], &config(4, 200, 64)), ["node0"]);
}

/// Six vectors: slopes on one side of one take three instructions each, on both sides four.
#[test]
fn slopes_on_one_side_of_one_are_a_multiplication_and_a_comparison() {
    let count = |slopes: [f32; 4]| {
        let mut net = Net::new();
        let x = net.input(&[1, 2, 3, 4]);
        let slopes = net.constant_of(&[4], slopes.to_vec());
        net.graph.outputs = vec![net.node(PRelu, &[x, slopes])];
        simd(&program(&net, &config(4, 200, 64)))
    };
    assert_eq!([count([0.5; 4]), count([1.5; 4]), count([0.5, 1.5, 0.5, 1.5])], [18, 18, 24]);
}

#[test]
fn zero_is_not_loaded_to_compare_with_it() {
    let mut net = Net::new();
    let x = net.input(&[1, 2, 3, 4]);
    net.graph.outputs = vec![net.node(Relu, &[x])];
    let program = program(&net, &config(4, 200, 64));
    assert_eq!((moved(&program, DataMoveKind::Dram1ToLocal), program.constants.len()), (0, 0));
    assert_eq!(simd(&program), 1 + 6);
}

/// The SIMD unit computes sums only with a channel in each lane, and only through a register.
#[test]
fn only_depthwise_convolutions_are_weighted_sums() {
    let is_sum = |group: usize, channels: usize, filters: usize, registers| {
        let mut net = Net::new();
        let x = net.input(&[1, 4, 4, channels]);
        let weights = net.constant(&[3, 3, channels / group, filters]);
        net.graph.outputs = vec![net.node(Conv { group, ..dense(3) }, &[x, weights])];
        let config = Config { simd_registers_depth: registers, ..config(16, 900, 400) };
        stages(&net, &config).hir.contains("weighted sum")
    };
    for (group, channels, filters, registers, expected) in [
        (6, 6, 6, 1, true),
        (6, 6, 6, 0, false),
        (6, 6, 12, 1, false),
        (3, 6, 6, 1, false),
        (1, 6, 6, 1, false),
        (1, 1, 1, 1, false),
    ] {
        let found = is_sum(group, channels, filters, registers);
        assert_eq!(found, expected, "{group} groups of {channels} channels, {registers} registers");
    }
}

/// Arbitrary cache content for a layer of 30 pixels and two blocks.
fn kept_choices() -> impl proptest::strategy::Strategy<Value = serde_json::Value> {
    let tiling = (0..33_u64, 0..4_u64, any::<bool>()).prop_map(|(pixels, blocks, outer)| {
        serde_json::json!({ "pixels": pixels, "blocks": blocks, "blocks_outer": outer })
    });
    let choices = (0..5_usize, any::<bool>(), prop::collection::vec(tiling, 0..3));
    choices.prop_map(|(strategy, by_next_use, tilings)| {
        let strategy = Strategy::ALL.get(strategy).map(|strategy| serde_json::to_value(strategy).unwrap());
        serde_json::json!({ "strategy": strategy, "by_next_use": by_next_use, "tilings": tilings })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Independent of the cached search results, the outputs equal the outputs of a program
    /// compiled without a cache.
    #[test]
    fn what_is_kept_never_changes_outputs(kept in kept_choices()) {
        let mut net = Net::new();
        let x = net.input(&[1, 5, 6, 12]);
        let conv = Conv { strides: [1, 1], dilations: [1, 1], pads: [1; 4], group: 1 };
        let y = net.conv(x, [3, 3], 8, conv);
        net.graph.outputs = vec![y];
        let (config, names) = (config(4, 1000, 40), [net.graph.value(y).name.clone()]);
        let input = [Tensor::from_f32(vec![1, 5, 6, 12], net.numbers(360)).unwrap()];
        let outputs = |cache: Cache| {
            let options = Options { cache, ..Options::default() };
            run(&lower::compile(&net.graph, &config, &options).unwrap().program, &input, &names)
        };
        // The folder's name contains the process id, since several processes may run the tests.
        let folder = format!("kept_choices_{}", std::process::id());
        let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder);
        let _ = std::fs::remove_dir_all(&folder);
        let cache = || Cache::new("test".to_owned(), Some(folder.clone()));
        let expected = outputs(cache());
        let content = serde_json::to_vec(&kept).unwrap();
        let entry = [&digest(&content).to_le_bytes()[..], &content].concat();
        let files: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path()).collect();
        prop_assert!(!files.is_empty());
        files.iter().for_each(|file| std::fs::write(file, &entry).unwrap());
        compare(&outputs(cache()), &expected, float_bound, &kept.to_string());
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
