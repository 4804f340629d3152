//! What each instruction took and moved, for the shared [`Breakdown`](npukit_target::Breakdown).

use npukit_target::{LayerWork, Spent};

use crate::isa::kind::kind;
use crate::isa::op::{Flow, Op, Path};
use crate::program::Program;

/// The layers of a program.
pub(super) fn work(program: &Program) -> Vec<LayerWork<'_>> {
    program.layers.iter().map(|layer| LayerWork { name: &layer.name, macs: layer.macs }).collect()
}

/// The instructions of a program, which took `cycles`.
///
/// `beats` are those of a vector on its way to DRAM; none when a cycle moves one, and the banks take turns.
pub(super) fn spent(program: &Program, cycles: &[u64], beats: Option<u64>) -> Vec<Spent> {
    let each = program.instructions.iter().zip(cycles).zip(program.layer_of_each());
    let spent = |((op, &cycles), layer): ((&Op, &u64), usize)| {
        let flow = op.flow();
        let vectors = flow.vectors();
        // The array takes a row in a cycle.
        let compute = if flow.path == Path::Array { vectors } else { 0 };
        Spent { layer, kind: kind(op), vectors, cycles, compute, memory: memory(&flow, beats) }
    };
    each.map(spent).collect()
}

/// Cycles of DRAM0 and DRAM1; all in one number when the banks take turns.
fn memory(flow: &Flow, beats: Option<u64>) -> [u64; 2] {
    let Some(bank) = flow.bank() else { return [0; 2] };
    let mut memory = [0; 2];
    match beats {
        Some(beats) => memory[bank] = flow.vectors().saturating_mul(beats),
        None => memory[0] = flow.vectors(),
    }
    memory
}
