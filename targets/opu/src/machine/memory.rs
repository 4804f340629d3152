//! Memory of the machine: [`Memory`], 2^32 bytes; only the written parts are allocated.

use npukit_target::UninitMemory;
use npukit_target::sim::{Paged, garbage};

use crate::isa::memory::MEMORY_BYTES;

/// Bytes per line of the underlying storage.
const LINE: usize = 64;

/// Bytes that read as 0, or as [`UninitMemory`] specifies, until they are written. The caller must
/// check ranges with [`Memory::holds`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memory {
    bytes: Paged<u8>,
    poisoned: bool,
}

impl Default for Memory {
    fn default() -> Self {
        Self::new(UninitMemory::Zero)
    }
}

impl Memory {
    /// Creates a memory that was never written.
    pub fn new(unset: UninitMemory) -> Self {
        let mut bytes = Paged::new(LINE);
        match unset {
            UninitMemory::Zero => {}
            UninitMemory::Garbage(seed) => {
                let mut bits = garbage(seed);
                bytes.fill_with(|| bits() as u8);
            }
            UninitMemory::Poison => bytes.poison(),
        }
        Self { bytes, poisoned: unset == UninitMemory::Poison }
    }

    /// Whether the `bytes` bytes starting at `address` are inside the memory.
    pub const fn holds(address: u64, bytes: u64) -> bool {
        address <= MEMORY_BYTES && bytes <= MEMORY_BYTES - address
    }

    /// Reads bytes, starting at `address`.
    pub fn read(&self, address: u64, out: &mut [u8]) {
        self.bytes.read_from(line(address), out);
    }

    /// Writes bytes, starting at `address`.
    pub fn write(&mut self, address: u64, bytes: &[u8]) {
        self.bytes.write_from(line(address), bytes);
    }

    /// Whether reads of unwritten bytes are detected.
    pub const fn is_poisoned(&self) -> bool {
        self.poisoned
    }

    /// Returns the address of the first unwritten byte of the `bytes` bytes starting at `address`,
    /// if memory is [`UninitMemory::Poison`].
    pub fn unwritten(&self, address: u64, bytes: usize) -> Option<u64> {
        Some(address + self.bytes.unwritten_from(line(address), bytes)? as u64)
    }

    /// Sets `bytes` bytes, starting at `address`, to 0.
    pub fn clear(&mut self, address: u64, bytes: u64) {
        let (line, end) = (LINE as u64, address + bytes);
        let first = address.next_multiple_of(line).min(end);
        let last = (end / line * line).max(first);
        let zeros = [0; LINE];
        self.write(address, &zeros[..(first - address) as usize]);
        self.bytes.clear(first / line, ((last - first) / line) as usize);
        self.write(last, &zeros[..(end - last) as usize]);
    }
}

/// Returns the line of a byte, and its offset in the line.
const fn line(address: u64) -> (u64, usize) {
    (address / LINE as u64, (address % LINE as u64) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_wrote_is_what_was_asked_for() {
        let mut memory = Memory::new(UninitMemory::Poison);
        memory.write(100, &[1; 100]);
        memory.clear(256, 64);
        let unwritten = |address, bytes| memory.unwritten(address, bytes);
        assert_eq!((unwritten(100, 100), unwritten(99, 5), unwritten(100, 101)), (None, Some(99), Some(200)));
        assert_eq!((unwritten(256, 64), unwritten(300, 21)), (None, Some(320)));
        let cleared = |address: u64, bytes: u64| {
            let mut memory = Memory::default();
            memory.write(0, &[1; 512]);
            memory.clear(address, bytes);
            let mut held = [1; 512];
            memory.read(0, &mut held);
            (0..512).filter(|&byte| held[byte as usize] == 0).eq(address..address + bytes)
        };
        for (address, bytes) in
            [(0, 512), (64, 128), (70, 192), (70, 3), (100, 28), (128, 5), (60, 8), (9, 0)]
        {
            assert!(cleared(address, bytes), "{address} {bytes}");
        }
        let read = |unset| {
            let mut bytes = [0; 64];
            Memory::new(unset).read(1 << 20, &mut bytes);
            bytes
        };
        assert_eq!((read(UninitMemory::Zero), read(UninitMemory::Poison)), ([0; 64], [0; 64]));
        assert!(
            read(UninitMemory::Garbage(1)) != read(UninitMemory::Garbage(2))
                && read(UninitMemory::Garbage(1)) != [0; 64]
        );
        assert_eq!(read(UninitMemory::Garbage(1)), read(UninitMemory::Garbage(1)));
    }

    #[test]
    fn bytes_go_to_any_address() {
        let mut memory = Memory::default();
        let bytes: Vec<u8> = (1..=200).collect();
        memory.write(61, &bytes);
        memory.write(70, &[7]);
        memory.write(MEMORY_BYTES - 1, &[9]);
        let mut out = [0xFF; 204];
        memory.read(59, &mut out);
        assert_eq!(
            (&out[..4], out[11], &out[12..14], &out[201..]),
            (&[0, 0, 1, 2][..], 7, &[11, 12][..], &[200, 0, 0][..])
        );
        let mut last = [0; 2];
        memory.read(MEMORY_BYTES - 2, &mut last);
        assert_eq!(last, [0, 9]);
        assert!(Memory::holds(MEMORY_BYTES - 1, 1) && !Memory::holds(MEMORY_BYTES - 1, 2));
    }
}
