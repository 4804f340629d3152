//! [`Memories`]: those of a machine on which a program runs that a person wrote, by name.

use npukit_asm::MemoryRange;
use npukit_base::help_for;
use npukit_target::{HandOptions, Instance, Machine, MachineMemory, Meaning, Reader, TargetError, Unset};

use super::error::HandError;
use super::held::Held;
use super::layout::rows;
use super::values::{Kind, Numbers};

/// Numbers of a range that are read or written at once.
const MOST: usize = 1 << 26;

/// The memories of a machine, by name: letters of either case.
pub struct Memories {
    /// The machine.
    pub machine: Box<dyn Machine>,
    all: Vec<MachineMemory>,
}

/// Addresses of a memory.
fn range(name: &str, address: u64, count: u64) -> MemoryRange {
    MemoryRange {
        memory: name.to_owned(),
        start: address,
        end: Some(address.saturating_add(count)),
        is_one: false,
    }
}

/// A range of addresses that exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub memory: usize,
    pub start: u64,
    pub end: u64,
}

/// A number and where it lies, counted in numbers from the first address of a range on.
pub(crate) type Placed = (usize, i64);

impl Memories {
    /// Those of a machine.
    pub fn new(machine: Box<dyn Machine>) -> Self {
        let all = machine.memories().to_vec();
        Self { machine, all }
    }

    /// Those of an instance after a reset, with a program in text or words before its first instruction. What nobody has
    /// written is zero, and instructions follow one another as they stand. `name` is the program's, for errors.
    ///
    /// # Errors
    ///
    /// Those of [`Instance::hand_program`]; an instance that cannot be simulated.
    pub fn of_program(
        instance: &dyn Instance,
        name: &str,
        program: &[u8],
        files: &dyn Reader,
    ) -> Result<Self, TargetError> {
        let options = HandOptions { meaning: Meaning::Sequential, unset: Unset::Zero };
        Ok(Self::new(instance.hand_program(name, program, files)?.machine(&options)?))
    }

    /// All of them, in the machine's order.
    pub fn all(&self) -> &[MachineMemory] {
        &self.all
    }

    /// The numbers at `count` addresses from `address` on.
    ///
    /// # Errors
    ///
    /// [`HandError::Memory`] for a name that none has, [`HandError::Addresses`] for addresses beyond its end,
    /// [`HandError::TooMany`] for more than are read at once; memory that cannot be read now.
    pub fn read(&self, name: &str, address: u64, count: u64) -> Result<Vec<i64>, HandError> {
        let Found { memory, start, end } = self.find(&range(name, address, count), None)?;
        Ok(self.machine.read(memory, start, end - start)?)
    }

    /// Writes numbers from `address` on, whole addresses of them.
    ///
    /// # Errors
    ///
    /// Those of [`Self::read`]; [`HandError::Count`] for numbers that end inside an address, [`HandError::Number`] for one
    /// that the memory does not hold; memory that is not written from outside.
    pub fn write(&mut self, name: &str, address: u64, numbers: &[i64]) -> Result<(), HandError> {
        let lanes = self.named(name)?.lanes.max(1);
        let found = self.find(&range(name, address, numbers.len().div_ceil(lanes) as u64), None)?;
        if !numbers.len().is_multiple_of(lanes) {
            let Found { memory, start, end } = found;
            let (memory, expected) = (self.memory(memory).name.clone(), (end - start) as usize * lanes);
            return Err(HandError::Count { memory, given: numbers.len(), start, end, expected });
        }
        let raw = Kind::Raw(numbers.iter().map(|&number| number.into()).collect());
        let numbers = self.converted(found.memory, &raw)?;
        Ok(self.machine.write(found.memory, found.start, &numbers)?)
    }

    /// The memory of a name.
    ///
    /// # Errors
    ///
    /// [`HandError::Memory`] for a name that none has.
    pub fn named(&self, name: &str) -> Result<&MachineMemory, HandError> {
        Ok(self.memory(self.place(name)?))
    }

    pub(crate) fn memory(&self, index: usize) -> &MachineMemory {
        &self.all[index]
    }

    fn place(&self, name: &str) -> Result<usize, HandError> {
        let found = self.all.iter().position(|memory| memory.name.eq_ignore_ascii_case(name));
        found.ok_or_else(|| {
            let known: Vec<&str> = self.all.iter().map(|memory| memory.name.as_str()).collect();
            HandError::Memory { name: name.to_owned(), help: help_for(name, &known) }
        })
    }

    /// The addresses of a range, of which `needed` are needed where it has no end.
    pub(crate) fn find(&self, range: &MemoryRange, needed: Option<u64>) -> Result<Found, HandError> {
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
            return Err(HandError::Addresses { memory: name.clone(), depth: *depth, start, end });
        }
        let count = u128::from(end - start) * *lanes as u128;
        if count > MOST as u128 {
            return Err(HandError::TooMany { memory: name.clone(), count, limit: MOST });
        }
        Ok(Found { memory, start, end })
    }

    /// Where numbers lie in a range, which they fill from its first address on: a single one fills all of it.
    pub(crate) fn placed(
        &self,
        range: &MemoryRange,
        numbers: &Numbers,
    ) -> Result<(Found, Vec<Placed>), HandError> {
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
            return Err(HandError::Count {
                memory: name.clone(),
                given: converted.len(),
                start,
                end,
                expected: size,
            });
        }
        Ok((found, layout.places(*lanes).zip(converted).collect()))
    }

    /// Numbers as the memory has them.
    fn converted(&self, memory: usize, kind: &Kind) -> Result<Vec<i64>, HandError> {
        let of = self.memory(memory);
        let range = of.range();
        let wrong = |number: String| HandError::Number { memory: of.name.clone(), number, range };
        match kind {
            Kind::Raw(all) => all
                .iter()
                .map(|&number| {
                    let fits = (range.0..=range.1).contains(&number);
                    // An unsigned number of 64 bits keeps its bits.
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
                    number.ok_or_else(|| HandError::NotReal { memory: of.name.clone() })
                })
                .collect(),
        }
    }

    /// Fills a range; what a row leaves of its last address becomes zero.
    pub(crate) fn fill(&mut self, range: &MemoryRange, numbers: &Numbers) -> Result<(), HandError> {
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

    fn fill_one(&mut self, range: &MemoryRange, numbers: &Numbers) -> Result<(), HandError> {
        let (found, placed) = self.placed(range, numbers)?;
        let mut all = vec![0; (found.end - found.start) as usize * self.memory(found.memory).lanes];
        for (place, number) in placed {
            all[place] = number;
        }
        Ok(self.machine.write(found.memory, found.start, &all)?)
    }

    /// What a range holds.
    pub(crate) fn held(&self, name: &str, range: &MemoryRange) -> Result<Held, HandError> {
        let Found { memory, start, end } = self.find(range, None)?;
        let MachineMemory { name: of, lanes, bits, .. } = self.memory(memory);
        let raw = self.machine.read(memory, start, end - start)?;
        let real: Option<Vec<f64>> = raw.iter().map(|&number| self.machine.real(memory, number)).collect();
        Ok(Held {
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
