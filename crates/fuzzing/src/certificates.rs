//! [`certificates`]: what was proved of which bytes.

use npukit::verbs::verify::Certificate;

use crate::told;

/// A certificate. What is accepted is written as it is read.
pub fn certificates(input: &[u8]) {
    match Certificate::parse(input) {
        Ok(certificate) => {
            let again = Certificate::parse(certificate.to_json().as_bytes());
            assert_eq!(
                again.ok().as_ref(),
                Some(&certificate),
                "a certificate that is written is another one"
            );
        }
        Err(error) => drop(told(&error)),
    }
}
