//! Which transfers and functions the next instruction has to wait for: [`fence`].

use crate::op::Op;
use crate::program::HostOp;
use crate::timing::{Banks, engine};
use crate::usage::Use;

/// Takes `async` off instructions whose L2 words a later one touches before anything else waits for them: a
/// synchronous instruction of their engine, or the host (specification 3.5).
pub(super) fn fence(ops: &mut [Op], host_ops: &[HostOp]) {
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
        let end = syncs.get(next).copied().unwrap_or(ops.len()).min(ops.len());
        let own = engine(&ops[index]);
        let mut later = (index + 1..end).map(|later| {
            let touches = uses[index].conflict(&uses[later]).is_some();
            (touches, engine(&ops[later]) == own && !is_async(&ops[later]))
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
