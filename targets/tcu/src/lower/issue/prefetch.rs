//! Reads ahead: [`ahead`] asks for what a program reads of DRAM as early as its bank is free and there is room for it in
//! local memory.
//!
//! A unit with queues in front of local memory goes on past a read, and past products whose rows are still to enter, but its
//! decoder takes instructions in order: what is read has to be asked for early, and not so early that the decoder has to
//! wait for the bank. So the time of instructions is estimated on the way: each goes on when the work before it and the
//! reads it needs are done. A read goes where its bank becomes free, at the latest before the first instruction that needs
//! it. All others stay in their order, and find the same in local memory, so all values stay the same.

use std::collections::VecDeque;
use std::ops::Range;

use super::blocks::{Block, Blocks};
use crate::isa::op::{Op, Path};

/// Vectors of a read at most: what needs the first of them need not wait for the last.
const PIECE: u64 = 64;
/// Instructions after which room is looked for again where there was none.
const UNTIL_LOOKED: usize = 8;

/// How early reads are.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pace {
    /// Cycles of a vector on the bus.
    pub beats: u64,
    /// Until the first one is there.
    pub latency: u64,
    /// Cycles that a read may be asked for before its bank is free: it waits in the queues.
    pub lead: u64,
}

/// Where there is room for what is read.
#[derive(Clone, Copy, Debug)]
pub enum Room<'a> {
    /// In the place that it has.
    Own,
    /// Anywhere in a part of local memory, which nobody uses before the program or after it.
    Within(&'a Range<u64>),
}

/// The instructions in their new order at each pace, each with its place in the old one; none where a read may mean something
/// else elsewhere.
pub fn ahead<'a>(
    ops: &'a [Op],
    room: Room<'a>,
    paces: impl IntoIterator<Item = Pace, IntoIter: 'a>,
) -> impl Iterator<Item = Vec<(Op, usize)>> + 'a {
    // Registers move what DRAM addresses mean.
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

/// A read of DRAM, or a piece of it.
#[derive(Clone, Copy)]
struct Read {
    /// The instruction it comes from.
    instruction: usize,
    op: Op,
    /// The block that it fills.
    block: usize,
    /// The instruction that it may not come after.
    due: usize,
}

/// Where a block lies.
#[derive(Clone, Copy)]
enum Place {
    /// Where it does in the program, and when.
    Own,
    /// Where there is room for it from now on.
    At(u64),
}

/// A block that lies in local memory.
struct Lying {
    block: usize,
    addresses: Range<u64>,
    until: usize,
}

/// Instructions in their new order.
struct Schedule<'a> {
    blocks: &'a Blocks,
    room: Room<'a>,
    pace: Pace,
    /// Reads of each bank that are still to be asked for, in the order in which they are due.
    to_ask: [VecDeque<Read>; 2],
    /// Where each block that moves lies, once it has been asked for.
    places: Vec<Option<Place>>,
    lying: Vec<Lying>,
    /// The first block that has not been written where it lies in the program.
    to_come: usize,
    /// When the work so far is done.
    now: u64,
    /// When each bank is free.
    free: [u64; 2],
    /// From which instruction on room is looked for again.
    look: [usize; 2],
    /// Blocks that are being read, and when that is done.
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

    /// Blocks that the program writes up to here lie where they do in the program, if they lie nowhere else.
    fn enter_blocks(&mut self, i: usize) {
        while let Some(block) = self.blocks.list.get(self.to_come).filter(|block| block.from <= i) {
            if self.places[self.to_come].is_none() {
                let addresses = block.addresses.clone();
                self.lying.push(Lying { block: self.to_come, addresses, until: block.until });
            }
            self.to_come += 1;
        }
    }

    /// Asks for what is due. Until then a read's own place is free, once it is reached in the program.
    fn ask_in_time(&mut self, i: usize, bank: usize) {
        while let Some(&read) = self.to_ask[bank].front().filter(|read| read.due <= i) {
            self.to_ask[bank].pop_front();
            self.places[read.block].get_or_insert(Place::Own);
            self.ask(read, bank);
        }
    }

    /// Asks for what is due next while the bank is free and there is room.
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

    /// From here on a block lies at `place`.
    fn lay(&mut self, block: usize, place: u64, i: usize) {
        let Block { until, .. } = self.blocks.list[block];
        self.lying.retain(|other| other.block != block && other.until >= i);
        self.lying.push(Lying { block, addresses: place..place + self.blocks.list[block].size(), until });
        self.places[block] = Some(Place::At(place));
    }

    /// The first place that a block may have from here on.
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

    /// Where others lie, or come to lie until then, in the order of addresses.
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

    /// The instruction with its address in local memory where the block lies.
    fn moved(&self, op: &Op, block: usize) -> Op {
        let from = self.blocks.list[block].addresses.start;
        match self.places[block] {
            Some(Place::At(to)) => displaced(op, from, to),
            Some(Place::Own) | None => *op,
        }
    }
}

/// The instruction with its vectors of local memory at `to` in place of `from`.
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

/// Cycles of the array's side.
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
        // Where there is none it stays.
        assert_eq!(within(&ops, 0..37, PACE), ops);
        let own = ahead(&ops, Room::Own, [PACE]).next().expect("nothing changes the unit");
        assert_eq!(own, [(ops[2], 2), (ops[0], 0), (ops[1], 1), (ops[3], 3)]);
    }

    /// Three products of 30 vectors; the first read has its bank for 40 cycles, in which one ends and the next begins.
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
        /// Whatever is read ahead, all other instructions stay in their order and find the same, and DRAM and accumulators
        /// end as they did. What is moved lies in the arena, which nobody else may use before or after.
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
