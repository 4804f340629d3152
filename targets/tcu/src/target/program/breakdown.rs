//! Time and traffic of each instruction, for the shared [`Breakdown`](npukit_target::Breakdown).

use npukit_target::{CycleSpan, LayerWork, Spent};

use crate::isa::kind::kind;
use crate::isa::op::{Flow, Op, Path};
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
