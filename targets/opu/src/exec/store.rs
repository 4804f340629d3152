//! `store`: cast, activation, residual, pooling, and the way to memory. Source: specification, 4.5 to 4.7.

use crate::config::Types;
use crate::datatype::DataType;
use crate::exact::Exact;
use crate::fault::FaultKind;
use crate::memory::Memory;
use crate::op::{Access, Activation, Order, Pool, Post, Shape};
use crate::state::{Array, Elements, State};

use super::{Arithmetic, Numerics, in_memory};

/// `store`: the partial sums, cast and post-processed, to memory.
///
/// Source: specification, sections 4.5 to 4.7.
pub(super) fn store(
    state: &mut State,
    memory: &mut Memory,
    numerics: Numerics<'_>,
    access: &Access,
) -> Result<(), FaultKind> {
    let work = Work::new(state)?;
    in_memory(access)?;
    if numerics.arithmetic == Arithmetic::Absent {
        return Ok(());
    }
    let (result, saturated) = work.result(numerics);
    let mut bytes = &result.to_bytes()[..];
    for run in access.runs() {
        let (written, rest) = bytes.split_at(run.bytes() as usize);
        memory.write(run.first, written);
        bytes = rest;
    }
    state.saturated += saturated;
    Ok(())
}

/// What a `store` in this state would write: the array B of section 4.6.
///
/// # Errors
///
/// Those of `store` but for its addresses: [`FaultKind::UndefinedRegister`] and [`FaultKind::BufferInvalid`].
pub fn result(state: &State, numerics: Numerics<'_>) -> Result<Array, FaultKind> {
    state.registers.ofm_memory("ofm_addr")?;
    let work = Work::new(state)?;
    let Shape { h, w, c } = work.pool.result(work.shape);
    let (elements, _) = work.result(numerics);
    Ok(Array { data_type: numerics.types.itype, shape: vec![h as usize, w as usize, c as usize], elements })
}

/// What a store works on.
struct Work<'a> {
    ofm: &'a Array,
    shape: Shape,
    post: Post,
    pool: Pool,
    /// The residual operand and its shape.
    ifm: Option<(&'a Array, Shape)>,
}

/// Values between the steps, with their shape.
struct Values {
    shape: Shape,
    raw: Vec<i32>,
}

impl<'a> Work<'a> {
    /// Looks at all that can be at fault but addresses.
    fn new(state: &'a State) -> Result<Self, FaultKind> {
        let registers = &state.registers;
        let (shape, post, pool) = (registers.ofm_shape()?, registers.post()?, registers.pool()?);
        let ifm = match post.res {
            true => Some((state.ifm.get()?, registers.ifm_shape()?)),
            false => None,
        };
        let ofm = state.ofm.get()?;
        if pool.h > shape.h || pool.w > shape.w {
            return Err(FaultKind::PoolBounds { pool_h: pool.h, pool_w: pool.w, ofm: shape });
        }
        if let Some((_, ifm)) = ifm {
            let needed = if post.order == Order::ActPoolRes { pool.result(shape) } else { shape };
            if ifm.h < needed.h || ifm.w < needed.w || ifm.c < needed.c {
                return Err(FaultKind::ResidualShape { ifm, needed });
            }
        }
        Ok(Self { ofm, shape, post, pool, ifm })
    }

    /// The result, and how many partial sums were too large.
    fn result(&self, Numerics { types, arithmetic, .. }: Numerics<'_>) -> (Elements, u64) {
        let rules = match (arithmetic, types.itype, types.otype) {
            (Arithmetic::Fast, DataType::Fixed(itype), DataType::Fixed(otype)) => {
                // Full scale stays full scale, so that fractions do not count.
                let shift = itype.width() as i32 - otype.width() as i32;
                Rules::Fixed { shift, min: itype.min(), max: itype.max() }
            }
            _ => Rules::Exact { itype: types.itype, otype: types.otype, shift: types.store_shift() },
        };
        let mut values = Values { shape: self.shape, raw: rules.cast(&self.ofm.elements) };
        let saturated = saturated(types, &self.ofm.elements);
        match self.post.order {
            Order::ActResPool => {
                rules.activate(self.post.act, &mut values.raw);
                self.add_residual(&rules, &mut values);
                values = rules.pooled(&values, self.pool);
            }
            Order::ResActPool => {
                self.add_residual(&rules, &mut values);
                rules.activate(self.post.act, &mut values.raw);
                values = rules.pooled(&values, self.pool);
            }
            Order::ActPoolRes => {
                rules.activate(self.post.act, &mut values.raw);
                values = rules.pooled(&values, self.pool);
                self.add_residual(&rules, &mut values);
            }
        }
        (elements(types.itype, values.raw), saturated)
    }

    fn add_residual(&self, rules: &Rules, values: &mut Values) {
        let Some((ifm, ifm_shape)) = self.ifm else { return };
        let (w, c) = (values.shape.w as usize, values.shape.c as usize);
        for (index, values) in values.raw.chunks_mut(c).enumerate() {
            let first = (index / w * ifm_shape.w as usize + index % w) * ifm_shape.c as usize;
            for (k, value) in values.iter_mut().enumerate() {
                *value = rules.sum(*value, ifm.elements.get(first + k));
            }
        }
    }
}

/// How many partial sums are at an end of OTYPE or, both types being fixed-point, beyond what ITYPE can hold.
fn saturated(types: &Types, ofm: &Elements) -> u64 {
    // As the buffer has it: floats of 16 bits are extended there as integers are.
    let end = |value: f64| {
        let mut end = Elements::zeros(types.otype, 1);
        end.set(0, types.otype.from_f64(value));
        end.get(0)
    };
    let ends = [f64::NEG_INFINITY, f64::INFINITY].map(end);
    let max = match (types.itype, types.otype) {
        (DataType::Fixed(itype), DataType::Fixed(otype)) => {
            // Both types have the same full scale after the cast: what is cast beyond the upper end is within
            // half a step of it.
            let steps = otype.width().saturating_sub(itype.width());
            i64::from(otype.max()) - ((1i64 << steps) >> 1)
        }
        _ => i64::MAX,
    };
    let is_saturated = |raw: i32| ends.contains(&raw) || i64::from(raw) > max;
    (0..ofm.len()).filter(|&index| is_saturated(ofm.get(index))).count() as u64
}

/// Raw values as the type has them.
fn elements(data_type: DataType, raw: Vec<i32>) -> Elements {
    match data_type.size_bytes() {
        1 => Elements::I8(raw.into_iter().map(|raw| raw as i8).collect()),
        2 => Elements::I16(raw.into_iter().map(|raw| raw as i16).collect()),
        _ => Elements::I32(raw),
    }
}

/// How a step computes.
enum Rules {
    /// By exact sums: any types.
    Exact { itype: DataType, otype: DataType, shift: i32 },
    /// On integers: the cast shifts left by `shift`, and all steps clamp.
    Fixed { shift: i32, min: i32, max: i32 },
}

impl Rules {
    fn cast(&self, ofm: &Elements) -> Vec<i32> {
        match *self {
            Self::Exact { itype, otype, shift } => {
                (0..ofm.len()).map(|index| itype.convert(otype, ofm.get(index), shift)).collect()
            }
            Self::Fixed { shift, max, .. } => match ofm {
                Elements::I8(values) => values.iter().map(|&v| scaled(v.into(), shift, max)).collect(),
                Elements::I16(values) => values.iter().map(|&v| scaled(v.into(), shift, max)).collect(),
                Elements::I32(values) => values.iter().map(|&v| scaled(v.into(), shift, max)).collect(),
            },
        }
    }

    fn activate(&self, act: Activation, raw: &mut [i32]) {
        match (act, self) {
            (Activation::None, _) => {}
            (Activation::Relu, Self::Fixed { .. }) => {
                raw.iter_mut().for_each(|value| *value = (*value).max(0))
            }
            (Activation::Leaky, Self::Fixed { .. }) => raw.iter_mut().for_each(|value| {
                // An i64, because the type may have 32 bits: then 4 more than the largest are too many.
                *value = (*value).max(((i64::from(*value) + 4) >> 3) as i32);
            }),
            (_, Self::Exact { itype, .. }) => {
                let scale = if act == Activation::Relu { None } else { Some(-3) };
                raw.iter_mut().for_each(|value| *value = negative_scaled(*itype, *value, scale));
            }
        }
    }

    /// kappa of the sum of two values.
    fn sum(&self, a: i32, b: i32) -> i32 {
        match *self {
            Self::Exact { itype, .. } => {
                let mut sum = Exact::ZERO;
                itype.add_to(&mut sum, a, 0);
                itype.add_to(&mut sum, b, 0);
                itype.kappa(sum)
            }
            Self::Fixed { min, max, .. } => {
                (i64::from(a) + i64::from(b)).clamp(min.into(), max.into()) as i32
            }
        }
    }

    /// The greater of two values.
    fn greater(&self, a: i32, b: i32) -> i32 {
        match *self {
            Self::Exact { itype: DataType::Fixed(_), .. } | Self::Fixed { .. } => a.max(b),
            Self::Exact { itype, .. } if itype.to_f64(a) >= itype.to_f64(b) => a,
            Self::Exact { .. } => b,
        }
    }

    fn pooled(&self, values: &Values, pool: Pool) -> Values {
        if pool == Pool::NONE {
            return Values { shape: values.shape, raw: values.raw.clone() };
        }
        let shape = pool.result(values.shape);
        let (width, c) = (values.shape.w as usize, shape.c as usize);
        let mut raw = Vec::with_capacity(shape.elements());
        for (i, j) in (0..shape.h as usize).flat_map(|i| (0..shape.w as usize).map(move |j| (i, j))) {
            let first = raw.len();
            for (a, b) in (0..pool.h as usize).flat_map(|a| (0..pool.w as usize).map(move |b| (a, b))) {
                let (y, x) = (i * pool.stride_h as usize + a, j * pool.stride_w as usize + b);
                let pixel = &values.raw[(y * width + x) * c..][..c];
                if raw.len() == first {
                    raw.extend_from_slice(pixel);
                    continue;
                }
                let best = raw[first..].iter_mut().zip(pixel);
                best.for_each(|(best, &value)| *best = self.greater(*best, value));
            }
        }
        Values { shape, raw }
    }
}

/// `value * 2^shift`, rounded half up; `shift` takes one full scale to another, so that nothing but rounding leaves
/// the range, at the upper end.
fn scaled(value: i64, shift: i32, max: i32) -> i32 {
    let scaled = if shift < 0 { (value + (1 << (-shift - 1))) >> -shift } else { value << shift };
    scaled.min(max.into()) as i32
}

/// kappa of the value, or of it scaled by two to `exponent` (0 when none) when that is greater.
fn negative_scaled(data_type: DataType, raw: i32, exponent: Option<i32>) -> i32 {
    if data_type.real(raw).significand >= 0 {
        // Also -0, which becomes 0.
        return data_type.convert(data_type, raw, 0);
    }
    exponent.map_or(0, |exponent| data_type.convert(data_type, raw, exponent))
}
