//! Rules of the published estimator, one by one.

use npukit_tcu::internals::op::{DataMoveKind, Op, SimdOp, SimdSub, Strided};
use npukit_tcu::{DataType, Estimate, estimate};

use crate::numerics::small;

const AT: Strided = Strided { address: 0, stride_log2: 0 };

fn mat_mul(size: u64) -> Op {
    Op::MatMul { accumulate: false, zeroes: false, local: AT, accumulator: AT, size }
}

fn load_weights(size: u64) -> Op {
    Op::LoadWeights { zeroes: false, local: AT, size }
}

fn data_move(kind: DataMoveKind, size: u64) -> Op {
    Op::DataMove { kind, local: AT, other: AT, size }
}

fn simd() -> Op {
    let sub = SimdSub { op: SimdOp::Zero, left: 0, right: 0, destination: 0 };
    Op::Simd { read: false, write: true, accumulate: false, write_address: 0, read_address: 0, sub }
}

#[test]
fn each_rule() {
    let config = small(DataType::Fp16Bp8, 8);
    let of = |ops: &[Op]| {
        let estimate = estimate(&config, ops);
        (estimate.cycles, estimate.energy)
    };
    assert_eq!(of(&[]), (0, 0));
    assert_eq!(of(&[Op::NoOp]), (1, 0));
    assert_eq!(of(&[mat_mul(5)]), (5 + 16, 5 * 64));
    assert_eq!(of(&[mat_mul(5), mat_mul(3)]), (5 + 16 + 3, 8 * 64));
    assert_eq!(of(&[load_weights(9), mat_mul(3)]), (9 + 3 + 8, 90 + 3 * 64));
    assert_eq!(of(&[mat_mul(1), simd(), mat_mul(1)]), (17 + 1 + 17, 64 + 8 + 64));
    assert_eq!(of(&[data_move(DataMoveKind::AccumulatorToLocal, 4)]), (4, 40));
    assert_eq!(of(&[data_move(DataMoveKind::LocalToAccumulatorAccumulate, 4)]), (4, 40));
    assert_eq!(of(&[data_move(DataMoveKind::LocalToDram1, 4)]), (4, 400));
    assert_eq!(of(&[Op::Configure { register: 0, value: 0 }]), (0, 0));
    // The sum saturates even if the program is corrupted.
    assert_eq!(of(&[mat_mul(u64::MAX), mat_mul(u64::MAX)]), (u64::MAX, u64::MAX));
}

#[test]
fn the_queue_keeps_the_last_nine() {
    let config = small(DataType::Fp16Bp8, 8);
    let mut ops = vec![mat_mul(10)];
    ops.extend([simd(); 9]);
    let both = |ops: &[Op]| (estimate(&config, ops).cycles, estimate(&config, ops).undrained);
    assert_eq!(both(&ops), (26 + 9, 26));
    assert_eq!(both(&ops[1..]), (9, 0));
}

#[test]
fn kinds_add_up() {
    let config = small(DataType::Fp16Bp8, 8);
    let ops =
        [load_weights(9), mat_mul(4), mat_mul(4), simd(), data_move(DataMoveKind::AccumulatorToLocal, 4)];
    let Estimate { cycles, kinds, .. } = estimate(&config, &ops);
    assert_eq!(cycles, 9 + 12 + 4 + 1 + 4);
    assert_eq!((kinds["MatMul"].instructions, kinds["MatMul"].vectors), (2, 8));
    assert_eq!(kinds["DataMove(AccToLocal)"].cycles, 4);
}
