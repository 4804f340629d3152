//! Reads fabrics from files and by name: architecture JSON (`json`, `elaborated`), the short form
//! of the golden vectors (`short`), and built-in instances (`presets`).

mod cell;
pub(crate) mod column;
pub(crate) mod component;
mod elaborated;
pub(crate) mod encoding;
pub mod error;
pub(crate) mod fabric;
mod grid;
mod json;
mod keys;
mod parameters;
mod presets;
pub(crate) mod revision;
pub(crate) mod seed;
pub mod settable;
mod short;
mod system;

pub use elaborated::to_json;
pub use error::ConfigError;
pub use json::from_json;
pub use keys::misspelt;
pub use presets::{PRESETS, preset};
pub use short::from_short;
pub use system::{System, Systems};
