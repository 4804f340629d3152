//! SHA-256 blocks with the processor's SHA instructions; the portable rounds on other processors.

use crate::sha256::{BLOCK, portable};

/// Processes blocks.
pub fn sha256_blocks(state: &mut [u32; 8], blocks: &[[u8; BLOCK]]) {
    #[cfg(target_arch = "x86_64")]
    if let Some(proof) = x86::Sha::detect() {
        return x86::blocks(proof, state, blocks);
    }
    portable(state, blocks);
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use crate::sha256::{BLOCK, ROUNDS, words};

    /// Proof that the processor has the instructions.
    #[derive(Clone, Copy)]
    pub struct Sha(());

    impl Sha {
        /// Returns the proof if the processor has the instructions.
        pub fn detect() -> Option<Self> {
            (is_x86_feature_detected!("sha") && is_x86_feature_detected!("ssse3")).then_some(Self(()))
        }
    }

    /// Processes blocks.
    pub fn blocks(_: Sha, state: &mut [u32; 8], blocks: &[[u8; BLOCK]]) {
        #[allow(unsafe_code, reason = "calls code compiled for processor features")]
        // SAFETY: the proof shows that the processor has the features.
        unsafe {
            taken_in(state, blocks);
        }
    }

    /// Processes blocks. The instructions take the state as two vectors, and do two rounds at once.
    #[target_feature(enable = "sha,ssse3")]
    fn taken_in(state: &mut [u32; 8], blocks: &[[u8; BLOCK]]) {
        let [a, b, c, d, e, f, g, h] = *state;
        let (mut abef, mut cdgh) = (vector([f, e, b, a]), vector([h, g, d, c]));
        for block in blocks {
            let before = (abef, cdgh);
            let [w0, w1, w2, w3] = quarters(words(block));
            let mut w = [vector(w0), vector(w1), vector(w2), vector(w3)];
            for constants in ROUNDS.as_chunks().0 {
                let word = _mm_add_epi32(w[0], vector(*constants));
                cdgh = _mm_sha256rnds2_epu32(cdgh, abef, word);
                abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32::<0b1110>(word));
                w = [w[1], w[2], w[3], following(w)];
            }
            abef = _mm_add_epi32(abef, before.0);
            cdgh = _mm_add_epi32(cdgh, before.1);
        }
        let ([f, e, b, a], [h, g, d, c]) = (array(abef), array(cdgh));
        *state = [a, b, c, d, e, f, g, h];
    }
    /// Returns the four message words after the last of these.
    #[target_feature(enable = "sha,ssse3")]
    fn following([w0, w1, w2, w3]: [__m128i; 4]) -> __m128i {
        let sum = _mm_add_epi32(_mm_sha256msg1_epu32(w0, w1), _mm_alignr_epi8::<4>(w3, w2));
        _mm_sha256msg2_epu32(sum, w3)
    }

    /// Returns a vector of words, the first in its lowest lane.
    #[target_feature(enable = "sse2")]
    fn vector([w0, w1, w2, w3]: [u32; 4]) -> __m128i {
        _mm_set_epi32(w3.cast_signed(), w2.cast_signed(), w1.cast_signed(), w0.cast_signed())
    }

    /// Returns the words of a vector.
    #[target_feature(enable = "sse2")]
    fn array(vector: __m128i) -> [u32; 4] {
        let words = [
            _mm_cvtsi128_si32(vector),
            _mm_cvtsi128_si32(_mm_shuffle_epi32::<1>(vector)),
            _mm_cvtsi128_si32(_mm_shuffle_epi32::<2>(vector)),
            _mm_cvtsi128_si32(_mm_shuffle_epi32::<3>(vector)),
        ];
        words.map(i32::cast_unsigned)
    }

    /// Splits the words into four groups of four.
    fn quarters(words: [u32; 16]) -> [[u32; 4]; 4] {
        std::array::from_fn(|i| std::array::from_fn(|j| words[4 * i + j]))
    }
}
