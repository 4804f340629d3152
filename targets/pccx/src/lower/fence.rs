//! Which transfers and functions the next instruction has to wait for: [`fence`].

use crate::op::{Banks, Op};
use crate::program::HostOp;
use crate::usage::Use;

/// Takes `async` off instructions whose L2 words a later one touches before anything else waits for them: a
/// synchronous instruction of their engine, or the host (specification 3.5).
pub fn fence(ops: &mut [Op], host_ops: &[HostOp]) {
    let mut banks = Banks::default();
    let mut uses = Vec::with_capacity(ops.len());
    for op in ops.iter() {
        uses.push(Use::of(&banks, op));
        banks.step(op);
    }
    let mut syncs: Vec<usize> = host_ops.iter().map(|op| op.position as usize).collect();
    syncs.dedup();
    for index in (0..ops.len()).rev() {
        let next = syncs.partition_point(|&sync| sync <= index);
        // Default: after the last host step the program's end waits.
        let end = syncs.get(next).copied().unwrap_or(ops.len()).min(ops.len());
        let own = ops[index].engine();
        let mut later = (index + 1..end).map(|later| {
            let touches = uses[index].conflict(&uses[later]).is_some();
            (touches, ops[later].engine() == own && !is_async(&ops[later]))
        });
        // The first that matters decides.
        let waited = later.find(|(touches, fences)| *touches || *fences);
        if waited.is_some_and(|(touches, _)| touches) {
            synchronise(&mut ops[index]);
        }
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
    use super::*;
    use crate::op::{Cvo, Device, Memcpy, Memset, Shape};

    /// Eight words, from the host.
    fn load(word: u32) -> Op {
        let load = Memcpy { from_device: Device::Host, dest_addr: word, is_async: true, ..Memcpy::default() };
        Op::Memcpy(load)
    }

    /// Of eight values, in place.
    fn function(word: u32) -> Op {
        Op::Cvo(Cvo { src_addr: word, dst_addr: word, length: 8, is_async: true, ..Cvo::default() })
    }

    fn sync(mut op: Op) -> Op {
        synchronise(&mut op);
        op
    }

    /// What becomes of instructions after a MEMSET, with the host at work before some of them.
    fn fenced(ops: &[Op], hosts: &[u32]) -> Vec<Op> {
        let shape = Op::Memset(Memset { shape: Shape::new(1, 1, 64), ..Memset::default() });
        let mut all: Vec<Op> = [shape].into_iter().chain(ops.iter().copied()).collect();
        let host_ops: Vec<HostOp> =
            hosts.iter().map(|at| HostOp { position: at + 1, kind: 0, operands: Vec::new() }).collect();
        fence(&mut all, &host_ops);
        all.split_off(1)
    }

    #[test]
    fn only_what_is_waited_for_is_synchronous() {
        let (near, far) = (function(107), function(108));
        for (ops, hosts, expected) in [
            // An instruction does not wait for itself, nor for others' words.
            (vec![near, Op::Kick], vec![], vec![near, Op::Kick]),
            (vec![load(100), far], vec![], vec![load(100), far]),
            (vec![load(100), near], vec![], vec![sync(load(100)), near]),
            (vec![load(100), Op::Kick, near], vec![], vec![sync(load(100)), Op::Kick, near]),
            // The host waits, before or after it but not elsewhere.
            (vec![load(100), near], vec![1], vec![load(100), near]),
            (vec![load(100), near], vec![0], vec![sync(load(100)), near]),
            (vec![load(100), near], vec![2], vec![sync(load(100)), near]),
            // A synchronous one of the same engine waits for it too; one of another does not.
            (vec![load(100), sync(load(0)), near], vec![], vec![load(100), sync(load(0)), near]),
            (
                vec![load(100), sync(function(0)), near],
                vec![],
                vec![sync(load(100)), sync(function(0)), near],
            ),
            (vec![load(100), load(0), near], vec![], vec![sync(load(100)), load(0), near]),
            // The last of several fences for all.
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
