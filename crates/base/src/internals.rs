//! [`internals!`](crate::internals): a door for the tests of a crate whose modules are private.

/// Makes what is public in private modules of the calling crate reachable as `internals::NAME`, for its own tests and
/// benches: the documentation does not show it, and it is no part of the crate's interface. Each module is given as
/// `NAME = PATH` from the root of the crate.
#[macro_export]
#[allow(clippy::crate_in_macro_def, reason = "the modules are those of the calling crate")]
macro_rules! internals {
    ($($name:ident = $($path:ident)::+),+ $(,)?) => {
        #[doc(hidden)]
        pub mod internals {
            $(pub mod $name {
                pub use crate::$($path)::+::*;
            })+
        }
    };
}
