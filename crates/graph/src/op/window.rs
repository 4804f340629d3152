//! Sliding windows over the rows and columns of an image: [`Window`].

use serde::{Deserialize, Serialize};
use std::ops::Range;

use super::OpError;
use crate::shape::elements;

/// Windows over the two image axes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// Height and width, at least 1.
    pub kernel: [usize; 2],
    /// Vertical and horizontal stride, at least 1.
    pub strides: [usize; 2],
    /// Vertical and horizontal distance of taps, at least 1 (dense).
    pub dilations: [usize; 2],
    /// Padding: rows above, columns left, rows below, columns right. `auto_pad` is resolved on
    /// import.
    pub pads: [usize; 4],
    /// Whether to round the output size up instead of down.
    pub ceil_mode: bool,
}

/// Part of one image axis that one window covers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WindowSpan {
    /// Taps that are on the image.
    pub taps: Range<usize>,
    /// Index of the element under the first such tap; the next ones follow at the distance of the
    /// dilation.
    pub first: usize,
    /// Number of taps on the image or its padding. With `ceil_mode`, a window may extend beyond the
    /// padding and have more taps.
    pub padded: usize,
}

impl Window {
    /// Creates a window without padding or dilation.
    pub fn plain(kernel: [usize; 2], strides: [usize; 2]) -> Self {
        Self { kernel, strides, dilations: [1, 1], pads: [0; 4], ceil_mode: false }
    }

    /// Returns the number of rows and columns from the first to the last tap, inclusive.
    ///
    /// # Errors
    ///
    /// A kernel, stride or dilation of 0, or one beyond the size limit of tensors.
    pub fn reach(&self) -> Result<[usize; 2], OpError> {
        positive("kernel", self.kernel)?;
        positive("strides", self.strides)?;
        positive("dilations", self.dilations)?;
        elements(&self.pads[..2])?;
        elements(&self.pads[2..])?;
        Ok([0, 1].map(|axis| (self.kernel[axis] - 1).saturating_mul(self.dilations[axis]).saturating_add(1)))
    }

    /// Returns the number of rows and columns of windows over an image of `[h, w]`.
    ///
    /// With `ceil_mode`, a last window that would start beyond the image and its leading padding is
    /// left out, as in ONNX (MaxPool-22) and PyTorch.
    ///
    /// # Errors
    ///
    /// The errors of [`Window::reach`]; a window larger than the padded image.
    pub fn output(&self, image: [usize; 2]) -> Result<[usize; 2], OpError> {
        let reach = self.reach()?;
        elements(&image)?;
        Ok([self.output_axis(0, image[0], reach[0])?, self.output_axis(1, image[1], reach[1])?])
    }

    fn output_axis(&self, axis: usize, size: usize, reach: usize) -> Result<usize, OpError> {
        let (before, after, stride) = (self.pads[axis], self.pads[axis + 2], self.strides[axis]);
        let padded = size + before + after;
        let Some(room) = padded.checked_sub(reach) else {
            return Err(OpError::WindowTooLarge { axis, reach, padded });
        };
        if !self.ceil_mode {
            return Ok(room / stride + 1);
        }
        let count = room.div_ceil(stride) + 1;
        let last_is_outside = (count - 1).saturating_mul(stride) >= size + before;
        Ok(if last_is_outside { count - 1 } else { count })
    }

    /// Returns the part of an axis of `size` elements that the windows of row (`axis` 0) or column
    /// (`axis` 1) `index` cover. The window must be valid ([`Window::output`]), and `index` below
    /// the number of windows.
    pub fn span(&self, axis: usize, index: usize, size: usize) -> WindowSpan {
        let (step, kernel) = (self.dilations[axis], self.kernel[axis]);
        let (start, before) = (index * self.strides[axis], self.pads[axis]);
        let taps_below = |limit: usize| limit.saturating_sub(start).div_ceil(step).min(kernel);
        let taps = taps_below(before)..taps_below(before + size);
        let first = (start + taps.start * step).saturating_sub(before);
        WindowSpan { taps, first, padded: taps_below(before + size + self.pads[axis + 2]) }
    }

    /// Visits the taps of window `window` that are on the images, which have size `[h, w]` and
    /// `[rows, columns]` windows each. Calls `visit` with the tap's position in the kernel, and the
    /// pixel under it. Windows and pixels are counted over all images.
    #[inline]
    pub(crate) fn taps(
        &self,
        window: usize,
        [height, width]: [usize; 2],
        [rows, columns]: [usize; 2],
        mut visit: impl FnMut(usize, usize),
    ) {
        let image = window / (rows * columns);
        let down = self.span(0, window / columns % rows, height);
        let right = self.span(1, window % columns, width);
        for (i, ky) in down.taps.clone().enumerate() {
            let y = image * height + down.first + i * self.dilations[0];
            for (j, kx) in right.taps.clone().enumerate() {
                visit(ky * self.kernel[1] + kx, y * width + right.first + j * self.dilations[1]);
            }
        }
    }

    /// Returns the padded rows above, columns left, rows below and columns right of an image of
    /// `[h, w]` that some window touches. The numbers below and right may differ from `pads`: fewer
    /// if a stride skips rows, more if `ceil_mode` extends a window.
    ///
    /// # Errors
    ///
    /// See [`Window::output`].
    pub fn effective_pads(&self, image: [usize; 2]) -> Result<[usize; 4], OpError> {
        let (output, reach) = (self.output(image)?, self.reach()?);
        let after = |axis: usize| {
            let end = output[axis].saturating_sub(1) * self.strides[axis] + reach[axis];
            end.saturating_sub(self.pads[axis] + image[axis])
        };
        Ok([self.pads[0], self.pads[1], after(0), after(1)])
    }

    /// Whether every window over an image of `[h, w]` has at least one tap on it.
    ///
    /// # Errors
    ///
    /// See [`Window::output`].
    pub fn always_on_image(&self, image: [usize; 2]) -> Result<bool, OpError> {
        let output = self.output(image)?;
        let on_image =
            |axis: usize| (0..output[axis]).all(|index| !self.span(axis, index, image[axis]).taps.is_empty());
        Ok(on_image(0) && on_image(1))
    }
}

fn positive(attribute: &'static str, values: [usize; 2]) -> Result<(), OpError> {
    if values.contains(&0) || elements(&values[..1]).is_err() || elements(&values[1..]).is_err() {
        let found = format!("{values:?}");
        return Err(OpError::Attribute { op: "window", attribute, found, legal: "1 to 2^31" });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_follow_the_standard() {
        let mut window = Window { pads: [1, 1, 1, 1], ..Window::plain([3, 3], [2, 2]) };
        assert_eq!(window.output([32, 31]), Ok([16, 16]));
        assert_eq!(window.effective_pads([32, 31]), Ok([1, 1, 0, 1]));
        window.ceil_mode = true;
        assert_eq!(window.output([32, 31]), Ok([17, 16]));
        assert_eq!(window.effective_pads([32, 31]), Ok([1, 1, 2, 1]));
        // The second window would start after the only column.
        let narrow = Window { ceil_mode: true, ..Window::plain([1, 1], [2, 2]) };
        assert_eq!(narrow.output([2, 2]), Ok([1, 1]));
    }

    #[test]
    fn spans_leave_padding_out() {
        let window = Window { dilations: [2, 1], pads: [3, 0, 1, 0], ..Window::plain([3, 1], [1, 1]) };
        assert_eq!(window.span(0, 0, 4), WindowSpan { taps: 2..3, first: 1, padded: 3 });
        assert_eq!(window.span(0, 3, 4), WindowSpan { taps: 0..2, first: 0, padded: 3 });
    }

    #[test]
    fn windows_beside_the_image_are_found_on_either_axis() {
        for (pads, expected) in
            [([0; 4], true), ([1, 0, 0, 0], false), ([0, 1, 0, 0], false), ([0, 0, 0, 1], false)]
        {
            let window = Window { pads, ..Window::plain([1, 1], [1, 1]) };
            assert_eq!(window.always_on_image([2, 2]), Ok(expected), "{pads:?}");
            let wider = Window { kernel: [2, 2], ..window };
            assert_eq!(wider.always_on_image([2, 2]), Ok(true), "{pads:?}");
        }
    }

    #[test]
    fn impossible_windows_are_refused() {
        assert!(matches!(
            Window::plain([5, 1], [1, 1]).output([4, 4]),
            Err(OpError::WindowTooLarge { axis: 0, reach: 5, padded: 4 })
        ));
        assert!(Window::plain([1, 1], [0, 1]).output([4, 4]).is_err());
        assert!(Window::plain([usize::MAX, 1], [1, 1]).output([4, 4]).is_err());
        let pads = [usize::MAX, 0, usize::MAX, 0];
        assert!(Window { pads, ..Window::plain([1, 1], [1, 1]) }.output([4, 4]).is_err());
    }
}
