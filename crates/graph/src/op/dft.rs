//! The discrete Fourier transform.

use std::f64::consts::TAU;

use npukit_numeric::Tensor;
use serde::{Deserialize, Serialize};

use super::operands::{Operands, build_floats, floats, infer_tensors, result};
use super::{Op, OpError, Operator};
use crate::ir::{Value, ValueInfo};

/// `X[k] = sum over n of x[n] e^(-2 pi i k n / length)` along an axis.
///
/// An operand `[.., 1]` is real, `[.., 2]` complex: real and imaginary parts are adjacent, as in
/// the result `[.., 2]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dft {
    /// The axis, counted from 0; not the last one.
    pub axis: usize,
    /// Number of points. The operand is zero-padded or cut to this length.
    pub length: usize,
    /// Whether the exponent is positive and the sum is divided by the length.
    pub inverse: bool,
    /// Whether only the first `length / 2 + 1` points are returned, which determine the rest for a
    /// real operand.
    pub onesided: bool,
}

impl Dft {
    /// Returns the number of result points.
    pub fn results(&self) -> usize {
        if self.onesided { self.length / 2 + 1 } else { self.length }
    }

    /// Returns `e^(-2 pi i number / length)`, or its conjugate for the inverse.
    pub fn root(&self, number: usize) -> [f64; 2] {
        let angle = TAU * (number % self.length.max(1)) as f64 / self.length.max(1) as f64;
        let (sin, cos) = angle.sin_cos();
        [cos, if self.inverse { sin } else { -sin }]
    }

    /// Transforms complex points, in `f64`.
    fn transform(&self, points: &[[f64; 2]], roots: &[[f64; 2]]) -> Vec<[f64; 2]> {
        let factor = if self.inverse { 1.0 / self.length as f64 } else { 1.0 };
        let point = |k: usize| {
            let terms = points.iter().enumerate().map(|(n, [re, im])| {
                // In 128 bits, so that the product of two indices does not overflow.
                let [cos, sin] = roots[(k as u128 * n as u128 % self.length as u128) as usize];
                [re * cos - im * sin, re * sin + im * cos]
            });
            let [re, im] = terms.fold([0.0; 2], |sum, term| [sum[0] + term[0], sum[1] + term[1]]);
            [re * factor, im * factor]
        };
        (0..self.results()).map(point).collect()
    }
}

impl Operator for Dft {
    fn name(&self) -> &'static str {
        "DFT"
    }

    fn infer(&self, inputs: &[&Value]) -> Result<Vec<ValueInfo>, OpError> {
        let operands = Operands::new(self, inputs, 1, 1)?;
        let mut shape = operands.floats(0, "operand", 2, usize::MAX)?.to_vec();
        let last = shape.len() - 1;
        if self.axis >= last {
            return Err(OpError::Axis { op: self.name(), axis: self.axis, rank: last });
        }
        if !matches!(shape[last], 1 | 2) {
            operands.size("size of the last axis, if not 1,", 2, shape[last])?;
        }
        let refused = |attribute, found: String, legal| {
            Err(OpError::Attribute { op: self.name(), attribute, found, legal })
        };
        if self.length == 0 {
            return refused("length", self.length.to_string(), "at least 1");
        }
        if self.onesided && (self.inverse || shape[last] == 2) {
            return refused(
                "onesided",
                self.onesided.to_string(),
                "false for complex operands and the inverse",
            );
        }
        (shape[self.axis], shape[last]) = (self.results(), 2);
        result(shape, operands.info(0).element)
    }

    fn eval(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>, OpError> {
        let infos = infer_tensors(self, inputs)?;
        let (x, values) = (inputs[0].shape(), floats(self, inputs, 0, "operand")?);
        let (count, parts) = (x[self.axis], x[x.len() - 1]);
        let inner: usize = x[self.axis + 1..x.len() - 1].iter().product();
        let outer: usize = x[..self.axis].iter().product();
        let roots: Vec<[f64; 2]> = (0..self.length).map(|number| self.root(number)).collect();
        let mut out = vec![0.0_f32; outer * self.results() * inner * 2];
        for (start, place) in (0..outer).flat_map(|i| (0..inner).map(move |j| (i, j))) {
            let at = |n: usize| ((start * count + n) * inner + place) * parts;
            let part =
                |n: usize, part: usize| if part < parts { f64::from(values[at(n) + part]) } else { 0.0 };
            let points: Vec<[f64; 2]> =
                (0..count.min(self.length)).map(|n| [part(n, 0), part(n, 1)]).collect();
            for (k, point) in self.transform(&points, &roots).into_iter().enumerate() {
                let to = ((start * self.results() + k) * inner + place) * 2;
                out[to..to + 2].copy_from_slice(&point.map(|value| value as f32));
            }
        }
        build_floats(self, &infos, out)
    }

    /// Only if the parts of the numbers stay the last axis.
    fn permuted(&self, perm: &[usize]) -> Option<Op> {
        let axis = perm.iter().position(|&axis| axis == self.axis)?;
        let last = perm.len().checked_sub(1)?;
        (perm.last() == Some(&last)).then(|| Self { axis, ..self.clone() }.into())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use npukit_numeric::ElementType;

    use super::*;
    use crate::op::operands::as_value;

    const FORWARD: Dft = Dft { axis: 0, length: 4, inverse: false, onesided: false };

    fn floats(shape: &[usize], values: &[f32]) -> Tensor {
        Tensor::from_f32(shape.to_vec(), values.to_vec()).unwrap()
    }

    fn run(op: &Dft, x: &Tensor) -> (Vec<usize>, Vec<f32>) {
        let y = op.eval(&[x]).unwrap().remove(0);
        // Rounded sines may leave small errors instead of zeros.
        let rounded = y.as_f32().unwrap().iter().map(|x| (x * 1024.0).round() / 1024.0 + 0.0).collect();
        (y.shape().to_vec(), rounded)
    }

    #[test]
    fn by_hand() {
        let x = floats(&[4, 1], &[1.0, 2.0, 3.0, 5.0]);
        let full = vec![11.0, 0.0, -2.0, 3.0, -3.0, 0.0, -2.0, -3.0];
        assert_eq!(run(&FORWARD, &x), (vec![4, 2], full.clone()));
        assert_eq!(run(&Dft { onesided: true, ..FORWARD }, &x), (vec![3, 2], full[..6].to_vec()));
        let back = Dft { inverse: true, ..FORWARD };
        assert_eq!(run(&back, &floats(&[4, 2], &full)).1, [1.0, 0.0, 2.0, 0.0, 3.0, 0.0, 5.0, 0.0]);
        assert_eq!(run(&Dft { length: 2, ..FORWARD }, &x).1, [3.0, 0.0, -1.0, 0.0], "the first two");
        assert_eq!(run(&Dft { length: 5, ..FORWARD }, &x).1[..2], [11.0, 0.0], "a zero more");
    }

    #[test]
    fn along_any_axis() {
        let x = floats(&[2, 2, 2, 1], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
        let real = |axis| -> Vec<f32> {
            run(&Dft { axis, length: 2, ..FORWARD }, &x).1.into_iter().step_by(2).collect()
        };
        assert_eq!(real(0), [6.0, 8.0, 10.0, 12.0, -4.0, -4.0, -4.0, -4.0]);
        assert_eq!(real(1), [4.0, 6.0, -2.0, -2.0, 12.0, 14.0, -2.0, -2.0]);
        assert_eq!(real(2), [3.0, -1.0, 7.0, -1.0, 11.0, -1.0, 15.0, -1.0]);
        let moved = Dft { axis: 1, ..FORWARD }.permuted(&[1, 0, 2, 3]);
        assert_eq!(moved, Some(Dft { axis: 0, ..FORWARD }.into()));
        assert_eq!(FORWARD.permuted(&[0, 2, 1]), None);
    }

    #[test]
    fn what_is_no_transform_is_refused() {
        let x = |shape: &[usize]| floats(shape, &vec![0.0; shape.iter().product()]);
        let infer = |op: &Dft, x: &Tensor| op.infer(&[&as_value(x)]);
        assert!(matches!(infer(&FORWARD, &x(&[4, 3])), Err(OpError::Size { .. })));
        assert!(matches!(infer(&Dft { axis: 1, ..FORWARD }, &x(&[4, 2])), Err(OpError::Axis { .. })));
        assert!(matches!(infer(&Dft { length: 0, ..FORWARD }, &x(&[4, 2])), Err(OpError::Attribute { .. })));
        assert!(matches!(
            infer(&Dft { onesided: true, ..FORWARD }, &x(&[4, 2])),
            Err(OpError::Attribute { .. })
        ));
        let info = infer(&FORWARD, &x(&[4, 1])).unwrap().remove(0);
        assert_eq!((info.shape, info.element), (vec![4, 2], ElementType::F32));
    }
}
