//! [`Response`]: a complete answer to a request.

use super::choices::Failed;

/// A complete answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Response {
    pub(super) status: u16,
    /// Origin of a web page that may read it.
    pub(super) origin: Option<String>,
    pub(super) body: String,
}

impl Response {
    /// Creates the answer to a request that failed.
    pub(super) fn failed(failed: &Failed) -> Self {
        Self { status: failed.status, origin: None, body: failed.json().to_string() }
    }
}
