//! Reduction of axes to one element.

use npukit_numeric::{ElementType, Tensor, TensorData};
use serde::{Deserialize, Serialize};

use super::operands::{NUMBERS, Operands, build, infer_tensors, result, tensor};
use super::{Op, OpError, Operator};
use crate::ir::{Value, ValueInfo};
use crate::shape::{gather_strided, strides};

/// Reduction of a group of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ReduceKind {
    /// Sum of the elements divided by their number; integers truncate towards zero.
    Mean,
    /// Sum of the elements.
    Sum,
    /// Product of the elements.
    Prod,
    /// The largest element; for booleans, whether any is true.
    Max,
    /// The smallest element; for booleans, whether all are true.
    Min,
    /// Sum of the magnitudes.
    L1,
    /// Square root of the sum of squares.
    L2,
    /// Logarithm of the sum.
    LogSum,
    /// Logarithm of the sum of exponentials.
    LogSumExp,
    /// Sum of squares.
    SumSquare,
}

/// Reduces some axes to one element. They keep size 1 in the result, or are removed.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct Reduce {
    /// Reduction to apply.
    pub kind: ReduceKind,
    /// The axes, counted from 0, in ascending order. If empty, each element is reduced separately.
    pub axes: Vec<usize>,
    /// Whether the axes stay, with size 1.
    pub keep_dims: bool,
}

/// Formats with the operator name: `ReduceMean { axes: [1, 2], keep_dims: true }`.
impl std::fmt::Debug for Reduce {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct(self.name()).field("axes", &self.axes).field("keep_dims", &self.keep_dims).finish()
    }
}

impl Operator for Reduce {
    fn name(&self) -> &'static str {
        match self.kind {
            ReduceKind::Mean => "ReduceMean",
            ReduceKind::Sum => "ReduceSum",
            ReduceKind::Prod => "ReduceProd",
            ReduceKind::Max => "ReduceMax",
            ReduceKind::Min => "ReduceMin",
            ReduceKind::L1 => "ReduceL1",
            ReduceKind::L2 => "ReduceL2",
            ReduceKind::LogSum => "ReduceLogSum",
            ReduceKind::LogSumExp => "ReduceLogSumExp",
            ReduceKind::SumSquare => "ReduceSumSquare",
        }
    }

    fn infer(&self, inputs: &[&Value]) -> Result<Vec<ValueInfo>, OpError> {
        let operands = Operands::new(self, inputs, 1, 1)?;
        let element = operands.info(0).element;
        let truth = matches!(self.kind, ReduceKind::Max | ReduceKind::Min) && element == ElementType::Bool;
        if !truth {
            operands.element(0, "operand", NUMBERS)?;
        }
        self.axes.iter().try_for_each(|&axis| operands.axis(0, axis))?;
        if !self.axes.is_sorted_by(|left, right| left < right) {
            let (op, found) = (self.name(), format!("{:?}", self.axes));
            return Err(OpError::Attribute {
                op,
                attribute: "axes",
                found,
                legal: "distinct and in ascending order",
            });
        }
        let extreme = matches!(self.kind, ReduceKind::Max | ReduceKind::Min);
        let integer = element.is_integer();
        if extreme && integer && self.axes.iter().any(|&axis| operands.shape(0)[axis] == 0) {
            let (op, found) = (self.name(), format!("{:?} of no elements", self.axes));
            return Err(OpError::Attribute { op, attribute: "axes", found, legal: "at least one integer" });
        }
        result(self.result_shape(operands.shape(0)), element)
    }

    fn eval(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>, OpError> {
        let infos = infer_tensors(self, inputs)?;
        let operand = tensor(self, inputs, 0)?;
        let count: usize = self.axes.iter().map(|&axis| operand.shape()[axis]).product();
        let groups: usize = infos[0].shape.iter().product();
        let data = match operand.data() {
            TensorData::F32(x) => {
                TensorData::F32(fold(&self.grouped(x, operand.shape()), groups, count, |x| self.float(x)))
            }
            TensorData::I64(x) => {
                TensorData::I64(fold(&self.grouped(x, operand.shape()), groups, count, |x| self.integer(x)))
            }
            TensorData::I32(x) => {
                let x: Vec<i64> = self.grouped(x, operand.shape()).into_iter().map(i64::from).collect();
                TensorData::I32(fold(&x, groups, count, |x| self.integer(x) as i32))
            }
            TensorData::Bool(x) => {
                TensorData::Bool(fold(&self.grouped(x, operand.shape()), groups, count, |x| self.truth(x)))
            }
        };
        Ok(vec![build(self, &infos[0].shape, data)?])
    }

    fn permuted(&self, perm: &[usize]) -> Option<Op> {
        let mut axes: Vec<usize> = self
            .axes
            .iter()
            .map(|&axis| perm.iter().position(|&from| from == axis))
            .collect::<Option<_>>()?;
        axes.sort_unstable();
        self.keep_dims.then(|| Self { kind: self.kind, axes, keep_dims: true }.into())
    }
}

impl Reduce {
    /// Returns the shape of the result for an operand of `shape`.
    pub(crate) fn result_shape(&self, shape: &[usize]) -> Vec<usize> {
        reduced(shape, &self.axes, self.keep_dims)
    }

    /// Rearranges the elements so that each group is contiguous.
    pub(crate) fn grouped<T: Copy + Send + Sync>(&self, values: &[T], shape: &[usize]) -> Vec<T> {
        let kept = (0..shape.len()).filter(|axis| !self.axes.contains(axis));
        let order: Vec<usize> = kept.chain(self.axes.iter().copied()).collect();
        let own = strides(shape);
        let permuted: Vec<usize> = order.iter().map(|&axis| shape[axis]).collect();
        let strides: Vec<isize> = order.iter().map(|&axis| own[axis]).collect();
        gather_strided(values, 0, &permuted, &strides)
    }

    fn float(&self, x: &[f32]) -> f32 {
        let x = x.iter().copied();
        match self.kind {
            ReduceKind::Sum => sum(x),
            ReduceKind::Mean => {
                let count = x.len() as f32;
                sum(x) / count
            }
            ReduceKind::Prod => x.fold(1.0, |product, x| product * x),
            ReduceKind::Max => maximum(x),
            ReduceKind::Min => -maximum(x.map(|x| -x)),
            ReduceKind::L1 => sum(x.map(f32::abs)),
            ReduceKind::L2 => sum(x.map(|x| x * x)).sqrt(),
            ReduceKind::LogSum => sum(x).ln(),
            ReduceKind::LogSumExp => log_sum_exp(x),
            ReduceKind::SumSquare => sum(x.map(|x| x * x)),
        }
    }

    /// Reduces integers: sums wrap around; roots and logarithms truncate towards zero.
    fn integer(&self, x: &[i64]) -> i64 {
        let sum = |x: &mut dyn Iterator<Item = i64>| x.fold(0i64, i64::wrapping_add);
        let values = &mut x.iter().copied();
        match self.kind {
            ReduceKind::Sum => sum(values),
            // Default: integers have no NaN for the mean of no elements.
            ReduceKind::Mean => sum(values).checked_div(x.len() as i64).unwrap_or(0),
            ReduceKind::Prod => values.fold(1, i64::wrapping_mul),
            ReduceKind::Max => values.fold(i64::MIN, i64::max),
            ReduceKind::Min => values.fold(i64::MAX, i64::min),
            ReduceKind::L1 => sum(&mut values.map(i64::wrapping_abs)),
            ReduceKind::L2 => (sum(&mut values.map(|x| x.wrapping_mul(x))) as f64).sqrt() as i64,
            ReduceKind::LogSum => (sum(values) as f64).ln() as i64,
            ReduceKind::LogSumExp => values.map(|x| (x as f64).exp()).sum::<f64>().ln() as i64,
            ReduceKind::SumSquare => sum(&mut values.map(|x| x.wrapping_mul(x))),
        }
    }

    fn truth(&self, x: &[bool]) -> bool {
        if self.kind == ReduceKind::Max { x.contains(&true) } else { !x.contains(&false) }
    }
}

/// Returns the shape with the axes reduced.
pub(super) fn reduced(shape: &[usize], axes: &[usize], keep_dims: bool) -> Vec<usize> {
    let size = |(axis, &size): (usize, &usize)| match axes.contains(&axis) {
        true => keep_dims.then_some(1),
        false => Some(size),
    };
    shape.iter().enumerate().filter_map(size).collect()
}

/// Applies `function` to each group of `count` elements, which may be 0.
fn fold<T, R>(values: &[T], groups: usize, count: usize, function: impl Fn(&[T]) -> R) -> Vec<R> {
    (0..groups).map(|group| function(&values[group * count..][..count])).collect()
}

/// Returns the sum, added in order from the first element.
fn sum(values: impl Iterator<Item = f32>) -> f32 {
    values.fold(0.0, |sum, x| sum + x)
}

/// Returns the maximum; minus infinity for no elements, NaN if any element is.
fn maximum(values: impl Iterator<Item = f32>) -> f32 {
    values.fold(f32::NEG_INFINITY, |max, x| if x > max || x.is_nan() { x } else { max })
}

/// Returns the logarithm of the sum of exponentials, in a form without overflow.
fn log_sum_exp(values: impl Iterator<Item = f32> + Clone) -> f32 {
    let max = maximum(values.clone());
    if max.is_infinite() { max } else { max + sum(values.map(|x| (x - max).exp())).ln() }
}
