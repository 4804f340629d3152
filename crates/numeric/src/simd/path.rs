//! Implementations of the array product on this processor: [`Path`].

#[cfg(target_arch = "x86_64")]
use super::vector::{Avx2, Avx512, Vnni};

/// An implementation of the product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Path {
    /// One scalar after the other, with [`NumberFormat`](crate::NumberFormat): the reference.
    Literal,
    /// Integer tiles, for any processor.
    Portable,
    /// Float tiles, for AVX2 with FMA.
    Avx2,
    /// Float tiles, for AVX-512 (F, BW, DQ, VL).
    Avx512,
    /// Like [`Path::Avx512`], with dot products of bytes for byte values.
    Vnni,
}

impl Path {
    /// Returns every path that this processor supports, the fastest last.
    pub fn available() -> Vec<Self> {
        [Self::Literal, Self::Portable, Self::Avx2, Self::Avx512, Self::Vnni]
            .into_iter()
            .filter(|path| path.is_available())
            .collect()
    }

    /// Returns the fastest path that this processor supports.
    pub fn fastest() -> Self {
        static FASTEST: std::sync::OnceLock<Path> = std::sync::OnceLock::new();
        *FASTEST.get_or_init(|| Self::available().last().copied().unwrap_or(Self::Portable))
    }

    /// Whether this processor has the instructions of the path.
    pub fn is_available(self) -> bool {
        match self {
            Self::Literal | Self::Portable => true,
            Self::Avx2 => has_avx2(),
            Self::Avx512 => has_avx512(),
            Self::Vnni => has_avx512() && has_vnni(),
        }
    }
}

#[cfg(target_arch = "x86_64")]
fn has_avx2() -> bool {
    Avx2::detect().is_some()
}

#[cfg(target_arch = "x86_64")]
fn has_avx512() -> bool {
    has_avx2() && Avx512::detect().is_some()
}

#[cfg(target_arch = "x86_64")]
fn has_vnni() -> bool {
    Vnni::detect().is_some()
}

#[cfg(not(target_arch = "x86_64"))]
fn has_avx2() -> bool {
    false
}

#[cfg(not(target_arch = "x86_64"))]
fn has_avx512() -> bool {
    false
}

#[cfg(not(target_arch = "x86_64"))]
fn has_vnni() -> bool {
    false
}
