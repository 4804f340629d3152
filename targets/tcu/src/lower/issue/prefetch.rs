//! Prefetch: [`ahead`] issues the DRAM reads of a program as early as the bank is free and local
//! memory has room.
//!
//! A unit with queues in front of local memory continues past a read, and past products whose rows
//! still have to enter. But its decoder takes instructions in order: a read must be issued early,
//! yet not so early that the decoder waits for the bank. Therefore the times of instructions are
//! estimated: each continues when the preceding work and the reads it needs are done. A read is
//! issued where its bank becomes free, at the latest before the first instruction that needs it.
//! All other instructions keep their order and find the same data in local memory, so all values
//! stay the same.

use std::collections::VecDeque;
use std::ops::Range;

use super::blocks::{Block, Blocks};
use crate::isa::op::{Op, Path};

/// Maximum number of vectors per read; an instruction that needs the first of them need not wait
/// for the last.
const PIECE: u64 = 64;
/// Number of instructions after which a failed search for room is repeated.
const UNTIL_LOOKED: usize = 8;

/// Timing parameters of reads.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pace {
    /// Bus cycles per vector.
    pub beats: u64,
    /// Cycles until the first vector arrives.
    pub latency: u64,
    /// Cycles before its bank is free at which a read may be issued; it then waits in the queues.
    pub lead: u64,
}

/// Local memory that prefetched data may use.
#[derive(Clone, Copy, Debug)]
pub enum Room<'a> {
    /// Only the addresses that the read has in the program.
    Own,
    /// Any address in this range of local memory, which must be unused before and after the
    /// program.
    Within(&'a Range<u64>),
}

/// Returns the reordered instructions for each pace, each with its old position. Returns `None` if
/// a read could have another meaning elsewhere.
pub fn ahead<'a>(
    ops: &'a [Op],
    room: Room<'a>,
    paces: impl IntoIterator<Item = Pace, IntoIter: 'a>,
) -> impl Iterator<Item = Vec<(Op, usize)>> + 'a {
    // Instructions that write registers change the meaning of DRAM addresses, so blocks are not
    // used.
    let changes = |op: &Op| op.flow().path == Path::Decoder && *op != Op::NoOp;
    let blocks = (!ops.iter().any(changes)).then(|| Blocks::of(ops));
    let paces = paces.into_iter();
    paces.filter_map(move |pace| {
        let mut schedule = Schedule::new(blocks.as_ref()?, ops, room, pace);
        ops.iter().enumerate().for_each(|(i, op)| schedule.step(i, op));
        (0..2).for_each(|bank| schedule.ask_in_time(ops.len(), bank));
        Some(schedule.done)
    })
}

/// A read of DRAM, or a piece of one.
#[derive(Clone, Copy)]
struct Read {
    /// Instruction from which it comes.
    instruction: usize,
    op: Op,
    /// Block that it fills.
    block: usize,
    /// Instruction before which it must be issued.
    due: usize,
}

/// Placement of a block.
#[derive(Clone, Copy)]
enum Place {
    /// Address and lifetime as in the program.
    Own,
    /// Moved to this address, from the current instruction on.
    At(u64),
}

/// A block that occupies local memory.
struct Lying {
    block: usize,
    addresses: Range<u64>,
    until: usize,
}

/// State of the reordering.
struct Schedule<'a> {
    blocks: &'a Blocks,
    room: Room<'a>,
    pace: Pace,
    /// For each bank, the reads not issued yet, in the order in which they are due.
    to_ask: [VecDeque<Read>; 2],
    /// Placement of each movable block; `None` until its read is issued.
    places: Vec<Option<Place>>,
    lying: Vec<Lying>,
    /// First block that the program has not yet written at its own address.
    to_come: usize,
    /// Estimated cycle at which the work so far is done.
    now: u64,
    /// Estimated cycle at which each bank is free.
    free: [u64; 2],
    /// For each bank, the instruction at which the next search for room takes place.
    look: [usize; 2],
    /// Blocks being read, each with the cycle at which its read completes.
    under_way: VecDeque<(usize, u64)>,
    done: Vec<(Op, usize)>,
}

impl<'a> Schedule<'a> {
    fn new(blocks: &'a Blocks, ops: &[Op], room: Room<'a>, pace: Pace) -> Self {
        let read = |instruction| {
            let block = blocks.moved_by(instruction)?;
            Some(Read { instruction, op: ops[instruction], block, due: blocks.due(instruction) })
        };
        let mut reads: Vec<Read> = (0..ops.len()).filter_map(read).collect();
        reads.sort_by_key(|read| (read.due, read.instruction));
        let mut to_ask = [VecDeque::new(), VecDeque::new()];
        for read in reads {
            let pieces = pieces(&read.op).map(|op| Read { op, ..read });
            let bank = read.op.flow().bank();
            to_ask[bank.expect("a read of DRAM has a bank")].extend(pieces);
        }
        Self {
            blocks,
            room,
            pace,
            to_ask,
            places: vec![None; blocks.list.len()],
            lying: Vec::new(),
            to_come: 0,
            now: 0,
            free: [0; 2],
            look: [0; 2],
            under_way: VecDeque::new(),
            done: Vec::with_capacity(ops.len()),
        }
    }

    fn step(&mut self, i: usize, op: &Op) {
        self.enter_blocks(i);
        (0..2).for_each(|bank| self.ask_in_time(i, bank));
        (0..2).for_each(|bank| self.ask_early(i, bank));
        if self.blocks.moved_by(i).is_some() {
            return;
        }
        let Some(block) = self.blocks.read_by(i) else { return self.push(*op, i) };
        let needed = self.under_way.iter().filter(|&&(other, _)| other == block).map(|&(_, done)| done);
        self.now = needed.fold(self.now, u64::max);
        self.push(self.moved(op, block), i);
    }

    /// Places the blocks that the program writes up to instruction `i` at their own addresses,
    /// unless they were moved.
    fn enter_blocks(&mut self, i: usize) {
        while let Some(block) = self.blocks.list.get(self.to_come).filter(|block| block.from <= i) {
            if self.places[self.to_come].is_none() {
                let addresses = block.addresses.clone();
                self.lying.push(Lying { block: self.to_come, addresses, until: block.until });
            }
            self.to_come += 1;
        }
    }

    /// Issues the reads that are due. Until then a read's own addresses stay free, once the program
    /// has reached it.
    fn ask_in_time(&mut self, i: usize, bank: usize) {
        while let Some(&read) = self.to_ask[bank].front().filter(|read| read.due <= i) {
            self.to_ask[bank].pop_front();
            self.places[read.block].get_or_insert(Place::Own);
            self.ask(read, bank);
        }
    }

    /// Issues the next reads while the bank is free and there is room.
    fn ask_early(&mut self, i: usize, bank: usize) {
        while self.free[bank] <= self.now + self.pace.lead
            && i >= self.look[bank]
            && let Some(&read) = self.to_ask[bank].front()
            && self.blocks.there_from(read.instruction) <= i
        {
            match self.places[read.block] {
                Some(Place::At(_)) => {}
                Some(Place::Own) if read.instruction <= i => {}
                Some(Place::Own) => break,
                None => match self.place(read.block, i) {
                    Some(place) => self.lay(read.block, place, i),
                    None => {
                        self.look[bank] = i + UNTIL_LOOKED;
                        break;
                    }
                },
            }
            self.to_ask[bank].pop_front();
            self.ask(read, bank);
        }
    }

    fn ask(&mut self, read: Read, bank: usize) {
        let begun = self.now.max(self.free[bank]);
        let done = begun + read.op.flow().size * self.pace.beats;
        self.free[bank] = done;
        self.under_way.push_back((read.block, done + self.pace.latency));
        self.done.push((self.moved(&read.op, read.block), read.instruction));
    }

    fn push(&mut self, op: Op, i: usize) {
        self.now += work(&op);
        while self.under_way.front().is_some_and(|&(_, done)| done <= self.now) {
            self.under_way.pop_front();
        }
        self.done.push((op, i));
    }

    /// Places a block at `place`, starting at instruction `i`.
    fn lay(&mut self, block: usize, place: u64, i: usize) {
        let Block { until, .. } = self.blocks.list[block];
        self.lying.retain(|other| other.block != block && other.until >= i);
        self.lying.push(Lying { block, addresses: place..place + self.blocks.list[block].size(), until });
        self.places[block] = Some(Place::At(place));
    }

    /// Returns the first free address for a block, starting at instruction `i`.
    fn place(&self, wanted: usize, i: usize) -> Option<u64> {
        let Block { addresses, until, .. } = &self.blocks.list[wanted];
        let within = match self.room {
            Room::Own => addresses,
            Room::Within(arena) => arena,
        };
        let size = addresses.end - addresses.start;
        let mut place = within.start;
        for range in self.taken(wanted, i, *until) {
            if place + size <= range.start {
                break;
            }
            place = place.max(range.end);
        }
        (place + size <= within.end).then_some(place)
    }

    /// Returns the address ranges that other blocks occupy until instruction `until`, sorted by
    /// address.
    fn taken(&self, wanted: usize, i: usize, until: usize) -> Vec<&Range<u64>> {
        let lying = self.lying.iter().filter(|other| other.block != wanted && other.until >= i);
        let to_come = self.blocks.list.iter().enumerate().skip(self.to_come);
        let to_come = to_come.take_while(|(_, other)| other.from <= until);
        let to_come = to_come.filter(|&(other, _)| other != wanted && self.places[other].is_none());
        let lying = lying.map(|other| &other.addresses);
        let mut taken: Vec<&Range<u64>> = lying.chain(to_come.map(|(_, other)| &other.addresses)).collect();
        taken.sort_unstable_by_key(|range| range.start);
        taken
    }

    /// Returns the instruction with its local-memory address adjusted to the block's placement.
    fn moved(&self, op: &Op, block: usize) -> Op {
        let from = self.blocks.list[block].addresses.start;
        match self.places[block] {
            Some(Place::At(to)) => displaced(op, from, to),
            Some(Place::Own) | None => *op,
        }
    }
}

/// Returns the instruction with its local-memory operand moved from `from` to `to`.
fn displaced(op: &Op, from: u64, to: u64) -> Op {
    let mut op = *op;
    if let Op::DataMove { local, .. }
    | Op::LoadWeights { local, .. }
    | Op::MatMul { local, .. }
    | Op::LoadLut { local, .. } = &mut op
    {
        local.address = local.address - from + to;
    }
    op
}

/// Returns the cycles that an instruction takes on the array's side.
fn work(op: &Op) -> u64 {
    let flow = op.flow();
    match (flow.path, flow.bank()) {
        (Path::Array | Path::Alus(_), _) | (Path::Copy, None) => flow.size,
        _ => 0,
    }
}

fn pieces(op: &Op) -> impl Iterator<Item = Op> + use<> {
    let (op, size) = (*op, op.flow().size);
    (0..size).step_by(PIECE as usize).map(move |first| match op {
        Op::DataMove { kind, local, other, .. } => {
            let size = PIECE.min(size - first);
            Op::DataMove { kind, local: local.from(first), other: other.from(first), size }
        }
        other => other,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::isa::op::{DataMoveKind, Memory, Strided};
    use crate::lower::issue::symbolic::{LOCAL, Symbolic, programs};

    const fn run(address: u64) -> Strided {
        Strided { address, stride_log2: 0 }
    }

    const fn read(local: u64, size: u64) -> Op {
        Op::DataMove { kind: DataMoveKind::Dram1ToLocal, local: run(local), other: run(0), size }
    }

    const fn product(local: u64, size: u64) -> Op {
        let (accumulate, zeroes, accumulator) = (false, false, run(0));
        Op::MatMul { accumulate, zeroes, local: run(local), accumulator, size }
    }

    const PACE: Pace = Pace { beats: 2, latency: 5, lead: 0 };

    fn within(ops: &[Op], arena: Range<u64>, pace: Pace) -> Vec<Op> {
        let ahead = ahead(ops, Room::Within(&arena), [pace]).next().expect("nothing changes the unit");
        ahead.into_iter().map(|(op, _)| op).collect()
    }

    #[test]
    fn a_read_passes_work_and_lies_where_there_is_room() {
        let ops = [product(0, 30), product(0, 30), read(40, 8), product(40, 8)];
        let moved = [read(30, 8), product(0, 30), product(0, 30), product(30, 8)];
        assert_eq!(within(&ops, 0..60, PACE), moved);
        // Without free memory, the read keeps its position.
        assert_eq!(within(&ops, 0..37, PACE), ops);
        let own = ahead(&ops, Room::Own, [PACE]).next().expect("nothing changes the unit");
        assert_eq!(own, [(ops[2], 2), (ops[0], 0), (ops[1], 1), (ops[3], 3)]);
    }

    /// Three products of 30 vectors; the first read occupies its bank for 40 cycles, in which one
    /// product ends and the next begins.
    #[test]
    fn a_read_is_asked_for_when_its_bank_is_free() {
        let ops = [
            product(0, 30),
            product(0, 30),
            product(0, 30),
            read(30, 20),
            read(60, 8),
            product(30, 20),
            product(60, 8),
        ];
        let [a, b, c, first, second, d, e] = ops;
        let own = |pace| {
            let ahead = ahead(&ops, Room::Own, [pace]).next().expect("nothing changes the unit");
            ahead.into_iter().map(|(op, _)| op).collect::<Vec<Op>>()
        };
        assert_eq!(own(PACE), [first, a, b, second, c, d, e]);
        assert_eq!(own(Pace { lead: 40, ..PACE }), [first, second, a, b, c, d, e]);
    }

    #[test]
    fn long_reads_come_in_pieces_and_registers_stop_all() {
        let whole = [read(10, 150), product(10, 150)];
        let parts = within(&whole, 0..200, PACE);
        let sizes: Vec<u64> = parts.iter().map(|op| op.flow().size).collect();
        assert_eq!(sizes, [64, 64, 22, 150]);
        let offset = Op::Configure { register: 0, value: 1 };
        assert_eq!(ahead(&[offset, whole[0], whole[1]], Room::Own, [PACE]).next(), None);
    }

    proptest! {
        /// With any reads hoisted, all other instructions keep their order and find the same data.
        /// DRAM and accumulators end with the same contents. Moved data stays in the arena, which
        /// is otherwise unused before and after.
        #[test]
        fn all_others_find_the_same(
            ops in programs(),
            is_within: bool,
            (beats, latency, lead) in (1..9_u64, 0..40_u64, 0..40_u64),
        ) {
            let arena = LOCAL..LOCAL + 20;
            let room = if is_within { Room::Within(&arena) } else { Room::Own };
            let ordered = ahead(&ops, room, [Pace { beats, latency, lead }]).next().expect("nothing changes the unit");
            let (mut before, mut after) = (Symbolic::default(), Symbolic::default());
            let found: Vec<u64> = ops.iter().filter_map(|op| Some(before.run(op)).filter(|_| !op.is_read_of_dram())).collect();
            let others = ordered.iter().filter_map(|(op, _)| Some(after.run(op)).filter(|_| !op.is_read_of_dram()));
            prop_assert_eq!(others.collect::<Vec<u64>>(), found);
            prop_assert_eq!(after.written(Some(Memory::Local)), before.written(Some(Memory::Local)));
            for (op, place) in ordered {
                let (Some(to), Some(from)) = (op.flow().written(Memory::Local), ops[place].flow().written(Memory::Local)) else {
                    continue;
                };
                let last = to.address + ((op.flow().size - 1) << to.stride_log2);
                let own = (from.address..from.address + (ops[place].flow().size << from.stride_log2)).contains(&to.address);
                prop_assert!(own || (arena.contains(&to.address) && arena.contains(&last)), "{op:?} of {:?}", ops[place]);
            }
        }
    }
}
