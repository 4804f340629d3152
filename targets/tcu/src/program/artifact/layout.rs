//! Conversion of the model's tensors to and from vectors of the machine (specification 6.3).

use npukit_numeric::NumberFormat;

use crate::program::Layout;

/// Vectors packed from real values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packed {
    /// Raw scalars, in whole vectors.
    pub raw: Vec<i32>,
    /// Number of values that saturated in the number format.
    pub saturated: u64,
}

/// Converts real values by the compiler's rule, `sat(floor(x * 2^bp + 1/2))`, and counts those
/// outside the format's range. NaN becomes 0 and is counted.
pub fn quantize(format: NumberFormat, values: &[f32]) -> Packed {
    let raw = values.iter().map(|&value| format.raw_from_f32(value)).collect();
    let saturated = values.iter().filter(|&&value| does_not_fit(format, value)).count() as u64;
    Packed { raw, saturated }
}

fn does_not_fit(format: NumberFormat, value: f32) -> bool {
    let NumberFormat::Fixed(fixed) = format else {
        return false;
    };
    let rounded = (f64::from(value) * fixed.one() as f64 + 0.5).floor();
    !(fixed.min() as f64..=fixed.max() as f64).contains(&rounded)
}

impl Layout {
    /// Returns the number of scalars of the tensor; `None` if it exceeds any memory.
    pub fn scalars(&self) -> Option<usize> {
        self.model_shape.iter().try_fold(1usize, |n, &d| n.checked_mul(d))
    }

    /// Returns the number of vectors of `lanes` scalars that the tensor occupies.
    ///
    /// `None` if the layout contradicts itself: `perm` is not a permutation of the axes, or
    /// `channels` does not divide the number of scalars.
    pub fn vectors(&self, lanes: usize) -> Option<usize> {
        let mut axes = self.perm.clone();
        axes.sort_unstable();
        let is_permutation =
            axes.len() == self.model_shape.len() && axes.iter().enumerate().all(|(i, &a)| i == a);
        let scalars = self.scalars()?;
        if !is_permutation || self.channels == 0 || !scalars.is_multiple_of(self.channels) || lanes == 0 {
            return None;
        }
        (scalars / self.channels).checked_mul(self.channels.div_ceil(lanes))
    }

    /// Packs scalars from the model's order into vectors; unused lanes are zero.
    ///
    /// `None` if the number of scalars is not [`Layout::scalars`], or if [`Layout::vectors`] is
    /// `None`.
    pub fn pack<T: Clone + Default>(&self, raw: &[T], lanes: usize) -> Option<Vec<T>> {
        let vectors = self.vectors(lanes)?;
        if self.scalars()? != raw.len() {
            return None;
        }
        let mut packed = Vec::with_capacity(vectors.checked_mul(lanes)?);
        let ordered: Vec<T> = self.order().into_iter().map(|i| raw[i].clone()).collect();
        for group in ordered.chunks(self.channels) {
            packed.extend_from_slice(group);
            packed.resize(packed.len().next_multiple_of(lanes), T::default());
        }
        Some(packed)
    }

    /// Unpacks scalars from vectors into the model's order.
    ///
    /// `None` if the number of vectors is not [`Layout::vectors`].
    pub fn unpack<T: Clone + Default>(&self, packed: &[T], lanes: usize) -> Option<Vec<T>> {
        if self.vectors(lanes)?.checked_mul(lanes)? != packed.len() {
            return None;
        }
        let stride = self.channels.next_multiple_of(lanes);
        let mut raw = vec![T::default(); self.scalars()?];
        let ordered = packed.chunks(stride).flat_map(|group| &group[..self.channels]);
        for (place, value) in self.order().into_iter().zip(ordered) {
            raw[place] = value.clone();
        }
        Some(raw)
    }

    /// Returns the index in the model's tensor of each scalar of the packed tensor.
    fn order(&self) -> Vec<usize> {
        let mut strides = vec![1usize; self.model_shape.len()];
        for axis in (1..self.model_shape.len()).rev() {
            strides[axis - 1] = strides[axis] * self.model_shape[axis];
        }
        let mut order = vec![0usize];
        for &axis in &self.perm {
            let steps = 0..self.model_shape[axis];
            order = order
                .iter()
                .flat_map(|&o| steps.clone().map(move |i| (o, i)))
                .map(|(o, i)| o + i * strides[axis])
                .collect();
        }
        order
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::config::DataType;

    fn nchw() -> Layout {
        Layout { model_shape: vec![1, 3, 2, 2], perm: vec![0, 2, 3, 1], channels: 3, exponent: 0 }
    }

    #[test]
    fn channels_become_lanes() {
        let raw: Vec<i32> = (0..12).collect();
        let packed = nchw().pack(&raw, 2).unwrap();
        assert_eq!(packed, [0, 4, 8, 0, 1, 5, 9, 0, 2, 6, 10, 0, 3, 7, 11, 0]);
        assert_eq!(nchw().unpack(&packed, 2).unwrap(), raw);
    }

    #[test]
    fn a_layout_that_contradicts_itself_is_refused() {
        assert_eq!(Layout { perm: vec![0, 2, 2, 1], ..nchw() }.vectors(4), None);
        assert_eq!(Layout { channels: 5, ..nchw() }.vectors(4), None);
        assert_eq!(Layout { model_shape: vec![usize::MAX; 4], ..nchw() }.vectors(4), None);
        assert_eq!(nchw().pack(&[0; 11], 4), None);
        assert_eq!(nchw().unpack(&[0; 12], 4), None);
    }

    #[test]
    fn values_out_of_range_are_counted() {
        let format = DataType::Fp16Bp8.format();
        let packed = quantize(format, &[1.0, 200.0, -128.0, -129.0, f32::NAN, 127.998, 127.999]);
        assert_eq!(packed.raw, [256, 32767, -32768, -32768, 0, 32767, 32767]);
        assert_eq!(packed.saturated, 4);
    }
}
