//! [`QdqScales`]: what a model itself says of how floats are held as integers.
//!
//! Models with QuantizeLinear and DequantizeLinear say so of weights and activations. A graph keeps it in
//! [`Graph::scales`](crate::Graph::scales), so that it is not lost when constants are computed and elements change places.

use npukit_numeric::ElementType;

/// An integer `q` of type `element` stands for `(q - zero point) * scale`.
#[derive(Clone, Debug, PartialEq)]
pub struct QdqScales {
    /// What the model calls the integers.
    pub name: String,
    /// The least and the largest of the tensor's scales, which differ when channels have their own.
    pub scales: [f32; 2],
    /// The least and the largest of its zero points.
    pub zero_points: [i64; 2],
    /// Type of the quantised elements.
    pub element: ElementType,
}

impl QdqScales {
    /// Whether the integers of both stand for the same numbers.
    pub fn is_alike(&self, other: &Self) -> bool {
        (self.scales, self.zero_points, self.element) == (other.scales, other.zero_points, other.element)
    }

    /// Whether all elements have one scale and one zero point.
    pub fn is_uniform(&self) -> bool {
        self.scales[0] == self.scales[1] && self.zero_points[0] == self.zero_points[1]
    }

    /// The fraction length, where there is one scale and it is a power of two.
    pub fn fraction(&self) -> Option<i32> {
        let [least, largest] = self.scales.map(f64::from);
        let fraction = -least.log2().round();
        (least == largest && (-fraction).exp2() == least).then_some(fraction as i32)
    }

    /// The least and the largest real number that the integers stand for.
    pub fn range(&self) -> [f64; 2] {
        let (least, largest) = self.element.integer_range().expect("`QdqScales::of` is about integers");
        let scale = f64::from(self.scales[1]);
        let real = |integer: i64, zero: i64| integer.saturating_sub(zero) as f64 * scale;
        [real(least, self.zero_points[1]), real(largest, self.zero_points[0])]
    }

    /// Whether no integer stands for a number below zero.
    pub fn is_rectified(&self) -> bool {
        self.range()[0] == 0.0
    }
}

/// `scale 0.02 (uint8, zero point 3)`.
impl std::fmt::Display for QdqScales {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { scales: [least, largest], zero_points: [first, last], element, .. } = self;
        match least == largest {
            true => write!(f, "scale {least} ({element}")?,
            false => write!(f, "scales {least} to {largest} by channel ({element}")?,
        }
        match first == last {
            true => write!(f, ", zero point {first})"),
            false => write!(f, ", zero points {first} to {last})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stated(scales: [f32; 2], zero_point: i64, element: ElementType) -> QdqScales {
        QdqScales { name: "q".to_owned(), scales, zero_points: [zero_point; 2], element }
    }

    #[test]
    fn powers_of_two_are_fraction_lengths() {
        for (scale, expected) in [
            (1.0, Some(0)),
            (0.25, Some(2)),
            (8.0, Some(-3)),
            (0.3, None),
            (0.25 + 1e-7, None),
            (1e-40, None),
        ] {
            assert_eq!(stated([scale; 2], 0, ElementType::I8).fraction(), expected, "{scale}");
        }
        assert_eq!(stated([0.25, 0.5], 0, ElementType::I8).fraction(), None);
    }

    #[test]
    fn zero_points_move_the_range() {
        assert_eq!(stated([0.5; 2], 0, ElementType::I8).range(), [-64.0, 63.5]);
        assert_eq!(stated([0.5; 2], -128, ElementType::I8).range(), [0.0, 127.5]);
        assert!(stated([0.5; 2], 0, ElementType::U8).is_rectified());
        assert!(!stated([0.5; 2], 128, ElementType::U8).is_rectified());
        let text = stated([0.5, 2.0], 3, ElementType::U8).to_string();
        assert_eq!(text, "scales 0.5 to 2 by channel (uint8, zero point 3)");
    }
}
