//! Outputs of several samples: stacked, compared, written.

use npukit_numeric::npy::{NpyArray, NpyData, write_npz};
use serde::Serialize;

use crate::error::Error;

/// An output over all samples, as `--json` shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OutputReport {
    /// Name in the model.
    pub name: String,
    /// Shape of all samples, which follow each other along the first axis.
    pub shape: Vec<usize>,
    /// For each sample, the place of its largest value (row-major over the whole sample).
    pub argmax: Vec<usize>,
}

/// How far two sets of outputs are apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Comparison {
    /// Largest absolute difference.
    pub max_abs_error: f64,
    /// Root of the mean squared difference.
    pub rms_error: f64,
    /// Share of samples whose largest values are at the same place, 0 to 1.
    pub argmax_agree: f64,
}

/// An output, sample after sample.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Stack {
    pub name: String,
    /// Of one sample.
    pub shape: Vec<usize>,
    /// By sample.
    pub samples: Vec<Vec<f32>>,
    /// The machine's integers, where there is a machine.
    pub raw: Vec<Vec<i32>>,
}

impl Stack {
    fn stacked_shape(&self) -> Vec<usize> {
        let mut shape = self.shape.clone();
        match shape.first_mut() {
            Some(first) => *first *= self.samples.len(),
            None => shape.push(self.samples.len()),
        }
        shape
    }

    /// For the report.
    pub fn report(&self) -> OutputReport {
        let argmax = self.samples.iter().map(|sample| argmax(sample)).collect();
        OutputReport { name: self.name.clone(), shape: self.stacked_shape(), argmax }
    }
}

/// The place of the largest value; the first of equals, 0 of none.
pub(crate) fn argmax(values: &[f32]) -> usize {
    let better = |best: usize, i: usize| if values[i] > values[best] { i } else { best };
    (0..values.len()).reduce(better).unwrap_or(0)
}

/// Compares outputs of the same names, shapes and samples.
pub(crate) fn compare(ours: &[Stack], reference: &[Stack]) -> Comparison {
    let pairs = || ours.iter().zip(reference).flat_map(|(a, b)| a.samples.iter().zip(&b.samples));
    let (mut largest, mut squares, mut values, mut agree, mut samples) = (0f64, 0f64, 0usize, 0usize, 0usize);
    for (ours, reference) in pairs() {
        for (a, b) in ours.iter().zip(reference) {
            let difference = (f64::from(*a) - f64::from(*b)).abs();
            largest = largest.max(difference);
            squares += difference * difference;
        }
        values += ours.len();
        samples += 1;
        agree += usize::from(argmax(ours) == argmax(reference));
    }
    Comparison {
        max_abs_error: largest,
        rms_error: (squares / values.max(1) as f64).sqrt(),
        argmax_agree: agree as f64 / samples.max(1) as f64,
    }
}

/// An `.npz` of all outputs: real values, or the machine's integers.
pub(crate) fn npz(stacks: &[Stack], raw: bool) -> Result<Vec<u8>, Error> {
    let shapes: Vec<Vec<usize>> = stacks.iter().map(Stack::stacked_shape).collect();
    let reals: Vec<Vec<f32>> = stacks.iter().map(|stack| stack.samples.concat()).collect();
    let raws: Vec<Vec<i32>> = stacks.iter().map(|stack| stack.raw.concat()).collect();
    let mut arrays = Vec::new();
    for (i, stack) in stacks.iter().enumerate() {
        let data = if raw { NpyData::I32(&raws[i]) } else { NpyData::F32(&reals[i]) };
        let array = NpyArray::new(&shapes[i], data).ok_or_else(|| Error::Output {
            name: stack.name.clone(),
            reason: format!("{} values do not have shape {:?}", reals[i].len(), shapes[i]),
        })?;
        arrays.push((stack.name.as_str(), array));
    }
    write_npz(&arrays).map_err(Error::Array)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stack(samples: &[&[f32]]) -> Stack {
        let samples: Vec<Vec<f32>> = samples.iter().map(|s| s.to_vec()).collect();
        Stack { name: "y".into(), shape: vec![1, 3], samples, raw: Vec::new() }
    }

    #[test]
    fn samples_follow_each_other_along_the_first_axis() {
        let report = stack(&[&[0.0, 2.0, 1.0], &[3.0, 2.0, 3.0]]).report();
        assert_eq!((report.shape, report.argmax), (vec![2, 3], vec![1, 0]));
    }

    #[test]
    fn a_comparison_counts_every_value() {
        let ours = [stack(&[&[0.0, 2.0, 1.0], &[0.0, 0.0, 1.0]])];
        let reference = [stack(&[&[0.0, 2.0, 4.0], &[0.0, 0.0, 1.0]])];
        let found = compare(&ours, &reference);
        assert_eq!((found.max_abs_error, found.argmax_agree), (3.0, 0.5));
        assert!((found.rms_error - (9.0f64 / 6.0).sqrt()).abs() < 1e-12);
    }
}
