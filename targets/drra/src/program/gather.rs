//! [`Gather`]: elements of a tensor as words of vectors.

use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::machine::exec::word::Word;

/// Sizes of axes with the distance between neighbors in memory, outermost axis first.
pub type Axes = Vec<(usize, usize)>;

/// Vectors of a tensor's elements. Vectors, and the elements of each, are numbered row-major over
/// axes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gather {
    /// Tensor that the elements come from.
    pub source: Source,
    /// Index of the first vector's first element.
    pub offset: usize,
    /// Axes from vector to vector.
    pub vectors: Axes,
    /// Axes from element to element of a vector.
    pub elements: Axes,
    /// Words after the elements of each vector.
    pub tail: Tail,
}

/// Words after the elements of a vector.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tail {
    /// No word.
    #[default]
    None,
    /// One word for all vectors.
    Same(i16),
    /// One word per vector, repeated cyclically if there are fewer.
    Each(Vec<i16>),
}

impl Gather {
    /// Returns `length` contiguous vectors of `count` elements.
    pub fn rows(source: Source, length: usize, count: usize) -> Self {
        let (vectors, elements) = (vec![(length, count)], vec![(count, 1)]);
        Self { source, offset: 0, vectors, elements, tail: Tail::None }
    }

    /// Number of vectors.
    pub fn count(&self) -> usize {
        self.vectors.iter().map(|axis| axis.0).product()
    }

    /// Words per vector.
    pub fn length(&self) -> usize {
        let own: usize = self.elements.iter().map(|axis| axis.0).product();
        own + usize::from(self.tail != Tail::None)
    }

    /// Puts the words of vectors, one after the other, each followed by `zeros` zeros. `word`
    /// converts the tensor's `values`. All indices are valid: the compiler makes gathers from
    /// shapes, and gathers in files are checked when they are read.
    #[inline]
    pub fn words<S: Copy, W: Word>(
        &self,
        values: &[S],
        vectors: Range<usize>,
        zeros: usize,
        word: impl Fn(S) -> W,
        mut put: impl FnMut(W),
    ) {
        let elements = offsets(&self.elements);
        for vector in vectors {
            let start = self.offset + offset(&self.vectors, vector);
            elements.iter().for_each(|element| put(word(values[start + element])));
            match &self.tail {
                Tail::None => {}
                Tail::Same(word) => put(W::constant(*word)),
                Tail::Each(list) => put(W::constant(list[vector % list.len()])),
            }
            (0..zeros).for_each(|_| put(W::default()));
        }
    }
}

/// Distance of an element from the first.
pub fn offset(axes: &[(usize, usize)], mut index: usize) -> usize {
    let mut offset = 0;
    for &(size, stride) in axes.iter().rev() {
        offset += index % size.max(1) * stride;
        index /= size.max(1);
    }
    offset
}

/// Returns the last element of axes that begin at `start`, or `None` if an axis is empty.
pub fn last(start: usize, axes: &[&Axes]) -> Option<usize> {
    axes.iter().copied().flatten().try_fold(start, |end, &(size, stride)| {
        Some(end.saturating_add(size.checked_sub(1)?.saturating_mul(stride)))
    })
}

/// Returns the distances of all elements from the first.
pub fn offsets(axes: &[(usize, usize)]) -> Vec<usize> {
    axes.iter().fold(vec![0], |offsets, &(size, stride)| {
        offsets.iter().flat_map(|offset| (0..size).map(move |index| offset + index * stride)).collect()
    })
}

/// Returns the distance between neighbors along each axis of a row-major tensor.
pub fn strides(shape: &[usize]) -> Vec<usize> {
    let mut strides = vec![1; shape.len()];
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis] * shape[axis];
    }
    strides
}

/// Returns the axes of a tensor that is broadcast to `shape` with NumPy's rule.
pub fn broadcast(shape: &[usize], own: &[usize]) -> Axes {
    let missing = shape.len().saturating_sub(own.len());
    let stride = strides(own);
    let axis = |(index, &size): (usize, &usize)| match index.checked_sub(missing) {
        Some(place) if own[place] == size => (size, stride[place]),
        _ => (size, 0),
    };
    shape.iter().enumerate().map(axis).collect()
}

/// Source of integers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Source {
    /// Value of the plan, by index.
    Value(usize),
    /// Constant of the model. In files, constants are stored separately.
    #[serde(skip)]
    Constant(Arc<[i16]>),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_of_an_image() {
        let values: Vec<i16> = (0..12).collect();
        // The gather reads 2x2 windows of a 3x4 image.
        let (vectors, elements) = (vec![(2, 4), (3, 1)], vec![(2, 4), (2, 1)]);
        let gather = Gather { source: Source::Value(0), offset: 0, vectors, elements, tail: Tail::Same(99) };
        assert_eq!((gather.count(), gather.length()), (6, 5));
        let words = |vectors, zeros| {
            let mut words = Vec::new();
            gather.words(&values, vectors, zeros, |word: i16| word, |word| words.push(word));
            words
        };
        assert_eq!(words(0..1, 0), [0, 1, 4, 5, 99]);
        assert_eq!(words(4..6, 2), [5, 6, 9, 10, 99, 0, 0, 6, 7, 10, 11, 99, 0, 0]);
        assert_eq!(offsets(&gather.elements), [0, 1, 4, 5]);
        assert_eq!(strides(&[3, 4, 5]), [20, 5, 1]);
    }

    #[test]
    fn the_last_element_of_axes() {
        let (windows, taps) = (vec![(2, 4), (3, 1)], vec![(2, 4), (2, 1)]);
        assert_eq!(last(1, &[&windows, &taps]), Some(12));
        assert_eq!(last(7, &[]), Some(7), "one element");
        assert_eq!(last(7, &[&vec![(3, 2), (0, 9)]]), None);
        assert_eq!(last(7, &[&vec![(3, usize::MAX)]]), Some(usize::MAX));
    }

    #[test]
    fn missing_axes_and_those_of_one_element_are_repeated() {
        assert_eq!(broadcast(&[2, 3, 4], &[3, 4]), [(2, 0), (3, 4), (4, 1)]);
        assert_eq!(broadcast(&[2, 3, 4], &[2, 1, 4]), [(2, 4), (3, 0), (4, 1)]);
    }
}
