//! The prime field of 2^61 - 1: [`Element`], in which programs are compared with networks.
//!
//! Sums and products of a fixed machine, without rounding and saturation, are those of rational numbers whose
//! denominators are powers of two. Each has an image in the field, and two polynomials that agree there at random
//! points are the same one but with a probability of at most their degree over 2^61.
//!
//! What is not a polynomial is a function of elements that keeps laws by which compilers rearrange it. [`Element::relu`] and
//! what is made of it (maxima, minima, magnitudes) never hide an argument, and keep powers of two. [`Element::order`] is a total order that negation
//! turns around, for comparisons; signs stay the same under multiplication by powers of two. [`Element::hashed`] is a
//! function that nothing is known of but its arguments.

mod factors;

use std::cmp::Ordering;
use std::fmt;
use std::ops::{Add, AddAssign, Mul, Neg, Sub};

use crate::split_mix::mixed;

pub use factors::Factors;

/// Bits of an element; the prime is one less than two to this power, so that a multiplication by two is a rotation.
pub(crate) const BITS: u32 = 61;
/// The prime.
pub(crate) const PRIME: u64 = (1 << BITS) - 1;
/// The key of the factors of [`Element::relu`].
const RELU: u64 = 0x7265_6c75;
/// What elements are multiplied by before they are ordered: nothing is known of its multiples.
const KEY: Element = Element(0x1234_5a5c_93e7_0b6d);

/// An element of the field of 2^61 - 1.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Element(u64);

impl Element {
    /// 0.
    pub const ZERO: Self = Self(0);
    /// 1.
    pub const ONE: Self = Self(1);
    /// What the field is called in certificates.
    pub const FIELD: &'static str = "2^61 - 1";

    /// The element of any 64 bits, all elements as likely as each other but for 2^-58.
    pub const fn from_bits(bits: u64) -> Self {
        Self::folded(bits)
    }

    /// Its representative from 0 to the prime less one.
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// The image of an integer.
    pub const fn from_integer(integer: i64) -> Self {
        let magnitude = Self::folded(integer.unsigned_abs());
        if integer < 0 { magnitude.negated() } else { magnitude }
    }

    /// The image of `integer / 2^point`.
    pub const fn from_fixed(integer: i64, point: i32) -> Self {
        Self::from_integer(integer).scaled(-point)
    }

    /// The image of a finite float, exactly; none of another.
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

    /// Times two to the power `exponent`: a rotation.
    #[must_use]
    pub const fn scaled(self, exponent: i32) -> Self {
        let left = exponent.rem_euclid(BITS as i32) as u32;
        if left == 0 {
            return self;
        }
        Self((self.0 << left | self.0 >> (BITS - left)) & PRIME)
    }

    /// The element that gives 1 with this one; none for 0.
    pub fn inverse(self) -> Option<Self> {
        if self == Self::ZERO {
            return None;
        }
        // The power of the prime less two.
        let mut power = Self::ONE;
        for bit in (0..BITS).rev() {
            power = power * power;
            if (PRIME - 2) >> bit & 1 == 1 {
                power = power * self;
            }
        }
        Some(power)
    }

    /// Larger than 0 in the order of [`Self::order`]. Of an element and its negative one is, unless they are 0.
    pub fn is_positive(self) -> bool {
        self.keyed().has_most_bits()
    }

    /// What the order goes by: numbers of a machine have few bits, and would all be at the same end.
    #[inline(always)]
    fn keyed(self) -> Self {
        self * KEY
    }

    /// The negative has the other bits: of 61 the majority is on one side.
    #[inline(always)]
    const fn has_most_bits(self) -> bool {
        self.0.count_ones() > BITS / 2
    }

    /// A total order that has nothing to do with the order of numbers, and that negation turns around.
    ///
    /// It is that of the elements times a key: by sign, then by the number of bits, then by the smallest rotation. A
    /// multiplication of both sides by a power of two keeps it but between elements that are multiples of each other by
    /// powers of two.
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

    /// Where it comes among elements of as many bits.
    fn place(self) -> (u64, u64) {
        let rotations = (0..BITS as i32).map(|exponent| self.scaled(exponent).0);
        (rotations.min().unwrap_or(self.0), self.0) // Default: there are rotations.
    }

    /// What stands for `max(x, 0)`: the element times a factor that nothing is known of but that those of an element and
    /// its negative are 1 together. So `relu(x) - relu(-x)` is `x`, as for numbers.
    ///
    /// The factor of an element is that of its multiples by powers of two, so that a machine may hold values in any unit.
    /// The result is not 0, as numbers are below 0: what is multiplied by it later would not be seen.
    #[must_use]
    pub fn relu(self) -> Self {
        let own = self.without_powers_of_two();
        let negative = -own;
        let factor = Self::hashed(RELU, [Self(own.0.min(negative.0))]);
        self * if own.0 <= negative.0 { factor } else { Self::ONE - factor }
    }

    /// The same for all multiples of an element by powers of two, and for no other: the 61st power, as that of 2 is 1. That
    /// of the negative is the negative one.
    #[inline(always)]
    fn without_powers_of_two(self) -> Self {
        let third = self * self * self;
        let sixth = third * third;
        let fifteenth = sixth * sixth * third;
        let thirtieth = fifteenth * fifteenth;
        thirtieth * thirtieth * self
    }

    /// What stands for the larger of two: `other + relu(self - other)`.
    ///
    /// It is commutative and idempotent, and what is added to both is added to it. It is not associative: the larger of
    /// several has to be taken in the same order on both sides of a comparison.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        other + (self - other).relu()
    }

    /// What stands for the smaller of two: their sum without [`Self::max`].
    #[must_use]
    pub fn min(self, other: Self) -> Self {
        self - (self - other).relu()
    }

    /// What stands for the magnitude: `relu(x) + relu(-x)`.
    #[must_use]
    pub fn abs(self) -> Self {
        self.relu() + (-self).relu()
    }

    /// An element that depends on `key` and `arguments` and on nothing else, and looks like a random one.
    pub fn hashed(key: u64, arguments: impl IntoIterator<Item = Self>) -> Self {
        let step = |state: u64, argument: Self| mixed(state ^ argument.0).wrapping_add(0x9e37_79b9_7f4a_7c15);
        Self::folded(mixed(arguments.into_iter().fold(mixed(key), step)))
    }

    /// Elements that depend on `seed` and look random.
    pub fn random(seed: u64) -> impl Iterator<Item = Self> {
        (0u64..).map(move |index| Self::hashed(seed, [Self::folded(index)]))
    }

    const fn folded(bits: u64) -> Self {
        Self::of_sum((bits & PRIME) + (bits >> BITS))
    }

    /// Of a number below twice the prime.
    #[inline(always)]
    pub(crate) const fn of_sum(sum: u64) -> Self {
        // As signed numbers, which vectors of old processors compare.
        Self(if sum as i64 >= PRIME as i64 { sum - PRIME } else { sum })
    }

    const fn negated(self) -> Self {
        // All bits are those of 0, too.
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

/// A sum of products that is brought back to the field at its end.
#[derive(Clone, Copy, Debug, Default)]
pub struct Products(u128);

impl Products {
    /// Products that a sum of them takes at once.
    const ROOM: usize = 32;

    /// The same and `left * right`; at most 32 times without [`Self::sum`].
    #[inline(always)]
    #[must_use]
    fn plus(self, left: Element, right: Element) -> Self {
        Self(self.0 + u128::from(left.0) * u128::from(right.0))
    }

    /// The sum.
    #[inline(always)]
    fn sum(self) -> Element {
        let (low, middle) = (self.0 as u64 & PRIME, (self.0 >> BITS) as u64 & PRIME);
        let high = (self.0 >> (2 * BITS)) as u64;
        Element::folded(low + middle + high)
    }

    /// The sum of the products of the elements of `left` and `right`, one of each.
    #[inline]
    pub fn of(left: &[Element], right: &[Element]) -> Element {
        let (left, left_rest) = left.as_chunks::<{ Self::ROOM }>();
        let (right, right_rest) = right.as_chunks::<{ Self::ROOM }>();
        let rest = left_rest.iter().zip(right_rest).fold(Self::default(), |sum, (&l, &r)| sum.plus(l, r));
        left.iter().zip(right).fold(rest.sum(), |sum, (left, right)| sum + Self::of_room(left, right))
    }

    /// The sum of the products of pairs, wherever they are.
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

    /// As [`Self::of`]; sums that do not wait for each other.
    #[inline(always)]
    fn of_room(left: &[Element; Self::ROOM], right: &[Element; Self::ROOM]) -> Element {
        let mut sums = [Self::default(); 4];
        for i in (0..Self::ROOM).step_by(sums.len()) {
            for (k, sum) in sums.iter_mut().enumerate() {
                *sum = sum.plus(left[i + k], right[i + k]);
            }
        }
        // As many products as there is room for.
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

    /// Judged by integers of 128 bits and the remainder.
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

    /// The laws that the module's documentation names.
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
        // Factors are others where more than a power of two is between.
        let triple = Element::from_integer(3);
        assert!(Element::random(2).take(1000).all(|x| (triple * x).relu() != triple * x.relu()));
    }
}
