//! [`Pooling`]: one vector for a text, from the values of its tokens.

/// Combination of the values of all tokens of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pooling {
    /// Mean of all tokens.
    Mean,
    /// Sum of all tokens, divided by the square root of their number.
    MeanSqrt,
    /// Largest value of each feature.
    Max,
    /// Values of the first token.
    First,
    /// Values of the last token.
    Last,
}

impl Pooling {
    /// Returns the vector of a text, `[hidden]`, for the values of its tokens, `[tokens, hidden]`.
    /// Without tokens, all its features are 0.
    pub fn apply(self, values: &[f32], hidden: usize) -> Vec<f32> {
        let mut tokens = values.chunks_exact(hidden);
        let count = tokens.len() as f64;
        let sum = |feature: usize| -> f64 {
            values.iter().skip(feature).step_by(hidden).map(|&value| f64::from(value)).sum()
        };
        let sums = |divisor: f64| (0..hidden).map(|feature| (sum(feature) / divisor) as f32).collect();
        let zeros = vec![0.0; hidden];
        match self {
            _ if tokens.len() == 0 => zeros,
            Self::Mean => sums(count),
            Self::MeanSqrt => sums(count.sqrt()),
            Self::Max => tokens.fold(vec![f32::NEG_INFINITY; hidden], |largest, token| {
                largest.iter().zip(token).map(|(largest, &value)| largest.max(value)).collect()
            }),
            Self::First => tokens.next().map_or(zeros, <[f32]>::to_vec),
            Self::Last => tokens.next_back().map_or(zeros, <[f32]>::to_vec),
        }
    }
}

/// Divides a vector by its Euclidean length, or by 1e-12 if it is shorter.
pub fn normalize(vector: &mut [f32]) {
    let length = vector.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>().sqrt().max(1e-12);
    vector.iter_mut().for_each(|x| *x = (f64::from(*x) / length) as f32);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn poolings_combine_tokens() {
        let values = [1.0, -2.0, 3.0, 4.0, 5.0, -8.0, 7.0, 2.0];
        for (pooling, expected) in [
            (Pooling::Mean, [4.0, -1.0]),
            (Pooling::MeanSqrt, [8.0, -2.0]),
            (Pooling::Max, [7.0, 4.0]),
            (Pooling::First, [1.0, -2.0]),
            (Pooling::Last, [7.0, 2.0]),
        ] {
            assert_eq!(pooling.apply(&values, 2), expected, "{pooling:?}");
            assert_eq!(pooling.apply(&[], 2), [0.0; 2], "{pooling:?}");
        }
        let mut vector = [3.0, -4.0];
        normalize(&mut vector);
        assert_eq!(vector, [0.6, -0.8]);
        normalize(&mut [0.0; 2]);
    }
}
