//! [`Choices`]: behavior of a fabric of [`Revision::Seed`](crate::config::revision::Revision::Seed)
//! where the ISA document names something without defining it.
//!
//! A fabric file sets the choices in `options.seed`; `targets/drra/SOURCES.md` explains the
//! defaults.

use serde::{Deserialize, Serialize};

/// Choices where the ISA document is silent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Choices {
    /// Condition that raises the event of a slot.
    pub event: Event,
    /// Whether a `wait` for several events waits for all or any.
    pub events: Events,
    /// Meaning of `option` of `dsu`.
    pub dsu_option: DsuOption,
    /// Operands of `and`, `or` and `not` of `calc`.
    pub logic_operands: LogicOperands,
}

/// Condition that raises the event of a slot. The event holds from the cycle of the last address
/// until the port starts again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// No port of the slot is active.
    #[default]
    Slot,
    /// Port 0 is not active.
    Port0,
    /// Port 1 is not active.
    Port1,
    /// Port 2 is not active.
    Port2,
    /// Port 3 is not active.
    Port3,
}

/// Condition that ends a `wait` for several events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Events {
    /// All events have occurred.
    #[default]
    All,
    /// At least one event has occurred.
    Any,
}

/// Meaning of `option` of `dsu`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DsuOption {
    /// Selects one of four configurations of the port, to which `rep`, `repx` and `trans` apply
    /// until the next `dsu`. Starting the port takes the stored configuration with the lowest
    /// number and leaves it empty.
    #[default]
    Configurations,
    /// No effect.
    Nothing,
}

/// Operands of `and`, `or` and `not` of `calc`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogicOperands {
    /// Flag registers, like their results.
    #[default]
    Flags,
    /// Scalar registers.
    Registers,
}

impl Choices {
    /// Choices of a fabric file without `options.seed`.
    pub const DEFAULT: Self = Self {
        event: Event::Slot,
        events: Events::All,
        dsu_option: DsuOption::Configurations,
        logic_operands: LogicOperands::Flags,
    };
}

impl Event {
    /// Mask of the ports that the event depends on, one bit per port.
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
