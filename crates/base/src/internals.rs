//! [`internals!`](crate::internals): a door for the tests of a crate whose modules are private.

/// Makes what is public in these private modules of the calling crate reachable as `internals::MODULE`, for its own
/// tests and benches: the documentation does not show it, and it is no part of the crate's interface.
#[macro_export]
#[allow(clippy::crate_in_macro_def, reason = "the modules are those of the calling crate")]
macro_rules! internals {
    ($($module:ident),+ $(,)?) => {
        #[doc(hidden)]
        pub mod internals {
            $(pub mod $module {
                pub use crate::$module::*;
            })+
        }
    };
}
