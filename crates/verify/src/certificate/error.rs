//! [`CertificateError`]: reasons why a certificate does not hold.

use super::SCHEMA;

/// Reason why a certificate is invalid or does not hold.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CertificateError {
    /// The file is not JSON, lacks a key, or has an unknown key.
    #[error("not a certificate: {reason}")]
    Json {
        /// Description of the error, with its place.
        reason: String,
    },
    /// The certificate has another version, or the file is not a certificate.
    #[error("key `schema` is {}; it must be `{SCHEMA}`", described(.found.as_deref()))]
    Schema {
        /// Value of the key; `None` if it is missing.
        found: Option<String>,
    },
    /// The file was changed after it was written.
    #[error("the content has digest {actual} instead of {said}: it was changed after it was written")]
    Digest {
        /// Digest in the certificate.
        said: String,
        /// Digest of its content.
        actual: String,
    },
    /// The certificate has no seeds.
    #[error("the certificate has no seeds: nothing was compared")]
    NoRuns,
    /// The certificate has no outputs.
    #[error("the certificate has no outputs: nothing was compared")]
    NoOutputs,
    /// The certificate differs from the files or from the repeated proof.
    #[error("{what} is {found}, but the certificate has {said}", found = quoted(.found), said = quoted(.said))]
    Differs {
        /// Item that differs.
        what: String,
        /// Value in the certificate.
        said: String,
        /// Actual value.
        found: String,
    },
    /// The proof has an assumption that the certificate lacks.
    #[error("the proof has an assumption that the certificate lacks: {assumption}")]
    Unsaid {
        /// The assumption.
        assumption: String,
    },
}

impl From<serde_json::Error> for CertificateError {
    fn from(error: serde_json::Error) -> Self {
        Self::Json { reason: error.to_string() }
    }
}

fn described(schema: Option<&str>) -> String {
    schema.map_or_else(|| "missing".to_owned(), |schema| format!("`{schema}`"))
}

/// Makes an empty value visible in the message.
fn quoted(text: &str) -> &str {
    if text.is_empty() { "empty" } else { text }
}
