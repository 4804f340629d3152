//! [`Format`]: fraction lengths of values, and how a dpu converts from operands to results.
//!
//! A dpu scales products by its fixed number of fraction bits (mode `mac`). With extensions, mode
//! `mac_inter` sums exactly and scales by a constant of its configuration. If the bits lost differ
//! from what the result needs, operands give up fraction bits beforehand: constants at no cost,
//! values by a scaling step.

use std::collections::BTreeMap;

use npukit_graph::op::{Binary, BinaryKind, Op};
use npukit_graph::quantize::{Quantization, Rounding, Scheme};
use npukit_graph::{Graph, ValueId};
use npukit_lower::{Readers, Reject};

use crate::config::column::Column;
use crate::config::fabric::Fabric;
use crate::isa::op::DpuMode;
use crate::machine::exec::word::{fits, integer};
use crate::program::kernels::Work;

/// Bits per word.
const BITS: u32 = 16;
/// Largest shift of `mac_inter`, in bits.
const MAX_SHIFT: i32 = 31;
/// Bits that are taken from a constant before bits are taken from both operands of a product.
const OF_CONSTANTS: i32 = 7;
/// Exponent of the largest word that represents one in the product of an addend: at most
/// `2^MAX_ONE`.
const MAX_ONE: i32 = BITS as i32 - 2;
/// Bits that an operand must keep.
const MIN_BITS: i32 = 4;

/// Fraction lengths of values, and the abilities of the dpus.
#[derive(Clone, Debug)]
pub struct Format<'a> {
    /// Fraction bits that products lose.
    pub fraction_bits: i32,
    /// Whether modes that no source defines may be used.
    pub extensions: bool,
    quantization: Option<&'a Quantization>,
    /// Fraction lengths that differ from the quantization, by value.
    changed: BTreeMap<ValueId, i32>,
}

/// How products become a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Products {
    /// Fraction lengths required of the operands.
    pub operands: [i32; 2],
    /// Fraction bits that a product loses.
    pub shift: i32,
    /// Fraction length of the result; smaller than requested if operands do not have enough bits.
    pub result: i32,
    /// Work of the dpu for a sum of products.
    pub sum: Work,
    /// Work of the dpu for a single product.
    pub single: Work,
}

/// Quantization scheme of a fabric.
///
/// Sums of mode `mac` saturate after every product, so activations keep a spare bit for
/// intermediate sums.
pub fn scheme(fabric: &Fabric) -> Scheme {
    let activations = if fabric.options.extensions { BITS } else { BITS - 1 };
    let (weights, biases, partial_sums) = (BITS, BITS, activations);
    // Operands and results are shifted to compensate for shifts that dpus cannot do.
    let shifts = -MAX_SHIFT..=MAX_SHIFT;
    Scheme { activations, weights, biases, partial_sums, shifts, rounding: Rounding::HalfAway }
}

impl<'a> Format<'a> {
    /// Format of columns, which must be alike.
    pub fn new(columns: &[Column], extensions: bool, quantization: Option<&'a Quantization>) -> Self {
        let fraction_bits = columns.first().map_or(0, |column| column.fraction_bits as i32);
        Self { fraction_bits, extensions, quantization, changed: BTreeMap::new() }
    }

    /// Format with known fraction lengths, in the order of the graph's values.
    pub fn known(columns: &[Column], extensions: bool, fractions: impl Iterator<Item = i32>) -> Self {
        let changed = (0..).map(ValueId).zip(fractions).collect();
        Self { changed, ..Self::new(columns, extensions, None) }
    }

    /// Returns the fraction length of a value.
    pub fn fraction(&self, id: ValueId) -> i32 {
        let stated = || self.quantization.and_then(|all| all.fraction(id));
        // Default: without fraction lengths, all numbers use the fraction bits of the dpu's
        // products.
        self.changed.get(&id).copied().or_else(stated).unwrap_or(self.fraction_bits)
    }

    /// Reduces the fraction bits of operands or results of products of two inputs. These have no
    /// weights that could give up bits. Only needed if a dpu loses a fixed number of fraction bits.
    pub fn balance(&mut self, graph: &Graph) {
        let readers = Readers::of(graph);
        let is_product = |op: &Op| matches!(op, Op::MatMul(_) | Op::Binary(Binary { kind: BinaryKind::Mul }));
        for node in graph.nodes.iter().filter(|node| is_product(&node.op) && !self.extensions) {
            let (&[a, b], &[y]) = (&node.inputs[..], &node.outputs[..]) else { continue };
            let excess = self.fraction(a) + self.fraction(b) - self.fraction_bits - self.fraction(y);
            let are_free = [a, b].iter().all(|id| graph.inputs.contains(id) && readers.all(*id).len() <= 1);
            if excess > 0 && are_free && a != b {
                self.changed.insert(a, self.fraction(a) - excess / 2);
                self.changed.insert(b, self.fraction(b) - (excess - excess / 2));
            } else if excess < 0 && readers.is_output(y) && readers.all(y).is_empty() {
                self.changed.insert(y, self.fraction(y) + excess);
            }
        }
    }

    /// Returns how products of operands with these fraction lengths become a result with fraction
    /// length `y`.
    ///
    /// `constant` marks the operands that are constants. `addend` is the largest fraction length of
    /// a product with which the addend of the sum, an additional product, fits; see
    /// [`addend_fraction`].
    ///
    /// # Errors
    ///
    /// The operands would keep fewer than 4 bits.
    pub fn products(
        &self,
        operands: [i32; 2],
        constant: [bool; 2],
        y: i32,
        addend: Option<i32>,
    ) -> Result<Products, Reject> {
        let range = if self.extensions { 0..=MAX_SHIFT } else { self.fraction_bits..=self.fraction_bits };
        let [a, b] = operands;
        // The addend limits the fraction bits of the sum, so the operands give up the excess.
        let sum = addend.map_or(a + b, |addend| addend.min(a + b));
        let shift = (sum - y).clamp(*range.start(), *range.end());
        let result = y.min(sum - shift);
        let excess = a + b - result - shift;
        let given = match constant {
            [false, true] if excess <= OF_CONSTANTS => [0, excess],
            [true, false] if excess <= OF_CONSTANTS => [excess, 0],
            _ => [excess / 2, excess - excess / 2],
        };
        let kept = given.map(|bits| BITS as i32 - bits);
        if kept.iter().any(|&bits| bits < MIN_BITS) && self.quantization.is_some() {
            let reason = format!(
                "operands with {a} and {b} fraction bits and a result with {y} leave {} and {} of {BITS} bits to the \
                 operands, where products lose {shift}",
                kept[0], kept[1]
            );
            let hint =
                "use a dpu with more fraction bits, such as that of `3x1+f11`, or the extension's, `3x1+ext`";
            return Err(Reject::new(reason, hint));
        }
        let wide = Work { mode: DpuMode::MacInter, immediate: shift as i16 };
        let sum = if self.extensions { wide } else { Work::plain(DpuMode::Mac) };
        let single = if shift == self.fraction_bits { Work::plain(DpuMode::Mult) } else { wide };
        Ok(Products { operands: [a - given[0], b - given[1]], shift, result, sum, single })
    }

    /// Returns the dpu work, and the second operand if it needs one, that multiplies words by
    /// `2^up`; `None` if no mode does.
    pub fn scaling(&self, up: i32) -> Option<(Work, Option<i16>)> {
        if self.extensions {
            let mode = if up < 0 { DpuMode::ScaleDw } else { DpuMode::ScaleUp };
            return Some((Work { mode, immediate: up.abs().min(MAX_SHIFT) as i16 }, None));
        }
        let factor = self.fraction_bits + up;
        (0..BITS as i32 - 1).contains(&factor).then(|| (Work::plain(DpuMode::Mult), Some(1 << factor)))
    }

    /// Operand of `mult` that represents -1.
    pub fn minus_one(&self) -> i16 {
        integer(-1.0, self.fraction_bits)
    }

    /// Returns the work of an extension mode.
    ///
    /// # Errors
    ///
    /// The fabric has no extensions.
    pub fn extension(&self, mode: DpuMode, immediate: i16) -> Result<Work, Reject> {
        if self.extensions {
            return Ok(Work { mode, immediate });
        }
        let reason = format!("it needs the dpu's mode {}, which no source defines", mode.name());
        Err(Reject::new(reason, "use a fabric with extensions"))
    }
}

/// Returns the largest fraction length with which all numbers fit a word, at most 30.
pub fn largest_fraction(values: impl Iterator<Item = f64>) -> i32 {
    largest_fraction_of(values, 30)
}

/// Returns the largest fraction length with which all numbers fit a word, at most `limit`.
fn largest_fraction_of(values: impl Iterator<Item = f64>, limit: i32) -> i32 {
    let largest = values.filter(|x| x.is_finite()).fold(0_f64, |largest, x| largest.max(x.abs()));
    let all_fit = |fraction: &i32| fits(largest, *fraction);
    // Default: larger numbers saturate.
    (-30..=limit).rev().find(all_fit).unwrap_or(-30)
}

/// Returns the largest fraction length of a product of two words with which the addends of sums
/// fit.
///
/// The second word, which represents one, is at most 2^14.
pub fn addend_fraction(values: impl Iterator<Item = f64>) -> i32 {
    // Two operands together have at most 60 fraction bits.
    largest_fraction_of(values, 60) + MAX_ONE
}

/// Represents addends of sums as products: returns the fraction length of the first word, and the
/// second word, which represents one.
///
/// `fraction` is the fraction length of the products, at most [`addend_fraction`].
pub fn addend(values: impl Iterator<Item = f64>, fraction: i32) -> (i32, i16) {
    // The factor gets as few bits as possible, so that the addends keep as many as fit.
    let one = (fraction - largest_fraction_of(values, 60)).clamp(0, MAX_ONE);
    (fraction - one, 1 << one)
}

/// Fraction bits of the modes that compute functions (Q4.11).
pub(super) const FUNCTION_BITS: i32 = 11;

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn an_addend_is_as_exact_as_fits() {
        let of = |values: &[f64], fraction| addend(values.iter().copied(), fraction);
        assert_eq!(of(&[1.5, -2.0], 8), (8, 1));
        // The value 2 does not fit with 20 fraction bits, so the other factor takes 7 of them.
        assert_eq!(of(&[1.5, -2.0], 20), (13, 1 << 7));
        assert_eq!(of(&[1.0], 24), (14, 1 << 10));
        assert_eq!(of(&[0.0], 24), (24, 1));
        // The other factor is at most 2^14.
        assert_eq!(of(&[1.0], 28), (14, 1 << 14));
        let largest = |values: &[f64]| addend_fraction(values.iter().copied());
        assert_eq!([largest(&[1.0]), largest(&[1.5, -2.0]), largest(&[0.0])], [28, 27, 74]);
    }

    #[test]
    fn the_largest_fraction_that_fits() {
        let of = |values: &[f64]| largest_fraction(values.iter().copied());
        assert_eq!(
            [of(&[1.0, -0.5]), of(&[2.0]), of(&[0.0]), of(&[1.0 / 64.0]), of(&[1e9])],
            [14, 13, 30, 20, -15]
        );
        assert_eq!(of(&[1e30]), -30, "none fits");
    }

    #[test]
    fn operands_give_up_what_products_do_not_lose() {
        let format = |extensions, fraction_bits| Format {
            fraction_bits,
            extensions,
            quantization: None,
            changed: BTreeMap::new(),
        };
        let weights = [false, true];
        let of = |extensions, fraction_bits, y| {
            let found = format(extensions, fraction_bits).products([14, 14], weights, y, None).unwrap();
            (found.operands, found.shift)
        };
        assert_eq!(of(true, 0, 10), ([14, 14], 18));
        assert_eq!(of(false, 11, 12), ([14, 9], 11), "weights alone");
        assert_eq!(of(false, 0, 12), ([6, 6], 0), "both");
        assert_eq!(format(false, 11).products([10, 11], weights, 11, None).unwrap().result, 10);
        assert_eq!(format(false, 11).scaling(-4), Some((Work::plain(DpuMode::Mult), Some(1 << 7))));
        assert_eq!(format(false, 0).scaling(-4), None);
    }

    /// The wide accumulator holds every sum of products, so these may lose 18 bits and more. The
    /// addend, an additional product, must fit two words, and takes bits from the weights if it
    /// does not.
    #[test]
    fn operands_give_up_what_an_addend_has_no_room_for() {
        let format = |extensions, fraction_bits| Format {
            fraction_bits,
            extensions,
            quantization: None,
            changed: BTreeMap::new(),
        };
        let of = |extensions, fraction_bits, operands, y, addend| {
            let found =
                format(extensions, fraction_bits).products(operands, [false, true], y, Some(addend)).unwrap();
            (found.operands, found.shift, found.result)
        };
        // 0.4 can have 16 fraction bits and 14 more, but not 31 in total.
        let of_wide = |addend| of(true, 0, [15, 16], 14, addend);
        assert_eq!(of_wide(addend_fraction([0.4].into_iter())), ([15, 15], 16, 14));
        assert_eq!(of_wide(31), ([15, 16], 17, 14));
        assert_eq!(of_wide(74), ([15, 16], 17, 14));
        // If the addend is outside the result's range, the result loses fraction bits, too.
        assert_eq!(of_wide(13), ([6, 7], 0, 13));
        assert_eq!(of(false, 15, [15, 15], 15, 29), ([15, 14], 15, 14));
    }

    #[test]
    fn numbers_fit_from_end_to_end() {
        let of = |values: [f64; 4]| values.map(|x| fits(x, 15));
        assert_eq!(of([-1.0, 32_767.4 / 32_768.0, 0.0, -32_768.4 / 32_768.0]), [true; 4]);
        assert_eq!(of([1.0, 32_767.5 / 32_768.0, -1.1, f64::NAN]), [false; 4]);
    }

    /// Expected: bits that the operands give up, bits that the product loses, bits of the result.
    #[test]
    fn bits_are_given_up_by_what_has_them() {
        let format =
            Format { fraction_bits: 11, extensions: false, quantization: None, changed: BTreeMap::new() };
        let (none, first, second) = ([false, false], [true, false], [false, true]);
        for (operands, constant, y, expected) in [
            ([14, 14], second, 17, ([14, 14], 17)),
            ([14, 14], second, 10, ([14, 7], 10)),
            ([14, 14], first, 10, ([7, 14], 10)),
            // A constant gives up 7 bits alone; of more both give up half.
            ([14, 14], second, 9, ([10, 10], 9)),
            ([14, 14], first, 9, ([10, 10], 9)),
            ([14, 15], second, 9, ([10, 10], 9)),
            ([14, 14], none, 15, ([13, 13], 15)),
            ([14, 14], none, 14, ([13, 12], 14)),
            ([14, 14], none, 20, ([14, 14], 17)),
        ] {
            let found = format.products(operands, constant, y, None).unwrap();
            assert_eq!(
                (found.operands, found.result, found.shift),
                (expected.0, expected.1, 11),
                "{operands:?} {y}"
            );
        }
    }

    /// An operand of 16 bits keeps at least 4, if fraction lengths are measured on samples.
    #[test]
    fn operands_keep_four_bits() {
        let fabric = crate::config::preset("3x1").unwrap();
        let quantization = Quantization::new(scheme(&fabric));
        let format = Format {
            fraction_bits: 0,
            extensions: false,
            quantization: Some(&quantization),
            changed: BTreeMap::new(),
        };
        let of = |y| format.products([14, 14], [false, true], y, None).map(|found| found.operands);
        assert_eq!(of(4), Ok([2, 2]), "12 bits per operand");
        let refusal = of(3).unwrap_err();
        let Reject::Unsupported { reason, .. } = &refusal else { panic!("{refusal:?}") };
        assert!(reason.contains("leave 4 and 3 of 16 bits"), "{reason}");
        assert!(format.products([14, 14], [false, false], 2, None).is_err());
    }

    #[test]
    fn sums_of_mac_leave_a_bit_free() {
        let mut fabric = crate::config::preset("3x1").unwrap();
        let plain = scheme(&fabric);
        assert_eq!([plain.activations, plain.weights, plain.biases, plain.partial_sums], [15, 16, 16, 15]);
        fabric.options.extensions = true;
        let extended = scheme(&fabric);
        assert_eq!([extended.activations, extended.partial_sums], [16, 16]);
        assert_eq!(extended.shifts, -31..=31);
    }

    /// A factor is a power of two that fits a word.
    #[test]
    fn words_are_scaled_by_what_fits() {
        let format = |extensions, fraction_bits| Format {
            fraction_bits,
            extensions,
            quantization: None,
            changed: BTreeMap::new(),
        };
        let by = |factor| Some((Work::plain(DpuMode::Mult), Some(factor)));
        for (bits, up, expected) in [
            (0, 0, by(1)),
            (0, 14, by(1 << 14)),
            (0, 15, None),
            (0, -1, None),
            (11, 3, by(1 << 14)),
            (11, 4, None),
            (11, -11, by(1)),
            (11, -12, None),
        ] {
            assert_eq!(format(false, bits).scaling(up), expected, "{bits} {up}");
        }
        let shift = |mode, immediate| Some((Work { mode, immediate }, None));
        for (up, expected) in [
            (1, shift(DpuMode::ScaleUp, 1)),
            (40, shift(DpuMode::ScaleUp, 31)),
            (-1, shift(DpuMode::ScaleDw, 1)),
            (-40, shift(DpuMode::ScaleDw, 31)),
        ] {
            assert_eq!(format(true, 0).scaling(up), expected, "{up}");
        }
    }

    /// Product of two values, with the resulting fraction lengths of its operands and result.
    #[test]
    fn products_of_inputs_are_balanced() {
        use npukit_graph::op::{MatMul, Relu};
        use npukit_graph::{Graph, ValueInfo};
        use npukit_numeric::ElementType;

        #[derive(Clone, Copy, Default)]
        struct Case {
            /// Whether the second operand is the first.
            is_square: bool,
            /// Whether another node reads the first operand.
            is_shared: bool,
            /// Whether the second operand is a constant.
            is_constant: bool,
            /// Whether a node reads the result.
            is_read: bool,
            extensions: bool,
            is_sum: bool,
        }
        let of = |case: Case, fractions: [i32; 3]| {
            let mut graph = Graph::default();
            let info = || ValueInfo { shape: vec![4, 4], element: ElementType::F32 };
            let a = graph.add_input("a", info());
            let b = match (case.is_square, case.is_constant) {
                (true, _) => a,
                (_, true) => graph
                    .add_constant("b", npukit_numeric::Tensor::from_f32(vec![4, 4], vec![1.0; 16]).unwrap()),
                _ => graph.add_input("b", info()),
            };
            let op = if case.is_sum { Op::from(Binary { kind: BinaryKind::Add }) } else { MatMul.into() };
            let y = graph.add_node("product", op, vec![a, b], &["y"]).unwrap()[0];
            graph.outputs = vec![y];
            for (is_there, of) in [(case.is_shared, a), (case.is_read, y)] {
                if is_there {
                    let more = graph.add_node("other", Relu.into(), vec![of], &["more"]).unwrap();
                    graph.outputs.extend(more);
                }
            }
            let changed = [a, b, y].into_iter().zip(fractions).collect();
            let mut format =
                Format { fraction_bits: 11, extensions: case.extensions, quantization: None, changed };
            format.balance(&graph);
            [a, b, y].map(|id| format.fraction(id))
        };
        let plain = Case::default();
        // 14 + 14 - 11 is 17, three more than the result has. The first operand gives up one bit.
        assert_eq!(of(plain, [14, 14, 14]), [13, 12, 14]);
        assert_eq!(of(plain, [14, 14, 16]), [14, 13, 16]);
        assert_eq!(of(plain, [14, 14, 17]), [14, 14, 17]);
        // If a result has more fraction bits than its products, it gets the products' fraction
        // bits.
        assert_eq!(of(plain, [14, 14, 20]), [14, 14, 17]);
        assert_eq!(of(plain, [3, 4, 9]), [3, 4, -4]);
        assert_eq!(of(Case { is_read: true, ..plain }, [14, 14, 20]), [14, 14, 20]);
        // If an operand has other readers, its fraction bits must not change.
        assert_eq!(of(Case { is_shared: true, ..plain }, [14, 14, 14]), [14, 14, 14]);
        assert_eq!(of(Case { is_square: true, ..plain }, [14, 14, 14]), [14, 14, 14]);
        assert_eq!(of(Case { is_constant: true, ..plain }, [14, 14, 14]), [14, 14, 14]);
        assert_eq!(of(Case { extensions: true, ..plain }, [14, 14, 14]), [14, 14, 14]);
        assert_eq!(of(Case { is_sum: true, ..plain }, [14, 14, 14]), [14, 14, 14]);
    }

    #[test]
    fn integers_round_and_saturate() {
        assert_eq!(
            [integer(0.5, 0), integer(-0.5, 0), integer(3.0, 15), integer(f64::NAN, 3)],
            [1, -1, i16::MAX, 0]
        );
    }
}
