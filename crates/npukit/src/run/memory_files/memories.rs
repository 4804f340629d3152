//! [`Memories`]: access by name to the memories of a machine that runs an assembly program.

use npukit_asm::MemoryRange;
use npukit_base::help_for;
use npukit_target::{
    AsmOptions, HazardMode, Instance, Machine, MachineMemory, Reader, TargetError, UninitMemory,
};

use super::error::MemoryFileError;
use super::layout::rows;
use super::memory_dump::MemoryDump;
use super::values::{Kind, Numbers};

/// Maximum number of numbers that are read or written at once.
const MOST: usize = 1 << 26;

/// Memories of a machine, by name (case-insensitive).
pub struct Memories {
    /// Machine that has the memories.
    pub machine: Box<dyn Machine>,
    all: Vec<MachineMemory>,
}

/// Builds a range of addresses of a memory.
fn range(name: &str, address: u64, count: u64) -> MemoryRange {
    MemoryRange {
        memory: name.to_owned(),
        start: address,
        end: Some(address.saturating_add(count)),
        is_one: false,
    }
}

/// Existing range of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NamedRange {
    pub memory: usize,
    pub start: u64,
    pub end: u64,
}

/// Number and its position, in numbers from the first address of a range.
pub(crate) type Placed = (usize, i64);

impl Memories {
    /// Wraps the memories of a machine.
    pub fn new(machine: Box<dyn Machine>) -> Self {
        let all = machine.memories().to_vec();
        Self { machine, all }
    }

    /// Loads an assembly or binary program on an instance after a reset, before its first
    /// instruction. Unwritten memory is zero, and instructions execute sequentially. `name` is the
    /// program's name for errors.
    ///
    /// # Errors
    ///
    /// Fails as [`Instance::asm_program`] does, and if the instance cannot be simulated.
    pub fn of_program(
        instance: &dyn Instance,
        name: &str,
        program: &[u8],
        files: &dyn Reader,
    ) -> Result<Self, TargetError> {
        let options = AsmOptions { meaning: HazardMode::Sequential, unset: UninitMemory::Zero };
        Ok(Self::new(instance.asm_program(name, program, files)?.machine(&options)?))
    }

    /// Returns all memories, in the machine's order.
    pub fn all(&self) -> &[MachineMemory] {
        &self.all
    }

    /// Reads the numbers at `count` addresses starting at `address`.
    ///
    /// # Errors
    ///
    /// Returns [`MemoryFileError::Memory`] for an unknown name, [`MemoryFileError::Addresses`] for
    /// addresses out of range, and [`MemoryFileError::TooMany`] above the limit. Fails if the
    /// memory cannot be read now.
    pub fn read(&self, name: &str, address: u64, count: u64) -> Result<Vec<i64>, MemoryFileError> {
        let NamedRange { memory, start, end } = self.find(&range(name, address, count), None)?;
        Ok(self.machine.read(memory, start, end - start)?)
    }

    /// Writes numbers to whole addresses, starting at `address`.
    ///
    /// # Errors
    ///
    /// Fails as [`Self::read`] does. Returns [`MemoryFileError::Count`] if the numbers do not fill
    /// whole addresses, and [`MemoryFileError::Number`] for a number that does not fit. Fails if
    /// the memory cannot be written from outside.
    pub fn write(&mut self, name: &str, address: u64, numbers: &[i64]) -> Result<(), MemoryFileError> {
        let lanes = self.named(name)?.lanes.max(1);
        let found = self.find(&range(name, address, numbers.len().div_ceil(lanes) as u64), None)?;
        if !numbers.len().is_multiple_of(lanes) {
            let NamedRange { memory, start, end } = found;
            let (memory, expected) = (self.memory(memory).name.clone(), (end - start) as usize * lanes);
            return Err(MemoryFileError::Count { memory, given: numbers.len(), start, end, expected });
        }
        let raw = Kind::Raw(numbers.iter().map(|&number| number.into()).collect());
        let numbers = self.converted(found.memory, &raw)?;
        Ok(self.machine.write(found.memory, found.start, &numbers)?)
    }

    /// Finds a memory by name.
    ///
    /// # Errors
    ///
    /// Returns [`MemoryFileError::Memory`] for an unknown name.
    pub fn named(&self, name: &str) -> Result<&MachineMemory, MemoryFileError> {
        Ok(self.memory(self.place(name)?))
    }

    pub(crate) fn memory(&self, index: usize) -> &MachineMemory {
        &self.all[index]
    }

    fn place(&self, name: &str) -> Result<usize, MemoryFileError> {
        let found = self.all.iter().position(|memory| memory.name.eq_ignore_ascii_case(name));
        found.ok_or_else(|| {
            let known: Vec<&str> = self.all.iter().map(|memory| memory.name.as_str()).collect();
            MemoryFileError::Memory { name: name.to_owned(), help: help_for(name, &known) }
        })
    }

    /// Resolves a range. If it has no end, it covers the `needed` addresses.
    pub(crate) fn find(
        &self,
        range: &MemoryRange,
        needed: Option<u64>,
    ) -> Result<NamedRange, MemoryFileError> {
        let memory = self.place(&range.memory)?;
        let MachineMemory { depth, lanes, name, .. } = self.memory(memory);
        let start = range.start;
        let end = match (range.end, needed, range.is_one) {
            (Some(end), ..) => end,
            (None, Some(needed), _) => start.saturating_add(needed),
            (None, None, true) => start.saturating_add(1),
            (None, None, false) => *depth,
        };
        if end > *depth || start > end {
            return Err(MemoryFileError::Addresses { memory: name.clone(), depth: *depth, start, end });
        }
        let count = u128::from(end - start) * *lanes as u128;
        if count > MOST as u128 {
            return Err(MemoryFileError::TooMany { memory: name.clone(), count, limit: MOST });
        }
        Ok(NamedRange { memory, start, end })
    }

    /// Returns the positions of numbers that fill a range from its first address. A single number
    /// fills the whole range.
    pub(crate) fn placed(
        &self,
        range: &MemoryRange,
        numbers: &Numbers,
    ) -> Result<(NamedRange, Vec<Placed>), MemoryFileError> {
        let memory = self.place(&range.memory)?;
        let MachineMemory { lanes, name, .. } = self.memory(memory);
        let layout = rows(&numbers.shape, *lanes);
        let needed = layout.all_addresses() as u64;
        let found = self.find(range, Some(needed))?;
        let converted = self.converted(memory, &numbers.kind)?;
        let size = (found.end - found.start) as usize * lanes;
        if let ([one], Some(_)) = (&converted[..], range.end) {
            return Ok((found, (0..size).map(|place| (place, *one)).collect()));
        }
        if range.end.is_some() && needed != found.end - found.start {
            let (start, end) = (found.start, found.end);
            return Err(MemoryFileError::Count {
                memory: name.clone(),
                given: converted.len(),
                start,
                end,
                expected: size,
            });
        }
        Ok((found, layout.places(*lanes).zip(converted).collect()))
    }

    /// Converts numbers to the memory's integers.
    fn converted(&self, memory: usize, kind: &Kind) -> Result<Vec<i64>, MemoryFileError> {
        let of = self.memory(memory);
        let range = of.range();
        let wrong = |number: String| MemoryFileError::Number { memory: of.name.clone(), number, range };
        match kind {
            Kind::Raw(all) => all
                .iter()
                .map(|&number| {
                    let fits = (range.0..=range.1).contains(&number);
                    // An unsigned 64-bit number keeps its bits.
                    if fits { Ok(number as i64) } else { Err(wrong(number.to_string())) }
                })
                .collect(),
            Kind::Patterns(all) => all
                .iter()
                .map(|&pattern| of.of_pattern(pattern).ok_or_else(|| wrong(format!("{pattern:#x}"))))
                .collect(),
            Kind::Real(all) => all
                .iter()
                .map(|&real| {
                    let number = self.machine.number(memory, real);
                    number.ok_or_else(|| MemoryFileError::NotReal { memory: of.name.clone() })
                })
                .collect(),
        }
    }

    /// Fills a range; the unused rest of a row's last address becomes zero.
    pub(crate) fn fill(&mut self, range: &MemoryRange, numbers: &Numbers) -> Result<(), MemoryFileError> {
        if numbers.starts.is_empty() {
            return self.fill_one(range, numbers);
        }
        let Kind::Patterns(all) = &numbers.kind else { return self.fill_one(range, numbers) };
        let mut starts = vec![(0, 0)];
        starts.extend(&numbers.starts);
        let ends = starts.iter().skip(1).map(|(_, at)| *at).chain([all.len()]).collect::<Vec<_>>();
        for ((address, from), to) in starts.into_iter().zip(ends) {
            let Some(part) = all.get(from..to).filter(|part| !part.is_empty()) else { continue };
            let part =
                Numbers { shape: vec![part.len()], kind: Kind::Patterns(part.to_vec()), starts: Vec::new() };
            let start = range.start.saturating_add(address);
            self.fill_one(&MemoryRange { start, end: None, is_one: false, ..range.clone() }, &part)?;
        }
        Ok(())
    }

    fn fill_one(&mut self, range: &MemoryRange, numbers: &Numbers) -> Result<(), MemoryFileError> {
        let (found, placed) = self.placed(range, numbers)?;
        let mut all = vec![0; (found.end - found.start) as usize * self.memory(found.memory).lanes];
        for (place, number) in placed {
            all[place] = number;
        }
        Ok(self.machine.write(found.memory, found.start, &all)?)
    }

    /// Returns the contents of a range.
    pub(crate) fn held(&self, name: &str, range: &MemoryRange) -> Result<MemoryDump, MemoryFileError> {
        let NamedRange { memory, start, end } = self.find(range, None)?;
        let MachineMemory { name: of, lanes, bits, .. } = self.memory(memory);
        let raw = self.machine.read(memory, start, end - start)?;
        let real: Option<Vec<f64>> = raw.iter().map(|&number| self.machine.real(memory, number)).collect();
        Ok(MemoryDump {
            name: name.to_owned(),
            memory: of.clone(),
            start,
            end,
            lanes: *lanes,
            bits: *bits,
            file: None,
            count: raw.len(),
            real: real.filter(|real| !real.is_empty()),
            raw,
        })
    }
}
