//! [`Known`]: memory contents that drivers write before a run.

use std::collections::BTreeSet;

use super::stored::Stored;
use crate::isa::op::WORD_BYTES;
use crate::program::Program;

/// Bytes that drivers write: words and segments once, inputs before every run.
pub(super) struct Known {
    fixed: Vec<Fixed>,
    inputs: Stored,
}

/// Bytes that are written once and must be unchanged at every run.
struct Fixed {
    what: String,
    first: u64,
    end: u64,
    /// Ranges that were read so far; the program's words are considered read.
    read: BTreeSet<(u64, u64)>,
}

impl Known {
    /// Collects the bytes that a program's files define. Also returns a message for each input that
    /// overlaps something.
    pub fn new(program: &Program) -> (Self, Vec<String>) {
        let words = (program.instructions.len() * WORD_BYTES) as u64;
        let mut own = Fixed::new("the program's words".to_owned(), program.address.into(), words);
        own.read.insert((own.first, own.end));
        let mut fixed = vec![own];
        for (index, segment) in program.segments.iter().enumerate() {
            let bytes = segment.bytes.len() as u64;
            fixed.push(Fixed::new(format!("segment {index}"), segment.address.into(), bytes));
        }
        let mut known = Self { fixed, inputs: Stored::default() };
        let overlaps = known.add_inputs(program);
        (known, overlaps)
    }

    fn add_inputs(&mut self, program: &Program) -> Vec<String> {
        let size = program.config.types.itype.size_bytes();
        let mut overlaps = Vec::new();
        for (index, input) in program.inputs.iter().enumerate() {
            let mut over = None;
            for (address, group) in input.planes.runs(size) {
                let bytes = (group.written() * size).into();
                let fixed = self.fixed.iter().find(|fixed| fixed.meets(address, bytes));
                over = over.or_else(|| fixed.map(|fixed| fixed.what.clone()));
                let other = self.inputs.write(address, bytes, [index, 0]).filter(|&other| other != index);
                let name = |other: usize| program.inputs.get(other).map(|input| input.name.clone());
                over = over.or_else(|| other.and_then(name).map(|name| format!("input `{name}`")));
            }
            overlaps.extend(over.map(|over| format!("input `{}` overlaps {over}", input.name)));
        }
        overlaps
    }

    /// Records a read of a range. Returns the address of the first byte that neither a driver nor,
    /// according to `stored`, the program has written.
    pub fn read(&mut self, first: u64, bytes: u64, stored: &Stored) -> Option<u64> {
        let end = first + bytes;
        let mut at = first;
        while at < end {
            let fixed = self.fixed.iter_mut().find(|fixed| (fixed.first..fixed.end).contains(&at));
            at = match fixed {
                Some(fixed) => {
                    fixed.read.insert((at, end.min(fixed.end)));
                    end.min(fixed.end)
                }
                None => {
                    let until = self.next_fixed(at).min(end);
                    if let Some(missing) = stored.missing(&self.inputs, at, until - at) {
                        return Some(missing);
                    }
                    until
                }
            };
        }
        None
    }

    /// Returns the start of the next range, after `at`, of bytes that are written once.
    fn next_fixed(&self, at: u64) -> u64 {
        let starts = self.fixed.iter().filter(|fixed| fixed.end > fixed.first).map(|fixed| fixed.first);
        // Default: no range follows, so the run extends to the end of memory.
        starts.filter(|&first| first > at).min().unwrap_or(u64::MAX)
    }

    /// Returns the name of the once-written and already read bytes that a range overlaps.
    pub fn spoiled(&self, first: u64, bytes: u64) -> Option<&str> {
        let over = |&(from, to): &(u64, u64)| from < first + bytes && first < to;
        let found = self.fixed.iter().find(|fixed| fixed.meets(first, bytes) && fixed.read.iter().any(over));
        found.map(|fixed| fixed.what.as_str())
    }
}

impl Fixed {
    fn new(what: String, first: u64, bytes: u64) -> Self {
        Self { what, first, end: first + bytes, read: BTreeSet::new() }
    }

    fn meets(&self, first: u64, bytes: u64) -> bool {
        first < self.end && self.first < first + bytes
    }
}
