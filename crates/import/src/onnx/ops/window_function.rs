//! HannWindow, HammingWindow, BlackmanWindow and MelWeightMatrix. They become constants, so their
//! sizes must be constant.

use std::f64::consts::TAU;

use npukit_graph::ValueId;
use npukit_numeric::TensorData;

use super::super::attributes::unsupported;
use super::super::context::Context;
use super::super::error::Reason;
use super::super::tensor::{MAX_ELEMENTS, element_type};
use crate::elements::typed;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let (shape, values) = match context.op_type() {
        "MelWeightMatrix" => mel(context)?,
        "HannWindow" => window(context, &[0.5, -0.5])?,
        "HammingWindow" => window(context, &[25.0 / 46.0, -21.0 / 46.0])?,
        _ => window(context, &[0.42, -0.5, 0.08])?,
    };
    let code = context.attributes.int_or("output_datatype", 1)?;
    let element = element_type(i32::try_from(code).unwrap_or(i32::MAX))?;
    let values = TensorData::F32(values.into_iter().map(|value| value as f32).collect());
    let values = typed(element, shape, values)?;
    Ok(vec![context.make_constant(values)])
}

/// Sums the cosines of multiples of an angle, multiplied by their factors.
fn window(context: &mut Context<'_>, factors: &[f64]) -> Result<(Vec<usize>, Vec<f64>), Reason> {
    let size = size(context, 0, "size")?;
    let steps = if context.attributes.flag("periodic", true)? { size } else { size.saturating_sub(1) };
    context.reserve(&[size])?;
    let value = |index: usize| {
        let angle = TAU * index as f64 / steps.max(1) as f64;
        (0..).zip(factors).map(|(multiple, factor)| factor * (f64::from(multiple) * angle).cos()).sum()
    };
    Ok((vec![size], (0..size).map(value).collect()))
}

/// Weights of triangular filters over the bins of a spectrum, whose corners are equidistant on the
/// mel scale.
fn mel(context: &mut Context<'_>) -> Result<(Vec<usize>, Vec<f64>), Reason> {
    let (bands, length) = (size(context, 0, "num_mel_bins")?, size(context, 1, "dft_length")?);
    let rate = size(context, 2, "sample_rate")?.max(1);
    let [low, high] = [number(context, 3, "lower_edge_hertz")?, number(context, 4, "upper_edge_hertz")?];
    let bins = length / 2 + 1;
    context.reserve(&[bins, bands])?;
    let [low, high] = [low, high].map(|hertz| 2595.0 * (1.0 + hertz / 700.0).log10());
    let step = (high - low) / (bands + 2) as f64;
    let corner = |index: usize| {
        let hertz = 700.0 * (10f64.powf((index as f64 * step + low) / 2595.0) - 1.0);
        ((length + 1) as f64 * hertz / rate as f64).floor()
    };
    let mut values = vec![0.0; bins * bands];
    for band in 0..bands {
        let [left, center, right] = [0, 1, 2].map(|offset| corner(band + offset));
        for bin in 0..bins {
            let place = bin as f64;
            values[bin * bands + band] = match place {
                _ if place == center && center == left => 1.0,
                _ if (left..center).contains(&place) => (place - left) / (center - left),
                _ if (center..right).contains(&place) => (right - place) / (right - center),
                _ if place == center => 1.0,
                _ => 0.0,
            };
        }
    }
    Ok((vec![bins, bands], values))
}

/// Returns a constant operand of one integer.
fn size(context: &mut Context<'_>, index: usize, operand: &'static str) -> Result<usize, Reason> {
    match context.integers(index, operand)?.ok_or(Reason::OperandMissing { operand })?[..] {
        [size] if (0..=MAX_ELEMENTS as i64).contains(&size) => Ok(size as usize),
        ref other => Err(unsupported(operand, other, format!("one integer from 0 to {MAX_ELEMENTS}"))),
    }
}

/// Returns a constant operand of one number above -700, where the mel scale begins.
fn number(context: &mut Context<'_>, index: usize, operand: &'static str) -> Result<f64, Reason> {
    let number = context.number(index, operand)?.ok_or(Reason::OperandMissing { operand })?;
    let legal = "a number of 0 or more";
    if number >= 0.0 { Ok(number.into()) } else { Err(unsupported(operand, number, legal)) }
}
