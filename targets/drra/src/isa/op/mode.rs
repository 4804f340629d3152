//! Codes of fields with their names in text: [`ActMode`], [`CalcMode`], [`DpuMode`] and
//! [`Transfer`].

use npukit_isa::coding::Operand;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Defines an enumeration with codes and names from the table.
macro_rules! modes {
    ($(#[$doc:meta])* $Type:ident { $($variant:ident = $code:literal $name:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        #[allow(missing_docs, reason = "the names are the instruction set's own; `exec` defines them")]
        pub enum $Type { $($variant = $code),* }

        impl $Type {
            /// All variants, by code.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// Codes and names, by code.
            pub const NAMES: &'static [(u64, &'static str)] = &[$(($code, $name)),*];

            /// Code of the mode.
            pub const fn code(self) -> u8 {
                self as u8
            }

            /// Name in text.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name),*
                }
            }
        }

        impl Operand for $Type {
            fn into_value(self) -> u64 {
                self.code().into()
            }

            fn from_value(value: u64) -> Option<Self> {
                match value {
                    $($code => Some(Self::$variant),)*
                    _ => None,
                }
            }
        }
    };
}

modes! {
    /// How `act` names ports.
    ActMode { Contiguous = 0 "contiguous", PortIndex = 1 "port_index", Map = 2 "map" }
}

modes! {
    /// Direction of a `route`: the slots that send bulk rows, or the slots that receive them.
    Transfer { Send = 0 "send", Receive = 1 "receive" }
}

modes! {
    /// Operation of `calc`.
    CalcMode {
        Idle = 0 "idle", Add = 1 "add", Sub = 2 "sub", Lls = 3 "lls", Lrs = 4 "lrs", Mul = 5 "mul",
        Div = 6 "div", Mod = 7 "mod", BitAnd = 8 "bitand", BitOr = 9 "bitor", BitInv = 10 "bitinv",
        BitXor = 11 "bitxor", Eq = 17 "eq", Ne = 18 "ne", Gt = 19 "gt", Ge = 20 "ge", Lt = 21 "lt", Le = 22 "le", Addh = 23 "addh",
        And = 32 "and", Or = 33 "or", Not = 34 "not",
    }
}

modes! {
    /// Operation of a dpu.
    DpuMode {
        Idle = 0 "idle", Add = 1 "add", SumAcc = 2 "sum_acc", AddConst = 3 "add_const", Subt = 4 "subt",
        SubtAbs = 5 "subt_abs", Mode6 = 6 "mode_6", Mult = 7 "mult", MultAdd = 8 "mult_add",
        MultConst = 9 "mult_const", Mac = 10 "mac", LdIr = 11 "ld_ir", Axpy = 12 "axpy",
        MaxMinAcc = 13 "max_min_acc", MaxMinConst = 14 "max_min_const", Mode15 = 15 "mode_15",
        MaxMin = 16 "max_min", ShiftL = 17 "shift_l", ShiftR = 18 "shift_r", Sigm = 19 "sigm",
        Tanhyp = 20 "tanhyp", Expon = 21 "expon", LkRelu = 22 "lk_relu", Relu = 23 "relu", Div = 24 "div",
        AccSoftmax = 25 "acc_softmax", DivSoftmax = 26 "div_softmax", LdAcc = 27 "ld_acc",
        ScaleDw = 28 "scale_dw", ScaleUp = 29 "scale_up", MacInter = 30 "mac_inter", Mode31 = 31 "mode_31",
    }
}

impl CalcMode {
    /// Whether it is a comparison or a logic operation. Its result is a flag according to the ISA
    /// document.
    pub const fn gives_flag(self) -> bool {
        matches!(self, Self::Eq | Self::Ne | Self::Gt | Self::Ge | Self::Lt | Self::Le) || self.is_logic()
    }

    /// Whether it is a logic operation.
    pub const fn is_logic(self) -> bool {
        matches!(self, Self::And | Self::Or | Self::Not)
    }
}

impl DpuMode {
    /// Whether all sources agree on its meaning.
    pub const fn is_defined(self) -> bool {
        matches!(self, Self::Idle | Self::Add | Self::Mult | Self::Mac)
    }

    /// Whether it is only a number, even with extensions.
    pub const fn is_reserved(self) -> bool {
        matches!(self, Self::Mode6 | Self::Mode15 | Self::Mode31)
    }
}

/// Serialized by name.
impl Serialize for DpuMode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for DpuMode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let mode = Self::ALL.iter().find(|mode| mode.name() == name);
        mode.copied().ok_or_else(|| D::Error::custom(format!("unknown dpu mode `{name}`")))
    }
}
