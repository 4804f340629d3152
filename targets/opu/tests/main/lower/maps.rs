//! Memory maps, checked by the machine: destroying places that a map marks as unused must not
//! change the results.

use npukit_graph::{Graph, ValueId};
use npukit_numeric::Tensor;
use npukit_opu::internals::array::{Array, BufferContent};
use npukit_opu::internals::config::{Config, Timing, Validity};
use npukit_opu::internals::exec::{Numerics, step};
use npukit_opu::internals::liveness;
use npukit_opu::internals::lower::{Options, backend, compile};
use npukit_opu::internals::memory::Memory;
use npukit_opu::internals::program::Program;
use npukit_opu::internals::state::State;
use npukit_opu::{Arithmetic, Buffer};
use npukit_target::UninitMemory;
use npukit_trace::{MemoryMap, Moments};

use super::cases::{add, node, plain, pool};
use super::runner::{conv, pack};
use super::{graph, image, quantized};

const BUFFERS: [Buffer; 4] = [Buffer::Ifm, Buffer::Ker, Buffer::Bias, Buffer::Ofm];

/// Map with one column per instruction.
struct Picture {
    map: MemoryMap,
    cells: Vec<i64>,
}

impl Picture {
    fn new(map: MemoryMap) -> Self {
        assert_eq!(map.cycles_per_column, 1, "a column for each instruction");
        let runs = map.cells.chunks(2);
        let cells = runs.flat_map(|run| std::iter::repeat_n(run[0], run[1] as usize)).collect();
        Self { map, cells }
    }

    /// Returns the places that are not needed at an instruction, up to the last one that is ever
    /// needed.
    fn free(&self, instruction: usize) -> impl Iterator<Item = u64> {
        (0..self.map.used).filter(move |place| {
            let row = (place / self.map.places_per_row) as usize;
            self.cells[row * self.map.columns + instruction] == 0
        })
    }
}

/// Returns the final outputs, and the number of destroyed places per map. With `maps`, all places
/// that are not needed are destroyed at each instruction.
fn ran(program: &Program, input: &Tensor, maps: &[Picture], timing: &Timing) -> (Vec<u8>, Vec<u64>) {
    let mut memory = Memory::new(UninitMemory::Zero);
    for segment in &program.segments {
        memory.write(segment.address.into(), &segment.bytes);
    }
    pack(&program.inputs[0], input, &mut memory);
    let (mut state, mut fills, mut destroyed) = (State::default(), [0_u64; 4], vec![0; maps.len()]);
    let types = &program.config.types;
    let numerics = Numerics { types, arithmetic: Arithmetic::Fast, validity: Validity::Corrected };
    for index in 0..=program.instructions.len() {
        for (picture, destroyed) in maps.iter().zip(&mut destroyed) {
            let free: Vec<u64> = picture.free(index).collect();
            *destroyed += free.len() as u64;
            match BUFFERS.iter().position(|buffer| buffer.name() == picture.map.name) {
                Some(place) => {
                    let (fills, banks) = (fills[place], u64::from(banks_of(timing)[place]));
                    let here = in_bank(&free, picture.map.places / banks, fills.saturating_sub(1) % banks);
                    let State { ifm, ker, bias, ofm, .. } = &mut state;
                    destroy(BUFFERS[place], [ifm, ker, bias, ofm][place], &here);
                }
                None => {
                    let bank: u64 = picture.map.name.strip_prefix("dram, bank ").unwrap().parse().unwrap();
                    free.iter().for_each(|unit| memory.write((bank << 28) + unit * 64, &[0xa5; 64]));
                }
            }
        }
        let Some(op) = program.instructions.get(index) else { continue };
        if let Ok(effects) = op.effects(&state.registers, types, Validity::Corrected)
            && let Some(buffer) = effects.writes.filter(|buffer| !effects.reads.contains(buffer))
        {
            fills[buffer as usize] += 1;
        }
        step(&mut state, &mut memory, numerics, op).unwrap_or_else(|fault| panic!("{fault}"));
    }
    let runs = program.outputs.iter().flat_map(|output| output.planes.runs(1));
    let bytes = runs.flat_map(|(address, group)| {
        let mut bytes = vec![0; group.channels as usize];
        memory.read(address, &mut bytes);
        bytes
    });
    (bytes.collect(), destroyed)
}

fn banks_of(timing: &Timing) -> [u32; 4] {
    [timing.ifm_banks, timing.ker_banks, timing.bias_banks, timing.ofm_banks]
}

/// Returns the places that are in one bank, relative to its first place.
fn in_bank(places: &[u64], depth: u64, bank: u64) -> Vec<u64> {
    places.iter().filter(|place| *place / depth == bank).map(|place| place % depth).collect()
}

/// Overwrites places of a buffer, if it has them.
fn destroy(buffer: Buffer, held: &mut BufferContent, places: &[u64]) {
    let Some(Array { data_type, shape, mut elements }) = held.get().ok().cloned() else { return };
    // Elements per place: the channels of a pixel; 1024 weights, or a whole smaller slice; one
    // bias.
    let size = match (buffer, &shape[..]) {
        (Buffer::Ker, [_, outputs, inputs]) => (outputs * inputs).min(1024),
        (Buffer::Ifm | Buffer::Ofm, [.., channels]) => *channels,
        _ => 1,
    };
    for place in places {
        let first = *place as usize * size;
        for at in first..(first + size).min(elements.len()) {
            elements.set(at, !elements.get(at));
        }
    }
    held.fill(Array { data_type, shape, elements });
}

/// Returns a network of a convolution, a parallel one, their sum, and a pool.
fn network(channels: usize, size: usize) -> Graph {
    graph(&[1, size, size, channels], |graph, x| {
        let same = |graph: &mut Graph, x: ValueId, name: &str| {
            conv(graph, x, name, [3, 3, channels, channels], plain([1, 1], [1; 4]))
        };
        let first = same(graph, x, "first");
        let second = same(graph, first, "second");
        let sum = add(graph, first, second, "sum");
        vec![node(graph, pool([2, 2], [2, 2], [0; 4]), &[sum], "pool")]
    })
}

#[test]
fn what_no_map_needs_makes_no_difference() {
    for (channels, size, banks) in [(16, 6, 2), (16, 6, 1), (3, 7, 2), (80, 4, 2), (80, 5, 3)] {
        let graph = network(channels, size);
        let input = image(graph.shape(graph.inputs[0]), 7);
        let quantization = quantized(&graph, std::slice::from_ref(&input));
        let config = Config::preset("reference").unwrap();
        let options = Options { quantization: Some(&quantization), ..Options::default() };
        let lowered = compile(&graph, &config, options).unwrap();
        let program = backend::program(&lowered, "test".into(), "reference".into(), &config);
        let timing =
            Timing { ifm_banks: banks, ker_banks: banks, bias_banks: banks, ofm_banks: 1, ..config.timing };
        let steps = program.instructions.len() + 1;
        let maps = liveness::maps(&program, &timing, &Moments::new((0..steps).map(|_| (None, 1))));
        let names: Vec<&str> = maps.iter().map(|map| map.name.as_str()).collect();
        assert_eq!(names[..5], ["ifm", "ker", "bias", "ofm", "dram, bank 0"]);
        let pictures: Vec<Picture> = maps.into_iter().map(Picture::new).collect();
        let (expected, _) = ran(&program, &input, &[], &timing);
        let (found, destroyed) = ran(&program, &input, &pictures, &timing);
        assert!(
            found == expected && expected.iter().any(|byte| *byte != 0),
            "{channels} x {size}, {banks} banks"
        );
        assert!(destroyed.iter().all(|places| *places > 0), "{destroyed:?}");
    }
}
