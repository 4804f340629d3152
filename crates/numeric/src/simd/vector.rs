//! Vectors of floats in one register: [`Vector`], and the proofs that the processor has them.

use std::arch::x86_64::*;

/// Proof that this processor has AVX2 and FMA.
#[derive(Clone, Copy, Debug)]
pub struct Avx2(());

impl Avx2 {
    /// The proof, if it has.
    pub(super) fn detect() -> Option<Self> {
        (is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")).then_some(Self(()))
    }
}

/// Proof that this processor has AVX-512 F, BW, DQ and VL.
#[derive(Clone, Copy, Debug)]
pub struct Avx512(());

impl Avx512 {
    /// The proof, if it has.
    pub(super) fn detect() -> Option<Self> {
        let has = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl");
        has.then_some(Self(()))
    }
}

/// Proof that this processor has AVX-512 F, BW, DQ, VL and VNNI.
#[derive(Clone, Copy, Debug)]
pub struct Vnni(());

impl Vnni {
    /// The proof, if it has.
    pub(super) fn detect() -> Option<Self> {
        (Avx512::detect().is_some() && is_x86_feature_detected!("avx512vnni")).then_some(Self(()))
    }
}

/// A register of floats. To make one takes the proof that the processor can.
///
/// Everything is inlined, and becomes one instruction, in functions compiled for these features.
pub trait Vector: Copy {
    /// One lane.
    type Scalar: Copy + Default;
    /// The proof.
    type Proof: Copy;
    /// Number of lanes.
    const LANES: usize;

    /// The first lanes of `from`. Panics when there are not enough.
    fn load(proof: Self::Proof, from: &[Self::Scalar]) -> Self;
    /// `value` in every lane.
    fn splat(proof: Self::Proof, value: Self::Scalar) -> Self;
    /// Writes the first lanes of `to`. Panics when there are not enough.
    fn store(self, to: &mut [Self::Scalar]);
    /// `self * y + z`, rounded once.
    fn mul_add(self, y: Self, z: Self) -> Self;
    /// `self * y`.
    fn mul(self, y: Self) -> Self;
    /// `self + y`.
    fn add(self, y: Self) -> Self;
    /// The bits of either.
    fn or(self, y: Self) -> Self;
}

macro_rules! vector {
    ($name:ident, $register:ty, $scalar:ty, $lanes:expr, $proof:ty,
     $load:ident, $splat:ident, $store:ident, $mul_add:ident, $mul:ident, $add:ident, $or:ident) => {
        #[doc = concat!(stringify!($lanes), " lanes of `", stringify!($scalar), "`.")]
        #[derive(Clone, Copy)]
        pub struct $name($register);

        #[allow(unsafe_code, reason = "processor features; whoever holds a proof or a vector has them")]
        impl Vector for $name {
            type Scalar = $scalar;
            type Proof = $proof;
            const LANES: usize = $lanes;

            #[inline(always)]
            fn load(_: $proof, from: &[$scalar]) -> Self {
                let from = &from[..$lanes];
                // SAFETY: the slice has that many scalars; the proof vouches for the processor.
                Self(unsafe { $load(from.as_ptr()) })
            }
            #[inline(always)]
            fn splat(_: $proof, value: $scalar) -> Self {
                // SAFETY: the proof vouches for the processor.
                Self(unsafe { $splat(value) })
            }
            #[inline(always)]
            fn store(self, to: &mut [$scalar]) {
                let to = &mut to[..$lanes];
                // SAFETY: the slice has that many scalars; making `self` took a proof.
                unsafe { $store(to.as_mut_ptr(), self.0) }
            }
            #[inline(always)]
            fn mul_add(self, y: Self, z: Self) -> Self {
                // SAFETY: making `self` took a proof.
                Self(unsafe { $mul_add(self.0, y.0, z.0) })
            }
            #[inline(always)]
            fn mul(self, y: Self) -> Self {
                // SAFETY: making `self` took a proof.
                Self(unsafe { $mul(self.0, y.0) })
            }
            #[inline(always)]
            fn add(self, y: Self) -> Self {
                // SAFETY: making `self` took a proof.
                Self(unsafe { $add(self.0, y.0) })
            }
            #[inline(always)]
            fn or(self, y: Self) -> Self {
                // SAFETY: making `self` took a proof.
                Self(unsafe { $or(self.0, y.0) })
            }
        }
    };
}

#[rustfmt::skip] // A table.
vector!(F32x8, __m256, f32, 8, Avx2, _mm256_loadu_ps, _mm256_set1_ps, _mm256_storeu_ps,
    _mm256_fmadd_ps, _mm256_mul_ps, _mm256_add_ps, _mm256_or_ps);
#[rustfmt::skip]
vector!(F64x4, __m256d, f64, 4, Avx2, _mm256_loadu_pd, _mm256_set1_pd, _mm256_storeu_pd,
    _mm256_fmadd_pd, _mm256_mul_pd, _mm256_add_pd, _mm256_or_pd);
#[rustfmt::skip]
vector!(F32x16, __m512, f32, 16, Avx512, _mm512_loadu_ps, _mm512_set1_ps, _mm512_storeu_ps,
    _mm512_fmadd_ps, _mm512_mul_ps, _mm512_add_ps, _mm512_or_ps);
#[rustfmt::skip]
vector!(F64x8, __m512d, f64, 8, Avx512, _mm512_loadu_pd, _mm512_set1_pd, _mm512_storeu_pd,
    _mm512_fmadd_pd, _mm512_mul_pd, _mm512_add_pd, _mm512_or_pd);

/// A vector that two rows share, a half each.
pub trait Halves: Vector {
    /// The first lanes of `from`, as many as a half has, in both halves. Panics when there are not enough.
    fn load_twice(proof: Self::Proof, from: &[Self::Scalar]) -> Self;
    /// Lane `lane` of each half in all lanes of that half. Lanes are counted modulo those of a half.
    fn splat_halves(self, lane: usize) -> Self;
}

#[allow(unsafe_code, reason = "processor features; whoever holds a proof or a vector has them")]
impl Halves for F32x16 {
    #[inline(always)]
    fn load_twice(_: Avx512, from: &[f32]) -> Self {
        let from = &from[..8];
        // SAFETY: the slice has that many scalars; the proof vouches for the processor.
        Self(unsafe { _mm512_broadcast_f32x8(_mm256_loadu_ps(from.as_ptr())) })
    }
    #[inline(always)]
    fn splat_halves(self, lane: usize) -> Self {
        let (first, second) = ((lane % 8) as i32, (lane % 8 + 8) as i32);
        // SAFETY: making `self` took a proof.
        Self(unsafe {
            let lanes = _mm512_mask_set1_epi32(_mm512_set1_epi32(first), 0xFF00, second);
            _mm512_permutexvar_ps(lanes, self.0)
        })
    }
}

#[allow(unsafe_code, reason = "processor features; whoever holds a proof or a vector has them")]
impl Halves for F64x8 {
    #[inline(always)]
    fn load_twice(_: Avx512, from: &[f64]) -> Self {
        let from = &from[..4];
        // SAFETY: the slice has that many scalars; the proof vouches for the processor.
        Self(unsafe { _mm512_broadcast_f64x4(_mm256_loadu_pd(from.as_ptr())) })
    }
    #[inline(always)]
    fn splat_halves(self, lane: usize) -> Self {
        let (first, second) = ((lane % 4) as i64, (lane % 4 + 4) as i64);
        // SAFETY: making `self` took a proof.
        Self(unsafe {
            let lanes = _mm512_mask_set1_epi64(_mm512_set1_epi64(first), 0xF0, second);
            _mm512_permutexvar_pd(lanes, self.0)
        })
    }
}

/// A float that comes in vectors.
pub trait Lane: Copy + Default {
    /// As many as AVX2 has in a register.
    type Avx2: Vector<Scalar = Self, Proof = Avx2>;
    /// As many as AVX-512 has in a register.
    type Avx512: Halves<Scalar = Self, Proof = Avx512>;
}

impl Lane for f32 {
    type Avx2 = F32x8;
    type Avx512 = F32x16;
}

impl Lane for f64 {
    type Avx2 = F64x4;
    type Avx512 = F64x8;
}
