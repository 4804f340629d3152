//! [`instances`]: those whose programs are read, by the letter that names them.

use std::sync::OnceLock;

use npukit::resolve;
use npukit_target::Instance;

use crate::absent;

/// An instance and how files of its programs end.
pub(crate) struct Known {
    pub letter: u8,
    /// Name of a program's text.
    pub file: &'static str,
    pub instance: Box<dyn Instance>,
}

/// Each instruction set in each encoding, and PASM (`k`).
const KNOWN: [(u8, &str, &str); 6] = [
    (b't', "tcu:pynqz1", "p.s"),
    (b'o', "opu:reference", "p.s"),
    (b'p', "pccx:extended", "p.s"),
    (b'd', "drra:3x1", "p.asm"),
    (b'l', "drra:3x1+ext+later", "p.asm"),
    (b'k', "drra:3x1+ext", "p.pasm"),
];

/// The instance that the first byte names, and the rest.
pub(crate) fn of(input: &[u8]) -> Option<(&'static Known, &[u8])> {
    let (letter, bytes) = input.split_first()?;
    Some((instances().iter().find(|known| known.letter == *letter)?, bytes))
}

fn instances() -> &'static [Known] {
    static INSTANCES: OnceLock<Vec<Known>> = OnceLock::new();
    INSTANCES.get_or_init(|| {
        let known = KNOWN.iter().map(|&(letter, spec, file)| {
            let instance = resolve(spec, &absent).unwrap_or_else(|error| panic!("{spec}: {error}"));
            Known { letter, file, instance }
        });
        known.collect()
    })
}
