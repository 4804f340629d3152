//! Codes of fields with their names in text: [`ActMode`], [`CalcMode`], [`DpuMode`] and
//! [`Transfer`].

use npukit_isa::coding::Operand;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Defines an enumeration with codes and names from the table.
macro_rules! modes {
    ($(#[$doc:meta])* $Type:ident { $($variant:ident = $code:literal $name:literal $meaning:literal),* $(,)? }) => {
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

            /// Codes and meanings, by code.
            pub const MEANINGS: &'static [(u64, &'static str)] = &[$(($code, $meaning)),*];

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
    ActMode {
        Contiguous = 0 "contiguous" "`ports` is a mask of the ports of 4 slots, `param` the first slot",
        PortIndex = 1 "port_index" "`ports` is a mask of slots, `param` of their ports",
        Map = 2 "map" "four scalar registers are a mask of all ports, `param` the first one",
    }
}

modes! {
    /// Direction of a `route`: the slots that send bulk rows, or the slots that receive them.
    Transfer {
        Send = 0 "send" "slots send to directions",
        Receive = 1 "receive" "slots receive from a direction",
    }
}

modes! {
    /// Operation of `calc` on `a` (`operand1`) and `b` (`operand2`).
    CalcMode {
        Idle = 0 "idle" "no result",
        Add = 1 "add" "a + b",
        Sub = 2 "sub" "a - b",
        Lls = 3 "lls" "a << b",
        Lrs = 4 "lrs" "a >> b, arithmetic",
        Mul = 5 "mul" "a * b",
        Div = 6 "div" "a / b; 0 if b is 0",
        Mod = 7 "mod" "remainder of a / b; 0 if b is 0",
        BitAnd = 8 "bitand" "a & b",
        BitOr = 9 "bitor" "a | b",
        BitInv = 10 "bitinv" "~a",
        BitXor = 11 "bitxor" "a ^ b",
        Eq = 17 "eq" "1 if a = b, otherwise 0",
        Ne = 18 "ne" "1 if a is not b, otherwise 0",
        Gt = 19 "gt" "1 if a > b, otherwise 0",
        Ge = 20 "ge" "1 if a >= b, otherwise 0",
        Lt = 21 "lt" "1 if a < b, otherwise 0",
        Le = 22 "le" "1 if a <= b, otherwise 0",
        Addh = 23 "addh" "a + 256 b",
        And = 32 "and" "1 if neither a nor b is 0, otherwise 0",
        Or = 33 "or" "1 if a or b is not 0, otherwise 0",
        Not = 34 "not" "1 if a is 0, otherwise 0",
    }
}

modes! {
    /// Operation of a dpu on its operands `a` and `b`, the signed constant `c` (`immediate`), the
    /// accumulator `acc` and the register `ir`.
    DpuMode {
        Idle = 0 "idle" "0",
        Add = 1 "add" "a + b",
        SumAcc = 2 "sum_acc" "acc = acc + a + b",
        AddConst = 3 "add_const" "a + c",
        Subt = 4 "subt" "a - b",
        SubtAbs = 5 "subt_abs" "|a - b|",
        Mode6 = 6 "mode_6" "no definition",
        Mult = 7 "mult" "a * b",
        MultAdd = 8 "mult_add" "a * b + ir",
        MultConst = 9 "mult_const" "a * c",
        Mac = 10 "mac" "acc = acc + a * b",
        LdIr = 11 "ld_ir" "ir = b",
        Axpy = 12 "axpy" "ir * a + b",
        MaxMinAcc = 13 "max_min_acc" "acc = max(acc, a), min if c is odd",
        MaxMinConst = 14 "max_min_const" "max(a, c); min(a, c - 1) if c is odd",
        Mode15 = 15 "mode_15" "no definition",
        MaxMin = 16 "max_min" "max(a, b), min if c is odd",
        ShiftL = 17 "shift_l" "a << (b + c)",
        ShiftR = 18 "shift_r" "a >> (b + c), arithmetic",
        Sigm = 19 "sigm" "1 / (1 + exp(-a)), Q4.11",
        Tanhyp = 20 "tanhyp" "tanh(a), Q4.11",
        Expon = 21 "expon" "exp(a), Q4.11",
        LkRelu = 22 "lk_relu" "a; a * c if a < 0, c in Q4.11",
        Relu = 23 "relu" "max(a, 0)",
        Div = 24 "div" "a / b, Q4.11",
        AccSoftmax = 25 "acc_softmax" "acc = acc + exp(a), Q20.11",
        DivSoftmax = 26 "div_softmax" "exp(a) / acc, Q4.11",
        LdAcc = 27 "ld_acc" "a; acc = a * 2^c",
        ScaleDw = 28 "scale_dw" "a / 2^c, rounded",
        ScaleUp = 29 "scale_up" "a * 2^c",
        MacInter = 30 "mac_inter" "acc / 2^c, rounded; acc = acc + a * b",
        Mode31 = 31 "mode_31" "no definition",
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
