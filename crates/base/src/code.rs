//! [`Code`]: identifier of an error that stays the same if its message changes.
//! [`codes!`](crate::codes) gives each variant of an error type its own.

/// Error code, for programs that process errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Code {
    /// Identifier, such as `no-such-file`. Its meaning never changes.
    pub name: &'static str,
    /// Meaning as a sentence without a period.
    pub meaning: &'static str,
}

/// Error with a code.
pub trait Coded {
    /// Codes of the type itself, without codes of errors that it wraps.
    const CODES: &'static [Code];

    /// Returns the code of the error.
    fn code(&self) -> &'static str;
}

/// Implements [`Coded`]: one line per variant of an error, or one code for the whole type.
///
/// Variants after `carries` have the code of the error in the named field.
///
/// ```
/// use npukit_base::{Code, Coded, codes};
///
/// struct Inner;
/// enum Outer {
///     Absent { path: String },
///     Other(Inner),
/// }
/// codes!(Inner: Code { name: "broken", meaning: "it is broken" });
/// codes!(Outer {
///     Absent = "no-such-file": "there is no file of that name";
/// } carries { Other.0 });
///
/// assert_eq!(Outer::Absent { path: "x".to_owned() }.code(), "no-such-file");
/// assert_eq!(Outer::Other(Inner).code(), "broken");
/// ```
#[macro_export]
macro_rules! codes {
    ($error:ty { $($variant:ident = $name:literal: $meaning:literal;)* } $(carries { $($carrier:ident.$field:tt),* $(,)? })?) => {
        impl $crate::Coded for $error {
            const CODES: &'static [$crate::Code] = &[$($crate::Code { name: $name, meaning: $meaning }),*];

            fn code(&self) -> &'static str {
                match self {
                    $(Self::$variant { .. } => $name,)*
                    $($(Self::$carrier { $field: carried, .. } => $crate::Coded::code(carried),)*)?
                }
            }
        }
    };
    ($error:ty: $code:expr $(, carries { $($carrier:ident.$field:tt),* $(,)? })?) => {
        impl $crate::Coded for $error {
            const CODES: &'static [$crate::Code] = &[$code];

            fn code(&self) -> &'static str {
                const CODE: $crate::Code = $code;
                match self {
                    $($(Self::$carrier { $field: carried, .. } => $crate::Coded::code(carried),)*)?
                    #[allow(unreachable_patterns, reason = "a type whose variants all wrap errors")]
                    _ => CODE.name,
                }
            }
        }
    };
}

impl<T: Coded + ?Sized> Coded for Box<T> {
    const CODES: &'static [Code] = T::CODES;

    fn code(&self) -> &'static str {
        (**self).code()
    }
}
