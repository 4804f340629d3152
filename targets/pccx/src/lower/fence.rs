//! Decides which transfers and functions must be synchronous: [`fence`].

use std::collections::BTreeMap;

use crate::isa::op::{Banks, Engine, Op};
use crate::isa::usage::{Use, Words};
use crate::program::HostOp;

/// Removes `async` from instructions whose L2 words a later one accesses before a synchronous
/// instruction of the same engine, or the host, has waited for them (specification 3.5).
pub fn fence(ops: &mut [Op], host_ops: &[HostOp]) {
    let mut banks = Banks::default();
    let mut uses = Vec::with_capacity(ops.len());
    for op in ops.iter() {
        uses.push(Use::of(&banks, op));
        banks.step(op);
    }
    let mut syncs: Vec<usize> = host_ops.iter().map(|op| op.position as usize).collect();
    syncs.dedup();
    // The loop goes backwards, so that the next use of each word and engine is known.
    let mut later = Later::default();
    for index in (0..ops.len()).rev() {
        if is_async(&ops[index]) {
            let next = syncs.partition_point(|&sync| sync <= index);
            // Default: after the last host step, the end of the program waits.
            let end = syncs.get(next).copied().unwrap_or(ops.len()).min(ops.len());
            // The nearest event decides. If one instruction both conflicts and waits, the conflict
            // takes precedence.
            let waits = later.waits.get(&ops[index].engine()).map_or(end, |&wait| end.min(wait + 1));
            if later.touches_before(&uses[index], waits) {
                synchronise(&mut ops[index]);
            }
        }
        later.add(index, &ops[index], &uses[index]);
    }
}

/// Later instructions that are relevant to an instruction.
#[derive(Default)]
struct Later {
    reads: Nearest,
    writes: Nearest,
    /// Next synchronous instruction of each engine.
    waits: BTreeMap<Engine, usize>,
}

impl Later {
    /// Adds the instruction that precedes all recorded instructions.
    fn add(&mut self, index: usize, op: &Op, of: &Use) {
        of.reads.iter().flatten().for_each(|&words| self.reads.put(words, index));
        of.writes.iter().for_each(|&words| self.writes.put(words, index));
        if !is_async(op) {
            self.waits.insert(op.engine(), index);
        }
    }

    /// Whether an instruction before `end` conflicts ([`Use::conflict`]) with an earlier one.
    fn touches_before(&self, first: &Use, end: usize) -> bool {
        let written = first.writes.iter();
        written.clone().any(|&words| self.reads.has_before(words, end))
            || written.chain(first.reads.iter().flatten()).any(|&words| self.writes.has_before(words, end))
    }
}

/// Nearest instruction that uses each word: disjoint ranges, with the first word as key and the end
/// as value.
#[derive(Default)]
struct Nearest(BTreeMap<u64, (u64, usize)>);

impl Nearest {
    /// Adds an instruction that is nearer than all recorded instructions.
    fn put(&mut self, Words { first, end }: Words, index: usize) {
        self.cut(first);
        self.cut(end);
        while let Some((&start, _)) = self.0.range(first..end).next() {
            self.0.remove(&start);
        }
        self.0.insert(first, (end, index));
    }

    /// Splits the range that contains `word`, so that one begins there.
    fn cut(&mut self, word: u64) {
        if let Some((_, old)) = self.0.range_mut(..word).next_back()
            && old.0 > word
        {
            let rest = *old;
            old.0 = word;
            self.0.insert(word, rest);
        }
    }

    /// Whether an instruction before `limit` uses one of the words.
    fn has_before(&self, Words { first, end }: Words, limit: usize) -> bool {
        let reaches = self.0.range(..first).next_back().filter(|(_, range)| range.0 > first);
        let within = self.0.range(first..end);
        reaches.into_iter().chain(within).any(|(_, &(_, index))| index < limit)
    }
}

const fn is_async(op: &Op) -> bool {
    match op {
        Op::Memcpy(memcpy) => memcpy.is_async,
        Op::Cvo(cvo) => cvo.is_async,
        _ => false,
    }
}

const fn synchronise(op: &mut Op) {
    match op {
        Op::Memcpy(memcpy) => memcpy.is_async = false,
        Op::Cvo(cvo) => cvo.is_async = false,
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::isa::op::{Cvo, Device, Memcpy, Memset, Shape};

    /// Returns a load of eight words from the host.
    fn load(word: u32) -> Op {
        let load = Memcpy { from_device: Device::Host, dest_addr: word, is_async: true, ..Memcpy::default() };
        Op::Memcpy(load)
    }

    /// Returns a function of eight values, in place.
    fn function(word: u32) -> Op {
        Op::Cvo(Cvo { src_addr: word, dst_addr: word, length: 8, is_async: true, ..Cvo::default() })
    }

    fn sync(mut op: Op) -> Op {
        synchronise(&mut op);
        op
    }

    /// Returns the instructions after a MEMSET as [`fence`] changes them; `hosts` are the positions
    /// of host steps.
    fn fenced(ops: &[Op], hosts: &[u32]) -> Vec<Op> {
        let shape = Op::Memset(Memset { shape: Shape::new(1, 1, 64), ..Memset::default() });
        let mut all: Vec<Op> = [shape].into_iter().chain(ops.iter().copied()).collect();
        let host_ops: Vec<HostOp> =
            hosts.iter().map(|at| HostOp { position: at + 1, kind: 0, operands: Vec::new() }).collect();
        fence(&mut all, &host_ops);
        all.split_off(1)
    }

    /// Like [`fence`], but compares all pairs of instructions.
    fn fence_one_by_one(ops: &mut [Op], host_ops: &[HostOp]) {
        let mut banks = Banks::default();
        let mut uses = Vec::new();
        for op in ops.iter() {
            uses.push(Use::of(&banks, op));
            banks.step(op);
        }
        for index in (0..ops.len()).rev() {
            let syncs = host_ops.iter().map(|op| op.position as usize);
            let end = syncs.filter(|&sync| sync > index).min().unwrap_or(ops.len()).min(ops.len());
            let own = ops[index].engine();
            let mut later = (index + 1..end).map(|later| {
                let touches = uses[index].conflict(&uses[later]).is_some();
                (touches, ops[later].engine() == own && !is_async(&ops[later]))
            });
            let waited = later.find(|(touches, fences)| *touches || *fences);
            if waited.is_some_and(|(touches, _)| touches) {
                synchronise(&mut ops[index]);
            }
        }
    }

    proptest! {
        #[test]
        fn as_one_instruction_after_the_other(
            ops in prop::collection::vec((0u32..40, 0u32..40, any::<bool>(), any::<bool>()), 1..60),
            hosts in prop::collection::vec(0u32..60, 0..4),
        ) {
            let shape = Op::Memset(Memset { shape: Shape::new(1, 1, 64), ..Memset::default() });
            let one = |(source, place, is_load, is_async): (u32, u32, bool, bool)| match (is_load, load(place)) {
                (true, Op::Memcpy(load)) => Op::Memcpy(Memcpy { is_async, ..load }),
                _ => Op::Cvo(Cvo { src_addr: source, dst_addr: place, length: 24, is_async, ..Cvo::default() }),
            };
            let mut all: Vec<Op> = [shape].into_iter().chain(ops.into_iter().map(one)).collect();
            let mut hosts = hosts;
            hosts.sort_unstable();
            let hosts: Vec<HostOp> =
                hosts.into_iter().map(|position| HostOp { position, kind: 0, operands: Vec::new() }).collect();
            let mut expected = all.clone();
            fence_one_by_one(&mut expected, &hosts);
            fence(&mut all, &hosts);
            prop_assert_eq!(all, expected);
        }
    }

    #[test]
    fn only_what_is_waited_for_is_synchronous() {
        let (near, far) = (function(107), function(108));
        for (ops, hosts, expected) in [
            // An instruction waits neither for itself nor for unrelated words.
            (vec![near, Op::Kick], vec![], vec![near, Op::Kick]),
            (vec![load(100), far], vec![], vec![load(100), far]),
            (vec![load(100), near], vec![], vec![sync(load(100)), near]),
            (vec![load(100), Op::Kick, near], vec![], vec![sync(load(100)), Op::Kick, near]),
            // A wait of the host is sufficient directly before or after the load, but not
            // elsewhere.
            (vec![load(100), near], vec![1], vec![load(100), near]),
            (vec![load(100), near], vec![0], vec![sync(load(100)), near]),
            (vec![load(100), near], vec![2], vec![sync(load(100)), near]),
            // A synchronous instruction of the same engine also waits for the load. An instruction
            // of another engine does not.
            (vec![load(100), sync(load(0)), near], vec![], vec![load(100), sync(load(0)), near]),
            (
                vec![load(100), sync(function(0)), near],
                vec![],
                vec![sync(load(100)), sync(function(0)), near],
            ),
            (vec![load(100), load(0), near], vec![], vec![sync(load(100)), load(0), near]),
            // If several asynchronous instructions precede, only the last must be synchronous.
            (vec![load(100), load(104), near], vec![], vec![sync(load(100)), sync(load(104)), near]),
            (
                vec![load(92), load(100), near, function(92)],
                vec![],
                vec![load(92), sync(load(100)), near, function(92)],
            ),
        ] {
            assert_eq!(fenced(&ops, &hosts), expected, "{ops:?} {hosts:?}");
        }
    }
}
