//! [`Revision`]: which hardware a fabric is, and where it reads programs otherwise than the seed's text.
//!
//! Source: specification 1.2 (#10 to #17, #23, #27), 3.6, 4.4 and 4.5; the runs on the released circuit in
//! `tests/golden/drra/released_kernels.json`.

use serde::{Deserialize, Serialize};

use crate::config::component::Component;

/// Which hardware a fabric is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Revision {
    /// The components as released with the seed's encoding; revision bfe6cc6 is the last.
    #[default]
    Released,
    /// What the specification makes of the seed's text, which no released circuit does: it differs where the seed's
    /// own words cannot be meant or where all published programs read them otherwise.
    Text,
    /// What the seed's text says, to the letter, and [`Choices`](crate::config::seed::Choices) where it is silent.
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
            (Self::Released, Component::Dpu | Component::Swb)
            | (Self::Text | Self::Seed | Self::Later, _) => Repx::Extends,
            (Self::Released, _) => Repx::NextLevel,
        }
    }

    /// Cycles by which a column starts after the one before it. The seed's compiler knows none.
    pub const fn call_skew(self) -> u32 {
        match self {
            Self::Released | Self::Later => 1,
            Self::Text | Self::Seed => 0,
        }
    }

    /// Whether the seed's text counts to the letter.
    pub const fn is_seed(self) -> bool {
        matches!(self, Self::Seed)
    }

    /// The step of a `rep` whose field holds this: signed but by the seed, where it is 0 to 127.
    pub const fn step(self, field: i8) -> i32 {
        if self.is_seed() { field as i32 & 0x7f } else { field as i32 }
    }

    /// What is added to a distance from the next instruction to make a target of `brn`.
    pub const fn branch_base(self) -> i16 {
        if self.is_seed() { 1 } else { 0 }
    }

    /// Its name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Released => "released",
            Self::Text => "text",
            Self::Seed => "seed",
            Self::Later => "later",
        }
    }
}

/// Bits of the fields of a `rep`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Widths {
    /// Of `iter`.
    pub iter: u32,
    /// Of `step`.
    pub step: u32,
    /// Of `delay`.
    pub delay: u32,
}
