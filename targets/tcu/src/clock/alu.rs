//! The ALUs of the accumulators: [`Alu`].

use super::queue::{Cycle, NEVER};
use crate::op::{SimdOp, SimdSub};

/// Two cycles of pipeline, then a queue of two.
#[derive(Clone, Debug, Default)]
pub(super) struct Alu {
    /// When the last operations started and their results left.
    started: [Cycle; 4],
    left: [Cycle; 4],
}

impl Alu {
    /// When an operation can start that is offered from `offered` on.
    pub(super) fn start(&self, offered: Cycle) -> Cycle {
        if offered >= NEVER {
            return NEVER;
        }
        let mut at = offered.max(self.started[3] + 1);
        // Results enter the queue two cycles after their start and are counted from the third on.
        while (0..4).filter(|&i| self.started[i] + 3 <= at && self.left[i] >= at).count() > 1 {
            if self.left[2] >= NEVER {
                return NEVER;
            }
            at += 1;
        }
        at
    }

    /// When the last operation started.
    pub(super) const fn last_start(&self) -> Cycle {
        self.started[3]
    }

    /// An operation started, and its result left.
    pub(super) fn record(&mut self, started: Cycle, left: Cycle) {
        self.started.rotate_left(1);
        self.left.rotate_left(1);
        self.started[3] = started;
        self.left[3] = left;
    }
}

/// Whether the ALUs wait for a datum. Hardware means to except unary operations on a register, but
/// its test for them is never true.
pub(super) fn needs_input(sub: SimdSub) -> bool {
    !matches!(sub.op, SimdOp::NoOp | SimdOp::Zero) && (sub.left == 0 || sub.right == 0)
}
