//! On-chip memory: [`Flat`], all vectors behind each other.

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
}

impl<T: Copy + Default> Flat<T> {
    /// Largest size. Untouched parts cost nothing: the host hands out zero pages when they are written.
    pub const LIMIT_BYTES: u64 = 1 << 30;

    /// A memory of `depth` vectors of `lanes` scalars.
    ///
    /// Errors: [`TooLarge`] above [`Flat::LIMIT_BYTES`].
    pub fn new(depth: u64, lanes: usize) -> Result<Self, TooLarge> {
        let bytes = u128::from(depth).saturating_mul(lanes as u128).saturating_mul(size_of::<T>() as u128);
        if bytes > u128::from(Self::LIMIT_BYTES) {
            return Err(TooLarge { depth, lanes, limit_bytes: Self::LIMIT_BYTES });
        }
        Ok(Self { lanes, values: vec![T::default(); depth as usize * lanes] })
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

    /// `count` vectors from `address` on, to write.
    pub fn vectors_mut(&mut self, address: u64, count: u64) -> &mut [T] {
        &mut self.values[address as usize * self.lanes..][..count as usize * self.lanes]
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
    fn vectors_lie_behind_each_other() {
        let mut memory = Flat::<i16>::new(4, 2).expect("small");
        memory.vector_mut(1).copy_from_slice(&[1, 2]);
        memory.vectors_mut(2, 2).copy_from_slice(&[3, 4, 5, 6]);
        assert_eq!(memory.vectors(0, 4), [0, 0, 1, 2, 3, 4, 5, 6]);
        assert_eq!(memory.vector(3), [5, 6]);
        assert_eq!(memory.from(2), [3, 4, 5, 6]);
    }
}
