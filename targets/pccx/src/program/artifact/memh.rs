//! The text format `memh` of circuit simulators: [`memh`] and [`read_memh`]. One word per line, in
//! 16 hexadecimal digits. Source: specification 2.1 and 7.4.

use miette::NamedSource;
use npukit_asm::{AsmError, AsmErrors};
use npukit_base::without_bom;

use super::writing::code;
use crate::isa::codec::EncodeErrors;
use crate::isa::listing;
use crate::program::Program;

/// Digits of a word.
const DIGITS: usize = 16;
/// Maximum number of errors listed per file. Further errors are only counted.
const MAX_ERRORS: usize = 100;

/// Returns the instructions of a program as text, without its other parts.
///
/// # Errors
/// All instructions that cannot be encoded, with their places.
pub fn memh(program: &Program) -> Result<String, EncodeErrors> {
    Ok(listing::memh(&code(program)?))
}

/// Reads words and returns their bytes, little-endian; `name` is the file name for errors. Lines
/// may be empty, and `#` and `//` begin comments.
///
/// # Errors
/// The first 100 lines that are not words, with their places.
pub fn read_memh(name: &str, text: &str) -> Result<Vec<u8>, AsmErrors> {
    let (mut bytes, mut errors, mut more, mut start) = (Vec::new(), Vec::new(), 0, 0);
    let text = without_bom(text);
    for line in text.split('\n') {
        let found = without_comment(line).trim();
        match word(found) {
            _ if found.is_empty() => {}
            Some(word) => bytes.extend_from_slice(&word.to_le_bytes()),
            None if errors.len() < MAX_ERRORS => {
                let indent = line.len() - line.trim_start().len();
                errors.push(no_word(found, start + indent));
            }
            None => more += 1,
        }
        start += line.len() + 1;
    }
    if errors.is_empty() {
        return Ok(bytes);
    }
    Err(AsmErrors { source_code: NamedSource::new(name, text.to_owned()), errors, more })
}

fn without_comment(line: &str) -> &str {
    let line = line.split("//").next().unwrap_or_default();
    line.split('#').next().unwrap_or_default()
}

fn word(text: &str) -> Option<u64> {
    let is_word = text.len() == DIGITS && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    u64::from_str_radix(text, 16).ok().filter(|_| is_word)
}

fn no_word(found: &str, start: usize) -> AsmError {
    AsmError::Syntax {
        expected: format!("{DIGITS} hexadecimal digits"),
        found: format!("`{found}`"),
        span: (start, found.len()).into(),
        help: "one word per line, such as `3000800000100010`".to_owned(),
    }
}
