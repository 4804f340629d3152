//! [`Target`]: an accelerator.

use crate::config::options::OptionSpec;
use crate::config::preset::{Config, Preset};
use crate::contract::instance::Instance;
use crate::contract::program::Compiled;
use crate::contract::vectors::Case;
use crate::diagnosis::ErrorKind;
use crate::error::TargetError;
use crate::files::read::Reader;
use crate::lint::Lint;
use crate::report::benchmark::Benchmark;
use crate::report::term::Term;

/// An accelerator.
pub trait Target: Send + Sync {
    /// Short name, as in `--target NAME:...`.
    fn name(&self) -> &'static str;

    /// What it is, in a line.
    fn summary(&self) -> &'static str;

    /// Instances that come with npukit.
    fn presets(&self) -> Vec<Preset>;

    /// What stands behind the name of an instance, after a `+`, whose programs are held to the letter of the target's
    /// document, also where that is mended otherwise; none when there is no such instance.
    fn strict(&self) -> Option<&'static str> {
        None
    }

    /// File name extensions of configuration files, without the dot.
    fn config_extensions(&self) -> &'static [&'static str];

    /// The types of its own errors that say what and where they are.
    fn errors(&self) -> &'static [ErrorKind] {
        &[]
    }

    /// The options of its compiler and of its cost models.
    fn options(&self) -> &'static [OptionSpec] {
        &[]
    }

    /// What people call the cost models whose keys in reports are no names: key and name.
    fn cost_model_names(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// The words of its documents and reports that mean something of their own here, by the alphabet.
    fn terms(&self) -> &'static [Term] {
        &[]
    }

    /// What its linter finds: a row of each kind, by the alphabet of codes, as [`lints!`](crate::lints) makes the table.
    fn lints(&self) -> &'static [&'static Lint] {
        &[]
    }

    /// An instance.
    ///
    /// # Errors
    ///
    /// [`TargetError::Option`] for a name that no instance has; a file that is not a configuration, with
    /// the place.
    fn instance(&self, config: Config<'_>) -> Result<Box<dyn Instance>, TargetError>;

    /// File name extensions of artifacts, without the dot.
    fn artifact_extensions(&self) -> &'static [&'static str] {
        &[]
    }

    /// Loads the artifact whose manifest is at `path`; other files come from `files`.
    ///
    /// # Errors
    ///
    /// [`TargetError::Unsupported`] when the target has no artifacts; files that cannot be read, that do
    /// not belong together or that are not an artifact of it.
    fn load(&self, _path: &str, _files: &dyn Reader) -> Result<Box<dyn Compiled>, TargetError> {
        Err(TargetError::Unsupported { target: self.name().to_owned(), verb: "run" })
    }

    /// What was published of programs for it, and what ours are to reach.
    fn benchmarks(&self) -> &'static [Benchmark] {
        &[]
    }

    /// File name extensions of golden vectors, without the dot.
    fn vector_extensions(&self) -> &'static [&'static str] {
        &["json"]
    }

    /// The golden vectors in a file, or none when its format is not one of this target's.
    ///
    /// A file whose format is known but whose content is wrong is a case that fails.
    fn vectors(&self, _path: &str, _bytes: &[u8], _files: &dyn Reader) -> Option<Vec<Case>> {
        None
    }
}
