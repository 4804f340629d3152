//! What steps read and write: [`AddressRun`], [`Accessed`], [`Scalar`] and [`Operand`].

/// Addresses of a memory: `count` of them, `stride` apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AddressRun {
    /// Place of the memory in [`Outline::memories`](crate::Outline::memories).
    pub memory: usize,
    /// The first address.
    pub first: u64,
    /// How many.
    pub count: u64,
    /// From one to the next.
    pub stride: u64,
}

impl AddressRun {
    /// Addresses one after the other.
    pub const fn dense(memory: usize, first: u64, count: u64) -> Self {
        Self { memory, first, count, stride: 1 }
    }

    /// Which of its addresses `address` of its own memory is.
    pub fn place(&self, address: u64) -> Option<u64> {
        let ahead = address.checked_sub(self.first)?;
        let place = match self.stride {
            0 => (ahead == 0).then_some(0)?,
            stride => ahead.is_multiple_of(stride).then_some(ahead / stride)?,
        };
        (place < self.count).then_some(place)
    }

    /// Its address number `place`.
    pub const fn at(&self, place: u64) -> u64 {
        self.first.wrapping_add(place.wrapping_mul(self.stride))
    }

    /// Whether one of its addresses is among `start .. end` of a memory.
    pub fn meets(&self, memory: usize, start: u64, end: u64) -> bool {
        if self.memory != memory || self.count == 0 || start >= end {
            return false;
        }
        let ahead = start.saturating_sub(self.first);
        let place = if self.stride == 0 { 0 } else { ahead.div_ceil(self.stride) };
        place < self.count && (start..end).contains(&self.at(place))
    }
}

/// Addresses that a step reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accessed {
    /// Which.
    pub run: AddressRun,
    /// Whether they are written.
    pub is_write: bool,
}

impl Accessed {
    /// Addresses that are read.
    pub const fn read(run: AddressRun) -> Self {
        Self { run, is_write: false }
    }

    /// Addresses that are written.
    pub const fn write(run: AddressRun) -> Self {
        Self { run, is_write: true }
    }
}

/// A number in a memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Scalar {
    /// Place of the memory in [`Outline::memories`](crate::Outline::memories).
    pub memory: usize,
    /// Its address.
    pub address: u64,
    /// Which of the numbers there.
    pub lane: usize,
}

/// What a number was computed from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operand {
    /// What it is to the instruction, in a word or two.
    pub role: &'static str,
    /// Where it lies.
    pub run: AddressRun,
    /// Which of the numbers of each address; none for all of them.
    pub lane: Option<usize>,
    /// Steps that were done when it became what the step uses, where the step uses what it was earlier; none for what it is
    /// before the step.
    pub since: Option<usize>,
}

impl Operand {
    /// What addresses hold before the step.
    pub const fn new(role: &'static str, run: AddressRun, lane: Option<usize>) -> Self {
        Self { role, run, lane, since: None }
    }
}

/// What a step reads, as operands.
pub fn read_operands(accesses: Vec<Accessed>) -> Vec<Operand> {
    let reads = accesses.into_iter().filter(|accessed| !accessed.is_write);
    reads.map(|accessed| Operand::new("read", accessed.run, None)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Judged by going through all addresses.
    #[test]
    fn runs_know_their_addresses() {
        for (first, count, stride) in [(7, 3, 4), (0, 1, 1), (5, 0, 1), (3, 4, 1), (9, 1, 0), (2, 5, 8)] {
            let run = AddressRun { memory: 1, first, count, stride };
            let all: Vec<u64> = (0..count).map(|place| first + place * stride).collect();
            for start in 0..50 {
                assert_eq!(run.place(start), all.iter().position(|&a| a == start).map(|p| p as u64));
                for end in start..50 {
                    let meets = all.iter().any(|address| (start..end).contains(address));
                    assert_eq!(run.meets(1, start, end), meets, "{run:?} {start}..{end}");
                    assert!(!run.meets(0, start, end));
                }
            }
        }
    }
}
