//! [`Temporary`]: a file that is not yet in its place. It goes with its owner: when it is dropped, at a signal, or at
//! the next write into its folder.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use tempfile::NamedTempFile;

use super::fault::{Step, step};
use super::signals;

/// What names of our temporary files begin with.
const PREFIX: &str = ".npu-";
/// Letters and digits that follow.
const RANDOM: usize = 12;

/// A file that is not yet in its place. Its owner holds a lock on it.
pub struct Temporary {
    file: NamedTempFile,
}

impl Temporary {
    /// An empty file in `folder`.
    pub fn new(folder: &Path) -> io::Result<Self> {
        signals::begin()?;
        loop {
            step()?;
            let file = {
                // Nobody ends us between making it and knowing it.
                let mut live = signals::live();
                let file = builder().tempfile_in(folder)?;
                live.insert(file.path().to_owned());
                Self { file }
            };
            // Who tidies the folder may have been faster than the lock.
            match file.file.as_file().try_lock() {
                Ok(()) if file.path().exists() => return Ok(file),
                Ok(()) | Err(fs::TryLockError::WouldBlock) => {}
                // A file system without locks: nobody tidies there.
                Err(fs::TryLockError::Error(_)) => return Ok(file),
            }
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// Waits until the disk has it.
    pub fn sync(&self) -> io::Result<()> {
        step()?;
        self.file.as_file().sync_all()
    }

    /// Puts it in its place.
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
        // Renamed, it is gone already.
        let _ = fs::remove_file(&path);
        signals::live().remove(&path);
    }
}

/// Whether a file of this name is one of ours: the file, or what is beside it under the same name and an ending.
pub fn is_ours(name: &str) -> bool {
    let Some(rest) = name.strip_prefix(PREFIX) else { return false };
    let random = rest.split('.').next().unwrap_or_default();
    random.len() == RANDOM && random.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Temporary files are private unless told otherwise; results are as open as the user's mask allows.
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
