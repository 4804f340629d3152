//! How words are written in files: [`Encoding`].

use serde::{Deserialize, Serialize};

/// How instructions become words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Encoding {
    /// As in the components' releases 2.10 and 2.11.
    #[default]
    Released,
    /// As in the components since July 2026 (specification 1.2, below the table): other opcodes, shorter counts.
    Later,
}
