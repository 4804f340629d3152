//! Matrix products, as dot products of rows and columns.

use npukit_graph::op::Gemm;
use npukit_graph::{Node, ValueId};
use npukit_lower::Reject;

use super::{operand, result};
use crate::lower::Lowering;
use crate::lower::format::{Products, addend, addend_fraction};
use crate::lower::rounded::Rounding;
use crate::program::gather::{Gather, Source, Tail, broadcast, offsets};
use crate::program::kernels::{Nest, Work};
use crate::program::plan::{Place, Task};

/// Words per register file.
pub(super) const FILE_WORDS: usize = 64;
/// Longest sum: the delay between results has 14 bits.
const MAX_TERMS: usize = 16_000;

/// Lowers `x [.., m, k]` times `w [.., k, n]`; outer axes are broadcast.
///
/// # Errors
///
/// The reason why the node cannot be lowered, and what to change.
pub fn matmul(lowering: &mut Lowering<'_>, node: &Node) -> Result<(), Reject> {
    product(lowering, node, None)
}

/// Lowers a matrix product with a bias per column.
///
/// # Errors
///
/// The reason why the node cannot be lowered, and what to change.
pub fn gemm(lowering: &mut Lowering<'_>, node: &Node, gemm: &Gemm) -> Result<(), Reject> {
    if *gemm != Gemm::PLAIN {
        return Err(Reject::new(
            "factors and transposed operands are unsupported",
            "multiply them into the weights",
        ));
    }
    product(lowering, node, node.inputs.get(2).copied())
}

fn product(lowering: &mut Lowering<'_>, node: &Node, bias: Option<ValueId>) -> Result<(), Reject> {
    let (x, w, y) = (operand(node, 0)?, operand(node, 1)?, result(node)?);
    let (rows, columns) = (lowering.graph.shape(x).to_vec(), lowering.graph.shape(w).to_vec());
    let (Some((outer_x, &[m, k])), Some((outer_w, &[inner, n]))) =
        (rows.split_last_chunk::<2>(), columns.split_last_chunk::<2>())
    else {
        return Err(Reject::new("its operands are not matrices", "reshape them to two axes"));
    };
    if inner != k {
        return Err(Reject::new(format!("the operands have inner sizes {k} and {inner}"), "check the model"));
    }
    let outer = lowering.graph.shape(y).to_vec();
    let outer = outer.split_last_chunk::<2>().map_or(&[][..], |(outer, _)| outer);
    // If all matrices share their weights, their rows are lowered as one matrix.
    let is_one = outer_w.iter().all(|&size| size == 1);
    let (outer, m) = if is_one { (&[][..], m * outer.iter().product::<usize>()) } else { (outer, m) };
    let products = lowering.products([x, w], y, bias)?;
    let [from_x, from_w] = products.operands;
    let (x, w) = (lowering.read(node, x, from_x)?, lowering.read(node, w, from_w)?);
    let (starts_x, starts_w) = (starts(outer, outer_x, m * k), starts(outer, outer_w, k * n));
    let mut tasks = Vec::new();
    for (number, (start_x, start_w)) in starts_x.into_iter().zip(starts_w).enumerate() {
        let mut rows = Gather { offset: start_x, ..Gather::rows(x.clone(), m, k) };
        let (vectors, elements) = (vec![(n, 1)], vec![(k, n)]);
        let mut columns = Gather { source: w.clone(), offset: start_w, vectors, elements, tail: Tail::None };
        if let Some(id) = bias {
            (columns.tail, rows.tail) = tails(lowering, id, n, &products)?;
        }
        let to = Place { offset: number * m * n, axes: vec![(m, n), (n, 1)] };
        tasks.push(match nest(products.sum, &rows, &columns, &to) {
            Some(task) => task,
            None => dots(products.sum, rows, columns, to)?,
        });
    }
    let to = lowering.unscaled(node, y, products.result);
    lowering.push(node, to, tasks);
    lowering.finish(node, to, y);
    Ok(())
}

/// Start of each matrix of an operand, repeated along the outer axes of the result with NumPy
/// broadcasting.
fn starts(outer: &[usize], own: &[usize], size: usize) -> Vec<usize> {
    let axes: Vec<(usize, usize)> =
        broadcast(outer, own).into_iter().map(|(count, stride)| (count, stride * size)).collect();
    offsets(&axes)
}

/// Adds a bias for each of `count` vectors as one more term: its words, and the word that they are
/// multiplied by.
pub(super) fn tails(
    lowering: &mut Lowering<'_>,
    id: ValueId,
    count: usize,
    products: &Products,
) -> Result<(Tail, Tail), Reject> {
    let values = lowering.graph.constant(id).and_then(|constant| constant.as_f32());
    let Some(values) = values.filter(|values| values.len() == count) else {
        return Err(Reject::new(
            "its bias is not a constant with one element per result",
            "use an Add instead",
        ));
    };
    let values = values.iter().map(|&x| f64::from(x));
    let (fraction, one) = addend(values.clone(), products.result + products.shift);
    lowering.note(Rounding::constant(id, fraction));
    Ok((Tail::Each(lowering.words(values, fraction)), Tail::Same(one)))
}

/// Dot products of `a` and `b`. Results are numbered by `a` first, by `b` second.
pub(super) fn dots(work: Work, a: Gather, b: Gather, to: Place) -> Result<Task, Reject> {
    let (length, first, second) = (a.length(), a.count(), b.count());
    if length > MAX_TERMS {
        return Err(Reject::new(
            format!("sums of {length} products"),
            format!("split them into sums of at most {MAX_TERMS} products"),
        ));
    }
    let swapped = |to: &Place| match &to.axes[..] {
        [outer, inner @ ..] => Place { offset: to.offset, axes: [inner, &[*outer]].concat() },
        [] => to.clone(),
    };
    if length <= FILE_WORDS {
        // The smaller operand stays in the cells, so that each call streams more.
        return Ok(match first <= second {
            true => Task::Dots { work, stationary: a, stream: b, to },
            false => Task::Dots { work, stationary: b, stream: a, to: swapped(&to) },
        });
    }
    let spread = |gather: Gather, before: usize, after: usize| {
        let tail = match gather.tail {
            Tail::Each(words) => {
                Tail::Each(words.iter().flat_map(|&word| std::iter::repeat_n(word, after)).collect())
            }
            tail => tail,
        };
        let vectors = [vec![(before, 0)], gather.vectors, vec![(after, 0)]].concat();
        Gather { vectors, tail, ..gather }
    };
    Ok(Task::Vectors { work, operands: vec![spread(a, 1, second), spread(b, first, 1)], to })
}

/// Returns the task of matrices that fit the register files.
fn nest(work: Work, rows: &Gather, columns: &Gather, to: &Place) -> Option<Task> {
    let (m, k, n) = (rows.count(), rows.length(), columns.count());
    let fits = m * k <= FILE_WORDS && k * n <= FILE_WORDS && m > 1 && n > 1;
    if !fits {
        return None;
    }
    let step = |words: usize| words as i64;
    let levels = [vec![(k, 1), (n, 0), (m, step(k))], vec![(k, 1), (n, step(k)), (m, 0)]];
    let nest = Nest { work, words: [m * k, k * n], levels, results: m * n, period: k };
    Some(Task::Nest { nest, operands: [rows.clone(), columns.clone()], to: to.clone() })
}

impl Lowering<'_> {
    /// Returns how products of two operands, and a bias, become the result.
    pub(super) fn products(
        &self,
        operands: [ValueId; 2],
        y: ValueId,
        bias: Option<ValueId>,
    ) -> Result<Products, Reject> {
        let fractions = operands.map(|id| self.format.fraction(id));
        let constants = operands.map(|id| self.graph.constant(id).is_some());
        let bias = bias.and_then(|id| self.graph.constant(id)?.as_f32());
        let addend = bias.map(|values| addend_fraction(values.iter().map(|&x| x.into())));
        self.format.products(fractions, constants, self.format.fraction(y), addend)
    }
}

/// Source that is a constant everywhere.
pub(super) fn constant(word: i16) -> Source {
    Source::Constant([word].into())
}
