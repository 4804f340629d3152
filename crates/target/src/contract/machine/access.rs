//! Memory accesses of steps: [`AddressRun`], [`Accessed`], [`Scalar`] and [`Operand`].

/// `count` addresses of a memory, `stride` apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AddressRun {
    /// Index of the memory in [`Outline::memories`](crate::Outline::memories).
    pub memory: usize,
    /// First address of the run.
    pub first: u64,
    /// Number of addresses.
    pub count: u64,
    /// Distance between consecutive addresses.
    pub stride: u64,
}

impl AddressRun {
    /// Creates a run of consecutive addresses.
    pub const fn dense(memory: usize, first: u64, count: u64) -> Self {
        Self { memory, first, count, stride: 1 }
    }

    /// Returns the index of `address` within the run; `None` if it is not part of the run.
    pub fn place(&self, address: u64) -> Option<u64> {
        let ahead = address.checked_sub(self.first)?;
        let place = match self.stride {
            0 => (ahead == 0).then_some(0)?,
            stride => ahead.is_multiple_of(stride).then_some(ahead / stride)?,
        };
        (place < self.count).then_some(place)
    }

    /// Returns the address with index `place`.
    pub const fn at(&self, place: u64) -> u64 {
        self.first.wrapping_add(place.wrapping_mul(self.stride))
    }

    /// Returns whether one of the addresses is in `start .. end` of a memory.
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
    /// Addresses of the access.
    pub run: AddressRun,
    /// Whether they are written.
    pub is_write: bool,
}

impl Accessed {
    /// Creates a read access.
    pub const fn read(run: AddressRun) -> Self {
        Self { run, is_write: false }
    }

    /// Creates a write access.
    pub const fn write(run: AddressRun) -> Self {
        Self { run, is_write: true }
    }
}

/// Location of one number in a memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Scalar {
    /// Index of the memory in [`Outline::memories`](crate::Outline::memories).
    pub memory: usize,
    /// Address of the number.
    pub address: u64,
    /// Index of the number at the address.
    pub lane: usize,
}

/// An operand from which a number was computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operand {
    /// Role of the operand in the instruction, in a word or two.
    pub role: &'static str,
    /// Addresses of the operand.
    pub run: AddressRun,
    /// Index of the number at each address; `None` for all numbers.
    pub lane: Option<usize>,
    /// Number of completed steps at which the operand got the value that the step uses, if the step
    /// uses an earlier value. `None` for the value directly before the step.
    pub since: Option<usize>,
}

impl Operand {
    /// Creates an operand whose value is the one directly before the step.
    pub const fn new(role: &'static str, run: AddressRun, lane: Option<usize>) -> Self {
        Self { role, run, lane, since: None }
    }
}

/// Returns everything that a step reads as operands.
pub fn read_operands(accesses: Vec<Accessed>) -> Vec<Operand> {
    let reads = accesses.into_iter().filter(|accessed| !accessed.is_write);
    reads.map(|accessed| Operand::new("read", accessed.run, None)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares with a loop over all addresses.
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
