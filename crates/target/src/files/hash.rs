//! SHA-256 of files: [`sha256`], [`sha256_of_file`].

use std::fmt::Write as _;

use npukit_numeric::Sha256;

use crate::files::read::{Part, ReadError, Reader};

/// Bytes of a file that are read at a time.
const CHUNK_BYTES: u64 = 16 << 20;

/// Returns the SHA-256 of `bytes` as 64 hexadecimal digits.
pub fn sha256(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

/// Returns the SHA-256 of the file at `path`, reading at most 16 MiB at a time.
///
/// # Errors
///
/// The errors of [`Reader::read_range`].
pub fn sha256_of_file(files: &dyn Reader, path: &str) -> Result<String, ReadError> {
    let (mut hasher, mut start) = (Sha256::default(), 0u64);
    loop {
        let Part { bytes, file_bytes } = files.read_range(path, start..start.saturating_add(CHUNK_BYTES))?;
        hasher.update(&bytes);
        start = start.saturating_add(bytes.len() as u64);
        if bytes.is_empty() || start >= file_bytes {
            return Ok(hexadecimal(&hasher.finish()));
        }
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in bytes {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn a_file_has_the_hash_of_its_bytes() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(sha256(b""), empty);
        let long = vec![7; CHUNK_BYTES as usize + 3];
        let files = |path: &str| Ok(if path == "long" { long.clone() } else { Vec::new() });
        assert_eq!(sha256_of_file(&files, "empty").unwrap(), empty);
        assert_eq!(sha256_of_file(&files, "long").unwrap(), sha256(&long));
    }
}
