//! Arithmetic on shapes that cannot overflow, and iteration over strided elements.

use rayon::prelude::*;

use crate::op::OpError;

/// Largest number of elements of a tensor: 2^31, eight gigabytes of `f32`. A model that needs more
/// is considered damaged.
pub const MAX_ELEMENTS: usize = 1 << 31;

/// Returns the number of elements of `shape`.
///
/// # Errors
///
/// [`OpError::TooLarge`] if the product of the nonzero sizes is above [`MAX_ELEMENTS`].
pub fn elements(shape: &[usize]) -> Result<usize, OpError> {
    let too_large = || OpError::TooLarge { shape: shape.to_vec(), limit: MAX_ELEMENTS };
    // A size of 0 does not allow the other sizes to be huge: products over some of the axes are
    // computed as well.
    let sizes = shape.iter().filter(|&&size| size != 0);
    let product = sizes.copied().try_fold(1usize, |product, size| product.checked_mul(size));
    let count = product.filter(|&count| count <= MAX_ELEMENTS).ok_or_else(too_large)?;
    Ok(if shape.contains(&0) { 0 } else { count })
}

/// Returns the distance between neighbors along each axis of a row-major tensor, in elements.
///
/// Saturates only if another size is 0, so that the tensor is empty.
pub fn strides(shape: &[usize]) -> Vec<isize> {
    let mut strides = vec![1isize; shape.len()];
    for axis in (1..shape.len()).rev() {
        let size = isize::try_from(shape[axis]).unwrap_or(isize::MAX);
        strides[axis - 1] = strides[axis].saturating_mul(size);
    }
    strides
}

/// Returns the shape of an elementwise result of operands with shapes `left` and `right` by NumPy's
/// broadcasting rule. The shapes are aligned at the last axis; sizes must be equal or one of them
/// 1. `None` if they do not broadcast.
pub fn broadcast(left: &[usize], right: &[usize]) -> Option<Vec<usize>> {
    let rank = left.len().max(right.len());
    let size = |shape: &[usize], axis: usize| (axis + shape.len()).checked_sub(rank).map_or(1, |i| shape[i]);
    (0..rank)
        .map(|axis| match (size(left, axis), size(right, axis)) {
            (l, r) if l == r => Some(l),
            (1, r) => Some(r),
            (l, 1) => Some(l),
            _ => None,
        })
        .collect()
}

/// Returns the index along each axis of an element of a row-major tensor, outermost axis first.
pub fn indices(element: usize, shape: &[usize]) -> impl Iterator<Item = usize> + '_ {
    let mut inner: usize = shape.iter().product();
    shape.iter().map(move |&size| {
        inner /= size.max(1);
        element / inner.max(1) % size.max(1)
    })
}

/// Returns the strides for reading a tensor of `shape` broadcast to `target`: 0 along the repeated
/// axes. `shape` must be broadcastable to `target`.
pub fn broadcast_strides(shape: &[usize], target: &[usize]) -> Vec<isize> {
    let missing = target.len().saturating_sub(shape.len());
    let own = strides(shape).into_iter().zip(shape).map(|(stride, &size)| if size == 1 { 0 } else { stride });
    std::iter::repeat_n(0, missing).chain(own).collect()
}

/// Copies the elements of a strided view, row-major. Element `i` of the result, with coordinates
/// `c`, is `source[offset + sum(c[axis] * strides[axis])]`. All elements of the view must be inside
/// `source`.
pub fn gather_strided<T: Copy + Send + Sync>(
    source: &[T],
    offset: usize,
    shape: &[usize],
    strides: &[isize],
) -> Vec<T> {
    if shape.contains(&0) {
        return Vec::new();
    }
    if let ([outer @ .., rows, columns], [outer_strides @ .., row, column]) = (shape, strides)
        && *column != 1
        && rows * columns >= LARGE
    {
        let mut starts = Vec::new();
        copy_starts(offset as isize, outer, outer_strides, &mut starts);
        return gather_matrices(source, &starts, [*rows, *columns], [*row, *column]);
    }
    let mut result = Vec::with_capacity(shape.iter().product());
    copy_axis(source, offset as isize, shape, strides, &mut result);
    result
}

/// Least number of elements for which a matrix is copied in tiles.
const LARGE: usize = 1 << 12;

/// Copies the matrices that begin at each of `starts`, whose rows and columns need not be
/// contiguous. Copying in tiles uses each cache line completely while it is cached.
fn gather_matrices<T: Copy + Send + Sync>(
    source: &[T],
    starts: &[isize],
    [rows, columns]: [usize; 2],
    [row, column]: [isize; 2],
) -> Vec<T> {
    const TILE: usize = 16;
    let Some(&first) = starts.first() else { return Vec::new() };
    let mut result = vec![source[first as usize]; starts.len() * rows * columns];
    result.par_chunks_mut(rows * columns).zip(starts).for_each(|(matrix, start)| {
        matrix.par_chunks_mut(TILE * columns).enumerate().for_each(|(index, block)| {
            let start = start + (index * TILE) as isize * row;
            for left in (0..columns).step_by(TILE) {
                let width = TILE.min(columns - left);
                for (r, to) in block.chunks_mut(columns).enumerate() {
                    let start = start + r as isize * row + left as isize * column;
                    for (c, to) in to[left..left + width].iter_mut().enumerate() {
                        *to = source[(start + c as isize * column) as usize];
                    }
                }
            }
        });
    });
    result
}

/// Collects the start of each part that these axes consist of.
fn copy_starts(offset: isize, shape: &[usize], strides: &[isize], starts: &mut Vec<isize>) {
    match (shape, strides) {
        ([size, inner @ ..], [stride, inner_strides @ ..]) => {
            (0..*size as isize).for_each(|i| copy_starts(offset + i * stride, inner, inner_strides, starts));
        }
        _ => starts.push(offset),
    }
}

fn copy_axis<T: Copy>(source: &[T], offset: isize, shape: &[usize], strides: &[isize], out: &mut Vec<T>) {
    match (shape, strides) {
        ([], _) => out.push(source[offset as usize]),
        (&[size], &[1]) => out.extend_from_slice(&source[offset as usize..offset as usize + size]),
        (&[size], &[stride]) => {
            out.extend((0..size as isize).map(|i| source[(offset + i * stride) as usize]));
        }
        ([size, inner @ ..], [stride, inner_strides @ ..]) => {
            for i in 0..*size as isize {
                copy_axis(source, offset + i * stride, inner, inner_strides, out);
            }
        }
        (_, []) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks, element by element, matrices that are copied in tiles and one that is not, with
    /// partial tiles at the edges.
    #[test]
    fn large_matrices_are_gathered_as_small_ones_are() {
        let source: Vec<i32> = (0..3 * 70 * 90).collect();
        for (shape, strides) in [
            (vec![3, 90, 70], vec![70 * 90, 1, 90]),
            (vec![90, 3, 70], vec![1, 70 * 90, 90]),
            (vec![70, 3 * 90], vec![90, 0]),
            (vec![2, 65, 65], vec![1, -1, -90]),
        ] {
            let goes_back = strides.iter().any(|&stride| stride < 0);
            let offset = if goes_back { source.len() - 100 } else { 0 };
            let mut expected = Vec::new();
            copy_axis(&source, offset as isize, &shape, &strides, &mut expected);
            assert_eq!(gather_strided(&source, offset, &shape, &strides), expected, "{shape:?}");
        }
    }

    #[test]
    fn counts_elements_without_overflow() {
        assert_eq!(elements(&[2, 3, 4]), Ok(24));
        assert_eq!(elements(&[]), Ok(1));
        assert_eq!(elements(&[MAX_ELEMENTS, 0]), Ok(0));
        assert!(elements(&[MAX_ELEMENTS, 2, 0]).is_err());
        assert!(elements(&[1 << 20, 1 << 12]).is_err());
        assert!(elements(&[1 << 31, 1 << 31, 1 << 31]).is_err());
        assert!(elements(&[usize::MAX, 0]).is_err());
    }

    #[test]
    fn broadcasts_as_numpy() {
        assert_eq!(broadcast(&[2, 1, 4], &[3, 1]), Some(vec![2, 3, 4]));
        assert_eq!(broadcast(&[], &[3]), Some(vec![3]));
        assert_eq!(broadcast(&[1, 0], &[5, 1]), Some(vec![5, 0]));
        assert_eq!(broadcast(&[2], &[3]), None);
        assert_eq!(broadcast_strides(&[3, 1], &[2, 3, 4]), vec![0, 1, 0]);
    }

    #[test]
    fn walks_backwards() {
        assert_eq!(gather_strided(&[1, 2, 3, 4, 5, 6], 5, &[2, 3], &[-3, -1]), vec![6, 5, 4, 3, 2, 1]);
    }
}
