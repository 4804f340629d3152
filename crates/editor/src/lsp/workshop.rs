//! [`Workshop`]: environment of the server.

use npukit_target::{Instance, Reader};

/// Provides the instances, the default target of a text, and files.
pub trait Workshop: Sync {
    /// Returns the instance with a name such as `NAME:INSTANCE`.
    ///
    /// # Errors
    /// The reason why it does not exist, as text.
    fn instance(&self, spec: &str) -> Result<Box<dyn Instance>, String>;

    /// Returns the instance that the file at `path` is for, according to its folder or a folder
    /// above.
    fn of_folder(&self, path: &str) -> Option<String>;

    /// Returns the default instance of texts that name no target.
    fn fallback(&self) -> Option<String>;

    /// Returns all instances as pairs of name and description.
    fn instances(&self) -> Vec<(String, String)>;

    /// Returns the file reader.
    fn files(&self) -> &dyn Reader;
}
