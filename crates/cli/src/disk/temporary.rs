//! [`Temporary`]: a file that is not yet in its place. It is removed when it is dropped, at a
//! signal, or at the next write into its folder.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use tempfile::NamedTempFile;

use super::fault::{Step, step};
use super::signals;

/// Prefix of the names of temporary files.
const PREFIX: &str = ".npu-";
/// Number of random letters and digits after the prefix.
const RANDOM: usize = 12;

/// File that is not yet in its place. Its owner holds a lock on it.
pub struct Temporary {
    file: NamedTempFile,
}

impl Temporary {
    /// Creates an empty file in `folder`.
    pub fn new(folder: &Path) -> io::Result<Self> {
        signals::begin()?;
        loop {
            step()?;
            let file = {
                // No signal may end the process between creating the file and recording it.
                let mut live = signals::live();
                let file = builder().tempfile_in(folder)?;
                live.insert(file.path().to_owned());
                Self { file }
            };
            // Another process may have cleaned up the folder before the lock was taken.
            match file.file.as_file().try_lock() {
                Ok(()) if file.path().exists() => return Ok(file),
                Ok(()) | Err(fs::TryLockError::WouldBlock) => {}
                // On a file system without locks, no process cleans up.
                Err(fs::TryLockError::Error(_)) => return Ok(file),
            }
        }
    }

    /// Returns its path.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// Waits until the data is on the disk.
    pub fn sync(&self) -> io::Result<()> {
        step()?;
        self.file.as_file().sync_all()
    }

    /// Renames the file to its place.
    pub fn rename(self, place: &Path) -> Result<(), (Self, io::Error)> {
        if let Err(error) = step().and_then(|_| fs::rename(self.path(), place)) {
            return Err((self, error));
        }
        Ok(())
    }
}

impl Write for Temporary {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match step()? {
            Step::Go => self.file.write(bytes),
            Step::Short => self.file.write(bytes.get(..bytes.len().div_ceil(2)).unwrap_or(bytes)),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let path = self.path().to_owned();
        // After a rename, it no longer exists.
        let _ = fs::remove_file(&path);
        signals::live().remove(&path);
    }
}

/// Whether a file name belongs to npukit: a temporary file, or a file next to it with the same name
/// and an extension.
pub fn is_ours(name: &str) -> bool {
    let Some(rest) = name.strip_prefix(PREFIX) else { return false };
    let random = rest.split('.').next().unwrap_or_default();
    random.len() == RANDOM && random.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Temporary files are private by default; results get the permissions of the user's mask.
fn builder() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(PREFIX).rand_bytes(RANDOM);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_names_are_known() {
        for (name, ours) in [
            (".npu-abcDEF123456", true),
            (".npu-abcDEF123456.old", true),
            (".npu-config", false),
            (".npu-abcDEF12345_", false),
            ("npu-abcDEF123456", false),
        ] {
            assert_eq!(is_ours(name), ours, "{name}");
        }
    }
}
