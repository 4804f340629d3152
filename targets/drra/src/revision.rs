//! [`Revision`]: which hardware a fabric is, and where it reads programs otherwise than the seed's text.
//!
//! Source: specification 1.2 (#10 to #17, #23, #27), 3.6, 4.4 and 4.5; the runs on the released circuit in
//! `tests/golden/drra/released_kernels.json`.

use serde::{Deserialize, Serialize};

use crate::agu::Widths;
use crate::component::Component;

/// Which hardware a fabric is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Revision {
    /// The components as released with the seed's encoding; revision bfe6cc6 is the last.
    #[default]
    Released,
    /// What the seed's text says, which no released circuit does.
    Seed,
    /// The components since July 2026, with another encoding, in which `repx` extends the `rep` before it.
    Later,
}

/// What `repx` does in a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repx {
    /// The high parts of the `rep` before it.
    Extends,
    /// The high parts of the next level, and counts as one more level.
    NextLevel,
}

impl Revision {
    /// Whether configurations are the released circuit's registers.
    pub const fn is_released(self) -> bool {
        matches!(self, Self::Released)
    }

    /// The bits that a component keeps of each field of `rep`, and as many of `repx`.
    pub const fn widths(self, component: Component) -> Widths {
        match (self, component) {
            (Self::Released, Component::Dpu) => Widths { iter: 7, step: 6, delay: 6 },
            (_, Component::Dpu | Component::Swb) => Widths { iter: 8, step: 7, delay: 8 },
            _ => Widths { iter: 8, step: 7, delay: 7 },
        }
    }

    /// What `repx` does in a component.
    pub const fn repx(self, component: Component) -> Repx {
        match (self, component) {
            (Self::Released, Component::Dpu | Component::Swb) | (Self::Seed | Self::Later, _) => {
                Repx::Extends
            }
            (Self::Released, _) => Repx::NextLevel,
        }
    }

    /// Cycles by which a column starts after the one before it. The seed's compiler knows none.
    pub const fn call_skew(self) -> u32 {
        match self {
            Self::Released | Self::Later => 1,
            Self::Seed => 0,
        }
    }

    /// Its name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Released => "released",
            Self::Seed => "seed",
            Self::Later => "later",
        }
    }
}
