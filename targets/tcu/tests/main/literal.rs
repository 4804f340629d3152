//! A second machine, written only from the specification. It shares no code with the first except
//! the instruction type and the literal arithmetic; both must end in the same state.
//!
//! It stores every memory as a vector of vectors of raw scalars, moves one vector at a time, shifts
//! weights row by row, and has no fast path.

use npukit_numeric::{NumberFormat, Saturations};
use npukit_tcu::internals::op::{DataMoveKind, Op, SimdOp, SimdSub, Strided};
use npukit_tcu::{Config, DataType, Machine, Memory};
use proptest::prelude::*;

use crate::numerics::small;

type Vectors = Vec<Vec<i32>>;

#[derive(Clone, Debug, PartialEq)]
struct Literal {
    format: NumberFormat,
    n: usize,
    dram: [Vectors; 2],
    local: Vectors,
    accumulators: Vectors,
    /// Row 0 is the bias.
    weights: Vectors,
    /// Register `k`; register 0 is unused.
    registers: Vectors,
    saturations: Saturations,
}

fn at(run: Strided, i: u64) -> usize {
    (run.address + i * 2u64.pow(run.stride_log2)) as usize
}

impl Literal {
    fn new(config: &Config) -> Self {
        let n = config.array_size;
        let memory = |depth: u64| vec![vec![0; n]; depth as usize];
        Self {
            format: config.data_type.format(),
            n,
            dram: [memory(config.dram0_depth), memory(config.dram1_depth)],
            local: memory(config.local_depth),
            accumulators: memory(config.accumulator_depth),
            weights: memory(n as u64 + 1),
            registers: memory(config.simd_registers_depth as u64 + 1),
            saturations: Saturations::default(),
        }
    }

    fn add(&mut self, x: &[i32], y: &[i32]) -> Vec<i32> {
        x.iter().zip(y).map(|(&x, &y)| self.format.add(x, y, &mut self.saturations)).collect()
    }

    fn row(&mut self, x: &[i32]) -> Vec<i32> {
        let mut y = Vec::new();
        for j in 0..self.n {
            let mut sum = self.weights[0][j];
            for k in 1..=self.n {
                sum = self.format.mac(x[k - 1], self.weights[k][j], sum, &mut self.saturations);
            }
            y.push(sum);
        }
        y
    }

    fn store(&mut self, address: usize, value: Vec<i32>, accumulate: bool) {
        let old = self.accumulators[address].clone();
        self.accumulators[address] = if accumulate { self.add(&old, &value) } else { value };
    }

    fn step(&mut self, op: &Op) {
        match *op {
            Op::MatMul { accumulate, zeroes, local, accumulator, size } => {
                for i in 0..size {
                    let x = if zeroes { vec![0; self.n] } else { self.local[at(local, i)].clone() };
                    let y = self.row(&x);
                    self.store(at(accumulator, i), y, accumulate);
                }
            }
            Op::DataMove { kind, local, other, size } => {
                for i in 0..size {
                    self.move_vector(kind, at(local, i), at(other, i));
                }
            }
            Op::LoadWeights { zeroes, local, size } => {
                for i in (0..size).rev() {
                    for k in (1..=self.n).rev() {
                        self.weights[k] = self.weights[k - 1].clone();
                    }
                    self.weights[0] = if zeroes { vec![0; self.n] } else { self.local[at(local, i)].clone() };
                }
            }
            Op::Simd { read, write, accumulate, write_address, read_address, sub } => {
                let input = read.then(|| self.accumulators[read_address as usize].clone());
                self.simd(input, write.then_some((write_address as usize, accumulate)), sub);
            }
            _ => {}
        }
    }

    fn move_vector(&mut self, kind: DataMoveKind, local: usize, other: usize) {
        match kind {
            DataMoveKind::Dram0ToLocal => self.local[local] = self.dram[0][other].clone(),
            DataMoveKind::LocalToDram0 => self.dram[0][other] = self.local[local].clone(),
            DataMoveKind::Dram1ToLocal => self.local[local] = self.dram[1][other].clone(),
            DataMoveKind::LocalToDram1 => self.dram[1][other] = self.local[local].clone(),
            DataMoveKind::AccumulatorToLocal => self.local[local] = self.accumulators[other].clone(),
            DataMoveKind::LocalToAccumulator => self.accumulators[other] = self.local[local].clone(),
            DataMoveKind::LocalToAccumulatorAccumulate => {
                self.store(other, self.local[local].clone(), true);
            }
        }
    }

    fn simd(&mut self, input: Option<Vec<i32>>, write: Option<(usize, bool)>, sub: SimdSub) {
        if sub.op == SimdOp::NoOp {
            return;
        }
        let zeros = vec![0; self.n];
        let source = |k: u8| match k {
            0 => input.clone().unwrap_or(zeros.clone()),
            k => self.registers[k as usize].clone(),
        };
        let (left, right) = (source(sub.left), source(sub.right));
        let lanes = left.iter().zip(&right);
        let mut saturations = self.saturations;
        let output: Vec<i32> =
            lanes.map(|(&l, &r)| lane(self.format, sub.op, l, r, &mut saturations)).collect();
        self.saturations = saturations;
        if sub.destination != 0 {
            self.registers[sub.destination as usize] = output.clone();
        }
        if let Some((address, accumulate)) = write {
            self.store(address, output, accumulate);
        }
    }
}

/// Computes the table of specification 4.1, over reals where that is exact.
fn lane(format: NumberFormat, op: SimdOp, l: i32, r: i32, saturations: &mut Saturations) -> i32 {
    let value = |raw: i32| match format {
        NumberFormat::Fixed(_) => f64::from(raw),
        NumberFormat::Float32 => f64::from(f32::from_bits(raw as u32)),
    };
    let one = format.raw_from_f32(1.0);
    let truth = |holds: bool| if holds { one } else { 0 };
    let minus_one = format.raw_from_f32(-1.0);
    match op {
        SimdOp::Zero => 0,
        SimdOp::Move => l,
        SimdOp::Not => truth(value(l) == 0.0),
        SimdOp::And => truth(value(l) != 0.0 && value(r) != 0.0),
        SimdOp::Or => truth(value(l) != 0.0 || value(r) != 0.0),
        SimdOp::Increment => format.add(l, one, saturations),
        SimdOp::Decrement => format.add(l, minus_one, saturations),
        SimdOp::Add => format.add(l, r, saturations),
        SimdOp::Subtract => format.sub(l, r, saturations),
        SimdOp::Multiply => format.mul(l, r, saturations),
        SimdOp::Abs => match format {
            NumberFormat::Fixed(fixed) if i64::from(l) == fixed.min() => l,
            NumberFormat::Fixed(_) => l.abs(),
            NumberFormat::Float32 => l & i32::MAX,
        },
        SimdOp::GreaterThan => truth(value(l) > value(r)),
        SimdOp::GreaterThanEqual => truth(value(l) >= value(r)),
        SimdOp::Min => {
            if value(l) < value(r) {
                l
            } else {
                r
            }
        }
        SimdOp::Max => {
            if value(l) > value(r) {
                l
            } else {
                r
            }
        }
        SimdOp::NoOp | SimdOp::Lookup => unreachable!("not generated"),
    }
}

/// A run of up to `most` vectors within 64.
fn run(most: u64) -> impl Strategy<Value = (Strided, u64)> {
    (0..3u32, 1..=most, 0..64u64).prop_map(|(stride_log2, size, address)| {
        let size = size.min(63 / (1 << stride_log2) + 1);
        let span = (size - 1) << stride_log2;
        (Strided { address: address % (64 - span), stride_log2 }, size)
    })
}

/// Two runs of the same length.
fn runs(most: u64) -> impl Strategy<Value = (Strided, Strided, u64)> {
    (run(most), run(most)).prop_map(|((a, m), (b, n))| (a, b, m.min(n)))
}

fn mat_mul() -> impl Strategy<Value = Op> {
    (any::<bool>(), any::<bool>(), runs(20)).prop_map(|(accumulate, zeroes, (local, accumulator, size))| {
        Op::MatMul { accumulate, zeroes, local, accumulator, size }
    })
}

fn data_move() -> impl Strategy<Value = Op> {
    (prop::sample::select(DataMoveKind::ALL.to_vec()), runs(20))
        .prop_map(|(kind, (local, other, size))| Op::DataMove { kind, local, other, size })
}

fn load_weights() -> impl Strategy<Value = Op> {
    (prop::bool::weighted(0.2), run(24)).prop_map(|(zeroes, (local, size))| Op::LoadWeights {
        zeroes,
        local,
        size,
    })
}

/// SIMD forms that do not hang, on two registers.
fn simd() -> impl Strategy<Value = Op> {
    let ops: Vec<SimdOp> =
        SimdOp::ALL.into_iter().filter(|op| !matches!(op, SimdOp::NoOp | SimdOp::Lookup)).collect();
    let registers = (0..3u8, 0..3u8, 0..3u8);
    (prop::sample::select(ops), registers, any::<[bool; 2]>(), 0..64u64, 0..64u64).prop_map(
        |(op, (left, right, destination), [write, accumulate], write_address, read_address)| {
            let read = op != SimdOp::Zero && (left == 0 || right == 0);
            let sub = SimdSub { op, left, right, destination };
            Op::Simd { read, write, accumulate, write_address, read_address, sub }
        },
    )
}

fn program() -> impl Strategy<Value = Vec<Op>> {
    prop::collection::vec(prop_oneof![mat_mul(), data_move(), load_weights(), simd(), Just(Op::NoOp)], 1..60)
}

/// Raw scalars of a format: mostly small, some at the ends of the range.
fn content(data_type: DataType, seed: &[i32], scalars: usize) -> Vec<i32> {
    let scale = |i: usize, v: i32| match data_type.format() {
        NumberFormat::Float32 => (v as f32 / 65536.0).to_bits() as i32,
        NumberFormat::Fixed(format) if i.is_multiple_of(7) => format.saturate(i64::from(v) * 5) as i32,
        NumberFormat::Fixed(format) => format.saturate(i64::from(v)) as i32 / 64,
    };
    (0..scalars).map(|i| scale(i, seed[i % seed.len()].wrapping_mul(i as i32 * 2 + 1))).collect()
}

fn agree(data_type: DataType, n: usize, ops: &[Op], seed: &[i32]) -> Saturations {
    let config = small(data_type, n);
    let mut literal = Literal::new(&config);
    let mut machine = Machine::new(&config).unwrap();
    for (memory, turn) in
        [(Memory::Dram0, 0), (Memory::Dram1, 1), (Memory::Local, 2), (Memory::Accumulators, 3)]
    {
        let mut seed = seed.to_vec();
        let turns = turn % seed.len();
        seed.rotate_left(turns);
        let raw = content(data_type, &seed, 64 * n);
        machine.write(memory, 0, &raw).unwrap();
        let vectors = raw.chunks(n).map(<[i32]>::to_vec).collect();
        match memory {
            Memory::Dram0 => literal.dram[0] = vectors,
            Memory::Dram1 => literal.dram[1] = vectors,
            Memory::Local => literal.local = vectors,
            Memory::Accumulators => literal.accumulators = vectors,
        }
    }
    for (i, op) in ops.iter().enumerate() {
        literal.step(op);
        machine.step(op).unwrap();
        let accumulators = machine.read(Memory::Accumulators, 0, 64).unwrap();
        assert_eq!(accumulators, literal.accumulators.concat(), "{data_type:?}, after {i}: {op:?}");
    }
    assert_eq!(machine.read(Memory::Dram0, 0, 64).unwrap(), literal.dram[0].concat());
    assert_eq!(machine.read(Memory::Dram1, 0, 64).unwrap(), literal.dram[1].concat());
    assert_eq!(machine.read(Memory::Local, 0, 64).unwrap(), literal.local.concat());
    assert_eq!(machine.saturations(), literal.saturations);
    literal.saturations
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn the_fast_machine_equals_the_literal_one(
        ops in program(),
        n in prop_oneof![1..10usize, 15..20usize],
        seed in prop::collection::vec(any::<i32>(), 1..50),
    ) {
        for data_type in DataType::ALL {
            agree(data_type, n, &ops, &seed);
        }
    }
}

/// The property above is only meaningful if results saturate in some programs, and not in others.
#[test]
fn the_content_saturates_now_and_then() {
    let at = |address| Strided { address, stride_log2: 0 };
    let ops = [
        Op::LoadWeights { zeroes: false, local: at(0), size: 9 },
        Op::MatMul { accumulate: false, zeroes: false, local: at(0), accumulator: at(0), size: 40 },
    ];
    let seed: Vec<i32> = (1..40).map(|i: i32| i.wrapping_mul(0x1234_5677)).collect();
    let extreme = agree(DataType::Fp16Bp8, 8, &ops, &seed);
    assert!(extreme.overflow.count > 0 && extreme.underflow.count > 0);
    assert!(agree(DataType::Fp16Bp8, 8, &ops, &[64, 64, 0, -64, 0, 0, 64]).is_empty());
}
