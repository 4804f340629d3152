//! Modes of instructions: [`ActMode`], [`CalcMode`], [`DpuMode`].

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// An enumeration whose variants have the codes of the table.
macro_rules! modes {
    ($(#[$doc:meta])* $name:ident { $($variant:ident = $code:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        #[allow(missing_docs, reason = "the names are the instruction set's own; `exec` says what each does")]
        pub enum $name { $($variant = $code),* }

        impl $name {
            /// Every mode, by code.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// Its code.
            pub const fn code(self) -> u8 {
                self as u8
            }

            /// The mode of that code.
            pub const fn from_code(code: u32) -> Option<Self> {
                match code {
                    $($code => Some(Self::$variant),)*
                    _ => None,
                }
            }
        }
    };
}

modes! {
    /// How `act` names ports.
    ActMode { Contiguous = 0, PortIndex = 1, Map = 2 }
}

modes! {
    /// What `calc` computes.
    CalcMode {
        Idle = 0, Add = 1, Sub = 2, Lls = 3, Lrs = 4, Mul = 5, Div = 6, Mod = 7, BitAnd = 8, BitOr = 9,
        BitInv = 10, BitXor = 11, Eq = 17, Ne = 18, Gt = 19, Ge = 20, Lt = 21, Le = 22, Addh = 23,
        And = 32, Or = 33, Not = 34,
    }
}

modes! {
    /// What a dpu computes.
    DpuMode {
        Idle = 0, Add = 1, SumAcc = 2, AddConst = 3, Subt = 4, SubtAbs = 5, Mode6 = 6, Mult = 7,
        MultAdd = 8, MultConst = 9, Mac = 10, LdIr = 11, Axpy = 12, MaxMinAcc = 13, MaxMinConst = 14,
        Mode15 = 15, MaxMin = 16, ShiftL = 17, ShiftR = 18, Sigm = 19, Tanhyp = 20, Expon = 21,
        LkRelu = 22, Relu = 23, Div = 24, AccSoftmax = 25, DivSoftmax = 26, LdAcc = 27, ScaleDw = 28,
        ScaleUp = 29, MacInter = 30, Mode31 = 31,
    }
}

impl DpuMode {
    /// Whether sources agree on what it does.
    pub const fn is_defined(self) -> bool {
        matches!(self, Self::Idle | Self::Add | Self::Mult | Self::Mac)
    }

    /// Whether it is only a number, with or without extensions.
    pub const fn is_reserved(self) -> bool {
        matches!(self, Self::Mode6 | Self::Mode15 | Self::Mode31)
    }

    /// Its name in the table.
    pub fn name(self) -> &'static str {
        use crate::component::Component;
        let rows = crate::isa::Isa::get().rows(Component::Dpu);
        let field = rows.iter().flat_map(|row| &row.fields).find(|field| field.name == "mode");
        field.and_then(|field| field.name_of(self.code().into())).unwrap_or_default()
    }
}

/// Written by its name.
impl Serialize for DpuMode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for DpuMode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let mode = Self::ALL.iter().find(|mode| mode.name() == name);
        mode.copied().ok_or_else(|| D::Error::custom(format!("there is no mode `{name}` of dpus")))
    }
}
