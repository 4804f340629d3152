//! [`Opu`], the [`Target`] of this crate.

use npukit_target::{Config as Source, Instance, Preset, Target, TargetError};

/// UCLA's OPU: a CNN overlay processor of pointwise convolutions, for quantised networks.
#[derive(Clone, Copy, Debug)]
pub struct Opu;

impl Target for Opu {
    fn name(&self) -> &'static str {
        "opu"
    }

    fn summary(&self) -> &'static str {
        "UCLA's OPU: a CNN overlay processor of pointwise convolutions, for quantised networks"
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
