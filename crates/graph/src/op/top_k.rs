//! The largest or smallest elements along an axis.

use std::cmp::Ordering;

use npukit_numeric::{ElementType, Tensor, TensorData};
use serde::{Deserialize, Serialize};

use super::indexing::{offsets, pick};
use super::operands::{NUMBERS, Operands, build, infer_tensors, tensor};
use super::{Op, OpError, Operator};
use crate::ir::{Value, ValueInfo};
use crate::shape::strides;

/// The `k` largest or smallest elements along `axis`, sorted, and their positions there as 64-bit
/// integers. Equal elements are sorted by position; a NaN is larger than all numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TopK {
    /// The axis, counted from 0.
    pub axis: usize,
    /// Number of elements to return; at most the size of the axis.
    pub k: usize,
    /// Whether to return the largest elements instead of the smallest.
    pub largest: bool,
}

impl Operator for TopK {
    fn name(&self) -> &'static str {
        "TopK"
    }

    fn infer(&self, inputs: &[&Value]) -> Result<Vec<ValueInfo>, OpError> {
        let operands = Operands::new(self, inputs, 1, 1)?;
        let element = operands.element(0, "operand", NUMBERS)?;
        operands.axis(0, self.axis)?;
        let mut shape = operands.shape(0).to_vec();
        if self.k > shape[self.axis] {
            let (op, found) = (self.name(), format!("{} of {} elements", self.k, shape[self.axis]));
            return Err(OpError::Attribute {
                op,
                attribute: "k",
                found,
                legal: "at most the size of the axis",
            });
        }
        shape[self.axis] = self.k;
        Ok(vec![ValueInfo { shape: shape.clone(), element }, ValueInfo { shape, element: ElementType::I64 }])
    }

    fn eval(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>, OpError> {
        let infos = infer_tensors(self, inputs)?;
        let operand = tensor(self, inputs, 0)?;
        let positions = match operand.data() {
            TensorData::F32(x) => self.positions(operand.shape(), &|l, r| order(x[l], x[r])),
            TensorData::I64(x) => self.positions(operand.shape(), &|l, r| x[l].cmp(&x[r])),
            TensorData::I32(x) => self.positions(operand.shape(), &|l, r| x[l].cmp(&x[r])),
            TensorData::Bool(_) => Vec::new(),
        };
        let step = strides(operand.shape())[self.axis].unsigned_abs();
        let along = |&position: &usize| (position / step % operand.shape()[self.axis]) as i64;
        let indices = TensorData::I64(positions.iter().map(along).collect());
        let values = pick(operand.data(), &positions, 1);
        Ok(vec![build(self, &infos[0].shape, values)?, build(self, &infos[1].shape, indices)?])
    }

    fn permuted(&self, perm: &[usize]) -> Option<Op> {
        let axis = perm.iter().position(|&axis| axis == self.axis)?;
        Some(Self { axis, ..self.clone() }.into())
    }
}

impl TopK {
    /// Returns the positions of the result's elements in an operand of `shape`; `order` compares
    /// elements by position.
    fn positions(&self, shape: &[usize], order: &dyn Fn(usize, usize) -> Ordering) -> Vec<usize> {
        let (step, size) = (strides(shape)[self.axis].unsigned_abs(), shape[self.axis]);
        let mut ranked: Vec<Vec<usize>> = Vec::new();
        let outer = shape.iter().enumerate().map(|(axis, &size)| if axis == self.axis { 1 } else { size });
        let outer: Vec<usize> = outer.collect();
        for start in offsets(&outer, &strides(shape)) {
            let mut lane: Vec<usize> = (0..size).map(|i| start + i * step).collect();
            // Stable: equal elements stay in order.
            lane.sort_by(|&l, &r| if self.largest { order(r, l) } else { order(l, r) });
            ranked.push(lane);
        }
        // Interleaves the lanes again.
        let blocks = ranked.chunks(step.max(1));
        let rank = |lanes: &[Vec<usize>], i: usize| lanes.iter().map(|lane| lane[i]).collect::<Vec<_>>();
        blocks.flat_map(|lanes| (0..self.k).flat_map(move |i| rank(lanes, i))).collect()
    }
}

/// Orders floats, NaN last.
fn order(left: f32, right: f32) -> Ordering {
    // Default: if the numbers do not compare, one or both are NaN.
    left.partial_cmp(&right).unwrap_or_else(|| left.is_nan().cmp(&right.is_nan()))
}
