//! [`Engine`]: a part of the machine that works independently; [`Cause`]: the reasons for which it
//! waits.

use crate::isa::op::Class;

/// Part of the machine that works on one instruction at a time, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Engine {
    /// Fetches instructions, sets registers and issues the other instructions.
    FrontEnd,
    /// Executes loads.
    Load,
    /// Executes convolutions.
    Multiply,
    /// Executes stores and pads.
    Store,
}

impl Engine {
    /// All engines, in the order of the data flow.
    pub const ALL: [Self; 4] = [Self::FrontEnd, Self::Load, Self::Multiply, Self::Store];

    /// Returns the engine's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::FrontEnd => "front end",
            Self::Load => "load",
            Self::Multiply => "multiply",
            Self::Store => "store",
        }
    }

    /// Returns the engine that executes a class of instructions.
    pub const fn of(class: Class) -> Self {
        match class {
            Class::Control | Class::Configuration => Self::FrontEnd,
            Class::Load => Self::Load,
            Class::Compute => Self::Multiply,
            Class::Store => Self::Store,
        }
    }
}

/// Reason for which an engine waits. If there are several reasons, the reason that ends last
/// applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// The front end waits: the queue of loads is full.
    LoadQueue,
    /// The front end waits: the queue of convolutions is full.
    MultiplyQueue,
    /// The front end waits: the queue of stores is full.
    StoreQueue,
    /// A load waits: the bank it overwrites is being read.
    BankRead,
    /// A load waits for a store to the same bytes, or a store for a load of them.
    Memory,
    /// A transfer waits: another one holds the DRAM port.
    Port,
    /// The ifm tile is not loaded yet.
    Ifm,
    /// The kernel is not loaded yet.
    Ker,
    /// The bias is not loaded yet.
    Bias,
    /// A convolution waits: partial sums are being stored.
    SumsStored,
    /// A store waits: the convolutions are not done.
    Convolution,
}

impl Cause {
    /// All causes.
    pub const ALL: [Self; 11] = [
        Self::LoadQueue,
        Self::MultiplyQueue,
        Self::StoreQueue,
        Self::BankRead,
        Self::Memory,
        Self::Port,
        Self::Ifm,
        Self::Ker,
        Self::Bias,
        Self::SumsStored,
        Self::Convolution,
    ];

    /// Returns the name for reports, as in "waits for ...".
    pub const fn name(self) -> &'static str {
        match self {
            Self::LoadQueue => "room in the queue of loads",
            Self::MultiplyQueue => "room in the queue of convolutions",
            Self::StoreQueue => "room in the queue of stores",
            Self::BankRead => "a bank to be read",
            Self::Memory => "a transfer of the same bytes",
            Self::Port => "the DRAM port",
            Self::Ifm => "an ifm tile",
            Self::Ker => "a kernel",
            Self::Bias => "a bias",
            Self::SumsStored => "partial sums to be stored",
            Self::Convolution => "convolutions",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_variant_is_at_its_place() {
        for (place, cause) in Cause::ALL.into_iter().enumerate() {
            assert_eq!(cause as usize, place);
        }
        for (place, engine) in Engine::ALL.into_iter().enumerate() {
            assert_eq!(engine as usize, place);
        }
    }

    #[test]
    fn reports_tell_causes_apart() {
        let names: std::collections::BTreeSet<&str> = Cause::ALL.into_iter().map(Cause::name).collect();
        assert_eq!(names.len(), Cause::ALL.len());
        assert!(!names.contains(""));
    }
}
