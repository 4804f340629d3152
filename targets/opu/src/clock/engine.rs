//! [`Engine`]: a part of the machine that works for itself, and [`Cause`]: what it may wait for.

use crate::isa::op::Class;

/// A part of the machine that works on one instruction at a time, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Engine {
    /// Fetches instructions, sets registers and hands the others on.
    FrontEnd,
    /// Loads.
    Load,
    /// Convolves.
    Multiply,
    /// Stores and pads.
    Store,
}

impl Engine {
    /// All of them, in the order of the data.
    pub const ALL: [Self; 4] = [Self::FrontEnd, Self::Load, Self::Multiply, Self::Store];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::FrontEnd => "front end",
            Self::Load => "load",
            Self::Multiply => "multiply",
            Self::Store => "store",
        }
    }

    /// The engine of an instruction.
    pub const fn of(class: Class) -> Self {
        match class {
            Class::Control | Class::Configuration => Self::FrontEnd,
            Class::Load => Self::Load,
            Class::Compute => Self::Multiply,
            Class::Store => Self::Store,
        }
    }
}

/// What an engine waits for. Of waits for several things, the one that ends last counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// The front end: as many loads are waiting as can.
    LoadQueue,
    /// The front end: as many convolutions are waiting as can.
    MultiplyQueue,
    /// The front end: as many stores are waiting as can.
    StoreQueue,
    /// A load: the bank it overwrites is read.
    BankRead,
    /// A load: a store to the same bytes is not done. A store: a load of them is not.
    Memory,
    /// A transfer: another one has the DRAM port.
    Port,
    /// The ifm tile is not loaded.
    Ifm,
    /// The kernel is not loaded.
    Ker,
    /// The bias is not loaded.
    Bias,
    /// A convolution: partial sums are being stored.
    SumsStored,
    /// A store: the convolutions are not done.
    Convolution,
}

impl Cause {
    /// All of them.
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

    /// What reports say.
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
