//! [`Range`]: numbers of a memory, written like `acc[4:8].2`.

use npukit_asm::MemoryRange;
use npukit_base::help_for;
use npukit_target::{AddressRun, MachineMemory};

/// Maximum number of numbers in one read.
const MOST: u128 = 1 << 24;

/// Some addresses of a memory, with all lanes or one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    /// Text of the range as it was given.
    pub text: String,
    /// Index of the memory among the machine's memories.
    pub memory: usize,
    /// First address.
    pub start: u64,
    /// Address after the last one.
    pub end: u64,
    /// Lane at each address; `None` for all lanes.
    pub lane: Option<usize>,
}

impl Range {
    /// Parses a range; the error is a message and an optional hint.
    pub(crate) fn parse(text: &str, memories: &[MachineMemory]) -> Result<Self, (String, Option<String>)> {
        let (range, lane) = split_lane(text);
        let form = || {
            (
                format!("`{text}` is not a range of a memory"),
                Some("write `acc`, `acc[4]`, `acc[0:8]` or `acc[4].2`".to_owned()),
            )
        };
        let found = MemoryRange::parse(range).ok_or_else(form)?;
        let place = memories.iter().position(|memory| memory.name.eq_ignore_ascii_case(&found.memory));
        let memory = place.ok_or_else(|| {
            let names: Vec<&str> = memories.iter().map(|memory| memory.name.as_str()).collect();
            (format!("unknown memory `{}`", found.memory), Some(help_for(&found.memory, &names)))
        })?;
        let MachineMemory { depth, lanes, name, .. } = &memories[memory];
        let end = match found.end {
            Some(end) => end,
            None if found.is_one => found.start.saturating_add(1),
            None => *depth,
        };
        if end > *depth || found.start >= end {
            let last = depth.saturating_sub(1);
            return Err((format!("`{name}` has addresses 0 to {last}"), None));
        }
        let lane = match lane {
            None => None,
            Some(lane) => match lane.parse::<usize>() {
                Ok(lane) if lane < *lanes => Some(lane),
                _ => {
                    let last = lanes.saturating_sub(1);
                    return Err((format!("an address of `{name}` has numbers .0 to .{last}"), None));
                }
            },
        };
        let text = text.to_owned();
        Ok(Self { text, memory, start: found.start, end, lane })
    }

    /// Returns the addresses of the range.
    pub const fn run(&self) -> AddressRun {
        AddressRun::dense(self.memory, self.start, self.end - self.start)
    }

    /// Returns the intersection of a run of addresses with the range.
    pub(crate) fn of(&self, run: AddressRun) -> Option<AddressRun> {
        if !run.meets(self.memory, self.start, self.end) {
            return None;
        }
        let places = |ahead: u64| if run.stride == 0 { ahead.min(1) } else { ahead.div_ceil(run.stride) };
        let first = if run.stride == 0 { 0 } else { places(self.start.saturating_sub(run.first)) };
        let end = places(self.end.saturating_sub(run.first)).min(run.count);
        Some(AddressRun { first: run.at(first), count: end - first, ..run })
    }

    /// Returns an error message if the range is too large for one read.
    pub(crate) fn too_much(&self, lanes: usize) -> Option<String> {
        let count = u128::from(self.end - self.start) * lanes as u128;
        (count > MOST).then(|| format!("{count} numbers are more than {MOST}: name fewer addresses"))
    }

    /// Selects the numbers of the range from all numbers at its addresses.
    pub(crate) fn chosen<T: Copy>(&self, numbers: &[T], lanes: usize) -> Vec<T> {
        match self.lane {
            None => numbers.to_vec(),
            Some(lane) => numbers.iter().skip(lane).step_by(lanes.max(1)).copied().collect(),
        }
    }
}

/// Splits the lane suffix from the range.
fn split_lane(text: &str) -> (&str, Option<&str>) {
    match text.rsplit_once("].") {
        Some((range, lane)) => (&text[..=range.len()], Some(lane)),
        None => (text, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memories() -> Vec<MachineMemory> {
        let memory = |name: &str, depth, lanes| MachineMemory {
            name: name.into(),
            depth,
            lanes,
            bits: 16,
            is_signed: true,
        };
        vec![memory("acc", 8, 4), memory("rf.0.1.2", 64, 1)]
    }

    /// Compares with a walk over all addresses.
    #[test]
    fn a_part_of_a_run_is_found() {
        for (first, count, stride) in [(0, 8, 1), (3, 4, 2), (5, 1, 0), (1, 3, 5), (6, 1, 1)] {
            let run = AddressRun { memory: 0, first, count, stride };
            for (start, end) in [(0, 1), (2, 6), (4, 8), (0, 64), (7, 8), (11, 12)] {
                let range = Range { text: String::new(), memory: 0, start, end, lane: None };
                let all = |run: AddressRun| (0..run.count).map(|place| run.at(place)).collect::<Vec<_>>();
                let expected: Vec<u64> =
                    all(run).into_iter().filter(|address| (start..end).contains(address)).collect();
                // Default: no address.
                let found = range.of(run).map(all).unwrap_or_default();
                assert_eq!(found, expected, "{run:?} {start}..{end}");
            }
        }
    }

    #[test]
    fn ranges_are_read() {
        let parsed = |text| {
            let Range { memory, start, end, lane, .. } =
                Range::parse(text, &memories()).map_err(|(message, _)| message)?;
            Ok::<_, String>((memory, start, end, lane))
        };
        assert_eq!(parsed("acc"), Ok((0, 0, 8, None)));
        assert_eq!(parsed("acc[3]"), Ok((0, 3, 4, None)));
        assert_eq!(parsed("acc[3].1"), Ok((0, 3, 4, Some(1))));
        assert_eq!(parsed("ACC[2:8].3"), Ok((0, 2, 8, Some(3))));
        assert_eq!(parsed("rf.0.1.2[0x10]"), Ok((1, 16, 17, None)));
        for wrong in ["acc[9]", "acc[3].4", "acc[3].x", "acb[0]", "acc[", "acc[4:4]", ""] {
            assert!(parsed(wrong).is_err(), "{wrong}");
        }
    }
}
