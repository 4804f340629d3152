//! Reads and writes of each instruction, and operands of each of its results.

use npukit_target::{Accessed, AddressRun, Operand, Scalar};

use super::{Stepped, place_of};
use crate::isa::op::{Flow, Memory, Op, Path, Place, Register, SimdOp, SimdSub};
use crate::machine::Part;

/// Returns the addresses of a place.
fn run(place: Place, size: u64) -> AddressRun {
    // Default: the stride of a single vector does not matter, and several vectors with a stride of
    // 2^64 cause a fault.
    let stride = 1_u64.checked_shl(place.run.stride_log2).unwrap_or(0);
    AddressRun { memory: place_of(place.memory), first: place.run.address, count: size, stride }
}

impl Stepped {
    /// Returns everything that an instruction reads and writes.
    pub(super) fn accesses(&self, step: usize) -> Vec<Accessed> {
        let Some(op) = self.ops.get(step) else { return Vec::new() };
        let flow = op.flow();
        let mut all: Vec<Accessed> =
            flow.reads().map(|place| Accessed::read(run(place, flow.size))).collect();
        all.extend(flow.target.map(|place| Accessed::write(run(place, flow.size))));
        let weights = self.part(Part::Weights, self.config.array_size as u64 + 1);
        match flow.path {
            Path::Array => all.extend(weights.map(Accessed::read)),
            // Loading shifts the rows in the array: rows that are not loaded come from other rows.
            Path::Weights => {
                all.extend(weights.into_iter().flat_map(|run| [Accessed::read(run), Accessed::write(run)]));
            }
            Path::Alus(sub) => all.extend(self.registers(sub)),
            Path::Decoder | Path::Copy | Path::Tables(_) => {}
        }
        if let Op::Configure { register, .. } = *op {
            all.extend(self.configured(register));
        }
        all.extend(read_out(op).map(|(_, to)| Accessed::write(to)));
        all
    }

    fn part(&self, part: Part, count: u64) -> Option<AddressRun> {
        Some(AddressRun::dense(self.place(part)?, 0, count))
    }

    fn register(&self, register: u8) -> Option<AddressRun> {
        self.part(Part::Register(register), 1)
    }

    /// Returns the registers that an ALU instruction reads and writes.
    fn registers(&self, sub: SimdSub) -> Vec<Accessed> {
        let reads = sources(sub).into_iter().filter_map(|source| self.register(source)).map(Accessed::read);
        let tables = if sub.op == SimdOp::Lookup { self.config.lookup_tables as u8 } else { 0 };
        let is_written = sub.destination != 0 || tables > 0;
        let written =
            (0..=tables).filter(|_| is_written).filter_map(|table| sub.destination.checked_add(table));
        let writes = written.filter_map(|register| self.register(register)).map(Accessed::write);
        reads.chain(writes).collect()
    }

    /// Returns the accesses of a Configure: the register, and the memory whose offset changes,
    /// whose content then changes completely.
    fn configured(&self, register: u8) -> impl Iterator<Item = Accessed> {
        let register = Register::from_code(register);
        let own = register.and_then(|register| self.part(Part::Configuration(register), 1));
        let moved = match register {
            Some(Register::Dram0Offset) => Some((Memory::Dram0, self.config.dram0_depth)),
            Some(Register::Dram1Offset) => Some((Memory::Dram1, self.config.dram1_depth)),
            _ => None,
        };
        let moved = moved.map(|(memory, depth)| AddressRun::dense(place_of(memory), 0, depth));
        own.into_iter().chain(moved).map(Accessed::write)
    }

    /// Returns the operands of `scalar`, which the instruction wrote.
    pub(super) fn operands(&self, step: usize, scalar: Scalar) -> Vec<Operand> {
        let (Some(op), Some(&part)) = (self.ops.get(step), self.parts.get(scalar.memory)) else {
            return Vec::new();
        };
        if let Some((from, to)) = read_out(op)
            && to.memory == scalar.memory
        {
            return vec![Operand { role: "copied", run: from, lane: Some(scalar.lane), since: None }];
        }
        let flow = op.flow();
        let Scalar { memory, address, lane } = scalar;
        let mut all = match (part, flow.path) {
            (Part::Weights, Path::Weights) => self.row(flow, scalar),
            (Part::Memory(to), _) => match flow.writes(to, address..address.saturating_add(1)) {
                Some(vector) => self.vector(flow, vector, lane),
                None => Vec::new(),
            },
            (Part::Register(_), Path::Alus(sub)) => self.of_alus(flow, sub, lane),
            _ => Vec::new(),
        };
        if flow.adds && flow.target.is_some_and(|target| place_of(target.memory) == memory) {
            let run = AddressRun::dense(memory, address, 1);
            all.push(Operand { role: "added to", run, lane: Some(lane), since: None });
        }
        all
    }

    /// Returns the operands of number `lane` in written vector `vector` of an instruction.
    fn vector(&self, flow: Flow, vector: u64, lane: usize) -> Vec<Operand> {
        let one = |place: Place| AddressRun::dense(place_of(place.memory), place.run.at(vector), 1);
        match flow.path {
            Path::Array => {
                let input = flow.source.map(|place| Operand {
                    role: "input",
                    run: one(place),
                    lane: None,
                    since: None,
                });
                let weights = self.part(Part::Weights, self.config.array_size as u64 + 1);
                let weights =
                    weights.map(|run| Operand { role: "weights", run, lane: Some(lane), since: None });
                input.into_iter().chain(weights).collect()
            }
            Path::Copy => {
                let copied =
                    |place| Operand { role: "copied", run: one(place), lane: Some(lane), since: None };
                flow.source.map(copied).into_iter().collect()
            }
            Path::Alus(sub) => self.of_alus(flow, sub, lane),
            Path::Decoder | Path::Weights | Path::Tables(_) => Vec::new(),
        }
    }

    /// Returns the operands of number `lane` of the ALU results.
    fn of_alus(&self, flow: Flow, sub: SimdSub, lane: usize) -> Vec<Operand> {
        let operand = |run| Operand { role: "operand", run, lane: Some(lane), since: None };
        let input = flow.source.map(|place| run(place, 1));
        let registers = sources(sub).into_iter().filter_map(|source| self.register(source));
        input.into_iter().chain(registers).map(operand).collect()
    }

    /// Returns the operand of a row of the array: local memory, or the row that was shifted there.
    fn row(&self, flow: Flow, Scalar { memory, address, lane }: Scalar) -> Vec<Operand> {
        let rows = flow.size.min(self.config.array_size as u64 + 1);
        let lane = Some(lane);
        if let Some(earlier) = address.checked_sub(rows) {
            let run = AddressRun::dense(memory, earlier, 1);
            return vec![Operand { role: "shifted", run, lane, since: None }];
        }
        let source = flow.source.map(|place| {
            let run = AddressRun::dense(place_of(place.memory), place.run.at(address), 1);
            Operand { role: "loaded", run, lane, since: None }
        });
        source.into_iter().collect()
    }
}

/// Returns the accumulator that a SIMD NoOp reads, and its destination in local memory.
/// [`Op::flow`] has no such path.
fn read_out(op: &Op) -> Option<(AddressRun, AddressRun)> {
    let Op::Simd { read: true, write_address, read_address, sub, .. } = *op else { return None };
    let one = |memory, address| AddressRun::dense(place_of(memory), address, 1);
    let way = (one(Memory::Accumulators, read_address), one(Memory::Local, write_address));
    (sub.op == SimdOp::NoOp).then_some(way)
}

/// Returns the registers that an operation reads, without duplicates.
fn sources(sub: SimdSub) -> Vec<u8> {
    let all = match sub.op {
        SimdOp::NoOp | SimdOp::Zero => Vec::new(),
        op if op.arity() == 1 => vec![sub.left],
        _ => vec![sub.left, sub.right],
    };
    let mut registers: Vec<u8> = all.into_iter().filter(|&register| register != 0).collect();
    registers.dedup();
    registers
}
