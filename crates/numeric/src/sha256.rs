//! [`Sha256`]: the SHA-256 hash of bytes that arrive in pieces. Source: FIPS 180-4.

use crate::simd::sha256_blocks;

/// Bytes of a block.
pub(crate) const BLOCK: usize = 64;

/// Initial state: fractions of the square roots of the first primes.
const BEGIN: [u32; 8] =
    [0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19];

/// Round constants: fractions of the cube roots of the first primes.
#[rustfmt::skip] // A table.
pub(crate) const ROUNDS: [u32; 64] = [
    0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5, 0x3956_c25b, 0x59f1_11f1, 0x923f_82a4, 0xab1c_5ed5,
    0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3, 0x72be_5d74, 0x80de_b1fe, 0x9bdc_06a7, 0xc19b_f174,
    0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc, 0x2de9_2c6f, 0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da,
    0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7, 0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351, 0x1429_2967,
    0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc, 0x5338_0d13, 0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85,
    0xa2bf_e8a1, 0xa81a_664b, 0xc24b_8b70, 0xc76c_51a3, 0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070,
    0x19a4_c116, 0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5, 0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f, 0x682e_6ff3,
    0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208, 0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7, 0xc671_78f2,
];

/// A hash under construction.
#[derive(Clone, Debug)]
pub struct Sha256 {
    state: [u32; 8],
    /// Bytes that do not yet fill a block.
    rest: Vec<u8>,
    /// Number of bytes so far.
    bytes: u64,
}

impl Default for Sha256 {
    fn default() -> Self {
        Self { state: BEGIN, rest: Vec::with_capacity(2 * BLOCK), bytes: 0 }
    }
}

impl Sha256 {
    /// Returns the hash of `bytes`.
    pub fn digest(bytes: &[u8]) -> [u8; 32] {
        let mut hash = Self::default();
        hash.update(bytes);
        hash.finish()
    }

    /// Adds more bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.bytes = self.bytes.wrapping_add(bytes.len() as u64);
        let mut bytes = bytes;
        if !self.rest.is_empty() {
            let (first, others) = bytes.split_at(bytes.len().min(BLOCK - self.rest.len()));
            self.rest.extend_from_slice(first);
            bytes = others;
            if self.rest.len() < BLOCK {
                return;
            }
            sha256_blocks(&mut self.state, self.rest.as_chunks().0);
            self.rest.clear();
        }
        let (blocks, rest) = bytes.as_chunks();
        sha256_blocks(&mut self.state, blocks);
        self.rest.extend_from_slice(rest);
    }

    /// Returns the hash of all bytes.
    pub fn finish(mut self) -> [u8; 32] {
        let bits = self.bytes.wrapping_mul(8);
        self.rest.push(0x80);
        let padded = (self.rest.len() + size_of_val(&bits)).next_multiple_of(BLOCK);
        self.rest.resize(padded - size_of_val(&bits), 0);
        self.rest.extend_from_slice(&bits.to_be_bytes());
        sha256_blocks(&mut self.state, self.rest.as_chunks().0);
        let mut hash = [0; 32];
        for (bytes, word) in hash.as_chunks_mut::<4>().0.iter_mut().zip(self.state) {
            *bytes = word.to_be_bytes();
        }
        hash
    }
}

/// Returns the 16 words of a block.
pub(crate) fn words(block: &[u8; BLOCK]) -> [u32; 16] {
    let mut words = [0; 16];
    for (word, bytes) in words.iter_mut().zip(block.as_chunks().0) {
        *word = u32::from_be_bytes(*bytes);
    }
    words
}

/// Processes blocks, on any processor.
pub(crate) fn portable(state: &mut [u32; 8], blocks: &[[u8; BLOCK]]) {
    for block in blocks {
        let mut w = words(block);
        let before = *state;
        for (round, constant) in ROUNDS.into_iter().enumerate() {
            let word = w[round % 16];
            step(state, constant.wrapping_add(word));
            let [next, after] = [w[(round + 1) % 16], w[(round + 14) % 16]];
            let small = next.rotate_right(7) ^ next.rotate_right(18) ^ next >> 3;
            let large = after.rotate_right(17) ^ after.rotate_right(19) ^ after >> 10;
            w[round % 16] = word.wrapping_add(small).wrapping_add(w[(round + 9) % 16]).wrapping_add(large);
        }
        for (now, before) in state.iter_mut().zip(before) {
            *now = now.wrapping_add(before);
        }
    }
}

/// Performs a round with a word plus its constant.
fn step(state: &mut [u32; 8], word: u32) {
    let [a, b, c, d, e, f, g, h] = *state;
    let choice = (e & f) ^ (!e & g);
    let sum = h
        .wrapping_add(e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25))
        .wrapping_add(choice)
        .wrapping_add(word);
    let majority = (a & b) ^ (a & c) ^ (b & c);
    let other = (a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22)).wrapping_add(majority);
    *state = [sum.wrapping_add(other), a, b, c, d.wrapping_add(sum), e, f, g];
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SplitMix64;

    fn hexadecimal(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The examples of FIPS 180-4, and a million times the letter a.
    #[test]
    fn published_examples() {
        let long = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
        for (text, hash) in [
            ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (long, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"),
            (&"a".repeat(1_000_000), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"),
        ] {
            assert_eq!(hexadecimal(&Sha256::digest(text.as_bytes())), hash, "{} bytes", text.len());
        }
    }

    /// Compared with another implementation: all lengths around a block, in pieces.
    #[test]
    fn pieces_give_what_the_whole_gives() {
        let mut random = SplitMix64::new(7);
        let bytes: Vec<u8> = (0..4 * BLOCK).map(|_| random.bits() as u8).collect();
        for length in 0..bytes.len() {
            let (first, second) = bytes[..length].split_at(random.bits() as usize % (length + 1));
            let mut hash = Sha256::default();
            hash.update(first);
            hash.update(second);
            assert_eq!(hash.finish(), hmac_sha256::Hash::hash(&bytes[..length]), "{length}");
        }
    }

    #[test]
    fn every_processor_computes_the_same() {
        let mut random = SplitMix64::new(8);
        let blocks: Vec<[u8; BLOCK]> =
            (0..100).map(|_| std::array::from_fn(|_| random.bits() as u8)).collect();
        let (mut literal, mut fast) = (BEGIN, BEGIN);
        portable(&mut literal, &blocks);
        sha256_blocks(&mut fast, &blocks);
        assert_eq!(literal, fast);
    }
}
