//! [`Validity`]: which text says when an instruction is valid.

use serde::{Deserialize, Serialize};

/// Which text says when an instruction is valid (`SOURCES.md`, S10 to S12 and S27).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Validity {
    /// The draft's conditions with its slips mended: a convolution is valid when all that it reads is in the buffer.
    #[default]
    Corrected,
    /// The draft's conditions as they are written, and nothing read that is not there.
    Draft,
}

impl Validity {
    /// What stands behind the name of an instance whose validity is the draft's.
    pub const SUFFIX: &str = "draft";

    /// Whether it is [`Validity::Corrected`].
    pub const fn is_corrected(&self) -> bool {
        matches!(self, Self::Corrected)
    }
}
