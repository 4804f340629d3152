//! Off-chip memory: [`Paged`], which allocates only what was written.

use std::collections::HashMap;
use std::sync::Arc;

/// A memory of vectors that may be far larger than the host's; pages are allocated when written.
///
/// Addresses are vector indices relative to a movable origin. Unwritten vectors are zero, or
/// garbage. The caller must check ranges. A copy shares the pages that neither side has written
/// since.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paged<T> {
    lanes: usize,
    /// Origin of vector 0: whole vectors, and scalars beyond.
    origin: (u64, usize),
    pages: HashMap<u64, Arc<[T]>>,
    /// Initial content of a page; zero if `None`.
    garbage: Option<Arc<[T]>>,
    /// Whether each scalar was written since [`Paged::poison`], by page; `None` before.
    written: Option<HashMap<u64, Arc<[bool]>>>,
}

/// Vectors per page.
const PAGE: u64 = 64;

impl<T: Clone + Default> Paged<T> {
    /// Creates an empty memory of vectors of `lanes` scalars; `lanes` is at least 1.
    pub fn new(lanes: usize) -> Self {
        Self { lanes, origin: (0, 0), pages: HashMap::new(), garbage: None, written: None }
    }

    /// Makes vector 0 begin at scalar `scalars` of the memory. No data is moved.
    pub fn set_origin(&mut self, scalars: u64) {
        let lanes = self.lanes as u64;
        self.origin = (scalars / lanes, (scalars % lanes) as usize);
    }

    /// Sets the content of unwritten memory to values from `scalar`, the same on every page.
    pub fn fill_with(&mut self, scalar: impl FnMut() -> T) {
        self.garbage = Some(std::iter::repeat_with(scalar).take(self.page_scalars()).collect());
    }

    /// Marks every scalar as unwritten.
    pub fn poison(&mut self) {
        self.written = Some(HashMap::new());
    }

    /// Returns the first vector that holds an unwritten scalar, among `len` scalars starting at
    /// vector `address`. `None` if all were written since [`Paged::poison`], or if poison is not
    /// enabled.
    pub fn unwritten(&self, address: u64, len: usize) -> Option<u64> {
        let scalar = self.unwritten_from((address, 0), len)?;
        Some(address + (scalar / self.lanes) as u64)
    }

    /// Like [`Paged::unwritten`], starting at scalar `skip` of vector `address`; returns an index
    /// among the `len` scalars.
    pub fn unwritten_from(&self, (address, skip): (u64, usize), len: usize) -> Option<usize> {
        let written = self.written.as_ref()?;
        self.parts((address, skip), len).find_map(|(page, offset, part)| match written.get(&page) {
            Some(flags) => {
                flags[offset..][..part.len()].iter().position(|&flag| !flag).map(|at| part.start + at)
            }
            None => Some(part.start),
        })
    }

    /// Marks `len` scalars, starting at scalar `at`, as written.
    fn note_written(&mut self, at: (u64, usize), len: usize) {
        let size = self.page_scalars();
        let parts = self.parts(at, len);
        if let Some(written) = &mut self.written {
            for (page, offset, part) in parts {
                let flags = written.entry(page).or_insert_with(|| vec![false; size].into());
                Arc::make_mut(flags)[offset..][..part.len()].fill(true);
            }
        }
    }

    fn page_scalars(&self) -> usize {
        PAGE as usize * self.lanes
    }

    /// Reads whole vectors, starting at `address`, into `out`.
    pub fn read(&self, address: u64, out: &mut [T]) {
        self.read_from((address, 0), out);
    }

    /// Reads scalars, starting at scalar `skip` of vector `address`; `skip` is less than the vector
    /// length.
    pub fn read_from(&self, (address, skip): (u64, usize), out: &mut [T]) {
        for (page, offset, part) in self.parts((address, skip), out.len()) {
            let out = &mut out[part];
            match self.pages.get(&page) {
                Some(values) => out.clone_from_slice(&values[offset..][..out.len()]),
                None => match &self.garbage {
                    Some(garbage) => out.clone_from_slice(&garbage[offset..][..out.len()]),
                    None => out.fill(T::default()),
                },
            }
        }
    }

    /// Writes whole vectors, starting at `address`.
    pub fn write(&mut self, address: u64, values: &[T]) {
        self.write_from((address, 0), values);
    }

    /// Writes scalars, starting at scalar `skip` of vector `address`; `skip` is less than the
    /// vector length.
    pub fn write_from(&mut self, (address, skip): (u64, usize), values: &[T]) {
        for (page, offset, part) in self.parts((address, skip), values.len()) {
            let values = &values[part];
            self.page(page)[offset..][..values.len()].clone_from_slice(values);
        }
        self.note_written((address, skip), values.len());
    }

    /// Returns a page for writing; a new page has the initial content.
    fn page(&mut self, page: u64) -> &mut [T] {
        let (size, garbage) = (self.page_scalars(), &self.garbage);
        let new = || garbage.clone().unwrap_or_else(|| vec![T::default(); size].into());
        Arc::make_mut(self.pages.entry(page).or_insert_with(new))
    }

    /// Writes zero to `vectors` whole vectors, starting at `address`. Missing pages that read as
    /// zero are not allocated.
    pub fn clear(&mut self, address: u64, vectors: usize) {
        let len = vectors * self.lanes;
        for (page, offset, part) in self.parts((address, 0), len) {
            if self.garbage.is_some() || self.pages.contains_key(&page) {
                self.page(page)[offset..][..part.len()].fill(T::default());
            }
        }
        self.note_written((address, 0), len);
    }

    /// Splits `len` scalars, starting at scalar `skip` of vector `address`, at page boundaries.
    /// Yields the page, the offset of the first scalar in it, and the range of the scalars in the
    /// page.
    fn parts(
        &self,
        (address, skip): (u64, usize),
        len: usize,
    ) -> impl Iterator<Item = (u64, usize, std::ops::Range<usize>)> + use<T> {
        let (lanes, size) = (self.lanes, PAGE as usize * self.lanes);
        let (vectors, scalars) = self.origin;
        let first = address + vectors;
        let mut page = first / PAGE;
        // Offset of the next scalar in its page; exceeds the page only at the start.
        let mut offset = (first % PAGE) as usize * lanes + scalars + skip;
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
    fn garbage_lies_wherever_nobody_wrote() {
        let mut memory = Paged::<i32>::new(3);
        let mut next = 0;
        memory.fill_with(|| {
            next += 1;
            next
        });
        memory.write(PAGE + 1, &[-1, -2, -3]);
        memory.clear(3, 1);
        let mut out = [0; 12];
        memory.read(PAGE, &mut out);
        assert_eq!(out, [1, 2, 3, -1, -2, -3, 7, 8, 9, 10, 11, 12]);
        memory.read(2, &mut out);
        assert_eq!(out, [7, 8, 9, 0, 0, 0, 13, 14, 15, 16, 17, 18]);
    }

    #[test]
    fn poison_lasts_until_a_scalar_is_written() {
        let mut memory = Paged::<i32>::new(3);
        assert_eq!(memory.unwritten(0, 1000), None);
        memory.poison();
        memory.write(PAGE - 1, &[1; 6]);
        memory.clear(5, 1);
        assert_eq!((memory.unwritten(PAGE - 1, 6), memory.unwritten(5, 3)), (None, None));
        assert_eq!((memory.unwritten(PAGE - 1, 7), memory.unwritten(4, 6)), (Some(PAGE + 1), Some(4)));
        // These scalars again, relative to an origin one scalar further.
        memory.set_origin(1);
        assert_eq!((memory.unwritten(PAGE - 1, 5), memory.unwritten(PAGE - 1, 6)), (None, Some(PAGE)));
    }

    #[test]
    fn scalars_inside_a_vector_are_written_alone() {
        let mut memory = Paged::<i32>::new(3);
        memory.poison();
        memory.set_origin(2);
        memory.write_from((PAGE - 1, 2), &[7, 8, 9]);
        let mut out = [0; 5];
        memory.read_from((PAGE - 1, 1), &mut out);
        assert_eq!(out, [0, 7, 8, 9, 0]);
        assert_eq!(memory.unwritten_from((PAGE - 1, 2), 4), Some(3));
        assert_eq!(memory.unwritten_from((PAGE - 1, 1), 4), Some(0));
        assert_eq!((memory.unwritten(PAGE - 1, 6), memory.unwritten(PAGE, 3)), (Some(PAGE - 1), Some(PAGE)));
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
