//! Use of memory and buffers by a program: [`usage`].

use std::collections::BTreeMap;

use npukit_target::MemoryReport;

use crate::isa::fault::{Buffer, FaultKind};
use crate::isa::memory::MEMORY_BYTES;
use crate::isa::op::{Access, Direction, Effects, Extent, Op, Registers, Shape, WORD_BYTES};
use crate::program::Program;
use crate::program::layout::Planes;

/// Weights per place of the kernel buffer.
const SLICE: u64 = 1024;

/// Returns the number of places in a bank of a buffer, and their unit (specification, 3.2).
pub(crate) fn room(buffer: Buffer) -> (u64, &'static str) {
    match buffer {
        Buffer::Ifm | Buffer::Ofm => (Shape::MAX_PIXELS.into(), "pixels"),
        Buffer::Ker => (36, "slices"),
        Buffer::Bias => (64, "biases"),
    }
}

/// Returns the number of places that a fill of the buffer writes, starting at the first one.
///
/// # Errors
///
/// A register is not set.
pub(crate) fn filled(registers: &Registers, buffer: Buffer) -> Result<u64, FaultKind> {
    let pixels = |shape: Shape| u64::from(shape.h) * u64::from(shape.w);
    Ok(match buffer {
        Buffer::Ifm => pixels(registers.ifm_shape()?),
        Buffer::Ker => u64::from(registers.slices()?) * slice_places(registers)?,
        Buffer::Bias => registers.ofm_c()?.into(),
        Buffer::Ofm => pixels(registers.ofm_shape()?),
    })
}

/// Returns the number of places of the kernel buffer per slice.
///
/// # Errors
///
/// A register is not set.
pub(crate) fn slice_places(registers: &Registers) -> Result<u64, FaultKind> {
    Ok((u64::from(registers.ofm_c()?) * u64::from(registers.ifm_c()?)).div_ceil(SLICE))
}

/// Returns the use of memory (`dram`, in bytes), of the feature and the partial-sum buffer (`ifm`
/// and `ofm`, in pixels) and of the kernel buffer (`ker`, in slices). Empty for a program that uses
/// registers before it sets them.
///
/// The peak of memory is the range from the first to the last slot that an instruction touches,
/// including gaps between the rows of a tile. The total covers the words, the initial contents, the
/// inputs, and every slot that is written.
pub fn usage(program: &Program) -> BTreeMap<String, MemoryReport> {
    // Default: the usage of a faulty program is unknown; `lint` reports where the fault is.
    Walk::new(program).done(program).unwrap_or_default()
}

/// Usage up to an instruction.
struct Walk {
    registers: Registers,
    /// Ranges of memory that are used.
    extents: Vec<Extent>,
    /// Number of bytes that were placed in memory, counted each time.
    placed: u64,
    ifm: Fill,
    ker: Fill,
    ofm: Fill,
}

/// Fill level of a buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Fill {
    maximum: u64,
    aggregate: u64,
}

impl Fill {
    fn add(&mut self, used: u64) {
        self.maximum = self.maximum.max(used);
        self.aggregate = self.aggregate.saturating_add(used);
    }

    fn of_buffer(self, buffer: Buffer) -> MemoryReport {
        let (depth, unit) = room(buffer);
        self.report(depth, unit)
    }

    fn report(self, depth: u64, unit: &str) -> MemoryReport {
        let Self { maximum, aggregate } = self;
        MemoryReport { maximum, aggregate, depth, unit: unit.to_owned() }
    }
}

impl Walk {
    /// Starts with the words, the initial memory contents and the inputs.
    fn new(program: &Program) -> Self {
        let registers = Registers::default();
        let (ifm, ker, ofm) = (Fill::default(), Fill::default(), Fill::default());
        let mut walk = Self { registers, extents: Vec::new(), placed: 0, ifm, ker, ofm };
        walk.place(extent(program.address.into(), (program.instructions.len() * WORD_BYTES) as u64));
        for segment in &program.segments {
            walk.place(extent(segment.address.into(), segment.bytes.len() as u64));
        }
        let size = program.config.types.itype.size_bytes();
        let inputs = program.inputs.iter().flat_map(|input| planes(&input.planes, size));
        inputs.for_each(|plane| walk.place(plane));
        walk
    }

    fn place(&mut self, extent: Extent) {
        self.placed = self.placed.saturating_add(extent.bytes());
        self.extents.push(extent);
    }

    fn done(mut self, program: &Program) -> Result<BTreeMap<String, MemoryReport>, FaultKind> {
        for op in &program.instructions {
            self.registers.set(op);
            let effects = op.effects(&self.registers, &program.config.types, program.config.validity)?;
            self.memory(&effects);
            self.buffers(op)?;
        }
        let dram = Fill { maximum: covered(self.extents), aggregate: self.placed };
        let all = [
            ("dram", dram.report(MEMORY_BYTES, "bytes")),
            ("ifm", self.ifm.of_buffer(Buffer::Ifm)),
            ("ker", self.ker.of_buffer(Buffer::Ker)),
            ("ofm", self.ofm.of_buffer(Buffer::Ofm)),
        ];
        Ok(all.into_iter().map(|(name, report)| (name.to_owned(), report)).collect())
    }

    /// A slot belongs to its pixel, even if only some of its bytes are used.
    fn memory(&mut self, effects: &Effects) {
        let slots = Access { used: effects.memory.slot, ..effects.memory };
        let Some(extent) = slots.extent() else { return };
        // Memory may end inside its last slot, so the extent is cut off there.
        self.extents.push(Extent { end: extent.end.min(MEMORY_BYTES), ..extent });
        if slots.direction == Direction::Write {
            let written: u64 = slots.runs().map(Extent::bytes).sum();
            self.placed = self.placed.saturating_add(written);
        }
    }

    fn buffers(&mut self, op: &Op) -> Result<(), FaultKind> {
        let (fill, buffer) = match op {
            Op::LoadIfm { .. } => (&mut self.ifm, Buffer::Ifm),
            Op::LoadKer { .. } => (&mut self.ker, Buffer::Ker),
            Op::Conv { .. } => (&mut self.ofm, Buffer::Ofm),
            _ => return Ok(()),
        };
        fill.add(filled(&self.registers, buffer)?);
        Ok(())
    }
}

fn extent(first: u64, bytes: u64) -> Extent {
    Extent { first, end: first.saturating_add(bytes) }
}

/// Returns the planes of a map with elements of `size` bytes, borders included.
fn planes(planes: &Planes, size: u32) -> impl Iterator<Item = Extent> {
    // Default: a plane with too many bytes for a `u64` is rejected when it is read.
    let bytes = u64::try_from(planes.plane_bytes(size)).unwrap_or(u64::MAX);
    planes.groups.iter().map(move |group| extent(group.address.into(), bytes))
}

/// Returns the number of bytes that are in at least one of the extents.
fn covered(mut extents: Vec<Extent>) -> u64 {
    extents.sort_unstable_by_key(|extent| extent.first);
    let (mut bytes, mut end) = (0, 0);
    for extent in extents {
        bytes += extent.end.saturating_sub(extent.first.max(end));
        end = end.max(extent.end);
    }
    bytes
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::config::Config;
    use crate::isa::op::{Addend, Pool, Post};
    use crate::program::Segment;

    const TILE: Shape = Shape { h: 10, w: 10, c: 64 };

    /// Returns a program that loads a tile and a kernel of 64 x 64, convolves, and stores twice,
    /// the second time `addr` units further.
    fn program(addr: u32) -> Program {
        let instructions = vec![
            Op::ShapeIfm(TILE),
            Op::ShapeOfm(TILE),
            Op::ShapeKer { n: 1 },
            Op::MemIfm { bank: 0, w: 10 },
            Op::MemKer { bank: 1 },
            Op::MemOfm { bank: 3, h: 10, w: 10 },
            Op::Post(Post::default()),
            Op::Pool(Pool::NONE),
            Op::LoadIfm { addr: 0 },
            Op::LoadKer { addr: 0 },
            Op::Conv { addend: Addend::Zero, h: 0, w: 0, n: 0 },
            Op::Store { addr: 0 },
            Op::Store { addr },
            Op::End,
        ];
        let config = Config::preset("ideal").unwrap();
        Program {
            segments: vec![Segment { address: 1 << 28, bytes: vec![1; 4096] }],
            ..Program::of("tile".to_owned(), "ideal".to_owned(), config, instructions)
        }
    }

    #[test]
    fn memory_and_buffers_are_counted() {
        let numbers = |addr, name: &str| {
            let report = &usage(&program(addr))[name];
            (report.maximum, report.aggregate, report.depth)
        };
        assert_eq!((numbers(0, "ifm"), numbers(0, "ofm")), ((100, 100, 2048), (100, 100, 2048)));
        assert_eq!(numbers(0, "ker"), (4, 4, 36), "64 x 64 weights are four slices");
        // The program moves 14 words, 64 bytes for each of 100 loaded and 100 stored pixels, and
        // the kernel, which is a segment.
        let words_and_kernel = 14 * 4 + 4096;
        assert_eq!(numbers(0, "dram"), (words_and_kernel + 2 * 6400, words_and_kernel + 2 * 6400, 1 << 32));
        assert_eq!(numbers(50, "dram").0, words_and_kernel + 6400 + 6400 + 50 * 64, "half is stored twice");
    }

    #[test]
    fn what_is_at_fault_uses_nothing_that_is_known() {
        let unset = Program { instructions: vec![Op::LoadIfm { addr: 0 }], ..program(0) };
        assert_eq!(usage(&unset), BTreeMap::new());
    }

    #[test]
    fn bytes_count_once() {
        let extents = [(10, 20), (0, 4), (15, 25), (16, 18), (30, 31)];
        let extents = extents.map(|(first, end)| Extent { first, end });
        assert_eq!(covered(extents.into()), 4 + 15 + 1);
        assert_eq!(covered(Vec::new()), 0);
    }

    #[test]
    fn the_fullest_moment_counts() {
        let mut fill = Fill::default();
        [3, 7, 5].into_iter().for_each(|used| fill.add(used));
        assert_eq!(fill, Fill { maximum: 7, aggregate: 15 });
    }
}
