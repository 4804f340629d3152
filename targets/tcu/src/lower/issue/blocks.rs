//! Blocks: contents of local memory with their lifetimes, from the first instruction that writes
//! them to the last that reads them.
//!
//! Vectors that one instruction reads together form one block, so that the block can be placed
//! elsewhere as a whole. A block is movable if all of it is read from DRAM, each vector once.

use std::collections::HashMap;
use std::ops::Range;

use crate::isa::op::{Memory, Op, Place};

/// A contiguous range of local memory with a lifetime.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Addresses of the block, in vectors.
    pub addresses: Range<u64>,
    /// Index of the first instruction that writes the block; 0 if its contents precede the program.
    pub from: usize,
    /// Index of the last instruction that reads or writes the block.
    pub until: usize,
    /// Whether the block is read from DRAM and may be placed elsewhere.
    pub moves: bool,
}

impl Block {
    /// Returns the size of the block in vectors.
    pub const fn size(&self) -> u64 {
        self.addresses.end - self.addresses.start
    }
}

/// All blocks of a program.
pub struct Blocks {
    /// Blocks in the order of their first instructions.
    pub list: Vec<Block>,
    read: Vec<Option<usize>>,
    written: Vec<Option<usize>>,
    windows: Vec<Window>,
}

impl Blocks {
    /// Finds the blocks of a program.
    pub fn of(ops: &[Op]) -> Self {
        let mut readers = Readers::of(ops);
        let windows = windows(ops);
        let mut list = readers.before();
        let mut numbers = vec![None; ops.len()];
        let mut written = vec![None; ops.len()];
        for (i, op) in ops.iter().enumerate() {
            let Some(addresses) = op.flow().written(Memory::Local).map(|run| run.span(op.flow().size)) else {
                continue;
            };
            let number = *numbers[readers.joined.root(i)].get_or_insert(list.len());
            written[i] = Some(number);
            match list.get_mut(number) {
                Some(block) => block.join(&addresses, i, op.is_read_of_dram()),
                None => list.push(Block { addresses, from: i, until: i, moves: op.is_read_of_dram() }),
            }
        }
        let mut read = vec![None; ops.len()];
        let mut is_read = vec![false; list.len()];
        for (i, writer) in readers.writers.iter().enumerate() {
            let Some(number) = writer.and_then(|writer| numbers[readers.joined.root(writer)]) else {
                continue;
            };
            read[i] = Some(number);
            is_read[number] = true;
            list[number].until = list[number].until.max(i);
            list[number].moves &= !readers.reads_before[i];
        }
        list.iter_mut().zip(is_read).for_each(|(block, is_read)| block.moves &= is_read);
        Self { list, read, written, windows }
    }

    /// Returns the block that an instruction reads.
    pub fn read_by(&self, instruction: usize) -> Option<usize> {
        self.read[instruction]
    }

    /// Returns the movable block that an instruction reads from DRAM.
    pub fn moved_by(&self, instruction: usize) -> Option<usize> {
        self.written[instruction].filter(|&block| self.list[block].moves)
    }

    /// Returns the first instruction position at which DRAM holds the data that `instruction` reads
    /// from it.
    pub fn there_from(&self, instruction: usize) -> usize {
        self.windows[instruction].there_from
    }

    /// Returns the instruction before which a DRAM read must be done at the latest. This is the
    /// first later instruction that accesses the read's destination or writes the read's source.
    /// The read itself may stay in place.
    pub fn due(&self, instruction: usize) -> usize {
        self.windows[instruction].due
    }
}

impl Block {
    /// Adds the addresses that another instruction writes. A second write to the same place makes
    /// the block immovable, as it must not precede the use of the first.
    fn join(&mut self, addresses: &Range<u64>, writer: usize, moves: bool) {
        let apart = addresses.end <= self.addresses.start || self.addresses.end <= addresses.start;
        self.moves &= moves && apart;
        self.addresses = self.addresses.start.min(addresses.start)..self.addresses.end.max(addresses.end);
        self.until = writer;
    }
}

/// Writers of the local-memory vectors that each instruction reads.
struct Readers {
    /// Writers joined because one instruction reads vectors of both.
    joined: Joined,
    /// For each instruction, one of the writers of its operands.
    writers: Vec<Option<usize>>,
    /// For each instruction, whether it also reads data from before the program.
    reads_before: Vec<bool>,
    /// For each address, the last instruction that reads data from before the program.
    last_before: Vec<Option<usize>>,
}

impl Readers {
    fn of(ops: &[Op]) -> Self {
        let depth = depth(ops);
        let mut readers = Self {
            joined: Joined((0..ops.len() as u32).collect()),
            writers: vec![None; ops.len()],
            reads_before: vec![false; ops.len()],
            last_before: vec![None; depth],
        };
        let mut last_writer = vec![None; depth];
        for (i, op) in ops.iter().enumerate() {
            let flow = op.flow();
            if let Some(run) = flow.read(Memory::Local) {
                run.addresses(flow.size)
                    .for_each(|at| readers.reads(i, at as usize, last_writer[at as usize]));
            }
            if let Some(run) = flow.written(Memory::Local) {
                run.addresses(flow.size).for_each(|at| last_writer[at as usize] = Some(i));
            }
        }
        readers
    }

    fn reads(&mut self, i: usize, address: usize, writer: Option<usize>) {
        match (writer, self.writers[i]) {
            (None, _) => {
                self.reads_before[i] = true;
                self.last_before[address] = Some(i);
            }
            (Some(writer), None) => self.writers[i] = Some(writer),
            (Some(writer), Some(other)) => self.joined.join(writer, other),
        }
    }

    /// Returns the blocks whose contents precede the program: adjacent addresses with the same last
    /// reader.
    fn before(&self) -> Vec<Block> {
        let mut list: Vec<Block> = Vec::new();
        for (address, until) in self.last_before.iter().enumerate() {
            let (Some(until), address) = (*until, address as u64) else { continue };
            match list.last_mut() {
                Some(last) if last.until == until && last.addresses.end == address => last.addresses.end += 1,
                _ => {
                    let addresses = address..address + 1;
                    list.push(Block { addresses, from: 0, until, moves: false });
                }
            }
        }
        list
    }
}

/// Range of positions in which an instruction may read DRAM.
#[derive(Clone, Copy)]
struct Window {
    there_from: usize,
    due: usize,
}

/// Returns the window of each instruction; only windows of DRAM reads are used.
fn windows(ops: &[Op]) -> Vec<Window> {
    let mut all = vec![Window { there_from: 0, due: ops.len() }; ops.len()];
    let mut writers: HashMap<(Memory, u64), usize> = HashMap::new();
    let forwards = ops.iter().enumerate();
    for (i, op) in forwards.clone() {
        let written = visit(op, &writers).map(|writer| writer + 1);
        all[i].there_from = written.max().unwrap_or(0); // Default: DRAM held it before the program.
        enter(i, op, &mut writers);
    }
    writers.clear();
    let mut touched = vec![ops.len(); depth(ops)];
    for (i, op) in forwards.rev() {
        let flow = op.flow();
        if op.is_read_of_dram() {
            let place = flow.written(Memory::Local).into_iter().flat_map(|run| run.addresses(flow.size));
            let used = place.map(|at| touched[at as usize]);
            all[i].due = used.chain(visit(op, &writers)).min().unwrap_or(ops.len()); // Default: never touched again.
        }
        enter(i, op, &mut writers);
        for run in [flow.read(Memory::Local), flow.written(Memory::Local)].into_iter().flatten() {
            run.addresses(flow.size).for_each(|at| touched[at as usize] = i);
        }
    }
    all
}

/// Returns the last writers in `writers` of the DRAM vectors that `op` reads.
fn visit(op: &Op, writers: &HashMap<(Memory, u64), usize>) -> impl Iterator<Item = usize> {
    let flow = op.flow();
    let source = flow.source.filter(|place| place.memory.bank().is_some());
    let vectors =
        source.into_iter().flat_map(move |place| place.run.addresses(flow.size).map(move |at| (place, at)));
    vectors.filter_map(|(Place { memory, .. }, at)| writers.get(&(memory, at)).copied())
}

fn enter(i: usize, op: &Op, writers: &mut HashMap<(Memory, u64), usize>) {
    let flow = op.flow();
    if let Some(Place { memory, run }) = flow.target.filter(|place| place.memory.bank().is_some()) {
        run.addresses(flow.size).for_each(|at| {
            writers.insert((memory, at), i);
        });
    }
}

/// Returns the number of local-memory vectors up to the last one touched.
fn depth(ops: &[Op]) -> usize {
    let spans = ops.iter().flat_map(|op| {
        let flow = op.flow();
        let runs = [flow.read(Memory::Local), flow.written(Memory::Local)];
        runs.into_iter().flatten().map(move |run| run.span(flow.size).end)
    });
    spans.max().unwrap_or(0) as usize // Default: no vector is touched.
}

/// Disjoint sets of instructions (union-find); each set is represented by its first instruction.
struct Joined(Vec<u32>);

impl Joined {
    fn root(&mut self, mut i: usize) -> usize {
        while self.0[i] as usize != i {
            self.0[i] = self.0[self.0[i] as usize];
            i = self.0[i] as usize;
        }
        i
    }

    fn join(&mut self, one: usize, other: usize) {
        let (one, other) = (self.root(one), self.root(other));
        self.0[one.max(other)] = one.min(other) as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::op::{DataMoveKind, Strided};

    const fn at(address: u64) -> Strided {
        Strided { address, stride_log2: 0 }
    }

    const fn transfer(kind: DataMoveKind, local: u64, other: u64, size: u64) -> Op {
        Op::DataMove { kind, local: at(local), other: at(other), size }
    }

    const fn product(local: u64, size: u64) -> Op {
        let (accumulate, zeroes, accumulator) = (false, false, at(0));
        Op::MatMul { accumulate, zeroes, local: at(local), accumulator, size }
    }

    fn block(addresses: Range<u64>, [from, until]: [usize; 2], moves: bool) -> Block {
        Block { addresses, from, until, moves }
    }

    use DataMoveKind::{AccumulatorToLocal, Dram0ToLocal, Dram1ToLocal, LocalToDram0};

    #[test]
    fn what_is_read_together_is_one_block() {
        let ops = [
            transfer(Dram1ToLocal, 10, 0, 4),
            transfer(Dram1ToLocal, 14, 7, 4),
            transfer(Dram0ToLocal, 30, 0, 2),
            product(12, 4),
            product(31, 1),
            product(10, 1),
        ];
        let blocks = Blocks::of(&ops);
        assert_eq!(blocks.list, [block(10..18, [0, 5], true), block(30..32, [2, 4], true)]);
        assert_eq!([0, 1, 2, 3].map(|i| blocks.moved_by(i)), [Some(0), Some(0), Some(1), None]);
        assert_eq!([2, 3, 4, 5].map(|i| blocks.read_by(i)), [None, Some(0), Some(1), Some(0)]);
    }

    #[test]
    fn what_is_not_of_dram_alone_stays() {
        let ops = [
            transfer(Dram1ToLocal, 10, 0, 2),
            transfer(AccumulatorToLocal, 12, 0, 2),
            product(10, 4),
            product(40, 2),
            transfer(Dram1ToLocal, 41, 0, 1),
            product(40, 2),
            transfer(Dram1ToLocal, 60, 0, 1),
        ];
        let blocks = Blocks::of(&ops);
        let before = [block(40..41, [0, 5], false), block(41..42, [0, 3], false)];
        let written =
            [block(10..14, [0, 2], false), block(41..42, [4, 5], false), block(60..61, [6, 6], false)];
        assert_eq!(blocks.list, [&before[..], &written].concat());
    }

    #[test]
    fn a_read_waits_for_dram_and_is_due_before_anything_changes() {
        let ops = [
            transfer(LocalToDram0, 0, 5, 2),
            transfer(Dram0ToLocal, 10, 6, 2),
            transfer(Dram0ToLocal, 20, 8, 2),
            transfer(Dram0ToLocal, 30, 12, 2),
            transfer(LocalToDram0, 0, 9, 2),
            product(11, 2),
            transfer(AccumulatorToLocal, 31, 0, 1),
            product(20, 2),
            product(30, 1),
        ];
        let blocks = Blocks::of(&ops);
        assert_eq!([1, 2, 3].map(|i| blocks.there_from(i)), [1, 0, 0]);
        assert_eq!([1, 2, 3].map(|i| blocks.due(i)), [5, 4, 6]);
    }

    /// A second read into the same vectors may not come before the first is used.
    #[test]
    fn what_is_loaded_twice_into_one_place_and_read_with_the_same_stays() {
        let load = |local| transfer(Dram1ToLocal, local, 0, 1);
        let ops = [load(0), load(1), product(0, 2), load(1), product(0, 2)];
        assert_eq!(Blocks::of(&ops).list, [block(0..2, [0, 4], false)]);
    }
}
