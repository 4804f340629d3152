//! Execution of instructions: [`step`], with one named function per instruction.

use crate::isa::op::Op;
use crate::machine::state::{FORMAT, FaultKind, State};

/// Executes one instruction.
///
/// # Errors
///
/// [`FaultKind`]; the state is unchanged then.
pub fn step(state: &mut State, op: &Op) -> Result<(), FaultKind> {
    match *op {
        Op::End => Ok(()),
        Op::Add { dst, left, right, n } => add(state, dst, [left, right], n),
        Op::Relu { dst, src, n } => relu(state, dst, src, n),
        Op::Dot { dst, left, right, n } => dot(state, dst, [left, right], n),
    }
}

/// `add`: sums saturate.
fn add(state: &mut State, dst: u32, [left, right]: [u32; 2], n: u32) -> Result<(), FaultKind> {
    let (left, right) = (state.read(left, n)?, state.read(right, n)?);
    let mut saturated = 0;
    for ((sum, &left), &right) in state.write(dst, n)?.iter_mut().zip(&left).zip(&right) {
        let exact = i64::from(left) + i64::from(right);
        let stored = FORMAT.saturate(exact);
        saturated += u64::from(stored != exact);
        *sum = stored as i16;
    }
    state.saturated += saturated;
    Ok(())
}

/// `relu`: `max(x, 0)`.
fn relu(state: &mut State, dst: u32, src: u32, n: u32) -> Result<(), FaultKind> {
    let src = state.read(src, n)?;
    let results = state.write(dst, n)?.iter_mut().zip(&src);
    results.for_each(|(result, &x)| *result = x.max(0));
    Ok(())
}

/// `dot`: the sum of products is exact, then rounded half to even; it saturates.
fn dot(state: &mut State, dst: u32, [left, right]: [u32; 2], n: u32) -> Result<(), FaultKind> {
    let (left, right) = (state.read(left, n)?, state.read(right, n)?);
    let exact: i64 = left.iter().zip(&right).map(|(&left, &right)| i64::from(left) * i64::from(right)).sum();
    let rounded = FORMAT.round_half_even(exact);
    let stored = FORMAT.saturate(rounded);
    state.write(dst, 1)?.fill(stored as i16);
    state.saturated += u64::from(stored != rounded);
    Ok(())
}
