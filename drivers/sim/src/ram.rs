//! Memory shared by driver and accelerator: [`Ram`]. Unwritten memory holds garbage.

use std::collections::BTreeMap;

const PAGE: usize = 1 << 16;
/// Seed of the memory content after power-on.
const SEED: u64 = 0x6E70_756B;

/// Memory starting at address 0. Only used pages are allocated.
pub struct Ram {
    size: u64,
    pages: BTreeMap<u64, Vec<u8>>,
}

impl Ram {
    /// Creates a memory of `size` bytes.
    pub const fn new(size: u64) -> Self {
        Self { size, pages: BTreeMap::new() }
    }

    /// Whether a range of addresses is within the memory.
    pub fn holds(&self, address: u64, bytes: usize) -> bool {
        address.checked_add(bytes as u64).is_some_and(|end| end <= self.size)
    }

    fn page(&mut self, number: u64) -> &mut Vec<u8> {
        self.pages.entry(number).or_insert_with(|| {
            let mut next = npukit_target::sim::garbage(SEED ^ number);
            let words = std::iter::repeat_with(|| next().to_le_bytes());
            words.take(PAGE / 8).flatten().collect()
        })
    }

    /// Calls `part` with each page's part of a range, and its offset in the range.
    fn each(&mut self, address: u64, bytes: usize, mut part: impl FnMut(&mut [u8], usize)) -> Option<()> {
        if !self.holds(address, bytes) {
            return None;
        }
        let mut done = 0;
        while done < bytes {
            let at = address + done as u64;
            let start = (at % PAGE as u64) as usize;
            let count = (PAGE - start).min(bytes - done);
            let page = self.page(at / PAGE as u64);
            part(&mut page[start..start + count], done);
            done += count;
        }
        Some(())
    }

    /// Copies bytes out; `None` beyond the end.
    pub fn read(&mut self, address: u64, out: &mut [u8]) -> Option<()> {
        self.each(address, out.len(), |page, at| out[at..at + page.len()].copy_from_slice(page))
    }

    /// Copies bytes in; `None` beyond the end.
    pub fn write(&mut self, address: u64, bytes: &[u8]) -> Option<()> {
        self.each(address, bytes.len(), |page, at| page.copy_from_slice(&bytes[at..at + page.len()]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_across_pages_and_nothing_beyond_the_end() {
        let mut ram = Ram::new(3 * PAGE as u64);
        let (bytes, mut back) = ([7; PAGE + 2], [0; PAGE + 2]);
        let at = PAGE as u64 - 1;
        assert_eq!((ram.write(at, &bytes), ram.read(at, &mut back)), (Some(()), Some(())));
        assert_eq!(back, bytes);
        assert_eq!(ram.write(3 * PAGE as u64 - 1, &[0; 2]), None);
        assert_eq!(ram.read(u64::MAX, &mut [0]), None);
    }
}
