//! The machine's memory: [`Memory`], 2^32 bytes of which only what was written exists.

use npukit_sim::Paged;

use crate::layout::MEMORY_BYTES;

/// Bytes of the vectors underneath.
const LINE: usize = 64;

/// Bytes that read as 0 until they are written. Ranges are the caller's to check with [`Memory::holds`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memory(Paged<u8>);

impl Default for Memory {
    fn default() -> Self {
        Self(Paged::new(LINE))
    }
}

impl Memory {
    /// Whether `bytes` bytes from `address` on lie in memory.
    pub const fn holds(address: u64, bytes: u64) -> bool {
        address <= MEMORY_BYTES && bytes <= MEMORY_BYTES - address
    }

    /// Reads bytes from `address` on.
    pub fn read(&self, address: u64, out: &mut [u8]) {
        let (line, offset) = (address / LINE as u64, (address % LINE as u64) as usize);
        if offset == 0 {
            return self.0.read(line, out);
        }
        let (mut first, split) = ([0; LINE], (LINE - offset).min(out.len()));
        self.0.read(line, &mut first);
        let (head, tail) = out.split_at_mut(split);
        head.copy_from_slice(&first[offset..][..split]);
        self.0.read(line + 1, tail);
    }

    /// Writes bytes from `address` on.
    pub fn write(&mut self, address: u64, bytes: &[u8]) {
        let (line, offset) = (address / LINE as u64, (address % LINE as u64) as usize);
        if offset == 0 {
            return self.0.write(line, bytes);
        }
        let (head, tail) = bytes.split_at((LINE - offset).min(bytes.len()));
        let mut first = [0; LINE];
        self.0.read(line, &mut first);
        first[offset..][..head.len()].copy_from_slice(head);
        self.0.write(line, &first);
        self.0.write(line + 1, tail);
    }

    /// Makes `bytes` bytes from `address` on 0 again; both are multiples of 64.
    pub fn clear(&mut self, address: u64, bytes: u64) {
        self.0.clear(address / LINE as u64, bytes as usize / LINE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
