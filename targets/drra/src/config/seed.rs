//! [`Choices`]: what a fabric of [`Revision::Seed`](crate::config::revision::Revision::Seed) does where the seed's text names
//! something and does not say what it is.
//!
//! A fabric's file gives them in `options.seed`; `targets/drra/SOURCES.md` has the reasons of the defaults.

use serde::{Deserialize, Serialize};

/// What the seed's text leaves open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Choices {
    /// What the event of a slot is wired to.
    pub event: Event,
    /// What a `wait` for several events waits for.
    pub events: Events,
    /// What `option` of `dsu` selects.
    pub dsu_option: DsuOption,
    /// What the operands of `and`, `or` and `not` of `calc` are.
    pub logic_operands: LogicOperands,
}

/// What the event of a slot is wired to. It is there from the cycle of the last address on, until the port starts again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// None of the slot's ports runs.
    #[default]
    Slot,
    /// Port 0 does not run.
    Port0,
    /// Port 1 does not run.
    Port1,
    /// Port 2 does not run.
    Port2,
    /// Port 3 does not run.
    Port3,
}

/// What a `wait` for several events waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Events {
    /// All of them.
    #[default]
    All,
    /// The first of them.
    Any,
}

/// What `option` of `dsu` selects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DsuOption {
    /// One of four configurations of the port, to which `rep`, `repx` and `trans` go until the next `dsu`. Starting the
    /// port takes the stored one of the lowest number and leaves it empty.
    #[default]
    Configurations,
    /// Nothing.
    Nothing,
}

/// What the operands of `and`, `or` and `not` of `calc` are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogicOperands {
    /// Flag registers, as their results are.
    #[default]
    Flags,
    /// Scalar registers.
    Registers,
}

impl Choices {
    /// Those of a fabric that says nothing.
    pub const DEFAULT: Self = Self {
        event: Event::Slot,
        events: Events::All,
        dsu_option: DsuOption::Configurations,
        logic_operands: LogicOperands::Flags,
    };
}

impl Event {
    /// The ports that it is of, a bit each.
    pub(crate) const fn ports(self) -> u64 {
        match self {
            Self::Slot => 0b1111,
            Self::Port0 => 0b0001,
            Self::Port1 => 0b0010,
            Self::Port2 => 0b0100,
            Self::Port3 => 0b1000,
        }
    }
}
