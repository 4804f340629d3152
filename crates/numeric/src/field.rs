//! The prime field of 2^61 - 1: [`Element`], in which programs are compared with networks.
//!
//! Sums and products of a fixed-point machine, without rounding and saturation, equal sums and
//! products of rational numbers with powers of two as denominators. Each such number has an image
//! in the field.
//! Two polynomials that agree at random points of the field are equal, except with a probability of
//! at most their degree over 2^61.
//!
//! Other operations are functions of elements that keep the laws by which compilers rearrange them.
//!
//! - [`Element::relu`] and the functions derived from it (maxima, minima, magnitudes) depend on all
//!   arguments, and commute with multiplication by powers of two.
//! - [`Element::order`] is a total order for comparisons that negation reverses. Signs do not
//!   change under multiplication by powers of two.
//! - [`Element::hashed`] is a function without any law except that equal arguments have equal
//!   results.

mod factors;

use std::cmp::Ordering;
use std::fmt;
use std::ops::{Add, AddAssign, Mul, Neg, Sub};

use crate::split_mix::mixed;

pub use factors::Factors;

/// Bits of an element. The prime is two to this power minus one, so a multiplication by two is a
/// rotation.
pub(crate) const BITS: u32 = 61;
/// The prime, 2^61 - 1.
pub(crate) const PRIME: u64 = (1 << BITS) - 1;
/// Hash key of the factors of [`Element::relu`].
const RELU: u64 = 0x7265_6c75;
/// Factor of elements before they are ordered, which makes the order look random.
const KEY: Element = Element(0x1234_5a5c_93e7_0b6d);

/// An element of the field of 2^61 - 1.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Element(u64);

impl Element {
    /// The element 0.
    pub const ZERO: Self = Self(0);
    /// The element 1.
    pub const ONE: Self = Self(1);
    /// Name of the field in certificates.
    pub const FIELD: &'static str = "2^61 - 1";

    /// Returns the element of 64 arbitrary bits; all elements are equally likely up to 2^-58.
    pub const fn from_bits(bits: u64) -> Self {
        Self::folded(bits)
    }

    /// Returns the representative, from 0 to the prime minus one.
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// Returns the image of an integer.
    pub const fn from_integer(integer: i64) -> Self {
        let magnitude = Self::folded(integer.unsigned_abs());
        if integer < 0 { magnitude.negated() } else { magnitude }
    }

    /// Returns the image of `integer / 2^point`.
    pub const fn from_fixed(integer: i64, point: i32) -> Self {
        Self::from_integer(integer).scaled(-point)
    }

    /// Returns the exact image of a finite float; `None` for infinities and NaN.
    pub fn from_f32(value: f32) -> Option<Self> {
        if !value.is_finite() {
            return None;
        }
        let bits = value.to_bits();
        let (fraction, exponent) = (i64::from(bits & 0x7f_ffff), (bits >> 23 & 0xff) as i32);
        let (significand, exponent) =
            if exponent == 0 { (fraction, -149) } else { (fraction | 0x80_0000, exponent - 150) };
        let magnitude = Self::from_fixed(significand, -exponent);
        Some(if value.is_sign_negative() { -magnitude } else { magnitude })
    }

    /// Returns the element times two to the power `exponent`: a rotation.
    #[must_use]
    pub const fn scaled(self, exponent: i32) -> Self {
        let left = exponent.rem_euclid(BITS as i32) as u32;
        if left == 0 {
            return self;
        }
        Self((self.0 << left | self.0 >> (BITS - left)) & PRIME)
    }

    /// Returns the multiplicative inverse; `None` for 0.
    pub fn inverse(self) -> Option<Self> {
        if self == Self::ZERO {
            return None;
        }
        // The power of the prime minus two.
        let mut power = Self::ONE;
        for bit in (0..BITS).rev() {
            power = power * power;
            if (PRIME - 2) >> bit & 1 == 1 {
                power = power * self;
            }
        }
        Some(power)
    }

    /// Whether the element is larger than 0 in the order of [`Self::order`]. Of an element and its
    /// negative, exactly one is positive, unless they are 0.
    pub fn is_positive(self) -> bool {
        self.keyed().has_most_bits()
    }

    /// Returns the key of the order. Numbers of a machine have few bits, and would all be close
    /// together without it.
    #[inline(always)]
    fn keyed(self) -> Self {
        self * KEY
    }

    /// Whether most of the 61 bits are set. The negative has the complementary bits.
    #[inline(always)]
    const fn has_most_bits(self) -> bool {
        self.0.count_ones() > BITS / 2
    }

    /// A total order that is unrelated to the order of numbers, and that negation reverses.
    ///
    /// It compares the elements times a key: by sign, then by the number of bits, then by the
    /// smallest rotation. Multiplying both sides by a power of two keeps the order, except between
    /// elements whose quotient is a power of two.
    pub fn order(self, other: Self) -> Ordering {
        let ones = |element: Self| match element.0.count_ones() as i32 {
            0 => 0,
            ones => 2 * ones - BITS as i32,
        };
        let (left, right) = (self.keyed(), other.keyed());
        ones(left).cmp(&ones(right)).then_with(|| {
            if left.has_most_bits() {
                left.place().cmp(&right.place())
            } else {
                (-right).place().cmp(&(-left).place())
            }
        })
    }

    /// Returns the rank among elements with the same number of bits.
    fn place(self) -> (u64, u64) {
        let rotations = (0..BITS as i32).map(|exponent| self.scaled(exponent).0);
        (rotations.min().unwrap_or(self.0), self.0) // Default: there is always a rotation.
    }

    /// Image of `max(x, 0)`: the element times a pseudorandom factor. The factors of an element and
    /// its negative add up to 1, so `relu(x) - relu(-x)` is `x`, as for numbers.
    ///
    /// The factor does not change under multiplication by powers of two, so that a machine may
    /// store values in any unit. Unlike for negative numbers, the result is never 0, which would
    /// hide later factors.
    #[must_use]
    pub fn relu(self) -> Self {
        let own = self.without_powers_of_two();
        let negative = -own;
        let factor = Self::hashed(RELU, [Self(own.0.min(negative.0))]);
        self * if own.0 <= negative.0 { factor } else { Self::ONE - factor }
    }

    /// Returns a value that is the same for all multiples of an element by powers of two, and for
    /// no other element: the 61st power, as that of 2 is 1. Negation negates it.
    #[inline(always)]
    fn without_powers_of_two(self) -> Self {
        let third = self * self * self;
        let sixth = third * third;
        let fifteenth = sixth * sixth * third;
        let thirtieth = fifteenth * fifteenth;
        thirtieth * thirtieth * self
    }

    /// Image of the maximum of two: `other + relu(self - other)`.
    ///
    /// It is commutative and idempotent, and adding a number to both operands adds it to the
    /// result. It is not associative: both sides of a comparison must take the maximum of several
    /// values in the same order.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        other + (self - other).relu()
    }

    /// Image of the minimum of two: their sum minus [`Self::max`].
    #[must_use]
    pub fn min(self, other: Self) -> Self {
        self - (self - other).relu()
    }

    /// Image of the magnitude: `relu(x) + relu(-x)`.
    #[must_use]
    pub fn abs(self) -> Self {
        self.relu() + (-self).relu()
    }

    /// Returns a pseudorandom element that depends only on `key` and `arguments`.
    pub fn hashed(key: u64, arguments: impl IntoIterator<Item = Self>) -> Self {
        let step = |state: u64, argument: Self| mixed(state ^ argument.0).wrapping_add(0x9e37_79b9_7f4a_7c15);
        Self::folded(mixed(arguments.into_iter().fold(mixed(key), step)))
    }

    /// Returns pseudorandom elements that depend only on `seed`.
    pub fn random(seed: u64) -> impl Iterator<Item = Self> {
        (0u64..).map(move |index| Self::hashed(seed, [Self::folded(index)]))
    }

    const fn folded(bits: u64) -> Self {
        Self::of_sum((bits & PRIME) + (bits >> BITS))
    }

    /// Reduces a number below twice the prime.
    #[inline(always)]
    pub(crate) const fn of_sum(sum: u64) -> Self {
        // Compared as signed numbers, as the vector units of old processors do.
        Self(if sum as i64 >= PRIME as i64 { sum - PRIME } else { sum })
    }

    const fn negated(self) -> Self {
        // The pattern with all bits set also represents 0.
        Self(if self.0 == 0 { 0 } else { PRIME ^ self.0 })
    }
}

impl fmt::Debug for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

impl Add for Element {
    type Output = Self;

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self::of_sum(self.0 + other.0)
    }
}

impl AddAssign for Element {
    #[inline(always)]
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Neg for Element {
    type Output = Self;

    #[inline(always)]
    fn neg(self) -> Self {
        self.negated()
    }
}

impl Sub for Element {
    type Output = Self;

    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        self + -other
    }
}

impl Mul for Element {
    type Output = Self;

    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        let product = u128::from(self.0) * u128::from(other.0);
        Self::of_sum((product as u64 & PRIME) + (product >> BITS) as u64)
    }
}

impl std::iter::Sum for Element {
    fn sum<I: Iterator<Item = Self>>(elements: I) -> Self {
        elements.fold(Self::ZERO, Add::add)
    }
}

/// Unreduced sum of products; `sum` reduces it modulo the prime once.
#[derive(Clone, Copy, Debug, Default)]
pub struct Products(u128);

impl Products {
    /// Number of products that a sum holds before a reduction.
    const ROOM: usize = 32;

    /// Adds `left * right`; at most 32 times without [`Self::sum`].
    #[inline(always)]
    #[must_use]
    fn plus(self, left: Element, right: Element) -> Self {
        Self(self.0 + u128::from(left.0) * u128::from(right.0))
    }

    /// Returns the reduced sum.
    #[inline(always)]
    fn sum(self) -> Element {
        let (low, middle) = (self.0 as u64 & PRIME, (self.0 >> BITS) as u64 & PRIME);
        let high = (self.0 >> (2 * BITS)) as u64;
        Element::folded(low + middle + high)
    }

    /// Returns the dot product of `left` and `right`.
    #[inline]
    pub fn of(left: &[Element], right: &[Element]) -> Element {
        let (left, left_rest) = left.as_chunks::<{ Self::ROOM }>();
        let (right, right_rest) = right.as_chunks::<{ Self::ROOM }>();
        let rest = left_rest.iter().zip(right_rest).fold(Self::default(), |sum, (&l, &r)| sum.plus(l, r));
        left.iter().zip(right).fold(rest.sum(), |sum, (left, right)| sum + Self::of_room(left, right))
    }

    /// Returns the sum of the products of pairs.
    #[inline]
    pub fn of_pairs(pairs: impl IntoIterator<Item = (Element, Element)>) -> Element {
        let (mut sum, mut all, mut room) = (Self::default(), Element::ZERO, Self::ROOM);
        for (left, right) in pairs {
            if room == 0 {
                all += sum.sum();
                (sum, room) = (Self::default(), Self::ROOM);
            }
            sum = sum.plus(left, right);
            room -= 1;
        }
        all + sum.sum()
    }

    /// Like [`Self::of`], for a full block, with independent partial sums.
    #[inline(always)]
    fn of_room(left: &[Element; Self::ROOM], right: &[Element; Self::ROOM]) -> Element {
        let mut sums = [Self::default(); 4];
        for i in (0..Self::ROOM).step_by(sums.len()) {
            for (k, sum) in sums.iter_mut().enumerate() {
                *sum = sum.plus(left[i + k], right[i + k]);
            }
        }
        // The number of products is exactly the limit.
        Self(sums.iter().map(|sum| sum.0).sum()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples() -> Vec<Element> {
        let known = [0, 1, 2, PRIME - 1, PRIME - 2, 1 << 60].map(Element);
        known.into_iter().chain(Element::random(7).take(200)).collect()
    }

    /// Compared with 128-bit integers and the remainder operation.
    #[test]
    fn sums_and_products_are_those_of_remainders() {
        let prime = u128::from(PRIME);
        for &a in &samples() {
            for &b in &samples() {
                let (x, y) = (u128::from(a.0), u128::from(b.0));
                assert_eq!(u128::from((a + b).0), (x + y) % prime);
                assert_eq!(u128::from((a - b).0), (x + prime - y) % prime);
                assert_eq!(u128::from((a * b).0), x * y % prime);
            }
            assert!(a.inverse().is_none_or(|inverse| a * inverse == Element::ONE));
            assert_eq!(a.scaled(5), a * Element(32));
            assert_eq!(a.scaled(-5).scaled(66), a);
        }
        let elements = samples();
        let reversed: Vec<Element> = elements.iter().rev().copied().collect();
        let products = elements.iter().zip(&reversed).map(|(&a, &b)| a * b);
        assert_eq!(Products::of(&elements, &reversed), products.sum());
        let largest = [Element(PRIME - 1); 1000];
        assert_eq!(Products::of(&largest, &largest), Element(1000));
    }

    #[test]
    fn numbers_have_images() {
        assert_eq!(Element::from_integer(-3) + Element(3), Element::ZERO);
        assert_eq!(Element::from_integer(i64::MIN), -Element::ONE.scaled(63));
        assert_eq!(Element::from_fixed(-3, 8).scaled(8), Element::from_integer(-3));
        for value in [0.0, -0.0, 1.5, -0.1, f32::MAX, f32::MIN_POSITIVE / 8.0, 1e-20] {
            let element = Element::from_f32(value).expect("finite");
            assert_eq!(element + Element::from_f32(-value).expect("finite"), Element::ZERO);
            assert_eq!(Element::from_f32(value / 2.0).expect("finite").scaled(1), element, "{value}");
        }
        assert_eq!(Element::from_f32(-6.0), Some(Element::from_integer(-6)));
        assert_eq!([f32::NAN, f32::INFINITY].map(Element::from_f32), [None, None]);
    }

    /// The laws in the module documentation.
    #[test]
    fn the_order_is_total_and_negation_turns_it_around() {
        let mut sorted = samples();
        sorted.sort_by(|a, b| a.order(*b));
        for (i, &a) in sorted.iter().enumerate() {
            for (j, &b) in sorted.iter().enumerate() {
                assert_eq!(a.order(b), i.cmp(&j), "{a:?} {b:?}");
                assert_eq!((-b).order(-a), a.order(b));
            }
            assert_eq!(a.order(Element::ZERO) == Ordering::Greater, a.is_positive());
            assert_eq!(a.scaled(17).is_positive(), a.is_positive());
        }
        let positive =
            |elements: &mut dyn Iterator<Item = Element>| elements.filter(|x| x.is_positive()).count();
        let random = positive(&mut Element::random(3).take(1000));
        let numbers = positive(&mut (1..=1000).map(|raw| Element::from_fixed(raw, 8)));
        assert!((400..600).contains(&random) && (400..600).contains(&numbers), "{random} {numbers}");
    }

    #[test]
    fn maxima_keep_their_laws_and_hide_nothing() {
        for &a in &samples() {
            assert_eq!(a.relu() - (-a).relu(), a);
            assert_eq!((a.scaled(7).relu(), a.scaled(-9).relu()), (a.relu().scaled(7), a.relu().scaled(-9)));
            assert_eq!((a.max(a), a.min(a), a.max(Element::ZERO), a.abs()), (a, a, a.relu(), (-a).abs()));
            for &b in &samples() {
                assert_eq!((a.max(b), a.min(b)), (b.max(a), b.min(a)));
                assert_eq!(a.max(b) + a.min(b), a + b);
                assert_eq!((a + Element::ONE).max(b + Element::ONE), a.max(b) + Element::ONE);
                assert_eq!((-a).min(-b), -a.max(b));
            }
        }
        assert!(Element::random(1).take(1000).all(|x| x.relu() != Element::ZERO));
        // The factors differ if the quotient is not a power of two.
        let triple = Element::from_integer(3);
        assert!(Element::random(2).take(1000).all(|x| (triple * x).relu() != triple * x.relu()));
    }
}
