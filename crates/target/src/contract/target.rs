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

/// Gives an instance.
type MakeInstance = fn(Config<'_>) -> Result<Box<dyn Instance>, TargetError>;
/// Loads the artifact whose manifest is at a path.
type Load = fn(&str, &dyn Reader) -> Result<Box<dyn Compiled>, TargetError>;
/// Reads golden vectors.
type ReadVectors = fn(&str, &[u8], &dyn Reader) -> Option<Vec<Case>>;

/// An accelerator: what is the same of all its instances, and how these, artifacts and golden vectors are read.
#[derive(Clone, Debug)]
pub struct Target {
    /// Short name, as in `--target NAME:...`.
    pub name: &'static str,
    /// What it is, in a line.
    pub summary: &'static str,
    /// Instances that come with npukit.
    pub presets: fn() -> Vec<Preset>,
    /// What stands behind the name of an instance, after a `+`, whose programs are held to the letter of the target's
    /// document, also where that is mended otherwise; none when there is no such instance.
    pub strict: Option<&'static str>,
    /// File name extensions of configuration files, without the dot.
    pub config_extensions: &'static [&'static str],
    /// The types of its own errors that say what and where they are.
    pub errors: &'static [ErrorKind],
    /// The options of its compiler and of its cost models.
    pub options: &'static [OptionSpec],
    /// What people call the cost models whose keys in reports are no names: key and name.
    pub cost_model_names: &'static [(&'static str, &'static str)],
    /// The words of its documents and reports that mean something of their own here, by the alphabet.
    pub terms: &'static [Term],
    /// What its linter finds: a row of each kind, by the alphabet of codes, as [`lints!`](crate::lints) makes the table.
    pub lints: &'static [&'static Lint],
    /// Gives an instance: see [`Self::instance`].
    pub make_instance: MakeInstance,
    /// File name extensions of artifacts, without the dot.
    pub artifact_extensions: &'static [&'static str],
    /// Loads an artifact: see [`Self::load`]; none when the target has none.
    pub load_artifact: Option<Load>,
    /// What was published of programs for it, and what ours are to reach.
    pub benchmarks: fn() -> &'static [Benchmark],
    /// File name extensions of golden vectors, without the dot.
    pub vector_extensions: &'static [&'static str],
    /// Reads golden vectors: see [`Self::vectors`].
    pub read_vectors: ReadVectors,
}

impl Target {
    /// A target by its name and a line on it, with instances alone.
    pub const fn new(
        name: &'static str,
        summary: &'static str,
        presets: fn() -> Vec<Preset>,
        make_instance: MakeInstance,
    ) -> Self {
        Self {
            name,
            summary,
            presets,
            strict: None,
            config_extensions: &[],
            errors: &[],
            options: &[],
            cost_model_names: &[],
            terms: &[],
            lints: &[],
            make_instance,
            artifact_extensions: &[],
            load_artifact: None,
            benchmarks: || &[],
            vector_extensions: &["json"],
            read_vectors: |_, _, _| None,
        }
    }

    /// Instances that come with npukit.
    pub fn presets(&self) -> Vec<Preset> {
        (self.presets)()
    }

    /// What was published of programs for it, and what ours are to reach.
    pub fn benchmarks(&self) -> &'static [Benchmark] {
        (self.benchmarks)()
    }

    /// An instance.
    ///
    /// # Errors
    ///
    /// [`TargetError::Option`] for a name that no instance has; a file that is not a configuration, with
    /// the place.
    pub fn instance(&self, config: Config<'_>) -> Result<Box<dyn Instance>, TargetError> {
        (self.make_instance)(config)
    }

    /// Loads the artifact whose manifest is at `path`; other files come from `files`.
    ///
    /// # Errors
    ///
    /// [`TargetError::Unsupported`] when the target has no artifacts; files that cannot be read, that do
    /// not belong together or that are not an artifact of it.
    pub fn load(&self, path: &str, files: &dyn Reader) -> Result<Box<dyn Compiled>, TargetError> {
        let unsupported = || TargetError::Unsupported { target: self.name.to_owned(), verb: "run" };
        self.load_artifact.ok_or_else(unsupported)?(path, files)
    }

    /// The golden vectors in a file, or none when its format is not one of this target's.
    ///
    /// A file whose format is known but whose content is wrong is a case that fails.
    pub fn vectors(&self, path: &str, bytes: &[u8], files: &dyn Reader) -> Option<Vec<Case>> {
        (self.read_vectors)(path, bytes, files)
    }
}
