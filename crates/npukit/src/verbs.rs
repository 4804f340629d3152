//! The verbs: a module each, with a request, a function and a report.

pub mod asm;
pub mod check;
pub mod compile;
pub mod conform;
pub mod demo;
pub mod eval;
pub mod isa;
pub mod list;
pub mod run;
pub mod time;

use std::collections::BTreeMap;

use npukit_target::{CompileOptions, Compiled, Instance, Reader};

use crate::error::Error;
use crate::model::{self, Model, ModelOptions};
use crate::targets::{artifact_target, resolve};

pub use crate::samples::{Comparison, OutputReport};

/// What to compile, run or time: a model for a target, or an artifact.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Source {
    /// The `.onnx` or `.pb` file, or the artifact's manifest.
    pub path: String,
    /// For a model, as `tcu:pynqz1`.
    pub target: Option<String>,
    /// For a model: the target's own options, by name.
    pub options: BTreeMap<String, String>,
    /// For a model: how it is read.
    pub model: ModelOptions,
}

/// A program, and the model it was made from.
struct Program {
    compiled: Box<dyn Compiled>,
    model: Option<Model>,
}

impl Source {
    /// The program: compiled, or loaded.
    fn program(&self, reader: &dyn Reader) -> Result<Program, Error> {
        let Some(target) = artifact_target(&self.path) else {
            let (model, compiled) = self.compile(reader)?;
            return Ok(Program { compiled, model: Some(model) });
        };
        if self.target.is_some() {
            return Err(Error::NeedlessTarget { path: self.path.clone() });
        }
        let needless = |option| Err(Error::NeedlessOption { path: self.path.clone(), option });
        if !self.options.is_empty() {
            return needless("`--strategy` or `--order`");
        }
        if self.model != ModelOptions::default() {
            return needless("`--batch`, `--input-shape`, `--outputs` or `--resize`");
        }
        Ok(Program { compiled: target.load(&self.path, reader)?, model: None })
    }

    /// The model, and the program made from it.
    fn compile(&self, reader: &dyn Reader) -> Result<(Model, Box<dyn Compiled>), Error> {
        let instance = self.instance(reader)?;
        let model = model::load(&self.path, &self.model, reader)?;
        let compiled = instance.compile(&model.simplified, &self.compile_options(&model.file_name))?;
        Ok((model, compiled))
    }

    fn instance(&self, reader: &dyn Reader) -> Result<Box<dyn Instance>, Error> {
        resolve(self.target.as_deref().ok_or(Error::NoTarget)?, reader)
    }

    fn compile_options(&self, model_name: &str) -> CompileOptions {
        CompileOptions { model_name: model_name.to_owned(), options: self.options.clone() }
    }
}
