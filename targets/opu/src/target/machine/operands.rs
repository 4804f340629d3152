//! Operands of a single number that an instruction has written.

use npukit_target::{AddressRun, Operand, Scalar};

use super::Stepped;
use super::parts::Part;
use crate::isa::fault::Buffer;
use crate::isa::op::{Access, Addend, Direction, Effects, Op, Order, Pool, Registers};

impl Stepped {
    /// Returns the operands from which the instruction computed `scalar`; empty if it only clears
    /// or sets it.
    pub(super) fn operands(&self, step: usize, scalar: Scalar) -> Vec<Operand> {
        let (Some(op), Some(effects), Some(registers)) =
            (self.ops.get(step), self.effects.get(step), self.registers.get(step))
        else {
            return Vec::new();
        };
        let found = match (self.parts.get(scalar.memory), op) {
            (Some(&Part::Buffer(Buffer::Ofm)), &Op::Conv { addend, h, w, n }) => {
                self.of_tap(registers, (addend, [h, w, n]), scalar)
            }
            (Some(&Part::Buffer(buffer)), _) => self.of_load(effects, registers, buffer, scalar),
            (Some(&part), Op::Store { .. }) => self.of_bytes(effects, registers, part, scalar),
            _ => None,
        };
        // Default: lanes after the channels have no operands, and registers depend on the
        // instruction alone.
        found.unwrap_or_default()
    }

    /// Returns the operands of a partial sum: the channels of a pixel, the weights of its channel,
    /// and the addend.
    fn of_tap(
        &self,
        registers: &Registers,
        (addend, [h, w, n]): (Addend, [u32; 3]),
        Scalar { address, lane, .. }: Scalar,
    ) -> Option<Vec<Operand>> {
        let (ifm, ofm, stride) = (registers.ifm?, registers.ofm?, registers.stride?);
        if lane >= ofm.c as usize {
            return None;
        }
        let (y, x) = (address / u64::from(ofm.w), address % u64::from(ofm.w));
        let row = u64::from(h) + y * u64::from(stride.h);
        let pixel = row * u64::from(ifm.w) + u64::from(w) + x * u64::from(stride.w);
        let slice = u64::from(n) * u64::from(ofm.c) + lane as u64;
        let all = |role, buffer, address| self.row_of(role, buffer, (address, 1), None);
        let added = match addend {
            Addend::Zero => None,
            Addend::Bias => self.row_of("bias", Buffer::Bias, (0, 1), Some(lane)),
            Addend::Ofm => self.row_of("added to", Buffer::Ofm, (address, 1), Some(lane)),
        };
        let operands = [all("input", Buffer::Ifm, pixel), all("weights", Buffer::Ker, slice), added];
        Some(operands.into_iter().flatten().collect())
    }

    /// Returns the operand of a loaded number: its location in memory.
    fn of_load(
        &self,
        effects: &Effects,
        registers: &Registers,
        buffer: Buffer,
        Scalar { address, lane, .. }: Scalar,
    ) -> Option<Vec<Operand>> {
        let access = &effects.memory;
        if effects.writes != Some(buffer) || access.direction != Direction::Read {
            return None;
        }
        let size = u64::from(buffer.data_type(&self.config.types).size_bytes());
        let inner = u64::from(if buffer == Buffer::Bias { registers.ofm? } else { registers.ifm? }.c);
        if lane as u64 >= inner {
            return None;
        }
        let byte = match buffer {
            Buffer::Ifm => {
                let width = u64::from(registers.ifm?.w);
                access.base
                    + address / width * access.pitch
                    + address % width * access.slot
                    + lane as u64 * size
            }
            _ => access.base + (address * inner + lane as u64) * size,
        };
        Some(vec![self.element("loaded", buffer, byte, size)])
    }

    /// Returns the operands of a stored number in memory: the operands of all elements
    /// that share a byte with it.
    fn of_bytes(
        &self,
        effects: &Effects,
        registers: &Registers,
        part: Part,
        Scalar { address, lane, .. }: Scalar,
    ) -> Option<Vec<Operand>> {
        let types = &self.config.types;
        let size = part.data_type(types).map_or(1, |data_type| u64::from(data_type.size_bytes())); // Default: one byte.
        let first = part.place(types, address)?.address + lane as u64 * size;
        let stored = u64::from(types.itype.size_bytes());
        let mut elements: Vec<[u64; 3]> =
            (first..first + size).filter_map(|byte| stored_at(&effects.memory, byte, stored)).collect();
        elements.dedup();
        let operands = elements.into_iter().filter_map(|element| self.of_element(registers, element));
        Some(operands.flatten().collect())
    }

    /// Returns the operands of element `[row, column, channel]` of a result: the partial sums of
    /// its window, and the residual.
    fn of_element(&self, registers: &Registers, [i, j, channel]: [u64; 3]) -> Option<Vec<Operand>> {
        let (ofm, post, pool) = (registers.ofm?, registers.post?, registers.pool?);
        let lane = Some(channel as usize);
        let Pool { h, w, stride_h, stride_w } = pool;
        let (top, left) = (i * u64::from(stride_h), j * u64::from(stride_w));
        let window = |role, buffer, width: u32| {
            let rows = (top..top + u64::from(h)).map(move |y| (y * u64::from(width) + left, u64::from(w)));
            rows.filter_map(|run| self.row_of(role, buffer, run, lane)).collect::<Vec<_>>()
        };
        let mut operands = window("sum", Buffer::Ofm, ofm.w);
        if post.res {
            let width = registers.ifm?.w;
            match post.order {
                Order::ActPoolRes => {
                    operands.extend(self.row_of(
                        "added to",
                        Buffer::Ifm,
                        (i * u64::from(width) + j, 1),
                        lane,
                    ));
                }
                Order::ActResPool | Order::ResActPool => {
                    operands.extend(window("added to", Buffer::Ifm, width));
                }
            }
        }
        Some(operands)
    }

    /// Returns addresses of a buffer.
    fn row_of(
        &self,
        role: &'static str,
        buffer: Buffer,
        (first, count): (u64, u64),
        lane: Option<usize>,
    ) -> Option<Operand> {
        let memory = self.place(Part::Buffer(buffer))?;
        Some(Operand { role, run: AddressRun::dense(memory, first, count), lane, since: None })
    }

    /// Returns the element of memory at a byte, as loads of a buffer see it; as single bytes if it
    /// spans their elements.
    fn element(&self, role: &'static str, buffer: Buffer, byte: u64, size: u64) -> Operand {
        let types = &self.config.types;
        let seen = self.parts.iter().enumerate().filter(|(_, part)| part.is_for(buffer));
        let in_view = |(memory, part): (usize, &Part)| {
            let ((start, pitch), depth) = (part.bytes(types)?, self.outline.memories[memory].depth);
            let offset = byte.checked_sub(start).filter(|offset| offset / pitch < depth)?;
            offset.is_multiple_of(size).then(|| Operand {
                role,
                run: AddressRun::dense(memory, offset / pitch, 1),
                lane: Some((offset % pitch / size) as usize),
                since: None,
            })
        };
        let in_bytes = || Operand { role, run: AddressRun::dense(0, byte, size), lane: Some(0), since: None };
        // Default: memory also has a name byte by byte, as the first part.
        seen.filter_map(in_view).next().unwrap_or_else(in_bytes)
    }
}

/// Returns the element (row, column, channel) that a store writes to a byte. Of overlapping rows,
/// the last one remains.
fn stored_at(access: &Access, byte: u64, size: u64) -> Option<[u64; 3]> {
    (0..u64::from(access.rows)).rev().find_map(|row| {
        let offset = byte.checked_sub(access.base + row * access.pitch)?;
        let (column, within) = (offset / access.slot, offset % access.slot);
        (column < u64::from(access.slots) && within < access.used).then(|| [row, column, within / size])
    })
}
