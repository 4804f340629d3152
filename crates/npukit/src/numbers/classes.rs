//! Classes: the largest element of an output at each position, if the output looks like class
//! scores.

use npukit_numeric::{ElementType, Tensor};

use crate::run::stack::Stack;

/// Returns the number of positions with the same class in both, and of all positions; `None` if the
/// output does not look like classes. NaN agrees with nothing.
pub(crate) fn agreement(ours: &Stack, reference: &Stack) -> Option<(u64, u64)> {
    let axis = class_axis(reference)?;
    let pairs = ours.samples.iter().zip(&reference.samples);
    let (mut agree, mut positions) = (0, 0);
    for (ours, reference) in pairs {
        let (ours, reference) = (largest(ours, axis), largest(reference, axis));
        positions += reference.len() as u64;
        agree += ours.iter().zip(&reference).filter(|(a, b)| a == b && a.is_some()).count() as u64;
    }
    Some((agree, positions))
}

/// Maximum number of positions per sample whose classes are reported.
const TOLD: usize = 16;

/// Returns the class at each position of each sample (`None` for NaN). Returns `None` for an output
/// that does not look like classes, or that has too many positions.
pub(crate) fn argmax(output: &Stack) -> Option<Vec<Option<usize>>> {
    let axis = class_axis(output)?;
    let positions: usize =
        output.shape.iter().enumerate().filter(|(i, _)| *i != axis).map(|(_, n)| n).product();
    (positions <= TOLD).then(|| output.samples.iter().flat_map(|sample| largest(sample, axis)).collect())
}

/// Number of channels up to which a map is treated as an image, unless it holds probabilities.
const IMAGE_CHANNELS: usize = 4;

/// Maximum number of bits of integers treated as scores; wider ones are likely indices.
const WIDEST: usize = 16;

/// Returns the class axis of an output that looks like class scores: real numbers or narrow
/// integers. See [`score_axis`] for the axis.
pub(crate) fn class_axis(output: &Stack) -> Option<usize> {
    let element = output.samples.first()?.element();
    let are_scores = element.is_float() || (is_integer(element) && element.bits() <= WIDEST);
    score_axis(output).filter(|_| are_scores)
}

/// Whether an output holds integers that may be indices, such as the classes of an ArgMax.
pub(crate) fn may_be_positions(output: &Stack) -> bool {
    let element = output.samples.first().map(Tensor::element);
    !output.is_rows && element.is_some_and(|element| is_integer(element) && element.bits() > WIDEST)
}

fn is_integer(element: ElementType) -> bool {
    element.integer_range().is_some()
}

/// Returns the class axis if an output holds scores: the last of up to three axes, or the channels
/// of a map `[n, c, h, w]` or `[n, h, w, c]`. Padding lanes and booleans are not classes.
pub(crate) fn score_axis(output: &Stack) -> Option<usize> {
    let element = output.samples.first()?.element();
    if output.is_rows || element == ElementType::Bool {
        return None;
    }
    let axis = match *output.shape {
        [.., h, w, c] if output.shape.len() == 4 && h == output.shape[1] && w == h && c != h => 3,
        _ => last_or_channels(&output.shape)?,
    };
    let classes = output.shape[axis];
    let is_map = output.shape.len() > 3;
    (classes >= 2 && (!is_map || classes > IMAGE_CHANNELS || are_probabilities(output, axis))).then_some(axis)
}

fn last_or_channels(shape: &[usize]) -> Option<usize> {
    match *shape {
        [] => None,
        [_, a, b, c] => Some(if a == b && b != c { 3 } else { 1 }),
        _ if shape.len() <= 3 => Some(shape.len() - 1),
        _ => Some(1),
    }
}

/// Whether the scores of each position sum to 1.
fn are_probabilities(output: &Stack, axis: usize) -> bool {
    const NEAR: f64 = 1e-2;
    let sums_to_one = |values: &Vec<f64>| {
        values.iter().all(|x| *x >= 0.0) && (values.iter().sum::<f64>() - 1.0).abs() < NEAR
    };
    output.samples.iter().all(|sample| positions(sample, axis).iter().all(sums_to_one))
}

/// Returns the place of the largest element at each position: the first of equals, `None` for NaN.
fn largest(sample: &Tensor, axis: usize) -> Vec<Option<usize>> {
    let place = |values: &Vec<f64>| {
        let better = |best: usize, i: usize| if values[i] > values[best] { i } else { best };
        let found = (0..values.len()).reduce(better)?;
        values.iter().all(|x| !x.is_nan()).then_some(found)
    };
    positions(sample, axis).iter().map(place).collect()
}

/// Returns the elements along the axis, for each position on the other axes.
pub(crate) fn positions(sample: &Tensor, axis: usize) -> Vec<Vec<f64>> {
    let (shape, values) = (sample.shape(), sample.reals());
    let Some(&classes) = shape.get(axis) else { return Vec::new() };
    let inner: usize = shape[axis + 1..].iter().product();
    let outer: usize = shape[..axis].iter().product();
    let at = |outer: usize, place: usize| {
        (0..classes)
            .filter_map(|class| values.get((outer * classes + class) * inner + place).copied())
            .collect()
    };
    let places = (0..outer).flat_map(|outer| (0..inner).map(move |place| (outer, place)));
    places.map(|(outer, place)| at(outer, place)).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn stack(shape: &[usize], values: Vec<f32>) -> Stack {
        let samples = vec![Tensor::from_f32(shape.to_vec(), values).unwrap()];
        Stack { name: "y".into(), shape: shape.to_vec(), samples, ..Stack::default() }
    }

    /// Output of shape `[1, positions, classes]`, with a class for each position.
    fn text(letters: &[usize], classes: usize) -> Stack {
        let mut values = vec![0.0; letters.len() * classes];
        letters.iter().enumerate().for_each(|(place, letter)| values[place * classes + letter] = 1.0);
        stack(&[1, letters.len(), classes], values)
    }

    #[test]
    fn a_text_is_compared_letter_by_letter() {
        let right = [1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5];
        let mut found = right;
        (found[3], found[9]) = (0, 0);
        assert_eq!(agreement(&text(&found, 10), &text(&right, 10)), Some((12, 14)));
    }

    #[test]
    fn classes_lie_along_the_last_axis_or_the_channels() {
        let axis = |shape: &[usize]| class_axis(&stack(shape, vec![0.0; shape.iter().product()]));
        for (shape, expected) in [
            (&[10][..], Some(0)),
            (&[1, 10], Some(1)),
            (&[3, 10], Some(1)),
            (&[1, 7, 10], Some(2)),
            (&[1, 21, 6, 8], Some(1)),
            (&[1, 6, 6, 21], Some(3)),
            (&[1, 6, 6, 6], Some(1)),
            (&[1, 1], None),
            (&[1, 1, 6, 8], None),
            (&[1, 3, 6, 8], None),
            (&[], None),
        ] {
            assert_eq!(axis(shape), expected, "{shape:?}");
        }
        assert_eq!(class_axis(&stack(&[1, 2, 4, 2], vec![0.5; 16])), Some(1), "probabilities of two classes");
    }

    #[test]
    fn narrow_integers_are_scores_and_wide_ones_perhaps_positions() {
        use ElementType::*;
        for (element, is_class, may_be) in
            [(I8, true, false), (U8, true, false), (I16, true, false), (I32, false, true), (I64, false, true)]
        {
            let mut output = stack(&[1, 3], vec![1.0, 3.0, 2.0]);
            output.samples[0] = npukit_target::as_element(&output.samples[0], element);
            assert_eq!(class_axis(&output).is_some(), is_class, "{element}");
            assert_eq!(may_be_positions(&output), may_be, "{element}");
            assert_eq!(score_axis(&output), Some(1), "{element}");
            assert_eq!(argmax(&output), is_class.then(|| vec![Some(1)]), "{element}");
        }
        let mut truths = stack(&[1, 3], vec![1.0, 0.0, 1.0]);
        truths.samples[0] = npukit_target::as_element(&truths.samples[0], Bool);
        assert_eq!((class_axis(&truths), score_axis(&truths)), (None, None));
    }

    #[test]
    fn classes_are_told_where_there_are_some() {
        assert_eq!(argmax(&text(&[3, 1], 5)), Some(vec![Some(3), Some(1)]));
        assert_eq!(argmax(&stack(&[1, 3], vec![1.0, f32::NAN, 0.0])), Some(vec![None]));
        assert_eq!(argmax(&text(&[1; TOLD + 1], 5)), None, "too many positions");
        assert_eq!(argmax(&stack(&[1, 3, 8, 8], vec![0.0; 192])), None, "an image");
    }

    #[test]
    fn maps_are_compared_pixel_by_pixel() {
        // Channels 0 to 4 of two pixels.
        let map = |values: [f32; 10]| stack(&[1, 5, 1, 2], values.to_vec());
        let float = map([9.0, 0.0, 0.0, 9.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
        let ours = map([9.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 9.0]);
        assert_eq!(agreement(&ours, &float), Some((1, 2)));
    }
}
