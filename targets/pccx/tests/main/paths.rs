//! Sources of sines, scales and weights: each option gives the same result as the default, or
//! nearly.

use npukit_graph::ValueId;
use npukit_graph::op::RotaryEmbedding;
use npukit_pccx::internals::host::HostStep;
use npukit_pccx::internals::lower::{
    Executable, Isa, Options, Rotations, Scales, WeightPath, Weights, compile,
};
use npukit_pccx::internals::op::{CvoFunc, Op};
use npukit_pccx::{Config, Reading};

use crate::net::{BY_ROWS, Net, PRODUCT, instances, run_with, steps};
use crate::twice;

fn seed(isa: Isa) -> Config {
    let [base, ext] = instances();
    Config { reading: Reading::Seed, ..if isa == Isa::Base { base } else { ext } }
}

/// Adds a rotation by constant tables, from position 5 on.
fn rotated(net: &mut Net, interleaved: bool, size: usize) -> ValueId {
    let x = net.input(&[1, 3, 64]);
    let angle = |i: usize| (5 + i / (size / 2)) as f32 * 0.3_f32.powi((i % (size / 2)) as i32);
    let table = |function: fn(f32) -> f32| (0..3 * size / 2).map(|i| function(angle(i))).collect();
    let (cos, sin) = (table(f32::cos), table(f32::sin));
    let [cos, sin] = [cos, sin].map(|values| net.constant(&[1, 3, size / 2], values));
    net.op(RotaryEmbedding { heads: 4, size, interleaved }, &[x, cos, sin])
}

fn functions(executable: &Executable) -> Vec<CvoFunc> {
    let function = |op: &Op| if let Op::Cvo(cvo) = op { Some(cvo.cvo_func) } else { None };
    executable.program.code.iter().filter_map(function).collect()
}

/// Both instances rotate, by sines and cosines of the machine or of the host; two rotations share
/// them.
#[test]
fn rotations_are_by_sines_and_cosines_of_the_machine() {
    for config in instances() {
        for rotations in [Rotations::Npu, Rotations::Tables, Rotations::Host] {
            for (interleaved, size) in [(true, 16), (false, 16), (true, 8)] {
                let options = Options { rotations, ..Options::of(&config) };
                let mut net = Net::new();
                let y = rotated(&mut net, interleaved, size);
                let found = run_with(&mut net, &config, &options, &[y]);
                let what =
                    format!("{rotations:?} of {size}, extensions {}: {}", config.extensions, found.error);
                // Two products of 8 bits are one more than with MUL, which adds rounding errors.
                let most = if config.extensions { PRODUCT } else { 1.2 * PRODUCT };
                assert!(found.error < most, "{what}");
                assert_eq!(found.hosts, usize::from(rotations == Rotations::Host), "{what}");
                let executable = compile(&config, &net.graph, &options, &mut Weights::default()).unwrap();
                let found = functions(&executable);
                let count = |function| found.iter().filter(|&&found| found == function).count();
                // With MUL, each table also needs the other function to correct the rounding of
                // angles to BF16.
                let own = match rotations {
                    Rotations::Npu if config.extensions => 2,
                    Rotations::Npu => 1,
                    _ => 0,
                };
                assert_eq!([count(CvoFunc::Sin), count(CvoFunc::Cos)], [own, own], "{what}");
            }
        }
    }
}

/// Without MUL the tables pass through the host into scales: a pair of images per position.
#[test]
fn tables_become_scales_without_mul() {
    let [config, _] = instances();
    let options = Options { rotations: Rotations::Npu, ..Options::of(&config) };
    let mut net = Net::new();
    net.graph.outputs = vec![rotated(&mut net, true, 16)];
    let executable = compile(&config, &net.graph, &options, &mut Weights::default()).unwrap();
    let scales: Vec<u32> = steps(&executable)
        .into_iter()
        .filter_map(|(_, step)| if let HostStep::Scales { start, .. } = step { Some(start) } else { None })
        .collect();
    assert_eq!(scales, [0, 0, 16, 16, 32, 32]);
    let products = executable.program.bindings.len();
    assert_eq!(products, 6, "two of four heads for each position");
}

/// Adds a partial tile, rows that are not whole words, and a bias.
fn products(net: &mut Net) -> Vec<ValueId> {
    let (x, first) = (net.input(&[3, 64]), net.weights(40, 64));
    let bias = net.random(&[40]);
    let y = net.op(BY_ROWS, &[x, first, bias]);
    let second = net.weights(9, 40);
    vec![net.op(BY_ROWS, &[y, second])]
}

/// Weights loaded by MEMCPY give the same bits as streamed weights, with different timing.
#[test]
fn weights_come_by_memcpy() {
    for isa in [Isa::Base, Isa::Ext] {
        let config = seed(isa);
        let compiled = |weights| {
            let options = Options { weights, ..Options::of(&config) };
            let mut net = Net::new();
            net.graph.outputs = products(&mut net);
            let executable = compile(&config, &net.graph, &options, &mut Weights::default()).unwrap();
            executable.program.check().unwrap();
            let input = npukit_numeric::Tensor::from_f32(vec![3, 64], net.noise(192)).unwrap();
            let program = &executable.program;
            let cycles =
                npukit_pccx::internals::clock::run_with_host(&config, &program.code, &program.syncs()).cycles;
            (twice::run(&config, &executable, &[input]), program.bindings.len(), cycles)
        };
        let (stream, bound, short) = compiled(WeightPath::Stream);
        let (brought, none, long) = compiled(WeightPath::Memcpy);
        assert_eq!(stream, brought);
        assert_eq!((bound, none), (2, 0));
        assert!(short < long, "{short} {long}");
    }
}

/// Weights that do not fit into L2 stream.
#[test]
fn weights_without_room_stream() {
    let config = Config { l2_words: 120, ..seed(Isa::Base) };
    let options = Options { weights: WeightPath::Memcpy, ..Options::of(&config) };
    let mut net = Net::new();
    net.graph.outputs = products(&mut net);
    let executable = compile(&config, &net.graph, &options, &mut Weights::default()).unwrap();
    assert_eq!(executable.program.bindings.len(), 1);
}

/// One scale per matrix, in the slot of its size; the images have no scales.
#[test]
fn scales_come_by_memset() {
    let config = seed(Isa::Base);
    let options = Options { scales: Scales::Memset, ..Options::of(&config) };
    let mut net = Net::new();
    let outputs = products(&mut net);
    // Scales of rows within a matrix differ by up to 20 %. Together with the 8 bits, the measured
    // error is 0.071.
    let found = run_with(&mut net, &config, &options, &outputs);
    assert!(found.error < 1.2 * 0.071, "{}", found.error);
    let executable = compile(&config, &net.graph, &options, &mut Weights::default()).unwrap();
    assert!(executable.program.images.iter().all(|image| image.scales().is_none()));
    let factors: Vec<u16> = executable
        .program
        .code
        .iter()
        .filter_map(|op| if let Op::Memset(memset) = op { Some(memset) } else { None })
        .filter(|memset| memset.dest_cache == npukit_pccx::internals::op::Cache::WeightShape)
        .map(|memset| memset.shape.x)
        .collect();
    assert!(factors.len() == 2 && factors.iter().all(|&factor| factor > 0), "{factors:?}");
}

/// The scale is 0.5: 7, -7 and -3 are exact, and 1.75, which is 3.5 steps, rounds to 4.
#[test]
fn a_factor_is_the_largest_weight_over_seven() {
    let config = seed(Isa::Base);
    let options = Options { scales: Scales::Memset, ..Options::of(&config) };
    let mut net = Net::new();
    let (x, w) = (net.input(&[1, 8]), vec![3.5, 0.0, 0.0, 0.0, -1.5, 1.75, 0.0, -3.5]);
    let w = net.constant(&[1, 8], w);
    net.graph.outputs = vec![net.op(BY_ROWS, &[x, w])];
    let executable = compile(&config, &net.graph, &options, &mut Weights::default()).unwrap();
    let image = &executable.program.images[0];
    let codes: Vec<Option<i8>> = (0..8).map(|column| image.weight(0, column)).collect();
    assert_eq!(codes, [7, 0, 0, 0, -3, 4, 0, -7].map(Some));
    let one =
        npukit_numeric::Tensor::from_f32(vec![1, 8], vec![1.0, 0.0, 0.0, 0.0, 0.0, 2.0, 0.0, 4.0]).unwrap();
    // The expected value is (7 + 2 * 4 - 4 * 7) / 2.
    let found = twice::run(&config, &executable, &[one]);
    assert_eq!(found[0].as_f32(), Some(&[-6.5][..]));
}
