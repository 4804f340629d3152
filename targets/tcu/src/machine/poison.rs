//! Content of unwritten parts of the machine: garbage, or poison that no instruction may read.
//!
//! [`fill`] and [`poison`] prepare a [`State`] after its reset; [`check`] is called before each
//! instruction.

use npukit_target::sim::garbage;

use crate::isa::fault::FaultKind;
use crate::isa::op::{Flow, Memory, Op, Path, Place, SimdOp, SimdSub};
use crate::machine::arith::{Arithmetic, Weights};
use crate::machine::state::{Set, State};

/// Fills all memories, the weights and the registers with garbage.
///
/// `scalar` converts sixteen bits to a scalar. Garbage is finite: unloaded rows of the array are
/// multiplied by zeros, and with finite numbers the result is zero, as in integer hardware.
pub(crate) fn fill<A: Arithmetic>(state: &mut State<A>, seed: u64, scalar: impl Fn(i16) -> A::Scalar) {
    let mut bits = garbage(seed);
    fill_with(state, || scalar(bits() as i16));
}

/// Fills all memories, the weights and the registers with scalars from `next`.
pub(crate) fn fill_with<A: Arithmetic>(state: &mut State<A>, mut next: impl FnMut() -> A::Scalar) {
    state.dram0.fill_with(&mut next);
    state.dram1.fill_with(&mut next);
    state.local.fill_with(&mut next);
    state.accumulators.fill_with(&mut next);
    state.registers.fill_with(&mut next);
    state.output.fill_with(&mut next);
    for k in 0..=state.lanes {
        let row: Vec<A::Scalar> = (0..state.lanes).map(|_| next()).collect();
        state.weights.set_row(k, &row);
    }
}

/// Marks everything as unwritten.
pub(crate) fn poison<A: Arithmetic>(state: &mut State<A>) {
    state.dram0.poison();
    state.dram1.poison();
    state.local.poison();
    state.accumulators.poison();
    let (rows, registers) = (vec![false; state.lanes + 1], vec![false; state.registers.len() / state.lanes]);
    state.poison = Some(Set { rows, registers, output: false });
}

/// Checks that everything `op` reads was written, and marks what it writes. Its ranges have been
/// checked.
///
/// # Errors
///
/// The first unwritten place.
pub(crate) fn check<A: Arithmetic>(state: &mut State<A>, tables: usize, op: &Op) -> Result<(), FaultKind> {
    let flow = op.flow();
    if flow.path == Path::Array {
        state.rows_set(rows_needed(&flow, state.lanes))?;
    }
    flow.reads().try_for_each(|place| state.run_set(place, flow.size))?;
    match (flow.path, &mut state.poison) {
        // This SIMD writes the array's output, which must be set.
        (Path::Alus(SimdSub { op: SimdOp::NoOp, .. }), Some(set)) if flow.target.is_some() && !set.output => {
            return Err(FaultKind::OutputUnset);
        }
        (Path::Alus(SimdSub { op: SimdOp::NoOp, .. }), _) => {}
        (Path::Alus(sub), _) => state.registers_set(sub, tables)?,
        (Path::Array, Some(set)) => set.output = true,
        (Path::Weights, Some(set)) => set.shift(flow.size),
        _ => {}
    }
    Ok(())
}

/// Returns the number of rows that a product uses, the bias first: a product of zeros uses only the
/// bias.
fn rows_needed(flow: &Flow, lanes: usize) -> usize {
    if flow.source.is_none() { 1 } else { lanes + 1 }
}

impl<A: Arithmetic> State<A> {
    /// Returns the first of `vectors` vectors, starting at `address`, that was never written.
    pub(crate) fn unset(&self, memory: Memory, address: u64, vectors: u64) -> Option<u64> {
        let scalars = vectors as usize * self.lanes;
        match memory {
            Memory::Dram0 => self.dram0.unwritten(address, scalars),
            Memory::Dram1 => self.dram1.unwritten(address, scalars),
            Memory::Local => self.local.unwritten(address, vectors),
            Memory::Accumulators => self.accumulators.unwritten(address, vectors),
        }
    }

    fn run_set(&self, Place { memory, run }: Place, size: u64) -> Result<(), FaultKind> {
        let (pieces, count) = if run.stride_log2 == 0 { (1.min(size), size) } else { (size, 1) };
        let mut addresses = (0..pieces).map(|i| run.address + (i << run.stride_log2));
        match addresses.find_map(|address| self.unset(memory, address, count)) {
            Some(address) => Err(FaultKind::Unset { memory, address }),
            None => Ok(()),
        }
    }

    fn rows_set(&self, needed: usize) -> Result<(), FaultKind> {
        let Some(set) = &self.poison else { return Ok(()) };
        let rows = set.rows.iter().take(needed).filter(|&&is_set| is_set).count();
        if rows < needed {
            return Err(FaultKind::WeightsUnset { rows: rows as u64, needed: needed as u64 });
        }
        Ok(())
    }

    /// Marks a row of the array as written.
    pub(crate) fn note_row(&mut self, row: usize) {
        let flag = self.poison.as_mut().and_then(|set| set.rows.get_mut(row));
        flag.into_iter().for_each(|is_set| *is_set = true);
    }

    /// Marks a register as written; numbers start at 1.
    pub(crate) fn note_register(&mut self, register: u8) {
        let index = usize::from(register).checked_sub(1);
        let flag = self.poison.as_mut().and_then(|set| set.registers.get_mut(index?));
        flag.into_iter().for_each(|is_set| *is_set = true);
    }

    /// Marks everything that `op` reads as written; the content is kept. Its ranges have been
    /// checked.
    pub(crate) fn settle(&mut self, op: &Op) {
        let flow = op.flow();
        for Place { memory, run } in flow.reads() {
            for address in (0..flow.size).map(|i| run.at(i)) {
                if self.unset(memory, address, 1).is_some() {
                    let mut held = vec![A::Scalar::default(); self.lanes];
                    self.read(memory, address, &mut held);
                    self.write(memory, address, &held);
                }
            }
        }
        match flow.path {
            Path::Array => (0..rows_needed(&flow, self.lanes)).for_each(|row| self.note_row(row)),
            Path::Alus(SimdSub { op: SimdOp::NoOp, .. }) => {
                self.poison.iter_mut().for_each(|set| set.output = true);
            }
            Path::Alus(sub) => {
                [sub.left, sub.right].into_iter().for_each(|source| self.note_register(source))
            }
            _ => {}
        }
    }

    /// Checks the registers that a SIMD reads, and marks its destination.
    fn registers_set(&mut self, sub: SimdSub, tables: usize) -> Result<(), FaultKind> {
        let Some(set) = &mut self.poison else { return Ok(()) };
        let sources = [sub.left, sub.right];
        let unset = |source: &&u8| **source != 0 && !set.registers[usize::from(**source) - 1];
        if let Some(&register) = sources[..sub.op.arity()].iter().find(unset) {
            return Err(FaultKind::RegisterUnset { register });
        }
        let first = usize::from(sub.destination);
        let set_now = match sub.op {
            // A lookup writes its values to consecutive registers starting at the destination, or
            // at register 1 if the destination is 0.
            SimdOp::Lookup => first.saturating_sub(1)..first + tables,
            _ => first.saturating_sub(1)..first,
        };
        set.registers.iter_mut().take(set_now.end).skip(set_now.start).for_each(|set| *set = true);
        Ok(())
    }
}
