//! [`Encoding`]: bit layout of instruction words in files.

use serde::{Deserialize, Serialize};

/// Bit layout of instruction words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Encoding {
    /// Encoding of component releases 2.10 and 2.11.
    #[default]
    Released,
    /// Encoding of the components since July 2026 (specification 1.2, below the table): other
    /// opcodes, shorter repetition fields.
    Later,
}
