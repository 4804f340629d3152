//! Where files come from: those that Python holds, and the disk.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use npukit::{Cache, Context, ReadError, Reader};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Files by their names.
pub type Held = Arc<BTreeMap<String, Vec<u8>>>;

/// Files of two holders; one name for two contents is an error.
pub fn together(one: &Held, other: &Held) -> PyResult<Held> {
    if let Some((name, _)) =
        one.iter().find(|(name, bytes)| other.get(*name).is_some_and(|held| held != *bytes))
    {
        let told = format!("two files are called {name:?}: save one of them under another name");
        return Err(PyValueError::new_err(told));
    }
    let all = one.iter().chain(other.iter());
    Ok(Arc::new(all.map(|(name, bytes)| (name.clone(), bytes.clone())).collect()))
}

/// What compilations have found, for those that follow in this process.
static CACHE: LazyLock<Cache> =
    LazyLock::new(|| Cache::new(concat!("python ", env!("CARGO_PKG_VERSION")).to_owned(), None));

/// Files that Python holds, and those of the disk.
pub struct Files(pub Held);

impl Reader for Files {
    fn read(&self, path: &str) -> Result<Vec<u8>, ReadError> {
        match self.0.get(path) {
            Some(bytes) => Ok(bytes.clone()),
            None => std::fs::read(path).map_err(|error| ReadError::of(path, &error)),
        }
    }
}

impl Files {
    /// Those of the disk alone.
    pub fn of_disk() -> Self {
        Self(Held::default())
    }

    /// What a verb works in.
    pub fn context(&self) -> Context<'_> {
        Context::new(self).with_cache(&CACHE)
    }
}
