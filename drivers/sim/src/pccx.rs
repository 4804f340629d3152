//! Board of pccx: its machine with the command window, and two of its data movers. Memory is the
//! first GiB.
//!
//! The registers follow the specification, 3.6. A 64-bit write to [`WINDOW`] is an instruction; a
//! read pops a status, and the first eight are old. Control pages of the movers follow. A MEMCPY
//! runs when its mover has a command, and ends with the mover's status.

use npukit_pccx::internals::op::{Cache, Device, Memcpy};
use npukit_pccx::{Codec, Config, Direction, Machine, Op};
use npukit_target::UninitMemory;

use crate::MakeBoard;
use crate::faults::{Fault, Faults};
use crate::ram::Ram;
use crate::server;

const WINDOW: u64 = 0xA000_0000;
const TO_DEVICE: u64 = WINDOW + 0x5000;
const FROM_DEVICE: u64 = WINDOW + 0x6000;
const PAGE: u64 = 0x1000;
const RAM_BYTES: u64 = 1 << 30;
const GARBAGE: u64 = 0x7063_6378;

/// Number of status words that are older than the last instruction.
const STALE: u32 = 8;
const BUSY: u64 = 1;
const DONE: u64 = 2;

const COMMAND_LOW: u64 = 0x00;
const COMMAND_HIGH: u64 = 0x04;
const COMMAND_PUSH: u64 = 0x0C;
const STATUS_POP: u64 = 0x10;
const FLAGS: u64 = 0x14;
const FLAG_COMMAND_EMPTY: u32 = 1;
const FLAG_STATUS_EMPTY: u32 = 1 << 2;
const OKAY: u32 = 1 << 7;
const INTERNAL: u32 = 1 << 4;
const DECODE: u32 = 1 << 5;
const SLAVE: u32 = 1 << 6;

#[derive(Default)]
struct Mover {
    low: u32,
    high: u32,
    command: Option<(u64, usize)>,
    status: Option<u32>,
}

struct Board {
    machine: Machine,
    ram: Ram,
    movers: [Mover; 2],
    status: u64,
    stale: u32,
}

/// Returns the maker of boards of a preset.
pub fn maker(instance: &str) -> Result<MakeBoard, String> {
    let config = Config::preset(instance).ok_or_else(|| format!("unknown pccx instance `{instance}`"))?;
    Ok(Box::new(move || {
        let machine =
            Machine::with(&config, UninitMemory::Garbage(GARBAGE)).map_err(|error| error.to_string())?;
        let (ram, movers) = (Ram::new(RAM_BYTES), Default::default());
        Ok(Box::new(Board { machine, ram, movers, status: 0, stale: 0 }))
    }))
}

/// Mover of an address, and the register in its page.
fn mover_of(address: u64) -> Option<(usize, u64)> {
    let pages = [TO_DEVICE, FROM_DEVICE].into_iter().enumerate();
    pages.filter_map(|(mover, page)| Some((mover, address.checked_sub(page)?))).find(|(_, at)| *at < PAGE)
}

impl server::Board for Board {
    fn read_register(&mut self, address: u64, bytes: &mut [u8], _: &mut Faults) -> Option<()> {
        if address == WINDOW {
            let is_stale = self.stale > 0;
            self.stale = self.stale.saturating_sub(1);
            let status = if is_stale { DONE } else { self.status };
            return (bytes.len() == 8).then(|| bytes.copy_from_slice(&status.to_le_bytes()));
        }
        let (mover, register) = mover_of(address)?;
        let mover = &mut self.movers[mover];
        let value = match register {
            STATUS_POP => mover.status.take()?,
            FLAGS => {
                let command = if mover.command.is_none() { FLAG_COMMAND_EMPTY } else { 0 };
                command | if mover.status.is_none() { FLAG_STATUS_EMPTY } else { 0 }
            }
            _ => 0,
        };
        (bytes.len() == 4).then(|| bytes.copy_from_slice(&value.to_le_bytes()))
    }

    fn write_register(&mut self, address: u64, bytes: &[u8], faults: &mut Faults) -> Option<()> {
        if address == WINDOW {
            self.issue(u64::from_le_bytes(bytes.try_into().ok()?), faults);
            return Some(());
        }
        let value = u32::from_le_bytes(bytes.try_into().ok()?);
        let (mover, register) = mover_of(address)?;
        let mover = &mut self.movers[mover];
        match register {
            COMMAND_LOW => mover.low = value,
            COMMAND_HIGH => mover.high = value,
            COMMAND_PUSH => mover.command = Some((mover.high.into(), (mover.low & 0x7F_FFFF) as usize)),
            _ => {}
        }
        Some(())
    }

    fn read_memory(&mut self, address: u64, bytes: &mut [u8]) -> Option<()> {
        self.ram.read(address, bytes)
    }

    fn write_memory(&mut self, address: u64, bytes: &[u8]) -> Option<()> {
        self.ram.write(address, bytes)
    }
}

impl Board {
    /// Executes an instruction, which may leave the device busy forever.
    fn issue(&mut self, word: u64, faults: &mut Faults) {
        (self.status, self.stale) = (BUSY, STALE);
        let Ok(op) = (Codec { extensions: false, strict: true }).decode(word) else { return };
        let stalls = faults.is_due(Fault::Stall);
        let done = match op {
            _ if stalls => None,
            Op::Memcpy(memcpy) => self.copy(&op, &memcpy, faults),
            _ => self.machine.step(&op).ok(),
        };
        if done.is_some() && !matches!(op, Op::Memcpy(_)) {
            self.status = DONE;
        }
    }

    /// Executes a MEMCPY with the command of its mover.
    fn copy(&mut self, op: &Op, memcpy: &Memcpy, faults: &mut Faults) -> Option<()> {
        let is_in = memcpy.from_device == Device::Host;
        let (address, bytes) = self.movers[usize::from(!is_in)].command.take()?;
        let shape = self.machine.constant(Cache::FmapShape, memcpy.shape_ptr_addr);
        let values = u64::from(shape.x) * u64::from(shape.y) * u64::from(shape.z);
        let wrong = [(Fault::DmaInternal, INTERNAL), (Fault::DmaSlave, SLAVE), (Fault::DmaDecode, DECODE)];
        let injected = wrong.into_iter().find(|(fault, _)| faults.is_due(*fault)).map(|(_, bit)| bit);
        let short = (values.div_ceil(8) * 16 != bytes as u64).then_some(INTERNAL);
        let failed = injected
            .or(short)
            .or_else(|| self.move_bytes(op, memcpy, address, bytes).is_none().then_some(DECODE));
        self.movers[usize::from(!is_in)].status = Some(failed.unwrap_or(OKAY) | (bytes as u32) << 8);
        Some(())
    }

    fn move_bytes(&mut self, op: &Op, memcpy: &Memcpy, address: u64, bytes: usize) -> Option<()> {
        let start = memcpy.aux_addr as usize * 16;
        let mut window = vec![0; start + bytes];
        let (direction, number) = match memcpy.from_device {
            Device::Host => {
                self.ram.read(address, &mut window[start..])?;
                (Direction::HostToL2, memcpy.src_addr)
            }
            Device::Npu => (Direction::L2ToHost, memcpy.dest_addr),
        };
        self.machine.bind_window(direction, number, window).ok()?;
        self.machine.step(op).ok()?;
        if direction == Direction::L2ToHost {
            let moved = self.machine.window(direction, number)?.get(start..)?.to_vec();
            self.ram.write(address, &moved)?;
        }
        Some(())
    }
}
