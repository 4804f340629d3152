//! [`Seal`]: a digest in a manifest that detects changes of the manifest itself.
//!
//! The digest is part of the text that it covers, so the text is hashed with zeros in its place.
//! Its place is the first occurrence of its digits; manifests put it before all names that users
//! choose. Anyone can compute the digest again after a change: it detects damage and edits, but is
//! not a signature.

use serde::{Deserialize, Serialize};

use crate::files::hash::sha256;
use crate::files::read::ReadError;

/// Hexadecimal digits of a digest.
const DIGITS: usize = 64;

/// SHA-256 of a manifest's text with zeros in place of the digest, as 64 hexadecimal digits. The
/// default is these zeros.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seal(String);

impl Default for Seal {
    fn default() -> Self {
        Self("0".repeat(DIGITS))
    }
}

impl Seal {
    /// Returns the text with its digest in place of this one.
    pub fn put(&self, text: &str) -> String {
        let blank = text.replacen(&self.0, &Self::default().0, 1);
        let digest = sha256(blank.as_bytes());
        blank.replacen(&Self::default().0, &digest, 1)
    }

    /// Checks that this is the digest of `bytes`, the manifest called `manifest`.
    ///
    /// # Errors
    ///
    /// [`ReadError::Changed`].
    pub fn check(&self, manifest: &str, bytes: impl AsRef<[u8]>) -> Result<(), ReadError> {
        let text = std::str::from_utf8(bytes.as_ref());
        if self.0.len() == DIGITS && text.is_ok_and(|text| self.put(text) == text) {
            return Ok(());
        }
        Err(ReadError::Changed { manifest: manifest.to_owned() })
    }
}

/// Returns the text of a manifest with updated hashes and digest, for files that were changed from
/// the first bytes of each pair to the second.
///
/// For tests and fuzzers of readers, with files that were changed on purpose.
pub fn resealed(text: &str, changes: &[(&[u8], &[u8])]) -> String {
    let anew = |text: String, (from, to): &(&[u8], &[u8])| text.replace(&sha256(from), &sha256(to));
    let text = changes.iter().fold(text.to_owned(), anew);
    let is_digest = |part: &&str| part.len() == DIGITS && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    let found = text.split_once("digest").and_then(|(_, rest)| rest.split('"').find(is_digest));
    // Default: a text without a digest stays without one.
    found.map_or_else(|| text.clone(), |digits| Seal(digits.to_owned()).put(&text))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    /// A manifest of two lines with an arbitrary second line.
    fn sealed(name: &str) -> (Seal, String) {
        let text = Seal::default().put(&format!("digest = \"{}\"\nname = \"{name}\"\n", Seal::default().0));
        (Seal(text["digest = \"".len()..][..DIGITS].to_owned()), text)
    }

    #[test]
    fn every_changed_byte_is_found() {
        for name in ["plain", &Seal::default().0, ""] {
            let (seal, text) = sealed(name);
            assert_eq!(seal.check("m", &text), Ok(()));
            for place in 0..text.len() {
                let mut bytes = text.clone().into_bytes();
                bytes[place] ^= 1;
                let changed = String::from_utf8(bytes).unwrap();
                // The digest is read from the changed text, like the digest of a file.
                let read = changed.get("digest = \"".len()..).and_then(|rest| rest.get(..DIGITS));
                let error = Seal(read.unwrap().to_owned()).check("m", &changed);
                assert_eq!(error, Err(ReadError::Changed { manifest: "m".to_owned() }), "{place}");
            }
            assert!(seal.check("m", format!("{text} ")).is_err());
        }
    }

    #[test]
    fn a_changed_text_is_sealed_anew() {
        let (_, text) = sealed("plain");
        let again = resealed(&text.replace("plain", "other"), &[]);
        assert_eq!(again, sealed("other").1);
        let (_, text) = sealed(&sha256(b"before"));
        assert_eq!(resealed(&text, &[(b"before", b"after")]), sealed(&sha256(b"after")).1);
        assert_eq!(resealed("no manifest", &[]), "no manifest");
    }

    #[test]
    fn what_is_no_digest_is_refused() {
        let (_, text) = sealed("plain");
        for digits in ["", "0", "n"] {
            assert!(Seal(digits.to_owned()).check("m", &text).is_err(), "{digits}");
        }
    }
}
