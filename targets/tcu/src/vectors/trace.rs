//! `rtl_sequences*_trace.json`: times of the events in the programs of the sequences file next to
//! it.
//!
//! The clock gives the cycles of a unit's first and last event for each instruction. Events of one
//! kind are in instruction order, so the file's events are assigned to instructions by the number
//! that each has. Addresses of bursts and responses to writes are not compared, since the clock
//! only knows their number.

use std::sync::Arc;

use npukit_target::{Case, sibling};
use serde_json::Value;

use super::sequences::{Setting, cycles_of, setting};
use super::{Golden, cycles, from_hex};
use crate::clock::Unit;
use crate::config::json_fields::{JsonFields, KeyError};
use crate::isa::codec::decode_program_lenient;
use crate::isa::op::{DataMoveKind, Op};

/// The kinds of events that are compared.
const KINDS: [&str; 8] = [
    "acc_write",
    "local_write_a",
    "local_write_b",
    "weight_load",
    "dram0_r",
    "dram0_w",
    "dram1_r",
    "dram1_w",
];

/// Returns one case per program and latency; a single one for the file if the file with its
/// programs is absent.
pub(super) fn cases(golden: &Golden<'_>) -> Result<Vec<Case>, KeyError> {
    let programs = golden.path.strip_suffix("_trace.json").map(|path| format!("{path}.json"));
    let name = programs.as_deref().and_then(|path| path.rsplit(['/', '\\']).next());
    let bytes = name.and_then(|name| golden.files.read(&sibling(golden.path, name).ok()?).ok());
    let Some(value) = bytes.and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok()) else {
        return Ok(vec![Case::skipped("traces", "the file with their programs is missing")]);
    };
    let keys = JsonFields::root(name.unwrap_or(golden.path), &value)?;
    let setting = Arc::new(setting(&keys)?);
    let mut cases = Vec::new();
    for (program, trace) in keys.list("programs")?.iter().zip(golden.keys.list("programs")?) {
        let id = trace.string("id")?;
        if program.string("id")? != id {
            return Err(trace.error("id", "is not the id of the program at the same place"));
        }
        for (latency, run) in trace.keys("runs")?.objects()? {
            let (name, latency) = (format!("{id} events at latency {latency}"), cycles_of(latency, &run)?);
            let (program, setting) = (from_hex(program, "program")?, Arc::clone(&setting));
            let events = KINDS.iter().map(|kind| happened(&run, kind)).collect::<Result<Vec<_>, _>>()?;
            cases.push(Case::new(name, move || {
                let compared = first_and_last(&setting, latency, &program, &events);
                cycles::outcome(
                    "a run to the end",
                    compared.map(|[expected, got]| cycles::compare(&expected, &got)),
                )
            }));
        }
    }
    Ok(cases)
}

/// Returns the cycles of events, from pairs of a first cycle and a number of cycles.
fn happened(run: &JsonFields<'_>, kind: &str) -> Result<Vec<u64>, KeyError> {
    let pairs = run.numbers(kind)?;
    let longest = |pair: &[usize]| pair.get(1).is_none_or(|&length| length > LONGEST_RUN);
    if pairs.chunks(2).any(longest) {
        return Err(run.error(kind, format!("must be pairs of a cycle and a number up to {LONGEST_RUN}")));
    }
    let cycles =
        pairs.chunks_exact(2).flat_map(|pair| (0..pair[1]).map(move |i| pair[0].saturating_add(i) as u64));
    Ok(cycles.collect())
}

/// Limit of the number that a file can request.
const LONGEST_RUN: usize = 1 << 20;

/// Returns the first and last events of each instruction, by the file and by the clock. They are
/// followed, for each kind, by the number of the file's events that no instruction has; it must be
/// 0.
fn first_and_last(
    setting: &Setting,
    latency: u64,
    program: &[u8],
    events: &[Vec<u64>],
) -> Result<[Vec<u64>; 2], String> {
    let ops = decode_program_lenient(&setting.config, program).map_err(|error| error.to_string())?;
    let mut left: Vec<&[u64]> = events.iter().map(Vec::as_slice).collect();
    let (mut expected, mut got) = (Vec::new(), Vec::new());
    setting.observed(latency, &ops, &mut |slice| {
        let op = &ops[slice.instruction];
        let Some((kind, count)) = kind(slice.unit, op, setting.beats()) else { return };
        let (own, rest) = left[kind].split_at(left[kind].len().min(count));
        left[kind] = rest;
        let ends = [own.first(), own.last()].map(|cycle| cycle.copied().unwrap_or(u64::MAX));
        // A SIMD instruction's read is its first access.
        let first = if matches!(op, Op::Simd { .. }) { slice.end } else { slice.start };
        expected.extend(ends);
        got.extend([first, slice.end]);
    })?;
    expected.extend(left.iter().map(|left| left.len() as u64));
    got.extend(left.iter().map(|_| 0));
    Ok([expected, got])
}

/// Returns the index in [`KINDS`] of a unit's events for an instruction, and their number.
fn kind(unit: Unit, op: &Op, beats: usize) -> Option<(usize, usize)> {
    let (kind, vectors, beats) = match (unit, op) {
        (Unit::Accumulator, Op::MatMul { size, .. }) => (0, *size, 1),
        (Unit::Accumulator, Op::Simd { write: true, .. }) => (0, 1, 1),
        (Unit::Array, Op::LoadWeights { size, .. }) => (3, *size, 1),
        (unit, Op::DataMove { kind, size, .. }) => match (unit, kind) {
            (
                Unit::Accumulator,
                DataMoveKind::LocalToAccumulator | DataMoveKind::LocalToAccumulatorAccumulate,
            ) => (0, *size, 1),
            (Unit::LocalA, DataMoveKind::AccumulatorToLocal) => (1, *size, 1),
            (Unit::LocalB, DataMoveKind::Dram0ToLocal | DataMoveKind::Dram1ToLocal) => (2, *size, 1),
            (Unit::Dram0Read, _) => (4, *size, beats),
            (Unit::Dram0Write, _) => (5, *size, beats),
            (Unit::Dram1Read, _) => (6, *size, beats),
            (Unit::Dram1Write, _) => (7, *size, beats),
            _ => return None,
        },
        _ => return None,
    };
    Some((kind, vectors as usize * beats))
}
