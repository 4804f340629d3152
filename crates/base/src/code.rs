//! [`Code`]: what an error is, in a word that stays the same whatever its message says; [`codes!`](crate::codes) gives
//! each variant of an error its own.

/// What an error is, for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Code {
    /// The word, as `no-such-file`. It never changes its meaning.
    pub name: &'static str,
    /// What it means, in a sentence without its full stop.
    pub meaning: &'static str,
}

/// An error with a code.
pub trait Coded {
    /// All codes that it may have of itself, not through what it carries.
    const CODES: &'static [Code];

    /// Its code.
    fn code(&self) -> &'static str;
}

/// Implements [`Coded`]: a line for each variant of an error, or one code for all of a type.
///
/// Variants after `carries` have the code of what is in the field named.
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
                    #[allow(unreachable_patterns, reason = "a type that carries nothing else")]
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
