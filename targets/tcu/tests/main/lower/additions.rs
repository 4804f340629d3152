//! Small graphs with many additions: their programs have no additions that hardware loses.
//!
//! `NPUKIT_TCU_GRAPHS` is the number of compiled graphs, 120 by default.

use npukit_tcu::internals::board;
use npukit_tcu::internals::clock::Clock;
use npukit_tcu::internals::config::{ClockParams, System};
use npukit_tcu::internals::hazard::hazards;
use npukit_tcu::internals::lower::Minimize;

use super::*;

/// A graph that grows randomly.
struct Chance {
    net: Net,
    /// Values of one shape that can be summed.
    values: Vec<ValueId>,
    /// Weights already used, which others may share.
    shared: Vec<(Vec<usize>, ValueId)>,
}

impl Chance {
    fn below(&mut self, n: usize) -> usize {
        ((self.net.numbers(1)[0] + 1.0) / 2.0 * n as f32) as usize % n
    }

    fn one_of(&mut self) -> ValueId {
        let at = self.below(self.values.len());
        self.values[at]
    }

    /// Returns weights that keep values small, sometimes reusing earlier ones or repeating a single
    /// tap.
    fn weights(&mut self, shape: &[usize]) -> ValueId {
        let known: Vec<ValueId> = self.shared.iter().filter(|(s, _)| s == shape).map(|&(_, id)| id).collect();
        if !known.is_empty() && self.below(2) == 0 {
            let at = self.below(known.len());
            return known[at];
        }
        let scale = (shape[..shape.len() - 1].iter().product::<usize>() as f32).sqrt();
        let data = match self.below(3) {
            // The kernel repeats a single tap.
            0 if shape.len() == 4 => {
                let tap = self.net.numbers(shape[2] * shape[3]);
                tap.iter().copied().cycle().take(shape.iter().product()).map(|x| x / scale).collect()
            }
            _ => self.net.numbers(shape.iter().product()).into_iter().map(|x| x / scale).collect(),
        };
        let id = self.net.constant_of(shape, data);
        self.shared.push((shape.to_vec(), id));
        id
    }

    fn relu_at_times(&mut self, x: ValueId) -> ValueId {
        if self.below(2) == 0 { self.net.node(Relu, &[x]) } else { x }
    }

    /// Adds a sum of two to five terms.
    fn sum(&mut self, first: ValueId) -> ValueId {
        let terms = 1 + self.below(4);
        (0..terms).fold(first, |sum, _| {
            let other = self.one_of();
            self.net.node(Binary { kind: BinaryKind::Add }, &[sum, other])
        })
    }

    /// Adds a product of vectors with the same number of features.
    fn dense(&mut self, x: ValueId, features: usize) -> ValueId {
        let weights = self.weights(&[features, features]);
        if self.below(3) == 0 {
            return self.net.node(MatMul, &[x, weights]);
        }
        let bias = self.net.constant(&[features]);
        self.net.node(Gemm::PLAIN, &[x, weights, bias])
    }

    /// Adds layers on one vector of features: heads, skips, cells that run over several steps.
    fn head(&mut self, features: usize, steps: usize) {
        for _ in 0..steps {
            let x = self.one_of();
            let mut y = self.dense(x, features);
            if self.below(3) == 0 {
                let state = self.one_of();
                let from_state = self.dense(state, features);
                y = self.net.node(Binary { kind: BinaryKind::Add }, &[y, from_state]);
            }
            y = self.sum(y);
            let y = self.relu_at_times(y);
            self.values.push(y);
        }
    }

    /// Adds convolutions on maps of few pixels.
    fn maps(&mut self, channels: usize, kernel: usize, steps: usize) {
        for _ in 0..steps {
            let x = self.one_of();
            let weights = self.weights(&[kernel, kernel, channels, channels]);
            let bias = self.net.constant(&[channels]);
            let inputs = [x, weights, bias];
            let given = 2 + self.below(2);
            let y = self.net.node(dense(kernel), &inputs[..given]);
            let y = self.sum(y);
            let y = self.relu_at_times(y);
            self.values.push(y);
        }
    }

    /// Reduces the last map to one pixel.
    fn end_with_one_pixel(&mut self, height: usize, width: usize, channels: usize) {
        let x = *self.values.last().unwrap();
        let weights = self.weights(&[height, width, channels, channels]);
        let conv = Conv { strides: [1, 1], dilations: [1, 1], pads: [0; 4], group: 1 };
        let y = self.net.node(conv, &[x, weights]);
        self.values = vec![y];
        let steps = self.below(3);
        self.maps(channels, 1, steps);
    }
}

fn graph(seed: u64) -> Chance {
    let net = Net { seed: seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1, ..Net::new() };
    let mut chance = Chance { net, values: Vec::new(), shared: Vec::new() };
    let width = [1, 3, 4, 8, 9, 17][chance.below(6)];
    let steps = 1 + chance.below(4);
    if chance.below(2) == 0 {
        for _ in 0..1 + chance.below(2) {
            let input = chance.net.input(&[1, width]);
            chance.values.push(input);
        }
        chance.head(width, steps);
    } else {
        let (rows, columns) = (1 + chance.below(3), 1 + chance.below(3));
        let input = chance.net.input(&[1, rows, columns, width]);
        chance.values.push(input);
        let kernel = [1, 3][chance.below(2)];
        chance.maps(width, kernel, steps);
        if chance.below(2) == 0 {
            chance.end_with_one_pixel(rows, columns, width);
        }
    }
    chance.net.graph.outputs = vec![*chance.values.last().unwrap()];
    chance
}

/// Compiles, scans, runs, and compares with float; returns the number of additions that were
/// separated.
fn check_graph(seed: u64) -> usize {
    let Chance { mut net, .. } = graph(seed);
    let mut pick = |n: usize| ((net.numbers(1)[0] + 1.0) / 2.0 * n as f32) as usize % n;
    let array_size = [2, 4, 8, 32][pick(4)];
    let data_type = [DataType::Fp16Bp8, DataType::Fp32Bp16][pick(2)];
    let config = Config { data_type, ..config(array_size, [64, 512, 4096][pick(3)], [8, 64, 512][pick(3)]) };
    let order = [Order::Default, Order::Upstream][pick(2)];
    let strategy = Some(Strategy::ALL[pick(4)]).filter(|_| pick(3) > 0);
    let minimize = (pick(3) == 0).then_some(Minimize::Estimator);
    let options = Options { strategy, order, minimize, ..Options::default() };
    let program = match lower::compile(&net.graph, &config, &options) {
        Ok(compiled) => compiled.program,
        Err(LowerError::Insufficient { .. } | LowerError::Constants { .. }) => return 0,
        Err(error) => panic!("seed {seed}: {error}"),
    };
    let ops = &program.instructions;
    assert_eq!(hazards(ops), [], "seed {seed}");
    for latency in [0, 1, 18, 100] {
        let axi_bits = board::memory(&config, &System::OPEN, None).axi_bits;
        let params = ClockParams { axi_bits, ..ClockParams::with_latency(latency) };
        let lost = Clock::new(&config, params).unwrap().run(ops).lost;
        assert_eq!(lost, [], "seed {seed}, latency {latency}");
    }
    compare_with_float(net, &program, seed);
    let drops = |op: &&npukit_tcu::Op| matches!(op, npukit_tcu::Op::Simd { read: true, write: false, sub, .. } if sub.destination == 0);
    ops.iter().filter(drops).count()
}

fn compare_with_float(mut net: Net, program: &Program, seed: u64) {
    let format = program.config.data_type.format();
    let shapes: Vec<Vec<usize>> = net.graph.inputs.iter().map(|&id| net.graph.shape(id).to_vec()).collect();
    let inputs: Vec<Tensor> = shapes
        .into_iter()
        .map(|shape| {
            let data = net.numbers(shape.iter().product()).into_iter().map(|x| format.round(x));
            Tensor::from_f32(shape, data.collect()).unwrap()
        })
        .collect();
    let names: Vec<String> = net.graph.outputs.iter().map(|&id| net.graph.value(id).name.clone()).collect();
    let expected = eval::evaluate(&net.graph, &inputs).unwrap();
    let largest = |tensors: &[Tensor]| {
        tensors.iter().flat_map(|t| t.as_f32().unwrap()).fold(0.0f32, |m, x| m.max(x.abs()))
    };
    let found = run(program, &inputs, &names);
    // Sums of sums may exceed the range of the format, and are then not compared.
    if largest(&expected) < 60.0 {
        let steps = if program.config.data_type == DataType::Fp16Bp8 { 0.15 } else { 0.002 };
        let bound = steps * (1.0 + largest(&expected));
        compare(&found, &expected, |_| bound, &format!("seed {seed}"));
    }
}

#[test]
fn no_addition_is_lost() {
    let graphs = std::env::var("NPUKIT_TCU_GRAPHS").ok().and_then(|n| n.parse().ok()).unwrap_or(120);
    let separated: Vec<usize> = (0..graphs).map(check_graph).collect();
    let programs = separated.iter().filter(|&&count| count > 0).count();
    println!(
        "{graphs} graphs, {} additions separated in {programs} programs",
        separated.iter().sum::<usize>()
    );
    assert!(programs * 10 > separated.len(), "the graphs are rich in additions that need separation");
}
