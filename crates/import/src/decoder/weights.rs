//! Weights: [`model`] combines a configuration with the tensors of a safetensors file.

use std::collections::BTreeSet;

use npukit_graph::decoder::{DecoderConfig, DecoderError, DecoderModel};
use npukit_numeric::{ElementType, Tensor};

use super::DecoderFileError;
use crate::elements::from_raw;
use crate::safetensors::{SafeTensors, View};

/// Creates the decoder of `config` with the tensors of the file `path`, which holds `bytes`.
pub(super) fn model(
    config: DecoderConfig,
    path: &str,
    bytes: &[u8],
) -> Result<DecoderModel, DecoderFileError> {
    let format = |reason| DecoderFileError::Format { path: path.to_owned(), reason };
    let file = SafeTensors::read(bytes).map_err(format)?;
    let mut unused: BTreeSet<&str> = file.names().collect();
    let model = DecoderModel::new(config, |name, expected| {
        unused.remove(name);
        let view = file.tensor(name).ok_or_else(|| missing(&file, path, name, expected))?;
        tensor(path, name, expected, view)
    })?;
    if !unused.is_empty() {
        let names = listed(unused);
        return Err(DecoderFileError::Unused { path: path.to_owned(), names });
    }
    Ok(model)
}

fn missing(file: &SafeTensors<'_>, path: &str, name: &str, expected: &[usize]) -> DecoderFileError {
    let known = listed(file.names().collect());
    let (path, name, expected) = (path.to_owned(), name.to_owned(), expected.to_vec());
    DecoderFileError::Missing { path, name, expected, known }
}

/// Lists the first of the names.
fn listed(names: BTreeSet<&str>) -> String {
    const MAX: usize = 20;
    let more = names.len().saturating_sub(MAX);
    let listed = names.into_iter().take(MAX).collect::<Vec<_>>().join(", ");
    if more == 0 { listed } else { format!("{listed} and {more} more") }
}

/// Reads a tensor as `f32`, which represents every number of the narrower types.
fn tensor(path: &str, name: &str, expected: &[usize], view: &View<'_>) -> Result<Tensor, DecoderFileError> {
    let element = match view.dtype.as_str() {
        "F32" => ElementType::F32,
        "F16" => ElementType::F16,
        "BF16" => ElementType::BF16,
        other => {
            let (path, name, found) = (path.to_owned(), name.to_owned(), other.to_owned());
            return Err(DecoderFileError::Elements { path, name, found });
        }
    };
    let wrong =
        DecoderError::Shape { name: name.to_owned(), found: view.shape.clone(), expected: expected.to_vec() };
    // A tensor with the expected shape is within the limits, as the configuration was checked.
    if view.shape != expected {
        return Err(wrong.into());
    }
    let tensor = from_raw(element, expected.to_vec(), view.data);
    let single = tensor.ok().and_then(|tensor| tensor.with_element(ElementType::F32).ok());
    Ok(single.ok_or(wrong)?)
}
