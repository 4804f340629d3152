//! Configuration: built-in instances and instance files, parameters, systems, compiler and run
//! options.

pub mod compile_options;
pub mod name;
pub mod options;
pub mod parameters;
pub mod preset;
pub mod presets;
pub mod run_options;
pub mod system;
