//! Products with a constant matrix: [`Dense`]. Each element of the result is one `dot`; biases are
//! added to each row afterwards.

use npukit_graph::op::Gemm;
use npukit_graph::{Graph, Node};

use super::{Reject, pieces};
use crate::isa::op::{MOST, Op};

/// `A * B + c` with a constant matrix `B [depth, columns]` and biases `c [columns]`, for each row
/// of `A [rows, depth]`.
pub struct Dense {
    rows: u32,
    depth: u32,
    columns: u32,
}

impl Dense {
    /// Checks a node.
    ///
    /// # Errors
    ///
    /// Scaled or transposed operands, weights that are computed, other addends than one per column,
    /// or rows that are longer than an instruction's vectors.
    pub fn new(graph: &Graph, node: &Node, op: &Gemm) -> Result<Self, Reject> {
        let reject = |reason: &str, hint| Err(Reject { reason: reason.to_owned(), hint });
        if op.trans_a || op.alpha != 1.0 || op.beta != 1.0 {
            return reject("it scales or transposes an operand", "export it without alpha, beta and transA");
        }
        let [left, right, addend @ ..] = &node.inputs[..] else { return Err(super::unsupported()) };
        if graph.constant(*right).is_none() {
            return reject("its second operand is computed", "multiply by constant weights");
        }
        let (&[rows, depth], &[_, columns]) = (graph.shape(*left), graph.shape(node.outputs[0])) else {
            return Err(super::unsupported());
        };
        if depth > MOST as usize {
            let reason = format!("its rows have {depth} numbers; `dot` takes up to {MOST}");
            return Err(Reject { reason, hint: "divide it into products of shorter rows, and add them" });
        }
        if addend.iter().any(|&id| graph.shape(id).iter().product::<usize>() != columns) {
            return reject("its addend does not have one number per column", "give a bias for each column");
        }
        Ok(Self { rows: rows as u32, depth: depth as u32, columns: columns as u32 })
    }

    /// Returns the instructions for a result at `dst`; `operands` are addresses, weights stored by
    /// column.
    pub fn instructions(&self, dst: u32, operands: &[u32]) -> Vec<Op> {
        let &Self { rows, depth, columns } = self;
        let mut ops = Vec::new();
        for row in 0..rows {
            let (first, left) = (dst + row * columns, operands[0] + row * depth);
            let right = |column| operands[1] + column * depth;
            let dot = |column| Op::Dot { dst: first + column, left, right: right(column), n: depth };
            ops.extend((0..columns).map(dot));
            for &bias in &operands[2..] {
                let add = |at, n| Op::Add { dst: first + at, left: first + at, right: bias + at, n };
                ops.extend(pieces(columns, add));
            }
        }
        ops
    }
}

/// Returns the elements of a matrix column by column. `is_transposed` matrices are stored so.
pub fn columns(values: &[f32], shape: &[usize], is_transposed: bool) -> Vec<f32> {
    let &[depth, columns] = shape else { return values.to_vec() };
    if is_transposed {
        return values.to_vec();
    }
    (0..columns).flat_map(|column| (0..depth).map(move |row| values[row * columns + column])).collect()
}
