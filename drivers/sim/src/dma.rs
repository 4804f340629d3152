//! Registers of an AXI DMA engine in direct register mode, and the transfers that they start:
//! [`Dma`].
//!
//! Source: the vendor's product guide PG021. The engine was built without realignment: addresses
//! and lengths that are not whole beats are an internal error.

/// Direction of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// Memory to device (MM2S).
    ToDevice,
    /// Device to memory (S2MM).
    ToMemory,
}

/// A transfer that a driver has requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Channel of the transfer.
    pub channel: Channel,
    /// Address of the first byte.
    pub address: u64,
    /// Length in bytes.
    pub bytes: u32,
}

/// An error that ends a transfer, as a bit of the status register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum DmaError {
    /// Internal error (DMAIntErr).
    Internal = 1 << 4,
    /// Slave error (DMASlvErr).
    Slave = 1 << 5,
    /// Decode error (DMADecErr).
    Decode = 1 << 6,
}

const CONTROL: u64 = 0x00;
const STATUS: u64 = 0x04;
const ADDRESS: u64 = 0x18;
const ADDRESS_HIGH: u64 = 0x1C;
const LENGTH: u64 = 0x28;
const SECOND: u64 = 0x30;

const RUN: u32 = 1;
const RESET: u32 = 1 << 2;
const HALTED: u32 = 1;
const IDLE: u32 = 1 << 1;
const COMPLETE: u32 = 1 << 12;

#[derive(Clone, Copy, Debug, Default)]
struct Registers {
    control: u32,
    status: u32,
    address: u64,
    length: u32,
}

/// An AXI DMA engine.
#[derive(Clone, Debug)]
pub struct Dma {
    base: u64,
    beat_bytes: u32,
    /// Remaining reads of the control register until a reset is over.
    resetting: u32,
    channels: [Registers; 2],
}

impl Dma {
    /// Size of the register range in bytes.
    const SPAN: u64 = 0x60;

    /// Creates an engine with registers at `base` and beats of `beat_bytes` bytes.
    pub fn new(base: u64, beat_bytes: u32) -> Self {
        let channels = [Registers { status: HALTED, ..Registers::default() }; 2];
        Self { base, beat_bytes, resetting: 0, channels }
    }

    fn place(&self, address: u64) -> Option<(usize, u64)> {
        let at = address.checked_sub(self.base).filter(|at| *at < Self::SPAN)?;
        Some(if at < SECOND { (0, at) } else { (1, at - SECOND) })
    }

    /// Whether an address is within the engine's registers.
    pub fn has(&self, address: u64) -> bool {
        self.place(address).is_some()
    }

    /// Reads a register; `None` if it does not exist.
    pub fn read(&mut self, address: u64) -> Option<u32> {
        let (channel, register) = self.place(address)?;
        let registers = self.channels[channel];
        Some(match register {
            CONTROL if self.resetting > 0 => {
                self.resetting -= 1;
                registers.control | RESET
            }
            CONTROL => registers.control,
            STATUS => registers.status,
            ADDRESS => registers.address as u32,
            ADDRESS_HIGH => (registers.address >> 32) as u32,
            LENGTH => registers.length,
            _ => 0,
        })
    }

    /// Writes a register, which may start a transfer.
    pub fn write(&mut self, address: u64, value: u32) -> Option<Option<Transfer>> {
        let (index, register) = self.place(address)?;
        let registers = &mut self.channels[index];
        match register {
            CONTROL if value & RESET != 0 => {
                *self = Self { resetting: 2, ..Self::new(self.base, self.beat_bytes) };
            }
            CONTROL => {
                registers.control = value;
                registers.status = registers.status & !HALTED | u32::from(value & RUN == 0);
            }
            STATUS => registers.status &= !(value & 0x7000),
            ADDRESS => registers.address = registers.address >> 32 << 32 | u64::from(value),
            ADDRESS_HIGH => registers.address = registers.address & 0xFFFF_FFFF | u64::from(value) << 32,
            LENGTH => return Some(self.begin(index, value)),
            _ => {}
        }
        Some(None)
    }

    /// Starts a transfer, unless the channel is halted or busy, or the request is invalid.
    fn begin(&mut self, index: usize, bytes: u32) -> Option<Transfer> {
        let beat = self.beat_bytes;
        let registers = &mut self.channels[index];
        if registers.status & HALTED != 0 || bytes == 0 {
            return None;
        }
        registers.length = bytes;
        registers.status &= !(IDLE | COMPLETE);
        let channel = if index == 0 { Channel::ToDevice } else { Channel::ToMemory };
        if !registers.address.is_multiple_of(beat.into()) || !bytes.is_multiple_of(beat) {
            self.fail(channel, DmaError::Internal);
            return None;
        }
        Some(Transfer { channel, address: registers.address, bytes })
    }

    /// Ends the transfer of a channel after `bytes` bytes.
    pub fn complete(&mut self, channel: Channel, bytes: u32) {
        let registers = &mut self.channels[channel as usize];
        registers.status |= IDLE | COMPLETE;
        registers.length = bytes;
    }

    /// Ends the transfer with an error, which halts the engine.
    pub fn fail(&mut self, channel: Channel, error: DmaError) {
        self.channels[channel as usize].status |= HALTED | error as u32;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn started(address: u32, length: u32) -> (Dma, Option<Transfer>) {
        let mut dma = Dma::new(0x1000, 8);
        dma.write(0x1000, RUN).unwrap();
        dma.write(0x1018, address).unwrap();
        let transfer = dma.write(0x1028, length).unwrap();
        (dma, transfer)
    }

    #[test]
    fn a_transfer_is_busy_until_it_is_complete() {
        let (mut dma, transfer) = started(0x80, 16);
        assert_eq!(transfer, Some(Transfer { channel: Channel::ToDevice, address: 0x80, bytes: 16 }));
        assert_eq!(dma.read(0x1004), Some(0));
        dma.complete(Channel::ToDevice, 16);
        assert_eq!(dma.read(0x1004), Some(IDLE | COMPLETE));
    }

    #[test]
    fn parts_of_beats_are_an_internal_error() {
        let (mut dma, transfer) = started(0x84, 16);
        assert_eq!((transfer, dma.read(0x1004)), (None, Some(HALTED | 1 << 4)));
    }

    #[test]
    fn a_halted_channel_begins_nothing() {
        let mut dma = Dma::new(0, 4);
        assert_eq!(dma.write(0x58, 4), Some(None));
        assert_eq!((dma.read(0x34), dma.read(0x60)), (Some(HALTED), None));
    }
}
