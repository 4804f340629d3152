//! The instructions behind the names of measurements: [`steady`], [`single`] and [`short`].
//!
//! Names are matched with their numbers taken out. Addresses do not matter to a clock, except that
//! none of these bursts crosses 4 KiB more often than it must.

use crate::op::{DataMoveKind, Op, SimdOp, SimdSub, Strided};

const AT: Strided = Strided { address: 0, stride_log2: 0 };

/// A name with `#` for every run of digits, and their values.
fn numbers(name: &str) -> (String, Vec<u64>) {
    let (mut pattern, mut numbers, mut digits) = (String::new(), Vec::new(), false);
    for c in name.chars() {
        match c.to_digit(10).map(u64::from) {
            Some(digit) if digits => {
                if let Some(last) = numbers.last_mut() {
                    *last = u64::saturating_mul(*last, 10).saturating_add(digit).min(LONGEST);
                }
            }
            Some(digit) => {
                pattern.push('#');
                numbers.push(digit);
            }
            None => pattern.push(c),
        }
        digits = c.is_ascii_digit();
    }
    (pattern, numbers)
}

/// Bounds what a name can ask for.
const LONGEST: u64 = 1 << 16;

fn mat_mul(size: u64, accumulate: bool) -> Op {
    Op::MatMul { accumulate, zeroes: false, local: AT, accumulator: AT, size }
}

fn mat_mul_zeroes(size: u64) -> Op {
    Op::MatMul { accumulate: false, zeroes: true, local: AT, accumulator: AT, size }
}

fn load(size: u64, zeroes: bool) -> Op {
    Op::LoadWeights { zeroes, local: AT, size }
}

fn moves(kind: DataMoveKind, size: u64) -> Op {
    Op::DataMove { kind, local: AT, other: AT, size }
}

fn strided(kind: DataMoveKind, stride_log2: u64, size: u64) -> Op {
    let other = Strided { stride_log2: stride_log2.min(32) as u32, ..AT };
    Op::DataMove { kind, local: AT, other, size }
}

fn from_dram(bank: u64) -> DataMoveKind {
    if bank == 0 { DataMoveKind::Dram0ToLocal } else { DataMoveKind::Dram1ToLocal }
}

fn to_dram(bank: u64) -> DataMoveKind {
    if bank == 0 { DataMoveKind::LocalToDram0 } else { DataMoveKind::LocalToDram1 }
}

const ACC_TO_LOCAL: DataMoveKind = DataMoveKind::AccumulatorToLocal;
const LOCAL_TO_ACC: DataMoveKind = DataMoveKind::LocalToAccumulator;
const LOCAL_TO_ACC_ADDING: DataMoveKind = DataMoveKind::LocalToAccumulatorAccumulate;

/// A SIMD instruction: reads the input if `read`, else works on register 1.
fn simd(read: bool, write: bool, accumulate: bool, op: SimdOp) -> Op {
    let source = if read || op == SimdOp::Zero { 0 } else { 1 };
    let destination = u8::from(!write);
    let sub = SimdSub { op, left: source, right: source, destination };
    Op::Simd { read, write, accumulate, write_address: 0, read_address: 0, sub }
}

fn read_write() -> Op {
    simd(true, true, false, SimdOp::Max)
}

/// The repeated sequence behind a name of `steady_state_cycles`, and the latency, 1 where none is named.
pub(super) fn steady(name: &str) -> Option<(Vec<Op>, u64)> {
    let (pattern, n) = numbers(name);
    let latency = if pattern.ends_with("lat#") { *n.last()? } else { 1 };
    let ops = match (pattern.as_str(), n.as_slice()) {
        ("noop", []) => vec![Op::NoOp],
        ("configure", []) => vec![Op::Configure { register: 0, value: 0 }],
        ("matmul_#", &[n]) | ("matmul_stride#_#", &[_, n]) => vec![mat_mul(n, false)],
        ("matmul_acc_diffaddr_#" | "matmul_acc_sameaddr_#", &[n]) => vec![mat_mul(n, true)],
        ("matmul_zeroes_#", &[n]) => vec![mat_mul_zeroes(n)],
        ("loadweights_#", &[n]) => vec![load(n, false)],
        ("loadweights_zeroes_#", &[n]) => vec![load(n, true)],
        ("lw#+lwz#+mm_#", &[rows, zeroes, n]) => {
            vec![load(rows, false), load(zeroes, true), mat_mul(n, false)]
        }
        ("lw#+mm_#", &[rows, n]) => vec![load(rows, false), mat_mul(n, false)],
        ("dm_acc#loc_#", &[_, n]) => vec![moves(ACC_TO_LOCAL, n)],
        ("dm_loc#acc_#", &[_, n]) => vec![moves(LOCAL_TO_ACC, n)],
        ("dm_loc#acc_acc_#" | "dm_loc#acc_acc_sameaddr_#", &[_, n]) => vec![moves(LOCAL_TO_ACC_ADDING, n)],
        ("simd_RW then acc#loc #", &[_, n]) => vec![read_write(), moves(ACC_TO_LOCAL, n)],
        ("mm# then acc#loc", &[n, _]) => vec![mat_mul(n, false), moves(ACC_TO_LOCAL, n)],
        ("mm# then loc#acc", &[n, _]) => vec![mat_mul(n, false), moves(LOCAL_TO_ACC, n)],
        ("mm# then simdRW", &[n]) => vec![mat_mul(n, false), read_write()],
        ("loc#acc# then acc#loc", &[_, n, _]) => vec![moves(LOCAL_TO_ACC, n), moves(ACC_TO_LOCAL, n)],
        ("simdRW x# then lw#", &[_, n]) => vec![read_write(), load(n, false)],
        (pattern, n) => {
            return steady_dram(pattern, n).or_else(|| steady_simd(name)).map(|ops| (ops, latency));
        }
    };
    Some((ops, latency))
}

fn steady_dram(pattern: &str, n: &[u64]) -> Option<Vec<Op>> {
    Some(match (pattern, n) {
        ("dram#_rd_n#_lat#", &[bank, n, _]) | ("dram#_rd_localstride#_n#_lat#", &[bank, _, n, _]) => {
            vec![moves(from_dram(bank), n)]
        }
        ("dram#_rd_stride#(dram)_n#_lat#", &[bank, stride, n, _]) => {
            vec![strided(from_dram(bank), stride, n)]
        }
        ("dram#_wr_n#_lat#", &[bank, n, _]) => vec![moves(to_dram(bank), n)],
        ("dram#_wr_stride#(dram)_n#_lat#", &[bank, stride, n, _]) => vec![strided(to_dram(bank), stride, n)],
        ("dram#_rdwr_pair_n#_lat#", &[bank, n, _]) => {
            vec![moves(from_dram(bank), n), moves(to_dram(bank), n)]
        }
        ("dram#+dram#_rd_n#_lat#", &[a, b, n, _]) => vec![moves(from_dram(a), n), moves(from_dram(b), n)],
        (
            "overlap mm# + dram# rd# lower (same lock) lat#"
            | "overlap mm# + dram# rd# upper (other lock) lat#",
            &[rows, bank, n, _],
        ) => vec![mat_mul(rows, false), moves(from_dram(bank), n)],
        (
            "overlap mm# + dram# wr# lower (same lock) lat#"
            | "overlap mm# + dram# wr# upper (other lock) lat#",
            &[rows, bank, n, _],
        ) => vec![mat_mul(rows, false), moves(to_dram(bank), n)],
        _ => return None,
    })
}

fn steady_simd(name: &str) -> Option<Vec<Op>> {
    let to_register = simd(true, false, false, SimdOp::Move);
    Some(match name {
        "simd_none_zero_r1" => vec![simd(false, false, false, SimdOp::Zero)],
        "simd_R_move_r1" => vec![to_register],
        "simd_RW_max_distinct" | "simd_RW_inplace" => vec![read_write()],
        "simd_RWA" => vec![simd(true, true, true, SimdOp::Max)],
        "simd_W_zero" => vec![simd(false, true, false, SimdOp::Zero)],
        "simd_W_move_r1(l=1,r=1)" => vec![simd(false, true, false, SimdOp::Move)],
        "simd_pair_move+mul (binary)" => vec![to_register, read_write()],
        "simd_norm triple" | "simd_leaky triple" => vec![to_register, to_register, read_write()],
        _ => return None,
    })
}

/// What a name of `single_instruction` measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Measure {
    /// Cycles the decoder holds the instruction.
    Occupancy,
    /// Cycles to the last event of a kind.
    AccumulatorWrite,
    LocalWrite,
    AxiWrite,
    WeightLoad,
}

/// The instruction behind a name of `single_instruction`, the latency, and what is measured.
pub(super) fn single(name: &str) -> Option<(Op, u64, Measure)> {
    let (instruction, measure) = match name.split_once(' ')? {
        ("occupancy", instruction) => (instruction, Measure::Occupancy),
        ("latency", rest) => {
            let (instruction, event) = rest.split_once(" from issue to ")?;
            let measure = match event {
                "last_acc_write" => Measure::AccumulatorWrite,
                "last_local_write" => Measure::LocalWrite,
                "last_axi_write" => Measure::AxiWrite,
                "last_load" => Measure::WeightLoad,
                _ => return None,
            };
            (instruction, measure)
        }
        _ => return None,
    };
    let (pattern, n) = numbers(instruction);
    let latency = if pattern.ends_with("lat#") { *n.last()? } else { 1 };
    let op = match (pattern.as_str(), n.as_slice()) {
        ("mm#", &[n]) => mat_mul(n, false),
        ("mm# acc", &[n]) => mat_mul(n, true),
        ("mmzero#", &[n]) => mat_mul_zeroes(n),
        ("loc#acc#", &[_, n]) => moves(LOCAL_TO_ACC, n),
        ("loc#acc_acc#", &[_, n]) => moves(LOCAL_TO_ACC_ADDING, n),
        ("acc#loc#", &[_, n]) => moves(ACC_TO_LOCAL, n),
        ("dram#rd# lat#", &[bank, n, _]) => moves(from_dram(bank), n),
        ("dram#wr# lat#", &[bank, n, _]) => moves(to_dram(bank), n),
        ("lw#", &[n]) => load(n, false),
        ("lwz#", &[n]) => load(n, true),
        ("simdRW", []) => read_write(),
        ("simdRWA", []) => simd(true, true, true, SimdOp::Max),
        ("simdW zero", []) => simd(false, true, false, SimdOp::Zero),
        _ => return None,
    };
    Some((op, latency, measure))
}

/// The transfer behind a table of decoder occupancies, and its latency.
pub(super) fn transfer(table: &str, size: u64) -> Option<(Op, u64)> {
    let (pattern, n) = numbers(table);
    Some(match (pattern.as_str(), n.as_slice()) {
        ("dram#_to_local lat#", &[bank, latency]) => (moves(from_dram(bank), size), latency),
        ("local_to_dram# lat#", &[bank, latency]) => (moves(to_dram(bank), size), latency),
        ("dram#_to_local dram_stride# lat#", &[bank, stride, latency]) => {
            (strided(from_dram(bank), stride, size), latency)
        }
        ("local_to_dram# dram_stride# lat#", &[bank, stride, latency]) => {
            (strided(to_dram(bank), stride, size), latency)
        }
        _ => return None,
    })
}

/// The instructions behind a name of `short_sequences`; weights have `rows` rows.
pub(super) fn short(name: &str, rows: u64) -> Option<Vec<Op>> {
    let mut ops = Vec::new();
    for item in name.split("; ") {
        let item = item.strip_suffix(" (same rows)").unwrap_or(item);
        let (count, item) = item.strip_prefix("4x ").map_or((1, item), |item| (4, item));
        ops.extend(std::iter::repeat_n(short_item(item, rows)?, count));
    }
    Some(ops)
}

fn short_item(item: &str, rows: u64) -> Option<Op> {
    let (pattern, n) = numbers(item);
    Some(match (pattern.as_str(), n.as_slice()) {
        ("MatMul#", &[n]) => mat_mul(n, false),
        ("MatMul# acc", &[n]) => mat_mul(n, true),
        ("MatMul zeroes#", &[n]) => mat_mul_zeroes(n),
        ("LoadWeights#", &[n]) => load(n, false),
        ("LoadWeights N+#", &[_]) => load(rows, false),
        ("LoadWeights zeroes N+#", &[_]) => load(rows, true),
        ("Local->Acc#", &[n]) => moves(LOCAL_TO_ACC, n),
        ("Local->Acc# acc", &[n]) => moves(LOCAL_TO_ACC_ADDING, n),
        ("Acc->Local#", &[n]) => moves(ACC_TO_LOCAL, n),
        ("DRAM#->Local#", &[bank, n]) => moves(from_dram(bank), n),
        ("Local->DRAM# #", &[bank, n]) => moves(to_dram(bank), n),
        ("SIMD read", []) => simd(true, false, false, SimdOp::Move),
        ("SIMD read+write", []) => read_write(),
        ("SIMD Zero to R#", &[_]) => simd(false, false, false, SimdOp::Zero),
        ("SIMD write of R#", &[_]) => simd(false, true, false, SimdOp::Move),
        _ => return None,
    })
}
