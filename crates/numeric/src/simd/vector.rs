//! Vectors of floats in one register: [`Vector`], and the proofs that the processor supports them.

use std::arch::x86_64::*;

/// Proof that this processor has AVX2 and FMA.
#[derive(Clone, Copy, Debug)]
pub struct Avx2(());

impl Avx2 {
    /// Returns the proof if the processor has the features.
    pub(super) fn detect() -> Option<Self> {
        (is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")).then_some(Self(()))
    }
}

/// Proof that this processor has AVX-512 F, BW, DQ and VL.
#[derive(Clone, Copy, Debug)]
pub struct Avx512(());

impl Avx512 {
    /// Returns the proof if the processor has the features.
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
    /// Returns the proof if the processor has the features.
    pub(super) fn detect() -> Option<Self> {
        (Avx512::detect().is_some() && is_x86_feature_detected!("avx512vnni")).then_some(Self(()))
    }
}

/// A register of floats. Creating one requires the proof that the processor supports it.
///
/// All methods are inlined; in functions compiled for these features, each becomes one instruction.
pub trait Vector: Copy {
    /// Type of a lane.
    type Scalar: Copy + Default;
    /// Proof of the processor features.
    type Proof: Copy;
    /// Number of lanes.
    const LANES: usize;

    /// Loads the first lanes of `from`. Panics if there are too few.
    fn load(proof: Self::Proof, from: &[Self::Scalar]) -> Self;
    /// Returns `value` in every lane.
    fn splat(proof: Self::Proof, value: Self::Scalar) -> Self;
    /// Writes the first lanes of `to`. Panics if there are too few.
    fn store(self, to: &mut [Self::Scalar]);
    /// Returns `self * y + z`, rounded once.
    fn mul_add(self, y: Self, z: Self) -> Self;
    /// Returns `self * y`.
    fn mul(self, y: Self) -> Self;
    /// Returns `self + y`.
    fn add(self, y: Self) -> Self;
    /// Returns the bitwise or.
    fn or(self, y: Self) -> Self;
}

macro_rules! vector {
    ($name:ident, $register:ty, $scalar:ty, $lanes:expr, $proof:ty,
     $load:ident, $splat:ident, $store:ident, $mul_add:ident, $mul:ident, $add:ident, $or:ident) => {
        #[doc = concat!(stringify!($lanes), " lanes of `", stringify!($scalar), "`.")]
        #[derive(Clone, Copy)]
        pub struct $name($register);

        #[allow(unsafe_code, reason = "processor features; a proof or a vector guarantees them")]
        impl Vector for $name {
            type Scalar = $scalar;
            type Proof = $proof;
            const LANES: usize = $lanes;

            #[inline(always)]
            fn load(_: $proof, from: &[$scalar]) -> Self {
                let from = &from[..$lanes];
                // SAFETY: the slice has that many scalars; the proof guarantees the processor
                // features.
                Self(unsafe { $load(from.as_ptr()) })
            }
            #[inline(always)]
            fn splat(_: $proof, value: $scalar) -> Self {
                // SAFETY: the proof guarantees the processor features.
                Self(unsafe { $splat(value) })
            }
            #[inline(always)]
            fn store(self, to: &mut [$scalar]) {
                let to = &mut to[..$lanes];
                // SAFETY: the slice has that many scalars; creating `self` took a proof.
                unsafe { $store(to.as_mut_ptr(), self.0) }
            }
            #[inline(always)]
            fn mul_add(self, y: Self, z: Self) -> Self {
                // SAFETY: creating `self` took a proof.
                Self(unsafe { $mul_add(self.0, y.0, z.0) })
            }
            #[inline(always)]
            fn mul(self, y: Self) -> Self {
                // SAFETY: creating `self` took a proof.
                Self(unsafe { $mul(self.0, y.0) })
            }
            #[inline(always)]
            fn add(self, y: Self) -> Self {
                // SAFETY: creating `self` took a proof.
                Self(unsafe { $add(self.0, y.0) })
            }
            #[inline(always)]
            fn or(self, y: Self) -> Self {
                // SAFETY: creating `self` took a proof.
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

/// A vector shared by two rows, one per half.
pub trait Halves: Vector {
    /// Loads the first lanes of `from` into both halves. Panics if there are fewer lanes than a
    /// half has.
    fn load_twice(proof: Self::Proof, from: &[Self::Scalar]) -> Self;
    /// Broadcasts lane `lane` of each half within that half. The lane number is taken modulo the
    /// lanes of a half.
    fn splat_halves(self, lane: usize) -> Self;
}

#[allow(unsafe_code, reason = "processor features; a proof or a vector guarantees them")]
impl Halves for F32x16 {
    #[inline(always)]
    fn load_twice(_: Avx512, from: &[f32]) -> Self {
        let from = &from[..8];
        // SAFETY: the slice has that many scalars; the proof guarantees the processor features.
        Self(unsafe { _mm512_broadcast_f32x8(_mm256_loadu_ps(from.as_ptr())) })
    }
    #[inline(always)]
    fn splat_halves(self, lane: usize) -> Self {
        let (first, second) = ((lane % 8) as i32, (lane % 8 + 8) as i32);
        // SAFETY: creating `self` took a proof.
        Self(unsafe {
            let lanes = _mm512_mask_set1_epi32(_mm512_set1_epi32(first), 0xFF00, second);
            _mm512_permutexvar_ps(lanes, self.0)
        })
    }
}

#[allow(unsafe_code, reason = "processor features; a proof or a vector guarantees them")]
impl Halves for F64x8 {
    #[inline(always)]
    fn load_twice(_: Avx512, from: &[f64]) -> Self {
        let from = &from[..4];
        // SAFETY: the slice has that many scalars; the proof guarantees the processor features.
        Self(unsafe { _mm512_broadcast_f64x4(_mm256_loadu_pd(from.as_ptr())) })
    }
    #[inline(always)]
    fn splat_halves(self, lane: usize) -> Self {
        let (first, second) = ((lane % 4) as i64, (lane % 4 + 4) as i64);
        // SAFETY: creating `self` took a proof.
        Self(unsafe {
            let lanes = _mm512_mask_set1_epi64(_mm512_set1_epi64(first), 0xF0, second);
            _mm512_permutexvar_pd(lanes, self.0)
        })
    }
}

/// A float type with vectors.
pub trait Lane: Copy + Default {
    /// Vector that fills an AVX2 register.
    type Avx2: Vector<Scalar = Self, Proof = Avx2>;
    /// Vector that fills an AVX-512 register.
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
