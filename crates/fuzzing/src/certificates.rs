//! [`certificates`]: records of proofs.

use npukit::verbs::verify::Certificate;

use crate::message;

/// Reads a certificate. An accepted one must be written as it was read.
pub fn certificates(input: &[u8]) {
    match Certificate::parse(input) {
        Ok(certificate) => {
            let again = Certificate::parse(certificate.to_json().as_bytes());
            assert_eq!(again.ok().as_ref(), Some(&certificate), "the written certificate differs");
        }
        Err(error) => drop(message(&error)),
    }
}
