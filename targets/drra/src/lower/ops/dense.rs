//! Matrix products: dot products of rows and columns.

use npukit_graph::op::Gemm;
use npukit_graph::{Node, ValueId};

use super::{operand, result};
use crate::lower::format::bias;
use crate::lower::gather::{Gather, Tail};
use crate::lower::kernels::{Nest, Work};
use crate::lower::plan::{Place, Source, Task};
use crate::lower::{Lowering, Reject};

/// Words of a register file.
pub(super) const FILE_WORDS: usize = 64;
/// Longest sum: the delay between results has 14 bits.
const MOST_TERMS: usize = 16_000;

/// `x [m, k]` times `w [k, n]`.
pub fn matmul(lowering: &mut Lowering<'_>, node: &Node) -> Result<(), Reject> {
    product(lowering, node, None)
}

/// The same with a bias of each column.
pub fn gemm(lowering: &mut Lowering<'_>, node: &Node, gemm: &Gemm) -> Result<(), Reject> {
    if *gemm != Gemm::PLAIN {
        return Err(Reject::new(
            "factors and transposed operands are not lowered",
            "multiply them into the weights",
        ));
    }
    product(lowering, node, node.inputs.get(2).copied())
}

fn product(lowering: &mut Lowering<'_>, node: &Node, bias: Option<ValueId>) -> Result<(), Reject> {
    let (x, w, y) = (operand(node, 0)?, operand(node, 1)?, result(node)?);
    let (&[m, k], &[inner, n]) = (lowering.graph.shape(x), lowering.graph.shape(w)) else {
        return Err(Reject::new("its operands are not matrices", "reshape them to two axes"));
    };
    if inner != k {
        return Err(Reject::new(format!("the operands have inner sizes {k} and {inner}"), "check the model"));
    }
    let fraction = |id| lowering.format.fraction(id);
    let (from_x, from_w) = (fraction(x), fraction(w));
    let shift = from_x + from_w - fraction(y);
    let work = lowering.format.sum_of_products(shift)?;
    let mut rows = Gather::rows(lowering.source(x, from_x)?, m, k);
    let source = lowering.source(w, from_w)?;
    let mut columns =
        Gather { source, offset: 0, vectors: vec![(n, 1)], elements: vec![(k, n)], tail: Tail::None };
    if let Some(id) = bias {
        (columns.tail, rows.tail) = tails(lowering, id, n, fraction(y), shift)?;
    }
    let task = match nest(work, &rows, &columns, n) {
        Some(task) => task,
        None => dots(work, rows, columns, Place { offset: 0, axes: vec![(m, n), (n, 1)] })?,
    };
    lowering.push(node, y.0 as usize, vec![task]);
    Ok(())
}

/// A bias for each of `count` vectors as one more term: its words, and the word that meets them.
pub(super) fn tails(
    lowering: &Lowering<'_>,
    id: ValueId,
    count: usize,
    fraction: i32,
    shift: i32,
) -> Result<(Tail, Tail), Reject> {
    let values = lowering.graph.constant(id).and_then(|constant| Some(constant.as_f32()?.to_vec()));
    let Some(values) = values.filter(|values| values.len() == count || values.len() == 1) else {
        return Err(Reject::new(
            "its bias is no constant with an element for each result",
            "add it in an Add",
        ));
    };
    let (words, one) = bias(&values, fraction, shift);
    Ok((Tail::Each(words), Tail::Same(one)))
}

/// Dot products of `a` and `b`: results are numbered by `a`, then by `b`.
pub(super) fn dots(work: Work, a: Gather, b: Gather, to: Place) -> Result<Task, Reject> {
    let (length, first, second) = (a.length(), a.count(), b.count());
    if length > MOST_TERMS {
        return Err(Reject::new(
            format!("sums of {length} products"),
            format!("at most {MOST_TERMS} are summed"),
        ));
    }
    let swapped = |to: &Place| match &to.axes[..] {
        [outer, inner @ ..] => Place { offset: to.offset, axes: [inner, &[*outer]].concat() },
        [] => to.clone(),
    };
    if length <= FILE_WORDS {
        // The fewer stay, so that much streams in each call.
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

/// A product of matrices that fit into the register files, of `n` columns.
fn nest(work: Work, rows: &Gather, columns: &Gather, n: usize) -> Option<Task> {
    let (m, k) = (rows.count(), rows.length());
    let fits = m * k <= FILE_WORDS && k * n <= FILE_WORDS && m > 1 && n > 1;
    if !fits {
        return None;
    }
    let step = |words: usize| i64::try_from(words).unwrap_or(0);
    let levels = [vec![(k, 1), (n, 0), (m, step(k))], vec![(k, 1), (n, step(k)), (m, 0)]];
    let nest = Nest { work, words: [m * k, k * n], levels, results: m * n, period: k };
    let to = Place { offset: 0, axes: vec![(m * n, 1)] };
    Some(Task::Nest { nest, operands: [rows.clone(), columns.clone()], to })
}

/// A source that is a constant everywhere.
pub(super) fn constant(word: i16) -> Source {
    Source::Constant([word].into())
}
