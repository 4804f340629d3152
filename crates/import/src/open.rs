//! Dimensions that a model leaves open: detection of the batch, and [`fix`], which sets sizes or
//! reports the missing ones.
//!
//! An open batch defaults to 1, since one sample is valid. No other size has a default: an image of
//! one pixel or a text of one token would be another network.

use std::collections::{BTreeMap, BTreeSet};

use crate::dimension::{Dimension, OpenInput};
use crate::error::ImportError;
use crate::options::Options;
use crate::remark::Remark;

/// Sets the open dimensions of `inputs` to the sizes in the options. The shape of a whole input
/// takes precedence over the size of a name, and a name over the batch size, which defaults to 1.
/// The remaining dimensions are taken from the samples, or stay open.
///
/// # Errors
///
/// An option names an input or dimension that does not exist.
pub(crate) fn fix(
    inputs: &mut [OpenInput],
    options: &Options,
    remarks: &mut Vec<Remark>,
) -> Result<(), ImportError> {
    let names: BTreeSet<&str> =
        inputs.iter().flat_map(OpenInput::open).filter_map(|(_, name)| name).collect();
    if let Some(name) = options.sizes.keys().find(|name| !names.contains(name.as_str())) {
        let available = names.iter().map(|&name| name.to_owned()).collect();
        return Err(ImportError::UnknownName { kind: "dimension", name: name.clone(), available });
    }
    let (batches, said) = (batches(inputs), said_by_shapes(inputs, &options.shapes));
    let mut sizes =
        Sizes { options, said: &said, used: BTreeSet::new(), made_up: Vec::new(), has_batch: false };
    for (input, batches) in inputs.iter_mut().zip(&batches) {
        sizes.set(input, batches);
    }
    let Sizes { used, mut made_up, has_batch, .. } = sizes;
    let unused = options.sizes.keys().filter(|name| !used.contains(name.as_str()));
    remarks.extend(unused.map(|name| Remark::UnusedDimension { name: name.clone() }));
    made_up.dedup();
    if !made_up.is_empty() {
        remarks.push(Remark::OpenBatch { inputs: made_up });
    }
    match options.batch {
        Some(size) if !has_batch && !all_begin_with(inputs, size) => {
            remarks.push(Remark::UnusedBatch { size })
        }
        _ => {}
    }
    Ok(())
}

/// Sizes for open dimensions, and which of them were needed.
struct Sizes<'a> {
    options: &'a Options,
    /// Sizes of names, as the shapes in the options state them.
    said: &'a BTreeMap<String, Option<usize>>,
    /// Names of dimensions whose size was used.
    used: BTreeSet<&'a str>,
    /// Inputs whose batch is 1 because no size is given.
    made_up: Vec<String>,
    /// Whether an input has an open batch.
    has_batch: bool,
}

impl Sizes<'_> {
    /// Sets the open dimensions of an input; those in `batches` are a batch.
    fn set(&mut self, input: &mut OpenInput, batches: &[usize]) {
        let options = self.options;
        if let Some(shape) = options.shapes.get(&input.name) {
            input.dimensions = Some(shape.iter().copied().map(Dimension::sized).collect());
            return;
        }
        let sample = options.samples.get(&input.name);
        let batches = match (&input.dimensions, sample) {
            (None, Some(sample)) => {
                input.dimensions = Some(like(sample));
                &[0]
            }
            _ => batches,
        };
        let dimensions = input.dimensions.iter_mut().flatten().enumerate();
        for (axis, dimension) in dimensions.filter(|(_, dimension)| dimension.size.is_none()) {
            // Default: an option cannot name an unnamed dimension.
            let name = dimension.name.as_deref().unwrap_or_default();
            if let Some((name, &size)) = options.sizes.get_key_value(name) {
                self.used.insert(name.as_str());
                dimension.size = Some(size);
            } else if let Some(&size) = self.said.get(name) {
                dimension.size = size;
            } else if batches.contains(&axis) {
                self.has_batch = true;
                // Default: one sample, which `made_up` reports.
                dimension.size = Some(options.batch.unwrap_or(1));
                if options.batch.is_none() {
                    self.made_up.push(input.name.clone());
                }
            } else {
                dimension.size = sample.and_then(|sample| sample.get(axis)).copied();
            }
        }
    }
}

/// Dimensions of an input that does not state any, taken from a sample. The first is a batch,
/// unless it is the only one.
fn like(sample: &[usize]) -> Vec<Dimension> {
    let mut dimensions: Vec<Dimension> = sample.iter().copied().map(Dimension::sized).collect();
    if let [batch, _, ..] = &mut dimensions[..] {
        *batch = Dimension::open(None);
    }
    dimensions
}

fn all_begin_with(inputs: &[OpenInput], size: usize) -> bool {
    inputs.iter().all(|input| input.known().first().is_some_and(|first| first.size == Some(size)))
}

/// Returns an error if a dimension is still open.
pub(crate) fn check(inputs: &[OpenInput]) -> Result<(), ImportError> {
    if !inputs.iter().any(OpenInput::is_open) {
        return Ok(());
    }
    Err(ImportError::OpenDimensions { inputs: inputs.to_vec() })
}

/// Sizes of named dimensions that follow from the shapes in the options. Names with contradicting
/// sizes are left out.
fn said_by_shapes(
    inputs: &[OpenInput],
    shapes: &BTreeMap<String, Vec<usize>>,
) -> BTreeMap<String, Option<usize>> {
    let mut said = BTreeMap::new();
    for input in inputs {
        let Some(shape) = shapes.get(&input.name) else { continue };
        for (axis, name) in input.open() {
            let (Some(name), Some(&size)) = (name, shape.get(axis)) else { continue };
            let known = *said.entry(name.to_owned()).or_insert(Some(size));
            if known != Some(size) {
                said.insert(name.to_owned(), None);
            }
        }
    }
    said
}

/// Parts of names of first dimensions that are not a batch.
const NOT_BATCH: [&str; 14] = [
    "seq", "len", "time", "frame", "token", "step", "height", "width", "past", "point", "node", "edge",
    "channel", "feature",
];

/// Complete names of first dimensions that are not a batch.
const NOT_BATCH_LETTERS: [&str; 6] = ["h", "w", "c", "t", "l", "s"];

/// Batch axes of each input: an open first axis, unless its name has another meaning, and other
/// axes that are named as a batch.
fn batches(inputs: &[OpenInput]) -> Vec<Vec<usize>> {
    let inner: BTreeSet<&str> = inputs
        .iter()
        .flat_map(OpenInput::open)
        .filter_map(|(axis, name)| name.filter(|_| axis > 0))
        .collect();
    let is_first = |name: Option<&str>| match name {
        Some(name) => says_batch(name) || !(says_other(name) || inner.contains(name)),
        None => true,
    };
    let is_batch = |axis: usize, name: Option<&str>| match axis {
        0 => is_first(name),
        _ => name.is_some_and(says_batch),
    };
    let of = |input: &OpenInput| {
        input.open().filter(|&(axis, name)| is_batch(axis, name)).map(|(axis, _)| axis).collect()
    };
    inputs.iter().map(of).collect()
}

/// Whether a dimension of this name is a batch at any position. `batch*sequence` is not.
fn says_batch(name: &str) -> bool {
    let name = name.to_lowercase();
    name.contains("batch")
        && !name.contains(['*', '+', '/', ' '])
        && !NOT_BATCH.iter().any(|no| name.contains(no))
}

fn says_other(name: &str) -> bool {
    let name = name.to_lowercase();
    NOT_BATCH.iter().any(|part| name.contains(part))
        || NOT_BATCH_LETTERS.contains(&name.as_str())
        || name.contains(['*', '+', '/'])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dimension::open_dimensions;

    /// Makes an input. `""` is an open unnamed dimension; a number is a size.
    fn input(name: &str, dimensions: &[&str]) -> OpenInput {
        let dimension = |text: &&str| match text.parse() {
            Ok(size) => Dimension::sized(size),
            Err(_) => Dimension::open(Some(text)),
        };
        OpenInput { name: name.to_owned(), dimensions: Some(dimensions.iter().map(dimension).collect()) }
    }

    fn batch_axes(inputs: &[&[&str]]) -> Vec<Vec<usize>> {
        batches(&inputs.iter().map(|dimensions| input("x", dimensions)).collect::<Vec<_>>())
    }

    #[test]
    fn a_batch_is_a_first_dimension_or_one_called_so() {
        assert_eq!(batch_axes(&[&["", "3", "height", "width"]]), [[0]]);
        assert_eq!(batch_axes(&[&["?", "3", "?", "?"]]), [[0]]);
        assert_eq!(batch_axes(&[&["N", "3"], &["s0", "2"]]), [[0], [0]]);
        assert_eq!(batch_axes(&[&["2", "batch_size", "64"]]), [[1]]);
        assert_eq!(batch_axes(&[&["batch", "sequence"]]), [[0]]);
        for other in ["sequence", "seq_len", "H", "num_frames", "batch*seq", "n+1"] {
            assert!(batch_axes(&[&[other, "3"]])[0].is_empty(), "{other}");
        }
        // A name has one meaning: it is not a batch in the second input, so it is not one in the
        // first either.
        assert_eq!(batch_axes(&[&["s1"], &["s0", "s1"]]), [vec![], vec![0]]);
        assert_eq!(batch_axes(&[&["1", "N", "3"]]), [[0; 0]]);
    }

    fn fixed(inputs: &[OpenInput], options: &Options) -> (Vec<Vec<Option<usize>>>, Vec<Remark>) {
        let (mut inputs, mut remarks) = (inputs.to_vec(), Vec::new());
        fix(&mut inputs, options, &mut remarks).unwrap_or_else(|error| panic!("{error}"));
        let sizes = |input: &OpenInput| input.known().iter().map(|dimension| dimension.size).collect();
        (inputs.iter().map(sizes).collect(), remarks)
    }

    #[test]
    fn shapes_count_before_names_and_names_before_the_batch() {
        let inputs = [input("a", &["n", "h", "h"]), input("b", &["n", "h"])];
        let sizes = |of: &[(&str, usize)]| of.iter().map(|&(name, size)| (name.to_owned(), size)).collect();
        let shapes: BTreeMap<_, _> = [("a".to_owned(), vec![2, 48, 192])].into();
        let batch = || Remark::OpenBatch { inputs: vec!["a".to_owned(), "b".to_owned()] };

        let (found, remarks) = fixed(&inputs, &Options::default());
        assert_eq!(found, [vec![Some(1), None, None], vec![Some(1), None]]);
        assert_eq!(remarks, [batch()]);

        let named = Options { sizes: sizes(&[("h", 5)]), ..Options::default() };
        assert_eq!(fixed(&inputs, &named).0, [vec![Some(1), Some(5), Some(5)], vec![Some(1), Some(5)]]);

        // The shape gives one name two sizes, so the size in the other input is unknown.
        let shaped = Options { shapes: shapes.clone(), ..Options::default() };
        assert_eq!(
            fixed(&inputs, &shaped),
            (vec![vec![Some(2), Some(48), Some(192)], vec![Some(2), None]], vec![])
        );

        let both = Options { shapes, sizes: sizes(&[("h", 7), ("n", 4)]), ..Options::default() };
        assert_eq!(fixed(&inputs, &both).0, [vec![Some(2), Some(48), Some(192)], vec![Some(4), Some(7)]]);

        let samples = Options { samples: [("a".to_owned(), vec![9, 5, 6])].into(), ..Options::default() };
        assert_eq!(fixed(&inputs, &samples).0, [vec![Some(1), Some(5), Some(6)], vec![Some(1), None]]);
    }

    #[test]
    fn an_input_of_unknown_axes_is_open_until_an_option_or_a_sample_says_them() {
        let inputs = [OpenInput { name: "a".to_owned(), dimensions: None }, input("b", &["2", "h"])];
        let mut found = inputs.to_vec();
        fix(&mut found, &Options::default(), &mut Vec::new()).unwrap_or_else(|error| panic!("{error}"));
        assert!(check(&found).is_err());
        assert_eq!(
            open_dimensions(&found),
            "all axes of \"a\", whose rank is unknown, axis 1 (\"h\") of \"b\""
        );
        let sizes = |of: &[usize]| of.iter().copied().map(Some).collect::<Vec<_>>();
        let shapes = [("a".to_owned(), vec![4, 5])].into();
        let by_shape = Options { shapes, ..Options::default() };
        assert_eq!(fixed(&inputs[..1], &by_shape), (vec![sizes(&[4, 5])], vec![]));
        let by_sample = |shape: &[usize], batch| {
            let samples = [("a".to_owned(), shape.to_vec())].into();
            fixed(&inputs[..1], &Options { samples, batch, ..Options::default() })
        };
        // Three samples, or one sample with a batch of three.
        let remark = Remark::OpenBatch { inputs: vec!["a".to_owned()] };
        assert_eq!(by_sample(&[3, 5], None), (vec![sizes(&[1, 5])], vec![remark]));
        assert_eq!(by_sample(&[3, 5], Some(3)), (vec![sizes(&[3, 5])], vec![]));
        assert_eq!(by_sample(&[5], None), (vec![sizes(&[5])], vec![]));
    }

    #[test]
    fn options_without_effect_are_told() {
        let batch = Options { batch: Some(4), ..Options::default() };
        assert_eq!(fixed(&[input("a", &["1", "3"])], &batch).1, [Remark::UnusedBatch { size: 4 }]);
        assert_eq!(fixed(&[input("a", &["4", "3"])], &batch).1, []);
        assert_eq!(fixed(&[input("a", &["", "3"])], &batch).1, []);
        let named = Options {
            sizes: [("n".to_owned(), 2)].into(),
            shapes: [("a".to_owned(), vec![3])].into(),
            ..Options::default()
        };
        let unused = Remark::UnusedDimension { name: "n".to_owned() };
        assert_eq!(fixed(&[input("a", &["n"])], &named).1, [unused]);
    }
}
