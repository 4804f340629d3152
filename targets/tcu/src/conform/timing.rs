//! `rtl_timing*.json`, `rtl_occupancy.json`, `rtl_sequences*_trace.json`: measurements of hardware.
//!
//! Checked here: cycles of single instructions, short sequences and published programs, the forms that
//! hang, and of the published programs found below the file's folder the estimator's totals and the
//! outputs. Names of measurements are turned into instructions by `recipes`.

use std::sync::Arc;

use npukit_target::{Case, Outcome, folder};
use sha2::{Digest, Sha256};

use super::programs::{csv_inputs, estimator_text, load, outputs};
use super::{Golden, cycles, hex};
use crate::clock::ClockParams;
use crate::config::Config;
use crate::keys::{KeyError, Keys};
use crate::op::{Op, SimdOp, SimdSub};
use crate::program::Program;
use crate::run::run;
use crate::timing::estimate;
use crate::validate::{Severity, validate};

const UNKNOWN: &str = "a measurement this runner does not know";
const ABSENT: &str = "the program is not among the files";

pub(super) fn cases(golden: &Golden<'_>) -> Result<Vec<Case>, KeyError> {
    let keys = &golden.keys;
    let mut cases = Vec::new();
    let config = Arc::new(measured(keys)?);
    cases.extend(steady_states(&keys.keys("steady_state_cycles")?, &config)?);
    cases.extend(single_instructions(&keys.keys("single_instruction")?, &config)?);
    cases.extend(hangs(&keys.keys("hangs")?, &config)?);
    let programs = programs(golden);
    for entry in keys.list("full_program")? {
        cases.extend(full_program(&entry, &programs)?);
    }
    if keys.has("public_programs") {
        for entry in keys.list("public_programs")? {
            cases.push(public_program(&entry, &programs)?);
        }
    }
    if keys.has("resnet20v2_cifar_zcu104_outputs") {
        cases.extend(images(keys, &programs)?);
    }
    Ok(cases)
}

/// The instance that was measured: the 8x8 one unless the file says otherwise.
fn measured(keys: &Keys<'_>) -> Result<Config, KeyError> {
    let size = if keys.has("array_size") { keys.number("array_size")? } else { 8 };
    instance(size).ok_or_else(|| keys.error("array_size", format!("is {size}, known are 8 and 32")))
}

/// The published instances that were simulated.
fn instance(array_size: u64) -> Option<Config> {
    Config::preset(match array_size {
        8 => "speech_robot",
        32 => "zcu104",
        _ => return None,
    })
}

fn steady_states(table: &Keys<'_>, config: &Arc<Config>) -> Result<Vec<Case>, KeyError> {
    let case = |name: &str| {
        let (expected, config, measurement) = (table.fraction(name)?, Arc::clone(config), name.to_owned());
        Ok(Case::new(format!("steady_state_cycles: {name}"), move || {
            known(cycles::steady(&config, &measurement, expected))
        }))
    };
    table.names().map(case).collect()
}

fn single_instructions(table: &Keys<'_>, config: &Arc<Config>) -> Result<Vec<Case>, KeyError> {
    let case = |name: &str| {
        let (expected, config, measurement) = (table.number(name)?, Arc::clone(config), name.to_owned());
        Ok(Case::new(format!("single_instruction: {name}"), move || {
            known(cycles::single(&config, &measurement, expected))
        }))
    };
    table.names().map(case).collect()
}

fn known(outcome: Option<Outcome>) -> Outcome {
    outcome.unwrap_or_else(|| Outcome::Skipped { reason: UNKNOWN.to_owned() })
}

/// `rtl_occupancy.json`: nothing but cycles, by instance.
pub(super) fn occupancy_cases(golden: &Golden<'_>) -> Result<Vec<Case>, KeyError> {
    let mut cases = Vec::new();
    for (array, tables) in golden.keys.objects_only() {
        let size = array.strip_prefix('n').and_then(|rest| rest.split('_').next()?.parse().ok());
        let config = size.and_then(instance).ok_or_else(|| {
            golden.keys.error(array, "must be named after a known instance: n8_b1 or n32_b4")
        })?;
        let config = Arc::new(config);
        cases.extend(occupancies(array, &tables, &config)?);
        cases.extend(short_sequences(array, &tables.keys("short_sequences_lat1")?, &config)?);
    }
    Ok(cases)
}

fn occupancies(array: &str, tables: &Keys<'_>, config: &Arc<Config>) -> Result<Vec<Case>, KeyError> {
    let vectors = Arc::new(tables.numbers("vectors")?);
    let entries = tables.keys("occupancy")?;
    let case = |name: &str| {
        let expected: Vec<u64> = entries.numbers(name)?.into_iter().map(|cycle| cycle as u64).collect();
        let (config, vectors, table) = (Arc::clone(config), Arc::clone(&vectors), name.to_owned());
        Ok(Case::new(format!("{array} occupancy: {name}"), move || {
            known(cycles::occupancy(&config, &table, &vectors, &expected))
        }))
    };
    entries.names().map(case).collect()
}

fn short_sequences(array: &str, table: &Keys<'_>, config: &Arc<Config>) -> Result<Vec<Case>, KeyError> {
    let case = |(name, entry): (&str, Keys<'_>)| {
        let mut expected: Vec<u64> = entry.numbers("accept")?.into_iter().map(|cycle| cycle as u64).collect();
        for event in ["last_acc_write", "last_local_write", "last_axi_write", "last_weight_load"] {
            expected.push(entry.number_or_null(event)?);
        }
        let (config, sequence) = (Arc::clone(config), name.to_owned());
        Ok(Case::new(format!("{array} short_sequences_lat1: {name}"), move || {
            known(cycles::short(&config, &sequence, &expected))
        }))
    };
    table.objects()?.into_iter().map(case).collect()
}

/// `rtl_sequences*_trace.json`: every event of the programs beside it.
pub(super) fn trace_cases(golden: &Golden<'_>) -> Result<Vec<Case>, KeyError> {
    const REASON: &str = "a debugging aid; totals, acceptances and last events are in the sequences file";
    let programs = golden.keys.list("programs")?;
    programs.iter().map(|keys| Ok(Case::skipped(format!("{} trace", keys.string("id")?), REASON))).collect()
}

/// The forms of the table by name: read, write, operation, left, right.
#[rustfmt::skip] // A table: one form a line.
const FORMS: [(&str, bool, bool, SimdOp, u8, u8); 10] = [
    ("unary Move L=R1,R=0(Input), flags W only", false, true,  SimdOp::Move, 1, 0),
    ("unary Move L=R1,R=R1, flags W only",       false, true,  SimdOp::Move, 1, 1),
    ("R flag, L=R=R1, op Move",                  true,  false, SimdOp::Move, 1, 1),
    ("RW flags, L=R=R1, op Move",                true,  true,  SimdOp::Move, 1, 1),
    ("R flag, op Zero",                          true,  false, SimdOp::Zero, 0, 0),
    ("RW flag, op Zero L=R=0",                   true,  true,  SimdOp::Zero, 0, 0),
    ("no flags, op Max L=0,R=R1",                false, false, SimdOp::Max,  0, 1),
    ("no flags, op NoOp",                        false, false, SimdOp::NoOp, 0, 0),
    ("R flag, op NoOp",                          true,  false, SimdOp::NoOp, 0, 0),
    ("W flag, op NoOp",                          false, true,  SimdOp::NoOp, 0, 0),
];

fn hangs(table: &Keys<'_>, config: &Arc<Config>) -> Result<Vec<Case>, KeyError> {
    let case = |name: &str| {
        let expected = table.flag(name)?;
        let case_name = format!("hangs: {name}");
        Ok(match FORMS.iter().find(|form| form.0 == name) {
            Some(&(_, read, write, op, left, right)) => {
                let config = Arc::clone(config);
                let sub = SimdSub { op, left, right, destination: 0 };
                Case::new(case_name, move || {
                    Outcome::compare(&hang_text(expected, expected), &hangs_here(&config, read, write, sub))
                })
            }
            None => Case::skipped(case_name, "a form this runner does not know"),
        })
    };
    table.names().map(case).collect()
}

/// What the validator says of a form, and what the clock does when it is repeated.
fn hangs_here(config: &Config, read: bool, write: bool, sub: SimdSub) -> String {
    let op = Op::Simd { read, write, accumulate: false, write_address: 0, read_address: 0, sub };
    let error = validate(config, &[op]).iter().any(|problem| problem.severity == Severity::Error);
    hang_text(error, cycles::hangs(config, op))
}

fn hang_text(error: bool, hangs: bool) -> String {
    format!("an error to the validator: {error}; hangs in the clock: {hangs}")
}

/// A published program found on the way, and how to find it.
struct Published {
    manifest_path: String,
    prog_bytes: usize,
    prog_sha256: String,
    program: Program,
    inputs: Vec<Vec<Vec<i32>>>,
}

/// Every artifact below the folder of the file.
fn programs(golden: &Golden<'_>) -> Vec<Arc<Published>> {
    let here = folder(golden.path);
    let listed = golden.files.list(if here.is_empty() { "." } else { here }).unwrap_or_default();
    let published = |path: &String| {
        let name = path.strip_prefix(folder(path))?;
        let program = load(path, name, golden.files).ok()?;
        let prog = golden.files.read(&format!("{}.tprog", path.strip_suffix(".tmodel")?)).ok()?;
        Some(Arc::new(Published {
            manifest_path: path.clone(),
            prog_bytes: prog.len(),
            prog_sha256: hex(&Sha256::digest(&prog)),
            inputs: csv_inputs(path, golden.files, &program),
            program,
        }))
    };
    listed.iter().filter(|path| path.ends_with(".tmodel")).filter_map(published).collect()
}

fn find<'a>(programs: &'a [Arc<Published>], name: &str) -> Option<&'a Arc<Published>> {
    programs.iter().find(|p| p.manifest_path.ends_with(&format!("{name}.tmodel")))
}

/// Measured cycles, the estimator's total, the output of an image where given.
fn full_program(entry: &Keys<'_>, programs: &[Arc<Published>]) -> Result<Vec<Case>, KeyError> {
    let name = entry.string("program")?;
    let found = find(programs, name.trim_end_matches(".tprog"));
    let prepended = entry.number("config_instructions_prepended")? as usize;
    let mut cases = Vec::new();
    let measured = entry.keys("rtl_cycles")?;
    for at in measured.names() {
        let latency = at.strip_prefix("lat").and_then(|digits| digits.parse().ok());
        let latency = latency.ok_or_else(|| measured.error(at, "must be named latN"))?;
        let case_name = format!("{name} cycles at {at}");
        let params = ClockParams::with_latency(latency);
        cases.push(timed(case_name, measured.number(at)?, params, prepended, found.cloned()));
    }
    if entry.has(EARLY_RESPONSES) {
        let params = ClockParams { write_response_latency: 1, ..ClockParams::with_latency(28) };
        let case_name = format!("{name} cycles at lat28, responses after 1");
        cases.push(timed(case_name, entry.number(EARLY_RESPONSES)?, params, prepended, found.cloned()));
    }
    if entry.has("estimator_cycles_aggregate") {
        cases.push(estimator(&format!("{name} estimator"), entry, found.cloned())?);
    }
    if entry.has("output_raw_lane0_to_9") {
        let (image, expected) = (entry.number("image")? as usize, entry.integers("output_raw_lane0_to_9")?);
        cases.push(image_case(format!("{name} image {image}"), image, expected, found.cloned()));
    }
    Ok(cases)
}

/// The one measurement with unequal latencies.
const EARLY_RESPONSES: &str = "rtl_cycles_lat28_write_response_1";

/// The cycles of a whole program behind some Configure instructions.
fn timed(
    name: String,
    expected: u64,
    params: ClockParams,
    prepended: usize,
    found: Option<Arc<Published>>,
) -> Case {
    let Some(published) = found else { return Case::skipped(name, ABSENT) };
    Case::new(name, move || {
        let Program { config, instructions, .. } = &published.program;
        let mut ops = vec![Op::Configure { register: 0, value: 0 }; prepended.min(MOST_PREPENDED)];
        ops.extend(instructions);
        let timeline = cycles::run(config, params, &ops);
        let got = timeline.map(|timeline| cycles::compare(&[expected], &[timeline.total]));
        cycles::outcome("a run to the end", got)
    })
}

/// The driver writes the registers of both banks.
const MOST_PREPENDED: usize = 16;

fn public_program(entry: &Keys<'_>, programs: &[Arc<Published>]) -> Result<Case, KeyError> {
    let name = format!("{} {} estimator", entry.string("model")?, entry.string("variant")?);
    let (bytes, prefix) = (entry.number("program_bytes")? as usize, entry.string("sha256_prefix")?);
    let is_it = |p: &&Arc<Published>| p.prog_bytes == bytes && p.prog_sha256.starts_with(prefix);
    estimator(&name, entry, programs.iter().find(is_it).cloned())
}

fn estimator(name: &str, entry: &Keys<'_>, found: Option<Arc<Published>>) -> Result<Case, KeyError> {
    let Some(published) = found else {
        return Ok(Case::skipped(name, ABSENT));
    };
    let cycles = entry.number("estimator_cycles_aggregate")?;
    let undrained = entry.number("estimator_cycles_undrained_execution")?;
    let energy = if entry.has("estimator_energy") { Some(entry.number("estimator_energy")?) } else { None };
    Ok(Case::new(name, move || {
        let got = estimate(&published.program.config, &published.program.instructions);
        let expected = estimator_text(cycles, undrained, energy.unwrap_or(got.energy));
        Outcome::compare(&expected, &estimator_text(got.cycles, got.undrained, got.energy))
    }))
}

fn images(keys: &Keys<'_>, programs: &[Arc<Published>]) -> Result<Vec<Case>, KeyError> {
    let found = find(programs, "resnet20v2_cifar_onnx_zcu104");
    let case = |entry: &Keys<'_>| {
        let (image, expected) = (entry.number("image")? as usize, entry.integers("raw_output_lane0_to_9")?);
        Ok(image_case(format!("resnet20v2_cifar zcu104 image {image}"), image, expected, found.cloned()))
    };
    keys.list("resnet20v2_cifar_zcu104_outputs")?.iter().map(case).collect()
}

/// The first lanes of the output for input number `image`.
fn image_case(name: String, image: usize, expected: Vec<i32>, found: Option<Arc<Published>>) -> Case {
    let Some(published) = found else {
        return Case::skipped(name, ABSENT);
    };
    Case::new(name, move || {
        let Some(raw) = published.inputs.iter().find_map(|runs| runs.get(image)) else {
            return Outcome::Skipped { reason: "its input is not among the files".to_owned() };
        };
        let got = run(&published.program, std::slice::from_ref(raw))
            .map_err(|error| error.to_string())
            .and_then(|finished| outputs(&published.program, &finished));
        match got {
            Ok(mut lanes) => {
                lanes.truncate(expected.len());
                Outcome::compare(&format!("{expected:?}"), &format!("{lanes:?}"))
            }
            Err(error) => Outcome::error(format!("{expected:?}"), error),
        }
    })
}
