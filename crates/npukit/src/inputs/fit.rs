//! [`fit`]: converts an array to samples of an input, whose shape it need not have exactly.
//!
//! An array of the input's shape is used unchanged. Otherwise the first of [`WAYS`] that fits is
//! used, and a note reports it.

use npukit_graph::Operator;
use npukit_graph::op::Transpose;
use npukit_numeric::{ElementType, Tensor, TensorData};
use npukit_target::{Port, PortError};

use super::preprocess::Preprocess;
use super::wanted::Wanted;
use crate::error::{Error, PREPROCESSING};
use npukit_target::to_element;

/// Samples for an input, joined along the first axis.
struct FittedInput {
    tensor: Tensor,
    /// Channel axis, if known.
    channels: Option<usize>,
    /// Description of the conversion, to follow the input's name; `None` if there was none.
    note: Option<String>,
}

/// Way to interpret an array; returns `None` if it does not apply.
type Way = fn(&Tensor, &Wanted) -> Option<FittedInput>;

/// All ways, in the order in which they are tried.
const WAYS: [Way; 5] =
    [without_batch, of_other_layout, of_other_layout_without_batch, without_ones, of_fewer_lanes];

/// Converts `tensor` to preprocessed samples of an input. Conversions that are not obvious are
/// reported in `notes`.
///
/// # Errors
///
/// Returns [`PortError::Shape`] or [`Error::UnknownShape`] if no way fits, [`PortError::Value`] for
/// integers that a 32-bit float cannot represent, and [`Error::Preprocess`].
pub(super) fn fit(
    tensor: Tensor,
    wanted: &Wanted,
    preprocess: &Preprocess,
    notes: &mut Vec<String>,
) -> Result<Vec<Tensor>, Error> {
    let port = &wanted.port;
    let tensor = match wanted.element {
        Some(element) if !element.is_float() => whole(tensor, &port.name, element, notes)?,
        _ => real(tensor, &port.name, preprocess, notes)?,
    };
    let found = if port.without_vectors().takes(tensor.shape()) {
        as_it_is(tensor, wanted)
    } else {
        WAYS.iter().find_map(|way| way(&tensor, wanted)).ok_or_else(|| misfit(&tensor, port))?
    };
    notes.extend(found.note.iter().map(|note| format!("input `{}` {note}", port.name)));
    let prepared = prepare(preprocess, wanted, found, notes)?;
    Ok(port.split(&widened(prepared, port))?)
}

/// Converts samples in rows of vectors, as written by a tool of the target, to preprocessed
/// samples. An input without such rows treats them as an array.
///
/// # Errors
///
/// Fails as [`fit`] does.
pub(super) fn fit_rows(
    rows: Tensor,
    wanted: &Wanted,
    preprocess: &Preprocess,
    notes: &mut Vec<String>,
) -> Result<Vec<Tensor>, Error> {
    let Some(vectors) = wanted.port.vectors else { return fit(rows, wanted, preprocess, notes) };
    let port = Port { shape: vectors.shape.to_vec(), ..wanted.port.without_vectors() };
    // Rows do not show which lanes are channels.
    let found = FittedInput { tensor: rows, channels: None, note: None };
    Ok(port.split(&prepare(preprocess, wanted, found, notes)?)?)
}

/// Returns the error for an array that does not fit an input, with the legal shapes.
fn misfit(tensor: &Tensor, port: &Port) -> Error {
    let (input, actual) = (port.name.clone(), tensor.shape().to_vec());
    match port.only_vectors() {
        Some([rows, lanes]) => Error::UnknownShape { input, actual, rows, lanes },
        None => PortError::Shape { name: input, actual, shape: port.shape.clone() }.into(),
    }
}

/// Converts integers to real numbers.
fn real(
    tensor: Tensor,
    name: &str,
    preprocess: &Preprocess,
    notes: &mut Vec<String>,
) -> Result<Tensor, PortError> {
    let values: Vec<i64> = match tensor.data() {
        TensorData::I64(values) => values.clone(),
        TensorData::I32(values) => values.iter().map(|&value| value.into()).collect(),
        TensorData::Bool(values) => values.iter().map(|&value| value.into()).collect(),
        TensorData::F32(_) => return Ok(tensor),
    };
    let real = |(position, &value): (usize, &i64)| {
        let real = value as f32;
        let misfit = || PortError::Value {
            name: name.to_owned(),
            position,
            value: value.to_string(),
            element: ElementType::F32,
        };
        // `i128` holds both: the largest integer is not a float.
        if real as i128 == i128::from(value) { Ok(real) } else { Err(misfit()) }
    };
    let values = values.iter().enumerate().map(real).collect::<Result<Vec<f32>, _>>()?;
    let options =
        if preprocess.is_nothing() { format!(": {PREPROCESSING} changes them") } else { String::new() };
    let element = tensor.element();
    notes.push(format!("input `{name}` is given as {element} and was converted to float{options}"));
    // Default: unreachable, since the number of elements is unchanged.
    Ok(Tensor::from_f32(tensor.shape().to_vec(), values).unwrap_or(tensor))
}

/// Converts numbers to the type `element`, if it can represent them.
fn whole(
    tensor: Tensor,
    name: &str,
    element: ElementType,
    notes: &mut Vec<String>,
) -> Result<Tensor, PortError> {
    let converted = to_element(name, &tensor, element)?;
    if converted.element() != tensor.element() {
        let given = tensor.element();
        notes.push(format!("input `{name}` is given as {given} and was converted to {element}"));
    }
    Ok(converted)
}

/// Applies the preprocessing options.
fn prepare(
    preprocess: &Preprocess,
    wanted: &Wanted,
    found: FittedInput,
    notes: &mut Vec<String>,
) -> Result<Tensor, Error> {
    if let Some(element) = wanted.element.filter(|element| !element.is_float() && !preprocess.is_nothing()) {
        notes.push(format!("{PREPROCESSING} does not apply to input `{}` of {element}", wanted.port.name));
        return Ok(found.tensor);
    }
    preprocess.apply(wanted, found.tensor, found.channels)
}

/// Uses the array unchanged.
fn as_it_is(tensor: Tensor, wanted: &Wanted) -> FittedInput {
    let Wanted { port, channels, .. } = wanted;
    // Samples may have one additional axis in front.
    let more = tensor.shape().len().checked_sub(port.shape.len());
    let channels = more.zip(*channels).map(|(more, axis)| axis + more);
    FittedInput { tensor, channels, note: None }
}

/// Interprets the array as one sample without a batch axis.
fn without_batch(tensor: &Tensor, wanted: &Wanted) -> Option<FittedInput> {
    let Wanted { port, channels, .. } = wanted;
    let rest = port.shape.strip_prefix(&[1]).filter(|rest| !rest.is_empty())?;
    let with = reshaped(tensor, &port.shape).filter(|_| tensor.shape() == rest)?;
    let note = format!("has shape {:?}: an axis for the batch was added in front", tensor.shape());
    Some(FittedInput { tensor: with, channels: *channels, note: Some(note) })
}

/// Interprets the array as images in the other layout: channels last for an input with channels
/// first, or the reverse.
fn of_other_layout(tensor: &Tensor, wanted: &Wanted) -> Option<FittedInput> {
    let other = Layout::of(wanted)?;
    if !other.port.takes(tensor.shape()) {
        return None;
    }
    let flat = match tensor.shape() {
        [count, first, rest @ ..] if rest.len() == 3 => {
            let mut shape = vec![count.checked_mul(*first)?];
            shape.extend(rest);
            reshaped(tensor, &shape)?
        }
        _ => tensor.clone(),
    };
    other.found(&flat, tensor.shape())
}

/// Like [`of_other_layout`], for a single image without a batch axis.
fn of_other_layout_without_batch(tensor: &Tensor, wanted: &Wanted) -> Option<FittedInput> {
    let other = Layout::of(wanted)?;
    if other.port.shape.strip_prefix(&[1]) != Some(tensor.shape()) {
        return None;
    }
    other.found(&reshaped(tensor, &other.port.shape)?, tensor.shape())
}

/// Image layout that the input does not have.
struct Layout<'a> {
    wanted: &'a Wanted,
    /// The input, as if it had this layout.
    port: Port,
    /// Permutation from this layout to the layout of the input.
    perm: [usize; 4],
    names: [&'static str; 2],
}

impl<'a> Layout<'a> {
    fn of(wanted: &'a Wanted) -> Option<Self> {
        let &[n, a, b, c] = &wanted.port.shape[..] else { return None };
        let (shape, perm, names) = match wanted.channels? {
            1 => ([n, b, c, a], [0, 3, 1, 2], ["NHWC", "NCHW"]),
            3 => ([n, c, a, b], [0, 2, 3, 1], ["NCHW", "NHWC"]),
            _ => return None,
        };
        let port =
            Port { name: wanted.port.name.clone(), shape: shape.to_vec(), vectors: None, element: None };
        Some(Self { wanted, port, perm, names })
    }

    /// Converts samples in this layout, given with `shape`.
    fn found(&self, tensor: &Tensor, shape: &[usize]) -> Option<FittedInput> {
        let transposed = Transpose { perm: self.perm.to_vec() }.eval(&[tensor]).ok()?.pop()?;
        let transposed = transposed.with_element(tensor.element()).ok()?;
        let [from, to] = self.names;
        let note =
            format!("has shape {shape:?}, which is {from}: it was transposed to {to}, as the input is");
        Some(FittedInput { tensor: transposed, channels: self.wanted.channels, note: Some(note) })
    }
}

/// Interprets the array as a shape that differs only in axes of size 1.
fn without_ones(tensor: &Tensor, wanted: &Wanted) -> Option<FittedInput> {
    let Wanted { port, channels, .. } = wanted;
    let (given, sample) = (tensor.shape(), &port.shape[..]);
    let (shape, more) = if sizes(given) == sizes(sample) {
        (sample.to_vec(), 0)
    } else {
        let (count, rest) = given.split_first().filter(|(_, rest)| sizes(rest) == sizes(sample))?;
        debug_assert_eq!(rest.len() + 1, given.len());
        (std::iter::once(*count).chain(sample.iter().copied()).collect(), 1)
    };
    let note = format!("has shape {given:?} and was read as {shape:?}, which differs only in axes of size 1");
    Some(FittedInput {
        tensor: reshaped(tensor, &shape)?,
        channels: channels.map(|axis| axis + more),
        note: Some(note),
    })
}

/// Returns the sizes of axes with more than one element.
fn sizes(shape: &[usize]) -> Vec<usize> {
    shape.iter().copied().filter(|&size| size != 1).collect()
}

/// Interprets the array as rows with fewer channels than the vectors of a program without the
/// model's shape.
fn of_fewer_lanes(tensor: &Tensor, wanted: &Wanted) -> Option<FittedInput> {
    let port = &wanted.port;
    let [rows, lanes] = port.only_vectors()?;
    let (&channels, front) = tensor.shape().split_last()?;
    let all = places(front, rows)?;
    if channels == 0 || channels >= lanes || all == 0 {
        return None;
    }
    let note = format!(
        "has shape {:?}: its {channels} channels were padded with zeros to the {lanes} lanes of a row",
        tensor.shape()
    );
    Some(FittedInput { tensor: reshaped(tensor, &[all, channels])?, channels: Some(1), note: Some(note) })
}

/// Returns the number of positions in `front`, if they form whole samples of `rows` positions: `[N
/// x positions]`, `[N, positions]`, `[H, W]` or `[N, H, W]`. Other axes may be leading channels,
/// which could have the same product by accident.
fn places(front: &[usize], rows: usize) -> Option<usize> {
    let is_whole = match *front {
        [all] => all.checked_rem(rows) == Some(0),
        [height, width] => width == rows || height.checked_mul(width) == Some(rows),
        [_, height, width] => height.checked_mul(width) == Some(rows),
        _ => false,
    };
    let all = || front.iter().try_fold(1usize, |product, &size| product.checked_mul(size));
    is_whole.then(all).flatten()
}

/// Pads rows with zeros to the lanes of a vector.
fn widened(tensor: Tensor, port: &Port) -> Tensor {
    let (Some([_, lanes]), &[rows, channels], Some(values)) =
        (port.only_vectors(), tensor.shape(), tensor.as_f32())
    else {
        return tensor;
    };
    if port.takes(tensor.shape()) || channels == 0 || channels >= lanes {
        return tensor;
    }
    let mut wide = Vec::with_capacity(rows.saturating_mul(lanes));
    for row in values.chunks_exact(channels) {
        wide.extend_from_slice(row);
        wide.resize(wide.len() + lanes - channels, 0.0);
    }
    // Default: unreachable, since each row has its lanes.
    Tensor::from_f32(vec![rows, lanes], wide).unwrap_or(tensor)
}

/// Returns the same elements in another shape, or `None` if the number of elements differs.
fn reshaped(tensor: &Tensor, shape: &[usize]) -> Option<Tensor> {
    let elements = shape.iter().try_fold(1usize, |product, &size| product.checked_mul(size))?;
    if elements != tensor.data().len() {
        return None;
    }
    Tensor::new(shape.to_vec(), tensor.data().clone()).ok()?.with_element(tensor.element()).ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use npukit_target::Vectors;

    fn wanted(shape: &[usize], vectors: Option<[usize; 2]>, channels: Option<usize>) -> Wanted {
        let is_all = |shape: [usize; 2]| Vectors { shape, is_all: true };
        let port =
            Port { name: "x".to_owned(), shape: shape.to_vec(), vectors: vectors.map(is_all), element: None };
        Wanted { port, element: None, channels, initial: None, range: None }
    }

    /// Returns samples of the values 0, 1, 2 and so on, and the notes.
    fn fitted(shape: &[usize], wanted: &Wanted) -> Result<(Vec<Tensor>, String), String> {
        let values = (0..shape.iter().product::<usize>()).map(|value| value as f32).collect();
        let tensor = Tensor::from_f32(shape.to_vec(), values).unwrap();
        let mut notes = Vec::new();
        let samples = fit(tensor, wanted, &Preprocess::default(), &mut notes);
        samples.map(|samples| (samples, notes.join("; "))).map_err(|error| error.to_string())
    }

    /// Returns the number of samples, the second sample's first value (or the first sample's second
    /// value), and whether there was a note.
    fn outcome(shape: &[usize], wanted: &Wanted) -> (usize, f32, bool) {
        let (samples, notes) = fitted(shape, wanted).unwrap();
        assert!(samples.iter().all(|sample| sample.shape() == wanted.port.shape));
        (samples.len(), samples[0].as_f32().unwrap()[1], !notes.is_empty())
    }

    #[test]
    fn pictures_may_have_the_other_layout() {
        let nchw = wanted(&[1, 3, 4, 5], None, Some(1));
        assert_eq!(outcome(&[2, 3, 4, 5], &nchw), (2, 1.0, false));
        assert_eq!(outcome(&[3, 4, 5], &nchw), (1, 1.0, true));
        assert_eq!(outcome(&[1, 4, 5, 3], &nchw), (1, 3.0, true));
        assert_eq!(outcome(&[7, 4, 5, 3], &nchw), (7, 3.0, true));
        assert_eq!(outcome(&[7, 1, 4, 5, 3], &nchw), (7, 3.0, true));
        assert_eq!(outcome(&[4, 5, 3], &nchw), (1, 3.0, true));
        let nhwc = wanted(&[1, 4, 5, 3], None, Some(3));
        assert_eq!(outcome(&[2, 3, 4, 5], &nhwc), (2, 20.0, true));
        // A shape that fits both layouts is not transposed.
        let cube = wanted(&[1, 3, 3, 3], None, Some(1));
        assert_eq!(outcome(&[2, 3, 3, 3], &cube), (2, 1.0, false));
        // It is unknown which axis moves.
        assert!(fitted(&[2, 4, 5, 3], &wanted(&[1, 3, 4, 5], None, None)).is_err());
        let (_, said) = fitted(&[2, 4, 5, 3], &nchw).unwrap();
        assert_eq!(
            said,
            "input `x` has shape [2, 4, 5, 3], which is NHWC: it was transposed to NCHW, as the input is"
        );
    }

    #[test]
    fn axes_of_one_element_make_no_difference() {
        let gray = wanted(&[1, 1, 4, 5], None, Some(1));
        assert_eq!(outcome(&[4, 5], &gray), (1, 1.0, true));
        assert_eq!(outcome(&[9, 4, 5], &gray), (9, 1.0, true));
        assert_eq!(outcome(&[1, 4, 5, 1, 1], &gray), (1, 1.0, true));
        assert_eq!(outcome(&[8], &wanted(&[1, 8], None, None)), (1, 1.0, true));
        for shape in [&[5, 4][..], &[2, 10], &[20], &[0, 4, 5], &[]] {
            let refused = fitted(shape, &gray).unwrap_err();
            assert!(refused.contains("a sample is [1, 1, 4, 5]"), "{shape:?}: {refused}");
        }
    }

    #[test]
    fn rows_are_filled_up_to_their_lanes() {
        let rows = wanted(&[6, 4], Some([6, 4]), None);
        let (samples, said) = fitted(&[2, 2, 3, 3], &rows).unwrap();
        assert_eq!(samples.len(), 2);
        assert_eq!(samples[1].as_f32().unwrap()[..8], [18.0, 19.0, 20.0, 0.0, 21.0, 22.0, 23.0, 0.0]);
        assert!(said.contains("its 3 channels were padded with zeros to the 4 lanes"), "{said}");
        assert!(fitted(&[2, 3, 5], &rows).is_err() && fitted(&[5, 3], &rows).is_err());
        // Leading channels have the same number of elements, but mean another image.
        for shape in [&[3, 1, 2, 3][..], &[6, 1, 2, 3], &[2, 1, 2, 3, 3], &[4, 3, 3]] {
            let refused = fitted(shape, &rows).unwrap_err();
            assert!(refused.contains("only knows a sample as 6 rows of 4"), "{shape:?}: {refused}");
        }
        for (shape, samples) in [(&[12, 3][..], 2), (&[2, 6, 3], 2), (&[6, 1, 3], 1), (&[3, 2, 3], 1)] {
            assert_eq!(fitted(shape, &rows).unwrap().0.len(), samples, "{shape:?}");
        }
    }

    #[test]
    fn rows_are_not_for_models() {
        for (sample, shape) in [([1, 4], &[3, 8][..]), ([1, 8], &[3, 5]), ([1, 4], &[1, 8])] {
            let mut wanted = wanted(&sample, Some([1, 8]), None);
            wanted.port.vectors = Some(Vectors { shape: [1, 8], is_all: false });
            assert!(fitted(shape, &wanted).unwrap_err().contains("a sample is [1, "), "{shape:?}");
            // A tool of the target writes only rows.
            let rows = Tensor::from_f32(vec![3, 8], vec![0.0; 24]).unwrap();
            let samples = fit_rows(rows, &wanted, &Preprocess::default(), &mut Vec::new()).unwrap();
            assert_eq!((samples.len(), samples[0].shape()), (3, &[1, 8][..]));
        }
    }

    #[test]
    fn integers_are_real_numbers_where_these_are_wanted() {
        let fit_integers = |values: &[i64], element: ElementType, wanted: &Wanted| {
            let tensor = Tensor::new(vec![1, values.len()], TensorData::I64(values.to_vec())).unwrap();
            let tensor = to_element("x", &tensor, element).unwrap();
            let mut notes = Vec::new();
            fit(tensor, wanted, &Preprocess::default(), &mut notes).map(|samples| (samples, notes))
        };
        let real = wanted(&[1, 2], None, None);
        let (samples, notes) = fit_integers(&[255, -3], ElementType::I64, &real).unwrap();
        assert_eq!(samples[0].as_f32().unwrap(), [255.0, -3.0]);
        assert!(notes[0].starts_with("input `x` is given as int64"), "{notes:?}");
        for value in [(1 << 24) + 1, i64::MAX] {
            let refused = fit_integers(&[0, value], ElementType::I64, &real).unwrap_err().to_string();
            assert!(refused.starts_with("element 1 of input `x` is "), "{refused}");
        }
        let bools = Tensor::new(vec![1, 2], TensorData::Bool(vec![true, false])).unwrap();
        let samples = fit(bools, &real, &Preprocess::default(), &mut Vec::new()).unwrap();
        assert_eq!(samples[0].as_f32().unwrap(), [1.0, 0.0]);
        let whole = Wanted { element: Some(ElementType::I64), ..real };
        let floats = |values: &[f32]| {
            let tensor = Tensor::from_f32(vec![1, 2], values.to_vec()).unwrap();
            let mut notes = Vec::new();
            let samples = fit(tensor, &whole, &Preprocess::default(), &mut notes);
            samples.map(|samples| (samples, notes.join(""))).map_err(|error| error.to_string())
        };
        let (samples, said) = floats(&[3.0, -1.0]).unwrap();
        assert_eq!(samples[0].as_i64().unwrap(), [3, -1]);
        assert_eq!(said, "input `x` is given as float32 and was converted to int64");
        let refused = floats(&[3.0, 1.5]).unwrap_err();
        assert_eq!(refused, "element 1 of input `x` is 1.5, which int64 cannot represent");
        let (samples, notes) = fit_integers(&[1, 2], ElementType::I32, &whole).unwrap();
        assert_eq!((samples[0].as_i64(), notes.len()), (Some(&[1, 2][..]), 1));
        let (samples, notes) = fit_integers(&[1, 2], ElementType::I64, &whole).unwrap();
        assert!(samples[0].as_i64().is_some() && notes.is_empty());
    }
}
