//! [`matrices`]: weights of 4 bits that change the results for a typical text least.

use std::collections::BTreeMap;

use npukit_graph::language::{Group, Model, Part, Rows};
use npukit_graph::quantize::rows::WeightedRounding;

use super::matrices::Matrix;
use super::source;
use crate::lower::LowerError;

/// Maximum number of tokens that are used: more take longer and improve little.
const MAX_TOKENS: usize = 2048;

/// Returns the matrices of all layers in 4 bits, for the first tokens of a text. Products have at
/// most `k_part` columns.
///
/// # Errors
/// Tokens outside the vocabulary, weights that are not finite, or sizes that the machine does not
/// support.
pub fn matrices(
    model: &Model,
    text: &[usize],
    k_part: usize,
) -> Result<BTreeMap<(Option<usize>, Part), Matrix>, LowerError> {
    let mut matrices = BTreeMap::new();
    model.calibrate(&text[..text.len().min(MAX_TOKENS)], |group: Group<'_>| {
        let rounding = WeightedRounding::new(group.moments);
        let one = |(part, rows): &(Part, Rows)| -> Result<Rows, LowerError> {
            let key = (Some(group.layer), *part);
            let source = source(model.description(), *part, key.0, rows);
            let codes = rounding.quantize(rows.shape()[0], &rows.to_floats());
            let codes = codes.map_err(|error| source.wrong(None, error))?;
            matrices.insert(key, source.four_bits(&codes, k_part)?);
            let replaced = Rows::from_floats(rows.shape(), &codes.dequantized());
            replaced.ok_or(LowerError::Fault("a matrix of 4-bit codes"))
        };
        group.matrices.iter().map(one).collect::<Result<Vec<_>, _>>()
    })?;
    Ok(matrices)
}
