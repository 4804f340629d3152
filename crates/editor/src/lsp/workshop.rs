//! [`Workshop`]: what the server is told of the world.

use npukit_target::{Instance, Reader};

/// What instances there are, which a text is for, and where files come from.
pub trait Workshop: Sync {
    /// The instance that a name stands for, as `NAME:PRESET`.
    ///
    /// # Errors
    ///
    /// Why there is none, for people.
    fn instance(&self, spec: &str) -> Result<Box<dyn Instance>, String>;

    /// The instance that the file at `path` is for by what lies in its folder or above.
    fn of_folder(&self, path: &str) -> Option<String>;

    /// The instance that texts are for of which nobody says anything.
    fn fallback(&self) -> Option<String>;

    /// Names of instances, each with what it is.
    fn instances(&self) -> Vec<(String, String)>;

    /// Files.
    fn files(&self) -> &dyn Reader;
}
