//! [`Revision`]: hardware revision of a fabric, and its differences from the ISA document.
//!
//! Source: specification 1.2 (#10 to #17, #23, #27), 3.6, 4.4 and 4.5; the runs on the released
//! circuit in `tests/golden/drra/released_kernels.json`.

use serde::{Deserialize, Serialize};

use crate::config::component::Component;

/// Hardware revision of a fabric.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Revision {
    /// Components as released with the encoding of the ISA document; revision bfe6cc6 is the last.
    #[default]
    Released,
    /// The specification's reading of the ISA document, which no released circuit implements. It
    /// differs from the letter where the document contradicts itself or where all published
    /// programs read it differently.
    Text,
    /// The ISA document to the letter, with [`Choices`](crate::config::seed::Choices) where it is
    /// silent.
    Seed,
    /// Components since July 2026, with another encoding, in which `repx` extends the `rep` before
    /// it.
    Later,
}

/// Meaning of `repx` in a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repx {
    /// It holds the high bits of the preceding `rep`.
    Extends,
    /// It holds the high bits of the next level, and adds one level.
    NextLevel,
}

impl Revision {
    /// Whether the fabric is the released circuit, whose configuration registers are simulated.
    pub const fn is_released(self) -> bool {
        matches!(self, Self::Released)
    }

    /// Number of bits that a component keeps of each field of `rep`, and of `repx`.
    pub const fn widths(self, component: Component) -> Widths {
        match (self, component) {
            (Self::Released, Component::Dpu) => Widths { iter: 7, step: 6, delay: 6 },
            (_, Component::Dpu | Component::Swb) => Widths { iter: 8, step: 7, delay: 8 },
            _ => Widths { iter: 8, step: 7, delay: 7 },
        }
    }

    /// Meaning of `repx` in a component.
    pub const fn repx(self, component: Component) -> Repx {
        match (self, component) {
            (Self::Released, Component::Dpu | Component::Swb)
            | (Self::Text | Self::Seed | Self::Later, _) => Repx::Extends,
            (Self::Released, _) => Repx::NextLevel,
        }
    }

    /// Cycles by which a column starts after the previous one: 0 in the compiler of the ISA
    /// document.
    pub const fn call_skew(self) -> u32 {
        match self {
            Self::Released | Self::Later => 1,
            Self::Text | Self::Seed => 0,
        }
    }

    /// Whether the revision follows the ISA document to the letter.
    pub const fn is_seed(self) -> bool {
        matches!(self, Self::Seed)
    }

    /// Returns the step of a `rep` with this field. It is signed, except in [`Revision::Seed`],
    /// where it is 0 to 127.
    pub const fn step(self, field: i8) -> i32 {
        if self.is_seed() { field as i32 & 0x7f } else { field as i32 }
    }

    /// Difference between a `brn` field and the distance from the next instruction: 1 if the field
    /// is relative to the branch itself, otherwise 0.
    pub const fn branch_base(self) -> i16 {
        if self.is_seed() { 1 } else { 0 }
    }

    /// Name of the revision in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Released => "released",
            Self::Text => "text",
            Self::Seed => "seed",
            Self::Later => "later",
        }
    }
}

/// Widths of the fields of a `rep`, in bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Widths {
    /// Bits of `iter`.
    pub iter: u32,
    /// Bits of `step`.
    pub step: u32,
    /// Bits of `delay`.
    pub delay: u32,
}
