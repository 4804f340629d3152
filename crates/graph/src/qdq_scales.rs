//! [`QdqScales`]: integer representation of float values that the model itself specifies.
//!
//! QuantizeLinear and DequantizeLinear specify it for weights and activations. A graph keeps it in
//! [`Graph::scales`](crate::Graph::scales), so that it survives constant folding and data
//! movements.

use npukit_numeric::ElementType;

/// Quantization parameters: an integer `q` of type `element` represents `(q - zero point) * scale`.
#[derive(Clone, Debug, PartialEq)]
pub struct QdqScales {
    /// Name of the integer tensor in the model.
    pub name: String,
    /// Smallest and largest scale of the tensor; they differ for per-channel scales.
    pub scales: [f32; 2],
    /// Smallest and largest zero point.
    pub zero_points: [i64; 2],
    /// Type of the quantized elements.
    pub element: ElementType,
}

impl QdqScales {
    /// Whether the integers of both represent the same numbers.
    pub fn is_alike(&self, other: &Self) -> bool {
        (self.scales, self.zero_points, self.element) == (other.scales, other.zero_points, other.element)
    }

    /// Whether all elements have the same scale and zero point.
    pub fn is_uniform(&self) -> bool {
        self.scales[0] == self.scales[1] && self.zero_points[0] == self.zero_points[1]
    }

    /// Returns the fraction length if there is one scale and it is a power of two.
    pub fn fraction(&self) -> Option<i32> {
        let [least, largest] = self.scales.map(f64::from);
        let fraction = -least.log2().round();
        (least == largest && (-fraction).exp2() == least).then_some(fraction as i32)
    }

    /// Returns the smallest and the largest real number that the integers represent.
    pub fn range(&self) -> [f64; 2] {
        let (least, largest) = self.element.integer_range().expect("`QdqScales::of` accepts only integers");
        let scale = f64::from(self.scales[1]);
        let real = |integer: i64, zero: i64| integer.saturating_sub(zero) as f64 * scale;
        [real(least, self.zero_points[1]), real(largest, self.zero_points[0])]
    }

    /// Whether no integer represents a number below zero.
    pub fn is_rectified(&self) -> bool {
        self.range()[0] == 0.0
    }
}

/// Formats as `scale 0.02 (uint8, zero point 3)`.
impl std::fmt::Display for QdqScales {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { scales: [least, largest], zero_points: [first, last], element, .. } = self;
        match least == largest {
            true => write!(f, "scale {least} ({element}")?,
            false => write!(f, "scales {least} to {largest} per channel ({element}")?,
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
        assert_eq!(text, "scales 0.5 to 2 per channel (uint8, zero point 3)");
    }
}
