//! Off-chip memory: [`Paged`], of which only what was written exists.

use std::collections::HashMap;

/// A memory of vectors that may be far larger than the host's: pages appear when written to.
///
/// Addresses count vectors from an origin that can be moved; vectors never written are zero. Ranges
/// are the caller's to check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paged<T> {
    lanes: usize,
    /// Where vector 0 begins: whole vectors, and scalars beyond.
    origin: (u64, usize),
    pages: HashMap<u64, Box<[T]>>,
}

/// Vectors of a page.
const PAGE: u64 = 64;

impl<T: Copy + Default> Paged<T> {
    /// An empty memory of vectors of `lanes` scalars; `lanes` is at least 1.
    pub fn new(lanes: usize) -> Self {
        Self { lanes, origin: (0, 0), pages: HashMap::new() }
    }

    /// Vector 0 is from now on what begins at scalar `scalars` of the memory. Nothing is moved.
    pub fn set_origin(&mut self, scalars: u64) {
        let lanes = self.lanes as u64;
        self.origin = (scalars / lanes, (scalars % lanes) as usize);
    }

    /// Reads whole vectors from `address` on into `out`.
    pub fn read(&self, address: u64, out: &mut [T]) {
        for (page, offset, part) in self.parts(address, out.len()) {
            let out = &mut out[part];
            match self.pages.get(&page) {
                Some(values) => out.copy_from_slice(&values[offset..][..out.len()]),
                None => out.fill(T::default()),
            }
        }
    }

    /// Writes whole vectors from `address` on.
    pub fn write(&mut self, address: u64, values: &[T]) {
        let size = PAGE as usize * self.lanes;
        for (page, offset, part) in self.parts(address, values.len()) {
            let values = &values[part];
            let page = self.pages.entry(page).or_insert_with(|| vec![T::default(); size].into());
            page[offset..][..values.len()].copy_from_slice(values);
        }
    }

    /// Makes `vectors` whole vectors from `address` on zero again. Pages that are not there stay so.
    pub fn clear(&mut self, address: u64, vectors: usize) {
        for (page, offset, part) in self.parts(address, vectors * self.lanes) {
            if let Some(values) = self.pages.get_mut(&page) {
                values[offset..][..part.len()].fill(T::default());
            }
        }
    }

    /// Cuts `len` scalars from vector `address` on at the page ends: page, offset of the first
    /// scalar in it, and the range of the scalars that lie in it.
    fn parts(
        &self,
        address: u64,
        len: usize,
    ) -> impl Iterator<Item = (u64, usize, std::ops::Range<usize>)> + use<T> {
        let (lanes, size) = (self.lanes, PAGE as usize * self.lanes);
        let (vectors, scalars) = self.origin;
        let first = address + vectors;
        let mut page = first / PAGE;
        // Where the next scalar is in its page; beyond its end only at the start.
        let mut offset = (first % PAGE) as usize * lanes + scalars;
        let mut done = 0;
        std::iter::from_fn(move || {
            if offset >= size {
                (page, offset) = (page + 1, offset - size);
            }
            let end = len.min(done + size - offset);
            let part = (page, offset, done..end);
            offset += end - done;
            done = end;
            (!part.2.is_empty()).then_some(part)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_across_pages_come_back() {
        let mut memory = Paged::<i32>::new(3);
        let values: Vec<i32> = (1..=3 * 200).collect();
        memory.write(PAGE - 5, &values);
        memory.write(1 << 60, &[7, 8, 9]);
        let mut out = vec![-1; 3 * 202];
        memory.read(PAGE - 6, &mut out);
        assert_eq!(out[..3], [0; 3]);
        assert_eq!(out[3..603], values[..]);
        assert_eq!(out[603..], [0; 3]);
        let mut far = [0; 6];
        memory.read((1 << 60) - 1, &mut far);
        assert_eq!(far, [0, 0, 0, 7, 8, 9]);
        // Vectors 59 to 258 touch pages 0 to 4.
        assert_eq!(memory.pages.len(), 6);
        memory.clear(PAGE - 4, 500);
        memory.read(PAGE - 5, &mut out);
        assert_eq!((&out[..3], &out[3..600]), (&values[..3], &[0; 597][..]));
        assert_eq!(memory.pages.len(), 6);
    }

    #[test]
    fn the_origin_moves_what_addresses_mean() {
        let mut memory = Paged::<i32>::new(3);
        let values: Vec<i32> = (1..=3 * 130).collect();
        memory.set_origin(3 * 62 + 2);
        memory.write(1, &values);
        let read = |memory: &Paged<i32>, address, vectors: usize| {
            let mut out = vec![-1; 3 * vectors];
            memory.read(address, &mut out);
            out
        };
        assert_eq!(read(&memory, 1, 130), values);
        memory.set_origin(0);
        // Scalar 3 * 63 + 2 is the first.
        assert_eq!(read(&memory, 63, 2), [0, 0, 1, 2, 3, 4]);
        assert_eq!(read(&memory, 193, 1), [389, 390, 0]);
    }
}
