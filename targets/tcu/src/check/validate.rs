//! Static validation of a program: [`validate`].
//!
//! Errors are faults of the machine, including SIMD forms that hang, and deviations of the released
//! hardware ([`crate::clock::hazard`]). Warnings are suspicious instructions that do run.

use std::collections::BTreeMap;

use npukit_base::counted;

use crate::check::dataflow::{self, Around};
use crate::check::lints::{CUT_VALUE, LOST_WEIGHTS, NO_REGISTER, NOTHING_ACCUMULATED, SIMD_WAIT, STRIDE};
use crate::check::problem::Problem;
use crate::clock::hazard::{judge, moved_writes};
use crate::config::{ClockParams, Config, Reading, System, board};
use crate::isa::check::check;
use crate::isa::fault::FaultKind;
use crate::isa::op::{DataMoveKind, Memory, Op, Path, Place, Register, SimdOp};

/// Returns all problems of a program in instruction order, for a board with memory like the
/// ZCU104's.
pub fn validate(config: &Config, ops: &[Op]) -> Vec<Problem> {
    validate_with(config, ops, board::memory(config, &System::OPEN, None))
}

/// Returns all problems of a program in instruction order, for a board with `memory`.
pub fn validate_with(config: &Config, ops: &[Op], memory: ClockParams) -> Vec<Problem> {
    let mut problems: Vec<Problem> = judge(config, ops, memory).iter().map(Problem::lost).collect();
    problems.extend(moved_writes(config, ops, memory).iter().map(Problem::moved));
    problems.extend(by_instruction(config, ops));
    problems.sort_by_key(|problem| problem.instruction);
    problems
}

/// Like [`validate_with`], and also checks the use of on-chip memories.
pub(crate) fn validate_around(
    config: &Config,
    ops: &[Op],
    memory: ClockParams,
    around: &Around,
) -> Vec<Problem> {
    let mut problems = validate_with(config, ops, memory);
    problems.extend(dataflow::problems(config, ops, around));
    problems.sort_by_key(|problem| problem.instruction);
    problems
}

/// Checks each instruction with what was loaded before it.
fn by_instruction(config: &Config, ops: &[Op]) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut tables = Entries::default();
    let mut wait = Wait::default();
    for (i, op) in ops.iter().enumerate() {
        if config.reading == Reading::Seed {
            problems.extend(wait.follow(i, op));
        }
        let fault = check(config, op).err().or_else(|| tables.follow(config, op));
        problems.extend(fault.map(|kind| Problem::error(i, &kind)));
        warn(config, i, op, &mut problems);
    }
    problems
}

/// Number of instructions that the specification requires between a SIMD that writes accumulators
/// and a DataMove that reads them.
const WAIT: usize = 2;

/// Index of the last SIMD that writes.
#[derive(Default)]
struct Wait(Option<usize>);

impl Wait {
    /// Processes an instruction; returns a problem if a DataMove follows a SIMD too early.
    fn follow(&mut self, i: usize, op: &Op) -> Option<Problem> {
        match *op {
            Op::Simd { write: true, .. } => {
                self.0 = Some(i);
                None
            }
            Op::DataMove { kind: DataMoveKind::AccumulatorToLocal, .. } => {
                let between = i - self.0? - 1;
                let reason = format!(
                    "reads the accumulators {} after a SIMD that writes: the specification requires {WAIT} instructions in between",
                    counted(between as u64 + 1, "instruction")
                );
                let hint = "put NoOps in between; the released circuits need none, since the accumulators run commands \
                            in order: the 101 measured compiled programs have no wait and gave correct results";
                (between < WAIT).then(|| Problem::warning(i, SIMD_WAIT, reason, hint))
            }
            _ => None,
        }
    }
}

/// Number of entries loaded of each lookup table so far.
#[derive(Default)]
struct Entries(BTreeMap<u64, u64>);

impl Entries {
    /// Processes an instruction; returns a fault if a Lookup could miss its tables.
    fn follow(&mut self, config: &Config, op: &Op) -> Option<FaultKind> {
        match *op {
            Op::LoadLut { table, size, .. } => {
                self.0.insert(table, size.saturating_mul(config.array_size as u64));
                None
            }
            Op::Simd { sub, .. } if sub.op == SimdOp::Lookup => self.missing(config.lookup_tables),
            _ => None,
        }
    }

    fn missing(&self, tables: usize) -> Option<FaultKind> {
        let Some(&keys) = self.0.get(&0) else { return Some(FaultKind::IndexEmpty) };
        (1..=tables).find_map(|table| {
            // Default: a table that was never loaded has no entries.
            let entries = self.0.get(&(table as u64)).copied().unwrap_or(0);
            let (entry, entries) = (usize::try_from(keys - 1).ok()?, usize::try_from(entries).ok()?);
            (entry >= entries).then_some(FaultKind::EntryMissing { table, entry, entries })
        })
    }
}

fn warn(config: &Config, i: usize, op: &Op, problems: &mut Vec<Problem>) {
    let flow = op.flow();
    flow.places().into_iter().flatten().for_each(|place| stride(config, i, flow.path, place, problems));
    match *op {
        Op::LoadWeights { size, .. } => weights(config, i, size, problems),
        Op::Simd { write: false, accumulate: true, .. } => problems.push(Problem::warning(
            i,
            NOTHING_ACCUMULATED,
            "SIMD has the accumulate flag without the write flag: nothing is accumulated".to_owned(),
            "set the write flag, or drop accumulate",
        )),
        Op::Configure { register, value } => configure(config, i, register, value, problems),
        _ => {}
    }
}

fn stride(config: &Config, i: usize, path: Path, place: Place, problems: &mut Vec<Problem>) {
    let (operand, depth) = match (place.memory, path) {
        (Memory::Local, _) => ("local", config.stride0_depth),
        (_, Path::Copy) => ("other", config.stride1_depth),
        _ => ("accumulator", config.stride1_depth),
    };
    let code = place.run.stride_log2;
    if u64::from(code) >= depth as u64 {
        let reason = format!("stride code {code} of the {operand} operand: the instance has {depth} codes");
        problems.push(Problem::warning(i, STRIDE, reason, "use a smaller stride, or move vector by vector"));
    }
}

fn weights(config: &Config, i: usize, size: u64, problems: &mut Vec<Problem>) {
    let rows = config.array_size as u64 + 1;
    if size > rows {
        let lost = size - rows;
        let reason =
            format!("LoadWeights of {size} vectors into {rows} rows: the {lost} highest addresses are lost");
        let hint = "load N weight rows and the bias row last, N + 1 in all";
        problems.push(Problem::warning(i, LOST_WEIGHTS, reason, hint));
    }
}

fn configure(config: &Config, i: usize, register: u8, value: u32, problems: &mut Vec<Problem>) {
    let Some(register) = Register::from_code(register) else {
        let reason = format!("configuration register {register:#x} does not exist: the hardware ignores it");
        problems.push(Problem::warning(
            i,
            NO_REGISTER,
            reason,
            "registers are 0x0, 0x1, 0x4, 0x5 and 0x8 to 0xB",
        ));
        return;
    };
    let cut = register.cut(value, config.reading);
    problems.extend(cut.map(|cut| Problem::warning(i, CUT_VALUE, cut.to_string(), &cut.hint())));
}
