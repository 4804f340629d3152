//! What each instruction took and moved, for the shared [`Breakdown`](npukit_target::Breakdown).

use npukit_target::{LayerWork, Spent};

use crate::op::{DataMoveKind, Op};
use crate::program::Program;
use crate::timing::kind;

/// The layers of a program.
pub(super) fn work(program: &Program) -> Vec<LayerWork<'_>> {
    program.layers.iter().map(|layer| LayerWork { name: &layer.name, macs: layer.macs }).collect()
}

/// The instructions of a program, which took `cycles`.
///
/// `beats` are those of a vector on its way to DRAM; none when a cycle moves one, and the banks take turns.
pub(super) fn spent(program: &Program, cycles: &[u64], beats: Option<u64>) -> Vec<Spent> {
    let each = program.instructions.iter().zip(cycles).zip(program.layer_of_each());
    let spent = |((op, &cycles), layer): ((&Op, &u64), usize)| Spent {
        layer,
        kind: kind(op),
        vectors: vectors(op),
        cycles,
        compute: rows(op),
        memory: memory(op, beats),
    };
    each.map(spent).collect()
}

/// Vectors an instruction handles.
fn vectors(op: &Op) -> u64 {
    match *op {
        Op::MatMul { size, .. } | Op::LoadWeights { size, .. } | Op::DataMove { size, .. } => size,
        Op::Simd { .. } => 1,
        Op::NoOp | Op::Wait { .. } | Op::LoadLut { .. } | Op::Configure { .. } | Op::Unassigned { .. } => 0,
    }
}

/// Rows given to the array, of which a cycle takes one.
fn rows(op: &Op) -> u64 {
    if let Op::MatMul { size, .. } = *op { size } else { 0 }
}

/// Cycles of DRAM0 and DRAM1; all in one number when the banks take turns.
fn memory(op: &Op, beats: Option<u64>) -> [u64; 2] {
    let Some(bank) = bank(op) else { return [0; 2] };
    let mut memory = [0; 2];
    match beats {
        Some(beats) => memory[bank] = vectors(op).saturating_mul(beats),
        None => memory[0] = vectors(op),
    }
    memory
}

/// The DRAM bank it uses.
fn bank(op: &Op) -> Option<usize> {
    let Op::DataMove { kind, .. } = op else { return None };
    match kind {
        DataMoveKind::Dram0ToLocal | DataMoveKind::LocalToDram0 => Some(0),
        DataMoveKind::Dram1ToLocal | DataMoveKind::LocalToDram1 => Some(1),
        _ => None,
    }
}
