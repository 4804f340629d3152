//! `numerics.json`: conversions, bytes, SIMD operations and array rows of every fixed-point format.
//!
//! The machine's results come from instructions on a small instance, not from calls of the
//! arithmetic.

use npukit_target::{Case, Outcome};

use super::encoding::simd_op;
use super::{Golden, execute, from_hex, hex};
use crate::config::json_fields::{JsonFields, KeyError};
use crate::config::{Config, DataType, Overlap, Reading};
use crate::isa::op::{DataMoveKind, Memory, Op, SimdOp, SimdSub, Strided};
use crate::program::artifact::{raw_from_bytes, raw_to_bytes};

/// Creates the case of one vector; the text is its name.
type Make = fn(String, &JsonFields<'_>) -> Result<Case, KeyError>;

pub(super) fn cases(golden: &Golden<'_>) -> Result<Vec<Case>, KeyError> {
    let lists: [(&str, Make); 6] = [
        ("from_float", from_float),
        ("bytes", bytes),
        ("simd", simd),
        ("mac", mac),
        ("matmul_row", matmul_row),
        ("host_conversion_differences", host_conversion),
    ];
    let mut cases = Vec::new();
    for (list, make) in lists {
        for (i, keys) in golden.keys.list(list)?.iter().enumerate() {
            cases.push(make(format!("{list}[{i}]"), keys)?);
        }
    }
    Ok(cases)
}

fn data_type(keys: &JsonFields<'_>) -> Result<DataType, KeyError> {
    let name = keys.string("type")?;
    DataType::from_name(name).ok_or_else(|| keys.error("type", format!("`{name}` is not a number format")))
}

fn from_float(name: String, keys: &JsonFields<'_>) -> Result<Case, KeyError> {
    let (data_type, expected) = (data_type(keys)?, keys.integer("raw")?);
    let bits = from_hex(keys, "float32_bits")?;
    let Ok(bits) = <[u8; 4]>::try_from(bits) else {
        return Err(keys.error("float32_bits", "must be 8 digits"));
    };
    let float = f32::from_be_bytes(bits);
    Ok(Case::new(name, move || Outcome::compare(&expected, &data_type.format().raw_from_f32(float))))
}

fn bytes(name: String, keys: &JsonFields<'_>) -> Result<Case, KeyError> {
    let (data_type, raw, expected) = (data_type(keys)?, keys.integer("raw")?, from_hex(keys, "hex")?);
    Ok(Case::new(name, move || {
        let written = raw_to_bytes(data_type, &[raw]);
        match raw_from_bytes(data_type, &expected) {
            Ok(read) if read == [raw] => Outcome::compare(&hex(&expected), &hex(&written)),
            Ok(read) => Outcome::compare(&format!("{raw}"), &format!("{read:?}")),
            Err(error) => Outcome::error(raw.to_string(), error),
        }
    }))
}

/// Checks the conversion rule on values given as multiples of the smallest step.
fn host_conversion(name: String, keys: &JsonFields<'_>) -> Result<Case, KeyError> {
    let (data_type, expected) = (data_type(keys)?, keys.integer("compiler_and_emulator_tool")?);
    let scaled = keys.required("scaled_value")?.as_f64();
    let scaled = scaled.ok_or_else(|| keys.error("scaled_value", "must be a number"))?;
    let one = f64::from(data_type.format().raw_from_f32(1.0));
    let float = (scaled / one) as f32;
    Ok(Case::new(name, move || Outcome::compare(&expected, &data_type.format().raw_from_f32(float))))
}

/// Returns an instance that is just large enough.
fn small(data_type: DataType, array_size: usize) -> Config {
    const DEPTH: u64 = 64;
    Config {
        data_type,
        array_size,
        dram0_depth: DEPTH,
        dram1_depth: DEPTH,
        local_depth: DEPTH,
        accumulator_depth: DEPTH,
        simd_registers_depth: 1,
        stride0_depth: 1,
        stride1_depth: 1,
        number_of_threads: 1,
        thread_queue_depth: 8,
        lookup_tables: 0,
        lookup_depth: 0,
        sample_block_size: 0,
        reading: Reading::Released,
        overlap: Overlap::RELEASED,
        registered_rows: false,
    }
}

const fn at(address: u64) -> Strided {
    Strided { address, stride_log2: 0 }
}

const fn to_accumulators(local: u64, accumulator: u64, size: u64) -> Op {
    let kind = DataMoveKind::LocalToAccumulator;
    Op::DataMove { kind, local: at(local), other: at(accumulator), size }
}

/// Runs `ops` with `rows` in local memory, starting at vector 0; returns accumulator vector
/// `result`.
fn run(config: &Config, rows: &[i32], ops: &[Op], result: u64) -> Result<Vec<i32>, String> {
    let mut machine = execute::machine(config)?;
    execute::write(&mut machine, Memory::Local, 0, rows)?;
    execute::run(&mut machine, ops)?;
    machine.read(Memory::Accumulators, result, 1).map_err(|error| error.to_string())
}

fn compare(expected: &[i32], got: Result<Vec<i32>, String>) -> Outcome {
    match got {
        Ok(got) => Outcome::compare(&format!("{expected:?}"), &format!("{got:?}")),
        Err(error) => Outcome::error(format!("{expected:?}"), error),
    }
}

/// Checks a SIMD operation: `left` comes from the accumulators, `right` from register 1.
fn simd(name: String, keys: &JsonFields<'_>) -> Result<Case, KeyError> {
    let (data_type, op) = (data_type(keys)?, simd_op(keys, "op")?);
    let operands = [keys.integer("left")?, keys.integer("right")?];
    let expected = keys.integer("result")?;
    Ok(Case::new(format!("{name} {}", op.name()), move || {
        let read = op != SimdOp::Zero;
        let step = |op, read, read_address, write, right, destination| Op::Simd {
            read,
            write,
            accumulate: false,
            write_address: 2,
            read_address,
            sub: SimdSub { op, left: 0, right, destination },
        };
        let load_right = step(SimdOp::Move, true, 1, false, 0, 1);
        let ops = [to_accumulators(0, 0, 2), load_right, step(op, read, 0, true, 1, 0)];
        compare(&[expected], run(&small(data_type, 1), &operands, &ops, 2))
    }))
}

/// Checks `mac(x, y, z)` as a row of an array with one lane: bias `z`, weight `y`, input `x`.
fn mac(name: String, keys: &JsonFields<'_>) -> Result<Case, KeyError> {
    let (data_type, expected) = (data_type(keys)?, keys.integer("result")?);
    let rows = [keys.integer("z")?, keys.integer("y")?, keys.integer("x")?];
    Ok(Case::new(name, move || {
        let ops = [load_weights(2), mat_mul(2, false)];
        compare(&[expected], run(&small(data_type, 1), &rows, &ops, 0))
    }))
}

const fn load_weights(size: u64) -> Op {
    Op::LoadWeights { zeroes: false, local: at(0), size }
}

const fn mat_mul(local: u64, accumulate: bool) -> Op {
    Op::MatMul { accumulate, zeroes: false, local: at(local), accumulator: at(0), size: 1 }
}

/// Checks a row that overwrites an accumulator, and the same row added to the old value.
fn matmul_row(name: String, keys: &JsonFields<'_>) -> Result<Case, KeyError> {
    let data_type = data_type(keys)?;
    let weights = keys.rows("weights_rows_bias_first")?;
    let (input, before) = (keys.integers("input")?, keys.integers("accumulator_before")?);
    let (row, sum) = (keys.integers("result")?, keys.integers("accumulator_after_accumulate")?);
    let lanes = input.len();
    if lanes == 0 || lanes > 32 || weights.len() != lanes + 1 || weights.iter().any(|r| r.len() != lanes) {
        return Err(keys.error("weights_rows_bias_first", format!("must be {} rows of {lanes}", lanes + 1)));
    }
    Ok(Case::new(name, move || {
        let config = small(data_type, lanes);
        let rows: Vec<i32> = weights.into_iter().flatten().chain(input).chain(before).collect();
        let (loaded, place) = (lanes as u64 + 1, lanes as u64 + 2);
        let load = load_weights(loaded);
        let overwritten = run(&config, &rows, &[load, mat_mul(loaded, false)], 0);
        let added = run(&config, &rows, &[load, to_accumulators(place, 0, 1), mat_mul(loaded, true)], 0);
        match compare(&row, overwritten) {
            Outcome::Passed => compare(&sum, added),
            failed => failed,
        }
    }))
}
