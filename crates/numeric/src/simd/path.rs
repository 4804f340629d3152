//! The ways to compute an array product on this processor: [`Path`].

#[cfg(target_arch = "x86_64")]
use super::vector::{Avx2, Avx512, Vnni};

/// A way to compute the product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Path {
    /// One scalar after the other, by [`NumberFormat`](crate::NumberFormat): the judge.
    Literal,
    /// Integer tiles, for any processor.
    Portable,
    /// Float tiles, for AVX2 with FMA.
    Avx2,
    /// Float tiles, for AVX-512 (F, BW, DQ, VL).
    Avx512,
    /// As [`Path::Avx512`], with dot products of bytes where values are bytes.
    Vnni,
}

impl Path {
    /// Every path this processor can take, the fastest last.
    pub fn available() -> Vec<Self> {
        [Self::Literal, Self::Portable, Self::Avx2, Self::Avx512, Self::Vnni]
            .into_iter()
            .filter(|path| path.is_available())
            .collect()
    }

    /// The fastest path this processor can take.
    pub fn fastest() -> Self {
        static FASTEST: std::sync::OnceLock<Path> = std::sync::OnceLock::new();
        *FASTEST.get_or_init(|| Self::available().last().copied().unwrap_or(Self::Portable))
    }

    /// Whether this processor has the instructions that the path is written in.
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
