//! Vectors of the reference profile's numerics, instruction by instruction on a machine.

use std::sync::Arc;

use npukit_target::Case;
use serde::Deserialize;

use super::{Hex, bytes_of, json, machine, outcome, patterns, records};
use crate::isa::op::{CVO_HARDWARE_LENGTH, Cache, Cvo, CvoFlags, CvoFunc, Mac, MacFlags, Memset, Op, Shape};
use crate::machine::Machine;
use crate::machine::weights::{WeightImage, lanes};

/// L2 words of operands, far enough apart.
const SOURCE: u32 = 0x400;
const DEST: u32 = 0x8000;

#[derive(Deserialize)]
struct Cases<T> {
    cases: Vec<T>,
}

/// Returns one case for each element of the file.
fn cases<T, E>(bytes: &[u8], check: fn(&T) -> (E, Result<E, String>)) -> Result<Vec<Case>, String>
where
    T: for<'de> Deserialize<'de> + Send + 'static,
    E: PartialEq + std::fmt::Debug + 'static,
{
    let file: Cases<T> = json(bytes)?;
    let case = |(index, case): (usize, T)| {
        Case::new(format!("case {index}"), move || {
            let (expected, got) = check(&case);
            outcome(&expected, got)
        })
    };
    Ok(file.cases.into_iter().enumerate().map(case).collect())
}

/// Machine for the cases, with errors as text.
struct Bench(Machine);

impl Bench {
    fn new() -> Result<Self, String> {
        machine("reference").map(Self)
    }

    fn write(&mut self, address: u32, values: &[u16]) -> Result<(), String> {
        self.0.write_l2(address, values).map_err(|error| error.to_string())
    }

    fn read(&self, address: u32, values: usize) -> Result<Vec<u16>, String> {
        self.0.read_l2(address, values).map(<[u16]>::to_vec).map_err(|error| error.to_string())
    }

    fn step(&mut self, op: Op) -> Result<(), String> {
        self.0.step(&op).map_err(|error| error.to_string())
    }

    fn cvo(
        &mut self,
        cvo_func: CvoFunc,
        [src_addr, dst_addr]: [u32; 2],
        length: usize,
        flags: CvoFlags,
    ) -> Result<(), String> {
        let length = u16::try_from(length).map_err(|_| format!("{length} elements"))?;
        self.step(Op::Cvo(Cvo { cvo_func, src_addr, dst_addr, length, flags, is_async: false }))
    }
}

/// Compares each record of a function of one element.
pub fn function(bytes: &[u8], function: CvoFunc) -> Result<Vec<Case>, String> {
    let records = records::<2>(bytes)?;
    let mut bench = Bench::new()?;
    let mut cases = Vec::with_capacity(records.len());
    for records in records.chunks(CVO_HARDWARE_LENGTH.into()) {
        let inputs: Vec<u16> = records.iter().map(|[input, _]| *input).collect();
        bench.write(SOURCE, &inputs)?;
        bench.cvo(function, [SOURCE, DEST], inputs.len(), CvoFlags::default())?;
        let results = bench.read(DEST, inputs.len())?;
        cases.extend(records.iter().zip(results).map(|([input, expected], got)| {
            Case::done(format!("{}({input:04x})", function.name()), outcome(expected, Ok(got)))
        }));
    }
    Ok(cases)
}

#[derive(Deserialize)]
struct ReduceSum {
    #[serde(rename = "in")]
    input: Vec<Hex>,
    out: Hex,
}

/// Compares REDUCE_SUM into lane 0.
pub fn reduce_sum(bytes: &[u8]) -> Result<Vec<Case>, String> {
    cases(bytes, |case: &ReduceSum| {
        let run = || {
            let mut bench = Bench::new()?;
            bench.write(SOURCE, &patterns(&case.input))?;
            bench.write(DEST, &[1; 8])?;
            bench.cvo(CvoFunc::ReduceSum, [SOURCE, DEST], case.input.len(), CvoFlags::default())?;
            bench.read(DEST, 8)
        };
        (vec![case.out.0 as u16, 1, 1, 1, 1, 1, 1, 1], run())
    })
}

#[derive(Deserialize)]
struct Scale {
    scalar: Hex,
    #[serde(rename = "in")]
    input: Vec<Hex>,
    recip_scale: u8,
    accm: u8,
    dst_before: Option<Vec<Hex>>,
    out: Vec<Hex>,
}

/// Compares SCALE with its scalar in the word before the vector.
pub fn scale(bytes: &[u8]) -> Result<Vec<Case>, String> {
    cases(bytes, |case: &Scale| {
        let run = || {
            let mut bench = Bench::new()?;
            bench.write(SOURCE, &[case.scalar.0 as u16])?;
            bench.write(SOURCE + 1, &patterns(&case.input))?;
            bench.write(DEST, &patterns(case.dst_before.as_deref().unwrap_or_default()))?;
            let flags =
                CvoFlags { recip_scale: case.recip_scale == 1, accm: case.accm == 1, ..CvoFlags::default() };
            bench.cvo(CvoFunc::Scale, [SOURCE, DEST], case.input.len(), flags)?;
            bench.read(DEST, case.out.len())
        };
        (patterns(&case.out), run())
    })
}

#[derive(Deserialize)]
struct Softmax {
    scores: Vec<Hex>,
    e_max: Hex,
    exp: Vec<Hex>,
    sum: Hex,
    prob: Vec<Hex>,
}

/// Compares the macro of specification 5.4: exponentials, their sum in the word before them,
/// quotients.
pub fn softmax(bytes: &[u8]) -> Result<Vec<Case>, String> {
    cases(bytes, |case: &Softmax| {
        let run = || {
            let mut bench = Bench::new()?;
            let (row, length) = (SOURCE + 1, case.scores.len());
            bench.write(row, &patterns(&case.scores))?;
            bench.0.set_e_max(case.e_max.0 as u16);
            bench.cvo(
                CvoFunc::Exp,
                [row, row],
                length,
                CvoFlags { sub_emax: true, ..CvoFlags::default() },
            )?;
            let exp = bench.read(row, length)?;
            bench.cvo(CvoFunc::ReduceSum, [row, SOURCE], length, CvoFlags::default())?;
            let sum = bench.read(SOURCE, 1)?;
            let flags = CvoFlags { recip_scale: true, ..CvoFlags::default() };
            bench.cvo(CvoFunc::Scale, [SOURCE, DEST], length, flags)?;
            Ok((exp, sum, bench.read(DEST, length)?))
        };
        ((patterns(&case.exp), vec![case.sum.0 as u16], patterns(&case.prob)), run())
    })
}

#[derive(Deserialize)]
#[allow(non_snake_case, reason = "the file's names")]
struct Gemm {
    M: u16,
    N: u16,
    K: u16,
    w_scale: u8,
    accm: u8,
    act_bf16: Vec<Vec<Hex>>,
    weights_packed: Vec<String>,
    scales_f32_bits: Option<Vec<Hex>>,
    dst_before: Option<Vec<Vec<Hex>>>,
    out_bf16: Vec<Vec<Hex>>,
    e_max_after_findemax: Hex,
}

/// Compares products and e_max; single rows also with GEMV.
pub fn gemm(bytes: &[u8]) -> Result<Vec<Case>, String> {
    let mut products = cases(bytes, |case: &Gemm| (expected(case), run(case, Op::Gemm)))?;
    let vectors = cases(bytes, |case: &Gemm| match case.M {
        1 => (expected(case), run(case, Op::Gemv)),
        _ => (expected(case), Ok(expected(case))),
    })?;
    let rows: Cases<Gemm> = json(bytes)?;
    let vectors = rows.cases.iter().zip(vectors).filter(|(case, _)| case.M == 1);
    products
        .extend(vectors.map(|(_, case)| Case::new(format!("{} by GEMV", case.name), move || case.check())));
    Ok(products)
}

fn expected(case: &Gemm) -> (Vec<u16>, u16) {
    (flat(&case.out_bf16), case.e_max_after_findemax.0 as u16)
}

fn flat(rows: &[Vec<Hex>]) -> Vec<u16> {
    rows.iter().flat_map(|row| patterns(row)).collect()
}

fn run(case: &Gemm, op: fn(Mac) -> Op) -> Result<(Vec<u16>, u16), String> {
    let mut bench = Bench::new()?;
    bench.write(SOURCE, &flat(&case.act_bf16))?;
    bench.write(DEST, &flat(case.dst_before.as_deref().unwrap_or_default()))?;
    for (dest_cache, shape) in [
        (Cache::FmapShape, Shape::new(case.M, 1, case.K)),
        (Cache::WeightShape, Shape::new(0, case.N, case.K)),
    ] {
        bench.step(Op::Memset(Memset { dest_cache, dest_addr: 5, shape }))?;
    }
    bench.0.bind_weights(Arc::new(image(case)?));
    let flags = MacFlags { findemax: true, accm: case.accm == 1, w_scale: case.w_scale == 1 };
    let mac = Mac {
        dest_reg: DEST,
        src_addr: SOURCE,
        flags,
        size_ptr_addr: 5,
        shape_ptr_addr: 5,
        parallel_lane: 0,
    };
    bench.step(op(mac))?;
    Ok((bench.read(DEST, usize::from(case.M) * usize::from(case.N))?, bench.0.e_max()))
}

fn image(case: &Gemm) -> Result<WeightImage, String> {
    let (n, k) = (usize::from(case.N), usize::from(case.K));
    let mut weights = Vec::with_capacity(n * k);
    for row in &case.weights_packed {
        weights.extend(lanes(&bytes_of(row)?).take(k));
    }
    let scale = |bits: &Hex| f32::from_bits(bits.0 as u32);
    let scales = case.scales_f32_bits.as_ref().map(|scales| scales.iter().map(scale).collect());
    WeightImage::new(n, k, &weights, scales).map_err(|error| error.to_string())
}
