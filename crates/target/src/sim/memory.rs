//! On-chip memory: [`Flat`], one contiguous array of vectors.

use thiserror::Error;

/// A memory that is too large for the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{depth} vectors of {lanes} scalars are more than {limit_bytes} bytes")]
pub struct TooLarge {
    /// Number of vectors.
    pub depth: u64,
    /// Scalars per vector.
    pub lanes: usize,
    /// Largest allowed size in bytes.
    pub limit_bytes: u64,
}

/// A memory of vectors, fully allocated and zero at the start.
///
/// Addresses are vector indices. The caller must check them: an address at or beyond the depth
/// panics.
#[derive(Clone, Debug)]
pub struct Flat<T> {
    lanes: usize,
    values: Vec<T>,
    /// Whether each vector was written since [`Flat::poison`]; `None` before.
    written: Option<Vec<bool>>,
}

impl<T: Clone + Default> Flat<T> {
    /// Largest allowed size in bytes. Untouched parts cost nothing, since the host allocates zero
    /// pages lazily.
    pub const LIMIT_BYTES: u64 = 1 << 30;

    /// Creates a memory of `depth` vectors of `lanes` scalars.
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

    /// Returns the vector at `address`.
    pub fn vector(&self, address: u64) -> &[T] {
        self.vectors(address, 1)
    }

    /// Returns the vector at `address`, for writing.
    pub fn vector_mut(&mut self, address: u64) -> &mut [T] {
        self.vectors_mut(address, 1)
    }

    /// Returns `count` vectors, starting at `address`.
    pub fn vectors(&self, address: u64, count: u64) -> &[T] {
        &self.values[address as usize * self.lanes..][..count as usize * self.lanes]
    }

    /// Returns `count` vectors, starting at `address`, for writing; they are marked as written.
    pub fn vectors_mut(&mut self, address: u64, count: u64) -> &mut [T] {
        if let Some(written) = &mut self.written {
            written[address as usize..][..count as usize].fill(true);
        }
        &mut self.values[address as usize * self.lanes..][..count as usize * self.lanes]
    }

    /// Fills every scalar, to simulate uninitialized memory.
    pub fn fill_with(&mut self, scalar: impl FnMut() -> T) {
        self.values.fill_with(scalar);
    }

    /// Marks every vector as unwritten.
    pub fn poison(&mut self) {
        self.written = Some(vec![false; self.values.len() / self.lanes.max(1)]);
    }

    /// Returns the first of `count` vectors, starting at `address`, that was not written since
    /// [`Flat::poison`]. `None` if all were written, or if poison is not enabled.
    pub fn unwritten(&self, address: u64, count: u64) -> Option<u64> {
        let range = self.written.as_ref()?.get(address as usize..)?.iter().take(count as usize);
        range.zip(address..).find_map(|(&written, vector)| (!written).then_some(vector))
    }

    /// Returns all vectors starting at `address`.
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
