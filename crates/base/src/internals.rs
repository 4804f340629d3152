//! [`internals!`](crate::internals): access for tests to private modules of a crate.

/// Re-exports the public items of private modules of the calling crate as `internals::NAME`, for
/// its own tests and benchmarks. The module is hidden from the documentation, and not part of the
/// crate's interface. Each module is given as `NAME = PATH` from the crate root.
#[macro_export]
#[allow(clippy::crate_in_macro_def, reason = "the modules belong to the calling crate")]
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
