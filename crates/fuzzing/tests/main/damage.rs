//! [`damaged`]: damaged variants of a file.

use npukit_numeric::SplitMix64;

/// Random numbers that are the same on every machine.
pub struct Random(SplitMix64);

impl Random {
    /// Creates the generator with a seed.
    pub fn new(seed: u64) -> Self {
        Self(SplitMix64::new(seed))
    }

    /// Returns a number below `end`; 0 if that is 0.
    fn below(&mut self, end: usize) -> usize {
        (self.0.bits() % end.max(1) as u64) as usize
    }

    fn of<'a, T: ?Sized>(&mut self, all: &[&'a T]) -> &'a T {
        all[self.below(all.len())]
    }
}

/// Texts that may confuse readers.
const TEXTS: [&str; 16] = [
    "0",
    "-1",
    "1e999",
    "4294967296",
    "18446744073709551616",
    "9223372036854775807",
    "0x",
    "nan",
    "null",
    "\"",
    "[",
    "{",
    "\n",
    "\u{e9}",
    "\0",
    ",",
];
/// Bytes at the limits of ranges.
const BYTES: [u8; 6] = [0, 1, 0x7f, 0x80, 0xfe, 0xff];

/// Makes a few changes to `bytes`: bits, bytes, numbers, cuts, and pieces of it and of `other` in
/// other places. The letters that select the reader stay.
pub fn damaged(bytes: &[u8], other: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..=random.below(3) {
        change(&mut bytes, other, random);
    }
    bytes
}

fn change(bytes: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    let place = 1 + random.below(bytes.len().saturating_sub(1));
    let Some(byte) = bytes.get_mut(place) else { return };
    match random.below(8) {
        0 => *byte ^= 1 << random.below(8),
        1 => *byte = BYTES[random.below(BYTES.len())],
        2 => *byte = random.0.bits() as u8,
        3 => bytes.truncate(place),
        4 => drop(bytes.drain(place..place + random.below((bytes.len() - place).min(16)))),
        5 => splice(bytes, place, random.of(&TEXTS.each_ref().map(|text| text.as_bytes()))),
        6 => number(bytes, place, random),
        _ => {
            let start = random.below(other.len());
            let end = start + random.below((other.len() - start).min(64));
            splice(bytes, place, &other[start..end]);
        }
    }
}

fn splice(bytes: &mut Vec<u8>, place: usize, piece: &[u8]) {
    bytes.splice(place..place, piece.iter().copied());
}

/// Replaces the next decimal number by another one.
fn number(bytes: &mut Vec<u8>, place: usize, random: &mut Random) {
    let Some(start) = bytes[place..].iter().position(u8::is_ascii_digit).map(|start| place + start) else {
        return;
    };
    let end =
        bytes[start..].iter().position(|byte| !byte.is_ascii_digit()).map_or(bytes.len(), |end| start + end);
    bytes.splice(start..end, random.of(&TEXTS[..6]).bytes());
}
