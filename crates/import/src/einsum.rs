//! Einsum: sums, transpositions and one matrix product for each operand after the first.

use std::collections::BTreeMap;

use npukit_graph::ValueId;
use npukit_graph::op::{
    Binary, BinaryKind, MatMul, Reduce, ReduceKind, Reshape, Slice, SliceRange, Transpose,
};

use crate::equation::{Equation, Label};
use crate::error::Reason;
use crate::node::NodeBuilder;

/// Adds the operators that compute `equation` from the node's operands.
pub(crate) fn einsum(context: &mut NodeBuilder<'_>, equation: &str) -> Result<ValueId, Reason> {
    let inputs = (0..context.operands().max(1)).map(|index| context.input(index, "Inputs"));
    let inputs = inputs.collect::<Result<Vec<_>, _>>()?;
    let ranks: Vec<usize> = inputs.iter().map(|&input| context.shape(input).len()).collect();
    let Equation { operands, result } = Equation::parse(equation, &ranks)?;
    let mut terms: Vec<Term> =
        inputs.into_iter().zip(operands).map(|(value, labels)| Term { value, labels }).collect();
    let sizes = sizes(context, &terms)?;
    for term in &mut terms {
        term.take_diagonals(context)?;
        term.drop_repeated(context, &sizes)?;
    }
    let mut terms = terms.into_iter();
    let Some(mut product) = terms.next() else { return Err(Reason::OperandMissing { operand: "Inputs" }) };
    while let Some(term) = terms.next() {
        let later: Vec<Label> = terms.as_slice().iter().flat_map(|term| &term.labels).copied().collect();
        let wanted = [result.as_slice(), &later].concat();
        product = multiply(context, product, term, &wanted)?;
    }
    product.sum_others(context, &result)?;
    product.permute(context, &result)?;
    Ok(product.value)
}

/// A value and the labels of its axes.
struct Term {
    value: ValueId,
    labels: Vec<Label>,
}

/// Size of each label. An axis of size 1 fits any size.
fn sizes(context: &NodeBuilder<'_>, terms: &[Term]) -> Result<BTreeMap<Label, usize>, Reason> {
    let mut sizes = BTreeMap::new();
    for term in terms {
        for (&label, &size) in term.labels.iter().zip(context.shape(term.value)) {
            let known = sizes.entry(label).or_insert(size);
            if *known != size && *known != 1 && size != 1 {
                let (found, legal) = (
                    format!("an axis of {size}"),
                    format!("{known}, the size of {label} in another operand"),
                );
                return Err(Reason::OperandValue { operand: "Inputs", found, legal });
            }
            *known = if *known == 1 { size } else { *known };
        }
    }
    Ok(sizes)
}

/// Returns the product of two terms, summed over the labels that are not `wanted`.
fn multiply(
    context: &mut NodeBuilder<'_>,
    mut left: Term,
    mut right: Term,
    wanted: &[Label],
) -> Result<Term, Reason> {
    left.sum_others(context, &[&right.labels, wanted].concat())?;
    right.sum_others(context, &[&left.labels, wanted].concat())?;
    let (shared, rows): (Vec<Label>, Vec<Label>) =
        left.labels.iter().partition(|label| right.labels.contains(label));
    let (batch, summed): (Vec<Label>, Vec<Label>) = shared.iter().partition(|label| wanted.contains(label));
    let columns: Vec<Label> =
        right.labels.iter().copied().filter(|label| !left.labels.contains(label)).collect();
    if summed.is_empty() && rows.is_empty() && columns.is_empty() {
        right.permute(context, &left.labels)?;
        let kind = BinaryKind::Mul;
        let value = context.emit(Binary { kind }, vec![left.value, right.value])?;
        return Ok(Term { value, labels: left.labels });
    }
    left.permute(context, &[batch.as_slice(), &rows, &summed].concat())?;
    right.permute(context, &[batch.as_slice(), &summed, &columns].concat())?;
    let sizes = |term: &Term, labels: &[Label]| -> Vec<usize> {
        let shape = context.shape(term.value).iter().zip(&term.labels);
        shape.filter(|(_, label)| labels.contains(label)).map(|(&size, _)| size).collect()
    };
    let (batch_sizes, depth) = (sizes(&left, &batch), sizes(&left, &summed).iter().product());
    let (row_sizes, column_sizes) = (sizes(&left, &rows), sizes(&right, &columns));
    // Without a batch the rows need not be flattened: MatMul takes any axes before the last one.
    let flat_rows = if batch.is_empty() { row_sizes.clone() } else { vec![row_sizes.iter().product()] };
    let flat_left = [&batch_sizes[..], &flat_rows, &[depth]].concat();
    let flat_right = [&batch_sizes[..], &[depth, column_sizes.iter().product()]].concat();
    let left = reshape(context, left.value, flat_left)?;
    let right = reshape(context, right.value, flat_right)?;
    let value = context.emit(MatMul, vec![left, right])?;
    let value = reshape(context, value, [batch_sizes, row_sizes, column_sizes].concat())?;
    Ok(Term { value, labels: [batch, rows, columns].concat() })
}

fn reshape(context: &mut NodeBuilder<'_>, value: ValueId, shape: Vec<usize>) -> Result<ValueId, Reason> {
    if context.shape(value) == shape {
        return Ok(value);
    }
    context.helper("axes", Reshape { shape }, vec![value])
}

impl Term {
    /// Drops axes of size 1 that products repeat to the size of their label. If the label has size
    /// 1 in every term, nothing is repeated.
    fn drop_repeated(
        &mut self,
        context: &mut NodeBuilder<'_>,
        sizes: &BTreeMap<Label, usize>,
    ) -> Result<(), Reason> {
        let shape = context.shape(self.value).to_vec();
        let stays = |(label, size): &(&Label, &usize)| **size != 1 || sizes.get(*label) == Some(&1);
        let (labels, shape): (Vec<Label>, Vec<usize>) = self.labels.iter().zip(&shape).filter(stays).unzip();
        self.value = reshape(context, self.value, shape)?;
        self.labels = labels;
        Ok(())
    }

    /// Takes the diagonal of axes that have the same label, which leaves one axis.
    fn take_diagonals(&mut self, context: &mut NodeBuilder<'_>) -> Result<(), Reason> {
        while let Some(second) = (1..self.labels.len()).find(|&i| self.labels[..i].contains(&self.labels[i]))
        {
            let label = self.labels[second];
            let rank = self.labels.len();
            let first = self.labels.iter().position(|other| *other == label);
            let first = first.expect("the label at `second` also occurs before it");
            let others: Vec<usize> = (0..rank).filter(|&axis| axis != first && axis != second).collect();
            let shape = context.shape(self.value).to_vec();
            let size = shape[second];
            if shape[first] != size {
                let (found, legal) = (format!("{shape:?}"), format!("equal sizes of both {label}"));
                return Err(Reason::OperandValue { operand: "Inputs", found, legal });
            }
            let perm: Vec<usize> = others.iter().copied().chain([first, second]).collect();
            let value = context.helper("diagonal_last", Transpose { perm }, vec![self.value])?;
            let square = others.iter().map(|&axis| shape[axis]).chain([size * size]).collect();
            let value = reshape(context, value, square)?;
            let step = size as isize + 1;
            let range = SliceRange { axis: others.len(), start: 0, length: size, step };
            self.value = context.helper("diagonal", Slice { ranges: vec![range] }, vec![value])?;
            self.labels = others.iter().map(|&axis| self.labels[axis]).chain([label]).collect();
        }
        Ok(())
    }

    /// Sums over the labels that are not `wanted`.
    fn sum_others(&mut self, context: &mut NodeBuilder<'_>, wanted: &[Label]) -> Result<(), Reason> {
        let axes: Vec<usize> =
            (0..self.labels.len()).filter(|&axis| !wanted.contains(&self.labels[axis])).collect();
        if !axes.is_empty() {
            let op = Reduce { kind: ReduceKind::Sum, axes, keep_dims: false };
            self.value = context.helper("sum", op, vec![self.value])?;
            self.labels.retain(|label| wanted.contains(label));
        }
        Ok(())
    }

    /// Permutes the axes into the order of `labels`, which must be the term's labels.
    fn permute(&mut self, context: &mut NodeBuilder<'_>, labels: &[Label]) -> Result<(), Reason> {
        let position = |label: &Label| self.labels.iter().position(|own| own == label);
        let perm: Vec<usize> = labels.iter().filter_map(position).collect();
        if !perm.is_sorted() {
            self.value = context.helper("order", Transpose { perm }, vec![self.value])?;
            self.labels = labels.to_vec();
        }
        Ok(())
    }
}
