//! Time and traffic of each instruction, for the shared [`Breakdown`](npukit_target::Breakdown) and
//! [`Activity`].

use npukit_target::{Activity, CountedMemory, CycleSpan, LayerWork, MacType, MemoryClass, Spent};

use crate::config::{Config, DataType};
use crate::isa::kind::kind;
use crate::isa::op::{Flow, Memory, Op, Path};
use crate::program::Program;

/// Returns the layers of a program.
pub(super) fn work(program: &Program) -> Vec<LayerWork<'_>> {
    program.layers.iter().map(|layer| LayerWork { name: &layer.name, macs: layer.macs }).collect()
}

/// Returns time and work of each instruction; `cycles` has their cycles.
///
/// `spans` has the cycles in which units work for each instruction, as far as they are known.
/// `beats` is the number of beats that a vector takes to DRAM. `None` means one cycle per
/// vector, with alternating banks.
pub(super) fn spent(
    program: &Program,
    cycles: &[u64],
    spans: &[Option<CycleSpan>],
    beats: Option<u64>,
) -> Vec<Spent> {
    let spans = spans.iter().copied().chain(std::iter::repeat(None));
    let each = program.instructions.iter().zip(cycles).zip(spans).zip(program.layer_of_each());
    let spent = |(((op, &cycles), span), layer): (((&Op, &u64), Option<CycleSpan>), usize)| {
        let flow = op.flow();
        let vectors = flow.vectors();
        // The array processes one row per cycle.
        let compute = if flow.path == Path::Array { vectors } else { 0 };
        Spent { layer, kind: kind(op), vectors, cycles, compute, memory: memory(&flow, beats), span }
    };
    each.map(spent).collect()
}

/// Returns the cycles of DRAM0 and DRAM1; a single sum if the banks alternate.
fn memory(flow: &Flow, beats: Option<u64>) -> [u64; 2] {
    let Some(bank) = flow.bank() else { return [0; 2] };
    let mut memory = [0; 2];
    match beats {
        Some(beats) => memory[bank] = flow.vectors().saturating_mul(beats),
        None => memory[0] = flow.vectors(),
    }
    memory
}

/// Returns the multiply-accumulates of the array and the bytes of each memory: each vector of an
/// instruction is read once from its source and written once to its target, which is also read if
/// the instruction adds to it. All cells of the array work for each row.
pub(super) fn activity(program: &Program) -> Activity {
    let config = &program.config;
    let (cells, vector) = ((config.array_size as u64).saturating_pow(2), config.vector_bits() / 8);
    let mac_type = mac_type(config.data_type);
    let mut activity = Activity::new(mac_type, memories(config, vector), program.layers.len());
    for (op, layer) in program.instructions.iter().zip(program.layer_of_each()) {
        let flow = op.flow();
        let mut bytes = [0; MEMORIES.len()];
        for place in flow.reads().chain(flow.target) {
            if let Some(at) = MEMORIES.iter().position(|memory| *memory == place.memory) {
                bytes[at] += flow.size.saturating_mul(vector);
            }
        }
        let rows = if flow.path == Path::Array { flow.size } else { 0 };
        activity.add(layer, rows.saturating_mul(cells), &bytes);
    }
    activity
}

/// Memories in the order of an [`Activity`].
const MEMORIES: [Memory; 4] = [Memory::Dram0, Memory::Dram1, Memory::Local, Memory::Accumulators];

fn memories(config: &Config, vector: u64) -> Vec<CountedMemory> {
    let one = |memory: &Memory| {
        let (name, class, depth) = match memory {
            Memory::Dram0 => ("dram0", MemoryClass::Dram, config.dram0_depth),
            Memory::Dram1 => ("dram1", MemoryClass::Dram, config.dram1_depth),
            Memory::Local => ("local", MemoryClass::Sram, config.local_depth),
            Memory::Accumulators => ("accumulators", MemoryClass::Sram, config.accumulator_depth),
        };
        CountedMemory::new(name, class, depth.saturating_mul(vector))
    };
    MEMORIES.iter().map(one).collect()
}

/// Returns the type of the array's operands.
const fn mac_type(data_type: DataType) -> MacType {
    match data_type {
        DataType::Fp8Bp4 => MacType::Int8,
        DataType::Fp16Bp8 => MacType::Int16,
        DataType::Fp18Bp10 | DataType::Fp32Bp16 => MacType::Int32,
        DataType::Float32 => MacType::Fp32,
    }
}
