//! Symbolic machine for tests of passes that reorder instructions. It computes with names instead
//! of numbers: two values are equal only if they were computed from the same values in the same
//! way.

use std::collections::HashMap;

use npukit_target::digest;
use proptest::prelude::*;

use crate::isa::op::{DataMoveKind, Memory, Op, Path, SimdOp, SimdSub, Strided};

/// Symbolic contents of all memories and registers.
#[derive(Default)]
pub struct Symbolic {
    memories: HashMap<(Memory, u64), u64>,
    weights: u64,
    registers: HashMap<u8, u64>,
}

impl Symbolic {
    /// Returns the state after running a program.
    pub fn after(ops: &[Op]) -> Self {
        let mut machine = Self::default();
        ops.iter().for_each(|op| {
            machine.run(op);
        });
        machine
    }

    /// Runs an instruction and returns a digest of the values that it read.
    pub fn run(&mut self, op: &Op) -> u64 {
        let flow = op.flow();
        let mut all = Vec::new();
        for k in 0..flow.size {
            let at = |run: Strided| run.at(k);
            let input = flow.source.map(|place| self.get(place.memory, at(place.run)));
            let result = self.result(flow.path, input);
            all.push(result);
            if let Some(place) = flow.target {
                let key = (place.memory, at(place.run));
                let old = flow.adds.then(|| self.get(place.memory, at(place.run)));
                self.memories.insert(key, old.map_or(result, |old| digest(&("sum", old, result))));
                all.extend(old);
            }
        }
        digest(&all)
    }

    fn result(&mut self, path: Path, input: Option<u64>) -> u64 {
        match path {
            Path::Array => digest(&("product", input, self.weights)),
            Path::Weights => {
                self.weights = digest(&("shift", input, self.weights));
                self.weights
            }
            Path::Alus(SimdSub { op, left, right, destination }) => {
                let register = |number: u8| self.registers.get(&number).copied();
                let side = |number: u8| if number == 0 { input } else { register(number) };
                let result = digest(&(op as u8, side(left), side(right)));
                self.registers.insert(destination, result);
                result
            }
            Path::Copy | Path::Decoder | Path::Tables(_) => digest(&("copy", input)),
        }
    }

    /// Returns the value at an address; a unique name if it was never written.
    pub fn get(&self, memory: Memory, address: u64) -> u64 {
        let key = (memory, address);
        self.memories.get(&key).copied().unwrap_or_else(|| digest(&(memory as u8, address)))
    }

    /// Returns all values written to the memories, except to `without`.
    pub fn written(&self, without: Option<Memory>) -> HashMap<(Memory, u64), u64> {
        let kept = self.memories.iter().filter(|((memory, _), _)| Some(*memory) != without);
        kept.map(|(&key, &value)| (key, value)).collect()
    }
}

/// Number of local-memory vectors that random programs access. They access fewer vectors of the
/// other memories.
pub const LOCAL: u64 = 24;

/// Generates random programs with all kinds of instructions that a layer has.
pub fn programs() -> impl Strategy<Value = Vec<Op>> {
    let run = |depth: u64| {
        (0..depth - 8, 0..2_u32).prop_map(|(address, stride_log2)| Strided { address, stride_log2 })
    };
    let kind = prop::sample::select(vec![
        DataMoveKind::Dram0ToLocal,
        DataMoveKind::Dram1ToLocal,
        DataMoveKind::Dram1ToLocal,
        DataMoveKind::LocalToDram0,
        DataMoveKind::AccumulatorToLocal,
        DataMoveKind::LocalToAccumulator,
        DataMoveKind::LocalToAccumulatorAccumulate,
    ]);
    let transfer = (kind, run(LOCAL), run(20), 1..5_u64)
        .prop_map(|(kind, local, other, size)| Op::DataMove { kind, local, other, size });
    let product =
        (any::<bool>(), run(LOCAL), run(16), 1..5_u64).prop_map(|(accumulate, local, accumulator, size)| {
            Op::MatMul { accumulate, zeroes: false, local, accumulator, size }
        });
    let weights = (any::<bool>(), run(LOCAL), 1..5_u64).prop_map(|(zeroes, local, size)| Op::LoadWeights {
        zeroes,
        local,
        size,
    });
    let simd = (any::<[bool; 3]>(), 0..8_u64, 0..8_u64, (0..2_u8, 0..2_u8, 0..2_u8)).prop_map(
        |([read, write, accumulate], read_address, write_address, (left, right, destination))| Op::Simd {
            read,
            write,
            accumulate: accumulate && write,
            read_address,
            write_address,
            sub: SimdSub { op: SimdOp::Max, left, right, destination },
        },
    );
    prop::collection::vec(prop_oneof![3 => transfer, 2 => product, 1 => weights, 1 => simd], 1..60)
}
