//! [`CertificateError`]: why a certificate does not hold.

use super::SCHEMA;

/// Why a certificate does not hold, or is none.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CertificateError {
    /// It is not JSON, lacks a key, or has one that there is not.
    #[error("it is no certificate: {reason}")]
    Json {
        /// What is wrong, and where.
        reason: String,
    },
    /// It is of another version, or no certificate.
    #[error("its key `schema` is {}, and not `{SCHEMA}`", told(.found.as_deref()))]
    Schema {
        /// What it says; none where it says nothing.
        found: Option<String>,
    },
    /// It was changed after it was written.
    #[error("its content has digest {actual}, and it says {said}: it was changed after it was written")]
    Digest {
        /// What it says.
        said: String,
        /// That of its content.
        actual: String,
    },
    /// It has no seeds.
    #[error("it has no seeds: nothing was compared")]
    NoRuns,
    /// It has no outputs.
    #[error("it has no outputs: nothing was compared")]
    NoOutputs,
    /// It says something else than what is there, or than what the proof shows.
    #[error("{what} is {found}, and the certificate says {said}", found = quoted(.found), said = quoted(.said))]
    Differs {
        /// What.
        what: String,
        /// In the certificate.
        said: String,
        /// Here.
        found: String,
    },
    /// The proof assumes what it does not say.
    #[error("the proof assumes what the certificate does not say: {assumption}")]
    Unsaid {
        /// What is assumed.
        assumption: String,
    },
}

impl From<serde_json::Error> for CertificateError {
    fn from(error: serde_json::Error) -> Self {
        Self::Json { reason: error.to_string() }
    }
}

fn told(schema: Option<&str>) -> String {
    schema.map_or_else(|| "not there".to_owned(), |schema| format!("`{schema}`"))
}

/// What is empty has to be seen.
fn quoted(text: &str) -> &str {
    if text.is_empty() { "empty" } else { text }
}
