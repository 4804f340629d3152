//! Meaning of the instructions: one function each, on a [`State`]. Source: the TCU specification,
//! 4.
//!
//! [`step`] is the entry point. Ranges and SIMD forms have been checked by [`crate::check`].

use npukit_numeric::{Number, Rows};

use crate::config::Config;
use crate::isa::fault::FaultKind;
use crate::isa::op::{DataMoveKind, Memory, Op, SimdOp, SimdSub, Strided};
use crate::machine::arith::{Arithmetic, Weights};
use crate::machine::state::{CHUNK, State};

/// Executes a checked instruction.
///
/// # Errors
///
/// Lookups whose tables are not loaded.
pub(crate) fn step<A: Arithmetic>(state: &mut State<A>, config: &Config, op: &Op) -> Result<(), FaultKind> {
    state.configuration.count();
    match *op {
        Op::NoOp | Op::Wait { .. } | Op::Unassigned { .. } => {}
        Op::MatMul { accumulate, zeroes: true, accumulator, size, .. } => {
            mat_mul_zeroes(state, accumulate, accumulator, size);
        }
        Op::MatMul { accumulate, zeroes: false, local, accumulator, size } => {
            mat_mul(state, accumulate, local, accumulator, size);
        }
        Op::DataMove { kind, local, other, size } => data_move(state, kind, local, other, size),
        Op::LoadWeights { zeroes, local, size } => load_weights(state, zeroes, local, size),
        Op::Simd { read, write, accumulate, write_address, read_address, sub } if sub.op == SimdOp::NoOp => {
            external(state, read.then_some(read_address), write.then_some(accumulate), write_address);
        }
        Op::Simd { read, write, accumulate, write_address, read_address, sub } => {
            let read = read.then_some(read_address);
            let write = write.then_some((write_address, accumulate));
            return simd(state, config, read, write, sub);
        }
        Op::LoadLut { local, table, size } => load_lut(state, local, table, size),
        Op::Configure { register, value } => configure(state, config, register, value),
    }
    Ok(())
}

/// Multiplies rows of local memory by the weights, into the accumulators.
///
/// Shapes: input `[size, N]`, weights `[N + 1, N]` with the bias first, output `[size, N]`. With
/// `accumulate` the complete row sum is added to the old value, in a separate saturating step.
///
/// Source: specification, sections 4 and 5.3.
fn mat_mul<A: Arithmetic>(
    state: &mut State<A>,
    accumulate: bool,
    local: Strided,
    accumulator: Strided,
    size: u64,
) {
    // All results of a chunk are computed before the first is stored. Local memory and accumulators
    // are separate, so the result equals row-by-row storing.
    for first in (0..size).step_by(CHUNK as usize) {
        let count = CHUNK.min(size - first);
        // A single row has no successor, so its stride is ignored. The stride may be too large for
        // a shift.
        let pitch = if count == 1 { 0 } else { state.lanes << local.stride_log2 };
        let rows = Rows { values: state.local.from(local.at(first)), pitch, count: count as usize };
        let results = &mut state.results[..count as usize * state.lanes];
        A::product(&state.weights, rows, results, &mut state.ledger);
        store_results(state, accumulate, accumulator.from(first), count);
        keep_output(state, count);
    }
}

/// Keeps the last of `count` result vectors as the array's output, if an instruction can read it.
fn keep_output<A: Arithmetic>(state: &mut State<A>, count: u64) {
    let State { results, output, lanes, .. } = state;
    if let Some(last) = results.chunks_exact(*lanes).nth(count as usize - 1).filter(|_| !output.is_empty()) {
        output.clone_from_slice(last);
    }
}

/// Like [`mat_mul`] with rows of zeros; all results are equal.
///
/// Source: specification, section 4.
fn mat_mul_zeroes<A: Arithmetic>(state: &mut State<A>, accumulate: bool, accumulator: Strided, size: u64) {
    // The product is computed, not copied from the bias: with floats, 0 times an infinite weight is
    // NaN.
    state.sum.fill(A::Scalar::default());
    let rows = Rows { values: &state.sum, pitch: 0, count: 1 };
    A::product(&state.weights, rows, &mut state.results[..state.lanes], &mut state.ledger);
    for i in 0..size {
        store_results(state, accumulate, accumulator.from(i), 1);
    }
    keep_output(state, 1);
}

/// Stores the first `count` result vectors in the accumulators.
fn store_results<A: Arithmetic>(state: &mut State<A>, accumulate: bool, to: Strided, count: u64) {
    let State { results, accumulators, sum, ledger, lanes, .. } = state;
    for (i, result) in (0..count).zip(results.chunks_exact(*lanes)) {
        let place = accumulators.vector_mut(to.at(i));
        store::<A>(place, result, accumulate, sum, ledger);
    }
}

/// Writes `value` to `place`, or adds it to the old value.
fn store<A: Arithmetic>(
    place: &mut [A::Scalar],
    value: &[A::Scalar],
    accumulate: bool,
    sum: &mut [A::Scalar],
    ledger: &mut A::Ledger,
) {
    if accumulate {
        A::operate(SimdOp::Add, place, value, sum, ledger);
        place.clone_from_slice(sum);
    } else {
        place.clone_from_slice(value);
    }
}

/// Copies `size` vectors between local memory and another memory.
///
/// Source: specification, section 4.
fn data_move<A: Arithmetic>(
    state: &mut State<A>,
    kind: DataMoveKind,
    local: Strided,
    other: Strided,
    size: u64,
) {
    // Vectors that are contiguous in both memories are copied at once. The stride of a single
    // vector does not matter.
    let straight = size == 1 || (local.stride_log2 == 0 && other.stride_log2 == 0);
    let (pieces, count) = if straight { (1, size) } else { (size, 1) };
    for i in 0..pieces {
        move_piece(state, kind, local.at(i), other.at(i), count);
    }
}

/// Copies `count` vectors that are contiguous on both sides.
fn move_piece<A: Arithmetic>(state: &mut State<A>, kind: DataMoveKind, local: u64, other: u64, count: u64) {
    let State { dram0, dram1, local: memory, accumulators, sum, ledger, lanes, .. } = state;
    match kind {
        DataMoveKind::Dram0ToLocal => dram0.read(other, memory.vectors_mut(local, count)),
        DataMoveKind::LocalToDram0 => dram0.write(other, memory.vectors(local, count)),
        DataMoveKind::Dram1ToLocal => dram1.read(other, memory.vectors_mut(local, count)),
        DataMoveKind::LocalToDram1 => dram1.write(other, memory.vectors(local, count)),
        DataMoveKind::AccumulatorToLocal => {
            memory.vectors_mut(local, count).clone_from_slice(accumulators.vectors(other, count));
        }
        DataMoveKind::LocalToAccumulator => {
            accumulators.vectors_mut(other, count).clone_from_slice(memory.vectors(local, count));
        }
        DataMoveKind::LocalToAccumulatorAccumulate => {
            let places = accumulators.vectors_mut(other, count).chunks_exact_mut(*lanes);
            for (place, value) in places.zip(memory.vectors(local, count).chunks_exact(*lanes)) {
                store::<A>(place, value, true, sum, ledger);
            }
        }
    }
}

/// Shifts `size` rows into the array, the highest address first.
///
/// Afterwards row `k` is vector `k` of the run. Rows shifted past the last are lost, so of a run
/// longer than N + 1 vectors the lowest addresses remain.
///
/// Source: specification, section 4.
fn load_weights<A: Arithmetic>(state: &mut State<A>, zeroes: bool, local: Strided, size: u64) {
    // Only the last N + 1 rows stay in the array, so further rows are skipped.
    let rows = size.min(state.lanes as u64 + 1);
    state.weights.shift(rows as usize);
    for k in 0..rows {
        if zeroes {
            state.weights.clear_row(k as usize);
        } else {
            state.weights.set_row(k as usize, state.local.vector(local.at(k)));
        }
    }
}

/// Passes one vector through the ALUs, to the destination register and, with `write`, also to the
/// accumulators.
///
/// `write` is an address and whether to add to its old value. As in hardware, the output goes to
/// both places; Tensil's emulator writes only the register.
///
/// Source: specification, section 4.1.
fn simd<A: Arithmetic>(
    state: &mut State<A>,
    config: &Config,
    read: Option<u64>,
    write: Option<(u64, bool)>,
    sub: SimdSub,
) -> Result<(), FaultKind> {
    if sub.op == SimdOp::Lookup {
        lookup(state, config, read, sub)?;
    } else {
        operate(state, read, sub);
    }
    let State { results, sum, accumulators, registers, ledger, lanes, .. } = state;
    let output = &results[..*lanes];
    if sub.destination != 0 {
        register_mut(registers, sub.destination, *lanes).clone_from_slice(output);
    }
    if let Some((address, accumulate)) = write {
        store::<A>(accumulators.vector_mut(address), output, accumulate, sum, ledger);
    }
    Ok(())
}

/// Executes the moves of a SIMD NoOp, which only the instruction set specification defines. With
/// `read`, that accumulator goes to vector `to` of local memory. With `write`, the array's output
/// goes to accumulator `to`, or is added to it if the flag is true.
///
/// The specification defines the direction, but not the vectors. The array's output is taken as the
/// last computed row, and the address in local memory as the instruction's first operand. The read
/// takes place before the write.
fn external<A: Arithmetic>(state: &mut State<A>, read: Option<u64>, write: Option<bool>, to: u64) {
    let State { local, accumulators, output, sum, ledger, .. } = state;
    if let Some(from) = read {
        local.vector_mut(to).clone_from_slice(accumulators.vector(from));
    }
    if let Some(accumulate) = write {
        store::<A>(accumulators.vector_mut(to), output, accumulate, sum, ledger);
    }
}

/// Computes `op(left, right)` into the first result vector.
fn operate<A: Arithmetic>(state: &mut State<A>, read: Option<u64>, sub: SimdSub) {
    let State { results, accumulators, registers, ledger, lanes, .. } = state;
    let output = &mut results[..*lanes];
    if sub.op == SimdOp::Zero {
        // A NoOp ignores its sources, which may name a missing input.
        return output.fill(A::Scalar::default());
    }
    let input = read.map_or(&[][..], |address| accumulators.vector(address));
    let left = operand(sub.left, input, registers, *lanes);
    // An operation with one source ignores the right one, which may name a missing input.
    let right = if sub.op.arity() == 1 { left } else { operand(sub.right, input, registers, *lanes) };
    A::operate(sub.op, left, right, output, ledger);
}

/// Stores the difference to the closest key in the first result vector, and the values in
/// registers.
fn lookup<A: Arithmetic>(
    state: &mut State<A>,
    config: &Config,
    read: Option<u64>,
    sub: SimdSub,
) -> Result<(), FaultKind> {
    let State { results, sum, accumulators, registers, ledger, lanes, tables, .. } = state;
    let input = read.map_or(&[][..], |address| accumulators.vector(address));
    // The argument is copied because it may be in a register that a value replaces.
    sum.clone_from_slice(operand(sub.left, input, registers, *lanes));
    let mut values = vec![A::Scalar::default(); config.lookup_tables];
    for (lane, argument) in sum.iter().enumerate() {
        results[lane] = A::look_up(tables, argument, &mut values, ledger)?;
        // Validation ensures that destination + lookup_tables is an existing register.
        let from_destination = registers.chunks_exact_mut(*lanes).skip(sub.destination.into());
        for (register, value) in from_destination.zip(&values) {
            register[lane] = value.clone();
        }
    }
    Ok(())
}

/// Returns a source: the input or a register.
fn operand<'a, T>(source: u8, input: &'a [T], registers: &'a [T], lanes: usize) -> &'a [T] {
    match source {
        0 => input,
        k => register(registers, k, lanes),
    }
}

/// Returns a register; numbers start at 1.
pub(crate) fn register<T>(registers: &[T], register: u8, lanes: usize) -> &[T] {
    &registers[(usize::from(register) - 1) * lanes..][..lanes]
}

/// Returns a register for writing; numbers start at 1.
pub(crate) fn register_mut<T>(registers: &mut [T], register: u8, lanes: usize) -> &mut [T] {
    &mut registers[(usize::from(register) - 1) * lanes..][..lanes]
}

/// Replaces a lookup table by the scalars of `size` vectors.
fn load_lut<A: Arithmetic>(state: &mut State<A>, local: Strided, table: u64, size: u64) {
    let vectors = (0..size).flat_map(|i| state.local.vector(local.at(i)));
    let entries = vectors.cloned().collect();
    state.tables.load(table, entries);
}

/// Writes a configuration register. A write to the program counter is not counted itself, and an
/// offset moves the window on its bank.
///
/// Source: specification, section 9.8.
fn configure<A: Arithmetic>(state: &mut State<A>, config: &Config, register: u8, value: u32) {
    let State { configuration, dram0, dram1, .. } = state;
    configuration.configure(register, value);
    // Units of 64 KiB contain whole scalars, but not always whole vectors.
    let scalars = |memory| configuration.offset_bytes(memory) / config.data_type.size_bytes() as u64;
    dram0.set_origin(scalars(Memory::Dram0));
    dram1.set_origin(scalars(Memory::Dram1));
}

/// Copies raw scalars out of a memory.
pub(crate) fn read_raw<F: Number>(
    state: &State<F>,
    memory: Memory,
    address: u64,
    scalars: usize,
) -> Vec<i32> {
    let mut values = vec![F::Raw::default(); scalars];
    state.read(memory, address, &mut values);
    raw_of::<F>(&values)
}

/// Converts scalars to raw numbers.
pub(crate) fn raw_of<F: Number>(values: &[F::Raw]) -> Vec<i32> {
    values.iter().map(|&value| F::to_raw(value)).collect()
}

/// Converts raw numbers to scalars.
pub(crate) fn scalars_of<F: Number>(raw: &[i32]) -> Vec<F::Raw> {
    raw.iter().map(|&value| F::from_raw(value)).collect()
}

/// Copies raw scalars into a memory.
pub(crate) fn write_raw<F: Number>(state: &mut State<F>, memory: Memory, address: u64, raw: &[i32]) {
    state.write(memory, address, &scalars_of::<F>(raw));
}
