//! Models with pseudorandom weights that 4 bits represent exactly.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use npukit_numeric::{SplitMix64, Tensor};

use super::{Gemma3n, Gemma3nConfig};
use npukit_graph::decoder::DecoderError;

/// Root mean square of codes that are uniformly distributed from -7 to 7.
const CODE_RMS: f32 = 4.32;

impl Gemma3n {
    /// Creates a model whose weights depend only on `seed`.
    ///
    /// A weight is an integer from -7 to 7 times a power of two per matrix, with which products are
    /// about as large as their operands. Each row contains a 7. Gains are near 1. All layers share
    /// their tensors, as do the parts of the head and the projections of streams.
    ///
    /// # Errors
    ///
    /// [`DecoderError::Config`] for a configuration that [`Gemma3nConfig::check`] rejects.
    pub fn seeded(config: Gemma3nConfig, seed: u64) -> Result<Self, DecoderError> {
        let mut made = HashMap::new();
        Self::new(config, |name, shape| {
            let kind: String = name.chars().filter(|c| !c.is_ascii_digit()).collect();
            match made.entry((kind, shape.to_vec())) {
                Entry::Occupied(known) => Ok(Arc::clone(known.get())),
                Entry::Vacant(empty) => {
                    let seed = empty.key().0.bytes().fold(seed, |seed, byte| mixed(seed ^ u64::from(byte)));
                    Ok(Arc::clone(empty.insert(Arc::new(tensor(shape, seed)?))))
                }
            }
        })
    }
}

fn tensor(shape: &[usize], seed: u64) -> Result<Tensor, DecoderError> {
    let values = match *shape {
        [rows, columns] => matrix(rows, columns, seed),
        _ => gains(shape.iter().product(), seed),
    };
    let (name, found, expected) = (String::from("seeded"), vec![values.len()], shape.to_vec());
    Tensor::from_f32(shape.to_vec(), values).map_err(|_| DecoderError::Shape { name, found, expected })
}

fn matrix(rows: usize, columns: usize, seed: u64) -> Vec<f32> {
    let scale = (-(CODE_RMS * (columns as f32).sqrt()).log2().round()).exp2();
    let mut values = Vec::with_capacity(rows.saturating_mul(columns));
    for row in 0..rows {
        let first = values.len();
        for block in 0..columns.div_ceil(16) {
            let bits = mixed(seed ^ ((row as u64) << 32 | block as u64));
            let code = |i| (bits >> (4 * i) & 15) % 15;
            let codes = (0..16.min(columns - 16 * block)).map(code);
            values.extend(codes.map(|code| (code as f32 - 7.0) * scale));
        }
        if let Some(largest) = values.get_mut(first + row % columns.max(1)) {
            *largest = 7.0 * scale;
        }
    }
    values
}

/// Returns gains from 3/4 to 5/4, in steps that BF16 represents.
fn gains(count: usize, seed: u64) -> Vec<f32> {
    (0..count as u64).map(|i| 0.75 + (mixed(seed ^ i) % 65) as f32 / 128.0).collect()
}

/// Returns the first number of a seed.
fn mixed(seed: u64) -> u64 {
    SplitMix64::new(seed).bits()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first numbers of SplitMix64 from the seeds 0 and 1234567, as published with it.
    #[test]
    fn mixing_is_that_of_splitmix64() {
        assert_eq!(mixed(0), 0xe220_a839_7b1d_cdaf);
        assert_eq!(mixed(1_234_567), 6_457_827_717_110_365_317);
    }

    /// Figures of another implementation, in Python: seeded models must not change.
    #[test]
    fn weights_stay_what_they_are() {
        let codes = |values: Vec<f32>, scale: f32| values.iter().map(|x| x / scale).collect::<Vec<_>>();
        let expected: [f32; 54] = [
            7., -2., -4., 5., 2., 1., -4., 3., 5., -7., 4., -4., -4., -7., -4., -1., 3., 5., //
            3., 7., 7., 0., -6., -3., 6., 3., 1., -7., -6., 0., -7., -4., -6., -2., -6., -7., //
            -3., 1., 7., -7., -7., 5., -1., -4., 0., 5., 4., 4., 6., -2., 0., 5., -2., -2.,
        ];
        assert_eq!(codes(matrix(3, 18, 5), 1.0 / 16.0), expected);
        assert_eq!(codes(matrix(2, 4, 1), 0.125), [7.0, 5.0, 5.0, -2.0, -7.0, 7.0, -2.0, 2.0]);
        assert_eq!(gains(6, 9), [1.085_937_5, 1.039_062_5, 0.890_625, 0.914_062_5, 0.828_125, 1.203_125]);
    }
}
