//! [`Validity`]: how literally the draft specification is followed.

use serde::{Deserialize, Serialize};

/// How literally the draft specification is followed (`SOURCES.md`), from corrected to literal
/// throughout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Validity {
    /// The draft's conditions with its errors corrected: a convolution is valid if all data that it
    /// reads is in the buffer.
    #[default]
    Corrected,
    /// The draft's conditions as printed, where all data that is read must also be in the buffers
    /// (S10 to S12, S27).
    Draft,
    /// In addition, the fields of `@post` as in the appendix and the printed strides of `ld.ker`
    /// and `pad` (S13, S17, S20): words and programs differ from the published compiler's.
    Seed,
}

impl Validity {
    /// Suffix of an instance name that selects [`Validity::Draft`].
    pub const SUFFIX: &str = "draft";

    /// Returns the validity that `suffix` selects; `None` for an unknown suffix.
    pub fn of_suffix(suffix: &str) -> Option<Self> {
        match suffix {
            Self::SUFFIX => Some(Self::Draft),
            "seed" => Some(Self::Seed),
            _ => None,
        }
    }

    /// Whether the validity is [`Validity::Corrected`].
    pub const fn is_corrected(&self) -> bool {
        matches!(self, Self::Corrected)
    }

    /// Whether words and strides also follow the draft: [`Validity::Seed`].
    pub const fn is_seed(&self) -> bool {
        matches!(self, Self::Seed)
    }
}
