//! Liveness of memory: [`maps`] computes which places of the memories a program needs, and when.

use npukit_target::Phase;
use npukit_trace::{Liveness, MemoryMap, Moments};

use crate::config::Timing;
use crate::isa::fault::{Buffer, FaultKind};
use crate::isa::memory::{BANK_BYTES, BANKS};
use crate::isa::op::{Class, Direction, Effects, Extent, Op, Order, Registers, Shape};
use crate::machine::exec::{Numerics, step};
use crate::machine::memory::Memory;
use crate::machine::state::State;
use crate::machine::values::Arithmetic;
use crate::program::Program;
use crate::program::usage::{filled, room, slice_places};

/// Bytes per place of memory: the unit of instructions' addresses.
const UNIT: u64 = 64;
/// Places per bank.
const BANK: u64 = BANK_BYTES / UNIT;

/// Returns the accesses to the places of the buffers and of memory over time. `moments` has a step
/// for each instruction, and one more for the driver, which reads the outputs.
///
/// Each buffer has the banks that the clock gives it, one after the other; each fill uses the next
/// bank in turn. Places are pixels of the feature and the partial-sum buffer, slices of 1024
/// weights, biases, and 64 bytes of memory, which are regarded as written if one of the bytes is.
/// Each bank of memory has its own map. Instructions after a fault are not executed. The program's
/// words are not included, since a fetch is not among an instruction's effects.
pub fn maps(program: &Program, timing: &Timing, moments: &Moments) -> Vec<MemoryMap> {
    let executed = executed(program);
    let buffers = [Buffer::Ifm, Buffer::Ker, Buffer::Bias, Buffer::Ofm].map(|buffer| {
        let ((depth, unit), banks) = (room(buffer), banks(buffer, timing));
        Liveness::map(buffer.name(), unit, depth * banks, moments, |lives| {
            executed.tell(buffer, depth, banks, lives);
        })
    });
    let banks = (0..BANKS).map(|bank| {
        let name = format!("dram, bank {bank}");
        Liveness::map(&name, "words of 64 bytes", BANK, moments, |lives| executed.tell_memory(bank, lives))
    });
    let phase = Phase::counting("map banks", BANKS as usize);
    let banks = banks.inspect(|_| phase.advance());
    buffers.into_iter().chain(banks).flatten().collect()
}

/// Returns the number of banks that the clock gives a buffer.
fn banks(buffer: Buffer, timing: &Timing) -> u64 {
    let banks = match buffer {
        Buffer::Ifm => timing.ifm_banks,
        Buffer::Ker => timing.ker_banks,
        Buffer::Bias => timing.bias_banks,
        Buffer::Ofm => timing.ofm_banks,
    };
    banks.max(1).into()
}

/// Instructions that a machine executes.
struct Executed<'a> {
    program: &'a Program,
    instructions: &'a [Op],
    is_whole: bool,
}

/// Executes everything except the values.
fn executed(program: &Program) -> Executed<'_> {
    let (mut state, mut memory) = (State::default(), Memory::default());
    let (types, validity) = (&program.config.types, program.config.validity);
    let numerics = Numerics { types, arithmetic: Arithmetic::Absent, validity };
    let ops = &program.instructions;
    let ends = |op: &Op| *op == Op::End || step(&mut state, &mut memory, numerics, op).is_err();
    let count = ops.iter().position(ends).unwrap_or(ops.len()); // Default: there is no `end`.
    let is_whole = ops.get(count) == Some(&Op::End);
    Executed { program, instructions: &ops[..count], is_whole }
}

impl Executed<'_> {
    /// Iterates over the instructions, with the current registers and their effects.
    fn steps(&self) -> impl Iterator<Item = (usize, &Op, Registers, Effects)> {
        let (mut registers, config) = (Registers::default(), &self.program.config);
        self.instructions.iter().enumerate().filter_map(move |(index, op)| {
            registers.set(op);
            // All registers of an executed instruction are defined, so the instruction has effects.
            let effects = op.effects(&registers, &config.types, config.validity).ok()?;
            Some((index, op, registers, effects))
        })
    }

    /// Records the fills and reads of a buffer.
    fn tell(&self, buffer: Buffer, depth: u64, banks: u64, lives: &mut Liveness<'_>) {
        let mut bank = banks - 1;
        for (index, op, registers, effects) in self.steps() {
            let is_read = effects.reads.contains(&buffer);
            if is_read {
                let first = bank * depth;
                lives.read(index, read(op, &registers, buffer).into_iter().map(|place| first + place));
            }
            if effects.writes == Some(buffer) {
                // A buffer that is also read is changed in place, so its bank stays the same.
                bank = if is_read { bank } else { (bank + 1) % banks };
                let places = filled(&registers, buffer).unwrap_or(0); // Default: an executed instruction has its registers.
                let filled = (0..places).map(|place| bank * depth + place);
                lives.write(index, filled, op.class() == Class::Load);
            }
        }
    }

    /// Records the reads and writes of a bank of memory; in the end the driver reads the outputs.
    fn tell_memory(&self, bank: u64, lives: &mut Liveness<'_>) {
        for (index, .., Effects { memory, .. }) in self.steps() {
            if memory.extent().is_none_or(|extent| units(extent, bank).is_empty()) {
                continue;
            }
            let places = memory.runs().flat_map(|run| units(run, bank));
            match memory.direction {
                Direction::Read => lives.read(index, places),
                Direction::Write => lives.write(index, places, false),
            }
        }
        let (size, driver) = (self.program.config.types.itype.size_bytes(), self.program.instructions.len());
        for output in self.program.outputs.iter().filter(|_| self.is_whole) {
            let runs = output
                .planes
                .runs(size)
                .map(|(first, group)| Extent { first, end: first + u64::from(group.channels * size) });
            lives.read(driver, runs.flat_map(|run| units(run, bank)));
        }
    }
}

/// Returns the places of a bank that contain some of these bytes.
fn units(Extent { first, end }: Extent, bank: u64) -> std::ops::Range<u64> {
    let place = |unit: u64| unit.clamp(bank * BANK, (bank + 1) * BANK) - bank * BANK;
    place(first / UNIT)..place(end.div_ceil(UNIT))
}

/// Returns the places of a buffer that an instruction reads.
fn read(op: &Op, registers: &Registers, buffer: Buffer) -> Vec<u64> {
    let places = match (buffer, *op) {
        (Buffer::Ifm, Op::Conv { h, w, .. }) => tap(registers, [h, w]),
        (Buffer::Ker, Op::Conv { n, .. }) => slice_places(registers).map(|slice| {
            let first = u64::from(n) * slice;
            (first..first + slice).collect()
        }),
        (Buffer::Ifm, Op::Store { .. }) => residual(registers),
        (Buffer::Ofm, Op::Store { .. }) => windows(registers),
        _ => filled(registers, buffer).map(|places| (0..places).collect()),
    };
    places.unwrap_or_default() // Default: an executed instruction has its registers.
}

/// Returns the pixels of the feature buffer that a tap reads (specification, 4.3).
fn tap(registers: &Registers, [h, w]: [u32; 2]) -> Result<Vec<u64>, FaultKind> {
    let (shape, stride) = (registers.ofm_shape()?, registers.stride()?);
    let rows = (0..shape.h).map(|row| h + row * stride.h);
    Ok(pixels(rows, (0..shape.w).map(|column| w + column * stride.w), registers.ifm_shape()?))
}

/// Returns the pixels of the feature buffer that a store adds (specification, 4.6).
fn residual(registers: &Registers) -> Result<Vec<u64>, FaultKind> {
    let (shape, pool) = (registers.ofm_shape()?, registers.pool()?);
    let added = if registers.post()?.order == Order::ActPoolRes { pool.result(shape) } else { shape };
    Ok(pixels(0..added.h, 0..added.w, registers.ifm_shape()?))
}

/// Returns the partial sums in the windows of a store; those between and after the windows are not
/// used.
fn windows(registers: &Registers) -> Result<Vec<u64>, FaultKind> {
    let (shape, pool) = (registers.ofm_shape()?, registers.pool()?);
    let results = pool.result(shape);
    let inside = |at: u32, results: u32, stride: u32, window: u32| {
        // The last window that begins before this index reaches furthest.
        at < (at / stride).min(results - 1) * stride + window
    };
    let rows = (0..shape.h).filter(|&row| inside(row, results.h, pool.stride_h, pool.h));
    let columns = (0..shape.w).filter(|&column| inside(column, results.w, pool.stride_w, pool.w));
    Ok(pixels(rows, columns, shape))
}

/// Returns pixel indices from rows and columns.
fn pixels(
    rows: impl Iterator<Item = u32>,
    columns: impl Iterator<Item = u32> + Clone,
    shape: Shape,
) -> Vec<u64> {
    let pixel = |row: u32, column: u32| u64::from(row) * u64::from(shape.w) + u64::from(column);
    rows.flat_map(|row| columns.clone().map(move |column| pixel(row, column))).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::config::Config;
    use crate::isa::op::{Addend, Pool, Post};
    use crate::program::Layer;

    /// Returns a program that loads tiles of 4 x 4 pixels, convolves them at every second pixel,
    /// and stores twice. Another layer does the second store; both have windows of 1 x 1 with steps
    /// of 2.
    fn program() -> Program {
        let (tile, result) = (Shape { h: 4, w: 4, c: 64 }, Shape { h: 2, w: 2, c: 64 });
        let work = [
            Op::LoadIfm { addr: 0 },
            Op::LoadKer { addr: 0 },
            Op::Conv { addend: Addend::Zero, h: 1, w: 0, n: 0 },
            Op::Store { addr: 3 },
        ];
        let registers = [
            Op::ShapeIfm(tile),
            Op::ShapeOfm(result),
            Op::ShapeKer { n: 1 },
            Op::MemIfm { bank: 0, w: 4 },
            Op::MemKer { bank: 1 },
            Op::MemOfm { bank: 3, h: 1, w: 1 },
            Op::Stride { h: 2, w: 2 },
            Op::Shift { ifm: 0, bias: 0 },
            Op::Post(Post::default()),
            Op::Pool(Pool { stride_h: 2, stride_w: 2, ..Pool::NONE }),
        ];
        let instructions = registers.into_iter().chain(work).chain(work).chain([Op::End]).collect();
        let layer = |first, count| Layer { first, count, ..Layer::default() };
        let config = Config::preset("ideal").unwrap();
        Program {
            layers: vec![layer(0, 14), layer(14, 4)],
            ..Program::of("tiles".to_owned(), "ideal".to_owned(), config, instructions)
        }
    }

    /// Maps the program with one time step per instruction.
    fn mapped(program: &Program) -> Vec<MemoryMap> {
        let layer = |index: usize| program.layers.iter().position(|layer| index < layer.first + layer.count);
        let steps = (0..=program.instructions.len()).map(|index| (layer(index), 1));
        maps(program, &program.config.timing, &Moments::new(steps))
    }

    /// Returns the row of each place that is ever needed: instructions and values.
    fn rows(map: &MemoryMap) -> Vec<(u64, Vec<(usize, i64)>)> {
        let runs = map.cells.chunks(2);
        let cells: Vec<i64> = runs.flat_map(|run| std::iter::repeat_n(run[0], run[1] as usize)).collect();
        let rows = cells.chunks(map.columns).enumerate().map(|(row, cells)| {
            let full = cells.iter().enumerate().filter(|(_, value)| **value != 0);
            (row as u64 * map.places_per_row, full.map(|(column, value)| (column, *value)).collect())
        });
        rows.filter(|(_, cells): &(u64, Vec<_>)| !cells.is_empty()).collect()
    }

    fn during(instructions: std::ops::RangeInclusive<usize>, value: i64) -> Vec<(usize, i64)> {
        instructions.map(|instruction| (instruction, value)).collect()
    }

    #[test]
    fn places_are_needed_by_who_reads_them() {
        let program = program();
        let found = mapped(&program);
        let names: Vec<_> = found.iter().map(|map| (&map.name[..], map.places, map.used)).collect();
        let (ifm, ker, bank) = (("ifm", 4096, 2048 + 15), ("ker", 72, 36 + 4), 1 << 22);
        let banks = [("dram, bank 0", bank, 16), ("dram, bank 1", bank, 64)];
        assert_eq!(names, [&[ifm, ker, ("ofm", 2048, 1)][..], &banks].concat(), "bank 3 is not read");
        // Four slices in the first bank, then four in the second.
        let kernel =
            |first, load, value| (first..first + 4).map(move |slice| (slice, during(load..=load + 1, value)));
        assert_eq!(rows(&found[1]), kernel(0, 11, 1).chain(kernel(36, 15, 2)).collect::<Vec<_>>());
        // No window covers the other sums.
        assert_eq!(rows(&found[2]), [(0, [during(12..=13, 1), during(16..=17, 2)].concat())]);
        assert_eq!(rows(&found[3]), (0..16).map(|slot| (slot, during(0..=14, -1))).collect::<Vec<_>>());
        let one_bank = Timing { ifm_banks: 1, ..program.config.timing.clone() };
        let steps = (0..=program.instructions.len()).map(|_| (None, 1));
        let found = maps(&program, &one_bank, &Moments::new(steps));
        // Only rows 1 and 3 and columns 0 and 2 are read.
        let twice = [during(10..=12, 1), during(14..=16, 1)].concat();
        assert_eq!(rows(&found[0]), [4, 6, 12, 14].map(|pixel| (pixel, twice.clone())));
    }

    #[test]
    fn nothing_is_needed_after_a_fault() {
        let mut program = program();
        program.instructions.insert(11, Op::ShapeIfm(Shape { h: 4, w: 4, c: 64 }));
        let found = mapped(&program);
        let names: Vec<_> = found.iter().map(|map| &map.name[..]).collect();
        assert_eq!(names, ["dram, bank 0", "dram, bank 1"], "the tile is not valid when it is convolved");
    }

    #[test]
    fn bytes_belong_to_their_units() {
        let extent = Extent { first: (1 << 28) - 1, end: (1 << 28) + 65 };
        assert_eq!((units(extent, 0), units(extent, 1)), (BANK - 1..BANK, 0..2));
        assert!(units(extent, 2).is_empty() && units(extent, 15).is_empty());
    }
}
