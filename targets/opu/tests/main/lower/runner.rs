//! Runs a graph in all ways, and compares the results.

use npukit_graph::op::Conv;
use npukit_graph::quantize::{Kind, Quantization, Scheme};
use npukit_graph::{Graph, Op, ValueId, ValueInfo, evaluate, evaluate_all};
use npukit_numeric::{ElementType, Tensor};
use npukit_opu::internals::config::{Config, Types, Validity};
use npukit_opu::internals::exec::{Numerics, step};
use npukit_opu::internals::lower::{Lowered, Options, backend, compile};
use npukit_opu::internals::memory::Memory;
use npukit_opu::internals::program::{Binding, Program};
use npukit_opu::internals::state::State;
use npukit_opu::internals::validate;
use npukit_opu::{Arithmetic, Board};
use npukit_target::{Finding, UninitMemory};

use super::judge::{self, Image};

/// Returns pseudo-random numbers between -1 and 1.
pub fn image(shape: &[usize], seed: u64) -> Tensor {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    };
    Tensor::from_f32(shape.to_vec(), (0..shape.iter().product::<usize>()).map(|_| next()).collect()).unwrap()
}

/// Returns a graph with one input `x`; `build` adds the nodes and returns the outputs.
pub fn graph(shape: &[usize], build: impl FnOnce(&mut Graph, ValueId) -> Vec<ValueId>) -> Graph {
    let mut graph = Graph { name: "test".into(), ..Graph::default() };
    let x = graph.add_input("x", ValueInfo { shape: shape.to_vec(), element: ElementType::F32 });
    graph.outputs = build(&mut graph, x);
    graph.validate().unwrap();
    graph
}

/// Adds weights `[rows, columns, inputs, outputs]` such that sums stay near 1.
fn kernel(graph: &mut Graph, name: &str, shape: [usize; 4], seed: u64) -> ValueId {
    let scale = 1.5 / ((shape[0] * shape[1] * shape[2]) as f32).sqrt();
    let tensor = image(&shape, seed);
    let data = tensor.as_f32().unwrap().iter().map(|x| x * scale).collect();
    graph.add_constant(name, Tensor::from_f32(shape.to_vec(), data).unwrap())
}

/// Returns fraction lengths at which no value of `graph` saturates on `input`.
pub fn quantized(graph: &Graph, inputs: &[Tensor]) -> Quantization {
    let mut quantization = Quantization::new(Scheme::default());
    let mut largest = vec![1e-3f32; graph.values.len()];
    for input in inputs {
        let values = evaluate_all(graph, std::slice::from_ref(input)).unwrap();
        for (largest, value) in largest.iter_mut().zip(&values) {
            let elements = value.as_ref().and_then(|tensor| tensor.as_f32()).unwrap_or_default();
            *largest = elements.iter().fold(*largest, |largest, x| largest.max(x.abs()));
        }
    }
    for (index, _) in graph.values.iter().enumerate().filter(|(_, value)| value.constant.is_none()) {
        let fraction = (127.0 / largest[index]).log2().floor() as i32;
        quantization.set(ValueId(index as u32), Kind::Activation, fraction);
    }
    quantization
}

/// Compiles for the published accelerator and compares machine, judge and float; returns the
/// lowered program.
pub fn check(graph: &Graph, tolerance: f32) -> Lowered {
    let input = image(graph.shape(graph.inputs[0]), 7);
    let quantization = quantized(graph, std::slice::from_ref(&input));
    check_quantized(graph, &input, &quantization, tolerance)
}

/// Like [`check`], with some headroom in every activation: intermediate sums of many taps may
/// exceed the final one and saturate, which float does not.
pub fn check_with_room(graph: &Graph, tolerance: f32) -> Lowered {
    let input = image(graph.shape(graph.inputs[0]), 7);
    let mut quantization = quantized(graph, std::slice::from_ref(&input));
    for (index, _) in graph.values.iter().enumerate().filter(|(_, value)| value.constant.is_none()) {
        let id = ValueId(index as u32);
        if let Some(fraction) = quantization.fraction(id) {
            quantization.set(id, Kind::Activation, fraction - 1);
        }
    }
    check_quantized(graph, &input, &quantization, tolerance)
}

/// Compiles with these fraction lengths and compares machine, judge and float.
pub fn check_quantized(
    graph: &Graph,
    input: &Tensor,
    quantization: &Quantization,
    tolerance: f32,
) -> Lowered {
    let config = Config::preset("reference").unwrap();
    let options = Options { quantization: Some(quantization), ..Options::default() };
    let lowered = compile(graph, &config, options).unwrap_or_else(|error| panic!("{error}"));
    let program = backend::program(&lowered, "test".into(), "reference".into(), &config);
    let outputs = run(&lowered, &program, &config.types, input, true);
    check_repeats(&program, input, &outputs);
    let expected = evaluate(graph, std::slice::from_ref(input)).unwrap();
    for ((binding, found), expected) in program.outputs.iter().zip(&outputs).zip(&expected) {
        let unit = 2f32.powi(-binding.fraction);
        let expected = expected.as_f32().unwrap();
        assert_eq!(found.len(), expected.len());
        for (i, (&found, &expected)) in found.iter().zip(expected).enumerate() {
            let off = (found as f32 * unit - expected).abs();
            assert!(
                off <= tolerance * unit,
                "{}[{i}]: {} for {expected}, {} units off",
                binding.name,
                found as f32 * unit,
                off / unit
            );
        }
    }
    lowered
}

/// Size of a sum of products with the weights of [`kernel`]. An output of few numbers may be much
/// smaller: then its parts cancel, and neither their rounding nor their largest partial sum is in
/// proportion to it.
const SUM: f32 = 1.0;

/// Compiles for another instance and compares its results on zeroed memory with those on other
/// memory, and with float.
pub fn check_instance(graph: &Graph, preset: &str) {
    let config = Config::preset(preset).unwrap();
    let input = image(graph.shape(graph.inputs[0]), 7);
    let mut quantization = quantized(graph, std::slice::from_ref(&input));
    let wider = config.types.itype.size_bytes() as i32 * 8 - 8;
    for id in (0..graph.values.len() as u32).map(ValueId) {
        if let Some(fraction) = quantization.fraction(id) {
            let fraction = fraction.min((127.0 / SUM).log2().floor() as i32);
            quantization.set(id, Kind::Activation, fraction - 1 + wider);
        }
    }
    let options = Options { quantization: Some(&quantization), ..Options::default() };
    let lowered = compile(graph, &config, options).unwrap_or_else(|error| panic!("{error}"));
    let program = backend::program(&lowered, "test".into(), preset.into(), &config);
    let mut board = Board::new(&program, UninitMemory::Zero).unwrap();
    board.run(&[program.inputs[0].pack(config.types.itype, input.as_f32().unwrap()).raw]).unwrap();
    let raw = |binding: &Binding| binding.unpack(&board.output(binding).unwrap());
    let outputs: Vec<Vec<i32>> = program.outputs.iter().map(raw).collect();
    let expected = evaluate(graph, std::slice::from_ref(&input)).unwrap();
    for ((binding, found), expected) in program.outputs.iter().zip(&outputs).zip(&expected) {
        let expected = expected.as_f32().unwrap();
        let range = expected.iter().fold(SUM, |range, x| range.max(x.abs()));
        for (&raw, &expected) in found.iter().zip(expected) {
            let found = binding.value(config.types.itype, raw);
            assert!((found - expected).abs() <= range / 8.0, "{preset}: {found} for {expected} of {range}");
        }
    }
    let outputs: Vec<Vec<i64>> =
        outputs.into_iter().map(|raw| raw.into_iter().map(i64::from).collect()).collect();
    check_repeats(&program, &input, &outputs);
}

/// Runs the program like a driver, twice in a row, on memory full of garbage and on memory where
/// reading unwritten bytes is a fault; each run must return `expected`. There must be no lint
/// findings.
pub fn check_repeats(program: &Program, input: &Tensor, expected: &[Vec<i64>]) {
    let errors: Vec<Finding> = validate::program(program).into_iter().filter(Finding::is_error).collect();
    assert!(errors.is_empty(), "{errors:?}");
    let raw = program.inputs[0].pack(program.config.types.itype, input.as_f32().unwrap()).raw;
    for unset in [UninitMemory::Garbage(1), UninitMemory::Poison] {
        let mut board = Board::new(program, unset).unwrap();
        for time in ["first", "second"] {
            board.run(std::slice::from_ref(&raw)).unwrap_or_else(|error| panic!("{unset:?}, {error:?}"));
            for (binding, expected) in program.outputs.iter().zip(expected) {
                let found = binding.unpack(&board.output(binding).unwrap());
                let found: Vec<i64> = found.into_iter().map(i64::from).collect();
                assert!(found == *expected, "the {time} run on {unset:?} gives another `{}`", binding.name);
            }
        }
    }
}

/// Runs the program, layer by layer in parallel to the judge if `judged`, and reads the outputs.
pub fn run(
    lowered: &Lowered,
    program: &Program,
    types: &Types,
    input: &Tensor,
    judged: bool,
) -> Vec<Vec<i64>> {
    // Memory is shared over time, so its previous contents must not matter.
    let mut memory = Memory::new(UninitMemory::Garbage(2));
    for segment in &program.segments {
        memory.write(segment.address.into(), &segment.bytes);
    }
    let mut planes: Vec<Image> =
        lowered.model.planes.iter().map(|plane| Image::new(plane.size, plane.channels)).collect();
    pack(&program.inputs[0], input, &mut memory);
    for input in &lowered.model.inputs {
        input.planes.iter().for_each(|&plane| planes[plane.0] = read(lowered, plane.0, &memory));
    }
    let mut state = State::default();
    for (index, span) in lowered.spans.iter().enumerate() {
        for (place, op) in program.instructions.iter().enumerate().skip(span.first).take(span.count) {
            step(
                &mut state,
                &mut memory,
                Numerics { types, arithmetic: Arithmetic::Fast, validity: Validity::Corrected },
                op,
            )
            .unwrap_or_else(|fault| panic!("{}: {fault}", program.place(place)));
        }
        if judged {
            judge::layer(lowered, types, index, &mut planes);
        }
        for piece in &lowered.model.layers[index].output.pieces {
            let found = read(lowered, piece.plane.0, &memory);
            let layer = &lowered.model.layers[index];
            if judged && layer.result.is_some() {
                assert_eq!(found, planes[piece.plane.0], "layer {}", layer.name);
            }
            planes[piece.plane.0] = found;
        }
    }
    lowered.model.outputs.iter().map(|output| elements(output, &planes)).collect()
}

/// Returns the planes of an output, row-major with channels innermost, then in the model's order.
fn elements(output: &npukit_opu::internals::lower::host::HostOutput, planes: &[Image]) -> Vec<i64> {
    let [rows, columns] = output.view.size;
    let mut elements = Vec::new();
    for y in 0..rows {
        for x in 0..columns {
            for piece in &output.view.pieces {
                let image = &planes[piece.plane.0];
                elements.extend((0..piece.channels).map(|c| image.at([y as isize, x as isize], c)));
            }
        }
    }
    let long = output.shape.iter().filter(|&&size| size > 1).count();
    assert!(output.perm.is_sorted() || long < 2, "tests keep the order of elements");
    elements
}

/// Reads a plane from memory.
fn read(lowered: &Lowered, index: usize, memory: &Memory) -> Image {
    let plane = lowered.model.planes.get(npukit_opu::internals::lower::map::PlaneId(index));
    let mut image = Image::new(plane.size, plane.channels);
    for y in 0..plane.size[0] {
        for x in 0..plane.size[1] {
            let slot = plane.slot([y as isize, x as isize]).unwrap() as u64;
            let mut bytes = vec![0; plane.channels];
            memory.read(lowered.plan.planes[index] + slot * lowered.plan.slot, &mut bytes);
            bytes.iter().enumerate().for_each(|(c, &byte)| image.set([y, x], c, i64::from(byte as i8)));
        }
    }
    image
}

/// Lays out the pixels of an input, literally as the manifest specifies.
pub fn pack(binding: &Binding, input: &Tensor, memory: &mut Memory) {
    let values = input.as_f32().unwrap();
    // Axes of length 1 may have moved, but the elements keep their order.
    let sizes: Vec<usize> = binding.perm.iter().map(|&axis| binding.shape[axis]).collect();
    let shape = match sizes[..] {
        [1, h, w, c] => [h, w, c],
        [.., c] => [1, values.len() / c, c],
        [] => [1, 1, 1],
    };
    let planes = &binding.planes;
    let (top, left) = (planes.border.top, planes.border.left);
    for (y, x) in (0..planes.height).flat_map(|y| (0..planes.width).map(move |x| (y, x))) {
        let mut channel = 0;
        for group in &planes.groups {
            let slot = group.address + ((y + top) * planes.pitch + x + left) * 64;
            for lane in 0..group.channels {
                let index = source(binding, shape, [y as isize, x as isize], channel);
                let value = index.map_or(0.0, |index| values[index]);
                let raw = (value * 2f32.powi(binding.fraction) + 0.5).floor().clamp(-128.0, 127.0) as i8;
                memory.write(u64::from(slot + lane), &[raw as u8]);
                channel += 1;
            }
        }
    }
}

/// Returns the index of the tensor element that a channel of a pixel of the map holds.
fn source(binding: &Binding, [h, w, c]: [usize; 3], at: [isize; 2], channel: usize) -> Option<usize> {
    let (at, channel) = match &binding.patches {
        None => (at, channel),
        Some(patches) => {
            let tap = channel / c;
            let tap = [tap / patches.kernel[1] as usize, tap % patches.kernel[1] as usize];
            let at = [0, 1].map(|axis| {
                at[axis] * patches.stride[axis] as isize + tap[axis] as isize - patches.padding[axis] as isize
            });
            (at, channel % c)
        }
    };
    let [Ok(y), Ok(x)] = at.map(usize::try_from) else { return None };
    (y < h && x < w).then_some((y * w + x) * c + channel)
}

/// Adds a convolution node with weights and a bias.
pub fn conv(graph: &mut Graph, x: ValueId, name: &str, kernel_shape: [usize; 4], conv: Conv) -> ValueId {
    let weights =
        kernel(graph, &format!("{name}/w"), kernel_shape, name.len() as u64 + kernel_shape[3] as u64);
    let bias = graph.add_constant(format!("{name}/b"), image(&[kernel_shape[3]], 3));
    graph.add_node(name, Op::from(conv), vec![x, weights, bias], &[name]).unwrap()[0]
}
