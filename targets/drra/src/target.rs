//! [`Drra`], the [`Target`] of this crate.

use npukit_target::{Config as Source, Instance, Preset, Target, TargetError};

/// KTH's DRRA: a coarse-grained reconfigurable fabric.
#[derive(Clone, Copy, Debug)]
pub struct Drra;

impl Target for Drra {
    fn name(&self) -> &'static str {
        "drra"
    }

    fn summary(&self) -> &'static str {
        "KTH's DRRA: a coarse-grained reconfigurable fabric"
    }

    fn presets(&self) -> Vec<Preset> {
        Vec::new()
    }

    fn config_extensions(&self) -> &'static [&'static str] {
        &["toml"]
    }

    fn instance(&self, _source: Source<'_>) -> Result<Box<dyn Instance>, TargetError> {
        Err(TargetError::Unsupported { target: self.name().to_owned(), verb: "instance" })
    }
}
