//! On-chip memory: [`Flat`], all vectors one after the other.

use thiserror::Error;

/// A memory that would not fit the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{depth} vectors of {lanes} scalars are more than {limit_bytes} bytes")]
pub struct TooLarge {
    /// Vectors.
    pub depth: u64,
    /// Scalars of a vector.
    pub lanes: usize,
    /// Largest size.
    pub limit_bytes: u64,
}

/// A memory of vectors, all of it allocated, all zero at the start.
///
/// Addresses count vectors. The caller has checked them: an address at or beyond the depth panics.
#[derive(Clone, Debug)]
pub struct Flat<T> {
    lanes: usize,
    values: Vec<T>,
    /// By vector, whether it was written since [`Flat::poison`]; none before.
    written: Option<Vec<bool>>,
}

impl<T: Clone + Default> Flat<T> {
    /// Largest size. Untouched parts cost nothing: the host hands out zero pages when they are written.
    pub const LIMIT_BYTES: u64 = 1 << 30;

    /// A memory of `depth` vectors of `lanes` scalars.
    ///
    /// # Errors
    ///
    /// [`TooLarge`] above [`Flat::LIMIT_BYTES`].
    pub fn new(depth: u64, lanes: usize) -> Result<Self, TooLarge> {
        let bytes = u128::from(depth).saturating_mul(lanes as u128).saturating_mul(size_of::<T>() as u128);
        if bytes > u128::from(Self::LIMIT_BYTES) {
            return Err(TooLarge { depth, lanes, limit_bytes: Self::LIMIT_BYTES });
        }
        Ok(Self { lanes, values: vec![T::default(); depth as usize * lanes], written: None })
    }

    /// The vector at `address`.
    pub fn vector(&self, address: u64) -> &[T] {
        self.vectors(address, 1)
    }

    /// The vector at `address`, to write.
    pub fn vector_mut(&mut self, address: u64) -> &mut [T] {
        self.vectors_mut(address, 1)
    }

    /// `count` vectors from `address` on.
    pub fn vectors(&self, address: u64, count: u64) -> &[T] {
        &self.values[address as usize * self.lanes..][..count as usize * self.lanes]
    }

    /// `count` vectors from `address` on, to write: they count as written.
    pub fn vectors_mut(&mut self, address: u64, count: u64) -> &mut [T] {
        if let Some(written) = &mut self.written {
            written[address as usize..][..count as usize].fill(true);
        }
        &mut self.values[address as usize * self.lanes..][..count as usize * self.lanes]
    }

    /// Puts something into every scalar, as a memory holds that nobody has set.
    pub fn fill_with(&mut self, scalar: impl FnMut() -> T) {
        self.values.fill_with(scalar);
    }

    /// Counts every vector as not written from now on.
    pub fn poison(&mut self) {
        self.written = Some(vec![false; self.values.len() / self.lanes.max(1)]);
    }

    /// The first of `count` vectors from `address` on that was not written since [`Flat::poison`]; none when all
    /// were, or when nobody asked for poison.
    pub fn unwritten(&self, address: u64, count: u64) -> Option<u64> {
        let range = self.written.as_ref()?.get(address as usize..)?.iter().take(count as usize);
        range.zip(address..).find_map(|(&written, vector)| (!written).then_some(vector))
    }

    /// Everything from `address` on.
    pub fn from(&self, address: u64) -> &[T] {
        &self.values[address as usize * self.lanes..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_huge_memory_is_refused() {
        for (depth, lanes) in [(u64::MAX, usize::MAX), (1 << 30, 1), (1, 1 << 30)] {
            assert!(Flat::<i16>::new(depth, lanes).is_err(), "{depth} {lanes}");
        }
        assert!(Flat::<i16>::new(1 << 29, 1).is_ok());
    }

    #[test]
    fn poison_lasts_until_a_vector_is_written() {
        let mut memory = Flat::<i16>::new(4, 2).expect("small");
        assert_eq!(memory.unwritten(0, 4), None);
        memory.poison();
        memory.vectors_mut(1, 2).fill(7);
        assert_eq!(memory.unwritten(1, 2), None);
        assert_eq!((memory.unwritten(0, 4), memory.unwritten(1, 3)), (Some(0), Some(3)));
    }

    #[test]
    fn vectors_lie_behind_each_other() {
        let mut memory = Flat::<i16>::new(4, 2).expect("small");
        memory.vector_mut(1).copy_from_slice(&[1, 2]);
        memory.vectors_mut(2, 2).copy_from_slice(&[3, 4, 5, 6]);
        assert_eq!(memory.vectors(0, 4), [0, 0, 1, 2, 3, 4, 5, 6]);
        assert_eq!(memory.vector(3), [5, 6]);
        assert_eq!(memory.from(2), [3, 4, 5, 6]);
    }
}
