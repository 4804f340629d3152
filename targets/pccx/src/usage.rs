//! Which words of L2 an instruction reads and writes: [`Use`].

use std::fmt;

use crate::op::{Cvo, CvoFunc, Device, Mac, Memcpy, Op};
use crate::state::words_of;
use crate::timing::Banks;

/// L2 words from one on, up to another; at least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Words {
    /// The first one.
    pub first: u64,
    /// The one after the last.
    pub end: u64,
}

impl Words {
    /// So many words from `first` on; none when there are none.
    pub fn new(first: u32, words: u64) -> Option<Self> {
        (words > 0).then(|| Self { first: first.into(), end: u64::from(first) + words })
    }

    /// The words of both.
    pub fn meeting(self, other: Self) -> Option<Self> {
        let both = Self { first: self.first.max(other.first), end: self.end.min(other.end) };
        (both.first < both.end).then_some(both)
    }
}

impl fmt::Display for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.end - self.first {
            1 => write!(f, "L2 word {:#x}", self.first),
            _ => write!(f, "L2 words {:#x} to {:#x}", self.first, self.end - 1),
        }
    }
}

/// Why two instructions that use the same words must keep their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conflict {
    /// The later reads what the earlier writes.
    ReadsWritten,
    /// The later writes what the earlier writes.
    WritesWritten,
    /// The later writes what the earlier reads.
    WritesRead,
}

/// What an instruction uses of L2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Use {
    /// What it reads, apart from what it adds to.
    pub reads: Option<Words>,
    /// What it writes.
    pub writes: Option<Words>,
}

impl Use {
    /// That of an instruction, with the constant banks as they are when it is issued.
    pub fn of(banks: &Banks, op: &Op) -> Self {
        match op {
            Op::Gemv(mac) | Op::Gemm(mac) => Self::of_product(banks, mac),
            Op::Cvo(cvo) => Self::of_function(cvo),
            Op::Memcpy(memcpy) => Self::of_transfer(banks, memcpy),
            Op::Memset(_) | Op::Kick | Op::Dropped(_) => Self::default(),
        }
    }

    fn of_product(banks: &Banks, mac: &Mac) -> Self {
        let (fmap, weight) = (banks.fmap(mac.shape_ptr_addr), banks.weight(mac.size_ptr_addr));
        let (m, n, k) = (usize::from(fmap.x), usize::from(weight.y), usize::from(fmap.z));
        Self {
            reads: Words::new(mac.src_addr, words_of(m * k)),
            writes: Words::new(mac.dest_reg, words_of(m * n)),
        }
    }

    fn of_function(cvo: &Cvo) -> Self {
        let length = usize::from(cvo.length);
        let scalar = u64::from(cvo.cvo_func == CvoFunc::Scale);
        let results = if cvo.cvo_func == CvoFunc::ReduceSum { length.min(1) } else { length };
        Self {
            reads: Words::new(cvo.src_addr, scalar + words_of(length)),
            writes: Words::new(cvo.dst_addr, words_of(results)),
        }
    }

    fn of_transfer(banks: &Banks, memcpy: &Memcpy) -> Self {
        let words = words_of(banks.fmap(memcpy.shape_ptr_addr).product() as usize);
        let at = |device, address| if device == Device::Npu { Words::new(address, words) } else { None };
        Self {
            reads: at(memcpy.from_device, memcpy.src_addr),
            writes: at(memcpy.to_device, memcpy.dest_addr),
        }
    }

    /// Why an instruction with the use `later` must wait for the one with this, and for which words.
    pub fn conflict(&self, later: &Self) -> Option<(Conflict, Words)> {
        let meet = |conflict, earlier: Option<Words>, later: Option<Words>| {
            Some((conflict, earlier?.meeting(later?)?))
        };
        meet(Conflict::ReadsWritten, self.writes, later.reads)
            .or_else(|| meet(Conflict::WritesWritten, self.writes, later.writes))
            .or_else(|| meet(Conflict::WritesRead, self.reads, later.writes))
    }
}
