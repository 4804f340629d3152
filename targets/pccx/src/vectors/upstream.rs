//! Vectors of blocks of the published circuits, from simulation.

use npukit_target::Case;
use serde::Deserialize;

use super::{Hex, json, outcome, patterns, records};
use crate::machine::exec::quantize;
use crate::machine::upstream::dual_mac::DualMac;
use crate::machine::upstream::normalize::normalize as normalized;
use crate::machine::upstream::preprocess::{Aligned, align, project};
use crate::machine::upstream::sfu;

#[derive(Deserialize)]
struct Blocks {
    blocks: Vec<Block>,
}

#[derive(Deserialize)]
struct Block {
    bf16: Vec<Hex>,
    emax: u8,
    fixed27: Vec<i32>,
    int8_bfp: Vec<i8>,
}

/// Compares alignment and projection; without subnormals, also the reference profile's
/// quantization.
pub fn preprocess(bytes: &[u8]) -> Result<Vec<Case>, String> {
    let file: Blocks = json(bytes)?;
    let case = |(index, block): (usize, Block)| {
        let input = patterns(&block.bf16);
        let Aligned { emax, fixed27 } = align(&input);
        let projected: Vec<i8> = fixed27.iter().map(|&value| project(value)).collect();
        let got = (emax, fixed27, projected);
        let expected = (block.emax, block.fixed27, block.int8_bfp);
        let upstream = Case::done(format!("block {index}"), outcome(&expected, Ok(got)));
        let subnormal = |&bits: &u16| bits & 0x7F80 == 0 && bits & 0x7F != 0;
        let reference = (!input.iter().any(subnormal)).then(|| {
            let quantized = quantize(&input);
            let got = (quantized.exponents, quantized.values);
            Case::done(format!("block {index}, quantized"), outcome(&(vec![expected.0], expected.2), Ok(got)))
        });
        std::iter::once(upstream).chain(reference)
    };
    Ok(file.blocks.into_iter().enumerate().flat_map(case).collect())
}

#[derive(Deserialize)]
struct Normalized {
    rows: Vec<(Hex, u8, Hex)>,
}

/// Compares the conversion of accumulators to BF16.
pub fn normalize(bytes: &[u8]) -> Result<Vec<Case>, String> {
    let file: Normalized = json(bytes)?;
    let case = |(accumulator, e_max, expected): (Hex, u8, Hex)| {
        let got = normalized(accumulator.0, e_max);
        Case::done(format!("{:012x} at {e_max}", accumulator.0), outcome(&(expected.0 as u16), Ok(got)))
    };
    Ok(file.rows.into_iter().map(case).collect())
}

#[derive(Deserialize)]
struct DualMacs {
    rows: Vec<Sequence>,
}

#[derive(Deserialize)]
struct Sequence {
    n: usize,
    p48: Hex,
    lower: i32,
    upper: i32,
    true_lower: i64,
    true_upper: i64,
    /// Accumulated operands. For long runs they are omitted and only the sums are given.
    seq: Option<Vec<[u8; 3]>>,
}

/// Compares two sums of one multiplier, including wrong sums.
pub fn dual_mac(bytes: &[u8]) -> Result<Vec<Case>, String> {
    let file: DualMacs = json(bytes)?;
    let nibble = |nibble: u8| ((nibble << 4) as i8) >> 4;
    let case = |(index, row): (usize, Sequence)| {
        let mac = match &row.seq {
            None => DualMac::of_sums(row.true_upper, row.true_lower),
            Some(seq) => seq.iter().fold(DualMac::default(), |mut mac, &[upper, lower, activation]| {
                mac.accumulate(nibble(upper), nibble(lower), activation as i8);
                mac
            }),
        };
        let got = (row.seq.map_or(row.n, |seq| seq.len()), mac.bits(), mac.lower(), mac.upper());
        let expected = (row.n, row.p48.0, row.lower, row.upper);
        Case::done(format!("row {index}"), outcome(&expected, Ok(got)))
    };
    Ok(file.rows.into_iter().enumerate().map(case).collect())
}

#[derive(Deserialize)]
struct Runs<T> {
    runs: Vec<T>,
}

#[derive(Deserialize)]
struct ReduceSum {
    length: usize,
    #[serde(rename = "in")]
    input: Vec<Hex>,
    out: Hex,
}

/// Compares REDUCE_SUM.
pub fn reduce_sum(bytes: &[u8]) -> Result<Vec<Case>, String> {
    let file: Runs<ReduceSum> = json(bytes)?;
    let case = |(index, run): (usize, ReduceSum)| {
        let got = (run.input.len(), sfu::reduce_sum(&patterns(&run.input)));
        Case::done(format!("run {index}"), outcome(&(run.length, run.out.0 as u16), Ok(got)))
    };
    Ok(file.runs.into_iter().enumerate().map(case).collect())
}

#[derive(Deserialize)]
struct Scale {
    recip_scale: u8,
    scalar: Hex,
    #[serde(rename = "in")]
    input: Vec<Hex>,
    out: Vec<Hex>,
}

/// Compares SCALE.
pub fn scale(bytes: &[u8]) -> Result<Vec<Case>, String> {
    let file: Runs<Scale> = json(bytes)?;
    let case = |(index, run): (usize, Scale)| {
        let got = sfu::scale(run.scalar.0 as u16, &patterns(&run.input), run.recip_scale == 1);
        Case::done(format!("run {index}"), outcome(&patterns(&run.out), Ok(got)))
    };
    Ok(file.runs.into_iter().enumerate().map(case).collect())
}

/// Compares a function of one element.
pub fn function(bytes: &[u8], function: fn(u16) -> u16) -> Result<Vec<Case>, String> {
    let case = |[input, expected]: [u16; 2]| {
        Case::done(format!("{input:04x}"), outcome(&expected, Ok(function(input))))
    };
    Ok(records(bytes)?.into_iter().map(case).collect())
}

/// Compares sine and cosine of an angle.
pub fn cordic(bytes: &[u8]) -> Result<Vec<Case>, String> {
    let case = |[angle, sin, cos]: [u16; 3]| {
        Case::done(format!("{angle:04x}"), outcome(&(sin, cos), Ok(sfu::sin_cos(angle))))
    };
    Ok(records(bytes)?.into_iter().map(case).collect())
}
