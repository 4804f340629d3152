//! `store`: cast, activation, residual, pooling, and the write to memory. Source: specification,
//! 4.5 to 4.7.

use crate::isa::fault::FaultKind;
use crate::isa::op::{Access, Order, Pool, Post, Registers, Shape};
use crate::machine::array::{Array, BufferContent};
use crate::machine::state::State;

use super::{Numerics, in_memory};
use crate::machine::values::{Arithmetic, Rules, Values};

/// Executes `store`: casts and post-processes the partial sums and writes them to memory.
///
/// Source: specification, sections 4.5 to 4.7.
pub(super) fn store<V: Values>(
    state: &mut State<V>,
    memory: &mut V::Memory,
    numerics: Numerics<'_>,
    access: &Access,
) -> Result<(), FaultKind> {
    let State { registers, ifm, ofm, ledger, .. } = state;
    let work = Work::new(registers, ifm, ofm)?;
    in_memory(access)?;
    if numerics.arithmetic == Arithmetic::Absent {
        return Ok(());
    }
    let (result, saturated) = work.result(numerics, ledger);
    V::store(memory, access, numerics.types.itype, &result);
    state.saturated += saturated;
    Ok(())
}

/// Returns the values that a `store` in this state would write.
///
/// # Errors
///
/// The errors of `store`, except for its addresses.
pub(super) fn result(state: &State, numerics: Numerics<'_>) -> Result<Array, FaultKind> {
    state.registers.ofm_memory("ofm_addr")?;
    let work = Work::new(&state.registers, &state.ifm, &state.ofm)?;
    let Shape { h, w, c } = work.pool.result(work.shape);
    let (elements, _) = work.result(numerics, &mut ());
    Ok(Array { data_type: numerics.types.itype, shape: vec![h as usize, w as usize, c as usize], elements })
}

/// Inputs of a store.
struct Work<'a, V> {
    ofm: &'a Array<V>,
    shape: Shape,
    post: Post,
    pool: Pool,
    /// Residual operand and its shape; `None` without a residual.
    ifm: Option<(&'a Array<V>, Shape)>,
}

/// Values between the steps, with their shape.
struct Stage<T> {
    shape: Shape,
    values: Vec<T>,
}

impl<'a, V: Values> Work<'a, V> {
    /// Checks everything that can fault, except addresses.
    fn new(
        registers: &Registers,
        ifm: &'a BufferContent<V>,
        ofm: &'a BufferContent<V>,
    ) -> Result<Self, FaultKind> {
        let (shape, post, pool) = (registers.ofm_shape()?, registers.post()?, registers.pool()?);
        let ifm = match post.res {
            true => Some((ifm.get()?, registers.ifm_shape()?)),
            false => None,
        };
        let ofm = ofm.get()?;
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

    /// Returns the result, and the number of partial sums that were out of range.
    fn result(&self, Numerics { types, arithmetic, .. }: Numerics<'_>, ledger: &mut V::Ledger) -> (V, u64) {
        let rules = V::rules(types, arithmetic);
        let channels = self.shape.c as usize;
        let values = rules.cast(&self.ofm.elements, channels, ledger);
        let mut stage = Stage { shape: self.shape, values };
        let saturated = V::saturated(types, &self.ofm.elements);
        match self.post.order {
            Order::ActResPool => {
                rules.activate(self.post.act, &mut stage.values, channels, ledger);
                self.add_residual(&rules, &mut stage, ledger);
                stage = pooled::<V>(&rules, stage, self.pool, ledger);
            }
            Order::ResActPool => {
                self.add_residual(&rules, &mut stage, ledger);
                rules.activate(self.post.act, &mut stage.values, channels, ledger);
                stage = pooled::<V>(&rules, stage, self.pool, ledger);
            }
            Order::ActPoolRes => {
                rules.activate(self.post.act, &mut stage.values, channels, ledger);
                stage = pooled::<V>(&rules, stage, self.pool, ledger);
                self.add_residual(&rules, &mut stage, ledger);
            }
        }
        (V::of(types.itype, stage.values), saturated)
    }

    fn add_residual(&self, rules: &V::Rules, stage: &mut Stage<V::Scalar>, ledger: &mut V::Ledger) {
        let Some((ifm, ifm_shape)) = self.ifm else { return };
        let (w, c) = (stage.shape.w as usize, stage.shape.c as usize);
        for (index, values) in stage.values.chunks_mut(c).enumerate() {
            let first = (index / w * ifm_shape.w as usize + index % w) * ifm_shape.c as usize;
            for (k, value) in values.iter_mut().enumerate() {
                *value = rules.sum(value, ifm.elements.at(first + k), k, ledger);
            }
        }
    }
}

fn pooled<V: Values>(
    rules: &V::Rules,
    stage: Stage<V::Scalar>,
    pool: Pool,
    ledger: &mut V::Ledger,
) -> Stage<V::Scalar> {
    if pool == Pool::NONE {
        return stage;
    }
    let shape = pool.result(stage.shape);
    let (width, c) = (stage.shape.w as usize, shape.c as usize);
    let mut values: Vec<V::Scalar> = Vec::with_capacity(shape.elements());
    for (i, j) in (0..shape.h as usize).flat_map(|i| (0..shape.w as usize).map(move |j| (i, j))) {
        let first = values.len();
        for (a, b) in (0..pool.h as usize).flat_map(|a| (0..pool.w as usize).map(move |b| (a, b))) {
            let (y, x) = (i * pool.stride_h as usize + a, j * pool.stride_w as usize + b);
            let pixel = &stage.values[(y * width + x) * c..][..c];
            if values.len() == first {
                values.extend_from_slice(pixel);
                continue;
            }
            let best = values[first..].iter_mut().zip(pixel);
            best.for_each(|(best, value)| *best = rules.greater(best, value, ledger));
        }
    }
    Stage { shape, values }
}
