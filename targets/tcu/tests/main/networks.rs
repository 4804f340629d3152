//! Real networks, compiled by npukit and compared with float and with the published programs.

use npukit_graph::{Graph, evaluate, pass};
use npukit_import::onnx;
use npukit_numeric::{Tensor, npy};
use npukit_target::UninitMemory;
use npukit_tcu::internals::lower::{self, Options, Order, Strategy};
use npukit_tcu::internals::run::Driver;
use npukit_tcu::{Config, Program, estimate, validate};
use npukit_testing::{needs, shared_bytes};

use crate::driven;

fn model(name: &str, options: &onnx::Options) -> Graph {
    let bytes = shared_bytes(&format!("models/{name}"));
    let mut graph = onnx::read(&bytes, "model", options).unwrap().graph;
    pass::simplify(&mut graph).unwrap();
    graph
}

fn floats(name: &str) -> (Vec<usize>, Vec<f32>) {
    let bytes = shared_bytes(&format!("models/{name}"));
    let tensor = npy::read_npy(name, &bytes).unwrap();
    (tensor.shape().to_vec(), tensor.as_f32().unwrap().to_vec())
}

fn expected(name: &str) -> serde_json::Value {
    serde_json::from_slice(&shared_bytes(&format!("models/{name}"))).unwrap()
}

/// Returns a driver on a board with garbage in its memory. The program reads no unwritten memory.
fn driver<'a>(program: &'a Program, input: &[f32]) -> Driver<'a> {
    assert_eq!(validate(&program.config, &program.instructions), []);
    run(program, &mut Driver::new(program, UninitMemory::Poison, &[]).unwrap(), input);
    Driver::new(program, driven::GARBAGE, &[]).unwrap()
}

/// Returns the raw output of one run.
fn run(program: &Program, driver: &mut Driver<'_>, input: &[f32]) -> Vec<i32> {
    let (n, format) = (program.config.array_size, program.config.data_type.format());
    let raw: Vec<i32> = input.iter().map(|&x| format.raw_from_f32(x)).collect();
    let packed = program.inputs[0].layout.as_ref().unwrap().pack(&raw, n).unwrap();
    let packed = driven::run(driver, program, &[packed]);
    program.outputs[0].layout.as_ref().unwrap().unpack(&packed[0], n).unwrap()
}

fn argmax(values: &[i32]) -> usize {
    (0..values.len()).rev().max_by_key(|&i| values[i]).unwrap()
}

#[needs(NPUKIT_SHARED)]
#[test]
fn resnet20_classifies_the_ten_images_on_every_board() {
    let graph = model("resnet20v2_cifar.onnx", &onnx::Options::default());
    let (shape, images) = floats("cifar10_inputs.npy");
    let logits = floats("resnet20v2_cifar_logits.npy").1;
    let size: usize = shape[1..].iter().product();
    for board in ["zcu104", "zcu104_uram", "pynqz1", "ultra96v2"] {
        let config = Config::preset(board).unwrap();
        let compiled = lower::compile(&graph, &config, &Options::default()).unwrap();
        let mut driver = driver(&compiled.program, &images[..size]);
        let mut classes = Vec::new();
        let mut worst: f32 = 0.0;
        for (image, logits) in images.chunks(size).zip(logits.chunks(10)) {
            let raw = run(&compiled.program, &mut driver, image);
            classes.push(argmax(&raw));
            let differences = raw.iter().zip(logits).map(|(&raw, logit)| (raw as f32 / 256.0 - logit).abs());
            worst = differences.fold(worst, f32::max);
        }
        let cycles = estimate(&config, &compiled.program.instructions).cycles;
        let instructions = compiled.program.instructions.len();
        eprintln!(
            "{board}: {}, {instructions} instructions, {cycles} cycles, off by {worst}",
            compiled.strategy
        );
        assert_eq!(classes, [0, 9, 5, 7, 9, 8, 5, 7, 8, 6], "{board}");
        let (most_instructions, most_cycles, measured) = match board {
            "ultra96v2" => (101_840, 647_002, 0.84),
            "pynqz1" => (237_189, 1_916_000, 0.77),
            _ => (50_171, 293_590, 0.80),
        };
        assert!(worst < 1.19 * measured, "{board}: logits are off by {worst}, not {measured}");
        assert!(
            instructions <= most_instructions && cycles <= most_cycles,
            "{board}: {instructions}, {cycles}"
        );
    }
}

#[needs(NPUKIT_SHARED)]
#[test]
fn resnet20_in_upstreams_order_equals_the_published_program() {
    let graph = model("resnet20v2_cifar.onnx", &onnx::Options::default());
    let (shape, images) = floats("cifar10_inputs.npy");
    let size: usize = shape[1..].iter().product();
    let golden = shared_bytes("golden/tcu/programs/resnet20v2_zcu104/outputs.json");
    let golden: serde_json::Value = serde_json::from_slice(&golden).unwrap();
    let every = Strategy::ALL.map(|strategy| ("zcu104_uram", Some(strategy)));
    for (board, strategy) in every.into_iter().chain([("zcu104", None)]) {
        let config = Config::preset(board).unwrap();
        let options = Options { strategy, order: Order::Upstream, ..Options::default() };
        let compiled = lower::compile(&graph, &config, &options).unwrap();
        let mut driver = driver(&compiled.program, &images[..size]);
        let published = golden["runs"].as_array().unwrap();
        assert_eq!(published.len(), 10);
        for (image, published) in images.chunks(size).zip(published) {
            let raw = run(&compiled.program, &mut driver, image);
            let published = &published["output_raw"].as_array().unwrap()[..10];
            assert_eq!(serde_json::json!(raw), serde_json::json!(published), "{board} {}", compiled.strategy);
        }
    }
}

#[needs(NPUKIT_SHARED)]
#[test]
fn speech_commands_in_both_readings_of_resize() {
    for resize_half_pixel in [false, true] {
        let options =
            onnx::Options { resize_half_pixel: Some(resize_half_pixel), ..onnx::Options::default() };
        let graph = model("speech_commands.onnx", &options);
        let golden = expected("speech_commands_expected.json");
        let config = Config::preset("speech_robot").unwrap();
        let input = floats("speech_commands_input.npy").1;
        for order in [Order::Default, Order::Upstream] {
            let compiled = lower::compile(&graph, &config, &Options { order, ..Options::default() }).unwrap();
            let raw = run(&compiled.program, &mut driver(&compiled.program, &input), &input);
            let cycles = estimate(&config, &compiled.program.instructions).cycles;
            eprintln!(
                "{order:?} {}: {} instructions, {cycles} cycles",
                compiled.strategy,
                compiled.program.instructions.len()
            );
            assert_eq!(argmax(&raw), 3);
            let key = if resize_half_pixel {
                "float_logits_half_pixel_resize"
            } else {
                "float_logits_opset10_asymmetric_resize"
            };
            for (raw, float) in raw.iter().zip(golden[key].as_array().unwrap()) {
                let difference = f64::from(*raw) / 256.0 - float.as_f64().unwrap();
                assert!(difference.abs() < 1.0, "{order:?}: {raw} is far from {float}");
            }
            if order == Order::Upstream && resize_half_pixel {
                assert_eq!(serde_json::json!(raw), golden["tcu_raw_n8"]);
            }
        }
    }
}

/// Networks for which hardware lost additions, on the affected instances.
#[needs(NPUKIT_SHARED)]
#[test]
fn sums_of_several_terms_come_out_whole() {
    let cases = [
        ("densemlp32", &["zcu104", "speech_robot"][..]),
        ("head32", &["zcu104", "speech_robot"]),
        ("resmlp", &["speech_robot", "zcu104"]),
        ("convsame", &["speech_robot", "zcu104"]),
    ];
    for (name, presets) in cases {
        let model = shared_bytes(&format!("open/tcu/networks/{name}.onnx"));
        let mut graph = onnx::read(&model, name, &onnx::Options::default()).unwrap().graph;
        pass::simplify(&mut graph).unwrap();
        for preset in presets {
            for order in [Order::Default, Order::Upstream] {
                let difference = difference(&graph, &Config::preset(preset).unwrap(), order);
                assert!(difference < 0.1, "{name} on {preset}, {order:?}: off by {difference}");
            }
        }
    }
}

/// Returns the largest difference of the outputs from float, with the strategy that takes fewest
/// cycles.
fn difference(graph: &Graph, config: &Config, order: Order) -> f32 {
    let shape = graph.shape(graph.inputs[0]).to_vec();
    let values = (0..shape.iter().product()).map(|i: usize| (i * 37 % 101) as f32 / 101.0 - 0.5);
    let format = config.data_type.format();
    let input = Tensor::from_f32(shape, values.map(|x| format.round(x)).collect()).unwrap();
    let expected = evaluate(graph, std::slice::from_ref(&input)).unwrap();
    let options = Options { order, ..Options::default() };
    let program = lower::compile(graph, config, &options).unwrap().program;
    let input = input.as_f32().unwrap();
    let found = run(&program, &mut driver(&program, input), input);
    let pairs = found.iter().zip(expected[0].as_f32().unwrap());
    pairs.map(|(&raw, float)| (format.raw_to_f32(raw) - float).abs()).fold(0.0, f32::max)
}
