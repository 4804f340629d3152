//! [`Shown`]: the model's name and axis order for a value of the compiled graph.
//!
//! The compiled graph has channels last and its own names. A value is matched with one of the model
//! if the names are related *and* the numbers of a sample agree. Otherwise it keeps its name in the
//! compiled graph.

use std::collections::{BTreeMap, BTreeSet};

use npukit_graph::op::Transpose;
use npukit_graph::{Graph, Op, Operator, ValueId};
use npukit_numeric::{Tensor, TensorData};

use super::SampleTensor;
use crate::compare::layer_compare::{float_chain, times_power};
use crate::error::Error;
use crate::inputs::Sample;
use crate::numbers::rescale::exponent;

/// Form of a value in the model.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Shown {
    /// Name in the model.
    pub name: String,
    /// Axis permutation: axis `i` in the model is axis `perm[i]` in the compiled graph. `None` if
    /// they agree.
    perm: Option<Vec<usize>>,
    /// Exponent of the scale: the value is stored divided by `2^exponent`.
    exponent: i32,
}

impl Shown {
    /// Creates a value that keeps its own name.
    pub fn plain(name: &str, exponent: i32) -> Self {
        Self { name: name.to_owned(), perm: None, exponent }
    }

    /// Converts a value of the compiled graph, and its integers, to the model's form.
    pub fn show(&self, tensor: &Tensor, raw: &[i32]) -> SampleTensor {
        let tensor = times_power(tensor, self.exponent);
        let Some(perm) = &self.perm else { return SampleTensor { tensor, raw: raw.to_vec() } };
        let integers = Tensor::new(tensor.shape().to_vec(), TensorData::I32(raw.to_vec())).ok();
        let integers = integers.and_then(|tensor| match transposed(&tensor, perm)?.data() {
            TensorData::I32(raw) => Some(raw.clone()),
            _ => None,
        });
        // Default: a value without integers has none in another order either.
        SampleTensor {
            tensor: transposed(&tensor, perm).unwrap_or(tensor),
            raw: integers.unwrap_or_default(),
        }
    }

    /// Converts a value from the model's form back to the stored form. Inverse of `show`.
    pub fn hide(&self, tensor: &Tensor) -> Option<Tensor> {
        let stored = times_power(tensor, -self.exponent);
        let Some(perm) = &self.perm else { return Some(stored) };
        let mut back = vec![0; perm.len()];
        for (place, &axis) in perm.iter().enumerate() {
            *back.get_mut(axis)? = place;
        }
        transposed(&stored, &back)
    }

    /// Returns the sizes of the axes in the model's order.
    pub fn shape(&self, shape: &[usize]) -> Vec<usize> {
        let sizes = |perm: &Vec<usize>| perm.iter().filter_map(|&axis| shape.get(axis).copied()).collect();
        self.perm.as_ref().map_or_else(|| shape.to_vec(), sizes)
    }

    /// Returns the names of the axes in the model's order.
    pub fn axes(&self, axes: Option<Vec<&'static str>>) -> Option<Vec<&'static str>> {
        let Some(perm) = &self.perm else { return axes };
        let axes = axes?;
        perm.iter().map(|&axis| axes.get(axis).copied()).collect()
    }
}

fn transposed(tensor: &Tensor, perm: &[usize]) -> Option<Tensor> {
    Transpose { perm: perm.to_vec() }.eval(&[tensor]).ok()?.pop()
}

/// Finds the form in the model of each value `names` of the compiled graph, whose exponents are
/// given. Candidates are compared on `sample`.
///
/// # Errors
///
/// Returns [`Error::Eval`] if a graph cannot be evaluated.
pub(super) fn shown_values(
    [model, compiled]: [&Graph; 2],
    names: &BTreeSet<&str>,
    exponents: &BTreeMap<String, i32>,
    sample: Option<&Sample>,
) -> Result<BTreeMap<String, Shown>, Error> {
    let plain = |name: &str| Shown::plain(name, exponent(exponents, name));
    let mut shown: BTreeMap<String, Shown> =
        names.iter().map(|&name| (name.to_owned(), plain(name))).collect();
    let Some(sample) = sample else { return Ok(shown) };
    let candidates: BTreeMap<&str, Vec<Candidate>> =
        names.iter().map(|&name| (name, candidates(model, compiled, name))).collect();
    let theirs: BTreeSet<&str> =
        candidates.values().flatten().map(|(id, _)| model.value(*id).name.as_str()).collect();
    if theirs.is_empty() {
        return Ok(shown);
    }
    let of_model = float_chain(model, sample, |name| theirs.contains(name))?;
    let of_compiled = float_chain(compiled, sample, |name| names.contains(name))?;
    let mut taken: BTreeSet<String> = BTreeSet::new();
    for (name, candidates) in candidates {
        let (Some(ours), Some(found)) = (of_compiled.get(name), shown.get_mut(name)) else { continue };
        for (id, perm) in candidates {
            let theirs = &model.value(id).name;
            let one = Shown { name: theirs.clone(), perm, exponent: found.exponent };
            let is_same =
                of_model.get(theirs).is_some_and(|tensor| same(&one.show(ours, &[]).tensor, tensor));
            if is_same && taken.insert(theirs.clone()) {
                *found = one;
                break;
            }
        }
    }
    Ok(shown)
}

/// Value of the model, and its axis order relative to the compiled graph.
type Candidate = (ValueId, Option<Vec<usize>>);

/// Returns values of the model that may equal a value of the compiled graph, the most likely first,
/// with their axis orders.
fn candidates(model: &Graph, compiled: &Graph, name: &str) -> Vec<Candidate> {
    let Some(ours) = compiled.find_value(name) else { return Vec::new() };
    let shape = compiled.shape(ours);
    let related = [Some(name), without_number(name)].into_iter().flatten();
    let related: Vec<ValueId> = related.filter_map(|name| model.find_value(name)).collect();
    let transposes = |id: &ValueId| {
        let of = *id;
        let is_transpose = move |node: &&npukit_graph::Node| {
            matches!(node.op, Op::Transpose(_)) && node.inputs.first() == Some(&of)
        };
        model.nodes.iter().filter(is_transpose).filter_map(|node| node.outputs.first().copied())
    };
    // An output keeps the model's name, even if another value differs from it only in axis order.
    let is_output = |id: &&ValueId| model.is_output(**id) && model.shape(**id) == shape;
    if let Some(&id) = related.first().filter(|id| compiled.is_output(ours) && is_output(id)) {
        return vec![(id, None)];
    }
    let all = related.iter().flat_map(transposes).chain(related.iter().copied());
    let mut candidates = Vec::new();
    for id in all.filter(|&id| model.constant(id).is_none()) {
        let theirs = model.shape(id);
        if let Some(perm) = channels_first(shape).filter(|(_, sizes)| sizes == theirs).map(|(perm, _)| perm) {
            candidates.push((id, Some(perm)));
        }
        if theirs == shape {
            candidates.push((id, None));
        }
    }
    candidates
}

/// Returns the permutation that moves the last axis after the batch, and the resulting sizes.
/// `None` for fewer than three axes.
fn channels_first(shape: &[usize]) -> Option<(Vec<usize>, Vec<usize>)> {
    let last = shape.len().checked_sub(1).filter(|&last| last >= 2)?;
    let perm: Vec<usize> = [0, last].into_iter().chain(1..last).collect();
    let sizes = perm.iter().map(|&axis| shape[axis]).collect();
    Some((perm, sizes))
}

/// Strips the number that passes append to make a name unique: `relu` for `relu_2`.
fn without_number(name: &str) -> Option<&str> {
    let (stem, number) = name.rsplit_once('_')?;
    number.chars().all(|c| c.is_ascii_digit()).then_some(stem)
}

/// Tolerance for sums in two different orders, relative to the largest magnitude.
const CLOSE: f64 = 1e-4;

/// Whether two tensors hold the same numbers, up to the order of sums.
fn same(ours: &Tensor, theirs: &Tensor) -> bool {
    if ours.shape() != theirs.shape() {
        return false;
    }
    let (ours, theirs) = (ours.reals(), theirs.reals());
    let most = theirs.iter().map(|x| x.abs()).filter(|x| x.is_finite()).fold(0.0, f64::max);
    ours.iter()
        .zip(&theirs)
        .all(|(a, b)| a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= CLOSE * most)
}

/// Number of nodes to follow back to one that determines axis names.
const FOLLOWED: usize = 64;
const CHANNELS_LAST: [&str; 4] = ["batch", "row", "column", "channel"];

/// Returns the names of the axes of a value, from the node that computes it; `None` if that does
/// not determine them.
pub(crate) fn axes(graph: &Graph, id: ValueId) -> Option<Vec<&'static str>> {
    let producers = graph.producers();
    let (mut id, mut perms) = (id, Vec::new());
    for _ in 0..FOLLOWED {
        let node = graph.node(producers.get(id.0 as usize).copied().flatten()?);
        let rank = graph.shape(id).len();
        let mut axes = match (&node.op, rank) {
            (Op::Conv(_) | Op::ConvTranspose(_) | Op::MaxPool(_) | Op::AveragePool(_) | Op::Resize(_), 4) => {
                CHANNELS_LAST.to_vec()
            }
            (Op::Gemm(_) | Op::MatMul(_), 2) => vec!["batch", "channel"],
            (Op::Transpose(transpose), _) => {
                perms.push(transpose.perm.clone());
                id = *node.inputs.first()?;
                continue;
            }
            (op, _) => {
                let keeps =
                    matches!(op, Op::Binary(_) | Op::BatchNormalization(_) | Op::Pad(_) | Op::Concat(_));
                if !keeps && !op.is_pointwise() {
                    return None;
                }
                let same_rank = |input: &&ValueId| {
                    graph.constant(**input).is_none() && graph.shape(**input).len() == rank
                };
                id = *node.inputs.iter().find(same_rank)?;
                continue;
            }
        };
        for perm in perms.iter().rev() {
            axes = perm.iter().map(|&axis| axes.get(axis).copied()).collect::<Option<_>>()?;
        }
        return Some(axes);
    }
    None
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn a_value_is_shown_and_hidden_again() {
        let shown = Shown { name: "y".into(), perm: Some(vec![0, 2, 1]), exponent: 1 };
        let stored = Tensor::from_f32(vec![1, 2, 3], vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
        let held = shown.show(&stored, &[1, 2, 3, 4, 5, 6]);
        assert_eq!(held.tensor.as_f32().unwrap(), [2.0, 8.0, 4.0, 10.0, 6.0, 12.0]);
        assert_eq!((held.raw, held.tensor.shape()), (vec![1, 4, 2, 5, 3, 6], &[1, 3, 2][..]));
        assert_eq!(shown.hide(&shown.show(&stored, &[]).tensor).unwrap(), stored);
        assert_eq!(shown.shape(&[1, 2, 3]), [1, 3, 2]);
    }

    #[test]
    fn numbers_behind_names_are_those_of_passes() {
        assert_eq!(without_number("relu2_2"), Some("relu2"));
        assert_eq!(without_number("relu_a"), None);
        assert_eq!(without_number("relu"), None);
    }

    #[test]
    fn numbers_tell_whether_values_are_the_same() {
        let tensor = |values: [f32; 2]| Tensor::from_f32(vec![2], values.to_vec()).unwrap();
        assert!(same(&tensor([1.0, f32::INFINITY]), &tensor([1.000_001, f32::INFINITY])));
        assert!(!same(&tensor([1.0, 2.0]), &tensor([1.1, 2.0])));
        assert!(!same(&tensor([1.0, 2.0]), &Tensor::from_f32(vec![1, 2], vec![1.0, 2.0]).unwrap()));
    }
}
