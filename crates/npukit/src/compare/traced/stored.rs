//! [`Stored`]: stored arrays by tensor name, from an `.npz` file or a memory image.

use npukit_numeric::npy::{member_names, read_npy, read_npz};
use npukit_target::{Compiled, Output, Reader};

use super::{Line, SampleTensor, TensorKind};
use crate::error::Error;

/// Arrays over all samples.
pub(crate) struct Stored {
    arrays: Vec<(String, SampleTensor)>,
    pub(super) lines: Vec<Line>,
}

/// Prefix of the machine's tensors in an archive of `npu run --dump`.
const MACHINE: &str = "machine/";

impl Stored {
    /// Reads the arrays of an `.npz` file. If `npu run --dump` wrote it, reads only the machine's
    /// arrays.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Read`] or [`Error::Array`].
    pub fn archive(path: &str, reader: &dyn Reader) -> Result<Self, Error> {
        let mut arrays = read_npz(path, &reader.read(path)?)?;
        if arrays.iter().any(|(name, _)| name.starts_with(MACHINE)) {
            let machine =
                |(name, tensor): (String, _)| Some((name.strip_prefix(MACHINE)?.to_owned(), tensor));
            arrays = arrays.into_iter().filter_map(machine).collect();
        }
        let held = |(name, tensor)| (name, SampleTensor { tensor, raw: Vec::new() });
        Ok(Self::new(arrays.into_iter().map(held).collect()))
    }

    /// Reads the array of the tensor `name` from the `.npy` file at `path`.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Read`] or [`Error::Array`].
    pub fn array(name: &str, path: &str, reader: &dyn Reader) -> Result<Self, Error> {
        let tensor = read_npy(path, &reader.read(path)?)?;
        Ok(Self::new(vec![(name.to_owned(), SampleTensor { tensor, raw: Vec::new() })]))
    }

    /// Reads a program's inputs and outputs from the image of `memory` in the file at `path`.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Read`], or [`Error::Target`] for a memory or a size that is not the
    /// program's.
    pub fn image(
        memory: &str,
        path: &str,
        compiled: &dyn Compiled,
        reader: &dyn Reader,
    ) -> Result<Self, Error> {
        let outputs = compiled.read_image(memory, &reader.read(path)?)?;
        let held = |Output { name, values, raw }| (name, SampleTensor { tensor: values, raw });
        Ok(Self::new(outputs.into_iter().map(held).collect()))
    }

    fn new(arrays: Vec<(String, SampleTensor)>) -> Self {
        let line = |(name, held): &(String, SampleTensor)| Line {
            name: name.clone(),
            shape: held.tensor.shape().to_vec(),
            axes: None,
            layer: None,
            kind: TensorKind::Value,
        };
        let lines = arrays.iter().map(line).collect();
        Self { arrays, lines }
    }

    /// Returns the array called `name`.
    pub fn get(&self, name: &str) -> Option<&SampleTensor> {
        self.arrays.iter().find(|(other, _)| other == name).map(|(_, held)| held)
    }
}

/// Finds the archive's name for the tensor `name`: the name itself, its form in archives, or its
/// form from drivers, which write `_` for `/`.
pub(crate) fn named<'a>(name: &str, mut stored: impl Iterator<Item = &'a str> + Clone) -> Option<&'a str> {
    let member = member_names([name]).pop();
    let by_driver = name.replace('/', "_");
    let forms = [Some(name), member.as_deref(), Some(by_driver.as_str())];
    forms.into_iter().flatten().find_map(|form| stored.clone().find(|other| *other == form)).or_else(|| {
        // Archives of other programs may omit the leading `_` for a leading `/`.
        let bare = name.trim_start_matches('/');
        stored.find(|other| *other == bare)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_in_every_form() {
        let stored = ["a/b", "__/y", "c_d", "_/e"];
        let found = |name| named(name, stored.into_iter());
        assert_eq!((found("a/b"), found("../y"), found("c/d")), (Some("a/b"), Some("__/y"), Some("c_d")));
        assert_eq!((found("/e"), found("x")), (Some("_/e"), None));
    }
}
