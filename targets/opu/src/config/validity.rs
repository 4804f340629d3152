//! [`Validity`]: how far the draft's letter counts.

use serde::{Deserialize, Serialize};

/// How far the draft's letter counts (`SOURCES.md`), from not at all where it slips to everywhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Validity {
    /// The draft's conditions with its slips mended: a convolution is valid when all that it reads is in the buffer.
    #[default]
    Corrected,
    /// The draft's conditions as they are written, and nothing read that is not there (S10 to S12, S27).
    Draft,
    /// Beside them the fields of `@post` as the appendix has them, and the strides of `ld.ker` and `pad` as they are
    /// printed (S13, S17, S20): words and programs differ from those of the published compiler.
    Seed,
}

impl Validity {
    /// What stands behind the name of an instance that is held to the draft's conditions.
    pub const SUFFIX: &str = "draft";

    /// What `suffix` behind the name of an instance says; none for another suffix.
    pub fn of_suffix(suffix: &str) -> Option<Self> {
        match suffix {
            Self::SUFFIX => Some(Self::Draft),
            "seed" => Some(Self::Seed),
            _ => None,
        }
    }

    /// Whether it is [`Validity::Corrected`].
    pub const fn is_corrected(&self) -> bool {
        matches!(self, Self::Corrected)
    }

    /// Whether words and strides are the draft's, too: [`Validity::Seed`].
    pub const fn is_seed(&self) -> bool {
        matches!(self, Self::Seed)
    }
}
