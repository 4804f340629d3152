//! [`Loss`]: quantization error of a tensor.

use npukit_numeric::{Quantized, Tensor, quantized};

use super::mask::is_mask;
use super::{Quantization, Scheme};
use crate::ir::{Graph, ValueId};
use crate::observe::{Observations, Statistic};

/// Quantization error of each value over samples, each value separately: the values come from the
/// float network.
pub type Losses = Observations<Loss>;

/// Quantization error of a tensor. For a tensor that is not quantized, it only has the range.
#[derive(Clone, Debug, PartialEq)]
pub struct Loss {
    /// Quantization of the tensor: scheme, fraction length and bits; `None` if it is not quantized.
    held: Option<(Scheme, i32, u32)>,
    /// Whether elements outside the integer range are masks.
    is_masked: bool,
    minimum: f32,
    maximum: f32,
    elements: u64,
    saturated: u64,
    /// Number of nonzero elements whose integer is 0.
    underflowed: u64,
    /// Largest magnitude of an integer.
    largest_integer: u64,
    /// Sums of squares of the elements and of their errors.
    squares: [f64; 2],
}

impl Loss {
    /// Creates an empty measurement of value `id`.
    pub fn new(quantization: &Quantization, id: ValueId) -> Self {
        let held = quantization.fraction(id).zip(quantization.bits(id));
        let held = held.map(|(fraction, bits)| (quantization.scheme.clone(), fraction, bits));
        let is_masked = quantization.is_masked(id);
        let (minimum, maximum) = (f32::INFINITY, f32::NEG_INFINITY);
        Self {
            held,
            is_masked,
            minimum,
            maximum,
            elements: 0,
            saturated: 0,
            underflowed: 0,
            largest_integer: 0,
            squares: [0.0; 2],
        }
    }

    /// Returns the smallest finite element; 0 without elements.
    pub fn minimum(&self) -> f32 {
        if self.elements == 0 { 0.0 } else { self.minimum }
    }

    /// Returns the largest finite element; 0 without elements.
    pub fn maximum(&self) -> f32 {
        if self.elements == 0 { 0.0 } else { self.maximum }
    }

    /// Returns the fraction of elements that saturate, 0 to 1.
    pub fn saturated(&self) -> f64 {
        self.saturated as f64 / self.elements.max(1) as f64
    }

    /// Returns the fraction of elements that are nonzero but have integer 0, 0 to 1.
    pub fn underflowed(&self) -> f64 {
        self.underflowed as f64 / self.elements.max(1) as f64
    }

    /// Returns the bits that the observed integers need, including the sign; 0 if all are 0.
    pub fn bits_used(&self) -> u32 {
        match self.largest_integer {
            0 => 0,
            integer => u64::BITS - integer.leading_zeros() + 1,
        }
    }

    /// Returns the root mean square error divided by the root mean square of the elements; 0
    /// without errors.
    pub fn relative(&self) -> f64 {
        let [signal, noise] = self.squares;
        if noise == 0.0 { 0.0 } else { (noise / signal).sqrt() }
    }

    /// Returns the signal-to-noise ratio in decibels; `None` without errors.
    pub fn decibels(&self) -> Option<f64> {
        let [signal, noise] = self.squares;
        (noise > 0.0).then(|| 10.0 * (signal / noise).log10())
    }

    /// Whether an element is a mask because it is outside the integer range.
    fn is_left_out(&self, x: f32) -> bool {
        let held = self.held.as_ref().filter(|_| self.is_masked);
        held.is_some_and(|(scheme, fraction, bits)| scheme.saturates(x.into(), *fraction, *bits))
    }

    /// Adds an element; `step` is the value of integer 1.
    fn note_one(&mut self, x: f32, step: f64) {
        if !x.is_finite() || is_mask(x) || self.is_left_out(x) {
            return;
        }
        (self.minimum, self.maximum) = (self.minimum.min(x), self.maximum.max(x));
        self.elements += 1;
        if let Some((scheme, fraction, bits)) = &self.held {
            let x = f64::from(x);
            let Quantized { value, is_saturated } = quantized(x, *fraction, *bits, scheme.rounding);
            self.saturated += u64::from(is_saturated);
            self.underflowed += u64::from(x != 0.0 && value == 0.0);
            self.largest_integer = self.largest_integer.max(value.abs() as u64);
            let error = x - value * step;
            self.squares[0] += x * x;
            self.squares[1] += error * error;
        }
    }
}

impl Statistic for Loss {
    fn note(&mut self, tensor: &Tensor) {
        let step = self.held.as_ref().map_or(1.0, |(_, fraction, _)| 2f64.powi(-fraction));
        // Default: integers are not quantized, and have no error.
        tensor.as_f32().unwrap_or_default().iter().for_each(|&x| self.note_one(x, step));
    }

    fn merge(&mut self, other: &Self) {
        (self.minimum, self.maximum) = (self.minimum.min(other.minimum), self.maximum.max(other.maximum));
        self.elements += other.elements;
        self.saturated += other.saturated;
        self.underflowed += other.underflowed;
        self.largest_integer = self.largest_integer.max(other.largest_integer);
        self.squares.iter_mut().zip(other.squares).for_each(|(mine, theirs)| *mine += theirs);
    }
}

impl Losses {
    /// Creates empty measurements.
    pub fn of(graph: &Graph, quantization: &Quantization) -> Self {
        Self::with(graph, |id| Loss::new(quantization, id))
    }

    /// Adds the quantized constants, which samples do not include.
    pub fn note_constants(&mut self, graph: &Graph, quantization: &Quantization) {
        let ids = (0..graph.values.len() as u32).map(ValueId);
        for id in ids.filter(|&id| quantization.fraction(id).is_some()) {
            if let Some(constant) = graph.constant(id) {
                self.note(id, constant);
            }
        }
    }
}
