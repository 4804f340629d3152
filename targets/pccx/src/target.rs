//! [`Pccx`], the [`Target`] of this crate.

use npukit_target::{Config as Source, Instance, Preset, Target, TargetError};

/// pccx: a 4-bit accelerator for language models.
#[derive(Clone, Copy, Debug)]
pub struct Pccx;

impl Target for Pccx {
    fn name(&self) -> &'static str {
        "pccx"
    }

    fn summary(&self) -> &'static str {
        "pccx: a 4-bit accelerator for language models"
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
