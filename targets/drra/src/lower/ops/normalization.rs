//! Normalizations: by known factors per channel, and over the elements of a row.

use npukit_graph::op::{BatchNormalization, Softmax};
use npukit_graph::{Node, ValueId};
use npukit_lower::Reject;

use super::reduce::over;
use super::scale::{repeated, singles};
use super::{operand, result};
use crate::isa::op::DpuMode;
use crate::lower::Lowering;
use crate::lower::format::{FUNCTION_BITS, addend, addend_fraction, largest_fraction};
use crate::lower::rounded::{Rounding, real};
use crate::program::gather::{Gather, Source, Tail};
use crate::program::kernels::Work;

/// Lowers a factor and an addend per channel, as sums of two products.
///
/// # Errors
///
/// The reason why the node cannot be lowered, and what to change.
pub fn batch(lowering: &mut Lowering<'_>, node: &Node, batch: &BatchNormalization) -> Result<(), Reject> {
    let (x, y) = (operand(node, 0)?, result(node)?);
    let constant = |place| {
        let floats = lowering.graph.constant(operand(node, place)?).and_then(|constant| constant.as_f32());
        floats.ok_or_else(|| Reject::new("its parameters are not constants", "fold them into a product"))
    };
    let factors = batch.factors(constant(1)?, constant(2)?, constant(3)?, constant(4)?);
    let exact = largest_fraction(factors.iter().map(|factor| factor[0]));
    let fraction = |id: ValueId| lowering.format.fraction(id);
    let addends = factors.iter().map(|factor| factor[1]);
    let room = Some(addend_fraction(addends.clone()));
    let products = lowering.format.products([fraction(x), exact], [false, true], fraction(y), room)?;
    let [from, of_factors] = products.operands;
    let words = lowering.words(factors.iter().map(|factor| factor[0]), of_factors);
    let (of_addends, one) = addend(addends.clone(), products.result + products.shift);
    let addends = lowering.words(addends, of_addends);
    let reals = |words: &[i16], fraction| words.iter().map(|&word| real(word, fraction)).collect();
    let (factors_now, addends_now) = (reals(&words, of_factors), reals(&addends, of_addends));
    lowering.note(Rounding::Affine { factors: factors_now, addends: addends_now });
    let (count, channels) = (lowering.graph.shape(y).iter().product::<usize>(), factors.len().max(1));
    let one_by_one = singles(lowering.read(node, x, from)?, count);
    let factors = Gather {
        source: Source::Constant(words.into()),
        vectors: vec![(count / channels, 0), (channels, 1)],
        tail: Tail::Each(addends),
        ..one_by_one.clone()
    };
    let operands = vec![Gather { tail: Tail::Same(one), ..one_by_one }, factors];
    let to = lowering.unscaled(node, y, products.result);
    lowering.stream(node, products.sum, operands, to);
    lowering.finish(node, to, y);
    Ok(())
}

/// Lowers `e^(x - max) / sum(e^(x - max))` in Q4.11, by modes of the extension.
///
/// # Errors
///
/// The reason why the node cannot be lowered, and what to change.
pub fn softmax(lowering: &mut Lowering<'_>, node: &Node, softmax: &Softmax) -> Result<(), Reject> {
    let (x, y) = (operand(node, 0)?, result(node)?);
    let mode = |mode| lowering.format.extension(mode, 0);
    let (largest, subtract, exponential) =
        (mode(DpuMode::MaxMinAcc)?, mode(DpuMode::Subt)?, mode(DpuMode::Expon)?);
    let quotient = mode(DpuMode::Div)?;
    let shape = lowering.graph.shape(y).to_vec();
    let axes: Vec<usize> = (softmax.axis..softmax.axis_end).collect();
    let (rows, repeats) = over(&shape, &axes);
    let (length, count, all) = (rows.length(), rows.count(), shape.iter().product());
    // Words of at most 1 give up bits so that their sums fit. Quotients regain as many of these
    // bits as fit.
    let given = (length.next_power_of_two().ilog2() as i32 - 4).max(0);
    let kept = given.min(BITS_OF_QUOTIENTS - FUNCTION_BITS);
    // Differences of -16 or less may saturate because their exponentials are 0.
    let from = FUNCTION_BITS.min(lowering.format.fraction(x));
    let of = |source: &Source| Gather { source: source.clone(), ..rows.clone() };
    let repeated_rows = |value: usize| Gather { source: Source::Value(value), ..repeats.clone() };
    let x = lowering.read(node, x, from)?;
    let most = lowering.temporary(&node.name, vec![count], from);
    lowering.stream(node, largest, vec![of(&x)], most);
    let below = lowering.temporary(&node.name, shape.clone(), from);
    lowering.stream(node, subtract, vec![singles(x, all), repeated_rows(most)], below);
    lowering.let_saturate();
    let below = lowering.scaled(node, below, FUNCTION_BITS);
    lowering.let_saturate();
    let powers = lowering.temporary(&node.name, shape.clone(), FUNCTION_BITS);
    lowering.stream(node, exponential, vec![singles(Source::Value(below), all)], powers);
    let sums = lowering.temporary(&node.name, vec![count], FUNCTION_BITS - given);
    let sum = Work { mode: DpuMode::MacInter, immediate: given as i16 };
    let ones = Gather { elements: vec![(length, 0)], ..repeated(1, count) };
    lowering.stream(node, sum, vec![of(&Source::Value(powers)), ones], sums);
    let powers = lowering.scaled(node, powers, FUNCTION_BITS - (given - kept));
    let to = lowering.unscaled(node, y, FUNCTION_BITS + kept);
    let operands = vec![singles(Source::Value(powers), all), repeated_rows(sums)];
    lowering.stream(node, quotient, operands, to);
    lowering.let_saturate();
    lowering.finish(node, to, y);
    Ok(())
}

/// Fraction bits with which quotients of at most 1 fit.
const BITS_OF_QUOTIENTS: i32 = 15;
