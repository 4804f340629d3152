//! [`shapes`]: sizes that a model leaves open, taken from the files given for its inputs, and for
//! [`names`]: the inputs that the files name.

use std::collections::{BTreeMap, BTreeSet};

use npukit_import::{Dimension, OpenInput};
use npukit_target::Reader;

use super::assign::assign;
use super::media::Given;
use super::read::Offer;
use super::{InputFile, audio, image, offers, random};
use crate::error::Error;

/// Returns the shapes of samples for `inputs`, by name, as far as `files` determine them. An input
/// with an unknown number of axes gets the axes of its array.
pub(crate) fn shapes(
    files: &[InputFile],
    inputs: &[OpenInput],
    reader: &dyn Reader,
) -> Result<BTreeMap<String, Vec<usize>>, Error> {
    // These notes are reported when the files are read as samples.
    let mut notes = Vec::new();
    let all = offered(files, inputs.len(), reader, &mut notes)?;
    let (all, _) = random::apart(all);
    let names: Vec<&str> = inputs.iter().map(|input| input.name.as_str()).collect();
    let mut shapes = BTreeMap::new();
    for (given, input) in
        assign(super::joined(all, inputs.len()), &names, &mut notes)?.into_iter().zip(inputs)
    {
        let Some(given) = given else { continue };
        if let Some(shape) = shape(&given, input)? {
            shapes.insert(input.name.clone(), shape);
        }
    }
    Ok(shapes)
}

/// Returns the names that `files` give their arrays, images and audio.
pub(crate) fn names(files: &[InputFile], reader: &dyn Reader) -> Result<BTreeSet<String>, Error> {
    let all = offered(files, 1, reader, &mut Vec::new())?;
    Ok(all.into_iter().filter_map(|offer| offer.name).collect())
}

/// Returns what `files` offer to the inputs, without the target's text files, which have no shape.
fn offered(
    files: &[InputFile],
    inputs: usize,
    reader: &dyn Reader,
    notes: &mut Vec<String>,
) -> Result<Vec<Offer>, Error> {
    let mut all = Vec::new();
    for file in files {
        match offers(std::slice::from_ref(file), inputs, reader, None, notes) {
            Ok(found) => all.extend(found),
            Err(Error::UnknownInput { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(all)
}

/// Returns the shape of a sample for `input`.
fn shape(given: &Given, input: &OpenInput) -> Result<Option<Vec<usize>>, Error> {
    Ok(match (given, &input.dimensions) {
        (Given::Array(tensor), None) => Some(tensor.shape().to_vec()),
        (Given::Array(tensor), Some(axes)) => of_array(tensor.shape(), axes),
        (Given::Pictures(pictures), Some(axes)) => match pictures.first() {
            Some(picture) => of_picture(image::sizes(picture)?, axes),
            None => None,
        },
        (Given::Sounds(sounds), Some(axes)) => match sounds.first() {
            Some(sound) => of_sound(audio::frames(sound)?, axes),
            None => None,
        },
        (Given::Rows(_) | Given::Random(_), _) | (_, None) => None,
    })
}

/// Returns the array's shape, with the samples along its first axis, along an additional first
/// axis, or without a batch. If known sizes contradict this, returns the shape in the other layout.
fn of_array(shape: &[usize], axes: &[Dimension]) -> Option<Vec<usize>> {
    let without = || shape.get(1..).map(<[usize]>::to_vec);
    let with = || Some(std::iter::once(1).chain(shape.iter().copied()).collect());
    let shape: Vec<usize> = match shape.len() as isize - axes.len() as isize {
        0 => Some(shape.to_vec()),
        1 => without(),
        -1 => with(),
        _ => None,
    }?;
    if agrees(&shape, axes) {
        return Some(shape);
    }
    let other = match shape[..] {
        [n, a, b, c] => [[n, c, a, b], [n, b, c, a]].into_iter().find(|other| agrees(other, axes)),
        _ => None,
    };
    Some(other.map_or(shape, |other| other.to_vec()))
}

/// Whether a shape agrees with the known sizes, except for the first axis, which may be the number
/// of samples.
fn agrees(shape: &[usize], axes: &[Dimension]) -> bool {
    let agrees = |(&size, axis): (&usize, &Dimension)| axis.size.is_none_or(|known| known == size);
    shape.len() == axes.len() && shape.iter().zip(axes).skip(1).all(agrees)
}

/// Returns the shape with channels first or last, whichever agrees with the known sizes; `None` if
/// both do.
fn of_picture((width, height, channels): (usize, usize, usize), axes: &[Dimension]) -> Option<Vec<usize>> {
    let at = |axis: Option<&Dimension>| axis.and_then(|axis| axis.size);
    let is_picture = |channels: Option<usize>| channels.is_some_and(|channels| [1, 3, 4].contains(&channels));
    let (first, last) = (at(axes.get(1)), at(axes.get(3)));
    let sizes = match (is_picture(first), is_picture(last)) {
        (true, false) => vec![1, first?, height, width],
        (false, true) => vec![1, height, width, last?],
        (false, false) if first.is_none() && last.is_some() => vec![1, channels, height, width],
        (false, false) if last.is_none() && first.is_some() => vec![1, height, width, channels],
        _ => return None,
    };
    Some(sizes).filter(|sizes| sizes.len() == axes.len())
}

/// Returns the shape with the audio length on the only open axis besides the batch.
fn of_sound(frames: usize, axes: &[Dimension]) -> Option<Vec<usize>> {
    let first = usize::from(axes.len() > 1);
    let mut open = axes.iter().enumerate().skip(first).filter(|(_, axis)| axis.size.is_none());
    let (place, _) = open.next()?;
    if open.next().is_some() {
        return None;
    }
    let size = |(axis, dimension): (usize, &Dimension)| match dimension.size {
        _ if axis == place => frames,
        // Default: a batch of one audio file.
        size => size.unwrap_or(1),
    };
    Some(axes.iter().enumerate().map(size).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axes(sizes: &[usize]) -> Vec<Dimension> {
        sizes
            .iter()
            .map(|&size| Dimension { size: Some(size).filter(|size| *size > 0), name: None })
            .collect()
    }

    #[test]
    fn arrays_lend_the_shape_that_known_sizes_allow() {
        let nchw = axes(&[0, 3, 0, 0]);
        for shape in [&[7, 3, 8, 9][..], &[7, 1, 3, 8, 9], &[3, 8, 9], &[7, 8, 9, 3], &[8, 9, 3]] {
            assert_eq!(
                of_array(shape, &nchw).map(|shape| shape[1..].to_vec()),
                Some(vec![3, 8, 9]),
                "{shape:?}"
            );
        }
        assert_eq!(of_array(&[7, 3, 8, 9], &axes(&[1, 0, 0, 3])), Some(vec![7, 8, 9, 3]));
        assert_eq!(of_array(&[8, 9], &nchw), None);
        assert_eq!(of_array(&[5, 6], &axes(&[0, 0])), Some(vec![5, 6]));
    }

    #[test]
    fn pictures_and_sounds_lend_their_sizes() {
        let sizes = (9, 8, 3);
        assert_eq!(of_picture(sizes, &axes(&[0, 3, 0, 0])), Some(vec![1, 3, 8, 9]));
        assert_eq!(of_picture(sizes, &axes(&[1, 0, 0, 1])), Some(vec![1, 8, 9, 1]));
        assert_eq!(of_picture(sizes, &axes(&[1, 0, 0, 0])), None);
        assert_eq!(of_picture(sizes, &axes(&[1, 3, 0])), None);
        assert_eq!(of_sound(5, &axes(&[0, 0])), Some(vec![1, 5]));
        assert_eq!(of_sound(5, &axes(&[0, 1, 0])), Some(vec![1, 1, 5]));
        assert_eq!(of_sound(5, &axes(&[0])), Some(vec![5]));
        assert_eq!(of_sound(5, &axes(&[1, 0, 0])), None);
    }
}
