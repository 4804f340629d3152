//! How an instance is set: its presets and files, its parameters and system, the options of its compiler and of runs.

pub mod compile_options;
pub mod name;
pub mod options;
pub mod parameters;
pub mod preset;
pub mod presets;
pub mod run_options;
pub mod system;
