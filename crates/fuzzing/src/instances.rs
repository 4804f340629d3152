//! [`instances`]: the instances whose programs are read, by letter.

use std::sync::OnceLock;

use npukit::resolve;
use npukit_target::{Instance, ReadError};

use crate::absent;

/// An instance, and the extension of its programs' files.
pub(crate) struct Known {
    pub letter: u8,
    /// File name of a program's text.
    pub file: &'static str,
    pub instance: Box<dyn Instance>,
}

/// Each instruction set in each encoding, and PASM (`k`).
const KNOWN: [(u8, &str, &str); 6] = [
    (b't', "tcu:m.tarch", "p.s"),
    (b'o', "opu:reference", "p.s"),
    (b'p', "pccx:extended", "p.s"),
    (b'd', "drra:3x1", "p.asm"),
    (b'l', "drra:3x1+ext+later", "p.asm"),
    (b'k', "drra:3x1+ext", "p.pasm"),
];

/// A small array: the memories' depths limit the size of a move, and so the cycles of its clock.
const TARCH: &str = r#"{"data_type":"FP16BP8","array_size":4,"dram0_depth":1024,"dram1_depth":1024,"local_depth":64,
"accumulator_depth":32,"simd_registers_depth":1,"stride0_depth":8,"stride1_depth":8}"#;

fn tarch(path: &str) -> Result<Vec<u8>, ReadError> {
    if path == "m.tarch" { Ok(TARCH.as_bytes().to_vec()) } else { absent(path) }
}

/// Returns the instance selected by the first byte, and the remaining bytes.
pub(crate) fn of(input: &[u8]) -> Option<(&'static Known, &[u8])> {
    let (letter, bytes) = input.split_first()?;
    Some((instances().iter().find(|known| known.letter == *letter)?, bytes))
}

fn instances() -> &'static [Known] {
    static INSTANCES: OnceLock<Vec<Known>> = OnceLock::new();
    INSTANCES.get_or_init(|| {
        let known = KNOWN.iter().map(|&(letter, spec, file)| {
            let instance = resolve(spec, &tarch).unwrap_or_else(|error| panic!("{spec}: {error}"));
            Known { letter, file, instance }
        });
        known.collect()
    })
}
