//! [`kind`]: names of the kinds of instructions.

use crate::isa::op::{DataMoveKind, Op};

/// Returns the name of an instruction's kind: the mnemonic, and the variant if it matters.
pub const fn kind(op: &Op) -> &'static str {
    match op {
        Op::MatMul { zeroes: true, .. } => "MatMul(zeroes)",
        Op::DataMove { kind, .. } => data_move_kind(*kind),
        Op::LoadWeights { zeroes: true, .. } => "LoadWeights(zeroes)",
        _ => op.mnemonic(),
    }
}

pub(crate) const fn data_move_kind(kind: DataMoveKind) -> &'static str {
    match kind {
        DataMoveKind::Dram0ToLocal => "DataMove(DRAM0ToLocal)",
        DataMoveKind::LocalToDram0 => "DataMove(LocalToDRAM0)",
        DataMoveKind::Dram1ToLocal => "DataMove(DRAM1ToLocal)",
        DataMoveKind::LocalToDram1 => "DataMove(LocalToDRAM1)",
        DataMoveKind::AccumulatorToLocal => "DataMove(AccToLocal)",
        DataMoveKind::LocalToAccumulator => "DataMove(LocalToAcc)",
        DataMoveKind::LocalToAccumulatorAccumulate => "DataMove(LocalToAccAccumulate)",
    }
}
