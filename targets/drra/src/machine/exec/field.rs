//! [`FieldWord`]: element of a prime field in place of a word.
//!
//! It represents the integer that the word would be without rounding. If the sum with the constant
//! of a limiting step saturates, the result is the limit. For the sums of a limit, the range of the
//! integer is tracked: what saturates on the first sum does not saturate on the second.

use npukit_graph::Op;
use npukit_graph::field::key;
use npukit_graph::op::{Unary, UnaryKind};
use npukit_numeric::Element;

use super::nacu::FRACTION_BITS;
use super::word::Word;
use crate::isa::op::DpuMode;
use crate::machine::exec::amount;

/// Fraction bits of functions.
const FUNCTION_BITS: i32 = FRACTION_BITS as i32;

/// Field element, and the known range of the word it replaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldWord {
    /// The integer without rounding, as an element.
    pub element: Element,
    /// Lower bound of the word.
    low: i16,
    /// Upper bound of the word.
    high: i16,
    /// Whether it is a constant with which sums saturate on purpose.
    limits: bool,
}

impl Default for FieldWord {
    fn default() -> Self {
        Self::constant(0)
    }
}

impl FieldWord {
    /// Creates a word with an unknown range.
    pub const fn any(element: Element) -> Self {
        Self { element, low: i16::MIN, high: i16::MAX, limits: false }
    }

    /// Returns the integer if the range has a single value.
    fn known(self) -> Option<i16> {
        (self.low == self.high).then_some(self.low)
    }

    /// Returns an element that depends on the words only through a hash.
    fn opaque(name: &str, words: &[Self]) -> Self {
        Self::any(Element::hashed(key(name), words.iter().map(|word| word.element)))
    }

    /// Returns the sum with a limiting constant.
    fn limited(self, constant: i16) -> Self {
        let (integer, c) = (|integer: i32| Element::from_integer(integer.into()), i32::from(constant));
        let mut element = self.element;
        if i32::from(self.low) + c < i16::MIN.into() {
            element = element.max(integer(i32::from(i16::MIN) - c));
        }
        if i32::from(self.high) + c > i16::MAX.into() {
            element = element.min(integer(i32::from(i16::MAX) - c));
        }
        let (low, high) = (self.low.saturating_add(constant), self.high.saturating_add(constant));
        Self { element: element + integer(c), low, high, limits: false }
    }
}

/// Returns the element of a graph function, which is a hash of the argument.
pub fn function(kind: UnaryKind, argument: Element) -> Element {
    Element::hashed(key(&Op::from(Unary { kind }).to_string()), [argument])
}

/// Returns a quotient. A division by 0 is a function of its own.
pub fn quotient(dividend: Element, divisor: Element) -> Element {
    match divisor.inverse() {
        Some(inverse) => dividend * inverse,
        None => Element::hashed(key("division by 0"), [dividend]),
    }
}

impl Word for FieldWord {
    type Sum = Self;

    fn garbage(bits: u64) -> Self {
        Self::any(Element::from_bits(bits))
    }
    fn constant(word: i16) -> Self {
        Self { element: Element::from_integer(word.into()), low: word, high: word, limits: false }
    }
    fn limit(word: i16) -> Self {
        Self { limits: true, ..Self::constant(word) }
    }
    fn made(self) -> Self {
        Self::any(self.element)
    }
    fn shifted(self, places: i32) -> Self {
        if places == 0 { self } else { Self::any(self.element.scaled(-places)) }
    }
    fn is_end(self) -> bool {
        false
    }
    fn wide(self) -> Self {
        Self { limits: false, ..self }
    }
    fn narrow(sum: Self, places: u32) -> Self {
        sum.shifted(places as i32)
    }
    fn plus(self, other: Self) -> Self {
        match (self, other) {
            (word, constant) | (constant, word) if constant.limits && !word.limits => {
                word.limited(constant.low)
            }
            _ => Self::any(self.element + other.element),
        }
    }
    fn minus(self, other: Self) -> Self {
        Self::any(self.element - other.element)
    }
    fn distance(self, other: Self) -> Self {
        Self::any((self.element - other.element).abs())
    }
    fn times(self, other: Self, fraction_bits: u32) -> Self {
        Self::any((self.element * other.element).scaled(-(fraction_bits as i32)))
    }
    fn loaded(self, immediate: i16) -> Self {
        Self::any(self.element.scaled(amount(immediate.into()) as i32))
    }
    /// A shift by an unknown word has no field equivalent: it equals only itself.
    fn shifted_by(self, other: Self, immediate: i16, is_left: bool) -> Self {
        match other.known() {
            Some(word) => {
                let places = amount(i64::from(word) + i64::from(immediate)) as i32;
                self.shifted(if is_left { -places } else { places })
            }
            None => {
                let name = if is_left { "shift to the left" } else { "shift to the right" };
                Self::opaque(name, &[self, other, Self::constant(immediate)])
            }
        }
    }
    /// The end of the range is neutral, as accumulators start with it.
    fn picked(self, other: Self, immediate: i16) -> Self {
        let is_max = immediate & 1 == 0;
        let neutral = Some(if is_max { i16::MIN } else { i16::MAX });
        match is_max {
            _ if self.known() == neutral => other,
            _ if other.known() == neutral => self,
            true => Self::any(self.element.max(other.element)),
            false => Self::any(self.element.min(other.element)),
        }
    }
    fn function(self, mode: DpuMode) -> Self {
        let kind = match mode {
            DpuMode::Sigm => UnaryKind::Sigmoid,
            DpuMode::Tanhyp => UnaryKind::Tanh,
            _ => UnaryKind::Exp,
        };
        Self::any(function(kind, self.element.scaled(-FUNCTION_BITS)).scaled(FUNCTION_BITS))
    }
    /// Maximum of both, or the minimum if the slope is more than 1.
    fn leaky(self, slope: i16) -> Self {
        let sloped = self.times(Self::constant(slope), FRACTION_BITS).element;
        let is_below = slope <= 1 << FRACTION_BITS;
        Self::any(if is_below { self.element.max(sloped) } else { self.element.min(sloped) })
    }
    fn quotient(dividend: Self, divisor: Self) -> Self {
        Self::any(quotient(dividend.element, divisor.element).scaled(FUNCTION_BITS))
    }
    fn scaled(self, immediate: i16, is_up: bool) -> Self {
        let places = amount(immediate.into()) as i32;
        self.shifted(if is_up { -places } else { places })
    }
    fn mac(sum: Self, [a, b]: [Self; 2], fraction_bits: u32) -> (Self, bool) {
        (Self::any(sum.element + a.times(b, fraction_bits).element), false)
    }
    fn added(sum: Self, [a, b]: [Self; 2], _bits: u32) -> (Self, bool) {
        (Self::any(sum.element + a.element + b.element), false)
    }
    fn exact_mac(sum: Self, factors: [Self; 2], _bits: u32) -> (Self, bool) {
        Self::mac(sum, factors, 0)
    }
}
